"""From counts to time: what each event costs, fitted where both are known, judged on rows that it has not seen. Pure.

The time of an operation is the sum over KINDS of count × cost, no cost below 0. Rows of one host by time, and of the
same kernel by path, give the costs. How strongly the costs of events are held towards 0 (so that instructions alone
explain the time) is chosen by leaving out one family after the other; the judgement leaves out one more, which neither
costs nor strength have seen. docs/path-to-time.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import msgspec

from kernometer.arrays import Floats, np, optimize
from kernometer.results.model import Result
from kernometer.results.rows import Row
from kernometer.stats.counters import by_emulator
from kernometer.stats.figures import figures

#: What costs time, by the emulator's names. Instructions are the row's figure, a median; events are means, with ticks.
KINDS: Mapping[str, tuple[str, ...]] = {
    "instructions": (),
    "syscalls": ("syscalls",),
    "irets": ("irets",),
    "cr3_writes": ("cr3_writes",),
    "fpu": ("fpu_saves", "fpu_restores"),
    "invlpg": ("invlpg",),
}
#: Families of operations of the kernel: clocks and arithmetic stay in user mode, scripts run programs of the system.
FAMILIES = ("syscall", "ctx", "ipc", "proc", "sig", "mem", "fs")
#: The families that decide whether times are printed at all; how near a prediction must be, and how many of them.
JUDGED = ("syscall", "ctx", "proc")
FACTOR, ENOUGH = 1.5, 0.8
#: Why no time is told.
FAMILY, FAR = "family", "far"
#: So many times the densest row is as dense: the same operation moves by that much between states of a guest.
SAME = 1.1
#: How strongly the costs of events are held towards 0: not at all, to no event at all.
STRENGTHS = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, math.inf)
#: Weighted fits until the weights, which make an error relative to both time and prediction, no longer move.
ROUNDS = 30


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: so many of each kind, and the ns that it took, if that is known."""

    row: str
    counts: tuple[float, ...]  #: in the order of KINDS
    time: float = math.nan

    @property
    def family(self) -> str:
        return Row(self.row).family

    def cost(self, costs: Sequence[float]) -> float:
        """Its time by these costs of KINDS."""
        return sum(count * cost for count, cost in zip(self.counts, costs, strict=True))

    @property
    def density(self) -> dict[str, float]:
        """Events for each instruction."""
        return {kind: count / max(self.counts[0], 1.0) for kind, count in zip(KINDS, self.counts, strict=True)}


@dataclass(frozen=True, slots=True)
class Judged:
    """A row, predicted by costs that no row of its family has moved."""

    row: Operation
    ratio: float  #: predicted by measured

    @property
    def near(self) -> bool:
        return 1 / FACTOR <= self.ratio <= FACTOR


@dataclass(frozen=True, slots=True)
class Judgement:
    """The costs by all rows, and how near those of each family came that was left out."""

    costs: tuple[float, ...]  #: ns, in the order of KINDS
    rows: tuple[Judged, ...]

    def share(self, *families: str) -> tuple[int, int]:
        """How many rows of these families are near, and how many there are."""
        of_these = [judged for judged in self.rows if judged.row.family in families]
        return sum(judged.near for judged in of_these), len(of_these)

    def passes(self, *families: str) -> bool:
        """Whether enough of them are near."""
        near, rows = self.share(*families)
        return rows > 0 and near >= ENOUGH * rows

    def time(self, row: Operation) -> float | None:
        """What may be told of a row: nothing if there is a reason."""
        return None if self.reason(row) else row.cost(self.costs)

    def reason(self, row: Operation) -> str:
        """Why no time of the row may be told: FAMILY, as too few rows of its family are near; FAR, as this one was not;
        or the kind of event of which it has more for each instruction than any row that its family was judged by. "" if
        it may be told."""
        if row.family not in JUDGED or not self.passes(row.family):
            return FAMILY
        if any(each.row.row == row.row and not each.near for each in self.rows):
            return FAR
        judged = [each.row.density for each in self.rows if each.row.family == row.family]
        times = {}
        for kind, here in row.density.items():
            most = max(row[kind] for row in judged)
            times[kind] = here / most if most else math.inf if here else 0.0
        kind = max(times, key=lambda kind: times[kind])
        return kind if times[kind] > SAME else ""


