"""`guest check`: what each rung is taken from, and what is said where one does not hold. QEMU is a script."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from kernometer.errors import TargetError
from kernometer.guests import store
from kernometer.targets import booting, ladder
from kernometer.targets.ladder import Rung, climb
from kernometer.targets.qemu import QemuTarget
from tests.support.guests.boots import Boots

RUNGS = tuple(ladder.INSIDE)
HELD = "".join(f"#rung {name}\\n#rung {name} ok\\n" for name in RUNGS) + "#init exit 0 signal 0\\n"
ALL = ("boots", "init", *RUNGS, "console", "power-off", "ready", "saved")
Ladder = Callable[..., list[Rung]]


@pytest.fixture
def of(boots: Boots, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ladder:
    """The rungs of a guest whose QEMU does this; nothing is compiled, and saving works."""
    (tmp_path / "ladder").write_bytes(b"the program")
    monkeypatch.setattr(ladder, "compiled", lambda *_: tmp_path / "ladder")
    monkeypatch.setattr(QemuTarget, "save", lambda _: None)
    monkeypatch.setattr(QemuTarget, "try_saved", lambda _: None)

    def rungs(script: str, **changes: object) -> list[Rung]:
        target = boots(script)
        manifest = msgspec.structs.replace(target.guest.manifest, **changes)
        return list(climb(replace(target, guest=store.Guest(target.guest.folder, manifest))))

    return rungs


def test_each_rung_holds_in_its_order(of: Ladder) -> None:
    """Expected: all ten, by the place where the probe's lines will come. Broken: a rung that nobody tried holds."""
    for script, output in ((f"bulk('{HELD}')", "debug-port"), (f"console('{HELD}')", "serial")):
        found = of(script, output=output)
        assert [rung.name for rung in found] == list(ALL)
        assert [rung for rung in found if rung.failure or rung.remark] == []


@pytest.mark.parametrize(
    ("script", "name", "failure", "step"),
    [
        ("sys.exit(0)", "boots", "ended too early", ""),
        ("console('MyOS 1\\n# ')\nwhile True: pass", "init", "does not begin to measure", "console: answers it"),
        ("console('Kernel panic - not syncing: No init found\\n')", "init", "No init found", "--init"),
        ("bulk('#init failed /proc: No such device\\n')", "init", "init failed: /proc", "--init"),
        ("bulk('#rung mounts\\n#rung mounts ok\\n#rung fork\\n')", "fork", "ended too early", "without fork"),
        ("bulk('#rung mounts\\n#rung mounts ok\\n')", "fork", "ended too early", "without fork"),
    ],
)
def test_a_rung_that_nothing_is_possible_without_is_the_last(
    of: Ladder, monkeypatch: pytest.MonkeyPatch, script: str, name: str, failure: str, step: str
) -> None:
    """Expected: its cause, the console's last words and what to try; nothing above. Broken: minutes of waiting for a
    guest that cannot run the probe."""
    monkeypatch.setattr(booting, "MUTE_SECONDS", 1.0)
    last = of(script)[-1]
    assert last.name == name
    assert failure in last.failure
    assert last.failure
    assert step in last.step
    if "console(" in script:
        assert "MyOS" in last.last_output or "panic" in last.last_output


def test_what_fails_and_stops_nothing_is_told_and_left(of: Ladder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: no /sys, no /proc, a clock that stands, the other output, a machine that stays on: each said, and the
    guest is still saved. Broken: it is refused for what few rows need."""
    monkeypatch.setattr(ladder, "OFF_SECONDS", 0.2)
    lacking = "mounts failed /proc/self/stat: No such file or directory"
    text = "#init lacks /sys: No such device\\n" + HELD.replace("mounts ok", lacking)
    text = text.replace("clock ok", "clock failed CLOCK_MONOTONIC stands, which: is wrong")
    found = {rung.name: rung for rung in of(f"console('{text}'); time.sleep(600)")}
    assert tuple(found) == ALL
    assert found["init"] == Rung("init", remark="it lacks /sys: No such device")
    assert "/proc/self/stat" in found["mounts"].failure
    assert "stands" in found["clock"].failure
    assert "--output serial" in found["console"].step
    assert "stays on" in found["power-off"].remark
    assert [name for name, rung in found.items() if rung.failure] == ["mounts", "clock", "console"]


@pytest.mark.parametrize(("end", "how"), [("exit 0 signal 11", "by signal 11"), ("exit 127 signal 0", "by status 127")])
def test_a_system_with_its_own_probe_need_not_run_our_program(
    of: Ladder, monkeypatch: pytest.MonkeyPatch, end: str, how: str
) -> None:
    """As Fiwix runs none of glibc's. Expected: its init holds, what our program was to try is told as not tried, and
    the guest is saved; with our probe the same end is a failure. Broken: a guest that measures is refused."""
    script = f"bulk('#init {end}\\n')"
    assert of(script)[-1].name == "init"
    monkeypatch.setattr(store.Guest, "own", lambda *_: b"their own")
    found = of(script)
    assert [rung.name for rung in found] == list(ALL)
    assert [rung.failure for rung in found] == [""] * len(ALL)
    assert [how in rung.remark for rung in found] == [rung.name in RUNGS for rung in found]
    assert [rung.name for rung in found if not rung.tried] == list(RUNGS)
    assert of(f"console('#init {end}\\n')")[ALL.index("console")].step


def test_a_guest_that_cannot_be_saved_has_the_reason(of: Ladder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: the error of saving as the rung's, and nothing after it; without an archive of ours only these are
    tried. Broken: a trace, or a rung that holds."""

    def mute(_: QemuTarget) -> None:
        raise TargetError("No probe waited.", "See below.", "last words")

    monkeypatch.setattr(QemuTarget, "save", mute)
    assert of(f"bulk('{HELD}')")[-1] == Rung("ready", "No probe waited.", "See below.", "last words")
    assert [rung.name for rung in of("", root="none")] == ["ready"]


def test_the_program_finds_that_this_host_holds_every_rung(tmp_path: Path) -> None:
    """Expected: each tried, and ok. Broken: a rung that fails everywhere."""
    source = Path(ladder.__file__).parents[1] / "guests/inside/ladder.c"
    subprocess.run(("gcc", "-std=gnu99", "-o", tmp_path / "ladder", source), check=True, timeout=60)
    done = subprocess.run([tmp_path / "ladder"], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == HELD.replace("\\n", "\n").removesuffix("#init exit 0 signal 0\n")
