"""sysbench's reports, of versions 0.5 and 1.0. The lines of --report-interval are the samples of its rate."""

from __future__ import annotations

import re
from dataclasses import replace

from kernometer.results.suites.output import CUT, NUMBER, Figure, Output, number, runs

BEGIN = re.compile(r"^sysbench (\d[\w.-]*)", re.M)
#: What names the test, which the report does not.
_TESTS = {
    "CPU speed:": "cpu",
    "Running memory speed test": "memory",
    "File operations:": "fileio",
    "SQL statistics:": "sql",
    "OLTP test statistics:": "sql",
}
_INTERVAL = re.compile(rf"\[ *[\d.]+ ?s *\] (?:thds|threads): \d+,? (?:eps|tps|queries): ({NUMBER})\b.*")
_RATE = re.compile(rf"(events per second|(?:reads|writes|fsyncs)/s): +({NUMBER})")
_THROUGHPUT = re.compile(rf"(read|written), MiB/s: +({NUMBER})")
_PER_SECOND = re.compile(rf"([A-Za-z][A-Za-z /]{{2,40}}): +\d{{1,15}} +\(({NUMBER}) per sec(?:ond|\.)\)")
_MOVED = re.compile(rf"{NUMBER} MiB transferred \(({NUMBER}) MiB/sec\)")
_LATENCY = re.compile(rf"(avg|(?:approx\. +)?\d+(?:th)? percentile): +({NUMBER})(?:ms)?")
_TOTAL = re.compile(rf"total time: +({NUMBER})s")
_CONDITION = re.compile(r"([A-Za-z][\w /-]{2,60}): (\S.{0,100})")
_LIKE_A_FIGURE = re.compile(r".*:\s+-?\d")


def read(text: str) -> list[Output]:
    """The file's runs, each of which begins with the name and the version."""
    return [_run(part, version) for part, version in runs(text, BEGIN)]


def _run(text: str, version: str) -> Output:
    output = Output("sysbench", version)
    test = next((test for words, test in _TESTS.items() if words in text), "test not named")
    started, ended, rates = False, False, list[float]()
    for line in map(str.strip, text.splitlines()):
        figure = _figure(test, line)
        if match := _INTERVAL.fullmatch(line):
            rates.append(number(match[1]))
        elif figure is not None:
            main = figure.row.endswith(("events per second", "transactions per second"))
            output.figures.append(replace(figure, samples=(tuple(rates),)) if main and rates else figure)
        elif match := _TOTAL.fullmatch(line):
            output.seconds, ended = number(match[1]), True
        elif not started and (match := _CONDITION.fullmatch(line)):
            output.conditions[match[1]] = match[2]
        elif _LIKE_A_FIGURE.match(line):
            output.left_out.append(line)
        started = started or line.startswith("Threads started")
    output.left_out += [] if ended else [CUT]
    return output


def _figure(test: str, line: str) -> Figure | None:
    if match := _RATE.fullmatch(line):
        return Figure(f"{test}: {match[1]}", match[2], "1/sec")
    if match := _THROUGHPUT.fullmatch(line):
        return Figure(f"{test}: {match[1]}", match[2], "MiB/sec")
    if match := _PER_SECOND.fullmatch(line):
        return Figure(f"{test}: {match[1]} per second", match[2], "1/sec")
    if match := _MOVED.fullmatch(line):
        return Figure(f"{test}: transferred", match[1], "MiB/sec")
    if match := _LATENCY.fullmatch(line):
        return Figure(f"{test}: latency, {' '.join(match[1].split())}", match[2], "ms")
    return None
