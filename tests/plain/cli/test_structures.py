"""kernometer structures where something is missing: what it says, what it writes into the report, and leaves behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernometer.guests.kernels import trio
from kernometer.results.store import Store
from tests.support.cli.storing import call, fill


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """With one session by time, on a system without guests and without QEMU."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "/nowhere")
    made = Store(tmp_path / "store")
    fill(made)
    return made


def test_without_qemu_the_report_keeps_the_machine_and_says_why(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Expected: status 6 with what installs it, both in the report too, and no guest half made. Broken: a report
    that is silent about what is not in it."""
    page = tmp_path / "report.html"
    told = call(store, capsys, "structures", "--also", "@last", "--report", str(page), status=6)
    assert "there is no qemu-system-x86_64 here" in told
    assert "apt-get install qemu-system-x86" in told
    text = page.read_text()
    assert "Left out: Linux and Trio." in text
    assert "apt-get install qemu-system-x86" in text
    assert "syscall/getppid" in text
    assert not (tmp_path / "cache" / "kernometer" / "guests").exists()


def test_without_a_session_there_is_no_report_of_nothing(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.html"
    call(store, capsys, "structures", "--report", str(page), status=6)
    assert not page.exists()


def test_unknown_results_and_rows_are_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Expected: a misspelt name costs no minute of downloading and compiling."""
    made: list[str] = []
    monkeypatch.setattr(trio, "current", frozenset)
    monkeypatch.setattr(trio, "add", lambda structure, _: made.append(structure))
    store = Store(tmp_path / "store")
    assert "no-such" in call(store, capsys, "structures", "--also", "no-such", status=5)
    assert "There is no workload" in call(store, capsys, "structures", "no/such", status=2)
    assert not made
