"""Every flag in words, once: for the table, the report and the docs. What each means: docs/statistics.md, "Flags"."""

from __future__ import annotations

from dataclasses import dataclass

from kernometer.stats.model import FlagCode

#: Of a label: the table's column is this wide.
LABEL_WIDTH = 12


@dataclass(frozen=True, slots=True)
class Wording:
    """A flag for readers. The figures that led to it are in `Flag.detail`."""

    label: str  #: for a column of the table, at most `LABEL_WIDTH` characters
    sentence: str  #: what it means
    advice: str  #: what to do about it


WORDS: dict[FlagCode, Wording] = {
    FlagCode.BELOW_RESOLUTION: Wording(
        "below clock",
        "The operation took less than the clock can tell from nothing, so there is no figure; that is not zero.",
        "Leave the batch to calibration (no --batch), or choose a finer clock with --clock.",
    ),
    FlagCode.COARSE_CLOCK: Wording(
        "coarse clock",
        "One step of the clock is more than 1 % of a sample, so the figure moves in visible steps.",
        "Choose a finer clock (--clock) and no --batch of your own; a cold row is one call and cannot be longer.",
    ),
    FlagCode.DISTURBED: Wording(
        "disturbed",
        "Something else had the CPU during some runs. They are in the figure like all others.",
        "Stop what else runs, or measure on an idle CPU; kernometer check names what disturbs here.",
    ),
    FlagCode.COUNTS_DISAGREE: Wording(
        "counts off",
        "The kernel counted other events (faults, switches, calls) than the workload claims to make.",
        "Take the figure for what happened, not for what the name says; please report the row with this kernel.",
    ),
    FlagCode.NOT_PINNED: Wording(
        "not pinned",
        "The run was free to move between CPUs, so that where it ran is part of the figure.",
        "Allow the process at least one CPU that it may bind itself to (taskset, the container's cpuset).",
    ),
    FlagCode.UNSTABLE: Wording(
        "unstable",
        "Runs differ much more than the samples within them: each process found different conditions.",
        "Make more runs, and look at the run order in the report for steps or drift.",
    ),
    FlagCode.FEW_RUNS: Wording(
        "few runs",
        "Fewer than three runs: their interval is too wide to say much, or there is none.",
        "Make more runs: --profile full, or a longer session.",
    ),
    FlagCode.OUTLIERS: Wording(
        "outliers",
        "Some samples or runs lie far from the rest. None was dropped.",
        "Look at the distribution in the report; the median bears with a few, not with a second mode.",
    ),
    FlagCode.PROBE: Wording(
        "remark",
        "The workload made a remark of its own.",
        "Read it; kernometer show prints it in full.",
    ),
}


def explain(code: FlagCode) -> str:
    """What a flag means and what to do about it, for readers."""
    words = WORDS[code]
    return f"{words.sentence} {words.advice}"
