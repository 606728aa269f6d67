"""What servers cost an operation of Trio: for the terminal, the page with its waterfalls, and other programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernometer.explain.costs import KINDS, REST, Costs, Explained
from kernometer.report.explanation import falls
from kernometer.report.explanation.cycles import CyclesView
from kernometer.report.explanation.falls import Waterfall
from kernometer.report.words.names import name, short_names
from kernometer.report.words.units import format_percent, ratio_text
from kernometer.report.write.document import pick
from kernometer.report.write.html import fill
from kernometer.report.write.terminal import Block, Line
from kernometer.text import printable

#: Rows of Trio that give no price, so that they test the prices; others are differences of two calls.
TESTS = ("trio/call@bytes=64", "trio/call@bytes=1024", "trio/fault@cow=1", "trio/map", "trio/flush@pages=256")


def blocks(explained: Explained) -> Iterator[Block]:
    """For the terminal: the prices, then of each operation both figures and the shares of the difference."""
    yield Line(sentence(explained), "bold")
    yield Line("Prices, in instructions:")
    yield from (Line(f"{price:>6} {kind}: {what}", indent=2) for kind, price, what in prices(explained))
    for title, rows in (("Operations", explained.rows), ("Units from which no price comes", _tests(explained))):
        if rows:
            yield Line(title, "bold", apart=True)
        yield from falls.blocks([waterfall(each, "", "") for each in rows])


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


def page(explained: Explained | None, in_cycles: CyclesView | None) -> str:
    """As HTML, of either or both."""
    kernel, servers = in_cycles.names if in_cycles else ("", "")
    if explained:
        kernel, servers = map(printable, short_names([explained.kernel, explained.servers]))
    return fill(
        "costs.html.j2",
        {
            "title": f"{servers} beside {kernel}: what servers cost" if explained else f"{servers} beside {kernel}",
            "by": "path",
            "cycles": in_cycles,
            "sentence": sentence(explained) if explained else "",
            "prices": tuple(prices(explained)) if explained else (),
            "waterfalls": tuple(waterfall(each, kernel, servers) for each in explained.rows) if explained else (),
            "tests": tuple(waterfall(each, kernel, servers) for each in _tests(explained)) if explained else (),
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


def waterfall(operation: Costs, kernel: str, servers: str) -> Waterfall:
    """The waterfall of one operation. `kernel`, `servers`: printable names."""
    ends = (kernel, operation.kernel), (servers, operation.servers)
    row = printable(name(operation.row))
    ratio = f"{ratio_text(operation.servers / operation.kernel)} times" if operation.kernel > 0 else ""
    return falls.fall(row, ratio, ends[0], _largest_first(operation), ends[1])


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.3g}"
