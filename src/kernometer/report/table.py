"""A result on the terminal: its facts, its table, and what is to be said below it. Used by `run` and `show`."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from kernometer.report.curves import (
    Line,
    accuracy_text,
    below_name,
    cells,
    figures_document,
    lines_of,
    names_of,
    signs,
    value_text,
)
from kernometer.report.units import format_value
from kernometer.report.warnings import WORDS, folded, noisy
from kernometer.results.model import Header, Result, Workload
from kernometer.stats.curves import Curve
from kernometer.stats.disturbance import disturbance
from kernometer.stats.model import FlagCode, RowFigure
from kernometer.stats.order import in_registry_order
from kernometer.text import printable

if TYPE_CHECKING:
    from rich.console import Console

#: Times as long from which on a row's counting run is told of.
TOLD_COUNTING = 1.1
#: Characters of a string from a machine that one cell or line shows.
CELL, LINE = 60, 400
#: The narrowest column of row names; below it the terminal is too narrow for a table.
NARROWEST = 20
GAP = 2

_DIRECTION = {"lower": "↓", "higher": "↑"}
_BREAKS = re.compile(r"[^@,/]*[@,/]|[^@,/]+")


def print_result(
    console: Console,
    result: Result,
    figures: Mapping[str, RowFigure],
    *,
    facts: bool = True,
    details: bool = False,
    points: bool = False,
    named: Collection[str] = (),
) -> None:
    """All of a result. `figures`: of the rows to show. `details`: the sentence of every flag of every row.

    `points`: every point of a curve as a row; `named`: rows that were asked for by name, which are shown as such.
    """
    if facts:
        console.print(facts_table(result))
        console.print()
    noise = noisy(disturbance(result))
    if noise:
        console.print(Text(noise), end="\n\n")
    ordered = {row: figures[row] for row in in_registry_order((result,), figures)}
    hidden = frozenset() if details else folded(list(ordered.values()))
    below = Counter(code for figure in ordered.values() for code in {flag.code for flag in figure.flags} & hidden)
    ordered = {
        row: replace(figure, flags=tuple(flag for flag in figure.flags if flag.code not in hidden))
        for row, figure in ordered.items()
    }
    rows, workloads = list(ordered.values()), {} if points else result.workloads
    if rows:
        lines = lines_of(ordered, workloads, named)
        console.print(figures_table(lines, console.width, signs(console.encoding)))
        console.print()
    hang = hangs_on(rows, workloads) if details else []
    flagged = remarks(rows, workloads, details=details)
    if below:
        counts = ", ".join(f"{WORDS[code].label} on {below[code]}" for code in FlagCode if code in below)
        flagged.append(f"Flags not shown: {counts} of {len(rows)} rows; --details shows them.")
    for text in (*legend(rows), *flagged, *hang, *not_measured(result), *result.damage):
        console.print(Text(printable(text, LINE)))


def facts_table(result: Result) -> Table:
    """What was measured, where, when and how: two columns."""
    table = Table.grid(padding=(0, GAP))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts_of(result).items():
        table.add_row(name, Text(printable(value, LINE)))
    return table


def facts_of(result: Result) -> dict[str, str]:
    """Name and value of each fact that is known. Values are as they came, not yet safe to print."""
    session, header, end = result.session, result.header, result.end
    facts = {
        "session": session.id,
        "label": session.label,
        "measured": f"{utc(session.started)}{f', {end.seconds:.0f} s' if end else ''}, {_state(result)}",
        "target": f"{session.target}, by {session.by}, profile {session.profile}",
        "machine": session.machine,
        "experiment": f"{session.experiment}, side {session.side}" if session.experiment else "",
    }
    if header is not None:
        facts |= _facts_of_header(header)
    facts["disturbing"] = "; ".join(_disturbing(session.host))
    return {name: value for name, value in facts.items() if value}


def _disturbing(host: Mapping[str, Any]) -> list[str]:
    """What `check` found to disturb measuring when the session began. The record is a file's: any shape may come."""
    findings = host.get("findings")
    found = [one for one in findings if isinstance(one, dict)] if isinstance(findings, list) else []
    return [f"{one.get('name', '?')}: {one.get('value', '')}" for one in found if one.get("severity") == "disturbs"]


def _clock(clock: Mapping[str, Any]) -> str:
    """One of the platform's clocks: its resolution and the cost of one read, as measured, or why it is not there."""
    if "unsupported" in clock:
        return f"{clock.get('name')}: {clock['unsupported']}"
    step, cost = (format_value(clock.get(key), "ns") for key in ("resolution_ns", "cost_ns"))
    return f"{clock.get('name')} {step} / {cost}"


