"""The raw samples of each row, gross, per operation: a drawing, and a summary as its text alternative."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernometer.report.chart import samples as small
from kernometer.report.chart.axis import Plot
from kernometer.report.session.absolute import anchor, family
from kernometer.report.session.systems import Subject, rows_of
from kernometer.report.words.names import name
from kernometer.report.words.units import format_value
from kernometer.results.model import Run
from kernometer.results.rows import Row

QUANTILES = (("minimum", 0.0), ("median", 0.5), ("90 %", 0.9), ("99 %", 0.99), ("maximum", 1.0))


@dataclass(frozen=True, slots=True)
class Quantiles:
    """The text alternative of a distribution: samples of one system, all runs together."""

    system: str
    runs: int
    samples: int
    figures: tuple[str, ...]  #: minimum, median, 90th, 99th percentile, maximum


@dataclass(frozen=True, slots=True)
class Distribution:
    """One row's samples, drawn twice: as distribution and in the order in which they were taken."""

    row: str
    anchor: str
    summary: str
    quantiles: tuple[Quantiles, ...]
    ecdf: Plot | None  #: None if no sample is above 0
    order: Plot | None
    decimated: str  #: "" or what was left out of the drawing


def distributions(subjects: Sequence[Subject]) -> tuple[tuple[str, tuple[Distribution, ...]], ...]:
    """Every row with samples, by family, in the order of the runs."""
    families: dict[str, list[Distribution]] = {}
    for row in rows_of(subjects):
        series = [_series(subject, index, row) for index, subject in enumerate(subjects)]
        series = [line for line in series if line.runs]
        if series:
            families.setdefault(family(Row(row).workload)[1], []).append(
                _distribution(row, series, _unit(row, subjects))
            )
    return tuple((title, tuple(rows)) for title, rows in families.items())


def per_operation(run: Run) -> tuple[float, ...]:
    """The run's samples as cost of one operation, gross, in order; only positive numbers."""
    work = run.batch * run.ops
    if not (math.isfinite(work) and work > 0):
        return ()
    values = (sample / work for sample in run.samples if 0 < sample < 2**63)
    return tuple(value for value in values if 0 < value < math.inf)


def _series(subject: Subject, index: int, row: str) -> small.Series:
    runs = (per_operation(run) for run in subject.runs.get(row, ()))
    return small.Series(subject.letter, index, tuple(run for run in runs if run))


def _unit(row: str, subjects: Sequence[Subject]) -> str:
    """The unit of its samples: those of a rate are times."""
    results = [result for subject in subjects for result in subject.results]
    if any(workload.unit == "count" for result in results if (workload := result.workloads.get(Row(row).workload))):
        return "count"
    return "instructions" if all(result.session.by == "path" for result in results) else "ns"


def _distribution(row: str, series: Sequence[small.Series], unit: str) -> Distribution:
    def label(value: float) -> str:
        return format_value(value, unit)

    quantiles = tuple(_quantiles(line, label) for line in series)
    words = "; ".join(
        f"{part.system}: {part.samples} samples of {part.runs} runs, "
        + ", ".join(f"{word} {figure}" for (word, _share), figure in zip(QUANTILES, part.figures, strict=True))
        for part in quantiles
    )
    shown = name(row)
    return Distribution(
        row=shown,
        anchor=anchor(row),
        summary="median " + ", ".join(f"{part.system} {part.figures[1]}" for part in quantiles),
        quantiles=quantiles,
        ecdf=small.ecdf(series, f"Distribution of {shown}", words, label),
        order=small.order(series, f"Samples of {shown} in the order taken", words, label),
        decimated=_decimated(series),
    )


def _quantiles(series: small.Series, label: Callable[[float], str]) -> Quantiles:
    ordered = sorted(value for run in series.runs for value in run)
    figures = tuple(label(small.quantile(ordered, share)) for _word, share in QUANTILES)
    return Quantiles(series.letter, len(series.runs), len(ordered), figures)


def _decimated(series: Sequence[small.Series]) -> str:
    """Which runs are drawn; "" if all are."""
    cut = [
        f"{small.RUNS_DRAWN} of {len(line.runs)} runs of {line.letter}"
        for line in series
        if len(line.runs) > small.RUNS_DRAWN
    ]
    return f"Drawn: {' and '.join(cut)}, evenly chosen." if cut else ""
