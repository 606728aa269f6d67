"""The small language in which explain/rules.toml says what figures must be like. docs/explain.md, "The language".

A condition is `sum >= sum` or `sum <= sum`, with + - * / and brackets over numbers, figures and functions. A figure is
`X[row]` or `Y[row]`: the cost of that row in the system that the rule is about, or in the other one; more is worse.
`X[row | row]` is the first of these that there is. A row with `*` means all of that form, in these functions alone:

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

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product
from typing import Protocol

_FIGURE = re.compile(r"([XY])\[([^\]\"]+)\]")
OF_FIGURES = ("most", "least", "spread", "slope", "missing")
OF_NUMBERS = {"cycles": 1, "ticks": 2, "off": 1}
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div)


class LanguageError(ValueError):
    """The text is no condition."""


class Holds(Enum):
    YES = "over the whole interval"
    BARELY = "only in its middle"
    UNSURE = "not decided by the comparison"
    NO = "no"
    UNKNOWN = "a figure is missing"


@dataclass(frozen=True, slots=True)
class Interval:
    """A value between `low` and `high`, most likely `value`. `unit`: "ns", "instructions", or "" for a plain number."""

    low: float
    value: float
    high: float
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Cost:
    """A row's cost; None if it has no number."""

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
class Figure:
    side: str
    rows: tuple[str, ...]


def figures(node: ast.expr) -> Iterator[Figure]:
    """Every figure that it mentions."""
    for one in ast.walk(node):
        if isinstance(one, ast.Subscript):
            yield _figure(one)


def _figure(node: ast.Subscript) -> Figure:
    if isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return Figure(node.value.id, tuple(row.strip() for row in node.slice.value.split("|")))
    raise LanguageError(f"no figure: {ast.unparse(node)}")


@dataclass(frozen=True, slots=True)
class Condition:
    left: ast.expr
    at_least: bool
    right: ast.expr

    def figures(self) -> Iterator[Figure]:
        yield from figures(self.left)
        yield from figures(self.right)

    def holds(self, systems: Systems) -> Holds:
        left, right = value(self.left, systems), value(self.right, systems)
        if left is None or right is None or (left.unit != right.unit and right.unit and left.unit):
            return Holds.UNKNOWN
        over, under = (left, right) if self.at_least else (right, left)
        if over.low >= under.high:
            return Holds.YES
        if over.high < under.low:
            return Holds.NO
        if any(_judged(one, systems) for side in (self.left, self.right) for one in ast.walk(side)):
            return Holds.UNSURE  # noise between two systems is no cause
        return Holds.BARELY if over.value >= under.value else Holds.NO


def is_condition(text: str) -> bool:
    """Whether it compares; rows contain = themselves."""
    return isinstance(_parsed(text), ast.Compare)


def condition(text: str) -> Condition:
    """Raises LanguageError."""
    node = _parsed(text)
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], ast.GtE | ast.LtE):
        raise LanguageError(f"not one >= or <= in {text!r}")
    right = node.comparators[0]
    _check(node.left)
    _check(right)
    return Condition(node.left, isinstance(node.ops[0], ast.GtE), right)


def expression(text: str) -> ast.expr:
    """A sum alone. Raises LanguageError."""
    node = _parsed(text)
    _check(node)
    return node


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(_FIGURE.sub(r'\1["\2"]', text.strip()), mode="eval").body
    except SyntaxError as error:
        raise LanguageError(f"{text!r} cannot be read: {error.msg}") from error


def _check(node: ast.expr) -> None:
    """Raises LanguageError for what is Python and not of this language."""
    match node:
        case ast.Constant(value=int() | float()):
            return
        case ast.Subscript(value=ast.Name(id="X" | "Y")):
            _figure(node)
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _OPERATORS):
            _check(left)
            _check(right)
        case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]) if parts:
            alone = name in OF_FIGURES and (
                name == "spread" or (isinstance(parts[0], ast.Subscript) and len(parts) == 1)
            )
            if not alone and OF_NUMBERS.get(name) != len(parts):
                raise LanguageError(f"no such function: {ast.unparse(node)}")
            for part in parts:
                _check(part)
        case _:
            raise LanguageError(f"not of the language: {ast.unparse(node)}")


# Values --------------------------------------------------------------------------------------------------------------