def _facts_of_header(header: Header) -> dict[str, str]:
    uname, probe = header.uname, header.probe
    chosen = next((clock for clock in header.clocks if clock.get("name") == header.clock), {})
    known = [
        f"{what} {format_value(chosen[key], 'ns')}"
        for what, key in (("resolution", "resolution_ns"), ("one read", "cost_ns"))
        if isinstance(chosen.get(key), int | float)
    ]
    return {
        "kernel": " ".join(uname.get(key, "") for key in ("sysname", "release", "machine")).strip(),
        "host": uname.get("nodename", ""),
        "CPU": f"{header.cpu.get('model', '')}, {header.cpu.get('online', '?')} online",
        "clock": ", ".join([header.clock, *known]),
        "clocks": "; ".join(_clock(clock) for clock in header.clocks),
        "probe": " ".join(
            str(probe.get(key, "")) for key in ("version", "compiler", "flags", "libc", "linkage")
        ).strip(),
        "counters": f"none: {header.counters}" if header.counters else "",
    }


def _state(result: Result) -> str:
    if result.end is None:
        return "cut off, or still being measured"
    return "complete" if result.end.complete else f"not complete: {result.end.reason or 'no reason given'}"


def utc(seconds: float) -> str:
    """`2026-11-21 07:30 UTC`; a time that no calendar has is shown as its number."""
    try:
        return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
    except (OverflowError, OSError, ValueError):
        return f"{seconds:g} s after 1970"


def figures_table(lines: Sequence[Line], width: int, heights: str) -> Table:
    """A line a row: value, how well it is known, what it is per, direction, runs, flags. A curve has a few lines."""
    columns = [_cells(one) if not isinstance(one, Curve) else cells(one, 0, _DIRECTION) for one in lines]
    others = [max(len(line) for cell in column for line in cell.split("\n")) for column in zip(*columns, strict=True)]
    counted = any((one.points[0].of if isinstance(one, Curve) else one).unit == "instructions" for one in lines)
    heads = ("value", "±" if counted else "±95 %", "per", "", "runs", "flags")
    rest = sum(max(size, len(head)) + GAP for size, head in zip(others, heads, strict=True))
    longest = max(_width(one) for one in lines)
    whole = (len(line) for one in lines if isinstance(one, Curve) for line in below_name(one, heights, 0))
    room = max(NARROWEST, *whole, min(longest, width - rest))  # a name can be broken, a curve's range cannot
    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("row", width=room, no_wrap=True)
    for head in heads:
        table.add_column(head, justify="right" if head in ("value", heads[1], "runs") else "left", overflow="fold")
    for one in lines:
        if isinstance(one, Curve):
            name = broken(printable(one.name, 2 * CELL), room)
            below = below_name(one, heights, room)
            row = cells(one, len(name) + len(below) - 2, _DIRECTION)  # the values stand beside its ends, the last two
            name += below
        else:
            name, row = broken(printable(one.row, 2 * CELL), room), _cells(one)
        style = "yellow" if row[-1] else ""
        table.add_row(Text("\n".join(name)), *(Text(cell) for cell in row[:-1]), Text(row[-1], style=style))
    return table


def _width(one: Line) -> int:
    """Of what stands in the first column."""
    if not isinstance(one, Curve):
        return len(printable(one.row, 2 * CELL))
    return max(len(printable(one.name, 2 * CELL)), *map(len, below_name(one, "_", CELL)))


