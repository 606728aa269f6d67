"""The statistics' values: figures of one result, comparisons of two. docs/statistics.md."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from kernometer.results.model import BUILD


class Verdict(Enum):
    """The verdict on B against A. Slower: B costs more."""

    SLOWER = "slower"
    FASTER = "faster"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"
    FAILED = "failed"
    NOT_THERE = "not there"  #: a side does not support it, with a reason; nothing failed


class FlagCode(Enum):
    """Why a figure needs care. report/words/flags.toml has the texts."""

    BELOW_RESOLUTION = "below-resolution"
    COARSE_CLOCK = "coarse-clock"
    DISTURBED = "disturbed"
    SHARED = "shared"  #: too few samples in the quiet state of the core
    COUNTS_DISAGREE = "counts-disagree"
    NOT_PINNED = "not-pinned"
    UNSTABLE = "unstable"  #: runs differ more than the samples within them explain
    FEW_RUNS = "few-runs"
    OUTLIERS = "outliers"
    FEW_SAMPLES = "few-samples"  #: no quantile: its samples are means, or too few
    PROBE = "probe"  #: a remark of the workload


#: A figure by path whose user part is larger is shown with the kernel's part: a libc may decide it.
USER_PART = 0.1
#: The prefix of a probe's facts (stats/differences.py), and those that the first line of a comparison names.
_PROBE = "probe "
_BUILD = frozenset(_PROBE + fact for fact in BUILD)
#: Characters of such a fact with its values; a longer one is shown without values.
SHORT = 60
#: Why nothing can be decided, and what to do.
NOT_QUIET = "as only one side had a quiet core; stop what else runs, and measure again"
FEW_SESSIONS = (
    "with one session on a side and fewer than three earlier ones of this host; "
    "measure more sessions, or in turn (kernometer ab)"
)
FEW_FILES = (
    "with one file on a side, or with files that were not measured in turn; "
    "import more files of each side, measured in turn (A B A B)"
)

#: Verdicts that say which side costs more.
DECIDED = frozenset({Verdict.SLOWER, Verdict.FASTER})


@dataclass(frozen=True, slots=True)
class Flag:
    code: FlagCode
    detail: str  #: a sentence with the figures that led to it


@dataclass(frozen=True, slots=True)
class RunFigure:
    """One run: the median of its quiet samples after warm-up, net of clock, loop and (if so defined) baseline."""

    run: int
    block: int
    cost: float  #: ns (by path: instructions) per operation, net
    gross: float  #: the figure without any subtraction
    baseline: float | None  #: the baseline's own net cost per operation
    samples: int  #: how many the figure uses
    warmup: int  #: leading samples left out
    seconds: float
    batch: int = 1  #: iterations in one sample
    #: The share of its samples in the quiet state of the core, the only ones that count; 0: too few, so all count.
    quiet: float = 1.0
    reference: float | None = None  #: ns of one iteration of the empty loop beside the samples that count


@dataclass(frozen=True, slots=True)
class Level:
    """One kind of iteration of a row by path."""

    cost: float  #: instructions per operation: the lower median of these iterations, net
    share: float  #: of the row's iterations


@dataclass(frozen=True, slots=True)
class RowFigure:
    """One row of one result.

    `cost` is the median of the runs' costs; `low` and `high` are its 95 % interval *within this session*. `value` is
    the cost in the row's own unit: ns, B/s or 1/s (by path: instructions); `value_low` <= `value_high`. All are None
    below the clock's resolution.
    """

    row: str
    workload: str
    params: dict[str, Any]
    unit: str
    per: str
    better: str
    cost: float | None = None
    low: float | None = None
    high: float | None = None
    value: float | None = None
    value_low: float | None = None
    value_high: float | None = None
    gross: float | None = None
    baseline: float | None = None
    runs: tuple[RunFigure, ...] = ()
    flags: tuple[Flag, ...] = ()
    exact: bool = False  #: by path: all counts are equal
    floor: float | None = None  #: by path: how far other states of this guest move the count, relative; None: not known
    levels: tuple[Level, ...] = ()  #: by path: each kind of iterations, if there are several, the cheapest first
    mean: float | None = None  #: by path: instructions per operation, the mean of the middle iterations
    #: By path: the kernel's part of the figure (of `mean`, if there are levels); None: not counted separately.
    kernel_part: float | None = None
    revision: int = 1  #: of the row's definition: figures of different revisions are not compared
    #: What the figure depends on besides the kernel, name to value: settings, the relation of its two CPUs.
    conditions: dict[str, str] = field(default_factory=dict)
    counting: float | None = None  #: how many times as long a sample took in the counting run; None: no such run

    @property
    def much_user(self) -> bool:
        """Whether the user's part is over USER_PART, so that the kernel's part is shown."""
        total = self.mean if self.levels else self.cost
        return self.kernel_part is not None and bool(total) and self.kernel_part < (1 - USER_PART) * (total or 0.0)


@dataclass(frozen=True, slots=True)
class Quantile:
    """One quantile of a row's iterations, ns, with the 95 % interval between order statistics *within this session*."""

    q: float
    value: float
    low: float | None = None  #: None: no sample is known to lie at that side of the quantile
    high: float | None = None
    missing: int = 0  #: further samples, if they are like these, until both ends are known; 0: both are
    seconds: float = 0.0  #: of further measuring, for these


