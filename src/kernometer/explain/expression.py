"""The small language in which explain/rules.toml says what figures must be like. docs/explain.md, "The language".

    condition  = sum (">=" | "<=") sum
    sum        = product {("+" | "-") product}
    product    = factor {("*" | "/") factor}
    factor     = number | figure | function "(" sum {"," sum} ")" | "(" sum ")"
    figure     = ("X" | "Y") "[" row {"|" row} "]"       the cost of the first of these rows that there is

X is the system that a rule is about, Y the other one. A cost is a time or a count of instructions per operation:
more is worse. A row with `*` means all rows of that form, and stands only within a function of figures:

    most, least, spread   the largest, the smallest cost, and their ratio; spread takes several sums, too
    slope                 the cost of one more unit of the parameter at the `*`, by least squares
    missing               how many of these rows have no number: the clock did not resolve them

    cycles(t)      the time in cycles of the clock rate that the result states
    ticks(t, f)    the time in ticks of a clock of f Hz
    off(a)         how far a number is from the nearest whole number above 0

Every value is an interval. A ratio of one row on both sides must satisfy the condition with the comparison's whole
interval. Other errors are shared within a session: if only the middle does, the rule speaks with less confidence.
Where a figure is missing, or the sides count in different units, a condition says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product
from typing import Protocol

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<figure>[XY])\[(?P<rows>[^\]]+)\]|(?P<word>[a-z]+)|(?P<op>[>=<]=|[-+*/(),]))"
)
OF_FIGURES = ("most", "least", "spread", "slope", "missing")
OF_NUMBERS = ("cycles", "ticks", "off")


class LanguageError(ValueError):
    """The text is no condition."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A value between `low` and `high`, most likely `value`. `unit`: "ns", "instructions", or "" for a plain number."""

    low: float
    value: float
    high: float
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Cost:
    """A row's cost. `cost`: None if it has no number."""

    row: str
    cost: Interval | None


class Systems(Protocol):
    """What a condition asks of the results."""

    def costs(self, side: str, pattern: str) -> Sequence[Cost]:
        """The rows of X or Y with that name, or of that form if it has a `*`."""

    def ratio(self, row: str, over: str) -> Interval | None:
        """The judged ratio of that row's costs, `over` ("X" or "Y") above; None if nobody judged it."""

    def hertz(self, side: str) -> float | None:
        """The clock rate of a side's processor."""


@dataclass(frozen=True, slots=True)
class Node:
    """`what`: an operator, a function's name, "number" or "figure"."""

    what: str
    parts: tuple[Node, ...] = ()
    number: float = 0.0
    side: str = ""
    rows: tuple[str, ...] = ()

    def figures(self) -> Iterator[Node]:
        """Every figure that it mentions."""
        if self.what == "figure":
            yield self
        for part in self.parts:
            yield from part.figures()


#: Takes the tokens of one part from the front; returns it, and the rest.
_Parser = Callable[[list[str | Node]], tuple[Node, list[str | Node]]]


class Holds(Enum):
    YES = "over the whole interval"
    BARELY = "only in its middle"
    UNSURE = "not decided by the comparison"
    NO = "no"
    UNKNOWN = "a figure is missing"


@dataclass(frozen=True, slots=True)
class Condition:
    left: Node
    at_least: bool
    right: Node

    def figures(self) -> Iterator[Node]:
        yield from self.left.figures()
        yield from self.right.figures()

    def holds(self, systems: Systems) -> Holds:
        left, right = value(self.left, systems), value(self.right, systems)
        if left is None or right is None or (left.unit != right.unit and right.unit and left.unit):
            return Holds.UNKNOWN
        over, under = (left, right) if self.at_least else (right, left)
        if over.low >= under.high:
            return Holds.YES
        if over.high < under.low:
            return Holds.NO
        if _uses_judged(self.left, systems) or _uses_judged(self.right, systems):
            return Holds.UNSURE  # noise between two systems is no cause
        return Holds.BARELY if over.value >= under.value else Holds.NO


def condition(text: str) -> Condition:
    """Raises LanguageError, naming the place."""
    left, rest = _sum(_tokens(text), text)
    if not rest or rest[0] not in (">=", "<="):
        raise LanguageError(f"no >= or <= in {text!r}")
    right, after = _sum(rest[1:], text)
    if after:
        raise LanguageError(f"{after[0]!r} is too much in {text!r}")
    return Condition(left, rest[0] == ">=", right)


def expression(text: str) -> Node:
    """A sum alone. Raises LanguageError."""
    node, rest = _sum(_tokens(text), text)
    if rest:
        raise LanguageError(f"{rest[0]!r} is too much in {text!r}")
    return node


def _tokens(text: str) -> list[str | Node]:
    found: list[str | Node] = []
    at = 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            raise LanguageError(f"{text[at : at + 12]!r} cannot be read in {text!r}")
        at = match.end()
        if match["number"]:
            found.append(Node("number", number=float(match["number"])))
        elif match["figure"]:
            rows = tuple(row.strip() for row in match["rows"].split("|"))
            found.append(Node("figure", side=match["figure"], rows=rows))
        else:
            found.append(match["word"] or match["op"])
    return found


def _sum(tokens: list[str | Node], text: str) -> tuple[Node, list[str | Node]]:
    return _chain(tokens, ("+", "-"), lambda rest: _chain(rest, ("*", "/"), lambda more: _factor(more, text)))


def _chain(tokens: list[str | Node], ops: tuple[str, ...], part: _Parser) -> tuple[Node, list[str | Node]]:
    node, rest = part(tokens)
    while rest and rest[0] in ops:
        op = str(rest[0])
        other, rest = part(rest[1:])
        node = Node(op, (node, other))
    return node, rest


