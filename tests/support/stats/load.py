"""Open load on two systems, simulated."""

from __future__ import annotations

from kernometer.stats.curves import Curve, curves
from kernometer.stats.model import RowComparison, RowFigure, Verdict
from tests.support.results import make

WORKLOADS = {"load/many": make.workload("load/many", curve="users")}
SLOWER, FASTER, EQUAL, OPEN = Verdict.SLOWER, Verdict.FASTER, Verdict.EQUIVALENT, Verdict.UNDECIDED


def figure(row: str, value: float | None, half: float | None, better: str) -> RowFigure:
    low, high = (None, None) if value is None or half is None else (value - half, value + half)
    return RowFigure(row, "load/many", {}, "1/s", "job", better, value=value, value_low=low, value_high=high)


def load(*values: float | None, half: float | None = 1.0, better: str = "higher") -> Curve[RowFigure]:
    """Jobs a second by 1, 2, 4, … users."""
    rows = {f"load/many@users={1 << i}": value for i, value in enumerate(values)}
    (curve,) = curves({row: figure(row, value, half, better) for row, value in rows.items()}, WORKLOADS)
    return curve


def compared(*points: tuple[Verdict, float | None]) -> Curve[RowComparison]:
    made = {
        f"load/many@users={1 << i}": RowComparison(f"r{i}", "load/many", verdict, ratio)
        for i, (verdict, ratio) in enumerate(points)
    }
    (curve,) = curves(made, WORKLOADS)
    return curve
