"""What a command's kernel work costs on one system and on another, from its calls and each system's prices. Pure.

docs/predict.md explains each step. Costs are ns by time and instructions by path.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Literal, NamedTuple

import msgspec

from kernometer.results.model import Result
from kernometer.stats.figures import figures

#: Pseudo-calls: the command's first process, page faults, and switches between tasks.
PROCESS, FAULTS, FILE_FAULTS, SWITCHES = "process", "faults", "file-faults", "switches"
#: Linux maps so many pages of a cached file at one fault, if they are there (fault_around_bytes).
AROUND = 16


#: Entries that a command does not ask for.
UNASKED = ("interrupt", "other tasks")

#: Of a region by path: by the entry's name (guests/plugins/entries.py) how many, and the kernel's instructions.
Entries = Mapping[str, tuple[int, int]]

#: A kind of system call, as host/recorder.py distinguishes them: name, kind, bytes moved.
Call = tuple[str, str, int]


class Cost(NamedTuple):
    """The cost of one operation, and how many faults and switches are part of it."""

    cost: float = 0.0
    faults: float = 0.0
    switches: float = 0.0

    def plus(self, other: Cost, times: float) -> Cost:
        return Cost(*(own + times * more for own, more in zip(self, other, strict=True)))


Sheet = Mapping[str, Cost]  #: of one system, by row


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One price of prices.toml, which explains the fields."""

    what: str
    calls: frozenset[str]
    points: tuple[tuple[float, dict[str, float]], ...]  #: by bytes, ascending
    kinds: frozenset[str] = frozenset()  #: empty: any

    @property
    def rows(self) -> frozenset[str]:
        return frozenset(row for _, rows in self.points for row in rows)

    def cost_on(self, sheet: Sheet, size: int) -> Cost | None:
        """Linear between points and beyond the last two, constant below the first. None if a row is missing."""
        if not self.rows <= sheet.keys():
            return None
        sums = [Cost()] * len(self.points)
        for n, (_, rows) in enumerate(self.points):
            for row, weight in rows.items():
                sums[n] = sums[n].plus(sheet[row], weight)
        at = [x for x, _ in self.points]
        if len(at) == 1 or size <= at[0]:
            return sums[0]
        last = next((n for n, x in enumerate(at) if size <= x), len(at) - 1)
        along = (size - at[last - 1]) / (at[last] - at[last - 1])
        return sums[last - 1].plus(sums[last].plus(sums[last - 1], -1), along)


class Prices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of prices.toml. `error` is the logarithm that 19 of 20 predictions do not exceed."""

    price: tuple[Price, ...]
    error: dict[Literal["entries", "scaled", "plain"], float]
    programs: tuple[str, ...] = ()
    alike: tuple[tuple[str, ...], ...] = ()

    @property
    def all_rows(self) -> frozenset[str]:
        return frozenset((*self.programs, *(row for price in self.price for row in price.rows)))

    def merged(self, entries: Entries) -> dict[str, tuple[int, int]]:
        """Those that are alike together, by the first one's name."""
        made: dict[str, tuple[int, int]] = {}
        for name, (count, cost) in entries.items():
            first = next((names[0] for names in self.alike if name in names), name)
            known = made.get(first, (0, 0))
            made[first] = (known[0] + count, known[1] + cost)
        return made

    def find(self, name: str, kind: str = "") -> Price | None:
        """The first price of the call."""
        return next(
            (priced for priced in self.price if name in priced.calls and (not priced.kinds or kind in priced.kinds)),
            None,
        )

    def rows(self, calls: Mapping[Call, int]) -> frozenset[str]:
        """The rows that price these calls, faults and switches."""
        kinds = [*calls, *((name, "", 0) for name in (PROCESS, FAULTS, FILE_FAULTS, SWITCHES))]
        return frozenset(row for name, kind, _ in kinds if (price := self.find(name, kind)) for row in price.rows)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a command asked of the kernel, and what it cost where it ran."""

    calls: Mapping[Call, int]
    faults: int
    switches: int
    user: float
    kernel: float
    resident: int = 0  #: pages, at the most, of its largest process; 0: not known

    @property
    def of_files(self) -> float:
        """The share of the faults that mapped AROUND pages of a file, by the resident pages of a process, to which each
        other fault added one page; a half if it is not known."""
        processes = 1 + sum(count for (name, *_), count in self.calls.items() if name in ("fork", "vfork"))
        each = self.faults / processes
        if not each or not self.resident:
            return 0.5
        return min(1.0, max(0.0, (self.resident - each) / ((AROUND - 1) * each)))


@dataclass(slots=True)
class Line:
    """All calls of one price."""

    what: str
    count: int = 0
    a: float = 0.0
    b: float = 0.0


@dataclass(frozen=True, slots=True)
class Prediction:
    """The kernel's cost on A and on B; in 19 of 20 cases of the check `low` and `high` enclose B's."""

    lines: tuple[Line, ...]  #: the dearest on B first
    unpriced: tuple[tuple[str, int], ...]  #: calls without a price, the most frequent first
    calls: int
    user: float
    a: float  #: measured, or from prices alone
    b: float
    low: float
    high: float
    priced_a: float  #: the sum of the lines
    priced_b: float
    scaled: bool  #: `a` was measured on A

    @property
    def unpriced_share(self) -> float:
        """By count."""
        return sum(count for _, count in self.unpriced) / self.calls if self.calls else 0.0

    def share(self, kernel: float) -> float:
        """The kernel's share, if it costs `kernel`, of the command's whole cost."""
        return kernel / (kernel + self.user) if kernel + self.user > 0 else 0.0


def sheet(result: Result) -> dict[str, Cost]:
    """The costs of a session's rows, with the faults and switches that were counted in one operation."""
    counted = result.counted()
    made = {}
    for row, figure in figures(result).items():
        counting = counted.get(row, (None,))[0]
        ops = counting.iterations * next((run.ops for run in result.runs_of(row)), 1.0) if counting is not None else 0.0
        happened = counting.happened if counting is not None and ops else {}
        each = (happened.get("faults", 0.0), happened.get("any_switches", happened.get("switches", 0.0)))
        if figure.cost is not None:
            made[row] = Cost(figure.cost, *(number / (ops or 1.0) for number in each))
    return made


