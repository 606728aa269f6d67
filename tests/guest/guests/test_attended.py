"""A real guest with a user at its console: on a terminal, from a script, by path, and under a debugger."""

from __future__ import annotations

import os
import re
import signal
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from kernometer.guests import store
from kernometer.targets.base import Deadline
from tests.support.cli.terminals import COMMAND, alive, on_terminal, settings, wait_for

pytestmark = pytest.mark.guest

#: Beyond any machine; a boot takes five seconds on an idle one, and the compiler is made once.
BOOT_SECONDS = 500.0
#: Newer versions of busybox call the home ~.
PROMPT = b" # "


@pytest.fixture(scope="module")
def real(guest_cache: Path, linux_6_1: store.Guest) -> dict[str, str]:
    """An environment with that guest."""
    assert linux_6_1.folder.is_relative_to(guest_cache)
    return os.environ | {"XDG_CACHE_HOME": str(guest_cache)}


def emulators(folder: Path) -> list[int]:
    """QEMUs that run in a boot's folder below this one."""
    found = []
    for each in Path("/proc").iterdir():
        try:
            if each.name.isdecimal() and str((each / "cwd").readlink()).startswith(f"{folder}/kernometer-boot-"):
                program = (each / "comm").read_text()
                found += [int(each.name)] if program.startswith("qemu") else []
        except OSError:
            continue
    return found


@pytest.mark.slow(minutes=0.08)
def test_a_user_at_a_terminal_looks_around_compiles_and_leaves(real: Mapping[str, str], tmp_path: Path) -> None:
    """Expected: shell, probe, compiler, Ctrl-C for the guest's program, then power off, the terminal as before."""
    environment = {**real, "TMPDIR": str(tmp_path)}
    with on_terminal((*COMMAND, "linux-6.1"), environment) as terminal:
        before = settings(terminal)
        terminal.see(PROMPT, BOOT_SECONDS)
        terminal.type(b"uname -r; cat /proc/cmdline\r")
        assert b"6.1.0-" in (seen := terminal.see(PROMPT)) and b"nokaslr" in seen
        terminal.type(b"probe --list | wc -l\r")
        assert int(re.findall(rb"\n(\d+)\r", terminal.see(PROMPT))[0]) > 50
        terminal.type(b"""sh -c "echo be''gun; sleep 1000"\r""")  # who speaks has the terminal: not so the shell before
        terminal.see(b"begun\r")
        terminal.type(b"\x03")
        terminal.see(PROMPT)
        program = rb"""printf '#include <stdio.h>\nint main(void) { return !printf("six is %%d\\n", 2 * 3); }\n'"""
        terminal.type(program + b" >hello.c; tcc -static -o hello hello.c && ./hello\r")
        terminal.see(b"six is 6\r")
        terminal.see(PROMPT)
        assert len(emulators(tmp_path)) == 1
        terminal.type(b"exit\r")
        assert terminal.status() == 0
        assert settings(terminal) == before
    assert emulators(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow(minutes=0.1)
def test_ctrl_a_x_leaves_at_once(real: Mapping[str, str], tmp_path: Path) -> None:
    with on_terminal((*COMMAND, "linux-6.1"), {**real, "TMPDIR": str(tmp_path)}) as terminal:
        before = settings(terminal)
        terminal.see(PROMPT, BOOT_SECONDS)
        terminal.type(b"\x01x")
        assert terminal.status() == 0
        assert settings(terminal) == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow(minutes=0.13)
def test_qemu_puts_the_terminal_right_when_the_front_end_is_killed(real: Mapping[str, str], tmp_path: Path) -> None:
    """Expected: no QEMU, and a terminal that shows what is typed. Broken: either is left to the user."""
    shell = ("sh", "-c", '"$@"; while :; do sleep 1; done', "sh")  # the terminal's session must not end with it
    with on_terminal((*shell, *COMMAND, "linux-6.1"), {**real, "TMPDIR": str(tmp_path)}) as terminal:
        before = settings(terminal)
        terminal.see(PROMPT, BOOT_SECONDS)
        assert settings(terminal) != before
        (emulator,) = emulators(tmp_path)
        front = int(re.findall(r"PPid:\s+(\d+)", Path(f"/proc/{emulator}/status").read_text())[0])
        os.kill(front, signal.SIGKILL)
        wait_for(lambda: not alive(emulator))
        assert settings(terminal) == before


@pytest.mark.slow(minutes=0.2)
@pytest.mark.parametrize("by", ["time", "path"])
def test_a_script_is_typed_and_the_guest_powers_off_at_its_end(real: Mapping[str, str], by: str) -> None:
    """Expected: each line's output, of more lines than a serial line holds. Broken: the first are lost, or the last."""
    script = "uname -s\n" + "".join(f"echo answer $(({number} * 7))\n" for number in range(150))
    done = subprocess.run(
        (*COMMAND, "--by", by, "linux-6.1"), input=script, capture_output=True, text=True, env=real,
        timeout=BOOT_SECONDS, check=True,
    )  # fmt: skip  # as a command line
    assert re.findall(r"^answer (\d+)$", done.stdout, re.MULTILINE) == [str(number * 7) for number in range(150)]
    assert "Linux\n" in done.stdout.replace("\r", "")


def entry(kernel: str) -> int:
    """The address at which an ELF file of 64 bits begins to run."""
    with Path(kernel).open("rb") as file:
        return int(struct.unpack_from("<Q", file.read(64), 24)[0])


@pytest.mark.slow(minutes=0.1)
def test_a_debugger_attaches_as_told_and_the_guest_then_boots(real: Mapping[str, str]) -> None:
    """Expected: stopped before the first instruction, then at an address of the kernel's, then it boots.
    Broken: the guest runs before the debugger is there, or the printed words do not attach."""
    front = subprocess.Popen(
        (*COMMAND, "--gdb", "linux-6.1"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=real,
    )  # fmt: skip  # as a command line
    assert front.stdin is not None and front.stderr is not None
    try:
        front.stdin.write("uname -r\n")
        front.stdin.close()
        told = ""
        while (command := re.search(r"^  gdb -ex 'target remote (\S+)' (\S+)$", told, re.MULTILINE)) is None:
            line = front.stderr.readline()
            assert line, told
            told += line
        socket, kernel = command.groups()
        until = Deadline.after(BOOT_SECONDS)
        while not Path(socket).exists():
            assert not until.passed
        done = subprocess.run(
            ("gdb", "-nx", "-batch", "-ex", f"target remote {socket}", "-ex", "p/x $rip",
             "-ex", f"hbreak *{entry(kernel):#x}", "-ex", "continue", "-ex", "p/x $rip", "-ex", "detach", kernel),
            capture_output=True, text=True, timeout=BOOT_SECONDS, check=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip  # as a command line
        assert "$1 = 0xfff0" in done.stdout
        assert f"$2 = {entry(kernel):#x}" in done.stdout
        said = front.stdout.read() if front.stdout is not None else ""
        assert "6.1.0-" in said
        assert front.wait(BOOT_SECONDS) == 0
    finally:
        front.kill()
        front.wait()
