"""A cache for what guests need (kernel, programs, plugin) that outlives a test run, and is not the user's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def guest_cache(request: pytest.FixtureRequest) -> Iterator[Path]:
    """XDG_CACHE_HOME inside pytest's own cache: the kernel is downloaded once a checkout."""
    cache = request.config.cache
    assert cache is not None
    folder = Path(cache.mkdir("guests")).resolve()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder
