"""`kernometer export`: results for other programs."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from kernometer.cli.env import Env
from kernometer.errors import UsageError
from kernometer.report.store.export import COLUMNS, Line, Per, lines, write_parquet
from kernometer.report.write.document import write_csv
from kernometer.report.write.file import complete_file
from kernometer.results.store import read_file
from kernometer.stats.figures import figures


def command(
    env: Env,
    names: tuple[str, ...],
    as_csv: bool,
    as_json: bool,
    as_parquet: bool,
    per: Per,
    samples: bool,
    output: Path | None,
) -> None:
    if as_csv + as_json + as_parquet != 1:
        raise UsageError("Exactly one of three formats is needed.", "Give --csv, --json or --parquet.")
    if as_parquet and output is None:
        raise UsageError("A Parquet file cannot be printed.", "Name a file: -o FILE.")
    per = "sample" if samples else per
    store = env.store()
    paths = dict.fromkeys(path for name in names for path in store.resolve_set(name))
    lines = _lines(list(paths), per)
    form = _write_csv if as_csv else _write_json
    if output is None:
        form(env.out, lines, per)
        return
    with complete_file(output, "table") as file:
        if as_parquet:
            write_parquet(file, lines, per)
            return
        out = io.TextIOWrapper(file, "utf-8", newline="")
        form(out, lines, per)
        out.detach()


def _lines(paths: list[Path], per: Per) -> Iterator[Line]:
    """One result after the other, so that only one is in memory."""
    for path in paths:
        result = read_file(path)
        yield from lines(result, figures(result) if per != "sample" else {}, per)


def _write_csv(out: TextIO, lines: Iterator[Line], per: Per) -> None:
    write_csv(out, COLUMNS[per], (line.values() for line in lines))


def _write_json(out: TextIO, lines: Iterator[Line], _per: Per) -> None:
    separator = "[\n"
    for line in lines:
        out.write(separator + json.dumps(line, ensure_ascii=True, allow_nan=False))
        separator = ",\n"
    out.write("[]\n" if separator == "[\n" else "\n]\n")