def entries(result: Result) -> dict[str, Entries]:
    """The entries of a session's rows; {} if they were not counted."""
    return {events.row: events.entries for events in result.events if events.entries}


def divide(
    own: Entries, user: float, prices_known: Prices, a: Mapping[str, Entries], b: Mapping[str, Entries]
) -> Prediction:
    """The prediction for B of a command that cost `own` on A: each kind of entry is scaled by its own ratio."""
    sides = [{row: prices_known.merged(each) for row, each in side.items()} for side in (a, b)]
    lines, without = [], Counter[str]()
    for name, (count, cost) in prices_known.merged(own).items():
        ratio = _ratio(name, _each(count, cost), sides, prices_known.programs) if cost else 0
        if ratio:
            lines.append(Line(name, count, cost, cost * ratio))
        elif name not in UNASKED:
            without[name] = count
    kernel = sum(cost for _, cost in own.values())
    share = 1 - sum(line.a for line in lines) / kernel if kernel else 0.0
    calls = sum(count for name, (count, _) in own.items() if name not in UNASKED and not name.startswith("fault"))
    error = prices_known.error["entries"]
    return _bounded(lines, without, calls, share, error, user=user, kernel=kernel, scaled=True)


def _ratio(name: str, each: float, sides: Sequence[Mapping[str, Entries]], programs: Collection[str]) -> float:
    """B/A of what an entry costs in the rows of `programs` or, if none of these has it, in all; 0 if no row has it on
    both sides. It is the geometric mean; a row whose cost on A is k times `each`, or a k-th of it, counts 1/k."""
    a, b = ({row: _each(*entries[name]) for row, entries in side.items() if name in entries} for side in sides)
    rows = [row for row, cost in a.items() if cost > 0 and b.get(row, 0) > 0]
    rows = [row for row in rows if row in programs] or rows
    weights = [min(a[row], each) / max(a[row], each) for row in rows]
    logs = [math.log(b[row] / a[row]) for row in rows]
    return math.exp(sum(map(mul, weights, logs)) / sum(weights)) if sum(weights) else 0.0


def _each(count: int, cost: int) -> float:
    """Other tasks cost, and nobody counts how often they run."""
    return cost / max(1, count)


def predict(asked: Asked, prices_known: Prices, a: Sheet, b: Sheet, *, scaled: bool) -> Prediction:
    """The prediction for B. `scaled`: `asked.kernel` was measured on A, and is scaled by the ratio of the prices. A
    call is priced if both sides have its rows. Faults and switches that the rows contain are not charged again."""
    sums: dict[str, Line] = {}
    within = [Cost(), Cost()]
    unpriced: Counter[str] = Counter()

    def charge(call: Call, of_a: float, of_b: float) -> bool:
        price = prices_known.find(*call[:2])
        costs = (price.cost_on(a, call[2]), price.cost_on(b, call[2])) if price else (None, None)
        if price is None or costs[0] is None or costs[1] is None:
            return False
        line = sums.setdefault(price.what, Line(price.what))
        line.count += round(of_a)
        line.a += of_a * costs[0].cost
        line.b += of_b * costs[1].cost
        within[:] = within[0].plus(costs[0], of_a), within[1].plus(costs[1], of_b)
        return True

    for call, count in asked.calls.items():
        if not charge(call, count, count):
            unpriced[call[0]] += count
    charge((PROCESS, "", 0), 1, 1)
    faults = [max(0.0, asked.faults - side.faults) for side in within]
    switches = [max(0.0, asked.switches - side.switches) for side in within]
    charge((FILE_FAULTS, "", 0), *(number * asked.of_files for number in faults))
    charge((FAULTS, "", 0), *(number * (1 - asked.of_files) for number in faults))
    charge((SWITCHES, "", 0), *switches)
    lines = [line for line in sums.values() if line.count]
    calls = sum(asked.calls.values())
    share = sum(unpriced.values()) / calls if calls else 0.0
    kernel = asked.kernel if scaled else sum(line.a for line in lines)
    error = prices_known.error["scaled" if scaled else "plain"]
    return _bounded(lines, unpriced, calls, share, error, user=asked.user, kernel=kernel, scaled=scaled)


def _bounded(
    lines: Iterable[Line],
    unpriced: Counter[str],
    calls: int,
    share: float,
    error: float,
    *,
    user: float,
    kernel: float,
    scaled: bool,
) -> Prediction:
    """What the lines make of the kernel's cost; `share` of it has no price."""
    lines = tuple(sorted(lines, key=lambda line: -line.b))
    priced_a, priced_b = sum(line.a for line in lines), sum(line.b for line in lines)
    ratio = priced_b / priced_a if priced_a > 0 else math.nan
    likely = [line.b / line.a for line in lines if line.a > 0] or [ratio]
    unknown = [(1 - share) * ratio + share * bound for bound in (min(likely), max(likely))]
    return Prediction(
        lines=lines,
        unpriced=tuple(unpriced.most_common()),
        calls=calls,
        user=user,
        a=kernel,
        b=kernel * ratio,
        low=kernel * unknown[0] * math.exp(-error),
        high=kernel * unknown[1] * math.exp(error),
        priced_a=priced_a,
        priced_b=priced_b,
        scaled=scaled,
    )
