"""Results as flat tables for other programs: one line per row, run or sample. Pure.

docs/format.md documents the columns. New columns are only added at the end.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from kernometer.results.model import Counting, Result, Run, Workload
from kernometer.results.rows import Row, in_registry_order
from kernometer.stats.curves import curves
from kernometer.stats.model import RowFigure, RunFigure
from kernometer.text import printable

Per = Literal["row", "run", "sample"]
Cell = str | int | float | bool | None
Line = dict[str, Cell]

_SESSION = ("result", "label", "target", "by", "profile", "started", "kernel", "host", "experiment", "side")
COLUMNS: dict[Per, tuple[str, ...]] = {
    "row": (
        *_SESSION,
        *("row", "workload", "params", "status", "note", "per", "unit", "better", "value", "value_low", "value_high"),
        *("cost", "cost_low", "cost_high", "gross", "baseline", "runs", "samples", "flags"),
        *("curve", "x", "iterations", "happened", "claimed", "hardware", "exact", "mean", "kernel_part", "levels"),
    ),
    "run": (
        *_SESSION,
        *("row", "workload", "params", "run", "block", "per", "cost", "gross", "baseline", "samples", "warmup"),
        *("seconds", "batch", "ops", "bytes", "iterations", "resolution_ns", "stopped", "cpu", "peer_cpu"),
        *("involuntary", "migrated", "meter"),
    ),
    "sample": ("result", "row", "run", "block", "sample", "raw", "batch", "ops", "involuntary", "migrated"),
}

#: Characters that begin a formula in a spreadsheet.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def lines(result: Result, figures: Mapping[str, RowFigure], per: Per) -> Iterator[Line]:
    """The lines of one result, with exactly the keys of COLUMNS[per], in its order."""
    if per == "sample":
        yield from _samples(result)
        return
    made = _rows(result, figures) if per == "row" else _runs(result, figures)
    session = _session(result)
    for line in made:
        yield {column: (session | line)[column] for column in COLUMNS[per]}


def guarded(cell: Cell) -> Cell:
    """A cell for CSV that neither controls a terminal nor is a formula in a spreadsheet."""
    if not isinstance(cell, str):
        return cell
    return ("'" if cell.startswith(_FORMULA) else "") + printable(cell)


def _session(result: Result) -> Line:
    session = result.session
    uname = result.header.uname if result.header else {}
    return {
        "result": session.id,
        "label": session.label,
        "target": session.target,
        "by": session.by,
        "profile": session.profile,
        "started": _iso(session.started),
        "kernel": f"{uname.get('sysname', '')} {uname.get('release', '')}".strip(),
        "host": uname.get("nodename", ""),
        "experiment": session.experiment,
        "side": session.side,
    }


def _rows(result: Result, figures: Mapping[str, RowFigure]) -> Iterator[Line]:
    """Measured rows, then failed rows without a figure, then rows that this platform does not support."""
    failed = {failure.row: failure.text for failure in reversed(result.failures)}
    places = {point.row: (of.name, point.x) for of in curves(figures, result.workloads) for point in of.points}
    counted = result.counted()
    for row in in_registry_order((result,), figures):
        curve, x = places.get(row, ("", None))
        yield _row(figures[row], failed.get(row, "")) | _counted(counted[row][0]) | {"curve": curve, "x": x}
    without = [(row, "failed", text) for row, text in reversed(failed.items())]
    without += [(one.row, "unsupported", one.reason) for one in result.unsupported]
    for row, status, note in without:
        if row not in figures:
            yield _no_figure(row, status, note, result.workloads.get(Row(row).workload))


def _row(figure: RowFigure, note: str) -> Line:
    return {
        "row": figure.row,
        "workload": figure.workload,
        "params": _json(figure.params),
        "status": "measured" if figure.value is not None else "no figure",
        "note": note,
        "per": figure.per,
        "unit": figure.unit,
        "better": figure.better,
        "value": figure.value,
        "value_low": figure.value_low,
        "value_high": figure.value_high,
        "cost": figure.cost,
        "cost_low": figure.low,
        "cost_high": figure.high,
        "gross": figure.gross,
        "baseline": figure.baseline,
        "runs": len(figure.runs),
        "samples": sum(run.samples for run in figure.runs),
        "flags": " ".join(dict.fromkeys(flag.code.value for flag in figure.flags)),
        "exact": figure.exact,
        "mean": figure.mean,
        "kernel_part": figure.kernel_part,
        "levels": json.dumps([[level.cost, level.share] for level in figure.levels]) if figure.levels else "",
    }


def _counted(of: Counting | Run) -> Line:
    """Events of all iterations, claims of one iteration, and hardware counts of one iteration."""
    return {
        "iterations": of.iterations,
        "happened": _json(of.happened),
        "claimed": _json(of.claimed),
        "hardware": _json(of.hardware),
    }


def _no_figure(row: str, status: str, note: str, defined: Workload | None) -> Line:
    """A row without a figure: its definition, if the result has one."""
    params = {one.row: one.params for one in defined.rows}.get(row, {}) if defined else {}
    known: Line = {
        "row": row,
        "workload": Row(row).workload,
        "status": status,
        "note": note,
        "params": _json(params),
        "curve": "",
        "flags": "",
    }
    if defined is not None:
        known |= {"per": defined.per, "unit": defined.unit, "better": defined.better}
    return dict.fromkeys(COLUMNS["row"][len(_SESSION) :]) | {"runs": 0, "samples": 0} | known


def _runs(result: Result, figures: Mapping[str, RowFigure]) -> Iterator[Line]:
    """The runs in their order. A run without a usable figure has only its record's values."""
    of_run = {(row, run.run, run.block): run for row, figure in figures.items() for run in figure.runs}
    for run in result.runs:
        if run.row in figures:
            yield _run(run, figures[run.row].per, of_run.get((run.row, run.run, run.block)))


def _run(run: Run, per: str, figure: RunFigure | None) -> Line:
    return {
        "row": run.row,
        "workload": run.workload,
        "params": _json(run.params),
        "run": run.run,
        "block": run.block,
        "per": per,
        "cost": figure.cost if figure else None,
        "gross": figure.gross if figure else None,
        "baseline": figure.baseline if figure else None,
        "samples": len(run.samples),
        "warmup": figure.warmup if figure else None,
        "seconds": run.seconds,
        "batch": run.batch,
        "ops": run.ops,
        "bytes": run.bytes,
        "iterations": run.iterations,
        "resolution_ns": run.resolution_ns,
        "stopped": run.stopped,
        "cpu": run.cpu,
        "peer_cpu": run.peer_cpu,
        "involuntary": sum(count for _, count in run.involuntary),
        "migrated": len(run.migrated),
        "meter": _json(run.meter),
    }


def _samples(result: Result) -> Iterator[Line]:
    for run in result.runs:
        involuntary, migrated = dict(run.involuntary), frozenset(run.migrated)
        for number, raw in enumerate(run.samples):
            yield {
                "result": result.session.id,
                "row": run.row,
                "run": run.run,
                "block": run.block,
                "sample": number,
                "raw": raw,
                "batch": run.batch,
                "ops": run.ops,
                "involuntary": involuntary.get(number, 0),
                "migrated": number in migrated,
            }


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _iso(seconds: float) -> str:
    """2026-11-21T07:30:12Z; "" for a time outside the calendar."""
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    except (OverflowError, OSError, ValueError):
        return ""
