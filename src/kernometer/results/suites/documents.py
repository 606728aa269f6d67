"""Suites that write JSON: hyperfine, pyperf, pytest-benchmark and google-benchmark.

A figure is the median, computed from readings if the file has them, which become its samples; else it is the mean.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from kernometer.results.model import Amount
from kernometer.results.suites.output import Figure, Output, readable

#: google-benchmark's measures, with the words after the row's name, and the unit ("": the entry's `time_unit`).
_MEASURED = {
    "real_time": ("", ""),
    "cpu_time": (": CPU time", ""),
    "items_per_second": (": items per second", "items/sec"),
    "bytes_per_second": (": bytes per second", "B/sec"),
}
#: Its numbers that identify an entry's run.
_WHICH = {"per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations"}
_AGGREGATES = ("", "mean", "median", "stddev", "min", "max", "cv")


class _Summary(msgspec.Struct, kw_only=True):
    mean: Amount | None = None
    median: Amount | None = None
    stddev: Amount | None = None
    min: Amount | None = None
    max: Amount | None = None


class _Command(_Summary, kw_only=True):
    """A command of hyperfine."""

    command: str
    user: Amount | None = None
    system: Amount | None = None
    times: tuple[Amount, ...] | None = None
    exit_codes: tuple[int | None, ...] | None = None
    parameters: dict[str, str | int | float] | None = None


class _Values(msgspec.Struct):
    values: tuple[Amount, ...] = ()
    metadata: dict[str, Any] = {}


class _Benchmark(msgspec.Struct):
    """A benchmark of pyperf."""

    runs: tuple[_Values, ...] = ()
    metadata: dict[str, Any] = {}


class _Stats(_Summary, kw_only=True):
    rounds: int = 0
    iterations: int = 1
    data: tuple[Amount, ...] = ()


class _Test(msgspec.Struct):
    """A test of pytest-benchmark."""

    stats: _Stats
    name: str = "not named"
    fullname: str = ""
    extra_info: dict[str, Any] = {}


class _Entry(msgspec.Struct, kw_only=True):
    """An entry of google-benchmark: a repetition, or an aggregate of several."""

    name: str
    run_name: str = ""
    family_index: int = 0  #: the benchmark of the program, for two may have one name
    time_unit: str = "ns"
    aggregate_name: str = ""
    error_message: str = ""
    real_time: Amount | None = None
    cpu_time: Amount | None = None
    items_per_second: Amount | None = None
    bytes_per_second: Amount | None = None


class _Json(msgspec.Struct):
    """What all four write: a list of entries, and what tells the suites apart."""

    results: tuple[msgspec.Raw, ...] = ()
    benchmarks: tuple[msgspec.Raw, ...] = ()
    metadata: dict[str, Any] = {}
    machine_info: dict[str, Any] | None = None
    context: dict[str, Any] | None = None
    version: Any = ""
    datetime: Any = ""


_Kind = TypeVar("_Kind", bound=msgspec.Struct)
#: A row's figures, and what else in it looks like one.
_Rows = Iterator[tuple[str, list[Figure], list[str]]]


def read(data: bytes, name: str) -> Output:
    known = "hyperfine, pyperf, pytest-benchmark or google-benchmark"
    step = "Write it again: hyperfine --export-json, pyperf -o, pytest --benchmark-json, or --benchmark_out FILE."
    with readable(f"{name} is not the JSON of {known}, or was cut off", step):
        said = msgspec.json.decode(data, type=_Json)
        output, rows = _of_suite(said)
        for row, figures, more in rows:
            output.figures += figures
            if output.suite == "hyperfine":
                output.seconds += sum(time for figure in figures for process in figure.samples for time in process)
            output.left_out += [f"{row}: {each}" for each in more or ([] if figures else ["it has no figure"])]
    failed = len({figure.row for figure in output.figures if "runs failed" in figure.note and figure.samples})
    output.notes += [f"{failed} of {len(said.results)} commands failed: see their notes."] if failed else []
    return output


def _of_suite(said: _Json) -> tuple[Output, _Rows]:
    if said.results:
        return Output("hyperfine"), _hyperfine(said)
    facts = dict(_facts(said.machine_info or said.context or said.metadata))
    if said.machine_info is not None:
        output = Output("pytest-benchmark", str(said.version), conditions=facts, dates=[str(said.datetime)])
        return output, _pytest_benchmark(said)
    if said.context is not None:
        dates = [facts.get("date", "")]
        return Output("google-benchmark", conditions=facts, dates=dates), _google_benchmark(said)
    output = Output("pyperf", facts.get("perf_version", ""), conditions=facts)
    return output, _pyperf(said, output)


def _facts(said: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """The texts and numbers of conditions; those of parts are named `part.name`."""
    for key, value in said.items():
        if isinstance(value, dict) and not above:
            yield from _facts(value, f"{key}.")
        elif isinstance(value, str | int | float):
            yield above + key, str(value)


def _decoded(raw: msgspec.Raw, kind: type[_Kind]) -> tuple[_Kind, list[str]]:
    """An entry, and the names of the numbers that its kind lacks."""
    entry = msgspec.json.decode(raw)
    return msgspec.convert(entry, kind), [key for key in _numbers(entry) if key not in kind.__struct_fields__]


def _numbers(said: Mapping[str, Any]) -> list[str]:
    return [key for key, value in said.items() if isinstance(value, int | float) and not isinstance(value, bool)]


def _figure(row: str, unit: str, said: _Summary, readings: tuple[tuple[float, ...], ...], *notes: str) -> list[Figure]:
    """One figure, or none without a value. Without readings the note has the spread."""
    flat = [value for process in readings for value in process]
    value = said.median if said.median is not None else _middle(readings) if flat else said.mean
    if value is None:
        return []
    spread = ["the mean"] if value is said.mean and not flat else []
    spread += [] if flat or None in (said.min, said.max) else [f"{said.min:.4g} to {said.max:.4g}"]
    spread += [] if flat or said.stddev is None else [f"standard deviation {said.stddev:.4g}"]
    return [Figure(row, f"{value:.9g}", unit, ", ".join(filter(None, (*notes, *spread))), readings)]


def _middle(readings: tuple[tuple[float, ...], ...]) -> float:
    """The median of the processes, each of which counts by its own median."""
    return statistics.median(statistics.median(process) for process in readings if process)


def _hyperfine(said: _Json) -> _Rows:
    for raw in said.results:
        command, more = _decoded(raw, _Command)
        given = ", ".join(f"{key}={value}" for key, value in (command.parameters or {}).items())
        row = f"{command.command} ({given})" if given else command.command
        times, codes = command.times or (), command.exit_codes or ()
        wrong = ["killed" if code is None else str(code) for code in codes if code != 0]
        statuses = ", ".join(dict.fromkeys(wrong))
        failure = f"{len(wrong)} of {len(codes)} runs failed (exit status {statuses})" if wrong else ""
        runs = f"{len(times)} runs" if times else ""
        figures = _figure(row, "s", command, tuple((time,) for time in times), runs, failure)
        for what, value in (("user", command.user), ("system", command.system)):
            figures += _figure(f"{row}: {what} time", "s", _Summary(mean=value), (), failure)
        yield row, figures, more


def _pyperf(said: _Json, output: Output) -> _Rows:
    for raw in said.benchmarks:
        benchmark, more = _decoded(raw, _Benchmark)
        known = {"name": "not named", "unit": "second", "tags": None} | said.metadata | benchmark.metadata
        readings = tuple(run.values for run in benchmark.runs if run.values)
        output.dates += [str(run.metadata.get("date", "")) for run in benchmark.runs]
        note = f"{sum(map(len, readings))} values of {len(readings)} processes"
        tags = f"tags: {', '.join(map(str, known['tags']))}" if isinstance(known["tags"], list) else ""
        row = str(known["name"])
        yield row, _figure(row, str(known["unit"]), _Summary(), readings, note, tags), more


def _pytest_benchmark(said: _Json) -> _Rows:
    for raw in said.benchmarks:
        test, more = _decoded(raw, _Test)
        row, stats = test.fullname or test.name, test.stats
        note = f"{stats.rounds} rounds of {stats.iterations} iterations" if stats.rounds else ""
        figures = _figure(row, "s", stats, (stats.data,) if stats.data else (), note)
        yield row, figures, more + [f"extra_info.{key}" for key in _numbers(test.extra_info)]


def _google_benchmark(said: _Json) -> _Rows:
    """A row has its repetitions, or, if only these were written, their aggregates."""
    rows: dict[tuple[str, int], list[tuple[_Entry, list[str]]]] = {}
    for raw in said.benchmarks:
        entry, more = _decoded(raw, _Entry)
        more = [key for key in more if key not in _WHICH]
        more += [f"it failed: {entry.error_message}"] if entry.error_message else []
        more += [] if entry.aggregate_name in _AGGREGATES else [f"aggregate {entry.aggregate_name}"]
        rows.setdefault((entry.run_name or entry.name, entry.family_index), []).append((entry, more))
    for (row, _family), members in rows.items():
        entries = [entry for entry, _more in members if not entry.error_message and entry.aggregate_name in _AGGREGATES]
        figures = [figure for key in _MEASURED if entries for figure in _repeated(row, key, entries)]
        yield row, figures, list(dict.fromkeys(reason for _entry, more in members for reason in more))


def _repeated(row: str, key: str, entries: list[_Entry]) -> list[Figure]:
    words, unit = _MEASURED[key]
    alone = [entry for entry in entries if not entry.aggregate_name]
    readings = tuple(value for entry in alone if (value := getattr(entry, key)) is not None)
    aggregates = {entry.aggregate_name: getattr(entry, key) for entry in entries if entry.aggregate_name}
    summary = msgspec.convert(aggregates, _Summary)
    note = f"{len(alone)} repetitions" if len(alone) > 1 else ""
    return _figure(row + words, unit or entries[0].time_unit, summary, (readings,) if readings else (), note)
