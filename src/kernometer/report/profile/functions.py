"""Functions as text: what a figure is made of, and what makes a difference. For terminal and page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernometer.explain.functions import Breakdown, Change, Difference, Function, features
from kernometer.explain.topics import Topical
from kernometer.report.chart.axis import Plot
from kernometer.report.chart.flames import flame
from kernometer.report.words.names import name
from kernometer.report.words.units import count_text, format_percent, ratio_text
from kernometer.report.write.document import pick
from kernometer.report.write.terminal import BLANK, Block, Grid, Line
from kernometer.text import printable

#: Functions of a profile that are shown, without --all; changes that a sentence names; characters of a name.
SHOWN, NAMED, LONGEST = 20, 3, 47
#: And on the page.
ON_PAGE = 40
#: Shares of a difference below which a topic is not shown; characters of a topic.
LEAST_SHARE, TOPIC = 0.005, 43


@dataclass(frozen=True, slots=True)
class FunctionLine:
    """One function's instructions, or a named line's."""

    name: str
    where: str  #: "kernel", "user", or "" for a named line
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProfileView:
    """The functions of a row's figure on one system."""

    row: str
    summary: str
    lines: tuple[FunctionLine, ...]  #: cells: instructions, share
    plot: Plot | None  #: the flame graph
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangedView:
    """The functions that make a difference."""

    row: str
    summary: str
    lines: tuple[FunctionLine, ...]  #: cells: A, B, B less A


@dataclass(frozen=True, slots=True)
class Functions:
    """By system, and by comparison (as "B against A")."""

    profiles: tuple[tuple[str, tuple[ProfileView, ...]], ...]
    changed: tuple[tuple[str, tuple[ChangedView, ...]], ...]
    common: str  #: the functions that make most of the differences of a single comparison; "" without


def signed_count(count: float) -> str:
    """`+9,312`, `−17`, `+0.5`."""
    size = f"{abs(count):,.0f}" if abs(count) >= 100 or count == round(count) else f"{abs(count):,.2f}"
    return f"{'−' if count < 0 else '+'}{size}"


def sentence_of(of: Difference) -> str:
    """`+9,312: +6,190 in copy_page_range, +2,084 in … (new), +1,038 in 41 others`."""
    parts = [f"{signed_count(one.more)} in {named(one)}" for one in of.changes[:NAMED]]
    others = of.changes[NAMED:]
    if others:
        more = sum(one.more for one in others)
        parts.append(f"{signed_count(more)} in {len(others)} other{'s' if len(others) > 1 else ''}")
    lacking = [change for change in of.changes if change.lacks]
    told = f"; {signed_count(sum(one.more for one in lacking))} in functions for want of a feature" if lacking else ""
    return f"{signed_count(of.more)}: {', '.join(parts)}{told}" if parts else "no function differs"


def common(of: Collection[Difference]) -> str:
    """The functions that make the largest shares of most differences: `memset_orig (new) in 14 rows`; "" without."""
    rows: Counter[str] = Counter(named(one) for row in of for one in row.changes[:NAMED])
    told = [f"{function} in {count} row{'s' if count > 1 else ''}" for function, count in rows.most_common(NAMED)]
    return ", ".join(told)


def named(change: Change) -> str:
    words = ", ".join(filter(None, (change.state, change.lacks and f"no {change.lacks}")))
    return f"{printable(change.name, LONGEST)}{f' ({words})' if words else ''}"


def wanting(of: Iterable[Function]) -> Iterator[str]:
    """A sentence for each feature of the processor for want of which some of these run."""
    for feature in dict.fromkeys(one.lacks for one in of if one.lacks):
        yield f"no {feature}: runs for want of {feature}, {features()[feature]['why']}."


def blocks(of: Breakdown, *, whole: bool) -> Iterator[Block]:
    """For the terminal: a row's functions and named lines, which sum to its figure."""
    yield Line(f"{name(of.row)}: {_summary(of)}", "bold")
    for line in _lines(of, None if whole else SHOWN):
        count, share = line.cells
        yield Line(f"{count:>13}  {f'{share:>7}  {line.where:<6}  ' if share else ''}{line.name}")
    yield from (Line(text, "dim") for text in _parts(of))


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


