"""String instructions count once: programs on this host's processor, one step at a time, against the emulator's counts.

The host steps through each program of strings.s (units/step.c); the emulator executes the same instructions in regions
of spaces.s, which writes what its clock counted. By docs/path.md the figure is the clock's count less what the plugin
saw repeated, less the empty bracket; here the page faults' handlers too, whose instructions are known.
"""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from kernometer.guests.plugins.events import Region
from tests.support.guests.bare import SOURCES, booted

PROGRAMS = 10
#: Regions: an empty one, one with a page fault, the programs, one with string instructions before and after its clock.
EMPTY, FAULTING, FIRST, BESIDE = 130, 132, 134, 154

pytestmark = pytest.mark.guest


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[Region, int]]:
    """Each region, and what the clock counted in it."""
    folder = tmp_path_factory.mktemp("strings")
    regions = booted(folder)
    counted = struct.unpack(f"<{PROGRAMS + 3}I", (folder / "bulk").read_bytes())
    return {
        number: (regions[str(number)], count)
        for number, count in zip(range(EMPTY, EMPTY + 99, 2), counted, strict=False)
    }


def stepped(folder: Path, number: int) -> int:
    """Instructions of a program, on the host."""
    step, program = folder / "step", folder / f"program-{number}"
    subprocess.run(["gcc", "-O2", "-Wall", "-o", step, SOURCES / "units" / "step.c"], check=True, timeout=60)
    flags = ("-nostdlib", "-static", "-no-pie", f"-Wa,-I{SOURCES},--defsym,PROGRAM={number}")
    subprocess.run(["gcc", *flags, "-o", program, SOURCES / "stepped.s"], check=True, timeout=60)
    return int(subprocess.run([step, program], check=True, timeout=60, capture_output=True).stdout)


@pytest.mark.parametrize("number", range(PROGRAMS))
def test_a_program_counts_what_the_processor_executes(
    number: int, emulated: dict[int, tuple[Region, int]], tmp_path: Path
) -> None:
    """Expected: equal, to the instruction: counts of 0 and 1, neighbours, loops, an early end, backwards, page faults
    in the first iteration and in others. Broken: an iteration, or an attempt that faulted, is an instruction."""
    (_, empty), (of_fault, with_fault) = emulated[EMPTY], emulated[FAULTING]
    assert of_fault.memory["irets"] == (1,)
    handler = with_fault - empty - 2  # the instructions of on_a_new_page
    region, counted = emulated[FIRST + 2 * number]
    [repeated], [faults] = region.repeated, region.memory["irets"]
    assert counted - repeated - empty - handler * faults == stepped(tmp_path, number)


def test_the_plugins_own_count_has_attempts_beside(emulated: dict[int, tuple[Region, int]]) -> None:
    """Expected: the clock's count, less what is repeated, and one more for each fault. Broken: the two disagree."""
    [between] = emulated[EMPTY][0].each
    for number, (region, counted) in emulated.items():
        if number == BESIDE:
            continue
        assert region.each[0] - region.memory["irets"][0] - between == counted - region.repeated[0] - emulated[EMPTY][1]


def test_what_the_clock_does_not_bracket_is_not_taken_from_it(emulated: dict[int, tuple[Region, int]]) -> None:
    """Expected: nothing repeated. Broken: a page fault of a marker's own page, whose handler clears or copies memory,
    makes the region's count less than nothing, as FreeBSD's did, and costs the row."""
    (region, counted), (_, empty) = emulated[BESIDE], emulated[EMPTY]
    assert (region.repeated, counted) == ((0,), empty)
    assert region.each[0] > empty + 2 * 3


def test_bytes_are_those_of_whole_iterations(emulated: dict[int, tuple[Region, int]]) -> None:
    """Expected: what the programs move or look at, also where they end early. Broken: a faulted attempt moves some."""
    moved = [emulated[FIRST + 2 * number][0].memory["rep_bytes"][0] for number in range(PROGRAMS)]
    assert moved == [6, 11, 28, 2 * (1 + 2), 40 + 14, 128 + 8 + 20, 32, 3 * 4096, 2 * 4096, 3 * 8 + 4 * 4]
