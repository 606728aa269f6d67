"""`ab`: two targets measured in alternating blocks, judged by the ratios within blocks. docs/statistics.md, "ab"."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean, median, median_low

from kernometer.errors import ResultError
from kernometer.results.model import Result
from kernometer.stats import path
from kernometer.stats.core import core_of, core_of_both
from kernometer.stats.differences import check_comparable
from kernometer.stats.floors import Layout
from kernometer.stats.intervals import Contrast, paired
from kernometer.stats.model import Comparison, FlagCode, RowFigure
from kernometer.stats.quantiles import asked_for, judged_by, quantile_logs
from kernometer.stats.sides import Side, begun, compared, rows_of, side
from kernometer.stats.verdict import DELTA, UNADJUSTED, Draft, judge, ratio
from kernometer.tables import grouped

THE_BLOCK = "the unit is the block: A and B next to each other in random order; only ratios within blocks count"

OTHER_LOOPS = "the probes are built differently, and so are their empty loops, which are therefore not compared"

SHORT = "the iterations of a block are too few for this quantile: measure longer runs (--seconds)"

#: If the reference differs between the sides by more than MOVED (relative), with p below MOVED_P, it is not used.
MOVED, MOVED_P = 0.001, 0.01


def ab(
    a: Result, b: Result, delta: float = DELTA, *, name_a: str = "A", name_b: str = "B", floors: Sequence[Layout] = ()
) -> Comparison:
    """Judges the two sides of one `ab`, B against A, by what it was measured for: medians, or a quantile. `delta` is
    relative; `floors` as for `compare`. Raises ResultError if the two results are not the sides of one `ab`."""
    check_comparable((a,), (b,))
    core, quantile = core_of_both(a, b), asked_for(a.session)
    of_a, of_b = side(name_a, (a,), core, quantile), side(name_b, (b,), core, quantile)
    if a.session.by == "path":
        return path.compare_counts(of_a, of_b, delta=delta, floors=floors)
    if a.session.experiment != b.session.experiment:
        raise ResultError(
            f"{a.session.id} and {b.session.id} are not the two sides of one `ab`",
            "kernometer compare judges results that were measured separately",
        )
    names = rows_of(of_a, of_b)
    if quantile is not None:  # all samples count, so that no state of the core is taken out
        rows = judge([_draft(row, of_a, of_b, quantile=quantile) for row in names], delta)
        return judged_by(quantile, compared(of_a, of_b, "ab", delta, rows, (UNADJUSTED, THE_BLOCK)))
    other_loops = core is None and core_of(a.runs) is not None and core_of(b.runs) is not None
    moved = (OTHER_LOOPS,) if other_loops else reference_moved(of_a, of_b, names)
    rows = judge([_draft(row, of_a, of_b, use_reference=not moved) for row in names], delta)
    return compared(of_a, of_b, "ab", delta, rows, (UNADJUSTED, THE_BLOCK, *moved))


def reference_moved(a: Side, b: Side, names: Sequence[str]) -> tuple[str, ...]:
    """A remark if the empty loop itself takes longer on one side, over all rows: it then cannot correct figures."""
    apart = grouped(pair for row in names for pair in _beside(a.figures_of(row), b.figures_of(row)).items())
    if len(apart) < 2:
        return ()
    contrast = paired([fmean(differences) for differences in apart.values()])
    if not _moved(contrast):
        return ()
    return (
        f"the empty loop takes {ratio(float(contrast.log_ratio)):.4f} times as long on {b.name}: what is compared "
        "changes this reference, so that it cannot correct figures",
    )


def _moved(contrast: Contrast) -> bool:
    return abs(float(contrast.log_ratio)) > MOVED and float(contrast.p()) < MOVED_P


def _draft(row: str, a: Side, b: Side, *, use_reference: bool = False, quantile: float | None = None) -> Draft:
    comparison, _, _, comparable = begun(row, a, b)
    if not comparable:
        return Draft(comparison)
    figure_a, figure_b = a.figures_of(row)[0], b.figures_of(row)[0]
    if quantile is None:
        blocks_a, blocks_b = block_logs(figure_a), block_logs(figure_b)
    else:
        blocks_a, blocks_b = (quantile_logs(side.results[0], row, quantile) for side in (a, b))
        if not blocks_a or not blocks_b:
            return Draft(replace(comparison, notes=(SHORT, *comparison.notes)))
        comparison = replace(comparison, a=_typical(figure_a, blocks_a), b=_typical(figure_b, blocks_b))
    blocks = [block for block in blocks_a if block in blocks_b]
    alone = len(blocks_a) + len(blocks_b) - 2 * len(blocks)
    left_out = (f"{alone} blocks have one side only and are left out",) if alone else ()
    batches = [median_low([run.batch for run in figure.runs]) for figure in (figure_a, figure_b)]
    apart = (f"{batches[0]} and {batches[1]} iterations in a sample, since one side takes over ten times as long",)
    notes = (*left_out, *(apart if batches[0] != batches[1] else ()), *comparison.notes)
    comparison = replace(comparison, units_a=len(blocks), units_b=len(blocks), notes=notes)
    seconds = seconds_per_block(figure_a) + seconds_per_block(figure_b)
    if len(blocks) < 2:
        return Draft(
            replace(
                comparison,
                minutes_missing=(2 - len(blocks)) * seconds / 60,
                notes=("fewer than two blocks have both sides: at least that many more minutes", *notes),
            )
        )
    differences_log = [blocks_b[block] - blocks_a[block] for block in blocks]
    beside = _beside([figure_a], [figure_b]) if use_reference else {}
    reference = [beside[block] for block in blocks if block in beside]
    if len(reference) < len(blocks) or _moved(paired(reference)):
        reference = []
    contrast = paired(differences_log, reference or None)
    alike = [any(flag.code is FlagCode.SHARED for flag in figure.flags) for figure in (figure_a, figure_b)]
    if alike[0] != alike[1]:
        note = f"no quiet core for {b.name if alike[1] else a.name}: a neighbour may cause the difference"
        return Draft(replace(comparison, ratio=ratio(float(contrast.log_ratio)), notes=(note, *notes)))
    return Draft(
        comparison,
        contrast,
        sd_log=float(contrast.se) * math.sqrt(len(blocks)),
        paired=True,
        units=len(blocks),
        seconds_per_unit=seconds,
    )


def _typical(figure: RowFigure, logs: Mapping[int, float]) -> RowFigure:
    """With the quantile of a typical block, as the ratio: all blocks' together is that of the worst of them."""
    cost = ratio(median(logs.values()))
    return replace(figure, cost=cost, low=None, high=None, value=cost, value_low=None, value_high=None)


def block_logs(figure: RowFigure) -> dict[int, float]:
    """Mean log cost of the runs in each block."""
    blocks = grouped((run.block, math.log(run.cost)) for run in figure.runs)
    return {block: fmean(logs) for block, logs in blocks.items()}


def _beside(a: Sequence[RowFigure], b: Sequence[RowFigure]) -> dict[int, float]:
    """By block, the difference of the logs of the empty loop's times next to the samples that count."""
    of_a, of_b = (
        {run.block: math.log(run.reference) for figure in side for run in figure.runs if run.reference}
        for side in (a, b)
    )
    return {block: of_b[block] - log for block, log in of_a.items() if block in of_b}


def seconds_per_block(figure: RowFigure) -> float:
    """Seconds of this row in one block, with set-up."""
    return math.fsum(run.seconds for run in figure.runs) / len({run.block for run in figure.runs})
