"""Trio booted: how far to the first process, how it ends, and do the very files that run on Linux run on it alike?"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from kernometer.guests.inside import programs, tools
from kernometer.guests.kernels import trio
from kernometer.targets import build
from kernometer.targets.base import Deadline, Job
from kernometer.targets.qemu import QemuTarget
from tests.support.guests.repeated import repeated
from tests.support.trio.boot import DEBUG_EXIT, Kernel, Machine, Outcome, boot, initramfs
from tests.support.trio.fixtures import Program

pytestmark = pytest.mark.guest

HERE = Path(__file__).parent
#: A second of TCG's time is about as many; the issue asks for less than one.
INSTRUCTIONS_A_SECOND = 145_000_000
#: Beyond any machine's need.
SECONDS = 120.0
SAME = {"bin/same": (HERE / "same.sh").read_bytes()}
EXPECTED = (HERE / "same.txt").read_text()


def first(kernel: Kernel, program: Program, *, path: bool, device: bool) -> Outcome:
    """A boot with first.c as init."""
    machine = Machine(path=path, more=DEBUG_EXIT if device else ())
    return boot(kernel, initramfs((), init=program("first")), machine, seconds=SECONDS)


def run(kernel: Kernel, *command: str, path: bool = False, **files: bytes) -> Outcome:
    """A boot for one command; `files` are programs in /bin."""
    given = {f"bin/{name}": content for name, content in files.items()}
    return boot(kernel, initramfs(command, given), Machine(path=path), seconds=SECONDS)


def test_the_first_process_runs_before_a_second_of_emulation_is_over(kernel: Kernel, program: Program) -> None:
    """Expected: fewer instructions from the machine's start than TCG executes in a second, with the usual initramfs."""
    ended = first(kernel, program, path=True, device=True)
    found = re.search(rb"instructions (\d+)", ended.console)
    assert found is not None, ended
    assert int(found[1]) < INSTRUCTIONS_A_SECOND


def test_the_first_process_decides_the_status_that_the_emulator_ends_with(kernel: Kernel, program: Program) -> None:
    """Expected: 7 by the exit device, and a power-off that QEMU calls a good end where there is none."""
    with_device = first(kernel, program, path=False, device=True)
    assert with_device.debug_exit == 7, with_device
    without = first(kernel, program, path=False, device=False)
    assert without.qemu_status == 0, without


@pytest.mark.parametrize(("script", "status"), [("exit 0", 0), ("exit 5", 5), ("kill -9 $$", 137)])
def test_the_commands_status_is_told(kernel: Kernel, script: str, status: int) -> None:
    ended = run(kernel, "sh", "-c", script)
    assert ended.status == status, ended
    assert ended.qemu_status == 0, ended


def test_an_unknown_system_call_is_an_error_and_a_line_of_log(kernel: Kernel, program: Program) -> None:
    """Expected: ENOSYS, one line that names number and program. Broken: silence, or the end of the kernel."""
    ended = run(kernel, "unknown", unknown=program("unknown"))
    assert ended.bulk == b"-1 Function not implemented\n", ended
    (line,) = (line for line in ended.console.splitlines() if b"1999" in line)
    assert b"unknown" in line


def test_the_same_files_run_on_it_as_on_linux(kernel: Kernel) -> None:
    """Expected: busybox and the probe as they are on this host, byte by byte, and they run."""
    script = "sha256sum /bin/busybox /bin/probe | cut -d ' ' -f 1; probe --list clock/monotonic"
    ended = run(kernel, "sh", "-c", script)
    probe = build.static_probe().read_bytes()
    digests = [sha256(content).hexdigest() for content in (programs.busybox(), probe)]
    assert ended.bulk.decode().split() == [*digests, "clock/monotonic"], ended


def test_a_shell_and_its_tools_do_what_they_do_on_linux(kernel: Kernel) -> None:
    """Expected: same.sh prints what it prints on Linux, line by line."""
    ended = boot(kernel, initramfs(("same",), SAME), seconds=SECONDS)
    assert ended.bulk.decode().splitlines() == EXPECTED.splitlines(), ended
    assert ended.status == 0


