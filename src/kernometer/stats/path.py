"""Compares counts of instructions without a test, as they contain no chance. docs/statistics.md, "By path"."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median_low

from kernometer.results.model import Result
from kernometer.stats.figures import with_values
from kernometer.stats.floors import Floors, Layout, floors_for
from kernometer.stats.levels import alike as alike_levels
from kernometer.stats.model import Comparison, RowComparison, RowFigure, Verdict
from kernometer.stats.sides import Side, begun, compared, rows_of

#: The layout floor of a row without a measured one. Of the 102 rows of the quick profile 94 stay within it on five
#: rotated machines (docs/path.md): it does not replace measuring the rows that allocate and schedule most.
DEFAULT_LAYOUT_FLOOR = 0.01
#: The same for the means of rows whose iterations have levels, for layout moves the levels' shares too: of 16 such rows
#: of two kernels 15 stay within it on five machines, and 7 within 1 %.
DEFAULT_MEANS_FLOOR = 0.10

EXACT = "counts of one kernel by one probe: equal, or moved by the state that they began from"
NOT_CYCLES = "instructions are not cycles: what waits or misses a cache costs none"
CYCLES_TOO = "verdicts compare instructions, to which waits and cache misses add none; modelled cycles have misses"
SAME_LAYOUT = "counts of two builds whose data lie at the same addresses: each difference is the code's"
FLOORED = "counts of two builds: differences below a row's layout floor are not decided"
MEANS = "the iterations have levels, so the means are compared"
PROCESSOR = "by path on the emulated processor {}: kernels choose code by its features; +cpu=MODEL is another"
MITIGATIONS = (
    "mitigations differ ({}), and counts do not show their cost: a flush or a fence counts one instruction{}; "
    "to see it, measure by time on hardware that is affected"
)
NOT_AFFECTED = ", and Linux finds {} hardly affected, so it leaves most out (+cpu=Skylake-Client needs more)"
#: Words of Linux's command line that switch mitigations, which `mitigations=` does all at once.
SWITCHES = (
    "gather_data_sampling indirect_target_selection kvm-intel.vmentry_l1d_flush l1tf mds mitigations mmio_stale_data "
    "nopti nospectre_bhb nospectre_v1 nospectre_v2 nospec_store_bypass_disable pti reg_file_data_sampling retbleed "
    "spec_rstack_overflow spec_store_bypass_disable spectre_bhi spectre_v2 spectre_v2_user srbds tsa tsx_async_abort "
    "vmscape"
)


def kernel(result: Result) -> tuple[str, ...] | None:
    """Identifies one kernel with one probe: board, image, command line, probe. None if not known. On one machine its
    counts are equal if each row begins from the same state."""
    session = result.session
    if result.header is None or not session.image:
        return None
    return (session.board or session.machine, session.image, session.command_line, *result.probe)


def compare_counts(a: Side, b: Side, *, delta: float, floors: Sequence[Layout] = ()) -> Comparison:
    """Judges counts. `floors`: the known layouts. A kernel is never faster or slower than itself."""
    kernels = {kernel(result) for result in (*a.results, *b.results)}
    itself = len(kernels) == 1 and None not in kernels
    alike = not itself and _same_layout(a, b)
    measured = floors_for((*a.results, *b.results), floors)
    names = rows_of(a, b)
    used = Floors(dict.fromkeys(names, 0.0), measured.means) if alike else measured
    apart = _told_apart(a, b) if itself else None
    rows = tuple(_row(row, a, b, delta, used, apart) for row in names)
    words = (
        (EXACT,)
        if itself
        else (SAME_LAYOUT,)
        if alike
        else (FLOORED, *stand_ins(((a.name, a.results), (b.name, b.results)), measured))
    )
    modelled = all(any(result.memories for result in side.results) for side in (a, b))
    words = (*words, CYCLES_TOO if modelled else NOT_CYCLES)
    return compared(a, b, "path", delta, rows, words, conditions(a, b))


def processor(result: Result) -> str:
    """The emulator's model of the processor, as `+cpu=` names it; "" if it is not known."""
    match = re.search(r"(?:^|; )-cpu ([^;]+)", result.session.machine)
    return match[1] if match else ""


def conditions(a: Side, b: Side) -> tuple[str, ...]:
    """What the verdicts on two counts depend on besides the kernels."""
    return (*_processors(a, b), *_mitigations(a, b))


def _processors(a: Side, b: Side) -> tuple[str, ...]:
    models = {side.name: " and ".join(sorted({processor(result) for result in side.results} - {""})) for side in (a, b)}
    model, *others = dict.fromkeys(models.values())
    if not all(models.values()):  # not known, or nothing was measured
        return ()
    return (PROCESSOR.format(f"{model} ({a.name}) and {others[0]} ({b.name})" if others else model),)


def _mitigations(a: Side, b: Side) -> tuple[str, ...]:
    """A condition if the kernels' command lines switch mitigations differently."""
    sides = [sorted({_switches(result.session.command_line) for result in side.results}) for side in (a, b)]
    if sides[0] == sides[1] or not all(sides):
        return ()
    models = sorted({cpu for result in (*a.results, *b.results) if (cpu := processor(result)).startswith("max")})
    hardly = NOT_AFFECTED.format(" and ".join(models)) if models else ""
    shown = [", ".join(switches or "default" for switches in lines) for lines in sides]
    return (MITIGATIONS.format(" | ".join(shown), hardly),)


