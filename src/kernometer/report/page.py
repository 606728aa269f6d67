"""The report: one HTML file that needs no network and contains no JavaScript, from results and comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kernometer.errors import ResultError
from kernometer.explain.boundary_prices import of_results
from kernometer.explain.functions import Difference, decided, differences, newest
from kernometer.report.chart import curves as curve_plots
from kernometer.report.chart import samples as small
from kernometer.report.comparison import view as compared
from kernometer.report.comparison.view import ComparisonView
from kernometer.report.explanation.boundaries import BoundariesView
from kernometer.report.explanation.boundaries import view as boundaries_view
from kernometer.report.explanation.diagnosis import causes
from kernometer.report.explanation.structures import StructuresView
from kernometer.report.profile.functions import Functions, changed_view, common, profile_view
from kernometer.report.session import absolute, evidence, memory, quantiles
from kernometer.report.session.counters import Tallies, counters
from kernometer.report.session.evidence import Counts, Finding
from kernometer.report.session.samples import QUANTILES, Distribution, distributions
from kernometer.report.session.spread import Spread, spreads
from kernometer.report.session.systems import Subject, gather, rows_of, workloads_of
from kernometer.report.session.view import AbsoluteView
from kernometer.report.words.names import name
from kernometer.report.write.html import fill
from kernometer.results.model import Result
from kernometer.stats.floors import Layout
from kernometer.stats.history import History
from kernometer.stats.model import Comparison

#: Results by the name of their system, the baseline first.
Systems = Mapping[str, Sequence[Result]]


@dataclass(frozen=True, slots=True)
class Page:
    """The whole report."""

    figures: AbsoluteView
    by: str  #: "time", "path", or both
    bracket: str  #: what is subtracted from every figure, and included in the gross samples
    comparisons: tuple[ComparisonView, ...]
    truth: Counts
    counters: Counts
    events: Counts  #: by path: the plugin's counts of a timed region
    quantiles: Counts  #: by time: of single iterations
    memory_title: str
    memory: Counts  #: by path: counts and cycles of the modelled processor
    footprint: Counts  #: by path: distinct lines and pages
    tallies: Tallies  #: by path: what the kernels count that tell
    boundaries: BoundariesView | None  #: by path: of Trio's partitions
    structures: StructuresView | None  #: by path, of other systems than those of the figures
    functions: Functions  #: by path: of rows with profiles
    findings: tuple[Finding, ...]
    spreads: tuple[Spread, ...]
    distributions: tuple[tuple[str, tuple[Distribution, ...]], ...]
    quantile_words: tuple[str, ...] = tuple(word for word, _share in QUANTILES)
    ecdf_steps: int = small.ECDF_STEPS  #: how many quantiles of a run its drawing keeps
    #: SVG paths of the systems' marks in curves, in order, repeated if there are more systems.
    marks: tuple[str, ...] = curve_plots.MARKS
    order_buckets: int = small.ORDER_BUCKETS  #: stretches of a run whose least and largest samples its drawing keeps

    @property
    def title(self) -> str:
        return self.figures.title

    @property
    def drawn(self) -> frozenset[str]:
        """Anchors of the rows whose samples are on the page, and of the compared curves."""
        samples = (row.anchor for _family, rows in self.distributions for row in rows)
        return frozenset((*samples, *(curve.anchor for comparison in self.comparisons for curve in comparison.curves)))


def render(page: Page) -> str:
    """The view model as HTML."""
    heat = ("matrix.css",) if page.boundaries else ()
    falls = ("costs.css",) if page.structures else ()
    return fill("report.html.j2", page, "report.css", *heat, *falls)


def build(
    systems: Systems,
    comparisons: Sequence[Comparison] = (),
    history: History | None = None,
    *,
    floors: Sequence[Layout] = (),
    structures: StructuresView | None = None,
) -> Page:
    """The page of these results; with two systems or more, of their comparisons against the baseline.

    `history`: earlier sessions, for the spread of the first result's host. `floors`: by path, the known layouts.
    `structures`: a section of its own.
    Raises ResultError if there is no result, or if a comparison is of another system.
    """
    results = [result for members in systems.values() for result in members]
    if not results:
        raise ResultError("There is nothing to report on.", "Name at least one result: 'kernometer list' shows them.")
    subjects = gather(list(systems.items()), floors)
    by_name = {subject.key: subject for subject in subjects}
    for title in (title for comparison in comparisons for title in (comparison.a, comparison.b)):
        if title not in by_name:
            raise ResultError(
                f"A comparison names {name(title)!r}, which is none of the systems.", "Give the compared results."
            )
    workloads, rows = workloads_of(subjects), rows_of(subjects)
    views = []
    for comparison in comparisons:
        a, b = by_name[comparison.a], by_name[comparison.b]
        view = compared.view(comparison, a.system, b.system, workloads, rows)
        views.append(replace(view, causes=tuple(causes(a, b, comparison))))
    priced = of_results(results)
    ways = list(dict.fromkeys(result.session.by for result in results))
    return Page(
        figures=absolute.view(subjects),
        by=" and ".join(dict.fromkeys((*ways, *(("path",) if structures and structures.rows else ())))),
        bracket="the empty bracket" if ways == ["path"] else "the clock and the empty loop",
        comparisons=tuple(views),
        truth=evidence.truth(subjects),
        counters=evidence.counters(subjects),
        events=evidence.events(subjects),
        quantiles=quantiles.of_sessions(subjects),
        memory_title=memory.title(results),
        memory=memory.counts(subjects),
        footprint=memory.footprint(subjects),
        tallies=counters({subject.letter: subject.results for subject in subjects}),
        boundaries=boundaries_view(priced) if priced else None,
        structures=structures,
        functions=_functions(by_name, comparisons),
        findings=evidence.findings(subjects),
        spreads=spreads(subjects, history),
        distributions=distributions(subjects),
    )


def _functions(by_name: Mapping[str, Subject], comparisons: Sequence[Comparison]) -> Functions:
    changed = []
    told: dict[str, Difference] = {}
    for comparison in comparisons:
        a, b = by_name[comparison.a], by_name[comparison.b]
        by_row = differences(a.results, b.results, decided(comparison))
        told |= {f"{comparison.b} {row}": each for row, each in by_row.items()}
        title = f"{b.system.name} against {a.system.name}"
        changed.append((title, tuple(changed_view(each) for each in by_row.values())))
    profiles = [
        (subject.system.name, tuple(profile_view(profile) for profile in newest(subject.results).values()))
        for subject in by_name.values()
    ]
    return Functions(
        tuple(profile for profile in profiles if profile[1]),
        tuple(comparison for comparison in changed if comparison[1]),
        common(told.values()) if len(comparisons) == 1 else "",
    )