def value(node: ast.expr, systems: Systems) -> Interval | None:
    """None if a figure that it needs is missing, or the units do not fit. `node`: from `condition` or `expression`."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return Interval(number, number, number)
        case ast.Subscript():
            one = _figure(node)
            return next((found[0].cost for row in one.rows if (found := systems.costs(one.side, row))), None)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = value(left, systems), value(right, systems)
            return _judged(node, systems) or (None if a is None or b is None else _arithmetic(op, a, b))
        case ast.Call(func=ast.Name(id=name), args=parts):
            return _of_figures(name, parts, systems) if name in OF_FIGURES else _of_numbers(name, parts, systems)
    return None


def _judged(node: ast.AST, systems: Systems) -> Interval | None:
    """The ratio of one row on both sides as the comparison judged it."""
    match node:
        case ast.BinOp(left=ast.Subscript() as left, op=ast.Div(), right=ast.Subscript() as right):
            over, under = _figure(left), _figure(right)
            if over.side != under.side and over.rows == under.rows and len(over.rows) == 1:
                return systems.ratio(over.rows[0], over.side)
    return None


def _arithmetic(op: ast.operator, a: Interval, b: Interval) -> Interval | None:
    if isinstance(op, ast.Add | ast.Sub):
        if a.unit != b.unit:
            return None
        if isinstance(op, ast.Sub):
            b = Interval(-b.high, -b.value, -b.low, b.unit)
        return Interval(a.low + b.low, a.value + b.value, a.high + b.high, a.unit)
    unit = a.unit or b.unit
    if isinstance(op, ast.Div):
        if b.low <= 0 or (a.unit and b.unit and a.unit != b.unit):
            return None
        b, unit = Interval(1 / b.high, 1 / b.value, 1 / b.low), "" if b.unit else a.unit
    ends = [x * y for x, y in product((a.low, a.high), (b.low, b.high))]
    return Interval(min(ends), a.value * b.value, max(ends), unit)


def _of_figures(name: str, parts: Sequence[ast.expr], systems: Systems) -> Interval | None:
    if len(parts) > 1:
        found = [value(part, systems) for part in parts]
    else:
        one = next(figures(parts[0]))
        pattern, rows = next(((row, rows) for row in one.rows if (rows := systems.costs(one.side, row))), ("", ()))
        if name == "missing":
            count = float(sum(each.cost is None for each in rows))
            return Interval(count, count, count) if rows else None
        if name == "slope":
            return _slope(rows, pattern)
        found = [each.cost for each in rows if each.cost is not None]
    known = sorted((each for each in found if each is not None), key=lambda each: each.value)
    if len(known) < max(1 + (name == "spread"), len(found)):
        return None
    return {"most": known[-1], "least": known[0]}.get(name) or _arithmetic(ast.Div(), known[-1], known[0])


def _slope(rows: Sequence[Cost], pattern: str) -> Interval | None:
    """Of a line through two or more points; the parameter is what the row's name has at the `*`."""
    places = [(re.fullmatch(form(pattern), one.row), one.cost) for one in rows if "*" in pattern]
    points = [(float(at[1]), cost) for at, cost in places if at and cost and at[1].isdecimal()]
    middle = sum(x for x, _ in points) / len(points) if points else 0.0
    square = sum((x - middle) ** 2 for x, _ in points)
    if not square:
        return None
    slope = sum((x - middle) * cost.value for x, cost in points) / square
    return Interval(slope, slope, slope, points[0][1].unit)


def form(pattern: str) -> str:
    """The regular expression of a row with `*`, each of which is one value."""
    return re.escape(pattern).replace(r"\*", "([^,]*)")


def _of_numbers(name: str, parts: Sequence[ast.expr], systems: Systems) -> Interval | None:
    first, *rest = (value(part, systems) for part in parts)
    if first is None or None in rest:
        return None
    if name == "off":
        away = abs(first.value - max(1, round(first.value)))
        return Interval(away, away, away)
    sides = {one.side for one in figures(parts[0])}
    rate = rest[0].value if rest and rest[0] else systems.hertz(sides.pop()) if len(sides) == 1 else None
    if first.unit != "ns" or rate is None:
        return None
    return _arithmetic(ast.Mult(), Interval(first.low, first.value, first.high), Interval(*3 * (rate / 1e9,)))
