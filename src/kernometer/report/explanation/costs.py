"""What servers cost an operation of Trio: for the terminal, the page with its waterfalls, and other programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.text import Text

from kernometer import __version__
from kernometer.explain.costs import KINDS, REST, Costs, Explained
from kernometer.report.explanation.structures_view import Step, Waterfall
from kernometer.report.session.systems import name
from kernometer.report.words.names import short_names
from kernometer.report.words.units import format_percent, ratio_text
from kernometer.report.write.html import fill
from kernometer.text import printable

if TYPE_CHECKING:
    from rich.console import Console

#: Rows of Trio's own from which no price comes, so that they test the prices; others are differences of two calls.
TESTS = ("trio/call@bytes=64", "trio/call@bytes=1024", "trio/fault@cow=1", "trio/map", "trio/flush@pages=256")


@dataclass(frozen=True, slots=True)
class Page:
    """All that the page shows. All text is printable."""

    title: str
    by: str
    made: str
    kernel: str
    servers: str
    sentence: str
    prices: tuple[tuple[str, str, str], ...]  #: kind, instructions, what it is
    waterfalls: tuple[Waterfall, ...]
    tests: tuple[Waterfall, ...]


def print_costs(console: Console, of: Explained) -> None:
    """The prices, then of each operation both figures and the shares of the difference."""
    console.print(Text(sentence(of), "bold"))
    console.print(Text("Prices, in instructions:"))
    for kind, price, what in prices(of):
        console.print(Padding(Text(f"{price:>6} {kind}: {what}"), (0, 0, 0, 2)))
    for title, rows in (("Operations", of.rows), ("Units from which no price comes", _tests(of))):
        if rows:
            console.print()
            console.print(Text(title, "bold"))
        for each in rows:
            console.print(
                Text(f"{printable(name(each.row))}: {_count(each.kernel)} to {_count(each.servers)}, {_ratio(each)}")
            )
            console.print(Padding(Text(", ".join(_words(each)) or "no difference", "dim"), (0, 0, 0, 4)))


def sentence(of: Explained) -> str:
    """Who is compared, and how much of the differences the prices explain."""
    kernel, servers = short_names([of.kernel, of.servers])
    near = sum(abs(each.rest) <= 0.1 * abs(each.difference) for each in of.rows)
    return (
        f"What servers cost: {printable(servers)} beside {printable(kernel)}. The prices explain "
        f"{near} of {len(of.rows)} operations to a tenth of the difference; "
        f"the median rest is {format_percent(of.median_rest)} of it."
    )


def document(of: Explained) -> dict[str, Any]:
    """For --json: docs/explain.md."""
    return {
        "kernel": of.kernel,
        "servers": of.servers,
        "prices": dict(of.prices),
        "median_rest": of.median_rest,
        "rows": [_row(each) for each in of.rows],
        "units": [_row(each) for each in of.units],
    }


def page(of: Explained) -> str:
    """As HTML."""
    kernel, servers = map(printable, short_names([of.kernel, of.servers]))
    view = Page(
        f"{servers} beside {kernel}: what servers cost",
        "path",
        f"Kernometer {__version__}",
        kernel,
        servers,
        sentence(of),
        tuple(prices(of)),
        tuple(waterfall(each, kernel, servers) for each in of.rows),
        tuple(waterfall(each, kernel, servers) for each in _tests(of)),
    )
    return fill("costs.html.j2", view, "report.css", "costs.css")


def _tests(of: Explained) -> list[Costs]:
    return [each for each in of.units if each.row.startswith(TESTS)]


def prices(of: Explained) -> Iterator[tuple[str, str, str]]:
    """Of each kind of event: its name, its price, what it is."""
    for kind in KINDS:
        if kind.name in of.prices:
            yield kind.name, _count(of.prices[kind.name]), kind.what


def _row(of: Costs) -> dict[str, Any]:
    parts = [{"kind": each.kind, "count": each.count, "price": each.price, "cost": each.cost} for each in of.parts]
    return {"row": of.row, "kernel": of.kernel, "servers": of.servers, "parts": parts, "rest": of.rest}


def _largest_first(of: Costs) -> list[tuple[str, str, float]]:
    """What, how many at which price, instructions; the rest last."""
    parts = sorted(of.parts, key=lambda each: -abs(each.cost))
    told = [(each.kind, f"{_count(each.count)} × {_count(each.price)}", each.cost) for each in parts]
    return [*(each for each in told if abs(each[2]) >= 0.5), (REST, "", of.rest)]


def _words(of: Costs) -> Iterator[str]:
    for what, how, cost in _largest_first(of) if of.difference else ():
        yield f"{what} {format_percent(cost / of.difference)}{f' ({how})' if how else ''}"


def waterfall(of: Costs, kernel: str, servers: str) -> Waterfall:
    """Of one operation, from the one to the other, both printable names."""
    steps, at = [(kernel, "", of.kernel, 0.0, of.kernel, "end")], of.kernel
    for what, how, cost in _largest_first(of):
        steps.append((what, how, cost, min(at, at + cost), abs(cost), "more" if cost >= 0 else "less"))
        at += cost
    steps.append((servers, "", of.servers, 0.0, of.servers, "end"))
    whole = max(left + width for _, _, _, left, width, _ in steps) or 1.0
    return Waterfall(
        printable(name(of.row)),
        _ratio(of),
        tuple(
            Step(
                f"{what}{f', {how}' if how else ''}",
                _count(cost) if kind == "end" else f"{cost:+,.0f}",
                "" if kind == "end" or not of.difference else format_percent(cost / of.difference),
                100 * left / whole,
                100 * width / whole,
                kind,
            )
            for what, how, cost, left, width, kind in steps
        ),
    )


def _ratio(of: Costs) -> str:
    return f"{ratio_text(of.servers / of.kernel)} times" if of.kernel > 0 else ""


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.3g}"
