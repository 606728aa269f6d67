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

#: Rows of Trio's own from which no price comes, so that they test the prices; others are differences of two calls.
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
    """One operation."""

    row: str
    ratio: str
    steps: tuple[Step, ...]


def blocks(of: Explained) -> Iterator[Block]:
    """For the terminal: the prices, then of each operation both figures and the shares of the difference."""
    yield Line(sentence(of), "bold")
    yield Line("Prices, in instructions:")
    yield from (Line(f"{price:>6} {kind}: {what}", indent=2) for kind, price, what in prices(of))
    for title, rows in (("Operations", of.rows), ("Units from which no price comes", _tests(of))):
        if rows:
            yield BLANK
            yield Line(title, "bold")
        for each in rows:
            yield Line(f"{printable(name(each.row))}: {_count(each.kernel)} to {_count(each.servers)}, {_ratio(each)}")
            yield Line(", ".join(_words(each)) or "no difference", "dim", indent=4)


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
    sides = pick(of, "kernel", "servers", "prices", "median_rest")
    return sides | {"rows": [_row(each) for each in of.rows], "units": [_row(each) for each in of.units]}


def page(of: Explained) -> str:
    """As HTML."""
    kernel, servers = map(printable, short_names([of.kernel, of.servers]))
    return fill(
        "costs.html.j2",
        {
            "title": f"{servers} beside {kernel}: what servers cost",
            "by": "path",
            "made": f"Kernometer {__version__}",
            "kernel": kernel,
            "servers": servers,
            "sentence": sentence(of),
            "prices": tuple(prices(of)),
            "waterfalls": tuple(waterfall(each, kernel, servers) for each in of.rows),
            "tests": tuple(waterfall(each, kernel, servers) for each in _tests(of)),
        },
        "report.css",
        "costs.css",
    )


def _tests(of: Explained) -> list[Costs]:
    return [each for each in of.units if each.row.startswith(TESTS)]


def prices(of: Explained) -> Iterator[tuple[str, str, str]]:
    """Of each kind of event: its name, its price, what it is."""
    for kind in KINDS:
        if kind.name in of.prices:
            yield kind.name, _count(of.prices[kind.name]), kind.what


def _row(of: Costs) -> dict[str, Any]:
    parts = [pick(each, "kind", "count", "price", "cost") for each in of.parts]
    return {**pick(of, "row", "kernel", "servers"), "parts": parts, "rest": of.rest}


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
