"""What a command's kernel work costs on one system and on another, from its calls and each system's prices. Pure.

docs/predict.md explains each step. Costs are ns by time and instructions by path.
"""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kernometer.results.model import Result
from kernometer.stats.figures import figures

#: Pseudo-calls: the command's first process, page faults, and switches between tasks.
PROCESS, FAULTS, FILE_FAULTS, SWITCHES = "process", "faults", "file-faults", "switches"
#: Linux maps so many pages of a cached file at one fault, if they are there (fault_around_bytes).
AROUND = 16


class Call(NamedTuple):
    """A kind of system call: as host/recorder.py names it."""

    name: str
    kind: str = ""
    size: int = 0  #: bytes moved


class Cost(NamedTuple):
    """Of one operation, and how many faults and switches are part of it."""

    cost: float = 0.0
    faults: float = 0.0
    switches: float = 0.0

    def plus(self, other: Cost, times: float) -> Cost:
        return Cost(*(own + times * more for own, more in zip(self, other, strict=True)))


Sheet = Mapping[str, Cost]  #: of one system, by row


@dataclass(frozen=True, slots=True)
class Price:
    what: str
    calls: frozenset[str]
    kinds: frozenset[str]  #: empty: any
    points: tuple[tuple[float, Mapping[str, float]], ...]  #: by bytes, ascending

    @property
    def rows(self) -> frozenset[str]:
        return frozenset(row for _, rows in self.points for row in rows)

    def of(self, sheet: Sheet, size: int) -> Cost | None:
        """Linear between points and beyond the last two, constant below the first; None if a row is missing."""
        if not self.rows <= sheet.keys():
            return None
        sums = []
        for _, rows in self.points:
            total = Cost()
            for row, weight in rows.items():
                total = total.plus(sheet[row], weight)
            sums.append(total)
        at = [x for x, _ in self.points]
        if len(at) == 1 or size <= at[0]:
            return sums[0]
        last = next((n for n, x in enumerate(at) if size <= x), len(at) - 1)
        along = (size - at[last - 1]) / (at[last] - at[last - 1])
        return sums[last - 1].plus(sums[last].plus(sums[last - 1], -1), along)


@dataclass(frozen=True, slots=True)
class Prices:
    """The price list. `scaled` and `plain`: the errors' logarithm that 19 of 20 predictions do not exceed."""

    prices: tuple[Price, ...]
    scaled: float
    plain: float

    def find(self, call: Call) -> Price | None:
        """The first price of the call."""
        return next((p for p in self.prices if call.name in p.calls and (not p.kinds or call.kind in p.kinds)), None)

    def rows(self, calls: Mapping[Call, int]) -> frozenset[str]:
        """The rows that price these calls, faults and switches."""
        found = map(self.find, (*calls, Call(PROCESS), Call(FAULTS), Call(FILE_FAULTS), Call(SWITCHES)))
        return frozenset(row for price in found if price for row in price.rows)


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
        """The share of the faults that mapped AROUND pages of a file, as the resident pages show it for one process:
        each other fault added one page. Not known: a half."""
        processes = 1 + sum(count for call, count in self.calls.items() if call.name in ("fork", "vfork"))
        each = self.faults / processes
        if not each or not self.resident:
            return 0.5
        return min(1.0, max(0.0, (self.resident - each) / ((AROUND - 1) * each)))


@dataclass(frozen=True, slots=True)
class Line:
    """All calls of one price."""

    what: str
    count: int
    a: float
    b: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """The kernel's cost on A and on B; `low` and `high` enclose that on B in 19 of 20 cases of the check."""

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
        """The kernel's share of a cost of `kernel` and the command's own."""
        return kernel / (kernel + self.user) if kernel + self.user > 0 else 0.0


def prices(text: str) -> Prices:
    """From the text of prices.toml."""
    read = tomllib.loads(text)
    found = tuple(
        Price(
            one["what"],
            frozenset(one["calls"]),
            frozenset(one.get("kinds", ())),
            tuple((float(size), dict(rows)) for size, rows in one["points"]),
        )
        for one in read["price"]
    )
    return Prices(found, read["error"]["scaled"], read["error"]["plain"])


def sheet(result: Result) -> dict[str, Cost]:
    """The costs of a session's rows, with the faults and switches that were counted in one operation."""
    counted = result.counted()
    found = {}
    for row, figure in figures(result).items():
        one = counted.get(row, (None,))[0]
        if figure.cost is None:
            continue
        ops = (one.iterations * next((run.ops for run in result.runs_of(row)), 1.0)) if one is not None else 0.0
        happened = one.happened if one is not None and ops else {}
        found[row] = Cost(
            figure.cost,
            happened.get("faults", 0.0) / ops if ops else 0.0,
            happened.get("any_switches", happened.get("switches", 0.0)) / ops if ops else 0.0,
        )
    return found


def predict(asked: Asked, of: Prices, a: Sheet, b: Sheet, *, scaled: bool) -> Prediction:
    """The prediction for B. `scaled`: `asked.kernel` was measured on A, and is scaled by the ratio of the prices.

    A call is priced where both sides have its rows. Faults and switches that the rows contain are not charged again.
    """
    sums: dict[str, list[float]] = {}
    within = [Cost(), Cost()]
    unpriced: Counter[str] = Counter()

    def charge(call: Call, counts: tuple[float, float]) -> bool:
        price = of.find(call)
        costs = [price.of(side, call.size) for side in (a, b)] if price else []
        if price is None or None in costs:
            return False
        line = sums.setdefault(price.what, [0, 0.0, 0.0])
        line[0] += round(counts[0])
        for side, cost in enumerate(costs):
            if cost is not None:
                line[1 + side] += counts[side] * cost.cost
                within[side] = within[side].plus(cost, counts[side])
        return True

    for call, count in (*asked.calls.items(), (Call(PROCESS), 1)):
        if not charge(call, (count, count)) and call.name != PROCESS:
            unpriced[call.name] += count
    faults = [max(0.0, asked.faults - side.faults) for side in within]
    switches = [max(0.0, asked.switches - side.switches) for side in within]
    charge(Call(FILE_FAULTS), (faults[0] * asked.of_files, faults[1] * asked.of_files))
    charge(Call(FAULTS), (faults[0] * (1 - asked.of_files), faults[1] * (1 - asked.of_files)))
    charge(Call(SWITCHES), (switches[0], switches[1]))
    lines = tuple(Line(what, int(n), x, y) for what, (n, x, y) in sums.items() if n)
    lines = tuple(sorted(lines, key=lambda line: -line.b))
    calls = sum(asked.calls.values())
    share = sum(unpriced.values()) / calls if calls else 0.0
    priced_a, priced_b = sum(line.a for line in lines), sum(line.b for line in lines)
    ratio = priced_b / priced_a if priced_a > 0 else math.nan
    kernel = asked.kernel if scaled else priced_a
    likely = [line.b / line.a for line in lines if line.a > 0] or [ratio]
    error = of.scaled if scaled else of.plain
    unknown = [(1 - share) * ratio + share * bound for bound in (min(likely), max(likely))]
    return Prediction(
        lines=lines,
        unpriced=tuple(unpriced.most_common()),
        calls=calls,
        user=asked.user,
        a=kernel,
        b=kernel * ratio,
        low=kernel * unknown[0] * math.exp(-error),
        high=kernel * unknown[1] * math.exp(error),
        priced_a=priced_a,
        priced_b=priced_b,
        scaled=scaled,
    )
