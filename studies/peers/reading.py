"""Reads other tools' output strictly: nanoseconds of one operation, or ReadingError. Never 0 for "unreadable"."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from statistics import median

#: From a tool's whole output (both streams) to nanoseconds of one operation.
Reading = Callable[[str], float]
MIB = 1 << 20


class ReadingError(ValueError):
    """An output without the figure, or with more than one."""


def only(pattern: str, text: str) -> float:
    """The number in the pattern's group, which matches at one place of the text; finite and above 0."""
    numbers = re.findall(pattern, text, flags=re.MULTILINE)
    if len(numbers) != 1:
        raise ReadingError(f"{len(numbers)} figures where one should be ({pattern}): {text[-300:]!r}")
    return positive(float(numbers[0]))


def positive(value: float) -> float:
    if not 0 < value < math.inf:
        raise ReadingError(f"{value} is no time and no rate")
    return value


def seconds_for(pattern: str, operations: float) -> Reading:
    """The time of so many operations, in seconds."""
    return lambda text: only(pattern, text) * 1e9 / operations


def perf_usecs(text: str) -> float:
    return only(r"^ +([\d.]+) usecs/op$", text) * 1e3


def perf_bytes(size: int) -> Reading:
    """`--format simple` of `perf bench mem`: bytes a second, alone on a line."""
    return lambda text: size * 1e9 / only(r"^([\d.]+)$", text)


def stress_rate(name: str) -> Reading:
    """Bogo operations a second of real time: the fifth number of stress-ng's line of metrics."""
    row = rf"^stress-ng: metrc: \[\d+\] {name} +\d+ +[\d.]+ +[\d.]+ +[\d.]+ +([\d.]+) +[\d.]+ +[\d.]+ +\d+$"
    return lambda text: 1e9 / only(row, text)


def stress_nanoseconds(name: str, what: str) -> Reading:
    """Another of stress-ng's metrics, in nanoseconds."""
    return lambda text: only(rf"^stress-ng: metrc: \[\d+\] {name} +([\d.]+) nanosecs {re.escape(what)} \(", text)


def witness(text: str) -> float:
    return only(r"^witness: ([\d.]+) ns$", text)


def hackbench(messages: float) -> Reading:
    return seconds_for(r"^Time: ([\d.]+)$", messages)


def dd(blocks: int) -> Reading:
    return seconds_for(r" copied, ([\d.e-]+) s, ", blocks)


def sysbench_memory(size: int) -> Reading:
    return lambda text: size * 1e9 / (only(r"transferred \(([\d.]+) MiB/sec\)$", text) * MIB)


def sysbench_reads(text: str) -> float:
    return 1e9 / only(r"^ +reads/s: +([\d.]+)$", text)


def fio(kind: str) -> Reading:
    """Runtime over the number of requests of its one job; `kind`: read or write. fio's runtime is in whole ms."""

    def read(text: str) -> float:
        try:
            (job,) = json.loads(text)["jobs"]
            done = job[kind]
            if job["error"] or done["short_ios"] or done["drop_ios"]:
                raise ReadingError(f"fio: error {job['error']}, {done['short_ios']} short, {done['drop_ios']} dropped")
            return positive(done["runtime"] * 1e6 / positive(done["total_ios"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ReadingError(f"no result of fio's: {error}: {text[-300:]!r}") from error

    return read


def hyperfine(text: str) -> float:
    """The median of its one command's times; every execution must have status 0."""
    try:
        (result,) = json.loads(text)["results"]
        if any(result["exit_codes"]):
            raise ReadingError("a command of hyperfine's failed")
        return positive(median(result["times"]) * 1e9)
    except (KeyError, TypeError, ValueError) as error:
        raise ReadingError(f"no result of hyperfine's: {error}: {text[-300:]!r}") from error
