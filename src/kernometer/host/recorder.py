"""What a command asks of the kernel: its system calls by kind and size, from strace's or perf's lines.

The recorder makes the command many times slower, so its user and system time come from runs without it (`timed`).
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from kernometer.errors import MissingError, TargetError
from kernometer.processes import reap, scratch

#: Limits: of a trace, of its lines, of a line's characters, of processes at once, of different kinds of calls.
MAX_TRACE, MAX_LINES, MAX_LINE, MAX_TASKS, MAX_KINDS = 512 << 20, 3_000_000, 1 << 16, 10_000, 200_000
LAST_OUTPUT = 2000
_TOO_MANY = "The command makes too many system calls to record.", "Give it less to do."

_NAME, _RESULT = r"(?P<name>[a-z][a-z0-9_]{0,40})", r"(?P<result>-?\d{1,19}|0x[0-9a-f]{1,16}|\?)"
_STRACE = re.compile(
    rf"(?P<task>\d{{1,9}}) +{_NAME}\((?P<args>.*)\) += {_RESULT}(?P<rest>.*)"
)  # the rest: `</dev/null>` behind a descriptor, an error's name
_BEGUN = re.compile(rf"(?P<task>\d{{1,9}}) +{_NAME}\((?P<args>.*) <unfinished \.\.\.>")
_RESUMED = re.compile(rf"(?P<task>\d{{1,9}}) +<\.\.\. {_NAME} resumed>(?P<args>.*)\) += {_RESULT}(?P<rest>.*)")
_ASIDE = re.compile(r"\d{1,9} +(?:---|\+\+\+) .*")
_PERF = r" *[\d.]+ \( *(?:[\d.]+ ms)?\): .{0,16}/(?P<task>\d{1,9}) +"
_PERF_CALL = re.compile(rf"{_PERF}{_NAME}\((?P<args>.*)\) += {_RESULT}(?P<rest>.*)")
_PERF_BEGUN = re.compile(rf"{_PERF}{_NAME}\((?P<args>.*)\) +\.\.\.")
_PERF_RESUMED = re.compile(rf"{_PERF}\.\.\. \[continued\]: {_NAME}\(\)(?P<args>\)) += {_RESULT}(?P<rest>.*)")
_OPENED = re.compile(r"(?:fd: )?\d+<(.*?)>")
#: Calls whose result is the number of bytes that they moved.
SIZED = {
    *("read", "pread64", "readv", "preadv", "preadv2", "write", "pwrite64", "writev", "pwritev", "pwritev2"),
    *("sendto", "sendmsg", "recvfrom", "recvmsg", "sendfile", "copy_file_range", "splice", "getdents64", "getrandom"),
}

Key = tuple[str, str, int]  #: the call's name, of what kind, bytes moved


@dataclass(slots=True)
class Recording:
    """Calls by name, kind and bytes. Kinds: `file`, `pipe`, `socket`, `device`, `other`, "" without one, `failed`."""

    calls: Counter[Key] = field(default_factory=Counter)
    odd: int = 0  #: lines that were not understood


@dataclass(frozen=True, slots=True)
class Timed:
    """One execution without a recorder, with the children that it waited for, by getrusage."""

    status: int  #: negative: the signal that ended it
    user: float  #: ns; many kernels give a whole tick to the process that runs at it
    kernel: float
    faults: int
    switches: int


def recorder(trace: str) -> tuple[str, ...]:
    """The recorder's words before the command; it writes `trace`. Raises MissingError without strace and perf."""
    if path := shutil.which("strace"):
        return (path, "-f", "-qq", "-y", "-s", "0", "-o", trace, "--")
    if path := shutil.which("perf"):
        return (path, "trace", "-o", trace, "--")
    raise MissingError("There is neither strace nor perf here.", "Debian, Ubuntu: apt-get install strace.")


def record(words: Sequence[str], folder: Path, seconds: float) -> Recording:
    """Runs the command in `folder` under a recorder. perf and the command run on one processor, for perf may lose calls
    of a command on another one.

    Raises MissingError without a recorder, TargetError if it cannot trace, or exceeds a limit.
    """
    with scratch("kernometer-trace-") as made:
        trace = made / "trace"
        trace.touch()
        recording = recorder(str(trace))
        alone = ("taskset", "-c", str(min(os.sched_getaffinity(0)))) if Path(recording[0]).name == "perf" else ()
        with _started((*alone, *recording, *words), folder) as (process, said):
            _finished(process, recording[0], seconds, trace)
            said.seek(max(0, said.seek(0, os.SEEK_END) - LAST_OUTPUT))
            text = said.read().decode("utf-8", "replace")
        with trace.open(errors="replace") as lines:
            recorded = parse(lines)
    if not recorded.calls:
        raise TargetError(f"{recording[0]} recorded no system call.", "It may not be permitted to trace.", text)
    return recorded


