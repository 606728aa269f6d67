"""The price of each boundary as tables: for the terminal, the page, and other programs. docs/trio.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from kernometer.explain.boundary_prices import Boundaries, Priced, of_results
from kernometer.explain.partitions import HYBRID, MICRO, MONO, ONE_SERVER, Pair, plan
from kernometer.report.explanation.boundaries_view import BoundariesView, PriceCell, PriceTable
from kernometer.report.matrix.view import STEPS, heat
from kernometer.report.session.systems import name, sentence
from kernometer.report.words.units import NOTHING, format_percent
from kernometer.stats.series import Series

#: How many interactions and merges of an operation are named.
NAMED = 3
#: Instructions below which nothing is named.
LEAST = 0.5


def of_columns(of: Series) -> Boundaries | None:
    """The prices of a matrix; None if its systems have no boundary."""
    return of_results((one for column in of.columns for one in column.results), (column.name for column in of.columns))


def of_series(of: Series) -> BoundariesView | None:
    """Of the systems of a matrix, with their failures; None if they have no boundary."""
    priced = of_columns(of)
    if priced is None:
        return None
    return view(priced, ((column.name, column.failure) for column in of.columns if column.failure))


def view(of: Boundaries, failures: Iterable[tuple[str, str]] = ()) -> BoundariesView:
    """`failures`: of systems, by name."""
    return BoundariesView(
        cuts=_table(
            of,
            "What a cut costs",
            "cuts",
            "More instructions than in mono, with this one service out of the kernel.",
            (MONO, *of.services),
            lambda row: [_figure(row, MONO), *(_price(row, row.cuts.get(each), MONO) for each in of.services)],
        ),
        sums=_table(
            of,
            "Do prices add up?",
            "sums",
            "Sum: mono, the prices of all cuts, and the interactions of all pairs (what two cuts cost together more "
            "than their prices). Rest: what micro costs more than that; its share of micro.",
            (MONO, "cuts", "pairs", "sum", MICRO, "rest", "share"),
            lambda row: [
                _figure(row, MONO),
                *(_cell(sum(each.values()) if row.whole else None) for each in (row.cuts, row.pairs)),
                *_result(row, row.predicted, row.rest),
            ],
        ),
        once=_table(
            of,
            "With what any cut costs counted once",
            "once",
            "Any: the median of a row's prices: what it costs that some service is a process, whichever. Own: what "
            "prices are beyond that. Sum: mono, any, and own. Pair: the largest interaction beyond any, in no sum.",
            ("any", "own", "sum", MICRO, "rest", "share", "pair"),
            lambda row: [
                _cell(row.shared),
                _cell(None if row.predicted_once is None else sum(row.own.values())),
                *_result(row, row.predicted_once, row.rest_once),
                _cell(max(row.beyond.values(), key=abs, default=None)),
            ],
        ),
        pairs=_table(
            of,
            "Interactions of pairs",
            "pairs",
            "With both services out of the kernel, each in a process: more than the two cuts add, beyond what any cut "
            "costs. Below 0: each of the two cuts pays for the boundary between them.",
            (MONO, *map(" > ".join, of.pairs)),
            lambda row: [_figure(row, MONO), *(_price(row, row.beyond.get(pair), MONO) for pair in of.pairs)],
        ),
        merges=_table(
            of,
            "What a merge saves",
            "merges",
            "Less instructions than in micro, with the two services in one process.",
            (MICRO, *map(" + ".join, of.merges)),
            lambda row: [
                _figure(row, MICRO),
                *(_price(row, row.merges.get(pair), MICRO, more=False) for pair in of.merges),
            ],
        ),
        named=tuple((name(row.row), tuple(_named(row))) for row in of.rows),
        legend=_legend(),
        notes=tuple(map(sentence, _notes(of))),
        refused=sentence(refused_text(plan(of.services, of.pairs).refused)),
        failures=tuple((name(system), sentence(why)) for system, why in failures),
    )


def document(of: Boundaries | None) -> dict[str, Any] | None:
    """For other programs: docs/trio.md; None without a boundary. Strings are not made printable."""
    if of is None:
        return None
    return {
        "services": list(of.services),
        "missing": list(of.missing),
        "rows": [
            {
                "row": row.row,
                "figures": dict(row.figures),
                "cuts": dict(row.cuts),
                "pairs": _by_name(row.pairs),
                "merges": _by_name(row.merges),
                "predicted": row.predicted,
                "rest": row.rest,
                "shared": row.shared,
                "own": row.own,
                "beyond": _by_name(row.beyond),
                "predicted_once": row.predicted_once,
                "rest_once": row.rest_once,
                "missing": list(row.missing),
            }
            for row in of.rows
        ],
    }


def _by_name(pairs: Mapping[Pair, float]) -> dict[str, float]:
    return {",".join(pair): value for pair, value in pairs.items()}


def count_text(value: float) -> str:
    """Whole instructions from 10 up and where the value is whole, else with one decimal; `−` below 0."""
    whole = abs(value) >= 10 or abs(value - round(value)) < 0.05
    text = f"{abs(value):,.{0 if whole else 1}f}"
    return f"−{text}" if value < 0 and text.strip("0.,") else text


def _table(
    of: Boundaries,
    title: str,
    anchor: str,
    words: str,
    heads: Sequence[str],
    cells: Callable[[Priced], Sequence[PriceCell]],
) -> PriceTable:
    rows = tuple((name(row.row), tuple(cells(row))) for row in of.rows)
    return PriceTable(title, anchor, words, tuple(map(name, heads)), rows)


def _cell(value: float | None, colour: str = "") -> PriceCell:
    return PriceCell(value, NOTHING if value is None else count_text(value), colour)


def _figure(row: Priced, structure: str) -> PriceCell:
    return _cell(row.figures.get(structure))


def _price(row: Priced, price: float | None, base: str, *, more: bool = True) -> PriceCell:
    """Coloured by its share of the base's figure; `more`: it is a cost, not a saving."""
    figure = row.figures.get(base)
    if price is None or not figure or abs(price) < LEAST:
        return _cell(price)
    ratio = 1 + abs(price) / figure
    return _cell(price, heat(ratio if (price > 0) is more else 1 / ratio))


