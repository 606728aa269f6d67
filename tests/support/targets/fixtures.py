"""The other host of the tests of `ssh:`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernometer.targets.ssh import SshTarget
from tests.support.targets.sshd import Server, sshd, until


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with sshd() as started:
        yield started


@pytest.fixture
def here(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Our own temporary folder. Expected of every test: it is empty in the end, and the other host is as it was."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("PATH", f"{server.bin}:{os.environ['PATH']}")
    yield folder
    assert until(server.is_clean), (server.processes(), list(server.tmp.iterdir()))
    assert list(folder.iterdir()) == []


@pytest.fixture
def targets() -> Iterator[list[SshTarget]]:
    made: list[SshTarget] = []
    yield made
    for target in made:
        target.close()
