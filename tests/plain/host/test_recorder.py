"""The recorder: are a trace's odd lines understood, are its limits kept, and do its counts agree with what is known?"""

from __future__ import annotations

import itertools
import shutil
import sys
from pathlib import Path

import pytest

from kernometer.errors import MissingError, TargetError
from kernometer.host import recorder

PYTHON = sys.executable


def calls(*lines: str) -> dict[tuple[str, str, int], int]:
    return dict(recorder.parse(lines).calls)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('7 read(3</etc/passwd>, ""..., 4096) = 1267', ("read", "file", 1267)),
        ('7 read(3<pipe:[12]>, ""..., 4096)  = 512', ("read", "pipe", 512)),
        ('7 write(1</dev/null>, ""..., 5)    = 5', ("write", "device", 5)),
        ('7 sendto(3<socket:[4]>, ""..., 9, 0, NULL, 0) = 9', ("sendto", "socket", 9)),
        ('7 newfstatat(3</etc/x>, "", {st_mode=S_IFREG|0644, ...}, AT_EMPTY_PATH) = 0', ("fstat", "file", 0)),
        ('7 openat(AT_FDCWD</w>, "a", O_WRONLY|O_CREAT, 0666) = 3</w/a>', ("creat", "", 0)),
        ('7 openat(AT_FDCWD</w>, "/dev/null", O_WRONLY|O_CREAT, 0666) = 3</dev/null>', ("openat", "", 0)),
        ('7 openat(AT_FDCWD</w>, "none", O_RDONLY) = -1 ENOENT (No such file)', ("openat", "failed", 0)),
        ('7 openat(AT_FDCWD</w>, "odd) = 3", O_RDONLY) = -1 ENOENT (No such file)', ("openat", "failed", 0)),
        ("7 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD) = 8", ("fork", "", 0)),
        ("7 clone3({flags=CLONE_VM|CLONE_VFORK, exit_signal=SIGCHLD}, 88) = 8", ("vfork", "", 0)),
        ("7 clone3({flags=CLONE_VM|CLONE_THREAD|CLONE_FS}, 88) = 8", ("thread", "", 0)),
        ("7 mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, -1, 0) = 0x7ff9dc169000", ("mmap", "", 0)),
        ("7 fcntl(3</w/d>, F_SETLK, {l_type=F_RDLCK, l_whence=SEEK_SET}) = 0", ("lock", "file", 0)),
        ("7 fcntl(3</w/d>, F_GETFD)           = 1 (flags FD_CLOEXEC)", ("fcntl", "file", 0)),
        ("7 sendfile(3<socket:[4]>, 5</w/d>, [0] => [5530], 5530) = 5530", ("sendfile", "socket", 5530)),
        ("7 connect(3<socket:[4]>, {...}, 16) = -1 EINPROGRESS (Operation now in progress)", ("connect", "socket", 0)),
        ("7 connect(3<socket:[4]>, {...}, 16) = -1 ENOENT (No such file)", ("connect", "failed", 0)),
        ("7 exit_group(0)                     = ?", ("exit_group", "", 0)),
        ("     0.5 ( 0.014 ms): sh/7 read(fd: 3, buf: 0x7f50, count: 9)                 = 8", ("read", "", 8)),
        ("     0.5 (         ): a b/7 exit_group()                 = ?", ("exit_group", "", 0)),
        ("     0.5 ( 0.01 ms): sh/7 fcntl(fd: 3, cmd: SETLK, arg: 0x7ff)   = 0", ("lock", "", 0)),
        ("     0.5 ( 0.01 ms): sh/7 newfstatat(dfd: 3, flag: 4096)      = 0", ("fstat", "", 0)),
    ],
)
def test_a_call_is_named_by_kind_and_size(line: str, key: tuple[str, str, int]) -> None:
    """Expected: what decides a call's price. Broken: a failed open is an open, a pipe a file."""
    assert calls(line) == {key: 1}


def test_an_interrupted_call_is_one_call() -> None:
    """Expected: the bytes of its end and the kind of its beginning, by task. Broken: two calls, or another task's."""
    assert calls(
        "7 read(3<pipe:[1]>,  <unfinished ...>",
        "8 read(4</a>,  <unfinished ...>",
        '7 <... read resumed>""..., 9) = 9',
        '8 <... read resumed>""..., 5) = 5',
    ) == {("read", "pipe", 9): 1, ("read", "file", 5): 1}
    assert calls(
        "    10.5 (         ): wc/402 read(buf: 0x7ffd, count: 16384)                            ...",
        "    10.5 ( 2.091 ms): wc/402  ... [continued]: read())                                = 1267",
    ) == {("read", "", 1267): 1}