@pytest.mark.slow(minutes=0.08)
def test_what_is_expected_of_a_shell_is_linuxs(linux_kernel: Kernel) -> None:
    """Expected: same.txt is what Linux does with this busybox. Broken: Trio is held to what somebody typed."""
    ended = boot(linux_kernel, initramfs(("same",), SAME), seconds=SECONDS)
    assert ended.bulk.decode().splitlines() == EXPECTED.splitlines(), ended


@pytest.mark.parametrize("linked", ["-static", ""])
def test_a_compiler_makes_a_program_that_runs(kernel: Kernel, linked: str) -> None:
    """Expected: the same tcc that Linux gets compiles, links and runs, also what needs its C library when it starts."""
    script = f"echo 'int main(void) {{ return 42; }}' >a.c && tcc {linked} -o a a.c && ./a"
    ended = boot(kernel, initramfs(("sh", "-c", script), tools.toolchain()), seconds=SECONDS)
    assert ended.status == 42, ended


@pytest.fixture
def target(kernel: Kernel) -> QemuTarget:
    assert trio.add("mono").kernel.read_bytes() == kernel.file.read_bytes()
    return QemuTarget.from_spec("trio-mono")


def records(target: QemuTarget, *rows: str, needs: frozenset[str] = frozenset()) -> list[bytes]:
    job = Job(("--by", "path", "--seed", "1", *rows), "path", needs)
    return list(target.run(job, Deadline.after(SECONDS)))


def test_a_row_is_measured_on_it_and_two_boots_agree(target: QemuTarget) -> None:
    """Expected: samples, an event vector, and the same again. Broken: something of the host's is an input."""
    rows = ("syscall/getppid", "proc/fork-exit")
    one, two = records(target, *rows), records(target, *rows)
    assert repeated(one) == repeated(two)
    runs = [record for record in map(json.loads, one) if record["type"] == "run"]
    measured = {*rows, "syscall/getppid@cold"}
    assert {record["row"] for record in runs} == measured
    assert {record["row"] for record in map(json.loads, one) if record["type"] == "events"} == measured


def test_a_row_with_a_disk_is_measured_on_minix_and_ext4_is_unsupported(target: QemuTarget) -> None:
    """Expected: a figure on MINIX FS; of ext4 the reason in words."""
    names = ("fs/read@bufsize=1024,blocks=2000,minix", "fs/read@bufsize=1024,blocks=2000,ext4")
    found = [json.loads(line) for line in records(target, *names, needs=frozenset({"minix", "ext4"}))]
    assert [record["row"] for record in found if record["type"] == "run"] == [names[0]]
    (unsupported,) = (record for record in found if record["type"] == "unsupported")
    assert (unsupported["row"], "trio-mono has no ext4" in unsupported["reason"]) == (names[1], True)


def test_a_row_of_the_frame_buffer_is_measured_with_trios_driver(target: QemuTarget) -> None:
    """Expected: the row that Linux has on the same display. Broken: two kernels whose displays cannot be compared."""
    shown = QemuTarget.from_spec(f"{target.guest.name}+display=bochs-drm")
    row = "fb/fill@width=64,height=64,bochs-drm"
    (run,) = (record for record in map(json.loads, records(shown, row)) if record["type"] == "run")
    assert run["row"] == row
    assert run["warnings"][0]["text"].startswith("the frame buffer was bochs-display, 1024 x 768")


def test_a_user_gets_a_shell_with_jobs_and_a_compiler(target: QemuTarget) -> None:
    """Expected: what is typed is done at the console, as in a Linux guest."""
    typed = (
        "sleep 100 &\nsleep 1\nkill %1\nwait\n"  # a new job ignores SIGTERM, as its shell does, for a moment
        'echo "int main(void) { return 42; }" >a.c\ntcc -static -o a a.c\n./a\necho is $?\n'
    )
    words = (sys.executable, "-m", "kernometer", "guest", "boot", "--by", "path", target.guest.name)
    done = subprocess.run(words, input=typed, capture_output=True, text=True, timeout=2 * SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    assert "This is Trio " in done.stdout
    assert re.search(r"\[1\]\+ +Terminated +sleep 100", done.stdout), done.stdout
    assert "\nis 42\n" in done.stdout.replace("\r", "")
