"""Random system calls against Trio: the kernel stays up, and has all its pages back. Each failure says its seed; the
same calls come again by `fuzz --seed SEED`, with `--from CALL --log` beginning where it is of interest."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernometer.cache import source_folder
from tests.trio.boot import Kernel, Machine, Outcome, boot, initramfs
from tests.trio.user_programs import PROGRAMS

pytestmark = pytest.mark.guest

#: Eight times these are ten million calls.
CALLS = 1_250_000
SEEDS = range(8)
#: Of a kernel with TRIO_CHECKED: what it had to complain of begins so.
COMPLAINT = b"checked: "


def run(kernel: Kernel, programs: Path, *command: str, seconds: float) -> Outcome:
    files = {f"bin/{each}": (programs / each).read_bytes() for each in PROGRAMS}
    ended = boot(kernel, initramfs(command, files), Machine(), seconds=seconds)
    assert b"Kernel panic" not in ended.console, ended
    return ended


def fuzzed(kernel: Kernel, programs: Path, seed: int, calls: int, seconds: float) -> Outcome:
    words = ("fuzz", "--seed", str(seed), "--calls", str(calls), "--processes", "8")
    ended = run(kernel, programs, *words, seconds=seconds)
    # 1: fewer free pages than before, beyond one for each size that vfs keeps ready
    assert ended.status == 0, (words, str(ended))
    assert ended.qemu_status == 0, (words, str(ended))
    assert f"calls {calls}\n".encode() in ended.bulk
    assert b"free_pages " in ended.bulk
    assert b"promised_pages " in ended.bulk
    return ended


@pytest.fixture(scope="module")
def checked(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    """A kernel that checks itself, built anew."""
    folder = tmp_path_factory.mktemp("checked")
    assert sources.is_dir()
    words = ("make", "-j2", "-C", str(source_folder("trio")), f"BUILD={folder}", "SWITCHES=-DTRIO_CHECKED")
    subprocess.run(words, check=True, capture_output=True, timeout=600)
    return Kernel.trio(folder / "trio-mono.elf")


def test_random_calls_do_no_harm(kernel: Kernel, user_programs: Path, pytestconfig: pytest.Config) -> None:
    """Expected: all calls answered, no page lost; other calls each day. Broken: the kernel's last words."""
    fuzzed(kernel, user_programs, seed=pytestconfig.option.slow_seed, calls=40_000, seconds=180.0)


@pytest.mark.slow(minutes=2)
@pytest.mark.parametrize("seed", SEEDS)
def test_ten_million_random_calls_do_no_harm(kernel: Kernel, user_programs: Path, seed: int) -> None:
    """Expected and broken: as above."""
    fuzzed(kernel, user_programs, seed=1000 + seed, calls=CALLS, seconds=900.0)


@pytest.mark.slow(minutes=3)
def test_a_kernel_that_checks_itself_has_nothing_to_complain_of(checked: Kernel, user_programs: Path) -> None:
    """Expected: usertests and random calls violate no invariant, meet no undefined behaviour and no errno that its
    interface does not list, and every page comes back. Broken: a panic, or a line `checked:` on the console."""
    suite = run(checked, user_programs, "usertests", seconds=300.0)
    calls = fuzzed(checked, user_programs, seed=7, calls=200_000, seconds=600.0)
    assert suite.status == 0, suite
    for ended in (suite, calls):
        assert [line for line in ended.console.splitlines() if COMPLAINT in line] == []
