"""Functions as text: what a figure is made of, and what makes a difference. For terminal and page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernometer.explain.functions import INSTRUCTIONS, Breakdown, Change, Difference, Function, features
from kernometer.explain.topics import Topical
from kernometer.report.chart.axis import Plot
from kernometer.report.chart.flames import flame
from kernometer.report.words.names import name
from kernometer.report.words.units import count_text, format_percent, ratio_text
from kernometer.report.write.document import pick
from kernometer.report.write.terminal import Block, Grid, Line
from kernometer.text import printable, some

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


def sentence_of(difference: Difference) -> str:
    """`+9,312: +6,190 in copy_page_range, +2,084 in … (new), +1,038 in 41 others`."""
    parts = [f"{signed_count(change.more)} in {named(change)}" for change in difference.changes[:NAMED]]
    others = difference.changes[NAMED:]
    if others:
        more = sum(change.more for change in others)
        parts.append(f"{signed_count(more)} in {len(others)} other{'s' if len(others) > 1 else ''}")
    lacking = [change.more for change in difference.changes if change.lacks]
    told = f"; {signed_count(sum(lacking))} in functions for want of a feature" if lacking else ""
    return f"{signed_count(difference.more)}: {', '.join(parts)}{told}" if parts else "no function differs"


def common(differences: Collection[Difference]) -> str:
    """The functions that make the largest shares of most differences: `memset_orig (new) in 14 rows`; "" without."""
    rows: Counter[str] = Counter(named(change) for row in differences for change in row.changes[:NAMED])
    told = [f"{function} in {count} row{'s' if count > 1 else ''}" for function, count in rows.most_common(NAMED)]
    return ", ".join(told)


def named(change: Change) -> str:
    words = ", ".join(filter(None, (change.state, change.lacks and f"no {change.lacks}")))
    return f"{printable(change.name, LONGEST)}{f' ({words})' if words else ''}"


def wanting(functions: Iterable[Function]) -> Iterator[str]:
    """A sentence for each missing feature of the processor that makes some of these functions run."""
    for feature in dict.fromkeys(function.lacks for function in functions if function.lacks):
        yield f"no {feature}: runs for want of {feature}, {features()[feature]['why']}."


def blocks(profile: Breakdown, *, everything: bool) -> Iterator[Block]:
    """For the terminal: a row's functions and named lines, which sum to its figure."""
    yield Line(f"{name(profile.row)}: {_summary(profile)}", "bold")
    for line in _lines(profile, None if everything else SHOWN):
        count, share = line.cells
        yield Line(f"{count:>13}  {f'{share:>7}  {line.where:<6}  ' if share else ''}{line.name}")
    yield from (Line(text, "dim") for text in _parts(profile))


def _summary(profile: Breakdown) -> str:
    operations = f", {profile.ops:g} operations" if profile.ops != 1 else ""
    title = "all iterations together, no figure" if profile.view == "totals" else f"one iteration{operations}"
    if profile.what != INSTRUCTIONS:
        title = f"one iteration{operations}, mean of the middle half"
    return f"{_number(profile.total)} {profile.what}, {title}"


def _number(count: float) -> str:
    return f"{count:,}" if isinstance(count, int) else f"{count:,.1f}"


def _lines(profile: Breakdown, most: int | None) -> Iterator[FunctionLine]:
    """The largest functions, the others as one, and the named lines. Cells: instructions, share."""
    functions = [pair for pair in profile.functions.items() if pair[1] or most is None]
    shown, others = functions[:most], functions[len(functions[:most]) :]
    for function, count in shown:
        where = "kernel" if function.kernel else "user"
        shown_name = printable(function.name, LONGEST) + (f" (no {function.lacks})" if function.lacks else "")
        yield FunctionLine(shown_name, where, (_number(count), _share(count, profile.total)))
    if others:
        count = sum(count for _, count in others)
        yield FunctionLine(f"{len(others)} other {profile.kind}", "", (_number(count), _share(count, profile.total)))
    for what, count in profile.named.items():
        yield FunctionLine(what, "", (_number(count).replace("-", "−"), ""))


def _parts(profile: Breakdown) -> Iterator[str]:
    """Instructions by address space and by task, if there are several."""
    if len(profile.spaces) > 1:
        spaces = ", ".join(f"{printable(space, LONGEST)} {_number(count)}" for space, count in profile.spaces.items())
        yield f"{'Pages' if profile.kind == 'pages' else 'Address spaces'}: {spaces}."
    if len(profile.tasks) > 1:
        others = [f"{count:,}" for task, count in profile.tasks.items() if task]
        yield f"Tasks: the row's own {profile.tasks.get(0, 0):,}, others {', '.join(others)}."
    if profile.footprints:
        yield f"Lines of code and of data touched, and pages: {'; '.join(_footprints(profile))}."