@dataclass(frozen=True, slots=True)
class Tail:
    """The distribution of a row's iterations, each timed alone, by time. All samples count, but for the start of each
    run."""

    runs: int = 0
    samples: int = 0
    quantiles: tuple[Quantile, ...] = ()
    greatest: float = 0.0  #: ns
    longer: float = 1.0  #: the share of iterations that take longer than the greatest is at most this, with 95 %
    why: str = ""  #: why there is none


@dataclass(frozen=True, slots=True)
class RowComparison:
    """One row of B against A. `ratio` is of costs: above 1, B is slower, whatever the row's unit."""

    row: str
    workload: str
    verdict: Verdict
    ratio: float | None = None
    low: float | None = None  #: 95 %, unadjusted
    high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None  #: Benjamini-Hochberg over all rows
    units_a: int = 0  #: sessions, boots or blocks of each side
    units_b: int = 0
    floor: float | None = None  #: by path, for two builds: the layout floor used for the verdict, relative
    exact: bool = False  #: by path: the counts of each side are all equal, and the ratio has no error
    by_mean: bool = False  #: by path: a side's iterations have levels, and the ratio is that of the means
    smallest: float | None = None  #: smallest relative difference these runs could have seen (0.05: 5 %)
    minutes_missing: float | None = None  #: of further measuring until delta could be seen (ab)
    sessions_missing: int | None = None  #: further sessions a side (compare)
    a: RowFigure | None = None
    b: RowFigure | None = None
    notes: tuple[str, ...] = ()  #: why undecided or failed, and other notes

    @property
    def kernel_part_ratio(self) -> float | None:
        """The ratio of the kernel's parts, if the user's part of a side is large and A has a kernel's part."""
        if self.a is None or self.b is None or not (self.a.much_user or self.b.much_user):
            return None
        if not self.a.kernel_part or self.b.kernel_part is None:
            return None
        return self.b.kernel_part / self.a.kernel_part

    @property
    def costs(self) -> tuple[float, float] | None:
        """The two values that `ratio` compares; None without a ratio."""
        if self.a is None or self.b is None:
            return None
        a, b = (self.a.mean, self.b.mean) if self.by_mean else (self.a.cost, self.b.cost)
        return None if a is None or b is None else (a, b)


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact with its values on the two sides."""

    what: str
    a: str
    b: str
    asked: bool = False  #: the names of the two targets choose it

    @property
    def of_host(self) -> bool:
        """Whether it is a fact of `check`: there are dozens, which are shown apart."""
        return self.what.startswith("host ")


@dataclass(frozen=True, slots=True)
class Comparison:
    """B against A, judged."""

    a: str
    b: str
    method: str  #: "ab", "compare", "path", "imported" (files of other suites)
    delta: float
    rows: tuple[RowComparison, ...]
    same: tuple[Difference, ...] = ()  #: what agrees (a == b), for the strip
    differs: tuple[Difference, ...] = ()
    remarks: tuple[str, ...] = field(default=())
    conditions: tuple[str, ...] = field(default=())  #: needed to read the verdicts; they stand above the rows
    quantile: str = ""  #: what is judged instead of the median, as `p99`

    def count(self, verdict: Verdict) -> int:
        return sum(row.verdict is verdict for row in self.rows)

    @property
    def undecidable(self) -> bool:
        """Whether no row has an interval: by `compare` for lack of sessions, by `ab` of a quiet core on both sides."""
        if self.method == "path":
            return False
        judged = [row for row in self.rows if row.ratio is not None]
        return bool(judged) and not any(row.exact or row.low is not None for row in judged)

    @property
    def probes(self) -> str:
        """How the builds of the two sides' probes differ, with short values. "" if they are equal, and in an `ab`,
        whose targets name the compilers to compare."""
        differ = [difference for difference in self.differs if difference.what in _BUILD and self.method != "ab"]
        words = [f"{difference.what.removeprefix(_PROBE)}: {difference.a} | {difference.b}" for difference in differ]
        return "; ".join(word if len(word) <= SHORT else word.partition(":")[0] for word in words)

    @property
    def sentence(self) -> str:
        """The first line of every comparison."""
        between = f"{self.quantile} of {self.b} against {self.a}" if self.quantile else f"{self.b} against {self.a}"
        between += f", by different probes ({self.probes})" if self.probes else ""
        if self.undecidable:
            why = {"ab": NOT_QUIET, "imported": FEW_FILES}.get(self.method, FEW_SESSIONS)
            return f"{between}: nothing can be decided {why}"
        lacking = self.count(Verdict.NOT_THERE)
        return (
            f"{between}: {self.count(Verdict.SLOWER)} slower, {self.count(Verdict.FASTER)} faster, "
            f"{self.count(Verdict.EQUIVALENT)} equivalent (±{self.delta * 100:.3g} %), "
            f"{self.count(Verdict.UNDECIDED)} undecided, {self.count(Verdict.FAILED)} failed"
            f"{f', {lacking} not there' if lacking else ''}"
        )
