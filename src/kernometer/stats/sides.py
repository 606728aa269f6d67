"""The two sides of a comparison and their rows, failed ones included. docs/statistics.md, "Verdicts"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from kernometer.results.model import Result
from kernometer.results.rows import Row
from kernometer.stats.core import Core
from kernometer.stats.differences import differences
from kernometer.stats.figures import pooled
from kernometer.stats.history import Entry, Grain, entry, unit_key, unit_logs
from kernometer.stats.model import Comparison, FlagCode, RowComparison, RowFigure, Verdict
from kernometer.stats.verdict import ratio
from kernometer.text import some

#: How a comparison was made; "imported": of other suites' files.
Method = Literal["ab", "compare", "path", "imported"]
#: Characters of a failure's text, which comes from a machine.
TEXT_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Side:
    """All results of one side, with the figures of each."""

    name: str
    results: tuple[Result, ...]
    entries: tuple[Entry, ...]

    def figures_of(self, row: str) -> list[RowFigure]:
        """The row's figures in the sessions that have one."""
        return [entry.figures[row] for entry in self.entries if row in entry.figures]

    @property
    def tried(self) -> dict[str, None]:
        """Rows that were measured, failed, or are unsupported here; in the order of the results."""
        measured = dict.fromkeys(row for entry in self.entries for row in entry.figures)
        return tried(self.results) if self.results else measured

    def missing(self, row: str) -> tuple[Verdict, str]:
        """Why this side has no figure of a row that was tried: it failed, or is not there."""
        for result in self.results:
            for failure in result.failures:
                if failure.row == row:
                    return Verdict.FAILED, f"failed on {self.name}: {failure.text[:TEXT_LIMIT]}"
        for result in self.results:
            for unsupported in result.unsupported:
                if unsupported.row == row:
                    return Verdict.NOT_THERE, f"unsupported on {self.name}: {unsupported.reason[:TEXT_LIMIT]}"
        return Verdict.FAILED, f"no run on {self.name}"

    def partly(self, row: str) -> tuple[str, ...]:
        """Notes on sessions in which the row failed or has no cost."""
        failed = sum(any(failure.row == row for failure in result.failures) for result in self.results)
        silent = sum(figure.cost is None for figure in self.figures_of(row))
        told = ((failed, "failed at least once"), (silent, "no cost"))
        return tuple(f"{what} in {n} of {len(self.results)} sessions of {self.name}" for n, what in told if n)


def tried(results: Sequence[Result]) -> dict[str, None]:
    """As Side.tried."""
    names: dict[str, None] = {}
    for result in results:
        names |= dict.fromkeys(result.rows)
        names |= dict.fromkeys(failure.row for failure in result.failures)
        names |= dict.fromkeys(unsupported.row for unsupported in result.unsupported)
    return names


def side(name: str, results: Sequence[Result], core: Core | None = None, quantile: float | None = None) -> Side:
    """`core`: for an `ab`, the state of the core over both sides. `quantile`: what is judged; None: the median."""
    return Side(name, tuple(results), tuple(entry(result, core, quantile) for result in results))


def rows_of(a: Side, b: Side) -> tuple[str, ...]:
    """Rows that both sides tried, in A's order, without rows unsupported on both. one_sided_remark names the others."""
    lacking = [{lack.row for result in side.results for lack in result.unsupported} for side in (a, b)]
    on_b = b.tried
    return tuple(row for row in a.tried if row in on_b and not (row in lacking[0] and row in lacking[1]))


def one_sided_remark(a: Side, b: Side) -> tuple[str, ...]:
    """A remark on rows that only one side was asked for: nothing failed, but they cannot be compared."""
    remarks = []
    for side, other in ((a, b), (b, a)):
        there = other.tried
        alone = [row for row in side.tried if row not in there]
        if alone:
            remarks.append(f"measured on {side.name} only, and left out: {some(alone)}")
    return tuple(remarks)


class Begun(NamedTuple):
    """A row of both sides before it is judged."""

    row: RowComparison
    logs_a: list[float]  #: of the units' costs; empty without a cost
    logs_b: list[float]
    comparable: bool  #: if not, the row has its verdict and the reason already