def _footprints(profile: Breakdown) -> Iterator[str]:
    """`vfs 47 and 20, 13`, the largest first."""
    for whose, counts in sorted(profile.footprints.items(), key=lambda pair: -sum(pair[1].values())):
        ends = ("_code_lines", "_data_lines", "_pages")
        code, data, pages = (sum(n for name, n in counts.items() if name.endswith(end)) for end in ends)
        yield f"{printable(whose, LONGEST)} {code:,} and {data:,}, {pages:,}"


def _share(count: float, total: float) -> str:
    return format_percent(count / total) if total else ""


def difference_blocks(b: str, differences: Mapping[str, Difference]) -> Iterator[Block]:
    """For the terminal, one line per row: the functions in which B's figure differs."""
    if not differences:
        return
    yield Line(f"By function, {name(b)}: instructions of an operation", "bold", apart=True)
    yield from (Line(f"{name(row)} {sentence_of(difference)}") for row, difference in differences.items())
    wanted = wanting(change for difference in differences.values() for change in difference.changes)
    yield from (Line(text, "dim") for text in wanted)


def profile_view(profile: Breakdown) -> ProfileView:
    """For the page."""
    notes = [*_parts(profile), *wanting(profile.functions)]
    if profile.without_stacks:
        notes.append(f"Each function is drawn for itself: {profile.without_stacks}.")
    return ProfileView(
        row=name(profile.row),
        summary=_summary(profile),
        lines=tuple(_lines(profile, ON_PAGE)),
        plot=flame(profile),
        notes=tuple(printable(note, 1000) for note in notes),
    )


def changed_view(difference: Difference) -> ChangedView:
    """For the page."""
    shown = difference.changes[:ON_PAGE]
    lines = [
        FunctionLine(
            named(change),
            "kernel" if change.kernel else "",
            (f"{change.a:,g}", f"{change.b:,g}", signed_count(change.more)),
        )
        for change in shown
    ]
    others = difference.changes[len(shown) :]
    if others:
        cells = ("", "", signed_count(sum(change.more for change in others)))
        lines.append(FunctionLine(f"{len(others)} others", "", cells))
    return ChangedView(name(difference.row), sentence_of(difference), tuple(lines))


def document(profile: Breakdown) -> dict[str, Any]:
    """For --json."""
    return {
        **pick(profile, "row", "view", "what", "kind", "total", "ops", "source"),
        "functions": [
            {"function": function.name, **pick(function, "kernel", "lacks"), "count": count}
            for function, count in profile.functions.items()
        ],
        **pick(profile, "named", "spaces", "tasks", "footprints", "without_stacks"),
    }


def difference_document(difference: Difference) -> dict[str, Any]:
    """For --json."""
    changes = [
        {"function": change.name, **pick(change, "kernel", "lacks", "a", "b", "more")} for change in difference.changes
    ]
    return pick(difference, "row", "more") | {"functions": changes}


def notes_of(profiles: Sequence[Breakdown]) -> Iterator[Line]:
    """Below the profiles: what runs because a feature is missing, where names come from, why there are no stacks."""
    texts = [*wanting(function for profile in profiles for function in profile.functions)]
    for source in dict.fromkeys(profile.source for profile in profiles):
        texts.append(f"Names of the kernel's functions: {source or 'none; a line is a page of code'}.")
    for why in dict.fromkeys(profile.without_stacks for profile in profiles if profile.without_stacks):
        rows = [name(profile.row) for profile in profiles if profile.without_stacks == why]
        texts.append(f"No stacks of calls, {some(rows, 1)}: {why}.")
    yield from (Line(text, "dim") for text in texts)


def topic_blocks(rows: Sequence[Topical], names: tuple[str, str], *, with_trio: bool) -> Iterator[Block]:
    """For the terminal: the topics of each operation, the largest difference first; with Trio, the share of topics that
    it lacks."""
    a, b = (printable(each, 30) for each in names)
    yield Line(f"By topic, in instructions of an operation: {a}, {b}, and the share of the difference", "bold")
    for topical in rows:
        ratio = f", {ratio_text(topical.b / topical.a)} times" if topical.a > 0 else ""
        yield Line(f"{printable(name(topical.row))}: {count_text(topical.a)} to {count_text(topical.b)}{ratio}", "bold")
        shares = [(each, each.more / topical.more if topical.more else 0.0) for each in topical.shares]
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
            absent = sum(share for each, share in shares if not each.trio)
            yield Line(f"  * of which Trio has nothing: {format_percent(absent)}")
    yield Line("A function's topic is told by its name (docs/explain.md); inlined ones count for their callers.", "dim")


def topics_document(rows: Sequence[Topical]) -> list[dict[str, Any]]:
    """For --json: docs/explain.md."""
    return [
        pick(topical, "row", "a", "b") | {"topics": [pick(each, "what", "trio", "a", "b") for each in topical.shares]}
        for topical in rows
    ]
