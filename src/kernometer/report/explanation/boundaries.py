"""The price of each boundary: what page and terminal show, and what other programs read. docs/trio.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from rich.text import Text

from kernometer.explain.boundary_prices import Boundaries, Priced, of_results
from kernometer.explain.partitions import HYBRID, MICRO, MONO, ONE_SERVER, Pair, plan
from kernometer.report.matrix.view import STEPS, heat
from kernometer.report.words.names import name, sentence
from kernometer.report.words.units import NOTHING, count_text, format_percent
from kernometer.report.write.document import pick
from kernometer.report.write.terminal import BLANK, Block, Line, Wide
from kernometer.stats.figures import Counted
from kernometer.stats.series import Series
from kernometer.tables import grouped, packaged
from kernometer.text import printable, some

#: How many interactions and merges of an operation are named.
NAMED = 3
#: Of what is counted: below it nothing is named.
LEAST = 0.5


#: For the terminal, characters: of a column, of a row's name at most, of a remark.
COLUMN, ROW, LINE = 7, 22, 300
_FIELDS = (
    *("row", "figures", "cuts", "pairs", "merges", "predicted", "rest", "shared", "own", "beyond"),
    *("predicted_once", "rest_once", "missing"),
)


@dataclass(frozen=True, slots=True)
class PriceCell:
    """A count; `colour` is a CSS class of the heat map, "" without one."""

    value: float | None
    text: str
    colour: str = ""


@dataclass(frozen=True, slots=True)
class PriceTable:
    """A row for each operation."""

    title: str
    anchor: str
    words: str  #: what a cell is
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[PriceCell, ...]], ...]


@dataclass(frozen=True, slots=True)
class BoundariesView:
    """All that terminal and page show. All text is printable."""

    cuts: PriceTable
    sums: PriceTable  #: whether the prices add up
    once: PriceTable  #: the same, with the common cost of all cuts counted once
    pairs: PriceTable
    merges: PriceTable
    named: tuple[tuple[str, tuple[str, ...]], ...]  #: by operation the largest interactions, the largest savings
    legend: tuple[tuple[str, str], ...]  #: a step's number, its shares
    notes: tuple[str, ...]  #: what is missing
    refused: str  #: which pairs have no merge; "" if all have
    failures: tuple[tuple[str, str], ...]  #: system, why it is not whole


def of_columns(matrix: Series, counted: Counted) -> Boundaries | None:
    """The prices of a matrix; None if its systems have no boundary."""
    return of_results(matrix.results, (column.name for column in matrix.columns), counted)


def of_series(matrix: Series, counted: Counted) -> BoundariesView | None:
    """The view of a matrix's systems, with their failures; None if they have no boundary."""
    priced = of_columns(matrix, counted)
    if priced is None:
        return None
    return view(priced, ((column.name, column.failure) for column in matrix.columns if column.failure))


def view(priced: Boundaries, failures: Iterable[tuple[str, str]] = ()) -> BoundariesView:
    """The view of these prices. `failures`: system and reason."""
    texts = packaged(__package__, "boundaries.toml")  # by table its title, and what a cell is

    def table(anchor: str, heads: Sequence[str], cells: Callable[[Priced], Sequence[PriceCell]]) -> PriceTable:
        rows = tuple((name(row.row), tuple(cells(row))) for row in priced.rows)
        title, words = (texts[anchor][each].format(what=priced.what) for each in ("title", "words"))
        return PriceTable(title, anchor, words, tuple(map(name, heads)), rows)

    def prices(row: Priced, base: str, each: Iterable[float | None], *, more: bool = True) -> list[PriceCell]:
        return [_figure(row, base), *(_price(row, price, base, more=more) for price in each)]

    return BoundariesView(
        cuts=table("cuts", (MONO, *priced.services), lambda row: prices(row, MONO, map(row.cuts.get, priced.services))),
        sums=table(
            "sums",
            (MONO, "cuts", "pairs", "sum", MICRO, "rest", "share"),
            lambda row: [
                _figure(row, MONO),
                *(_cell(sum(each.values()) if row.is_complete else None) for each in (row.cuts, row.pairs)),
                *_result(row, row.predicted, row.rest),
            ],
        ),
        once=table(
            "once",
            ("any", "own", "sum", MICRO, "rest", "share", "pair"),
            lambda row: [
                _cell(row.shared),
                _cell(None if row.predicted_once is None else sum(row.own.values())),
                *_result(row, row.predicted_once, row.rest_once),
                _cell(max(row.beyond.values(), key=abs, default=None)),
            ],
        ),
        pairs=table(
            "pairs",
            (MONO, *map(" > ".join, priced.pairs)),
            lambda row: prices(row, MONO, map(row.beyond.get, priced.pairs)),
        ),
        merges=table(
            "merges",
            (MICRO, *map(" + ".join, priced.merges)),
            lambda row: prices(row, MICRO, map(row.merges.get, priced.merges), more=False),
        ),
        named=tuple((name(row.row), tuple(_named(row))) for row in priced.rows),
        legend=_legend(),
        notes=tuple(map(sentence, _notes(priced))),
        refused=sentence(refused_text(plan(priced.services, priced.pairs).refused)),
        failures=tuple((name(system), sentence(why)) for system, why in failures),
    )


