"""The events in one operation, as the kernel itself (Trio) and the emulator's plugin count them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median_low

from kernometer.results.iteration import bracket_of
from kernometer.results.model import Result


def by_kernel(row: str, results: Iterable[Result]) -> dict[str, float] | None:
    """The kernel's own counters that an operation moves, by the median of the iterations; None if it has none."""
    for result in results:
        for tally in result.tallies:
            if tally.row == row:
                moved = {name: median_low(each) for name, each in tally.counts.items() if each}
                return {name: count / _ops(row, result) for name, count in moved.items() if count}
    return None


def by_emulator(row: str, results: Iterable[Result]) -> dict[str, float]:
    """Each kind of event in one operation, less those of an empty region; {} without counts."""
    for result in results:
        for vector in result.events:
            if vector.row == row and vector.regions:
                empty = max(1, vector.empty_regions)
                return {
                    kind: (count / vector.regions - vector.empty.get(kind, 0) / empty) / _ops(row, result)
                    for kind, count in vector.counts.items()
                }
    return {}


#: Instructions between a region's marker and its reading of the clock, at most, in a probe of 64 bits, and of 32.
MARKER, MARKER_32 = 10, 16


def user_part(row: str, result: Result) -> float | None:
    """Instructions of one operation in user mode, by the emulator's plugin, net of the bracket, and without those of
    servers where they are counted; None without counts."""
    run = next((run for run in result.runs if run.row == row), None)
    vector = next((vector for vector in result.events if vector.row == row and "user" in vector.counts), None)
    if run is None or vector is None or not vector.regions:
        return None
    empty = vector.empty.get("user", 0) / max(1, vector.empty_regions)
    is_narrow = result.header is not None and result.header.probe.get("pointer_bits") == 32
    marker = MARKER_32 if is_narrow else MARKER
    bracket = min(empty, bracket_of(run) + marker)  # another process may have run within an empty region
    memory = next((memory for memory in result.memories if memory.row == row), None)
    servers = memory.counts.get("server_instructions", 0) / memory.iterations if memory is not None else 0.0
    return (vector.counts["user"] / vector.regions - bracket - servers) / run.ops


def counted(row: str, systems: Mapping[str, Iterable[Result]]) -> dict[str, dict[str, dict[str, float]]]:
    """Both counts by system, for other programs. Systems without counts are left out."""
    counts_of = {}
    for name, results in systems.items():
        both = {"kernel": by_kernel(row, results), "emulator": by_emulator(row, results) or None}
        if told := {who: counts for who, counts in both.items() if counts is not None}:
            counts_of[name] = told
    return counts_of


def _ops(row: str, result: Result) -> float:
    return next((run.ops for run in result.runs if run.row == row), 1.0)
