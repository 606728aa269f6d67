"""The small language in which explain/rules.toml states conditions on figures. docs/explain.md, "The language".

A condition is `sum >= sum` or `sum <= sum`, with + - * / and brackets over numbers, figures and functions. A figure is
`X[row]` or `Y[row]`: the cost of that row in the system that the rule is about, or in the other one; more is worse.
`X[row | row]` is the first of these rows that is there. A row with `*` means all of that form, in these functions only:

    most, least, spread   the largest, the smallest cost, and their ratio; spread takes several sums, too
    slope                 the cost of one more unit of the parameter at the `*`, by least squares
    missing               how many of these rows have no number: the clock did not resolve them

    cycles(t)      the time in cycles of the clock rate that the result states
    ticks(t, f)    the time in ticks of a clock of f Hz
    off(a)         how far a number is from the nearest whole number above 0

Every value is an interval. For a ratio of one row on both sides the comparison's whole interval must satisfy the
condition. Other errors are shared within a session: if only the middle satisfies it, the rule speaks with less
confidence. If a figure is missing, or the sides count in different units, a condition tells nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import product
from typing import NamedTuple

from kernometer.explain.systems import Interval, Pair
from kernometer.results.rows import Row

_FIGURE = re.compile(r"([XY])\[([^\]\"]+)\]")
_NOTHING = Pair()
#: Functions of the rows of a figure; functions of numbers, with the number of their arguments.
_OF_ROWS = ("most", "least", "spread", "slope", "missing")
_OF_NUMBERS = {"cycles": 1, "ticks": 2, "off": 1}


class LanguageError(ValueError):
    """The text is not of the language."""


class Holds(Enum):
    YES = "over the whole interval"
    BARELY = "only in its middle"
    NO = "no"
    UNKNOWN = "a figure is missing, or the comparison does not decide"


class Figure(NamedTuple):
    side: str
    rows: tuple[str, ...]  #: the first one that is there counts


def mentioned(node: ast.expr) -> Iterator[Figure]:
    """Every figure that the expression mentions. Raises LanguageError."""
    for part in ast.walk(node):
        match part:
            case ast.Subscript(value=ast.Name(id="X" | "Y" as side), slice=ast.Constant(value=str(rows))):
                yield Figure(side, tuple(row.strip() for row in rows.split("|")))
            case ast.Subscript():
                raise LanguageError(f"not a figure: {ast.unparse(part)}")


def expression(text: str) -> ast.expr:
    """A sum, or a condition (an ast.Compare) for `holds`. Raises LanguageError."""
    try:
        node = ast.parse(_FIGURE.sub(r'\1["\2"]', text.strip()), mode="eval").body
    except SyntaxError as error:
        raise LanguageError(f"{text!r} cannot be read: {error.msg}") from error
    match node:
        case ast.Compare(left=left, ops=[ast.GtE() | ast.LtE()], comparators=[right]):
            value(left, _NOTHING)
            value(right, _NOTHING)
        case _:
            value(node, _NOTHING)  # refuses Python that is not of this language
    return node


def condition(text: str) -> ast.Compare:
    """A condition. Raises LanguageError, even for a sum."""
    node = expression(text)
    if not isinstance(node, ast.Compare):
        raise LanguageError(f"not one >= or <= in {text!r}")
    return node


def holds(node: ast.Compare, pair: Pair) -> Holds:
    """Whether a condition holds."""
    left, right = value(node.left, pair), value(node.comparators[0], pair)
    if left is None or right is None or (left.unit != right.unit and right.unit and left.unit):
        return Holds.UNKNOWN
    over, under = (left, right) if isinstance(node.ops[0], ast.GtE) else (right, left)
    if over.low >= under.high:
        return Holds.YES
    if over.high < under.low:
        return Holds.NO
    if any(_judged(part, pair) for part in ast.walk(node)):
        return Holds.UNKNOWN  # noise between two systems is no cause
    return Holds.BARELY if over.value >= under.value else Holds.NO


def value(node: ast.expr, pair: Pair) -> Interval | None:
    """The value of a sum; None if a figure is missing, or the units do not fit. Raises LanguageError."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return Interval(number, number, number)
        case ast.Subscript():
            return next((cost for figure in mentioned(node) for cost in pair.costs(*figure).values()), None)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op, right=right):
            a, b = value(left, pair), value(right, pair)
            return _judged(node, pair) or (None if a is None or b is None else _arithmetic(op, a, b))
        case ast.Call(func=ast.Name(id="spread" as name), args=[_, _, *_] as parts, keywords=[]):
            values = [value(part, pair) for part in parts]
            return None if None in values else _of_rows(name, values)
        case ast.Call(func=ast.Name(id=name), args=[ast.Subscript() as part], keywords=[]) if name in _OF_ROWS:
            side, patterns = next(mentioned(part))
            rows = pair.costs(side, patterns)
            return _slope(rows, patterns) if name == "slope" else _of_rows(name, [*rows.values()])
        case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]) if _OF_NUMBERS.get(name) == len(parts):
            first, *rest = (value(part, pair) for part in parts)
            if first is None or None in rest:
                return None
            if name == "off":
                return Interval(*3 * (abs(first.value - max(1, round(first.value))),))
            rates: set[float | None] = {other.value for other in rest if other} or {
                pair.hertz(figure.side) for figure in mentioned(parts[0])
            }
            rate = rates.pop() if len(rates) == 1 else None
            if rate is None or first.unit != "ns":
                return None
            return _arithmetic(ast.Mult(), first._replace(unit=""), Interval(*3 * (rate / 1e9,)))
    raise LanguageError(f"not of the language: {ast.unparse(node)}")


