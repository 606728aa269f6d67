"""The programs of trio/user on this machine's Linux: what the suite wants of a kernel is what Linux does."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.trio.user_programs import USER, make

#: Beyond any machine's need: the suite takes some 5 seconds.
SECONDS = 60.0
NOBODY = 65534
#: As root and as an ordinary user; as the one who runs the tests where that is not root.
USERS = ("root", "ordinary") if os.geteuid() == 0 else ("ordinary",)
#: Whoever may not mount, a container's root for one, cannot be asked about mounts.
ENTITLED = {
    "root": ("mounting is not permitted here",),
    "ordinary": ("only for root", "mounting is not permitted here"),
}
#: In which file what is written for what, and how the line begins that tells of it.
UNTRUE = (
    ("system.c", "FAILS(RAW(numbers[i]), ENOSYS);", "FAILS(RAW(numbers[i]), EINVAL);",
     "FAIL unknown_calls: RAW(numbers[i]): wanted -1 (EINVAL), got -1 (ENOSYS)"),
    ("process.c", "IS(getppid(), parent);", "IS(getppid(), -7);", "FAIL fork_pids: getppid(): wanted -7, got "),
    ("poll.c", "IS(poll(NULL, 0, 10), 0);", "IS(poll(NULL, 0, -1), 0);", "FAIL poll_timeout: not done after 2 s"),
    ("time.c", "IS(alarm(100), 0);", "raise(SIGSEGV);", "FAIL alarm: its process was ended by signal 11"),
    ("dirs.c", "IS(umask(07777), 0123);", "_exit(5);", "FAIL umask: its process left with 5"),
)  # fmt: skip  # a case a paragraph


@pytest.fixture
def room() -> Iterator[Path]:
    """A folder that every user may write to, and reach: pytest's own are for one user."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


def run(program: Path, room: Path, *words: str, user: str = USERS[0]) -> subprocess.CompletedProcess[str]:
    copy = room / program.name
    shutil.copy2(program, copy)
    other = user == "ordinary" and os.geteuid() == 0
    done = subprocess.run(
        [copy, *words],
        env={"TMPDIR": str(room)},
        user=NOBODY if other else None,
        group=NOBODY if other else None,
        extra_groups=[] if other else None,
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip  # as a command line
    copy.unlink()
    return done


@pytest.fixture(scope="module")
def untrue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suite with things in it that are not so."""
    folder = tmp_path_factory.mktemp("untrue")
    source = folder / "user"
    shutil.copytree(USER, source)
    for name, old, new in [
        ("usertests.h", "#define TIME_LIMIT 120", "#define TIME_LIMIT 2"),
        *(each[:3] for each in UNTRUE),
    ]:
        file = source / "usertests" / name
        text = file.read_text()
        assert text.count(old) == 1
        file.write_text(text.replace(old, new))
    return make(source, folder / "build", "usertests") / "usertests"


def test_signals_that_a_parent_ignores_do_not_count(user_programs: Path, room: Path) -> None:
    """Expected: as started by hand. Broken: a suite that fails under nohup, or as a shell's background job."""
    ignoring = "trap '' HUP INT QUIT TSTP PIPE; exec \"$0\" signal_defaults"
    done = subprocess.run(
        ["sh", "-c", ignoring, user_programs / "usertests"],
        env={"TMPDIR": str(room)},
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip  # as a command line
    assert done.stdout.startswith("ok signal_defaults"), done.stdout


@pytest.mark.slow(minutes=0.3)
@pytest.mark.parametrize("user", USERS)
def test_linux_passes(user_programs: Path, room: Path, user: str) -> None:
    """Expected: every test is ok or, for an ordinary user, for root alone; the folder is left as it was. Broken: the
    suite would hold Trio to what Linux does not do."""
    done = run(user_programs / "usertests", room, user=user)
    lines = done.stdout.splitlines()
    assert [line for line in lines if not line.startswith(("ok ", "skip "))] == lines[-1:], done.stdout
    assert done.returncode == 0
    assert len([line for line in lines if line.startswith("ok ")]) > 200
    skipped = [line for line in lines if line.startswith("skip ")]
    assert [line for line in skipped if not line.endswith(ENTITLED[user])] == []
    assert list(room.iterdir()) == []


def test_every_test_asks_a_question(user_programs: Path, room: Path) -> None:
    done = run(user_programs / "usertests", room, "-l")
    lines = done.stdout.splitlines()
    names = [line.split()[0] for line in lines]
    assert done.returncode == 0
    assert len(set(names)) == len(names) > 200
    assert [line for line in lines if not line.endswith("?")] == []


def test_names_and_prefixes_choose_tests(user_programs: Path, room: Path) -> None:
    done = run(user_programs / "usertests", room, "pipe_eof", "mmap_f")
    assert done.returncode == 0
    names = ["pipe_eof", "mmap_fixed", "mmap_file", "mmap_file_offset", "mmap_file_shared"]
    assert sorted(line.split()[1] for line in done.stdout.splitlines()[:-1]) == sorted(names)
    assert run(user_programs / "usertests", room, "no-such-test").returncode == 2


@pytest.mark.slow(minutes=0.03)
@pytest.mark.parametrize("said", [each[3] for each in UNTRUE], ids=[each[3].split()[1][:-1] for each in UNTRUE])
def test_what_is_not_so_is_reported(untrue: Path, room: Path, said: str) -> None:
    """Expected: a line that names the test, what was wanted and what came; status 1. Broken: a wrong kernel passes."""
    done = run(untrue, room, said.split()[1][:-1])
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if line.startswith(said)], done.stdout
    assert "1 failed" in done.stdout
    assert list(room.iterdir()) == []


def fields(text: str) -> dict[str, int]:
    return {
        line.split()[0]: int(line.split()[1]) for line in text.splitlines() if not line.startswith(("errno", "sig"))
    }


@pytest.mark.parametrize("user", USERS)
def test_random_calls_leave_nothing_behind(user_programs: Path, room: Path, user: str) -> None:
    """Expected: all calls made, many of them good; no file and no process is left. Root becomes an ordinary user."""
    done = run(user_programs / "fuzz", room, "--seed", "3", "--calls", "30000", user=user)
    assert done.returncode == 0, done.stderr
    assert fields(done.stdout)["calls"] == 30000
    assert fields(done.stdout)["processes"] >= 4
    good = next(int(line.split()[2]) for line in done.stdout.splitlines() if line.startswith("errno 0 "))
    assert good > 3000
    assert list(room.iterdir()) == []
    told = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, timeout=60, check=True)
    assert str(room) not in told.stdout


