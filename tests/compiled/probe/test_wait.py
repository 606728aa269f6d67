"""A probe that waits for its command, as it waits in a guest that is saved; here the test is the debugger."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from kernometer.guests.inside import programs

READY = b"#kernometer ready 65536\n"


def room_of(pid: int) -> int:
    """The address of its room. Fails if there is more than one."""
    for _ in range(200):
        maps = Path(f"/proc/{pid}/maps").read_text()
        with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
            found = []
            for begin, end in re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw.*(?:\[heap\]| 0 *)$", maps, re.MULTILINE):
                memory.seek(int(begin, 16))
                content = memory.read(int(end, 16) - int(begin, 16))
                found += [int(begin, 16) + match.start() for match in re.finditer(re.escape(READY), content)]
        if found:
            [room] = found
            return room
        time.sleep(0.05)
    pytest.fail("no room")


def test_a_waiting_probe_becomes_the_command_that_is_written_into_its_room(probe: Path) -> None:
    """Expected: it waits for as long as it takes, then the command runs in its place. Broken: a row measures beside, or
    below, the process that waited; a command is cut."""
    words = ("/bin/sh", "-c", 'echo $$ "$@"', "sh", "a b", "c" * 60_000)
    with subprocess.Popen((probe, "--wait"), stdout=subprocess.PIPE) as waiting:
        room = room_of(waiting.pid)
        os.kill(waiting.pid, signal.SIGSTOP)  # as the machine stands while the debugger writes
        with Path(f"/proc/{waiting.pid}/mem").open("r+b", buffering=0) as memory:
            memory.seek(room)
            memory.write(programs.encoded(words))
        os.kill(waiting.pid, signal.SIGCONT)
        said, _ = waiting.communicate(timeout=60)
    assert said.split() == [str(waiting.pid).encode(), b"a", b"b", b"c" * 60_000]


def test_a_command_that_is_not_there_is_named(probe: Path) -> None:
    """Expected: status 127 and the name, as of a shell. Broken: a probe that waits on, or a guest that says nothing."""
    with subprocess.Popen((probe, "--wait"), stderr=subprocess.PIPE) as waiting:
        room = room_of(waiting.pid)
        os.kill(waiting.pid, signal.SIGSTOP)
        with Path(f"/proc/{waiting.pid}/mem").open("r+b", buffering=0) as memory:
            memory.seek(room)
            memory.write(programs.encoded(("/no/such",)))
        os.kill(waiting.pid, signal.SIGCONT)
        _, said = waiting.communicate(timeout=60)
    assert waiting.returncode == 127
    assert said == b"probe: --wait: /no/such: No such file or directory\n"