def _factor(tokens: list[str | Node], text: str) -> tuple[Node, list[str | Node]]:
    if not tokens:
        raise LanguageError(f"{text!r} ends early")
    first, rest = tokens[0], tokens[1:]
    if isinstance(first, Node):
        return first, rest
    name = first if first in OF_FIGURES + OF_NUMBERS else ""
    if (not name and first != "(") or (name and (not rest or rest[0] != "(")):
        raise LanguageError(f"{first!r} cannot stand there in {text!r}")
    rest = rest[1:] if name else rest
    parts: list[Node] = []
    while True:
        node, rest = _sum(rest, text)
        parts.append(node)
        if not rest or rest[0] not in (",", ")"):
            raise LanguageError(f"a ) is missing in {text!r}")
        closed, rest = rest[0] == ")", rest[1:]
        if closed:
            break
    return (Node(name, tuple(parts)) if name else parts[0]), rest


# Values --------------------------------------------------------------------------------------------------------------


def value(node: Node, systems: Systems) -> Interval | None:
    """None if a figure that it needs is missing, or the units do not fit."""
    if node.what == "number":
        return Interval(node.number, node.number, node.number)
    if node.what == "figure":
        return next((found[0].cost for row in node.rows if (found := systems.costs(node.side, row))), None)
    if node.what in OF_FIGURES:
        return _of_figures(node, systems)
    if node.what == "/" and (judged := _judged(node.parts[0], node.parts[1], systems)) is not None:
        return judged
    parts = [value(part, systems) for part in node.parts]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if node.what in OF_NUMBERS:
        return _of_numbers(node, known, systems)
    return _arithmetic(node.what, *known)


def _judged(over: Node, under: Node, systems: Systems) -> Interval | None:
    """The ratio of one row on both sides as the comparison judged it."""
    if {over.side, under.side} != {"X", "Y"} or over.rows != under.rows or len(over.rows) > 1:
        return None
    return systems.ratio(over.rows[0], over.side)


def _uses_judged(node: Node, systems: Systems) -> bool:
    here = node.what == "/" and _judged(node.parts[0], node.parts[1], systems) is not None
    return here or any(_uses_judged(part, systems) for part in node.parts)


def _arithmetic(op: str, a: Interval, b: Interval) -> Interval | None:
    if op in "+-" and a.unit != b.unit:
        return None
    if op == "+":
        return Interval(a.low + b.low, a.value + b.value, a.high + b.high, a.unit)
    if op == "-":
        return Interval(a.low - b.high, a.value - b.value, a.high - b.low, a.unit)
    if op == "*":
        ends = [x * y for x, y in product((a.low, a.high), (b.low, b.high))]
        return Interval(min(ends), a.value * b.value, max(ends), a.unit or b.unit)
    if b.low <= 0 or (a.unit and b.unit and a.unit != b.unit):
        return None
    ends = [x / y for x, y in product((a.low, a.high), (b.low, b.high))]
    return Interval(min(ends), a.value / b.value, max(ends), "" if a.unit == b.unit else a.unit)


def _of_figures(node: Node, systems: Systems) -> Interval | None:
    if node.what == "spread" and len(node.parts) > 1:
        found = [value(part, systems) for part in node.parts]
    else:
        figure = node.parts[0]
        rows = next((rows for row in figure.rows if (rows := systems.costs(figure.side, row))), ())
        if not rows:
            return None
        if node.what == "missing":
            count = float(sum(one.cost is None for one in rows))
            return Interval(count, count, count)
        if node.what == "slope":
            return _slope(rows, figure.rows)
        found = [one.cost for one in rows if one.cost is not None]
    known = [one for one in found if one is not None]
    if len(known) < max(1 + (node.what == "spread"), len(found)):
        return None
    low, high = min(known, key=lambda one: one.value), max(known, key=lambda one: one.value)
    return {"most": high, "least": low}.get(node.what) or _arithmetic("/", high, low)


def _slope(rows: Sequence[Cost], patterns: Sequence[str]) -> Interval | None:
    """Of a line through two or more points; the parameter is what the row's name has at the `*`."""
    points = [
        (float(match[1]), one.cost)
        for one in rows
        for pattern in patterns
        if "*" in pattern
        and one.cost is not None
        and (match := re.fullmatch(form(pattern), one.row))
        and match[1].isdecimal()
    ]
    middle = sum(x for x, _ in points) / len(points) if points else 0.0
    square = sum((x - middle) ** 2 for x, _ in points)
    if len(points) < 2 or not square:
        return None
    slope = sum((x - middle) * cost.value for x, cost in points) / square
    return Interval(slope, slope, slope, points[0][1].unit)


def form(pattern: str) -> str:
    """The regular expression of a row with `*`, each of which is one value."""
    return re.escape(pattern).replace(r"\*", "([^,]*)")


def _of_numbers(node: Node, parts: Sequence[Interval], systems: Systems) -> Interval | None:
    first = parts[0]
    if node.what == "off":
        whole = max(1, round(first.value))
        away = abs(first.value - whole)
        return Interval(away, away, away)
    if first.unit != "ns":
        return None
    sides = {figure.side for figure in node.figures()}
    rate = parts[1].value if node.what == "ticks" else systems.hertz(sides.pop()) if len(sides) == 1 else None
    if rate is None:
        return None
    low, middle, high = (one * rate / 1e9 for one in (first.low, first.value, first.high))
    return Interval(low, middle, high)
