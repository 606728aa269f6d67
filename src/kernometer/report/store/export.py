"""Results as flat tables for other programs: one line per row, run or sample. Pure.

docs/format.md documents the columns. New columns are only added at the end.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import IO, Any, Literal

from kernometer.errors import LibraryError
from kernometer.report.write.document import Cell
from kernometer.results.model import Counting, Result, Run, Workload
from kernometer.results.rows import Row, in_registry_order
from kernometer.stats.curves import curves
from kernometer.stats.model import RowFigure, RunFigure

Per = Literal["row", "run", "sample"]
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


#: Lines in memory, and in one row group of a file.
GROUP_LINES = 1 << 17

_INTEGERS = frozenset({"run", "block", "sample", "raw", "batch", "samples", "runs", "warmup", "iterations", "cpu"})
_INTEGERS |= {"peer_cpu", "involuntary"}
_FLOATS = frozenset({"value", "value_low", "value_high", "cost", "cost_low", "cost_high", "gross", "baseline", "x"})
_FLOATS |= {"seconds", "ops", "bytes", "resolution_ns", "mean", "kernel_part"}


def lines(result: Result, figures: Mapping[str, RowFigure], per: Per) -> Iterator[Line]:
    """The lines of one result, with exactly the keys of COLUMNS[per], in its order."""
    if per == "sample":
        yield from _samples(result)
        return
    made = _rows(result, figures) if per == "row" else _runs(result, figures)
    session = _session(result)
    for line in made:
        yield {column: (session | line)[column] for column in COLUMNS[per]}


def _session(result: Result) -> Line:
    session = result.session
    return {name: getattr(session, name, None) for name in _SESSION} | {
        "result": session.id,
        "started": _iso(session.started),
        "kernel": result.kernel,
        "host": result.uname.get("nodename", ""),
    }


def _rows(result: Result, figures: Mapping[str, RowFigure]) -> Iterator[Line]:
    """Measured rows, then failed rows without a figure, then rows that this platform does not support."""
    failed = {failure.row: failure.text for failure in reversed(result.failures)}
    places = {point.row: (along.name, point.x) for along in curves(figures, result.workloads) for point in along.points}
    counted = result.counted()
    for row in in_registry_order((result,), figures):
        curve, x = places.get(row, ("", None))
        yield _row(figures[row], failed.get(row, "")) | _counted(counted[row][0]) | {"curve": curve, "x": x}
    without = [(row, "failed", text) for row, text in reversed(failed.items())]
    without += [(lacking.row, "unsupported", lacking.reason) for lacking in result.unsupported]
    for row, status, note in without:
        if row not in figures:
            yield _no_figure(row, status, note, result.workloads.get(Row(row).workload))


def _row(figure: RowFigure, note: str) -> Line:
    known = {name: getattr(figure, name) for name in COLUMNS["row"] if hasattr(figure, name)}
    return known | {
        "params": _json(figure.params),
        "status": "measured" if figure.value is not None else "no figure",
        "note": note,
        "cost_low": figure.low,
        "cost_high": figure.high,
        "runs": len(figure.runs),
        "samples": sum(run.samples for run in figure.runs),
        "flags": " ".join(dict.fromkeys(flag.code.value for flag in figure.flags)),
        "levels": json.dumps([[level.cost, level.share] for level in figure.levels]) if figure.levels else "",
    }


def _counted(counted: Counting | Run) -> Line:
    """Events of all iterations, claims of one iteration, and hardware counts of one iteration."""
    return {
        "iterations": counted.iterations,
        "happened": _json(counted.happened),
        "claimed": _json(counted.claimed),
        "hardware": _json(counted.hardware),
    }


def _no_figure(row: str, status: str, note: str, defined: Workload | None) -> Line:
    """A row without a figure: its definition, if the result has one."""
    params = {info.row: info.params for info in defined.rows}.get(row, {}) if defined else {}
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
    known = {name: getattr(run, name) for name in COLUMNS["run"] if hasattr(run, name)}
    of_figure = {name: getattr(figure, name, None) for name in ("cost", "gross", "baseline", "warmup")}
    return {
        **known,
        **of_figure,
        "params": _json(run.params),
        "per": per,
        "samples": len(run.samples),
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
                **{name: getattr(run, name) for name in ("row", "run", "block")},
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


def write_parquet(out: IO[bytes], lines: Iterator[Line], per: Per) -> None:
    """As a Parquet file, for R and pandas: all columns nullable, text, 64-bit integers and floats, truth values. Raises
    LibraryError without pyarrow."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise LibraryError("--parquet", "pyarrow", "parquet") from error
    types = {"text": pa.string(), "integer": pa.int64(), "float": pa.float64(), "truth": pa.bool_()}
    schema = pa.schema([(column, types[_kind(column, per)]) for column in COLUMNS[per]])
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        while group := [*islice(lines, GROUP_LINES)]:
            writer.write_table(pa.Table.from_pylist(group, schema), row_group_size=GROUP_LINES)


def _kind(column: str, per: Per) -> str:
    if column == "exact" or (column, per) == ("migrated", "sample"):
        return "truth"
    if column in _INTEGERS or column == "migrated":
        return "integer"
    return "float" if column in _FLOATS else "text"
