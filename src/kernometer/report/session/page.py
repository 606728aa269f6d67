"""From results and comparisons to the view model of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernometer import __version__
from kernometer.errors import ResultError
from kernometer.explain.boundary_prices import of_results
from kernometer.explain.functions import Difference, decided, differences, newest
from kernometer.report.chart import curves as curve_plots
from kernometer.report.chart import samples as small
from kernometer.report.comparison import view as compared
from kernometer.report.comparison.causes import causes
from kernometer.report.explanation.boundaries import view as boundaries_view
from kernometer.report.explanation.structures_view import StructuresView
from kernometer.report.profile.functions import changed_view, common, profile_view
from kernometer.report.session import absolute, evidence
from kernometer.report.session.counters import counters
from kernometer.report.session.samples import SHARES, distributions
from kernometer.report.session.spread import spreads
from kernometer.report.session.systems import Subject, gather, name, rows_of, workloads_of
from kernometer.report.session.view import ComparisonView, Functions, Page
from kernometer.results.model import Result, Workload
from kernometer.stats.floors import Layout
from kernometer.stats.history import History
from kernometer.stats.model import Comparison

#: Results by the name of their system, the baseline first.
Systems = Mapping[str, Sequence[Result]]


def build(
    results: Sequence[Result],
    comparisons: Sequence[Comparison],
    history: History | None = None,
    systems: Systems | None = None,
    floors: Sequence[Layout] = (),
    structures: StructuresView | None = None,
) -> Page:
    """The whole page. Raises ResultError if there is no result, or results and comparisons do not match."""
    if not results:
        raise ResultError("There is nothing to report on.", "Name at least one result: 'kernometer list' shows them.")
    subjects = gather(list(systems.items()) if systems else groups(results, comparisons), floors)
    _check(subjects, comparisons)
    workloads, rows = workloads_of(subjects), rows_of(subjects)
    views = tuple(_compared(subjects, comparison, workloads, rows) for comparison in comparisons)
    priced = of_results(results)
    ways = list(dict.fromkeys(result.session.by for result in results))
    return Page(
        figures=absolute.figures(subjects),
        by=" and ".join(dict.fromkeys((*ways, *(("path",) if structures and structures.rows else ())))),
        bracket="the empty bracket" if ways == ["path"] else "the clock and the empty loop",
        made=f"Kernometer {__version__}",
        comparisons=views,
        truth=evidence.truth(subjects),
        counters=evidence.counters(subjects),
        events=evidence.events(subjects),
        tallies=counters({subject.letter: subject.results for subject in subjects}),
        boundaries=boundaries_view(priced) if priced else None,
        structures=structures,
        functions=_functions(subjects, comparisons),
        findings=evidence.findings(subjects),
        spreads=spreads(subjects, history),
        distributions=distributions(subjects),
        quantile_words=tuple(word for word, _share in SHARES),
        ecdf_steps=small.ECDF_STEPS,
        marks=curve_plots.MARKS,
        order_buckets=small.ORDER_BUCKETS,
    )


def groups(results: Sequence[Result], comparisons: Sequence[Comparison]) -> list[tuple[str, list[Result]]]:
    """Results by system, the baseline first.

    Without comparisons: by side of an `ab`, by label, or each session alone. With them, under the comparisons' names:
    each result under its own name, or else all in the order in which names and results were given.
    """
    named = list(dict.fromkeys(side for comparison in comparisons for side in (comparison.a, comparison.b)))
    own: dict[str, list[Result]] = {}
    for result in results:
        own.setdefault(_own_name(result), []).append(result)
    if not named:
        return list(own.items())
    matched = {title: [result for result in results if title in _names(result)] for title in named}
    if sum(map(len, matched.values())) == len(results) and all(matched.values()):
        return list(matched.items())
    if len(results) == len(named):
        return [(title, [result]) for title, result in zip(named, results, strict=True)]
    if len(own) == len(named):
        return list(zip(named, own.values(), strict=True))
    raise ResultError(
        f"The {len(named)} systems compared are not those of the {len(results)} results.",
        "Say which results belong to which system (the argument `systems`).",
    )


def _own_name(result: Result) -> str:
    """The default name of a result's system."""
    session = result.session
    return f"{session.target} ({session.side})" if session.experiment else session.label or session.id


def _names(result: Result) -> tuple[str, ...]:
    """The names that a comparison may use for the system of that result."""
    session = result.session
    return (session.id, session.label, f"label:{session.label}", session.side, session.target)


def _check(subjects: Sequence[Subject], comparisons: Sequence[Comparison]) -> None:
    known = {subject.key for subject in subjects}
    for comparison in comparisons:
        for title in (comparison.a, comparison.b):
            if title not in known:
                raise ResultError(
                    f"A comparison names {name(title)!r}, which is none of the systems.", "Give the compared results."
                )


def _compared(
    subjects: Sequence[Subject], comparison: Comparison, workloads: Mapping[str, Workload], rows: Sequence[str]
) -> ComparisonView:
    a, b = (next(one for one in subjects if one.key == title) for title in (comparison.a, comparison.b))
    view = compared.view(comparison, a.system, b.system, workloads, rows)
    return replace(view, causes=tuple(causes(a, b, comparison)))


def _functions(subjects: Sequence[Subject], comparisons: Sequence[Comparison]) -> Functions:
    of = {subject.key: subject for subject in subjects}
    changed = []
    told: dict[str, Difference] = {}
    for one in comparisons:
        a, b = of[one.a], of[one.b]
        found = differences(a.results, b.results, decided(one))
        told |= {f"{one.b} {row}": each for row, each in found.items()}
        title = f"{b.system.name} against {a.system.name}"
        changed.append((title, tuple(changed_view(each) for each in found.values())))
    profiles = [
        (subject.system.name, tuple(profile_view(one) for one in newest(subject.results).values()))
        for subject in subjects
    ]
    return Functions(
        tuple(one for one in profiles if one[1]),
        tuple(one for one in changed if one[1]),
        common(told.values()) if len(comparisons) == 1 else "",
    )