def difference_blocks(b: str, found: Mapping[str, Difference]) -> Iterator[Block]:
    """For the terminal, a line a row: which functions make B's figure another one."""
    if not found:
        return
    yield BLANK
    yield Line(f"By function, {name(b)}: instructions of an operation", "bold")
    yield from (Line(f"{name(row)} {sentence_of(one)}") for row, one in found.items())
    wanted = wanting(change for one in found.values() for change in one.changes)
    yield from (Line(text, "dim") for text in wanted)


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
        FunctionLine(named(one), "kernel" if one.kernel else "", (f"{one.a:,g}", f"{one.b:,g}", signed_count(one.more)))
        for one in shown
    ]
    others = of.changes[len(shown) :]
    if others:
        cells = ("", "", signed_count(sum(one.more for one in others)))
        lines.append(FunctionLine(f"{len(others)} others", "", cells))
    return ChangedView(name(of.row), sentence_of(of), tuple(lines))


def document(of: Breakdown) -> dict[str, Any]:
    """For --json."""
    return {
        **pick(of, "row", "view", "total", "ops", "source"),
        "functions": [
            {"function": one.name, **pick(one, "kernel", "lacks"), "count": count}
            for one, count in of.functions.items()
        ],
        **pick(of, "named", "spaces", "tasks", "without_stacks"),
    }


def difference_document(of: Difference) -> dict[str, Any]:
    """For --json."""
    changes = [{"function": change.name, **pick(change, "kernel", "lacks", "a", "b", "more")} for change in of.changes]
    return pick(of, "row", "more") | {"functions": changes}


def notes_of(of: Sequence[Breakdown]) -> Iterator[Line]:
    """Below the profiles: what runs for want of a feature, where names come from, why there are no stacks."""
    texts = [*wanting(function for one in of for function in one.functions)]
    for source in dict.fromkeys(one.source for one in of):
        texts.append(f"Names of the kernel's functions: {source or 'none; a line is a page of code'}.")
    for why in dict.fromkeys(one.without_stacks for one in of if one.without_stacks):
        rows = [name(one.row) for one in of if one.without_stacks == why]
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        texts.append(f"No stacks of calls, {rows[0]}{more}: {why}.")
    yield from (Line(text, "dim") for text in texts)


def topic_blocks(rows: Sequence[Topical], names: tuple[str, str], *, with_trio: bool) -> Iterator[Block]:
    """For the terminal: of each operation the topics, the largest difference first; with Trio, what it has nothing
    of."""
    a, b = (printable(each, 30) for each in names)
    yield Line(f"By topic, in instructions of an operation: {a}, {b}, and the share of the difference", "bold")
    for of in rows:
        ratio = f", {ratio_text(of.b / of.a)} times" if of.a > 0 else ""
        yield Line(f"{printable(name(of.row))}: {count_text(of.a)} to {count_text(of.b)}{ratio}", "bold")
        shares = [(each, each.more / of.more if of.more else 0.0) for each in of.shares]
        yield Grid(
            (),
            (
                (
                    f"  {each.what}{' *' if with_trio and not each.trio else ''}".ljust(TOPIC),
                    *(count_text(each.a), count_text(each.b), format_percent(share)),
                )
                for each, share in shares
                if abs(share) >= LEAST_SHARE
            ),
        )
        if with_trio:
            absent = sum(each.more for each in of.shares if not each.trio)
            yield Line(f"  * of which Trio has nothing: {format_percent(absent / of.more if of.more else 0.0)}")
    yield Line("A function's topic is told by its name (docs/explain.md); inlined ones count for their callers.", "dim")


def topics_document(rows: Sequence[Topical]) -> list[dict[str, Any]]:
    """For --json: docs/explain.md."""
    return [
        pick(of, "row", "a", "b") | {"topics": [pick(each, "what", "trio", "a", "b") for each in of.shares]}
        for of in rows
    ]