def _switches(command_line: str) -> str:
    return " ".join(word for word in command_line.split() if word.partition("=")[0] in SWITCHES.split())


def stand_ins(sides: Iterable[tuple[str, Sequence[Result]]], floors: Floors) -> tuple[str, ...]:
    """A remark on the sides, each a name and its results, that use other kernels' layout floors."""
    names = [name for name, results in sides if any(result.session.image in floors.lacking for result in results)]
    if not names:
        return ()
    others = (
        "another kernel's stands" if floors.others == 1 else f"the largest of {floors.others} other kernels' stands"
    )
    return (f"layout floors: {others} in for {' and '.join(names)}",)


def _told_apart(a: Side, b: Side) -> str:
    """The differences between two sides, besides the kernel, that can move counts; "" if none is known."""
    sessions = [result.session for result in (*a.results, *b.results)]
    parts = (
        ("rows shared a guest, and began from what others had left", any(not session.state for session in sessions)),
        ("some were restored and some booted", len({session.state for session in sessions if session.state}) > 1),
        ("its console got its input at other moments", any(session.state == "typed" for session in sessions)),
        ("memory, seed or history differ", len({session.machine for session in sessions}) > 1),
        ("the probe's seeds differ", len({session.seed for session in sessions}) > 1),
    )
    return ", ".join(words for words, so in parts if so)


def _same_layout(a: Side, b: Side) -> bool:
    """Whether only code differs between the two kernels, and all rows began from the same state."""
    kinds = set()
    for result in (*a.results, *b.results):
        session = result.session
        kinds.add((session.layout, session.board, session.command_line, *result.probe))
    return len(kinds) == 1 and kinds.pop()[0] != "" and not _told_apart(a, b)


def _row(row: str, a: Side, b: Side, delta: float, floors: Floors, itself: str | None) -> RowComparison:
    comparison, _, _, comparable = begun(row, a, b)
    if not comparable:
        return comparison
    of_a, of_b = (_together(side.figures_of(row)) for side in (a, b))
    comparison = replace(
        comparison, exact=of_a.exact and of_b.exact, by_mean=bool(of_a.levels or of_b.levels), a=of_a, b=of_b
    )
    if of_a.unit == "count":
        floors, itself = Floors({row: 0.0}), None  # no instructions: where code lies does not matter
    costs = comparison.costs
    if costs is None:
        return comparison
    comparison = replace(comparison, ratio=costs[1] / costs[0])
    spread = max(_own_spread(side.figures_of(row), by_mean=comparison.by_mean) for side in (a, b))
    unlike = not alike_levels(of_a.levels, of_b.levels, delta)
    return floored(comparison, costs[1] / costs[0], spread, delta, floors, itself, unlike=unlike)


def _together(figures: Sequence[RowFigure]) -> RowFigure:
    """The figure of one side's sessions: the lower medians of what they counted."""
    cost = median_low([figure.cost for figure in figures if figure.cost is not None])
    mean = median_low([figure.mean for figure in figures if figure.mean is not None] or [cost])
    levels = next((figure.levels for figure in figures if figure.levels), ())
    exact = _own_spread(figures, by_mean=False) == 0
    # what is not named here, nor by with_values, stays the first session's
    made = replace(figures[0], cost=cost, low=None, high=None, exact=exact, mean=mean, levels=levels)
    return with_values(made, 0.0)


def floored(
    row: RowComparison,
    ratio: float,
    spread: float,
    delta: float,
    floors: Floors,
    itself: str | None,
    *,
    unlike: bool,
) -> RowComparison:
    """Judges by the floor (at least the counts' own spread) in place of an interval's half width. `itself`: not None:
    both sides are one kernel, with these differences, and the row stays undecided. `unlike`: the two sides have
    different levels, so that equal means are not enough."""
    if itself is not None and ratio == 1:
        return replace(row, verdict=Verdict.EQUIVALENT, notes=("equal counts", *row.notes))
    known, default = (floors.means, DEFAULT_MEANS_FLOOR) if row.by_mean else (floors.rows, DEFAULT_LAYOUT_FLOOR)
    stated = known.get(row.row)
    floor = max(default if stated is None else stated, spread)
    notes = () if stated is not None else (f"layout floor not measured, taken as {100 * default:.3g} %",)
    if itself is not None:
        notes = (f"the same kernel counts differently{f': {itself}' if itself else ''}", *notes)
    if row.by_mean:
        notes = (MEANS, *notes)
    row = replace(row, notes=(*notes, *row.notes), floor=floor)
    away, half = abs(math.log(ratio)), math.log1p(floor)
    within = ratio == 1 or away + half <= math.log1p(delta)
    if within and unlike:
        return replace(row, smallest=floor, notes=("equal means of unlike levels", *row.notes))
    if within:
        return replace(row, verdict=Verdict.EQUIVALENT)
    if away <= half:
        return replace(row, smallest=floor, notes=("below the layout floor", *row.notes))
    if itself is not None:
        return replace(row, smallest=math.expm1(away))
    return replace(row, verdict=Verdict.SLOWER if ratio > 1 else Verdict.FASTER)


def _own_spread(figures: Sequence[RowFigure], *, by_mean: bool) -> float:
    """The relative spread of one side's counts, over its sessions and the runs within them."""
    if by_mean:
        costs = [figure.mean for figure in figures if figure.mean]
    else:
        costs = [run.cost for figure in figures for run in figure.runs if run.cost > 0]
    return max(costs) / min(costs) - 1 if costs else 0.0
