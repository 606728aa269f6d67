"""A prediction as text in 80 columns, and as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from kernometer.explain.prediction import Prediction
from kernometer.report.words.units import format_percent, format_value, ratio_text
from kernometer.report.write.terminal import BLANK, Block, Grid, Line
from kernometer.results.model import By
from kernometer.text import printable, some

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
    recorder: str  #: "": the emulator counted entries
    witness: str  #: how many calls another counter saw, in words
    missing: tuple[str, ...]  #: rows that A or B lacks


def blocks(costs: Prediction, view: View) -> Iterator[Block]:
    """For the terminal: the kernel's share on A and B; the prices; what has none."""
    unit = "count" if view.by == "path" else "ns"
    yield Line(_sentence(costs, view), "bold")
    yield from map(Line, _facts(costs, view))
    how = "counted" if view.by == "path" else "measured"
    user, ratio = format_value(costs.user, unit), ratio_text(costs.b / costs.a) if costs.a else ""
    yield BLANK
    yield Grid(
        ("", f"A: {printable(view.a, 16)}", f"B: {printable(view.b, 16)}", "B/A"),
        (
            ("the program itself", user, user, "as on A"),
            (f"the kernel, {how}" if costs.scaled else "the kernel, priced", format_value(costs.a, unit), "", ""),
            ("the kernel, predicted", "", format_value(costs.b, unit), ratio),
            ("  at least", "", format_value(costs.low, unit), ""),
            ("  at most", "", format_value(costs.high, unit), ""),
            ("the kernel's share", format_percent(costs.share(costs.a)), format_percent(costs.share(costs.b)), ""),
        ),
    )
    yield BLANK
    prices = [
        (line.what, f"{line.count:,}", line.a, line.b, ratio_text(line.b / line.a) if line.a > 0 else "")
        for line in costs.lines
    ]
    yield Grid(
        ("price" if view.recorder else "entry", "count", "A", "B", "B/A"),
        (
            (what, count, format_value(a, unit), format_value(b, unit), more)
            for what, count, a, b, more in (*prices, ("all prices", "", costs.priced_a, costs.priced_b, ""))
        ),
    )
    yield BLANK
    yield from map(Line, _without(costs, view))


def _sentence(costs: Prediction, view: View) -> str:
    low, high = (format_percent(costs.share(end)) for end in (costs.low, costs.high))
    return (
        f"{printable(view.command[0], NAME)} on {printable(view.b, NAME)}: the kernel would take "
        f"{format_percent(costs.share(costs.b))} of it [{low}, {high}], on {printable(view.a, NAME)} it takes "
        f"{format_percent(costs.share(costs.a))}."
    )


def _facts(costs: Prediction, view: View) -> Iterator[str]:
    yield f"Command   {printable(shlex.join(view.command), 3 * NAME)}"
    how = f"exited with status {view.status}" if view.status >= 0 else f"was killed by signal {-view.status}"
    yield f"Ended     it {how}"
    witness = f"; {view.witness}" if view.witness else ""
    who = f"recorded by {view.recorder}{witness}" if view.recorder else "counted by the emulator"
    yield f"Calls     {costs.calls:,} {who}"
    if view.by == "path":
        yield "Costs     in instructions"
    if not costs.scaled:
        yield "Remark    A is not where the command ran: its kernel work is the sum of the prices."


def _without(costs: Prediction, view: View) -> Iterator[str]:
    shown = some([f"{name} {count:,}" for name, count in costs.unpriced], UNPRICED, " kinds")
    yield f"{format_percent(costs.unpriced_share)} of the calls have no price{f': {shown}' if shown else '.'}"
    if costs.scaled and costs.a > 0 and costs.priced_a != costs.a:
        explained = format_percent(costs.priced_a / costs.a)
        yield f"The prices explain {explained} of the kernel's cost on A; the rest is scaled with them."
    if costs.scaled and costs.priced_a > costs.a:  # rows cost less than a program's calls, as docs/predict.md shows
        priced = format_percent(min(1.0, costs.priced_a / (costs.a + costs.user)))
        yield f"That is more than was measured: do not trust the shares; by the prices it would be {priced} on A."
        if view.by == "time":
            yield "A kernel that divides time at its ticks is often wrong for short programs."
    if view.missing:
        yield f"A or B lacks rows: {', '.join(view.missing)}"


def document(costs: Prediction, view: View) -> dict[str, Any]:
    """For --json: docs/predict.md."""
    shares = {"share_a": costs.a, "share_b": costs.b, "share_low": costs.low, "share_high": costs.high}
    told = {name: costs.share(kernel) for name, kernel in shares.items()}
    return {**asdict(view), **asdict(costs), **told, "unpriced_share": costs.unpriced_share}