def blocks(shown: BoundariesView) -> Iterator[Block]:
    """For the terminal: the cuts, the two sums, and of each operation the largest interactions and savings."""
    for system, why in shown.failures:
        yield Line(printable(f"{system}: {why}", LINE), "bold red")
    cuts, alike = _folded(shown.cuts)
    for table, more in ((cuts, alike), (shown.sums, ()), (shown.once, ())):
        yield Line(table.title, "bold")
        rows = [(row, [*map(_text, cells)]) for row, cells in table.rows]
        yield Wide([head.replace("_", "_ ") for head in table.heads], [COLUMN] * len(table.heads), rows, ROW, 3)
        yield from (Line(text, "dim") for text in (table.words, *more))
        yield BLANK
    yield Line("The largest interactions, beyond what any cut costs, and savings", "bold")
    for row, named in shown.named:
        yield Line(row, "bold")
        yield from (Line(f"  {line}") for line in named)
    yield from (Line(text, "dim") for text in (*shown.notes, shown.refused) if text)


def document(priced: Boundaries | None) -> dict[str, Any] | None:
    """For other programs: docs/trio.md; None without a boundary. Strings are not made printable."""
    if priced is None:
        return None
    return pick(priced, "what", "services", "missing") | {"rows": [pick(row, *_FIELDS) for row in priced.rows]}


def _cell(value: float | None, colour: str = "") -> PriceCell:
    return PriceCell(value, NOTHING if value is None else count_text(value), colour)


def _figure(row: Priced, structure: str) -> PriceCell:
    return _cell(row.figures.get(structure))


def _price(row: Priced, price: float | None, base: str, *, more: bool = True) -> PriceCell:
    """A price, coloured by its share of the base's figure; `more`: it is a cost, not a saving."""
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
    """A share to 0.01 %: two digits of a smaller one do not fit into a column."""
    text = format_percent(share) if abs(share) >= 0.001 else f"{round(100 * share, 2) or 0:g} %"
    return text.replace("-", "−")


def _legend() -> tuple[tuple[str, str], ...]:
    edges = [f"{100 * (edge - 1):.0f} %" for edge in STEPS]
    texts = [f"to {edges[0]}", *(f"{low} to {high}" for low, high in pairwise(edges)), f"above {edges[-1]}"]
    return tuple((str(number), text) for number, text in enumerate(texts, 1))


def _named(row: Priced) -> list[str]:
    """The largest pairs and merges, and the two structures that are not made of cuts."""
    lines = []
    for what, all_of in (("pairs", row.beyond), ("merging saves", row.merges)):
        moved = {pair: value for pair, value in all_of.items() if abs(value) >= LEAST}
        largest = sorted(moved.items(), key=lambda each: -abs(each[1]))[:NAMED]
        text = ", ".join(f"{','.join(pair)} {count_text(value)}" for pair, value in largest)
        others = sum(moved.values()) - sum(value for _, value in largest)
        more = f", {len(moved) - NAMED} more {count_text(others)}" if len(moved) > NAMED else ""
        if text:
            lines.append(f"{what}: {text}{more}")
    ends = [f"{each} {count_text(row.figures[each])}" for each in (HYBRID, ONE_SERVER) if each in row.figures]
    return [*lines, ", ".join(ends)] if ends else lines


def _notes(priced: Boundaries) -> Iterable[str]:
    if priced.missing:
        yield f"Missing, so that what needs them is left out: {', '.join(priced.missing)}."
    alone = ((tuple(each for each in row.missing if each not in priced.missing), row.row) for row in priced.rows)
    for structures, names in grouped(pair for pair in alone if pair[0]).items():
        yield f"{some(names, 1, ' rows')}: no figure in {', '.join(structures)}."


def refused_text(pairs: Sequence[tuple[Pair, str]]) -> str:
    """The pairs that cannot be one process, each with the service between them; "" without one."""
    if not pairs:
        return ""
    names = ", ".join(f"{','.join(pair)} ({third})" for pair, third in pairs)
    return f"Never one process, as it and the service in brackets would wait for each other: {names}."


def _folded(table: PriceTable) -> tuple[PriceTable, list[str]]:
    """Joins columns with the same text in every row; also says which these are."""
    columns = grouped((tuple(cells[at].text for _, cells in table.rows), at) for at in range(len(table.heads)))
    kept = [places[0] for places in columns.values()]
    heads = tuple(
        table.heads[at] + (f" +{len(places) - 1}" if len(places) > 1 else "")
        for at, places in zip(kept, columns.values(), strict=True)
    )
    rows = tuple((row, tuple(cells[at] for at in kept)) for row, cells in table.rows)
    alike = [
        f"{heads[number]}: {', '.join(table.heads[at] for at in places)}, alike in every row."
        for number, places in enumerate(columns.values())
        if len(places) > 1
    ]
    return replace(table, heads=heads, rows=rows), alike


def _text(cell: PriceCell) -> Text:
    """A count; in thousands or millions if it is too long."""
    texts = [cell.text]
    if cell.value is not None:
        texts += [f"{count_text(cell.value / 1e3)}k", f"{count_text(cell.value / 1e6)}M"]
    text = next((each for each in texts if len(each) <= COLUMN), texts[-1])
    return Text(text, {"s": "red", "f": "green"}.get(cell.colour[:1], ""))
