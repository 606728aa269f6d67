"""The text of every flag, for the table, the report and the docs. docs/statistics.md, "Flags"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kernometer.stats.flags import BUSY, SHARED, TAKEN, Disturbance
from kernometer.stats.model import FlagCode, RowFigure


@dataclass(frozen=True, slots=True)
class Wording:
    """A flag for readers. The figures that led to it are in `Flag.detail`."""

    letter: str  #: for the line of a row
    label: str
    sentence: str  #: what it means
    advice: str  #: what to do about it; "": that depends on the options, see `explain`


WORDS: dict[FlagCode, Wording] = {
    FlagCode.BELOW_RESOLUTION: Wording(
        "b",
        "below clock",
        "The operation took less time than the clock can resolve, so there is no figure; that does not mean zero.",
        "",
    ),
    FlagCode.COARSE_CLOCK: Wording(
        "c",
        "coarse clock",
        "One step of the clock is more than 1 % of a sample, so the figure moves in visible steps.",
        "",
    ),
    FlagCode.DISTURBED: Wording(
        "d",
        "disturbed",
        "Something else used the CPU during some runs. The figure includes these runs like all others.",
        "Stop other programs, or measure on an idle CPU; kernometer check shows what disturbs here.",
    ),
    FlagCode.SHARED: Wording(
        "s",
        "shared core",
        "A neighbour used the core during nearly all samples, so the figure is not that of a quiet core.",
        "Measure again at another time, on another CPU, or by path.",
    ),
    FlagCode.COUNTS_DISAGREE: Wording(
        "x",
        "counts off",
        "The kernel counted other events (faults, switches, calls) than the workload claims to make.",
        "The figure is the cost of what happened, not of what the name says; please report the row with this kernel.",
    ),
    FlagCode.NOT_PINNED: Wording(
        "p",
        "not pinned",
        "The run could move between CPUs, so the figure also depends on where it ran.",
        "Allow the process to bind itself to a CPU: a sandbox's filter may refuse sched_setaffinity.",
    ),
    FlagCode.UNSTABLE: Wording(
        "u",
        "unstable",
        "Runs differ much more than the samples within them: conditions changed from process to process.",
        "Make more runs, and look for steps or drift in the report, which shows the runs in order.",
    ),
    FlagCode.FEW_RUNS: Wording(
        "f",
        "few runs",
        "Fewer than three runs: the interval is too wide to be of use, or there is none.",
        "Make more runs: --profile full, or a longer session.",
    ),
    FlagCode.OUTLIERS: Wording(
        "o",
        "outliers",
        "Some samples or runs lie far from the rest. The figure includes them all.",
        "Look at the distribution in the report; the median tolerates a few outliers, but not a second mode.",
    ),
    FlagCode.PROBE: Wording(
        "r",
        "remark",
        "The workload printed a remark.",
        "Read the remark: kernometer show --details prints it in full.",
    ),
}


#: Flags that need no action on a row.
FOLDED = frozenset({FlagCode.DISTURBED, FlagCode.OUTLIERS})
#: A flag on more than this share of at least so many rows is caused by the machine, not by a row.
COMMON, COMMON_FROM = 0.5, 8


def folded(figures: Sequence[RowFigure]) -> frozenset[FlagCode]:
    """Flags that are explained once below a table, and not shown at rows."""
    counts = Counter(code for figure in figures for code in {flag.code for flag in figure.flags})
    common = {code for code, n in counts.items() if len(figures) >= COMMON_FROM and n > COMMON * len(figures)}
    return (FOLDED | common) - {FlagCode.BELOW_RESOLUTION}


def noisy(found: Disturbance | None) -> str:
    """What disturbed a session, how much, and what to do, as one sentence; "" if nothing did."""
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


#: What helps where the clock is too coarse, by the options of the session that cause it.
_FINER = {
    "batch": "Leave out --batch: then the batch is calibrated.",
    "clock": "Leave out --clock: then it is the finest here.",
}


def explain(code: FlagCode, given: Collection[str] = (), *, command: bool = False) -> str:
    """What a flag means and what to do about it, for readers.

    `given`: options of the sessions' effort that the user gave; `command`: only rows of a user's command have it.
    """
    words = WORDS[code]
    advice = words.advice
    if code in (FlagCode.BELOW_RESOLUTION, FlagCode.COARSE_CLOCK):
        causes = [text for option, text in _FINER.items() if option in given]
        longer = "More executions tell: give a longer time with --seconds." if command else ""
        advice = longer or " ".join(causes) or "No option helps here; by path there is no such limit."
    return f"{words.sentence} {advice}"
