"""predict as a user calls it, on stored results whose prices are known and real small commands of this host."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kernometer.cli import predict
from kernometer.host import recorder
from kernometer.results.store import Store
from kernometer.targets.local import host_id
from tests.support.cli.storing import call
from tests.support.results import make

ROWS = ("proc/fork-exit", "proc/execl", "syscall/open-close", "syscall/fstat", "syscall/getppid")

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason="no strace here")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Sessions `a` and `b` of this host; `b`'s rows cost twice as much."""
    monkeypatch.setattr(predict, "SECONDS", 0.0)
    found = Store(tmp_path / "store")
    for label, times in (("a", 1), ("b", 2)):
        with found.create(make.session(label=label, host_id=host_id())) as file:
            file.add(make.header())
            for row in ROWS:
                file.add(make.workload(row))
                file.add(make.run(row=row, samples=(1000 * times,) * 5, clock_cost=(), loop_cost=(), baseline=None))
    return found


def test_a_prediction_scales_what_was_measured_here(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected: twice the kernel's cost on B, its interval around it, the missing rows and prices named."""
    said = call(store, capsys, "predict", "--on", "label:a", "--on", "label:b", "--json", "--", "true")
    found = json.loads(said)
    assert found["b"] == pytest.approx(2 * found["a"])
    assert found["low"] <= found["b"] <= found["high"]
    assert (found["status"], found["recorder"], found["scaled"]) == (0, "strace", True)
    assert 0 < found["unpriced_share"] < 1
    assert "mem/fault-cow" in found["missing"]


def test_what_ran_elsewhere_is_priced_and_not_scaled(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected: the sum of A's prices, and a remark. Broken: this host's time is shown as that of another kernel."""
    with store.create(make.session(label="wrapped", target="wrap:some-kernel", host_id=host_id())) as file:
        file.add(make.header())
        for row in ROWS:
            file.add(make.workload(row))
            file.add(make.run(row=row, samples=(1000,) * 5, clock_cost=(), loop_cost=(), baseline=None))
    said = call(store, capsys, "predict", "--on", "label:wrapped", "--on", "label:b", "--", "true")
    assert "A is not where the command ran" in said
    assert "the kernel, priced" in said


def test_prices_above_the_measured_cost_are_said(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: a warning where a kernel's ticks gave the program what was the kernel's. Broken: a share of 0 %."""
    real = recorder.timed
    monkeypatch.setattr(recorder, "timed", lambda *words: replace(real(*words), user=9.0, kernel=1.0))
    said = call(store, capsys, "predict", "--on", "label:a", "--on", "label:b", "--", "true")
    assert "do not trust the shares" in " ".join(said.split())


def test_the_text_fits_80_columns_and_gives_the_status(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected: the sentence first, the status, the unpriced calls. Broken: a failed command looks like a good one."""
    words = ("sh", "-c", "exit 3")
    said = call(store, capsys, "predict", "--on", "label:a", "--on", "label:b", "--", *words)
    assert said.startswith("sh on label:b: the kernel would take")
    assert "exited with status 3" in said
    assert "of the calls have no price" in said
    assert max(map(len, said.splitlines())) <= 80


def test_each_execution_has_fresh_files(store: Store, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Expected: `mkdir there` succeeds each time, and not in the directory itself."""
    (tmp_path / "files").mkdir()
    words = ("--files", str(tmp_path / "files"), "--json", "--", "mkdir", "there")
    found = json.loads(call(store, capsys, "predict", "--on", "label:a", "--on", "label:b", *words))
    assert found["status"] == 0
    assert not [*(tmp_path / "files").iterdir()]


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (("--on", "label:a", "--", "true"), 2, "A, B and a command"),
        (("--on", "label:a", "--on", "label:b"), 2, "A, B and a command"),
        (("--on", "label:a", "--on", "label:none", "--", "true"), 5, "none"),
        (("--on", "label:a", "--on", "label:b", "--", "no-such-program"), 6, "no-such-program"),
        (("--on", "label:a", "--on", "label:b", "--limit", "1", "--", "sleep", "100"), 3, "not done in 1 s"),
        (("--by", "path", "--on", "label:a", "--on", "local", "--", "true"), 2, "same way"),
        (("--by", "path", "--on", "local", "--on", "local", "--", "true"), 2, "cannot be measured by path"),
    ],
)
def test_what_cannot_be_predicted_is_refused(
    store: Store, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], status: int, text: str
) -> None:
    """Expected: the cause and a status. Broken: a traceback, or minutes of measuring first."""
    assert text in call(store, capsys, "predict", *words, status=status)


def test_without_a_recorder_it_says_what_to_install(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Expected: the package. Broken: an empty record is priced."""
    (tmp_path / "true").symlink_to(shutil.which("true") or "/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path))
    said = call(store, capsys, "predict", "--on", "label:a", "--on", "label:b", "--", "true", status=6)
    assert "strace" in said


@pytest.mark.parametrize(
    ("machine", "status"),
    [("QEMU 7.2.22 tcg; microvm; -cpu max,-erms; 1 CPU", 2), ("QEMU 7.2.22 kvm; microvm; -cpu max,-erms; 1 CPU", 0)],
)
def test_times_of_an_emulator_predict_nothing(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, machine: str, status: int
) -> None:
    """Expected: refused before the command runs, with --by path. Broken: `95 % kernel`, as the kernel was emulated and
    the program was not."""
    with store.create(make.session(label="guest", target="qemu:linux", machine=machine)) as file:
        file.add(make.header())
        for row in ROWS:
            file.add(make.workload(row))
            file.add(make.run(row=row, samples=(1000,) * 5, clock_cost=(), loop_cost=(), baseline=None))
    if status:
        monkeypatch.setattr(recorder, "timed", lambda *_: pytest.fail("the command ran"))
    for a, b in (("label:guest", "label:a"), ("label:a", "label:guest")):
        said = call(store, capsys, "predict", "--on", a, "--on", b, "--", "true", status=status)
        assert status == 0 or ("is emulated (QEMU 7.2.22 tcg;" in said and "--by path" in said)
