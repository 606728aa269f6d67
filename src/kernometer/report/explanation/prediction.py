"""A prediction as text in 80 columns, and as JSON."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from kernometer.explain.prediction import Prediction
from kernometer.report.words.units import format_percent, format_value, ratio_text
from kernometer.results.model import By
from kernometer.text import printable

if TYPE_CHECKING:
    from rich.console import Console

#: Lines of calls without a price; characters of a name.
UNPRICED, NAME = 8, 60


@dataclass(frozen=True, slots=True)
class View:
    """What is shown besides the figures."""

    a: str
    b: str
    by: By
    command: tuple[str, ...]
    status: int  #: of the command, negative for a signal
    recorder: str
    witness: str  #: how many calls another counter saw, in words
    missing: tuple[str, ...]  #: rows that A or B lacks


def print_prediction(console: Console, of: Prediction, view: View) -> None:
    """The kernel's share on A and B; the prices; what has none."""
    unit = "count" if view.by == "path" else "ns"
    console.print(Text(_sentence(of, view), "bold"))
    for line in _facts(of, view):
        console.print(Text(line))
    table = _table("", f"A: {printable(view.a, 16)}", f"B: {printable(view.b, 16)}", "B/A")
    table.add_row("the program itself", format_value(of.user, unit), format_value(of.user, unit), "as on A")
    how = "counted" if view.by == "path" else "measured"
    table.add_row(f"the kernel, {how}" if of.scaled else "the kernel, priced", format_value(of.a, unit), "", "")
    predicted = ratio_text(of.b / of.a) if of.a else ""
    table.add_row("the kernel, predicted", "", format_value(of.b, unit), predicted)
    table.add_row("  at least", "", format_value(of.low, unit), "")
    table.add_row("  at most", "", format_value(of.high, unit), "")
    table.add_row("the kernel's share", format_percent(of.share(of.a)), format_percent(of.share(of.b)), "")
    console.print()
    console.print(table)
    console.print()
    console.print(_priced(of, unit))
    console.print()
    for line in _without(of, view):
        console.print(Text(line))


def _table(first: str, *heads: str) -> Table:
    table = Table(first, box=None, pad_edge=False, show_edge=False, header_style="bold")
    for head in heads:
        table.add_column(head, justify="right")
    return table


def _sentence(of: Prediction, view: View) -> str:
    low, high = (format_percent(of.share(end)) for end in (of.low, of.high))
    return (
        f"{printable(view.command[0], NAME)} on {printable(view.b, NAME)}: the kernel would take "
        f"{format_percent(of.share(of.b))} of it [{low}, {high}], on {printable(view.a, NAME)} it takes "
        f"{format_percent(of.share(of.a))}."
    )


def _facts(of: Prediction, view: View) -> Iterator[str]:
    yield f"Command   {printable(shlex.join(view.command), 3 * NAME)}"
    how = f"exited with status {view.status}" if view.status >= 0 else f"was killed by signal {-view.status}"
    yield f"Ended     it {how}"
    witness = f"; {view.witness}" if view.witness else ""
    yield f"Calls     {of.calls:,} recorded by {view.recorder}{witness}"
    if view.by == "path":
        yield "Costs     in instructions"
    if not of.scaled:
        yield "Remark    A is not where the command ran: its kernel work is the sum of the prices."


def _priced(of: Prediction, unit: str) -> Table:
    table = _table("price", "count", "A", "B", "B/A")
    for line in of.lines:
        ratio = ratio_text(line.b / line.a) if line.a > 0 else ""
        table.add_row(line.what, f"{line.count:,}", format_value(line.a, unit), format_value(line.b, unit), ratio)
    table.add_row("all prices", "", format_value(of.priced_a, unit), format_value(of.priced_b, unit), "")
    return table


def _without(of: Prediction, view: View) -> Iterator[str]:
    shown = ", ".join(f"{name} {count:,}" for name, count in of.unpriced[:UNPRICED])
    more = f" and {len(of.unpriced) - UNPRICED} more kinds" if len(of.unpriced) > UNPRICED else ""
    yield f"{format_percent(of.unpriced_share)} of the calls have no price{f': {shown}{more}' if shown else '.'}"
    if of.scaled and of.a > 0:
        explained = format_percent(of.priced_a / of.a)
        yield f"The prices explain {explained} of the kernel's cost on A; the rest is scaled with them."
    if of.scaled and of.priced_a > of.a:  # rows cost less than a program's calls, as docs/predict.md shows
        priced = format_percent(min(1.0, of.priced_a / (of.a + of.user)))
        yield f"That is more than was measured: do not trust the shares; by the prices it would be {priced} on A."
        if view.by == "time":
            yield "A kernel that divides time at its ticks is often wrong for short programs."
    if view.missing:
        yield f"A or B lacks rows: {', '.join(view.missing)}"


def document(of: Prediction, view: View) -> str:
    """The JSON of --json: docs/predict.md."""
    shares = {"share_a": of.a, "share_b": of.b, "share_low": of.low, "share_high": of.high}
    return json.dumps(
        {
            **asdict(view),
            **asdict(of),
            **{name: of.share(kernel) for name, kernel in shares.items()},
            "unpriced_share": of.unpriced_share,
        },
        ensure_ascii=False,
        indent=1,
    )
