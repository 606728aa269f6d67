"""From results and comparisons to the view model of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernometer import __version__
from kernometer.errors import ResultError
from kernometer.report import absolute, compared, curve_plots, evidence, small
from kernometer.report.samples import SHARES, distributions
from kernometer.report.spread import spreads
from kernometer.report.subjects import Subject, gather, name
from kernometer.report.view import Page
from kernometer.results.model import Result
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
) -> Page:
    """The whole page. Raises ResultError where there is no result, or results and comparisons do not fit."""
    if not results:
        raise ResultError("There is nothing to report on.", "Name at least one result: 'kernometer list' shows them.")
    subjects = gather(list(systems.items()) if systems else groups(results, comparisons), floors)
    _check(subjects, comparisons)
    views = tuple(
        compared.view(comparison, _subject(subjects, comparison.a), _subject(subjects, comparison.b))
        for comparison in comparisons
    )
    ways = list(dict.fromkeys(result.session.by for result in results))
    return Page(
        title=_title(subjects),
        lead=_lead(subjects),
        by=" and ".join(ways),
        bracket="the empty bracket" if ways == ["path"] else "the clock and the empty loop",
        made=f"Kernometer {__version__}",
        systems=tuple(subject.system for subject in subjects),
        comparisons=views,
        families=absolute.families(subjects),
        flags=evidence.flags(subjects),
        truth=evidence.truth(subjects),
        counters=evidence.counters(subjects),
        events=evidence.events(subjects),
        absences=evidence.absences(subjects),
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
    each result with the name that it bears itself, or else all in the order in which names and results were given.
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
    """What sets a result apart where nobody named it."""
    session = result.session
    return f"{session.target} ({session.side})" if session.experiment else session.label or session.id


def _names(result: Result) -> tuple[str, ...]:
    """What a comparison may call the system of that result."""
    session = result.session
    return (session.id, session.label, f"label:{session.label}", session.side, session.target)


def _check(subjects: Sequence[Subject], comparisons: Sequence[Comparison]) -> None:
    known = {subject.key for subject in subjects}
    for comparison in comparisons:
        for title in (comparison.a, comparison.b):
            if title not in known:
                raise ResultError(
                    f"A comparison names {name(title)!r}, which is none of the systems.", "Report the results compared."
                )


def _subject(subjects: Sequence[Subject], title: str) -> Subject:
    return next(subject for subject in subjects if subject.key == title)


def _title(subjects: Sequence[Subject]) -> str:
    """What the page is about: of one system which kernel ran where, of more their names."""
    names = [subject.system.name for subject in subjects]
    if len(names) > 1:
        return " against ".join(reversed(names)) if len(names) == 2 else ", ".join(names)
    facts = {fact.name: fact.value for fact in subjects[0].system.facts}
    return " on ".join(facts[key] for key in ("Kernel", "Host") if key in facts) or names[0]


def _lead(subjects: Sequence[Subject]) -> str:
    """The first sentence where nothing is compared."""
    rows = len({row for subject in subjects for entry in subject.entries for row in entry.figures})
    sessions = sum(len(subject.results) for subject in subjects)
    failed = len(
        {
            (failure.row, result.session.id)
            for subject in subjects
            for result in subject.results
            for failure in result.failures
        }
    )
    text = f"{rows} row{'s' if rows != 1 else ''} measured in {sessions} session{'s' if sessions != 1 else ''}"
    return f"{text}, {failed} failed." if failed else f"{text}."
