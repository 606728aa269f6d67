"""One measurement by time a store: two at once would disturb each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernometer.errors import ResultError
from kernometer.results.store import Store


def test_second_measurement_by_time_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.measuring("time"):
        with pytest.raises(ResultError, match="Another session is being measured"), Store(tmp_path).measuring("time"):
            pass
        with Store(tmp_path).measuring("path"):
            pass
    with store.measuring("time"):
        pass


def test_lock_leaves_errors_of_the_block_alone(tmp_path: Path) -> None:
    """Expected: the error as it was raised. Broken: any BlockingIOError is taken for the lock's."""
    with pytest.raises(BlockingIOError), Store(tmp_path).measuring("time"):
        raise BlockingIOError


def test_lock_is_no_result(tmp_path: Path) -> None:
    with Store(tmp_path).measuring("time"):
        assert Store(tmp_path).summaries() == []
