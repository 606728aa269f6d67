"""The switches of the experiment: does each do what it says, and no more, and do programs still run?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import idl_parse
import structures
from kernometer import source_folder
from kernometer.explain.cycles import modelled
from kernometer.guests.kernels import trio
from kernometer.results.store import read_file
from kernometer.stats.counters import by_kernel
from kernometer.stats.figures import figures
from tests.support.cli.real import kernometer
from tests.support.trio.boot import Kernel
from tests.support.trio.fuzzing import checked_kernel
from tests.support.trio.questions import failed_questions

pytestmark = pytest.mark.guest

#: Questions of usertests that pages-at-once answers otherwise, since they ask whether a page is there.
PRESENT = {"mapped_names", "mapped_written", "mincore", "mincore_vector", "mlock", "mlockall"}
MICRO = ",".join(trio.switches("micro"))

Counts = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Effect:
    """What a row counts with a switch off, and with it on."""

    structure: str
    row: str
    off: Callable[[Counts], bool]
    on: Callable[[Counts], bool]


def _count(name: str, least: float, most: float | None = None) -> Callable[[Counts], bool]:
    return lambda counts: least <= counts.get(name, 0.0) <= (least if most is None else most)


READ_ON_DISK, FSYNC_ON_DISK = "fs/read@bufsize=1024,blocks=2000,minix", "fs/fsync@bytes=4096,minix"
EFFECTS = {
    "fork-copies": Effect("mono", "proc/fork-exit", _count("traps.faults", 3, 9), _count("traps.faults", 0, 1)),
    "pages-at-once": Effect(
        "mono", "mem/mmap-munmap@bytes=65536", _count("traps.faults", 4), _count("traps.faults", 0)
    ),
    "files-uncached": Effect("mono", READ_ON_DISK, _count("calls.block.read", 0), _count("calls.block.read", 0.5, 1)),
    "by-queue": Effect("micro", "syscall/getppid", _count("switches.direct", 1), _count("switches.direct", 0)),
    "in-memory": Effect("micro", "syscall/getppid", _count("bytes.messages", 0), _count("bytes.messages", 100, 1000)),
    "by-mapping": Effect("micro", "syscall/read-zero", _count("traps.servers", 2), _count("traps.servers", 3)),
    "decoded-by-services": Effect("micro", "syscall/read-zero", _count("traps.servers", 2), _count("traps.servers", 3)),
    "scattered": Effect("micro", "syscall/getppid", _count("walks", 9, 11), _count("walks", 18, 20)),
    "checksums": Effect("mono", FSYNC_ON_DISK, _count("calls.block.write", 2), _count("calls.block.write", 4)),
    "parking-counted": Effect(
        "mono", "ctx/pipe-pair@same-cpu", _count("parked.work", 0), _count("parked.work", 100, 1000)
    ),
}


@pytest.mark.parametrize(
    "name", ["read", "open", "stat", "rename", "getpid", "fork", "poll", "readv", "select", "accept"]
)
def test_a_service_decodes_a_call_that_registers_tell_whole(name: str) -> None:
    """Expected: not one whose wait would begin anew each time it is decoded, nor one with more than its registers.
    Broken: a poll that is woken often never ends."""
    root = source_folder("trio")
    calls = [each for one in idl_parse.interfaces(root / "interfaces").values() for each in one.linux]
    is_whole = name not in ("poll", "readv", "select", "accept")
    assert [each.is_registers for each in calls if each.name == name] == [is_whole]


def test_every_switch_has_its_effect_here() -> None:
    """All but heartbeats, which no operation sees: test_hostile_service.py."""
    assert set(EFFECTS) == set(structures.SWITCHES) - {"heartbeats"}


@pytest.mark.slow(minutes=0.25)
@pytest.mark.parametrize("switch", EFFECTS)
def test_a_switch_does_what_it_says(sources: Path, guest_cache: Path, tmp_path: Path, switch: str) -> None:
    """Expected: the kernel's own counters of one operation move as the claim has it. Broken: a switch that is compiled
    in and changes nothing, so that its effect is 0 by mistake."""
    assert sources.is_dir()
    assert guest_cache.is_dir()
    effect = EFFECTS[switch]
    counted = {}
    for structure in (effect.structure, f"{effect.structure}+with={switch}"):
        trio.add(structure)
        folder = tmp_path / structure.replace("+", "-")
        kernometer(folder, "run", "--by", "path", "--on", f"qemu:trio-{structure}", effect.row)
        (file,) = folder.glob("*.ndjson")
        result = read_file(file)
        counted[structure] = {**(by_kernel(effect.row, (result,)) or {}), **modelled((result,))[1][effect.row].counts}
        assert figures(result)[effect.row].value
    off, on = counted.values()
    assert effect.off(off), off
    assert effect.on(on), on


@pytest.mark.slow(minutes=1)
@pytest.mark.parametrize(
    "kernel",
    [f"micro+with={MICRO}", "hybrid+with=decoded-by-services", "mono+with=fork-copies,files-uncached"],
    indirect=True,
)
def test_every_question_is_answered_with_switches(
    kernel: Kernel, user_programs: Path, request: pytest.FixtureRequest
) -> None:
    """Expected: as without, but for those about which pages are there. Broken: a switch that changes what a program
    sees, so that its price is not of the same thing."""
    at_once = "pages-at-once" in request.node.callspec.params["kernel"]
    assert failed_questions(kernel, user_programs) == (PRESENT if at_once else set())


@pytest.mark.slow(minutes=1.4)
def test_a_page_that_is_lost_in_the_middle_of_a_copy_is_copied_again(user_programs: Path, guest_cache: Path) -> None:
    """Expected: a server goes on with a page of its own and copies once more; a kernel that checks itself takes every
    third page away. Broken: it writes to a page that may be another program's by then, or what it copied is lost."""
    assert guest_cache.is_dir()
    assert failed_questions(checked_kernel("micro+with=by-mapping"), user_programs) == set()
