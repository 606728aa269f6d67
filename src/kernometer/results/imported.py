"""From another suite's output to publications: figures, conditions, what these lack, and our rows of the same
definition (published/suites.toml). docs/published.md, "Imported results".

Output may come from anywhere: it gives publications within the model's limits, or a ResultError.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kernometer.errors import ResultError, UsageError
from kernometer.results.model import FORMAT, LARGEST, NAME_CHARACTERS, Paper, Publication, Published, Scale, System
from kernometer.results.papers import told_apart
from kernometer.results.suites import (
    documents,
    fio,
    lmbench,
    lmbench_summary,
    perf_bench,
    sel4bench,
    sysbench,
    unixbench,
)
from kernometer.results.suites.output import Figure, Output, moment, number
from kernometer.results.writer import new_session_id
from kernometer.tables import packaged
from kernometer.text import printable

MAX_BYTES = 16 << 20
MAX_FIGURES = 20_000
MAX_CONDITIONS = 100
MAX_RUNS = 100
#: So many lines that are not read are named; further ones are counted.
MAX_NAMED = 100
SYSTEM = "measured"
_KNOWN = (
    "Known are results, summaries and commands of lmbench, UnixBench's and sysbench's reports, perf bench, and JSON of "
    "hyperfine, pyperf, pytest-benchmark, google-benchmark, fio and sel4bench."
)


def publications(
    data: bytes, name: str, label: str = "", command: str = "", written: float = 0.0
) -> tuple[Publication, ...]:
    """The runs in the file `name`, one publication each: labelled `label-1`, … if there are several;
    runs of one column of a summary share their label.

    `command` is the perf bench that printed it, if the file does not name it; `written`: the file's own time, seconds
    since the epoch. Raises ResultError if it is not the output of a known suite, UsageError if the command is missing.
    """
    if len(data) > MAX_BYTES:
        raise ResultError(f"{name} is over {MAX_BYTES >> 20} MiB.", "Give a suite's results file.")
    suites = packaged("kernometer.published", "suites.toml")
    runs = _read(data, name, command, suites["perf bench"]["loops"])
    with_figures = [run for run in runs if run.figures]
    figures = sum(len(run.figures) for run in with_figures)
    if not with_figures or len(with_figures) > MAX_RUNS or figures > MAX_FIGURES:
        why = f"{name} contains {figures} figures of {runs[0].suite} in {len(with_figures)} runs"
        unread = [printable(line, 80) for run in runs for line in run.left_out[:3]][:3]
        step = (
            f"What is there and is not read: {'; '.join(unread)}." if unread and not with_figures else "Was it cut off?"
        )
        raise ResultError(f"{why}.", step)
    if len(with_figures) < len(runs):
        with_figures[0].left_out.append(f"runs in the same file that have no figure: {len(runs) - len(with_figures)}")
    columns = [run.column or str(place) for place, run in enumerate(with_figures)]
    places = {column: f"{label}-{place}" for place, column in enumerate(dict.fromkeys(columns), 1)}
    several = label and len(places) > 1
    if len(with_figures) == 1 and written and not _times(with_figures[0])[0]:
        with_figures[0].ended = written
        with_figures[0].notes.append("When it was measured follows from the time of its file.")
    return tuple(
        _publication(run, name, places[column] if several else label, suites[run.suite])
        for run, column in zip(with_figures, columns, strict=True)
    )


def _times(run: Output) -> tuple[float, float]:
    """When it was measured, and for how long; 0: not known."""
    known = [time for date in run.dates if (time := moment(date)) is not None and 0 < time < LARGEST]
    begin, end = (min(known), max(known)) if known else (0.0, 0.0)
    seconds = min(max(end - begin, run.seconds), LARGEST)
    return (begin, seconds) if begin else (max(0.0, run.ended - seconds), seconds)


def _publication(run: Output, name: str, label: str, rules: Mapping[str, Any]) -> Publication:
    said = [*run.conditions.items()][:MAX_CONDITIONS]
    units = msgspec.convert(rules["units"], dict[str, Scale])
    for unit in {figure.unit for figure in run.figures if figure.unit.startswith("sec for ")}:
        units[unit] = Scale(unit="ns", factor=1e9 / int(unit.split()[2]))
    figures = [_figure(figure, rules, units) for figure in run.figures if abs(number(figure.printed)) <= LARGEST]
    too_large = [f"{figure.row}: {figure.printed}" for figure in run.figures if abs(number(figure.printed)) > LARGEST]
    of_part = ([dict(said).get(key, "").strip() for key in rules[part]] for part in ("system", "machine"))
    system, machine = (" ".join(filter(None, words)) for words in of_part)
    started, seconds = _times(run)
    paper = Paper(
        format=FORMAT,
        name=new_session_id(),
        title=_name(f"{run.suite} {run.version}".strip()),
        authors=(),
        where=_name(name),
        machine=_name(machine),
        systems=(System(system=SYSTEM, name=_name(system)),),
        units=units,
        suite=run.suite,
        label=label,
        imported=time.time(),
        started=started,
        seconds=seconds,
        conditions={_name(key): _name(value) for key, value in said},
        lacks=tuple(rules["lacks"]),
        notes=tuple(run.notes),
        left_out=_named([*run.left_out, *too_large]),
    )
    return Publication(paper=paper, figures=told_apart(figures))


def _named(lines: Sequence[str]) -> tuple[str, ...]:
    more = [f"and more of this kind: {len(lines) - MAX_NAMED:,}"] if len(lines) > MAX_NAMED else []
    return (*(printable(" ".join(line.split()), 200) for line in lines[:MAX_NAMED]), *more)


def _figure(figure: Figure, rules: Mapping[str, Any], units: Mapping[str, Scale]) -> Published:
    scale, row = units.get(figure.unit), _name(figure.row)
    return Published(
        table=rules["table"],
        row=row,
        system=SYSTEM,
        printed=figure.printed,
        value=number(figure.printed),
        unit=_name(figure.unit),
        better="" if scale is None else "lower" if scale.unit in ("ns", "cycles") else "higher",
        ours=tuple(_meant(row, rules.get("same", {}))),
        differs=next(_meant(row, rules.get("differs", {})), ""),
        note=printable(figure.note, 1000),
        samples=figure.samples,
    )


def _meant(row: str, rules: Mapping[str, str]) -> Iterator[str]:
    """The table's entries for that row."""
    for pattern, text in rules.items():
        if match := re.fullmatch(pattern, row):
            yield text.format(**{key: value.lower() for key, value in match.groupdict().items()})


