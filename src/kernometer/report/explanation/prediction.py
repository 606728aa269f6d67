"""A prediction as text in 80 columns, and as JSON."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from kernometer.explain.prediction import Prediction
from kernometer.report.words.units import format_percent, format_value, ratio_text
from kernometer.report.write.terminal import BLANK, Block, Grid, Line
from kernometer.results.model import By
from kernometer.text import printable

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


def blocks(of: Prediction, view: View) -> Iterator[Block]:
    """For the terminal: the kernel's share on A and B; the prices; what has none."""
    unit = "count" if view.by == "path" else "ns"
    yield Line(_sentence(of, view), "bold")
    yield from map(Line, _facts(of, view))
    how = "counted" if view.by == "path" else "measured"
    user, ratio = format_value(of.user, unit), ratio_text(of.b / of.a) if of.a else ""
    yield BLANK
    yield Grid(
        ("", f"A: {printable(view.a, 16)}", f"B: {printable(view.b, 16)}", "B/A"),
        (
            ("the program itself", user, user, "as on A"),
            (f"the kernel, {how}" if of.scaled else "the kernel, priced", format_value(of.a, unit), "", ""),
            ("the kernel, predicted", "", format_value(of.b, unit), ratio),
            ("  at least", "", format_value(of.low, unit), ""),
            ("  at most", "", format_value(of.high, unit), ""),
            ("the kernel's share", format_percent(of.share(of.a)), format_percent(of.share(of.b)), ""),
        ),
    )
    yield BLANK
    prices = [
        (line.what, f"{line.count:,}", line.a, line.b, ratio_text(line.b / line.a) if line.a > 0 else "")
        for line in of.lines
    ]
    yield Grid(
        ("price", "count", "A", "B", "B/A"),
        (
            (what, count, format_value(a, unit), format_value(b, unit), more)
            for what, count, a, b, more in (*prices, ("all prices", "", of.priced_a, of.priced_b, ""))
        ),
    )
    yield BLANK
    yield from map(Line, _without(of, view))


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
