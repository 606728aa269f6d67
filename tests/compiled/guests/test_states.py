"""The cache of saved guests: whole or not at all, made once, mended when damaged, and bounded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kernometer.errors import ResultError, TargetError
from kernometer.guests.emulator import qemu
from kernometer.targets.base import Deadline
from kernometer.targets.saved import saving, states

#: Holes of a memory that is mostly untouched.
HOLE = 1 << 24
LIMIT = 60.0


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def fill(into: Path) -> Iterator[None]:
    """A guest of two pages far apart."""
    with (into / "memory").open("wb") as file:
        file.write(b"a" * 100)
        file.seek(HOLE)
        file.write(b"b" * 100)
    yield None
    (into / "state").write_bytes(b"state")


def obtained(
    key: str, save: Callable[[Path], Iterator[None]] = fill, held: ExitStack | None = None, seconds: float = LIMIT
) -> list[None]:
    """Waits for it; how often there was something to wait for. Without `held` it is let go at once."""
    with ExitStack() as own:
        return list(states.obtain(key, save, held or own, Deadline.after(seconds)))


def never(_: Path) -> Iterator[None]:
    raise AssertionError("it is there")


def test_a_guest_is_saved_once_and_its_memory_is_sparse() -> None:
    obtained("k")
    obtained("k", never)
    memory = states.folder() / "k" / "memory"
    assert memory.stat().st_size == HOLE + 100
    assert memory.stat().st_blocks * 512 < HOLE // 4


@pytest.mark.parametrize(
    "harm",
    [
        lambda state: (state / "state").write_bytes(b"stAte"),
        lambda state: (state / "state").unlink(),
        lambda state: (state / "digests").unlink(),
        lambda state: (state / "digests").write_bytes(b"\xff\xfe"),
        lambda state: os.truncate(state / "memory", HOLE),
        lambda state: os.pwrite(os.open(state / "memory", os.O_WRONLY), b"x", HOLE // 2),
        lambda state: os.pwrite(os.open(state / "memory", os.O_WRONLY), b"c", HOLE),
    ],
)
def test_a_damaged_one_is_made_anew(harm: Callable[[Path], object]) -> None:
    """Expected: whole again. Broken: counts of a guest that never was."""
    obtained("k")
    harm(states.folder() / "k")
    obtained("k")
    assert (states.folder() / "k" / "state").read_bytes() == b"state"
    obtained("k", never)


def test_what_fails_while_it_is_saved_leaves_nothing_and_is_tried_again() -> None:
    """Expected: the error, no folder. Broken: half a guest, or a lock that nobody opens again."""

    def fails(into: Path) -> Iterator[None]:
        (into / "memory").write_bytes(b"half")
        yield None
        raise TargetError("QEMU ended.")

    with pytest.raises(TargetError, match="QEMU ended"):
        obtained("k", fails)
    assert [path.name for path in states.folder().iterdir()] == ["k.lock"]
    obtained("k")


def test_one_that_is_left_in_the_middle_leaves_nothing() -> None:
    """Expected: Ctrl-C while a guest boots removes what there was. Broken: a folder of 2 GB, and a lock."""
    with ExitStack() as held:
        making = states.obtain("k", fill, held, Deadline.after(LIMIT))
        next(making)
        making.close()  # type: ignore[attr-defined]  # a generator
    assert [path.name for path in states.folder().iterdir()] == ["k.lock"]
    obtained("k")


def test_of_two_processes_one_saves_and_the_other_waits(tmp_path: Path) -> None:
    """Expected: one boot, both have it. Broken: both write the same files, or one finds half of them."""
    code = (
        "import sys, time\nfrom contextlib import ExitStack\nfrom pathlib import Path\n"
        "from kernometer.targets.base import Deadline\nfrom kernometer.targets.saved import states\n"
        "def save(into):\n"
        "    with open(sys.argv[1], 'a') as log: log.write('saved\\n')\n"
        "    for _ in range(50):\n        time.sleep(0.01)\n        yield None\n"
        "    (into / 'memory').write_bytes(b'm')\n"
        "with ExitStack() as held:\n"
        "    for _ in states.obtain('k', save, held, Deadline.after(60)): time.sleep(0.01)\n"
        "    assert (states.folder() / 'k' / 'memory').read_bytes() == b'm'\n"
    )
    log = tmp_path / "log"
    both = [subprocess.Popen([sys.executable, "-c", code, str(log)]) for _ in range(2)]
    assert [each.wait(LIMIT) for each in both] == [0, 0]
    assert log.read_text() == "saved\n"


def test_a_lock_goes_with_the_process_that_was_killed(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom contextlib import ExitStack\nfrom pathlib import Path\n"
        "from kernometer.targets.base import Deadline\nfrom kernometer.targets.saved import states\n"
        "def save(into):\n    Path(sys.argv[1]).touch()\n    time.sleep(600)\n    yield None\n"
        "with ExitStack() as held: list(states.obtain('k', save, held, Deadline.after(60)))\n"
    )
    begun = tmp_path / "begun"
    other = subprocess.Popen([sys.executable, "-c", code, str(begun)])
    until = Deadline.after(LIMIT)
    while not begun.exists():
        assert not until.passed
        time.sleep(0.01)
    with pytest.raises(TargetError, match="Another process was saving"):
        obtained("k", never, seconds=0.0)
    other.send_signal(signal.SIGKILL)
    other.wait(LIMIT)
    obtained("k")


def test_the_least_recently_used_go_and_those_in_use_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: at most so many, never one that a session goes on from. Broken: the cache grows for ever, or a row's
    guest is gone between two rows."""
    monkeypatch.setattr(states, "MAX_STATES", 2)
    with ExitStack() as held:
        obtained("first", held=held)
        for number, key in enumerate(("second", "third", "fourth")):
            obtained(key)
            os.utime(states.folder() / key, (1000 + number, 1000 + number))
        os.utime(states.folder() / "first", (1, 1))
        obtained("fifth")
        assert {path.name for path in states.folder().glob("*/")} >= {"first", "fifth"}
        assert not (states.folder() / "second").exists()
    obtained("fifth", never)
    assert len([path for path in states.folder().iterdir() if path.is_dir()]) == 2


