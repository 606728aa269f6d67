"""The raw samples of each row, gross, per operation: a drawing, and a summary as its text alternative."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from kernometer.report.chart import samples as small
from kernometer.report.session.absolute import anchor, family, workload_of
from kernometer.report.session.systems import Subject, name, rows_of
from kernometer.report.session.view import Distribution, Quantiles
from kernometer.report.words.units import format_value
from kernometer.results.model import Run

SHARES = (("minimum", 0.0), ("median", 0.5), ("90 %", 0.9), ("99 %", 0.99), ("maximum", 1.0))


def distributions(subjects: Sequence[Subject]) -> tuple[tuple[str, tuple[Distribution, ...]], ...]:
    """Every row with samples, by family, in the order of the runs."""
    found: dict[str, list[Distribution]] = {}
    for row in rows_of(subjects):
        series = [_series(subject, index, row) for index, subject in enumerate(subjects)]
        series = [one for one in series if one.runs]
        if series:
            found.setdefault(family(workload_of(row))[1], []).append(_distribution(row, series, _unit(row, subjects)))
    return tuple((title, tuple(rows)) for title, rows in found.items())


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
    if any(one.unit == "count" for result in results if (one := result.workloads.get(workload_of(row)))):
        return "count"
    return "instructions" if all(result.session.by == "path" for result in results) else "ns"


def _distribution(row: str, series: Sequence[small.Series], unit: str) -> Distribution:
    def label(value: float) -> str:
        return format_value(value, unit)

    quantiles = tuple(_quantiles(one, label) for one in series)
    words = "; ".join(
        f"{one.system}: {one.samples} samples of {one.runs} runs, "
        + ", ".join(f"{word} {figure}" for (word, _share), figure in zip(SHARES, one.figures, strict=True))
        for one in quantiles
    )
    shown = name(row)
    return Distribution(
        row=shown,
        anchor=anchor(row),
        summary="median " + ", ".join(f"{one.system} {one.figures[1]}" for one in quantiles),
        quantiles=quantiles,
        ecdf=small.ecdf(series, f"Distribution of {shown}", words, label),
        order=small.order(series, f"Samples of {shown} in the order taken", words, label),
        decimated=_decimated(series),
    )


def _quantiles(one: small.Series, label: Callable[[float], str]) -> Quantiles:
    ordered = sorted(value for run in one.runs for value in run)
    figures = tuple(label(small.quantile(ordered, share)) for _word, share in SHARES)
    return Quantiles(one.letter, len(one.runs), len(ordered), figures)


def _decimated(series: Sequence[small.Series]) -> str:
    """Which runs are drawn; "" if all are."""
    cut = [
        f"{small.RUNS_DRAWN} of {len(one.runs)} runs of {one.letter}"
        for one in series
        if len(one.runs) > small.RUNS_DRAWN
    ]
    return f"Drawn: {' and '.join(cut)}, evenly chosen." if cut else ""
