"""Differences by topic: for the terminal, and for other programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from kernometer.explain.topics import Share, Topical
from kernometer.report.explanation.boundaries import count_text
from kernometer.report.session.systems import name
from kernometer.report.words.units import format_percent, ratio_text
from kernometer.text import printable

if TYPE_CHECKING:
    from rich.console import Console

#: Shares of a difference below which a topic is not shown.
LEAST = 0.005


def print_topics(console: Console, rows: Sequence[Topical], names: tuple[str, str], *, with_trio: bool) -> None:
    """Of each operation the topics, the largest difference first; with Trio, what it has nothing of."""
    a, b = (printable(each, 30) for each in names)
    console.print(Text(f"By topic, in instructions of an operation: {a}, {b}, and the share of the difference", "bold"))
    for of in rows:
        ratio = f", {ratio_text(of.b / of.a)} times" if of.a > 0 else ""
        console.print(Text(f"{printable(name(of.row))}: {count_text(of.a)} to {count_text(of.b)}{ratio}", "bold"))
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(width=43)
        for _ in range(3):
            table.add_column(justify="right")
        for each in of.shares:
            share = each.more / of.more if of.more else 0.0
            if abs(share) >= LEAST:
                mark = " *" if with_trio and not each.trio else ""
                table.add_row(
                    Text(f"  {each.what}{mark}"), count_text(each.a), count_text(each.b), format_percent(share)
                )
        console.print(table)
        if with_trio:
            absent = sum(each.more for each in of.shares if not each.trio)
            console.print(
                Text(f"  * of which Trio has nothing: {format_percent(absent / of.more if of.more else 0.0)}")
            )
    console.print(
        Text("A function's topic is told by its name (docs/explain.md); inlined ones count for their callers.", "dim")
    )


def document(rows: Sequence[Topical]) -> list[dict[str, Any]]:
    """For --json: docs/explain.md."""
    return [{"row": of.row, "a": of.a, "b": of.b, "topics": [_share(each) for each in of.shares]} for of in rows]


def _share(of: Share) -> Mapping[str, Any]:
    return {"what": of.what, "trio": of.trio, "a": of.a, "b": of.b}
