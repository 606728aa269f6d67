"""From another suite's output to a publication: its figures, its conditions, what it lacks, and our rows of the same
definition (published/suites.toml). docs/published.md, "Imported results".

Output may come from anywhere: the result is a publication within the model's limits, or a ResultError.
"""

from __future__ import annotations

import re
import statistics
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from kernometer.cache import source_folder
from kernometer.errors import ResultError, UsageError
from kernometer.results.model import FORMAT, NAME_CHARACTERS, Amount, Paper, Publication, Published, Scale, System
from kernometer.results.writer import new_session_id
from kernometer.text import printable

MAX_BYTES = 16 << 20
MAX_FIGURES = 20_000
MAX_CONDITIONS = 100
SYSTEM = "measured"
_CUT = "its end: the file was cut off"


@dataclass(slots=True)
class _Output:
    """The contents of a suite's output."""

    suite: str
    version: str
    figures: list[tuple[str, str, str, str]]  #: row, number as printed, unit, note
    conditions: dict[str, str]
    lacks: tuple[str, ...] = ()


def publication(data: bytes, name: str, label: str = "", command: str = "") -> Publication:
    """The publication in the file `name`. `command` is the perf bench that printed it, if the file does not name it.

    Raises ResultError if it is not the output of a known suite, UsageError if the command is missing.
    """
    if len(data) > MAX_BYTES:
        raise ResultError(f"{name} is over {MAX_BYTES >> 20} MiB.", "Give a suite's results file.")
    suites = tomllib.loads((source_folder("published") / "suites.toml").read_text("utf-8"))
    found = _read(data, name, command, suites["perf bench"]["loops"])
    if not 0 < len(found.figures) <= MAX_FIGURES:
        raise ResultError(f"{name} contains {len(found.figures)} figures of {found.suite}.", "Was it cut off?")
    rules, said = suites[found.suite], [*found.conditions.items()][:MAX_CONDITIONS]
    units = msgspec.convert(rules["units"], dict[str, Scale])
    for unit in {unit for _row, _printed, unit, _note in found.figures if unit.startswith("sec for ")}:
        units[unit] = Scale(unit="ns", factor=1e9 / int(unit.split()[2]))
    system, machine = (" ".join(dict(said).get(key, "") for key in rules[part]) for part in ("system", "machine"))
    paper = Paper(
        format=FORMAT,
        name=new_session_id(),
        title=_name(f"{found.suite} {found.version}".strip()),
        authors=(),
        where=_name(name),
        machine=_name(machine.strip()),
        systems=(System(system=SYSTEM, name=_name(system.strip())),),
        units=units,
        suite=found.suite,
        label=label,
        imported=time.time(),
        conditions={_name(key): _name(value) for key, value in said},
        lacks=(*rules["lacks"], *found.lacks),
    )
    return Publication(paper=paper, figures=tuple(_figure(*one, rules, units) for one in found.figures))


def _figure(
    row: str, printed: str, unit: str, note: str, rules: Mapping[str, Any], units: Mapping[str, Scale]
) -> Published:
    scale = units.get(unit)
    return Published(
        table=rules["table"],
        row=_name(row),
        system=SYSTEM,
        printed=printed,
        value=float(printed),
        unit=_name(unit),
        better="" if scale is None else "lower" if scale.unit == "ns" else "higher",
        ours=tuple(_meant(_name(row), rules.get("same", {}))),
        differs=next(_meant(_name(row), rules.get("differs", {})), ""),
        note=note,
    )


def _meant(row: str, rules: Mapping[str, str]) -> Iterator[str]:
    """The table's entries for that row."""
    for pattern, text in rules.items():
        if found := re.fullmatch(pattern, row):
            yield text.format(**{key: value.lower() for key, value in found.groupdict().items()})


def _name(text: str) -> str:
    return printable(text[:NAME_CHARACTERS])[:NAME_CHARACTERS]


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else ""


def _read(data: bytes, name: str, command: str, loops: Mapping[str, int]) -> _Output:
    text = data.decode("utf-8", "replace")
    if command or re.search(r"^# Running \S+ benchmark", text, re.M):
        return _perf_bench(text, command, loops)
    if text.lstrip().startswith("{"):
        return _json(data, name)
    if re.search(r"^\[lmbench", text, re.M):
        return _lmbench(text)
    if "BYTE UNIX Benchmarks" in text:
        return _unixbench(text)
    if re.fullmatch(r"(# function .*\n)?\s*[\d.]+\s*", text):
        step = "Name the command that printed it: --command 'perf bench --format=simple sched pipe -l 100000'."
        raise UsageError(f"{name} contains a number without a name, as perf bench's simple format does.", step)
    step = "Known are results files of lmbench, UnixBench's reports, perf bench, and JSON of hyperfine and pyperf."
    raise ResultError(f"{name} is not the output of a known suite.", step)


#: The patterns are bounded, as the file may come from anywhere.
_NUMBER = r"(?<!\d)(\d{1,15}(?:\.\d{1,15})?)"
_LMBENCH_LINE = re.compile(rf"(.{{1,80}}?): ?{_NUMBER} (microseconds|nanoseconds|milliseconds|[KM]B/sec)")
_LMBENCH_POINT = re.compile(rf"{_NUMBER}\s+{_NUMBER}(?: MB/sec)?")