def timed(words: Sequence[str], folder: Path, seconds: float) -> Timed:
    """Runs the command once. Raises MissingError or TargetError if it cannot be executed or is not done in time."""
    with _started(words, folder) as (process, _):
        used = _finished(process, words[0], seconds)
    faults, switches = used.ru_minflt + used.ru_majflt, used.ru_nvcsw + used.ru_nivcsw
    return Timed(process.returncode, used.ru_utime * 1e9, used.ru_stime * 1e9, faults, switches)


def _finished(
    process: subprocess.Popen[bytes], name: str, seconds: float, trace: Path | None = None
) -> resource.struct_rusage:
    """Waits for the command's end. Raises TargetError if that takes too long, or the trace becomes too large."""
    until = time.monotonic() + seconds
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return used
        if trace is not None and trace.stat().st_size > MAX_TRACE:
            raise TargetError(*_TOO_MANY)
        if time.monotonic() > until:
            raise TargetError(f"{name} was not done in {seconds:.0f} s.", "Give it more with --limit SECONDS.")
        time.sleep(0.001)


@contextmanager
def _started(words: Sequence[str], folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """The command in a session of its own, which ends with the block, and the file of its messages."""
    with tempfile.TemporaryFile() as said:
        try:
            null = subprocess.DEVNULL
            process = subprocess.Popen(words, cwd=folder, stdin=null, stdout=null, stderr=said, start_new_session=True)
        except FileNotFoundError as error:
            raise MissingError(f"There is no {words[0]}.", "Install it, or give its path.") from error
        except OSError as error:
            raise TargetError(f"{words[0]} cannot be executed: {error.strerror}.") from error
        try:
            yield process, said
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            reap(process)


def parse(lines: Iterable[str]) -> Recording:
    """The calls in a trace of `strace -f -y` or `perf trace`, which is not trusted.

    A call that another task's line interrupts is one call; one that never returned (a killed process) counts as failed.
    Raises TargetError beyond the limits.
    """
    recording = Recording()
    pending: dict[str, tuple[str, str]] = {}
    for number, line in enumerate(lines):
        if number >= MAX_LINES or len(recording.calls) > MAX_KINDS or len(pending) > MAX_TASKS:
            raise TargetError(*_TOO_MANY)
        _line(recording, pending, line[:MAX_LINE].rstrip("\n"))
    for name, args in pending.values():
        recording.calls[_key(name, args, "-1")] += 1
    return recording


def _line(recording: Recording, pending: dict[str, tuple[str, str]], line: str) -> None:
    """A call's end comes first: a file's name may contain anything, but one recorder never prints the other's form."""
    if call := _RESUMED.match(line) or _PERF_RESUMED.match(line):
        name, args = pending.pop(call["task"], (call["name"], ""))
        recording.calls[_key(name, args + call["args"], call["result"] + call["rest"])] += 1
    elif begun := _BEGUN.match(line) or _PERF_BEGUN.match(line):
        pending[begun["task"]] = begun["name"], begun["args"]
    elif call := _STRACE.match(line) or _PERF_CALL.match(line):
        recording.calls[_key(call["name"], call["args"], call["result"] + call["rest"])] += 1
    elif not _ASIDE.match(line):
        recording.odd += bool(line.strip())


def _key(name: str, args: str, result: str) -> Key:
    """The call's key; variants with another cost have names of their own."""
    if name in ("clone", "clone3", "fork", "vfork"):
        name = "thread" if "THREAD" in args else "vfork" if "VFORK" in args or name == "vfork" else "fork"
    elif name == "newfstatat" and ("AT_EMPTY_PATH" in args or "flag: 4096" in args):
        name = "fstat"
    elif name in ("open", "openat") and "CREAT" in args and "</dev/" not in result:
        name = "creat"
    elif name == "fcntl" and "SETLK" in args:
        name = "lock"
    if result.startswith("-") and "EINPROGRESS" not in result:
        return name, "failed", 0
    opened = _OPENED.match(args)
    kind = _kind(opened[1]) if opened else ""
    moved = result.partition(" ")[0]
    return name, kind, int(moved) if name in SIZED and moved.isdecimal() else 0


def _kind(path: str) -> str:
    for begins, kind in (("pipe:", "pipe"), ("socket:", "socket"), ("/dev/", "device"), ("/", "file")):
        if path.startswith(begins):
            return kind
    return "other"