def test_a_cache_that_cannot_be_written_is_an_error_with_a_way_out(cache: Path) -> None:
    (cache / "kernometer").write_text("in the way")
    with pytest.raises(ResultError) as caught:
        obtained("k")
    assert "XDG_CACHE_HOME" in caught.value.next_step


def test_a_state_is_one_of_a_guest_that_runs() -> None:
    """Expected: what QEMU says it was doing, and no other byte. Broken: QEMU 7.2 aborts when it reads `debug`."""
    head, tail = b"QEVM\0\0\0\3...", b"rest of the state, debug\0"
    words = b"\x0bglobalstate" + bytes(8)
    stopped = head + words + (6).to_bytes(4, "big") + b"debug".ljust(100, b"\0") + tail
    running = head + words + (8).to_bytes(4, "big") + b"running".ljust(100, b"\0") + tail
    assert saving.as_running(stopped) == running
    for other in (running, head, stopped[:40], b""):
        with pytest.raises(TargetError, match="in an unknown form"):
            saving.as_running(other)


def test_saved_and_restored_machines_are_one_but_for_how_memory_is_shared() -> None:
    """Expected: one writes to the file, the other to pages of its own. Broken: the first row changes the next one's
    guest."""
    machine = qemu.Machine()
    saved, restored = machine.argv("icount", "shared"), machine.argv("icount", "private")
    assert [pair for pair in zip(saved, restored, strict=True) if pair[0] != pair[1]] == [
        tuple(f"memory-backend-file,id=ram,size=2048M,mem-path=memory,share={how}" for how in ("on", "off"))
    ]
