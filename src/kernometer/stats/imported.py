"""Files of other suites against each other: a file is a session. docs/statistics.md, "Files of other suites".

Suites hardly name a boot, and most name no host. So files of one side that follow each other in time are one unit, and
no earlier file is a history.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from kernometer.errors import ResultError
from kernometer.results.model import LARGEST, Paper, Publication, Published
from kernometer.results.rows import Row
from kernometer.stats.compare import UNITS, compare_sides
from kernometer.stats.differences import contrasts
from kernometer.stats.figures import interval_of_runs, with_values
from kernometer.stats.history import Entry, Grain
from kernometer.stats.model import Comparison, Flag, FlagCode, RowComparison, RowFigure, RunFigure
from kernometer.stats.sides import Side
from kernometer.tables import grouped
from kernometer.text import some

ONE_UNIT = (
    "a file counts as a session; no file names its boot, so files of one side that follow each other in time are one "
    "unit: import files that were measured in turn (A B A B …)"
)
#: Conditions of the moment, in which any two files differ.
MOMENTARY = re.compile(r"date|time|load|uptime|duration|benchmark run|runnable|cpu_freq|rss", re.IGNORECASE)
#: A figure below, in our unit, is none: lmbench prints differences that are negative by chance.
SMALLEST = 1e-9


def compare_imported(sides: Mapping[str, Sequence[Publication]], delta: float) -> tuple[Comparison, ...]:
    """Each of the other sides against the first, all of one suite; the rows of all are one family of tests. Raises
    ResultError if a file is named twice, or if two sides have no row in common."""
    times = [each.paper for side in sides.values() for each in side]
    if len({paper.name for paper in times}) < len(times):
        raise ResultError("An imported result is named twice.", "Name two different results, or two labels.")
    disorder = _disorder(times)
    boots = {} if disorder else _boots({name: [each.paper for each in side] for name, side in sides.items()})
    baseline, *others = (
        Side(name, (), tuple(_entry(each, boots.get(each.paper.name, name), bool(disorder)) for each in side))
        for name, side in sides.items()
    )
    for other in others:
        if not baseline.tried.keys() & other.tried.keys():
            step = "'kernometer show' names the rows of each."
            raise ResultError(f"{baseline.name} and {other.name} have no row in common.", step)
    judged = compare_sides(baseline, others, history=None, delta=delta, method="imported")
    return tuple(_told(each, sides[each.a], sides[each.b], disorder) for each in judged)


def beside(imported: Comparison, own: Comparison, sides: Iterable[Publication]) -> Comparison:
    """The comparison with, at each row, what `own` decides of the row of ours that has the same definition."""
    verdicts = {row.row: row for row in own.rows}
    figures = (figure for each in sides for figure in each.figures)
    ours = {figure.row: [verdicts[row] for row in figure.ours if row in verdicts] for figure in figures}
    rows = (replace(row, notes=(*row.notes, *map(_beside, ours.get(row.row, ())))) for row in imported.rows)
    return replace(imported, rows=tuple(rows))


def _beside(own: RowComparison) -> str:
    known = None not in (own.ratio, own.low, own.high)
    ratio = f" {own.ratio:.3f} [{own.low:.3f}, {own.high:.3f}]," if known else ""
    return f"the same definition has {own.row}:{ratio} {own.verdict.value}"


def _disorder(papers: Sequence[Paper]) -> str:
    """Why the order of the files in time is not known; "" if it is."""
    if lacking := sum(not paper.started for paper in papers):
        return f"{lacking} of {len(papers)} files do not tell when they were measured"
    ordered = sorted(papers, key=lambda paper: paper.started)
    for a, b in pairwise(ordered):
        if b.started < a.started + a.seconds or b.started == a.started:
            return f"the times of {a.where} and {b.where} overlap, as those of copies do"
    return ""


def _boots(sides: Mapping[str, Sequence[Paper]]) -> dict[str, str]:
    """By name of a result the number of its stretch: files of one side, with none of another between them."""
    ordered = sorted((paper.started, side, paper.name) for side, papers in sides.items() for paper in papers)
    number, boots, last = 0, dict[str, str](), ""
    for _started, side, name in ordered:
        number += side != last
        boots[name], last = str(number), side
    return boots


def _entry(publication: Publication, boot: str, disorder: bool) -> Entry:
    paper = publication.paper
    start, seconds = (0.0, 0.0) if disorder else (paper.started, paper.seconds)
    figures = (_figure(paper, figure) for figure in publication.figures)
    by_row = {figure.row: figure for figure in figures if figure is not None}
    return Entry(paper.name, (), _system(paper), boot, start, start + seconds, by_row)


def _figure(paper: Paper, figure: Published) -> RowFigure | None:
    """None if neither direction is better. Each process of several is a run; otherwise there is the printed figure
    alone."""
    scale = paper.units.get(figure.meant or figure.unit)
    if scale is None or not figure.better or figure.value is None:
        return None
    row = RowFigure(figure.row, Row(figure.row).workload, {}, scale.unit, "", figure.better)
    if not SMALLEST <= figure.value * scale.factor <= LARGEST:
        return replace(row, flags=(Flag(FlagCode.BELOW_RESOLUTION, f"{figure.printed} {figure.unit}"),))

    def cost(value: float) -> float:
        return value * scale.factor if figure.better == "lower" else 1e9 / (value * scale.factor)

    medians = [(median(process), len(process)) for process in figure.samples if process]
    processes = [(cost(value), samples) for value, samples in medians if value * scale.factor >= SMALLEST]
    if len(processes) > 1:
        runs = (RunFigure(at, 0, each, each, None, samples, 0, 0.0) for at, (each, samples) in enumerate(processes))
        low, high = interval_of_runs([each for each, _samples in processes])
        row = replace(row, runs=tuple(runs), low=low, high=high)
    return with_values(replace(row, cost=cost(figure.value)), 1.0)


def _told(comparison: Comparison, a: Sequence[Publication], b: Sequence[Publication], disorder: str) -> Comparison:
    """With what differs between the files, why nothing is decided if so, and each row's notes."""
    same, differs = contrasts([_facts(each.paper) for each in a], [_facts(each.paper) for each in b])
    figures = [figure for each in (*a, *b) for figure in each.figures]
    notes = grouped((figure.row, figure.note) for figure in figures if "failed" in figure.note)
    rows = [replace(row, notes=(*row.notes, *dict.fromkeys(notes.get(row.row, ())))) for row in comparison.rows]
    comparison = replace(comparison, rows=tuple(rows), same=same, differs=differs)
    why = [f"no order in time: {disorder}, so each side is one unit"] if disorder else []
    if comparison.undecidable:
        missing = [row.sessions_missing for row in rows if row.sessions_missing is not None]
        why.append(f"missing: {median(missing):.0f} files a side or more, by the median of the rows" if missing else "")
    return replace(
        comparison,
        conditions=tuple(filter(None, why)),
        remarks=(
            *(each for each in comparison.remarks if each != UNITS[Grain.BOOT]),
            ONE_UNIT,
            *_without_direction(figures),
        ),
    )


def _system(paper: Paper) -> str:
    return paper.systems[0].name if paper.systems else ""


def _facts(paper: Paper) -> dict[str, str]:
    facts = {"suite": paper.title, "hardware": paper.machine, "system": _system(paper), **paper.conditions}
    return {what: value for what, value in facts.items() if value and not MOMENTARY.search(what)}


def _without_direction(figures: Iterable[Published]) -> Iterator[str]:
    rows = list(dict.fromkeys(figure.row for figure in figures if not figure.better))
    if rows:
        yield f"not compared, since neither direction is better: {some(rows)}"
