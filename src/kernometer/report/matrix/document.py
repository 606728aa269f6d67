"""The matrix as one JSON document, for other programs: docs/matrix.md, "As JSON"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kernometer.explain import factorial
from kernometer.explain.functions import Breakdown, difference, newest
from kernometer.explain.machines import study
from kernometer.report.explanation.boundaries import document as boundaries_document
from kernometer.report.explanation.boundaries import of_columns
from kernometer.report.explanation.machines import document as study_document
from kernometer.report.explanation.switches import document as factorial_document
from kernometer.report.matrix.measures import by_system
from kernometer.report.profile.functions import difference_document
from kernometer.report.session import memory
from kernometer.report.session.absolute import family
from kernometer.report.words.curves import definitions, rows_document
from kernometer.report.write.document import pick
from kernometer.stats.counters import counted
from kernometer.stats.figures import INSTRUCTIONS, Counted
from kernometer.stats.model import RowComparison, RowFigure
from kernometer.stats.series import Change, Column, Series

#: The fields of a comparison's row.
_CELL = ("ratio", "low", "high", "p_adjusted", "floor", "exact", "by_mean", "smallest", "sessions_missing", "notes")


def document(matrix: Series, counted_in: Counted = INSTRUCTIONS) -> str:
    """The whole matrix; strings are not made printable. `counted_in`: what boundaries and switches are priced in."""
    of_settings, of_machines = factorial.of_results(matrix.results, counted_in), study(matrix.results)
    others = [column for column in matrix.columns if column.name != matrix.baseline]
    profiles = {column.name: newest(column.results) for column in matrix.columns}
    processor, systems = by_system(matrix)
    made = {
        "by": matrix.results[0].session.by,
        "baseline": matrix.baseline,
        "processor": processor.name if processor else None,
        "delta": next(iter(matrix.comparisons.values())).delta,
        "systems": [_system(column) for column in matrix.columns],
        "rows": [
            {
                "row": row,
                "family": family(row)[0],
                "unit": figure.unit if (figure := matrix.figures.get(row)) else "",
                "value": figure.value if figure else None,
                **_parts(figure),
                "cells": {column.name: _cell(matrix.cell(row, column.name)) for column in others},
                "modelled": {name: memory.document(rows[row]) for name, rows in systems.items() if row in rows},
                "counters": counted(row, {column.name: column.results for column in matrix.columns}),
            }
            for row in matrix.rows
        ],
        "curves": rows_document(matrix.rows, definitions(matrix.results)),
        "boundaries": boundaries_document(of_columns(matrix, counted_in)),
        "factorial": factorial_document(of_settings) if of_settings else None,
        "machines": study_document(of_machines) if of_machines else None,
        "changes": [_change(change, profiles) for change in matrix.changes],
        "conditions": list(
            dict.fromkeys(text for comparison in matrix.comparisons.values() for text in comparison.conditions)
        ),
        "remarks": list(
            dict.fromkeys(remark for comparison in matrix.comparisons.values() for remark in comparison.remarks)
        ),
    }
    return msgspec.json.format(msgspec.json.encode(made), indent=1).decode()


def _system(column: Column) -> dict[str, Any]:
    first = column.results[0] if column.results else None
    return {
        **pick(column, "name", "aside", "failure"),
        "sessions": [result.session.id for result in column.results],
        "kernel": first.kernel if first is not None else "",
        "image": first.session.image if first is not None else "",
        "machine": first.session.machine if first is not None else "",
        "command_line": first.session.command_line if first is not None else "",
    }


def _cell(row: RowComparison | None) -> dict[str, Any] | None:
    """None if the row was not measured on both."""
    if row is None:
        return None
    value = {"value": row.b.value if row.b is not None else None, **_parts(row.b)}
    return {"verdict": row.verdict.value, **value, **pick(row, *_CELL)}


def _parts(figure: RowFigure | None) -> dict[str, Any]:
    """By path: levels, their mean, and the kernel's part."""
    return {key: getattr(figure, key, None) for key in ("levels", "mean", "kernel_part")}


def _change(change: Change, profiles: Mapping[str, Mapping[str, Breakdown]]) -> dict[str, Any]:
    return {
        **pick(change, "row", "longer"),
        "total": _cell(change.total),
        "since": change.since,
        "steps": [
            {
                **pick(step, "before", "after"),
                **(_cell(step.row) or {}),
                "events": dict(step.events),
                "functions": difference_document(changed) if changed else None,
            }
            for step in change.steps
            for changed in (difference(*(profiles[side].get(change.row) for side in (step.before, step.after))),)
        ],
    }