def _name(text: str) -> str:
    return printable(text[:NAME_CHARACTERS])[:NAME_CHARACTERS]


def _read(data: bytes, name: str, command: str, loops: Mapping[str, int]) -> Sequence[Output]:
    """Reads the output of any known suite, without a mail's marks of quotation."""
    plain = data.removeprefix(b"\xef\xbb\xbf")
    text = re.sub(r"^(?:> ?)+", "", plain.decode("utf-8", "replace").replace("\r\n", "\n"), flags=re.M)
    if command or perf_bench.BEGIN.search(text):
        return [perf_bench.read(text, command, loops)]
    if '"fio version"' in text:
        return [fio.read(text, name)]
    if text.lstrip().startswith("{"):
        return [documents.read(plain, name)]
    if re.match(r"\s*<", text):
        raise ResultError(f"{name} is a web page.", "UnixBench writes the same report as text beside it: name that.")
    for suite in (lmbench, lmbench_summary, unixbench, sysbench):
        if suite.BEGIN.search(text):
            made: list[Output] = suite.read(text)
            return made
    if sel4bench.BEGIN.search(text):
        return [sel4bench.read(text, name)]
    if lmbench.ALONE.search(text):
        return lmbench.read(text)
    if perf_bench.NAMELESS.match(text):
        step = "Name the command that printed it: --command 'perf bench --format=simple sched pipe -l 100000'."
        raise UsageError(f"{name} contains figures without a name, as perf bench's simple format does.", step)
    raise ResultError(f"{name} is not the output of a known suite.", _KNOWN)
