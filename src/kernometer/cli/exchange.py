"""`kernometer export` and `kernometer import`: results for other programs, of other stores and of other suites."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from kernometer.cli.env import Env
from kernometer.cli.progress import counted
from kernometer.errors import ResultError, UsageError
from kernometer.report.store.export import COLUMNS, Line, Per, lines, write_parquet
from kernometer.report.write.document import write_csv
from kernometer.report.write.file import complete_file
from kernometer.results.archive import is_archive
from kernometer.results.compressed import chunks
from kernometer.results.imported import MAX_BYTES, publications
from kernometer.results.store import merge, read_file, results_in
from kernometer.results.writer import SUFFIX, Kept, is_result
from kernometer.stats.figures import figures
from kernometer.text import printable


def export(
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


#: How many lines that were not read are printed; 'show' has the others.
SHOWN = 5


def import_(env: Env, files: tuple[Path, ...], label: str, command: str) -> None:
    stores = [path for path in files if path.is_dir() or is_result(path.name) or is_archive(path.name)]
    if stores and (label or command):
        raise UsageError(f"{stores[0]} has labels of its own.", "Leave --label and --command out.")
    for path in files:
        if path not in stores:
            _of_suite(env, path, label, command)
    lost = sum(_merge(env, path) for path in stores)
    if lost:
        raise ResultError(f"{lost:,} results were not taken; the others are here.", "Each has its reason above.")


def _merge(env: Env, source: Path) -> int:
    """Copies the results of `source`; returns how many were not taken."""
    store = env.store()
    files = results_in(source)
    if not files:
        raise ResultError(f"There is no result in {source}.", f"Give a directory with *{SUFFIX} files.")
    kept: Counter[Kept] = Counter()
    lost = 0
    with counted(env, len(files), "results") as tick:
        for copied in merge(store.writable(), files):
            tick()
            if copied.kept is None:
                lost += 1
                env.say(printable(f"{copied.source}: not taken: {copied.problem}", 400))
            else:
                kept[copied.kept] += 1
    parts = [f"{kept[kind]:,} {kind.value}" for kind in Kept] + ([f"{lost:,} not taken"] if lost else [])
    env.print(printable(f"{source}: {', '.join(parts)}"))
    return lost


def _of_suite(env: Env, path: Path, label: str, command: str) -> None:
    store = env.store()
    try:
        data, written = b"".join(chunks(path, MAX_BYTES + 1)), path.stat().st_mtime
    except OSError as error:
        raise ResultError(f"{path} cannot be read: {error.strerror}.", "Give a file that a suite wrote.") from error
    runs = publications(data, str(path), label, command, max(0.0, written))
    for run in runs:
        kept, paper = store.keep(run), run.paper
        ours = sum(bool(figure.ours) for figure in run.figures)
        what = f"{paper.title}, {len(run.figures)} figures, {ours} with the definition of a row of ours"
        which = f"; {paper.label or 'one run of the file'}: {paper.systems[0].name}" if len(runs) > 1 else ""
        env.print(f"{kept.stem}: {what}{which}")
        for note in paper.notes:
            env.say(f"  {note}")
        for line in paper.left_out[:SHOWN]:
            env.say(f"  not read: {line}")
        if len(paper.left_out) > SHOWN:
            env.say(f"  and {len(paper.left_out) - SHOWN} more: kernometer show {kept.stem}")