def _judged(node: ast.AST, pair: Pair) -> Interval | None:
    """The ratio of one row on both sides, as the comparison judged it."""
    match node:
        case ast.BinOp(left=ast.Subscript() as left, op=ast.Div(), right=ast.Subscript() as right):
            [over], [under] = mentioned(left), mentioned(right)
            if over.side != under.side and over.rows == under.rows and len(over.rows) == 1:
                return pair.ratio(over.rows[0], over.side)
    return None


def _arithmetic(op: ast.operator, a: Interval, b: Interval) -> Interval | None:
    if isinstance(op, ast.Add | ast.Sub):
        if a.unit != b.unit:
            return None
        if isinstance(op, ast.Sub):
            b = Interval(-b.high, -b.value, -b.low)
        return Interval(a.low + b.low, a.value + b.value, a.high + b.high, a.unit)
    unit = a.unit or b.unit
    if isinstance(op, ast.Div):
        if b.low <= 0 or (a.unit and b.unit and a.unit != b.unit):
            return None
        b, unit = Interval(1 / b.high, 1 / b.value, 1 / b.low), "" if b.unit else a.unit
    ends = [x * y for x, y in product((a.low, a.high), (b.low, b.high))]
    return Interval(min(ends), a.value * b.value, max(ends), unit)


def _of_rows(name: str, costs: Sequence[Interval | None]) -> Interval | None:
    known = sorted((each for each in costs if each is not None), key=lambda each: each.value)
    if name == "missing":
        return Interval(*3 * (float(len(costs) - len(known)),)) if costs else None
    if len(known) < (2 if name == "spread" else 1):
        return None
    return {"most": known[-1], "least": known[0]}.get(name) or _arithmetic(ast.Div(), known[-1], known[0])


def _slope(rows: Mapping[str, Interval | None], patterns: Sequence[str]) -> Interval | None:
    """The slope of a line through two or more points; the parameter is what the row's name has at the `*`."""
    places = [(Row(row).values(pattern), cost) for row, cost in rows.items() for pattern in patterns]
    points = [(float(at[0]), cost) for at, cost in places if at and cost and at[0].isdecimal()]
    middle = sum(x for x, _ in points) / len(points) if points else 0.0
    square = sum((x - middle) ** 2 for x, _ in points)
    if not square:
        return None
    return Interval(*3 * (sum((x - middle) * cost.value for x, cost in points) / square,), points[0][1].unit)
