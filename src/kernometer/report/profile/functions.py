"""Functions as text: what a figure is made of, and what makes a difference. For terminal and page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from kernometer.explain.functions import Breakdown, Change, Difference, Function, features
from kernometer.report.chart.flames import flame
from kernometer.report.session.systems import name
from kernometer.report.session.view import ChangedView, FunctionLine, ProfileView
from kernometer.report.words.units import format_percent
from kernometer.text import printable

if TYPE_CHECKING:
    from rich.console import Console

#: Functions of a profile that are shown, without --all; changes that a sentence names; characters of a name.
SHOWN, NAMED, LONGEST = 20, 3, 47
#: And on the page.
ON_PAGE = 40


def count_text(count: float) -> str:
    """`+9,312`, `−17`, `+0.5`."""
    size = f"{abs(count):,.0f}" if abs(count) >= 100 or count == round(count) else f"{abs(count):,.2f}"
    return f"{'−' if count < 0 else '+'}{size}"


def sentence_of(of: Difference) -> str:
    """`+9,312: +6,190 in copy_page_range, +2,084 in … (new), +1,038 in 41 others`."""
    parts = [f"{count_text(one.more)} in {named(one)}" for one in of.changes[:NAMED]]
    others = of.changes[NAMED:]
    if others:
        more = sum(one.more for one in others)
        parts.append(f"{count_text(more)} in {len(others)} other{'s' if len(others) > 1 else ''}")
    lacking = [one for one in of.changes if one.lacks]
    told = f"; {count_text(sum(one.more for one in lacking))} in functions for want of a feature" if lacking else ""
    return f"{count_text(of.more)}: {', '.join(parts)}{told}" if parts else "no function differs"


def common(of: Collection[Difference]) -> str:
    """The functions that make the largest shares of most differences: `memset_orig (new) in 14 rows`; "" without."""
    rows: Counter[str] = Counter(named(one) for row in of for one in row.changes[:NAMED])
    told = [f"{function} in {count} row{'s' if count > 1 else ''}" for function, count in rows.most_common(NAMED)]
    return ", ".join(told)


def named(one: Change) -> str:
    words = ", ".join(filter(None, (one.state, one.lacks and f"no {one.lacks}")))
    return f"{printable(one.name, LONGEST)}{f' ({words})' if words else ''}"


def wanting(of: Iterable[Function]) -> Iterator[str]:
    """A sentence for each feature of the processor for want of which some of these run."""
    for feature in dict.fromkeys(one.lacks for one in of if one.lacks):
        yield f"no {feature}: runs for want of {feature}, {features()[feature]['why']}."


def print_profile(console: Console, of: Breakdown, *, whole: bool) -> None:
    """A row's functions and named lines, which sum to its figure."""
    console.print(Text(f"{name(of.row)}: {_summary(of)}", "bold"))
    for line in _lines(of, None if whole else SHOWN):
        count, share = line.cells
        console.print(Text(f"{count:>13}  {f'{share:>7}  {line.where:<6}  ' if share else ''}{line.name}"))
    for text in _parts(of):
        console.print(Text(text, "dim"))


def _summary(of: Breakdown) -> str:
    operations = f", {of.ops:g} operations" if of.ops != 1 else ""
    title = "all iterations together, no figure" if of.view == "totals" else f"one iteration{operations}"
    return f"{of.total:,} instructions, {title}"


def _lines(of: Breakdown, most: int | None) -> Iterator[FunctionLine]:
    """The largest functions, the others as one, and the named lines. Cells: instructions, share."""
    functions = [*of.functions.items()]
    shown, others = functions[:most], functions[len(functions[:most]) :]
    for one, count in shown:
        where = "kernel" if one.kernel else "user"
        mark = f" (no {one.lacks})" if one.lacks else ""
        yield FunctionLine(printable(one.name, LONGEST) + mark, where, (f"{count:,}", _share(count, of.total)))
    if others:
        count = sum(count for _, count in others)
        yield FunctionLine(f"{len(others)} other functions", "", (f"{count:,}", _share(count, of.total)))
    for what, count in of.named.items():
        yield FunctionLine(what, "", (f"{count:,}".replace("-", "−"), ""))


