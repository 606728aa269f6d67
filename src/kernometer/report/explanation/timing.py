"""From counts to time: how near the model comes, and beside counts what the hardware adds. For people and programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernometer.explain.timing import ENOUGH, FACTOR, FAMILIES, JUDGED, KINDS, Hardware, Judgement, Operation
from kernometer.report.words.names import name
from kernometer.report.words.units import NOTHING, counted, format_percent, format_value
from kernometer.report.write.terminal import BLANK, Block, Grid, Line, broken
from kernometer.results.model import Result
from kernometer.text import printable

#: Rows that are named as furthest off.
NAMED = 8
#: Characters of a line of a row's name.
ROOM = 28


@dataclass(frozen=True, slots=True)
class Side:
    """One way in which the kernel was measured."""

    name: str
    kernel: str
    sessions: int

    @staticmethod
    def from_results(name: str, results: Sequence[Result]) -> Side:
        """From its sessions."""
        header = results[0].header
        kernel = " ".join(header.uname.get(key, "") for key in ("sysname", "release")) if header else ""
        return Side(name, kernel, len(results))


@dataclass(frozen=True, slots=True)
class View:
    """What is shown."""

    by_time: Side
    by_path: Side
    judgement: Judgement
    hardware: Hardware
    results: Mapping[str, tuple[Operation, ...]]


def blocks(view: View) -> Iterator[Block]:
    """For the terminal: the judgement first; then of each result its counts, the range of the hardware, and times
    where they are told."""
    judgement = view.judgement
    a, b = view.by_time, view.by_path
    yield Line("From counts to time: families predicted from the others", "bold")
    yield Line(printable(f"by time {a.name}: {a.kernel}, {counted(a.sessions, 'session')}"))
    yield Line(printable(f"by path {b.name}: {b.kernel}"))
    shares = ((family, *judgement.share(family)) for family in FAMILIES)
    rows = [(family, str(rows), str(near), format_percent(near / rows)) for family, near, rows in shares if rows]
    yield Grid(("family", "rows", f"within {FACTOR}", "share"), rows)
    if a.kernel != b.kernel:
        yield Line("The two are not one build: what differs between them counts as error.")
    yield from map(Line, _verdict(judgement))
    for title, operations in view.results.items():
        yield BLANK
        yield Line(printable(title), "bold")
        yield Grid(("row", "instr", "time", "no time", "hardware, cycles"), _rows(view, operations))
    if view.results:
        yield from (Line(line, "dim") for line in _legend(view))


def document(view: View) -> dict[str, Any]:
    """For --json: docs/path-to-time.md."""
    judgement = view.judgement
    shares = {family: judgement.share(family) for family in FAMILIES}
    return {
        "families": {
            family: {"near": near, "rows": rows, "passes": judgement.passes(family)}
            for family, (near, rows) in shares.items()
            if rows
        },
        "passes": judgement.passes(*JUDGED),
        "costs": dict(zip(KINDS, judgement.costs, strict=True)),
        "judged": {each.row.row: each.ratio for each in judgement.rows},
        "results": {
            title: [
                {
                    "row": row.row,
                    "counts": dict(zip(KINDS, row.counts, strict=True)),
                    "time": judgement.time(row),
                    "no_time": judgement.reason(row),
                    "cycles": view.hardware.cycles(row),
                }
                for row in rows
            ]
            for title, rows in view.results.items()
        },
    }


def _verdict(judgement: Judgement) -> Iterator[str]:
    near, rows = judgement.share(*JUDGED)
    share = format_percent(near / rows) if rows else NOTHING
    bar = f"{'at least' if judgement.passes(*JUDGED) else 'below'} {format_percent(ENOUGH)}"
    yield f"{', '.join(JUDGED)} together: {near} of {rows}, {share}, {bar}."
    told = [family for family in JUDGED if judgement.passes(family)]
    never = [family for family in JUDGED if not judgement.passes(family)]
    if told:
        yield f"Times are told of {', '.join(told)}, where no event is denser than in the rows judged."
    if never:
        yield f"No times are told of {', '.join(never)}: too few are near."
    far = sorted(
        (each for each in judgement.rows if not each.near), key=lambda each: -abs(math.log(max(each.ratio, 1e-9)))
    )
    if far:
        listed = ", ".join(f"{name(each.row.row)} {each.ratio:.2f}" for each in far[:NAMED])
        yield f"Furthest off, predicted by measured: {listed}"
    costs = zip(KINDS, judgement.costs, strict=True)
    yield f"Costs fitted to all, ns: {', '.join(f'{kind} {cost:.3g}' for kind, cost in costs)}"


def _rows(view: View, rows: Sequence[Operation]) -> Iterator[Sequence[str]]:
    for row in rows:
        low, high = view.hardware.cycles(row)
        yield (
            "\n".join(broken(name(row.row), ROOM)),
            f"{row.counts[0]:,.0f}",
            format_value(view.judgement.time(row), "ns"),
            view.judgement.reason(row),
            f"{low:,.0f} – {high:,.0f}" if high >= 0.5 else "0",
        )


def _legend(view: View) -> Iterator[str]:
    yield "Hardware: what events cost beyond their one instruction, by published figures:"
    for priced in view.hardware.price:
        yield f"  {priced.event}: {priced.what}, {priced.low.cycles:,.0f} to {priced.high.cycles:,.0f} cycles"
    yield "No time: too few rows of its family are near; its own prediction is far off; or"
    yield "it has more of these events for each instruction than any row judged."