def begun(row: str, a: Side, b: Side, grain: Grain = Grain.SESSION) -> Begun:
    figures_a, figures_b = a.figures_of(row), b.figures_of(row)
    key = unit_key(grain, (*a.entries, *b.entries))
    logs_a, logs_b = (unit_logs(side.entries, row, key) for side in (a, b))
    some = (*figures_a, *figures_b)
    comparison = RowComparison(
        row=row,
        workload=some[0].workload if some else Row(row).workload,
        verdict=Verdict.UNDECIDED,
        units_a=len(logs_a),
        units_b=len(logs_b),
        a=pooled(figures_a, [ratio(log) for log in logs_a]) if figures_a else None,
        b=pooled(figures_b, [ratio(log) for log in logs_b]) if figures_b else None,
        notes=(*_conditions_differ(figures_a, figures_b), *a.partly(row), *b.partly(row)),
    )
    without = without_ratio(row, a, b)
    if without is not None:
        comparison = replace(comparison, verdict=without[0], notes=without[1])
    return Begun(comparison, logs_a, logs_b, without is None)


def _conditions_differ(a: Sequence[RowFigure], b: Sequence[RowFigure]) -> tuple[str, ...]:
    """The conditions of the row's figure that differ between the sides: `governor: powersave | …`."""
    names = dict.fromkeys(name for figure in (*a, *b) for name in figure.conditions)
    notes = []
    for name in names if a and b else ():
        values = [sorted({figure.conditions.get(name, "not told") for figure in side}) for side in (a, b)]
        if values[0] != values[1] or len(values[0]) > 1:
            notes.append(f"{name}: {' | '.join(', '.join(side)[:TEXT_LIMIT] for side in values)}")
    return tuple(notes)


def without_ratio(row: str, a: Side, b: Side) -> tuple[Verdict, tuple[str, ...]] | None:
    """Verdict and notes of a row without a cost on a side, or with two definitions; None if its costs compare."""
    missing = [side.missing(row) for side in (a, b) if not side.figures_of(row)]
    if missing:
        failed = any(verdict is Verdict.FAILED for verdict, _ in missing)
        return Verdict.FAILED if failed else Verdict.NOT_THERE, tuple(why for _, why in missing)
    revisions = [sorted({figure.revision for figure in side.figures_of(row)}) for side in (a, b)]
    if revisions[0] != revisions[1] or len(revisions[0]) > 1:
        in_a, in_b = (" and ".join(map(str, numbers)) for numbers in revisions)
        changed = f"revision {in_a} on {a.name}, {in_b} on {b.name}"
        return Verdict.UNDECIDED, (f"the row's definition or protocol changed: {changed}",)
    silent = [side for side in (a, b) if all(figure.cost is None for figure in side.figures_of(row))]
    if not silent:
        return None
    few = [
        f"{side.name}: {flag.detail}"
        for side in silent
        for flag in dict.fromkeys(flag for figure in side.figures_of(row) for flag in figure.flags)
        if flag.code is FlagCode.FEW_SAMPLES
    ]
    if few:
        return Verdict.UNDECIDED, tuple(few)
    codes = {side.name: {flag.code for figure in side.figures_of(row) for flag in figure.flags} for side in silent}
    broken = [name for name, told in codes.items() if FlagCode.BELOW_RESOLUTION not in told]
    if broken:
        return Verdict.FAILED, (f"no run could be used on {' and '.join(broken)}",)
    return Verdict.UNDECIDED, (f"below the clock's resolution on {' and '.join(side.name for side in silent)}",)


def disturbance_remark(rows: Sequence[RowComparison], name_a: str, name_b: str) -> tuple[str, ...]:
    """A remark on rows with disturbed runs, which count like all others."""
    remarks = []
    for name, figures in ((name_a, [row.a for row in rows]), (name_b, [row.b for row in rows])):
        count = sum(f is not None and any(flag.code is FlagCode.DISTURBED for flag in f.flags) for f in figures)
        if count:
            remarks.append(f"{name}: {count} of {len(rows)} rows have disturbed runs; they count like all others")
    return tuple(remarks)


def compared(
    a: Side,
    b: Side,
    method: Method,
    delta: float,
    rows: tuple[RowComparison, ...],
    remarks: Sequence[str],
    conditions: tuple[str, ...] = (),
) -> Comparison:
    """The judged rows with the facts of the sides, and with remarks on rows left out and disturbed."""
    same, differs = differences(a.results, b.results)
    disturbed = () if method == "path" else disturbance_remark(rows, a.name, b.name)
    remarks = (*remarks, *one_sided_remark(a, b), *disturbed)
    return Comparison(a.name, b.name, method, delta, rows, same, differs, remarks, conditions)