def test_random_calls_can_be_made_again(user_programs: Path, room: Path) -> None:
    """Expected: the same calls for the same seed, from any of them on; others for another seed."""
    words = ("--processes", "1", "--log")
    first = run(user_programs / "fuzz", room, "--seed", "5", "--calls", "200", *words).stderr.splitlines()
    again = run(user_programs / "fuzz", room, "--seed", "5", "--calls", "200", *words).stderr.splitlines()
    other = run(user_programs / "fuzz", room, "--seed", "6", "--calls", "200", *words).stderr.splitlines()
    later = run(
        user_programs / "fuzz", room, "--seed", "5", "--calls", "50", "--from", "150", *words
    ).stderr.splitlines()
    assert len(first) == 200
    assert first == again
    assert first != other
    assert first[150:] == later


@pytest.mark.parametrize("user", USERS)
def test_sequences_hold_on_linux(user_programs: Path, room: Path, user: str) -> None:
    """Expected: none broken; no file and no process is left. Broken: the fuzzer would hold Trio to what Linux does not
    do."""
    done = run(user_programs / "fuzz", room, "--seed", "3", "--sequences", "63", user=user)
    assert done.returncode == 0, done.stderr
    assert fields(done.stdout) == {"sequences": 63, "broken": 0}
    assert list(room.iterdir()) == []
    told = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, timeout=60, check=True)
    assert str(room) not in told.stdout


def test_a_sequence_can_be_made_again(user_programs: Path, room: Path) -> None:
    """Expected: from any number on, each is of the kind that it was; --only makes all of one kind."""
    words = ("--seed", "5", "--log", "--sequences")
    first = run(user_programs / "fuzz", room, *words, "8").stderr.splitlines()
    later = run(user_programs / "fuzz", room, *words, "2", "--from", "6").stderr.splitlines()
    only = run(user_programs / "fuzz", room, *words, "3", "--only", "rights").stderr.splitlines()
    assert len(first) == 8
    assert first[6:] == later
    assert [line.split()[5] for line in only] == ["rights"] * 3
    assert run(user_programs / "fuzz", room, *words, "1", "--only", "nothing").returncode == 2


def test_trios_units_say_that_this_is_not_trio(user_programs: Path, room: Path) -> None:
    """Expected: status 3 and a sentence; the list is told anywhere. Broken: another kernel's figure in Trio's name."""
    done = run(user_programs / "probe-trio", room)
    assert done.returncode == 3
    assert "not Trio" in done.stderr
    assert done.stdout == ""
    listed = run(user_programs / "probe-trio", room, "--list", "--json")
    assert listed.returncode == 0
    assert listed.stdout.startswith("#kernometer begin 1\n")
    assert '"name":"trio/trap"' in listed.stdout
