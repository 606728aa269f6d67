"""What servers cost an operation of Trio: for the terminal, the page with its waterfalls, and other programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kernometer import __version__
from kernometer.explain.costs import KINDS, REST, Costs, Explained
from kernometer.report.words.names import name, short_names
from kernometer.report.words.units import format_percent, ratio_text
from kernometer.report.write.document import pick
from kernometer.report.write.html import fill
from kernometer.report.write.terminal import BLANK, Block, Line
from kernometer.text import printable

#: Rows of Trio that give no price, so that they test the prices; others are differences of two calls.
TESTS = ("trio/call@bytes=64", "trio/call@bytes=1024", "trio/fault@cow=1", "trio/map", "trio/flush@pages=256")


@dataclass(frozen=True, slots=True)
class Step:
    """A bar of a waterfall: from and to in percent of its width."""

    what: str
    text: str
    share: str
    left: float
    width: float
    kind: str  #: a CSS class: end, more, less


@dataclass(frozen=True, slots=True)
class Waterfall:
    """The steps of one operation, from the kernel's figure to that with servers."""

    row: str
    ratio: str
    steps: tuple[Step, ...]


def blocks(explained: Explained) -> Iterator[Block]:
    """For the terminal: the prices, then of each operation both figures and the shares of the difference."""
    yield Line(sentence(explained), "bold")
    yield Line("Prices, in instructions:")
    yield from (Line(f"{price:>6} {kind}: {what}", indent=2) for kind, price, what in prices(explained))
    for title, rows in (("Operations", explained.rows), ("Units from which no price comes", _tests(explained))):
        if rows:
            yield BLANK
            yield Line(title, "bold")
        for each in rows:
            yield Line(f"{printable(name(each.row))}: {_count(each.kernel)} to {_count(each.servers)}, {_ratio(each)}")
            yield Line(", ".join(_words(each)) or "no difference", "dim", indent=4)


def sentence(explained: Explained) -> str:
    """Who is compared, and how much of the differences the prices explain."""
    kernel, servers = short_names([explained.kernel, explained.servers])
    near = sum(abs(each.rest) <= 0.1 * abs(each.difference) for each in explained.rows)
    return (
        f"What servers cost: {printable(servers)} beside {printable(kernel)}. The prices explain "
        f"{near} of {len(explained.rows)} operations to a tenth of the difference; "
        f"the median rest is {format_percent(explained.median_rest)} of it."
    )


def document(explained: Explained) -> dict[str, Any]:
    """For --json: docs/explain.md."""
    sides = pick(explained, "kernel", "servers", "prices", "median_rest")
    return sides | {"rows": [_row(each) for each in explained.rows], "units": [_row(each) for each in explained.units]}


def page(explained: Explained) -> str:
    """As HTML."""
    kernel, servers = map(printable, short_names([explained.kernel, explained.servers]))
    return fill(
        "costs.html.j2",
        {
            "title": f"{servers} beside {kernel}: what servers cost",
            "by": "path",
            "made": f"Kernometer {__version__}",
            "kernel": kernel,
            "servers": servers,
            "sentence": sentence(explained),
            "prices": tuple(prices(explained)),
            "waterfalls": tuple(waterfall(each, kernel, servers) for each in explained.rows),
            "tests": tuple(waterfall(each, kernel, servers) for each in _tests(explained)),
        },
        "report.css",
        "costs.css",
    )


def _tests(explained: Explained) -> list[Costs]:
    return [each for each in explained.units if each.row.startswith(TESTS)]


def prices(explained: Explained) -> Iterator[tuple[str, str, str]]:
    """By kind of event its name, its price, and what it is."""
    for kind in KINDS:
        if kind.name in explained.prices:
            yield kind.name, _count(explained.prices[kind.name]), kind.what


def _row(operation: Costs) -> dict[str, Any]:
    parts = [pick(each, "kind", "count", "price", "cost") for each in operation.parts]
    return {**pick(operation, "row", "kernel", "servers"), "parts": parts, "rest": operation.rest}


def _largest_first(operation: Costs) -> list[tuple[str, str, float]]:
    """By part what it is, its count and price, and its instructions; the rest last."""
    parts = sorted(operation.parts, key=lambda each: -abs(each.cost))
    told = [(each.kind, f"{_count(each.count)} × {_count(each.price)}", each.cost) for each in parts]
    return [*(each for each in told if abs(each[2]) >= 0.5), (REST, "", operation.rest)]


def _words(operation: Costs) -> Iterator[str]:
    for what, how, cost in _largest_first(operation) if operation.difference else ():
        yield f"{what} {format_percent(cost / operation.difference)}{f' ({how})' if how else ''}"


def waterfall(operation: Costs, kernel: str, servers: str) -> Waterfall:
    """The waterfall of one operation. `kernel`, `servers`: printable names."""
    steps, at = [(kernel, "", operation.kernel, 0.0, operation.kernel, "end")], operation.kernel
    for what, how, cost in _largest_first(operation):
        steps.append((what, how, cost, min(at, at + cost), abs(cost), "more" if cost >= 0 else "less"))
        at += cost
    steps.append((servers, "", operation.servers, 0.0, operation.servers, "end"))
    whole = max(left + width for _, _, _, left, width, _ in steps) or 1.0
    return Waterfall(
        printable(name(operation.row)),
        _ratio(operation),
        tuple(
            Step(
                f"{what}{f', {how}' if how else ''}",
                _count(cost) if kind == "end" else f"{cost:+,.0f}",
                "" if kind == "end" or not operation.difference else format_percent(cost / operation.difference),
                100 * left / whole,
                100 * width / whole,
                kind,
            )
            for what, how, cost, left, width, kind in steps
        ),
    )


def _ratio(operation: Costs) -> str:
    return f"{ratio_text(operation.servers / operation.kernel)} times" if operation.kernel > 0 else ""


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.3g}"