def _cells(figure: RowFigure) -> tuple[str, ...]:
    """All cells but the row's name."""
    codes = dict.fromkeys(flag.code for flag in figure.flags)
    return (
        value_text(figure),
        accuracy_text(figure),
        "" if figure.unit == "B/s" else printable(figure.per, CELL // 3),  # a bandwidth is per second, not per block
        _DIRECTION.get(figure.better, ""),
        str(len(figure.runs)),
        "\n".join(WORDS[code].label for code in codes),
    )


def broken(name: str, width: int) -> list[str]:
    """A row's name in lines of at most `width`, broken after `@`, `,` and `/` where that is possible."""
    lines = [""]
    for part in _BREAKS.findall(name):
        if lines[-1].strip() and len(lines[-1]) + len(part) > width:
            lines.append("  ")
        while len(lines[-1]) + len(part) > width:
            room = width - len(lines[-1])
            lines[-1] += part[:room]
            part = part[room:]
            lines.append("  ")
        lines[-1] += part
    return lines


def legend(figures: Iterable[RowFigure]) -> list[str]:
    """What the table's signs mean, as far as it uses them."""
    figures = list(figures)
    if not figures:
        return []
    better = {figure.better for figure in figures}
    signs = [f"{_DIRECTION[one]} {one} is better" for one in ("lower", "higher") if one in better]
    counted = any(figure.unit == "instructions" for figure in figures)
    kinds = ["exact: all counts equal"] if any(figure.exact for figure in figures) else []
    if any(figure.floor is not None for figure in figures):
        kinds.append("floor: how far other states of the guest moved the count")
    if not all(figure.exact for figure in figures):
        kinds.append(f"±: {'the spread of the runs' if counted else '95 % interval within this session'}")
    return [f"{'; '.join((*kinds, ', '.join(signs)))}."]


def remarks(figures: Iterable[RowFigure], workloads: Mapping[str, Workload], *, details: bool) -> list[str]:
    """Each flag in use: what it means, what to do, on how many rows; with details what was seen at each of them.

    What a workload itself remarks is always given in full: nothing else says it. `workloads`: the definitions, which
    say what forms a curve; without them every row is named.
    """
    figures = list(figures)
    seen: dict[FlagCode, dict[str, list[str]]] = {}
    for figure in figures:
        for flag in figure.flags:
            seen.setdefault(flag.code, {}).setdefault(figure.row, []).append(flag.detail)
    lines = []
    for code in (code for code in FlagCode if code in seen):
        words, rows = WORDS[code], seen[code]
        count = f"{len(rows)} row{'s' if len(rows) > 1 else ''}"
        lines.append(f"{words.label} ({count}): {words.sentence} {words.advice}")
        if details or code is FlagCode.PROBE:
            lines += [f"  {', '.join(names_of(of, workloads))}: {detail}" for detail, of in _by_detail(rows).items()]
    return lines + (counting_runs(figures) if details else [])


def counting_runs(figures: Iterable[RowFigure]) -> list[str]:
    """How much longer rows took in the run that counts; their figures are from runs that do not."""
    lines = [
        f"  {figure.row}: {figure.counting:.3g} times as long"
        for figure in figures
        if figure.counting is not None and figure.counting >= TOLD_COUNTING
    ]
    return (
        [f"counters: while events were counted, in a run of their own, {len(lines)} rows took longer:", *lines]
        if lines
        else []
    )


def hangs_on(figures: Iterable[RowFigure], workloads: Mapping[str, Workload]) -> list[str]:
    """What figures hang on beside the kernel, and which rows that are: settings, the relation of two CPUs."""
    rows = {one.row: [f"{name}: {value}" for name, value in one.conditions.items()] for one in figures}
    found = [f"  {detail} ({', '.join(names_of(of, workloads))})" for detail, of in _by_detail(rows).items()]
    return ["Figures hang on", *found] if found else []


def _by_detail(rows: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Detail to the rows that have it: what many rows share is said once."""
    found: dict[str, list[str]] = {}
    for row, given in rows.items():
        for detail in dict.fromkeys(given):
            found.setdefault(detail, []).append(row)
    return found


def not_measured(result: Result) -> list[str]:
    """Rows that failed, each with its text; rows that this platform cannot do, gathered by reason."""
    failed: dict[tuple[str, str], int] = {}
    for failure in result.failures:
        failed[failure.row, failure.text] = failed.get((failure.row, failure.text), 0) + 1
    lines = [f"failed: {row}{f' ({n} runs)' if n > 1 else ''}: {text}" for (row, text), n in failed.items()]
    reasons: dict[str, list[str]] = {}
    for one in result.unsupported:
        reasons.setdefault(one.reason, []).append(one.row)
    return lines + [
        f"not on this platform: {', '.join(names_of(rows, result.workloads))}: {reason}"
        for reason, rows in reasons.items()
    ]


def document(result: Result, figures: Mapping[str, RowFigure]) -> dict[str, Any]:
    """The same for programs (`show --json`): plain values, nothing rounded."""
    import msgspec

    plain = msgspec.to_builtins
    ordered = {row: figures[row] for row in in_registry_order((result,), figures)}
    return {
        "session": plain(result.session),
        "header": plain(result.header),
        "rows": [plain(figures[row]) for row in ordered],
        "curves": figures_document(ordered, result.workloads),
        "failures": plain(result.failures),
        "unsupported": plain(result.unsupported),
        "events": plain(result.events),
        "end": plain(result.end),
        "damage": list(result.damage),
    }
