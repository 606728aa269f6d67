"""Every flag in words, once: for the table, the report and the docs. What each means: docs/statistics.md, "Flags"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kernometer.stats.disturbance import BUSY, SHARED, TAKEN, Disturbance
from kernometer.stats.model import FlagCode, RowFigure


@dataclass(frozen=True, slots=True)
class Wording:
    """A flag for readers. The figures that led to it are in `Flag.detail`."""

    letter: str  #: for the line of a row
    label: str
    sentence: str  #: what it means
    advice: str  #: what to do about it


WORDS: dict[FlagCode, Wording] = {
    FlagCode.BELOW_RESOLUTION: Wording(
        "b",
        "below clock",
        "The operation took less than the clock can tell from nothing, so there is no figure; that is not zero.",
        "Leave the batch to calibration (no --batch), or choose a finer clock with --clock.",
    ),
    FlagCode.COARSE_CLOCK: Wording(
        "c",
        "coarse clock",
        "One step of the clock is more than 1 % of a sample, so the figure moves in visible steps.",
        "Choose a finer clock (--clock) and no --batch of your own; a cold row is one call and cannot be longer.",
    ),
    FlagCode.DISTURBED: Wording(
        "d",
        "disturbed",
        "Something else had the CPU during some runs. They are in the figure like all others.",
        "Stop what else runs, or measure on an idle CPU; kernometer check names what disturbs here.",
    ),
    FlagCode.SHARED: Wording(
        "s",
        "shared core",
        "A neighbour was on the core beside nearly all samples, so that the figure is not of a quiet core.",
        "Measure again at another time, on another CPU, or by path.",
    ),
    FlagCode.COUNTS_DISAGREE: Wording(
        "x",
        "counts off",
        "The kernel counted other events (faults, switches, calls) than the workload claims to make.",
        "Take the figure for what happened, not for what the name says; please report the row with this kernel.",
    ),
    FlagCode.NOT_PINNED: Wording(
        "p",
        "not pinned",
        "The run was free to move between CPUs, so that where it ran is part of the figure.",
        "Allow the process at least one CPU that it may bind itself to (taskset, the container's cpuset).",
    ),
    FlagCode.UNSTABLE: Wording(
        "u",
        "unstable",
        "Runs differ much more than the samples within them: each process found different conditions.",
        "Make more runs, and look at the run order in the report for steps or drift.",
    ),
    FlagCode.FEW_RUNS: Wording(
        "f",
        "few runs",
        "Fewer than three runs: their interval is too wide to say much, or there is none.",
        "Make more runs: --profile full, or a longer session.",
    ),
    FlagCode.OUTLIERS: Wording(
        "o",
        "outliers",
        "Some samples or runs lie far from the rest. None was dropped.",
        "Look at the distribution in the report; the median bears with a few, not with a second mode.",
    ),
    FlagCode.PROBE: Wording(
        "r",
        "remark",
        "The workload made a remark of its own.",
        "Read it; kernometer show --details prints it in full.",
    ),
}


#: Flags that ask for nothing to be done about a row.
FOLDED = frozenset({FlagCode.DISTURBED, FlagCode.OUTLIERS})
#: A flag on more than this share of the rows says something of the machine, not of a row; from so many rows on.
COMMON, COMMON_FROM = 0.5, 8


def folded(figures: Sequence[RowFigure]) -> frozenset[FlagCode]:
    """Flags that are told once below a table, and not beside rows."""
    counts = Counter(code for figure in figures for code in {flag.code for flag in figure.flags})
    common = {code for code, n in counts.items() if len(figures) >= COMMON_FROM and n > COMMON * len(figures)}
    return (FOLDED | common) - {FlagCode.BELOW_RESOLUTION}


def noisy(found: Disturbance | None) -> str:
    """What disturbed a session, how much, and what to do, as one sentence; "" where nothing did."""
    if found is None or found.quiet:
        return ""
    causes = [
        (found.shared, SHARED, "a neighbour shared the core in {} of the samples"),
        (found.stolen, TAKEN, "the hypervisor took the CPU for {} of the time"),
        (found.waited, TAKEN, "other processes had the CPU for {} of the time"),
        (found.busy, BUSY, "the other CPUs were busy during {} of the runs"),
    ]
    told = ", ".join(words.format(f"{100 * share:.0f} %") for share, least, words in causes if share >= least)
    rest = "figures are of the quiet rest" if found.shared >= SHARED else "stop what else runs, or measure by path"
    return f"A noisy machine: {told}; {rest}."


def explain(code: FlagCode) -> str:
    """What a flag means and what to do about it, for readers."""
    words = WORDS[code]
    return f"{words.sentence} {words.advice}"
