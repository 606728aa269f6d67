"""fio's JSON. It holds no samples: rates, and quantiles of the latency, of each job and direction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kernometer.results.model import Amount
from kernometer.results.suites.output import Figure, Output, readable

#: The percentiles that are figures; the others are left out.
PERCENTILES = {"50.000000": "median", "99.000000": "99 %", "99.900000": "99.9 %"}


class _Latency(msgspec.Struct):
    mean: Amount = 0.0
    stddev: Amount = 0.0
    min: Amount = 0.0
    max: Amount = 0.0
    percentile: dict[str, Amount] = {}


class _Direction(msgspec.Struct):
    total_ios: Amount = 0.0
    runtime: Amount = 0.0  #: ms
    iops: Amount = 0.0
    iops_stddev: Amount = 0.0
    iops_samples: Amount = 0.0
    bw_bytes: Amount | None = None  #: of fio 3
    bw: Amount = 0.0  #: KiB/s
    lat_ns: _Latency | None = None
    clat_ns: _Latency | None = None


class _Job(msgspec.Struct):
    jobname: str = "not named"
    error: int = 0
    options: dict[str, str] = msgspec.field(default={}, name="job options")
    read: _Direction | None = None
    write: _Direction | None = None
    trim: _Direction | None = None


class _Json(msgspec.Struct):
    version: str = msgspec.field(default="", name="fio version")
    timestamp_ms: Amount = 0.0
    options: dict[str, str] = msgspec.field(default={}, name="global options")
    jobs: tuple[_Job, ...] = ()
    client_stats: tuple[Any, ...] = ()


def read(text: str, name: str) -> Output:
    """What fio printed before its JSON is no figure."""
    step = "Write it again: fio --output-format=json --output=FILE."
    with readable(f"{name} is not fio's JSON, or was cut off", step):
        said = msgspec.json.decode(text[text.find("{") :].rstrip().encode(), type=_Json)
    output = Output("fio", said.version.removeprefix("fio-"), conditions=dict(said.options))
    output.ended = said.timestamp_ms / 1000
    output.left_out += ["client_stats, the jobs of other hosts"] if said.client_stats else []
    for job in said.jobs:
        output.conditions |= {f"{job.jobname}: {key}": value for key, value in job.options.items() if key != "name"}
        for what, direction in {"read": job.read, "write": job.write, "trim": job.trim}.items():
            if direction is not None and direction.total_ios:
                output.seconds = max(output.seconds, direction.runtime / 1000)
                failure = f"it failed: error {job.error}" if job.error else ""
                _direction(output, f"{job.jobname}, {what}", direction, failure)
    return output


def _direction(output: Output, row: str, said: _Direction, failure: str) -> None:
    intervals = f"{said.iops_samples:g} intervals, standard deviation {said.iops_stddev:.4g}"
    noted = ", ".join(filter(None, (intervals if said.iops_samples else "", failure)))
    output.figures.append(Figure(f"{row}: operations", f"{said.iops:.9g}", "io/sec", noted))
    in_bytes = said.bw * 1024 if said.bw_bytes is None else said.bw_bytes
    output.figures.append(Figure(f"{row}: bandwidth", f"{in_bytes:.12g}", "B/sec", failure))
    if said.lat_ns is None:
        output.left_out.append(f"{row}: latencies, which fio 2 prints in microseconds")
        return
    note = f"{said.lat_ns.min:.4g} to {said.lat_ns.max:.4g}, standard deviation {said.lat_ns.stddev:.4g}"
    latency = Figure(f"{row}: latency, mean", f"{said.lat_ns.mean:.9g}", "ns", ", ".join(filter(None, (note, failure))))
    output.figures.append(latency)
    for kind, percentiles in (("completion latency", said.clat_ns), ("latency", said.lat_ns)):
        known: Mapping[str, float] = percentiles.percentile if percentiles else {}
        for key, words in PERCENTILES.items():
            if key in known:
                output.figures.append(Figure(f"{row}: {kind}, {words}", f"{known[key]:.9g}", "ns", failure))
        if others := len(known.keys() - PERCENTILES.keys()):
            output.left_out.append(f"{row}: {kind}, {others} other percentiles")