def _lmbench(text: str) -> _Output:
    """Lines with a unit, and pairs of numbers whose unit follows from their heading. A date ends the file."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    figures, skipped, heading, above = [], 0, "", "Memory load latency"
    for line in lines:
        if found := _LMBENCH_LINE.fullmatch(line):
            figures.append((found[1], found[2], found[3], ""))
        elif (found := _LMBENCH_POINT.fullmatch(line)) and (place := _place(heading, above, float(found[1]))):
            figures.append((place[0], found[2], place[1], ""))
        elif re.match(r'"?[A-Za-z]', line):
            heading = line.strip('"')
            above = heading if heading.endswith("load latency") else above
        else:
            skipped += not line.startswith("[")
    lacks = [f"lines of tables that are not read: {skipped}"] if skipped else []
    lacks += [] if lines[-1].startswith("[") else [_CUT]
    said = dict(re.findall(r"^\[([A-Z_ ]+): (.+)\]$", "\n".join(lines), re.M))
    return _Output("lmbench", _first(r"\[lmbench([\d.]*)", text), figures, said, tuple(lacks))


def _place(heading: str, above: str, x: float) -> tuple[str, str] | None:
    """Row and unit of a pair of numbers that begins with x; None for an unknown heading."""
    if heading.startswith("size="):
        return f"{heading.split()[0]}: {x:g} processes", "microseconds"
    if heading.startswith("stride="):
        return f"{above}, {heading}: {_size(x * (1 << 20))} bytes", "nanoseconds"
    if heading == "mappings" or "bandwidth" in heading or "bcopy" in heading:
        return f"{heading}: {_size(x * 1e6)} bytes", "microseconds" if heading == "mappings" else "MB/sec"
    return None


def _size(size: float) -> int:
    """The nearest power of two, or one and a half times one, as few digits are printed. Others stay as they are."""
    below = 1 << max(0, round(size).bit_length() - 1)
    return next((one for one in (below, 3 * below // 2, 2 * below) if one and abs(size / one - 1) < 0.03), round(size))


_UNIXBENCH = re.compile(
    r"running (?P<copies>\d+ parallel copies)|^(?P<row>\S.{0,60}?) {1,60}(?P<value>\d{1,15}\.\d) "
    r"(?P<unit>\w{1,9}) {1,9}\((?P<note>[\d.]{1,15} s(?:ecs)?, \d{1,9} samples)\)",
    re.M,
)


def _unixbench(text: str) -> _Output:
    said = dict(re.findall(r"^ *(System|OS|Machine|CPU \d+|Graphics|Benchmark Run): (.+)$", text, re.M))
    figures, above, last = [], "", 0
    for found in _UNIXBENCH.finditer(text):
        copies, row, value, unit, note = map(str, found.groups(""))
        above = f" ({copies})" if copies else above
        if row:
            figures.append((row + above, value, unit, note))
            last = found.end()
    whole = re.search(r"Index Score|FINAL SCORE|No index results", text[last:])
    return _Output("UnixBench", _first(r"\(Version ([\d.]+)", text), figures, said, () if whole else (_CUT,))


def _perf_bench(text: str, command: str, loops: Mapping[str, int]) -> _Output:
    """Each benchmark's figures; the simple format has only a total, with the command's number of operations."""
    called = re.search(r"(?<!\S)([a-z]\w*) ([a-z][\w-]*)", command.partition("bench")[2])
    given = re.search(r"(?:-l|--loop)[ =]?([1-9]\d{0,11})\b", command)
    if command and not called:
        raise UsageError(f"{printable(command, 80)!r} names no benchmark.", "For example: perf bench sched pipe.")
    parts = re.split(r"^# Running '?([\w-]+/[\w-]+)'? benchmark.*$", text, flags=re.M)
    named = list(zip(parts[1::2], parts[2::2], strict=True)) or [("/".join(called.groups()) if called else "", text)]
    figures = []
    for row, said in named:
        count = int(given[1]) if given else loops.get(row)
        if found := re.search(rf"{_NUMBER} (usecs/op)", said) or re.search(rf"{_NUMBER} \[?(sec|GB/sec)\b", said):
            figures.append((row, found[1], found[2], ""))
        elif found := re.search(rf"^[ \t]*{_NUMBER}[ \t]*$", said, re.M):
            total = f"sec for {count} operations" if count else "sec"
            figures.append((row, found[1], "B/sec" if row.startswith("mem/") else total, ""))
    return _Output("perf bench", "", figures, {"command": command} if command else {})


class _Command(msgspec.Struct):
    command: str
    median: Amount
    times: tuple[float, ...] = ()


class _Values(msgspec.Struct):
    values: tuple[Amount, ...] = ()


class _Benchmark(msgspec.Struct):
    runs: tuple[_Values, ...] = ()
    metadata: dict[str, str | int | float] = {}


class _Json(msgspec.Struct):
    """hyperfine's `results`, or pyperf's `benchmarks` with their common metadata."""

    results: tuple[_Command, ...] = ()
    benchmarks: tuple[_Benchmark, ...] = ()
    metadata: dict[str, str | int | float] = {}


def _json(data: bytes, name: str) -> _Output:
    try:
        said = msgspec.json.decode(data, type=_Json)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        why = f"{name} is neither hyperfine's JSON nor pyperf's, or was cut off: {error}."
        raise ResultError(why, "Write it again: hyperfine --export-json FILE, pyperf … -o FILE.") from None
    if said.results:
        rows = [(one.command, f"{one.median:.9g}", "s", f"{len(one.times)} runs") for one in said.results]
        return _Output("hyperfine", "", rows, {})
    figures = []
    for one in said.benchmarks:
        known = said.metadata | one.metadata
        if values := [value for run in one.runs for value in run.values]:
            row, unit = str(known.get("name", "not named")), str(known.get("unit", "second"))
            note = f"{len(values)} values of {sum(bool(run.values) for run in one.runs)} processes"
            figures.append((row, f"{statistics.median(values):.9g}", unit, note))
    facts = {key: str(value) for key, value in said.metadata.items()}
    return _Output("pyperf", facts.get("perf_version", ""), figures, facts)