class Bound(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A published end of a range."""

    cycles: float
    what: str
    source: str


class Priced(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of event of hardware.toml, which user mode cannot measure alone."""

    event: str  #: one of KINDS
    what: str
    low: Bound
    high: Bound


class Hardware(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of hardware.toml."""

    price: tuple[Priced, ...]

    def cycles(self, row: Operation) -> tuple[float, float]:
        """The least and the most that the row's events cost, in cycles of a processor."""
        counts = dict(zip(KINDS, row.counts, strict=True))
        each = [(counts[priced.event], priced) for priced in self.price]
        return sum(n * priced.low.cycles for n, priced in each), sum(n * priced.high.cycles for n, priced in each)


def operations(by_path: Result, by_time: Sequence[Result] = ()) -> tuple[Operation, ...]:
    """The rows of a session by path that have events; those alone, with the median of their times, that the sessions by
    time have too. Events are of all that a region does, so where a baseline is taken off, the gross figure counts."""
    net = {workload.name for workload in by_path.workloads.values() if workload.figure_less_baseline}
    timed = [figures(result) for result in by_time]
    made = []
    for row, figure in figures(by_path).items():
        events = by_emulator(row, (by_path,))
        gross = Row(row).workload in net
        count = figure.gross if gross else figure.cost
        if not events or not count:
            continue
        same = [of_session[row] for of_session in timed if row in of_session and of_session[row].cost]
        times = [time for each in same if (time := each.gross if gross else each.cost)]
        if times or not by_time:
            counts = [sum(max(0.0, events.get(name, 0.0)) for name in names) for names in KINDS.values()]
            made.append(Operation(row, (count, *counts[1:]), median(times) if times else math.nan))
    return tuple(made)


def judge(rows: Iterable[Operation]) -> Judgement | None:
    """Fits all rows of FAMILIES, and predicts each family from the others; None if there are fewer than three."""
    known = [row for row in rows if row.family in FAMILIES and row.time > 0]
    if len({row.family for row in known}) < 3:  # one is left out to judge, another to choose the strength
        return None
    return Judgement(_chosen(known), tuple(_unseen(known, _chosen)))


def _unseen(rows: Sequence[Operation], fit: Callable[[Sequence[Operation]], tuple[float, ...]]) -> Iterator[Judged]:
    """Each row by the costs that the other families give."""
    for family in dict.fromkeys(row.family for row in rows):
        costs = fit([row for row in rows if row.family != family])
        yield from (Judged(row, row.cost(costs) / row.time) for row in rows if row.family == family)


def _chosen(rows: Sequence[Operation]) -> tuple[float, ...]:
    """With the strength that is least off on what it has not seen; the strongest of equals."""
    sizes = Counter(row.family for row in rows)

    def off(strength: float) -> float:  # a family counts once, however many rows it has
        unseen = _unseen(rows, lambda seen: _fitted(seen, strength))
        return sum(abs(math.log(max(judged.ratio, 1e-9))) / sizes[judged.row.family] for judged in unseen)

    return _fitted(rows, min(reversed(STRENGTHS), key=off))


def _fitted(rows: Sequence[Operation], strength: float) -> tuple[float, ...]:
    counts, times = np.array([row.counts for row in rows]), np.array([row.time for row in rows])
    columns = counts[:, :1] if math.isinf(strength) else counts
    weights, fitted = 1 / times, np.zeros(columns.shape[1])
    for _ in range(ROUNDS):
        fitted, before = _least(columns * weights[:, None], times * weights, strength), fitted
        weights = 1 / np.sqrt(times * np.maximum(columns @ fitted, 1e-9))
        if np.allclose(fitted, before, rtol=1e-6):
            break
    return (*map(float, fitted), *(len(KINDS) - len(fitted)) * (0.0,))


def _least(columns: Floats, target: Floats, strength: float) -> Floats:
    """Least squares with no cost below 0; the costs of events are held towards 0, in units of what they explain."""
    if 0 < strength < math.inf:
        scale = np.sqrt((columns**2).mean(axis=0) * strength * len(target))
        scale[0] = 0.0
        columns = np.vstack([columns, np.diag(scale)])
        target = np.append(target, np.zeros(len(scale)))
    solution: Floats = optimize.nnls(columns, target)[0]
    return solution