def _result(row: Priced, predicted: float | None, rest: float | None) -> list[PriceCell]:
    micro = row.figures.get(MICRO)
    share = PriceCell(None, NOTHING)
    if rest is not None and predicted and micro:
        text = _share(rest / micro)
        share = PriceCell(None, text, heat(micro / predicted) if abs(rest) >= LEAST else "")
    return [_cell(predicted), _figure(row, MICRO), _cell(rest), share]


def _share(share: float) -> str:
    """To 0.01 %: two digits of less do not fit into a column."""
    text = format_percent(share) if abs(share) >= 0.001 else f"{round(100 * share, 2) or 0:g} %"
    return text.replace("-", "−")


def _legend() -> tuple[tuple[str, str], ...]:
    edges = [f"{100 * (edge - 1):.0f} %" for edge in STEPS]
    texts = [f"to {edges[0]}", *(f"{low} to {high}" for low, high in pairwise(edges)), f"above {edges[-1]}"]
    return tuple((str(number), text) for number, text in enumerate(texts, 1))


def _named(row: Priced) -> list[str]:
    """The largest of all pairs and merges, and the two structures that are not made of cuts."""
    lines = []
    for what, all_of in (("pairs", row.beyond), ("merging saves", row.merges)):
        moved = {pair: value for pair, value in all_of.items() if abs(value) >= LEAST}
        largest = sorted(moved.items(), key=lambda each: -abs(each[1]))[:NAMED]
        text = ", ".join(f"{','.join(pair)} {count_text(value)}" for pair, value in largest)
        others = sum(moved.values()) - sum(value for _, value in largest)
        more = f", {len(moved) - NAMED} more {count_text(others)}" if len(moved) > NAMED else ""
        if text:
            lines.append(f"{what}: {text}{more}")
    whole = [f"{each} {count_text(row.figures[each])}" for each in (HYBRID, ONE_SERVER) if each in row.figures]
    return [*lines, ", ".join(whole)] if whole else lines


def _notes(of: Boundaries) -> Iterable[str]:
    if of.missing:
        yield f"Missing, so that what needs them is left out: {', '.join(of.missing)}."
    rows: dict[tuple[str, ...], list[str]] = {}
    for row in of.rows:
        if alone := tuple(each for each in row.missing if each not in of.missing):
            rows.setdefault(alone, []).append(row.row)
    for structures, names in rows.items():
        more = f" and {len(names) - 1} more rows" if len(names) > 1 else ""
        yield f"{names[0]}{more}: no figure in {', '.join(structures)}."


def refused_text(pairs: Sequence[tuple[Pair, str]]) -> str:
    """Of pairs that cannot be one process, each with the service between; "" without one."""
    if not pairs:
        return ""
    names = ", ".join(f"{','.join(pair)} ({third})" for pair, third in pairs)
    return f"Never one process, as it and the service in brackets would wait for each other: {names}."