def _parts(of: Breakdown) -> Iterator[str]:
    """By address space and by task, where there are several."""
    if len(of.spaces) > 1:
        spaces = ", ".join(f"{printable(space, LONGEST)} {count:,}" for space, count in of.spaces.items())
        yield f"Address spaces: {spaces}."
    if len(of.tasks) > 1:
        others = [f"{count:,}" for task, count in of.tasks.items() if task]
        yield f"Tasks: the row's own {of.tasks.get(0, 0):,}, others {', '.join(others)}."


def _share(count: int, total: int) -> str:
    return format_percent(count / total) if total else ""


def print_differences(console: Console, b: str, found: Mapping[str, Difference]) -> None:
    """A line a row: which functions make B's figure another one."""
    if not found:
        return
    console.print()
    console.print(Text(f"By function, {name(b)}: instructions of an operation", "bold"))
    for row, one in found.items():
        console.print(Text(f"{name(row)} {sentence_of(one)}"))
    for text in wanting(change for one in found.values() for change in one.changes):
        console.print(Text(text, "dim"))


def profile_view(of: Breakdown) -> ProfileView:
    """For the page."""
    notes = [*_parts(of), *wanting(of.functions)]
    if of.without_stacks:
        notes.append(f"Each function is drawn for itself: {of.without_stacks}.")
    return ProfileView(
        row=name(of.row),
        summary=_summary(of),
        lines=tuple(_lines(of, ON_PAGE)),
        plot=flame(of),
        notes=tuple(printable(note, 1000) for note in notes),
    )


def changed_view(of: Difference) -> ChangedView:
    """For the page."""
    shown = of.changes[:ON_PAGE]
    lines = [
        FunctionLine(named(one), "kernel" if one.kernel else "", (f"{one.a:,g}", f"{one.b:,g}", count_text(one.more)))
        for one in shown
    ]
    others = of.changes[len(shown) :]
    if others:
        cells = ("", "", count_text(sum(one.more for one in others)))
        lines.append(FunctionLine(f"{len(others)} others", "", cells))
    return ChangedView(name(of.row), sentence_of(of), tuple(lines))


def document(of: Breakdown) -> dict[str, Any]:
    """For --json."""
    return {
        "row": of.row,
        "view": of.view,
        "total": of.total,
        "ops": of.ops,
        "source": of.source,
        "functions": [
            {"function": one.name, "kernel": one.kernel, "lacks": one.lacks, "count": n}
            for one, n in of.functions.items()
        ],
        "named": dict(of.named),
        "spaces": dict(of.spaces),
        "tasks": dict(of.tasks),
        "without_stacks": of.without_stacks,
    }


def difference_document(of: Difference) -> dict[str, Any]:
    """For --json."""
    changes = [
        {"function": one.name, "kernel": one.kernel, "lacks": one.lacks, "a": one.a, "b": one.b, "more": one.more}
        for one in of.changes
    ]
    return {"row": of.row, "more": of.more, "functions": changes}


def notes_of(of: Sequence[Breakdown]) -> Iterator[str]:
    """Below the profiles: what runs for want of a feature, where names come from, why there are no stacks."""
    yield from wanting(function for one in of for function in one.functions)
    for source in dict.fromkeys(one.source for one in of):
        yield f"Names of the kernel's functions: {source or 'none; a line is a page of code'}."
    for why in dict.fromkeys(one.without_stacks for one in of if one.without_stacks):
        rows = [name(one.row) for one in of if one.without_stacks == why]
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        yield f"No stacks of calls, {rows[0]}{more}: {why}."