def test_signals_and_ends_are_no_calls_and_a_killed_call_is_one() -> None:
    """Expected: the call that never returned counts as failed. Broken: it is lost, or a signal is a call."""
    found = recorder.parse(
        [
            "7 pause( <unfinished ...>",
            "7 --- SIGUSR1 {si_signo=SIGUSR1, si_pid=1} ---",
            "7 <... pause resumed>) = ? ERESTARTNOHAND (To be restarted)",
            "7 wait4(-1,  <unfinished ...>",
            "7 +++ killed by SIGKILL +++",
        ]
    )
    assert dict(found.calls) == {("pause", "", 0): 1, ("wait4", "failed", 0): 1}
    assert found.odd == 0


def test_lines_that_are_none_are_counted_and_huge_ones_cut() -> None:
    """Expected: no exception, and no call. Broken: a megabyte of parentheses takes minutes."""
    found = recorder.parse(["garbage", "", "7 read(" + "(" * (1 << 20), "7 " + "x" * 100 + "() = 0", "\x00\xff"])
    assert (len(found.calls), found.odd) == (0, 4)


def test_a_trace_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: an error. Broken: memory without limit, by lines, kinds or tasks."""
    for name in ("MAX_LINES", "MAX_KINDS", "MAX_TASKS"):
        monkeypatch.setattr(recorder, name, getattr(recorder, name) // 100)
    for line in ("7 getpid() = 1", "{0} read( <unfinished ...>", '7 read(3</a>, "", 9) = {0}'):
        with pytest.raises(TargetError, match="too many"):
            recorder.parse(line.format(number) for number in itertools.count(1))


def test_a_command_is_timed_and_its_status_kept(tmp_path: Path) -> None:
    """Expected: status and signal. Broken: a failed command looks like a fast one."""
    assert recorder.timed(("sh", "-c", "exit 3"), tmp_path, 60).status == 3
    assert recorder.timed(("sh", "-c", "kill -9 $$"), tmp_path, 60).status == -9
    assert recorder.timed((PYTHON, "-c", "pass"), tmp_path, 60).faults > 0


@pytest.mark.parametrize("run", [recorder.timed, recorder.record])
def test_a_command_without_end_or_file_is_an_error(run: object, tmp_path: Path) -> None:
    """Expected: the limit ends it; a missing file is named. Broken: it hangs."""
    assert callable(run)
    if run is recorder.record and not shutil.which("strace"):
        pytest.skip("no strace here")
    with pytest.raises(TargetError, match="not done in"):
        run(("sleep", "1000"), tmp_path, 0.3)
    if run is recorder.timed:
        with pytest.raises(MissingError, match="no-such-program"):
            run(("no-such-program",), tmp_path, 10)


def test_without_a_recorder_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Expected: the package's name; perf alone is used. Broken: an exception of subprocess."""
    for name in ("strace", "perf"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert recorder.recorder("t")[0] == str(tmp_path / "strace")
    (tmp_path / "strace").unlink()
    assert recorder.recorder("t")[:2] == (str(tmp_path / "perf"), "trace")
    (tmp_path / "perf").unlink()
    with pytest.raises(MissingError, match="strace nor perf"):
        recorder.recorder("t")


KNOWN = """
import os
there = os.open("/dev/zero", os.O_RDONLY)
for _ in range(300):
    os.read(there, 77)
for _ in range(20):
    if os.fork() == 0:
        os._exit(0)
    os.wait()
"""


@pytest.mark.parametrize("by", ["strace", "perf"])
def test_the_counts_of_a_known_program_are_right(by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: 300 reads of 77 bytes, 20 forks. Broken: lines of two tasks are mixed up, or lost."""
    which = shutil.which
    if which(by) is None:
        pytest.skip(f"no {by} here")
    monkeypatch.setattr(shutil, "which", lambda name: which(name) if name != "strace" or by == "strace" else None)
    try:
        found = recorder.record((PYTHON, "-c", KNOWN), tmp_path, 100).calls
    except TargetError as error:
        pytest.skip(f"{by} may not trace here: {error.last_output}")
    assert sum(count for (name, _, size), count in found.items() if (name, size) == ("read", 77)) == 300
    assert sum(count for (name, _, _), count in found.items() if name in ("fork", "vfork")) == 20
