"""The text of every flag, for the table, the report and the docs. docs/statistics.md, "Flags"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kernometer.stats.flags import BUSY, SHARED, TAKEN, Disturbance
from kernometer.stats.model import FlagCode, RowFigure
from kernometer.tables import packaged


@dataclass(frozen=True, slots=True)
class Wording:
    """A flag for readers. The figures that led to it are in `Flag.detail`."""

    letter: str  #: for the line of a row
    label: str
    sentence: str  #: what it means
    advice: str = ""  #: what to do about it; "": that depends on the options, see `explain`


WORDS: dict[FlagCode, Wording] = {
    FlagCode(code): Wording(**words) for code, words in packaged(__package__, "flags.toml").items()
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


def noisy(disturbed: Disturbance | None) -> str:
    """What disturbed a session, how much, and what to do, as one sentence; "" if nothing did."""
    if disturbed is None or disturbed.quiet:
        return ""
    causes = [
        (disturbed.shared, SHARED, "a neighbour shared the core in {} of the samples"),
        (disturbed.stolen, TAKEN, "the hypervisor took the CPU for {} of the time"),
        (disturbed.waited, TAKEN, "other processes had the CPU for {} of the time"),
        (disturbed.busy, BUSY, "the other CPUs were busy during {} of the runs"),
    ]
    told = ", ".join(words.format(f"{100 * share:.0f} %") for share, least, words in causes if share >= least)
    rest = "figures are of the quiet rest" if disturbed.shared >= SHARED else "stop what else runs, or measure by path"
    return f"A noisy machine: {told}; {rest}."


#: What helps where the clock is too coarse, by the options of the session that cause it.
_FINER = {
    "batch": "Leave out --batch: then the batch is calibrated.",
    "clock": "Leave out --clock: then it is the finest here.",
}


def explain(code: FlagCode, given: Collection[str] = (), *, command: bool = False) -> str:
    """What a flag means and what to do about it, for readers. `given`: options of the sessions' effort that the user
    gave; `command`: only rows of a user's command have it."""
    words = WORDS[code]
    advice = words.advice
    if code in (FlagCode.BELOW_RESOLUTION, FlagCode.COARSE_CLOCK):
        causes = [text for option, text in _FINER.items() if option in given]
        longer = "More executions tell: give a longer time with --seconds." if command else ""
        advice = longer or " ".join(causes) or "No option helps here; by path there is no clock."
    return f"{words.sentence} {advice}"
