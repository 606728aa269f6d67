"""sel4bench's JSON: a list of benchmarks, alone or within what a board printed on its console. Figures are cycles."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from kernometer.results.model import LARGEST
from kernometer.results.suites.output import Figure, Output, readable

BEGIN = re.compile(r'^\s*JSON OUTPUT\s*$|\A\s*\[\s*\{\s*"Benchmark"', re.M)
_END = "END JSON OUTPUT"
RAW = "Raw results"
#: What is computed of the samples, and no parameter of a benchmark.
_COMPUTED = {
    *("Min", "Max", "Mean", "Stddev", "Variance", "Mode", "Median", "1st quantile", "3rd quantile", "Samples", RAW)
}
#: Rows of other events have no direction.
_EVENT, _CYCLES = "Event", "Cycle counter"


class _Benchmark(msgspec.Struct):
    name: str = msgspec.field(name="Benchmark")
    results: tuple[dict[str, Any], ...] = msgspec.field(default=(), name="Results")


def read(text: str, name: str) -> Output:
    """A boot is a process: all samples of a row are of one."""
    begin = BEGIN.search(text)
    inside = text[begin.end() if begin and "OUTPUT" in begin[0] else 0 :].partition(_END)[0]
    step = "Keep all between 'JSON OUTPUT' and 'END JSON OUTPUT' as it was printed."
    with readable(f"{name} is not sel4bench's JSON, or was cut off or garbled", step):
        said = msgspec.json.decode(inside.strip().encode(), type=tuple[_Benchmark, ...])
    output = Output("sel4bench")
    for benchmark in said:
        for result in benchmark.results:
            given = ", ".join(f"{key}={_word(value)}" for key, value in result.items() if key not in _COMPUTED)
            row = f"{benchmark.name} ({given})" if given else benchmark.name
            figures = list(_figures(row, result))
            output.figures += figures
            output.left_out += [] if figures else [f"{row}: it has no figure"]
    return output


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _figures(row: str, result: Mapping[str, Any]) -> Iterator[Figure]:
    """The median of the raw results; without these the mean: what is printed as median is then often 0."""
    numbers = {key: float(value) for key, value in result.items() if key in _COMPUTED and _is_number(value)}
    raw = result.get(RAW)
    samples = tuple(float(value) for value in raw if _is_number(value)) if isinstance(raw, list) else ()
    what = "Median" if samples and "Median" in numbers else "Mean"
    if what in numbers:
        told = [f"{numbers['Samples']:g} samples"] if "Samples" in numbers else []
        told += [] if what == "Median" else ["the mean"]
        told += [f"standard deviation {numbers['Stddev']:.4g}"] if "Stddev" in numbers and not samples else []
        unit = "cycles" if result.get(_EVENT, _CYCLES) == _CYCLES else "events"
        yield Figure(row, f"{numbers[what]:.9g}", unit, ", ".join(told), (samples,) if samples else ())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST
