"""The service of MINIX FS as a program of this host."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.trio.host_programs import HOST, TRIO, built


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources = [*sorted((TRIO / "services/fs").glob("*.c")), HOST / "seam.c", HOST / "fs_driver.c"]
    return built(tmp_path_factory.mktemp("minixfs") / "driver", sources)
