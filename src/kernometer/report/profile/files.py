"""Profiles in the forms of other programs: folded stacks, speedscope's JSON, pprof's protocol buffer. Pure.

Without stacks of calls each function is a stack of its own.
Formats: Brendan Gregg's FlameGraph (stackcollapse), https://www.speedscope.app/file-format-schema.json, and
https://github.com/google/pprof/blob/main/proto/profile.proto.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from kernometer.explain.functions import Breakdown


def folded(profiles: Sequence[Breakdown]) -> bytes:
    """One line a stack, the row outermost: `row;main;read 12`."""
    lines = []
    for profile in profiles:
        for frames, count in profile.paths.items():
            path = ";".join(frame.replace(";", ",").replace("\n", " ") for frame in (profile.row, *frames))
            lines.append(f"{path} {count}\n")
    return "".join(lines).encode()


def speedscope(profiles: Sequence[Breakdown]) -> bytes:
    """One profile a row."""
    index: dict[str, int] = {}
    made = []
    for profile in profiles:
        stacks = profile.paths
        made.append(
            {
                "type": "sampled",
                "name": profile.row,
                "unit": "none",
                "startValue": 0,
                "endValue": sum(stacks.values()),
                "samples": [[index.setdefault(frame, len(index)) for frame in frames] for frames in stacks],
                "weights": list(stacks.values()),
            }
        )
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": name} for name in index]},
        "profiles": made,
        "exporter": "Kernometer",
    }
    return json.dumps(document, ensure_ascii=True).encode() + b"\n"


def pprof(profiles: Sequence[Breakdown]) -> bytes:
    """One profile; each sample has its row as a label."""
    strings: dict[str, int] = {"": 0}

    def text(value: str) -> int:
        return strings.setdefault(value, len(strings))

    functions: dict[str, int] = {}
    samples = b""
    for profile in profiles:
        for frames, count in profile.paths.items():
            locations = [functions.setdefault(frame, len(functions) + 1) for frame in reversed(frames)]
            label = _number(1, text("row")) + _number(2, text(profile.row))
            sample = _packed(1, locations) + _packed(2, [count]) + _bytes(3, label)
            samples += _bytes(2, sample)
    kind = _number(1, text("instructions")) + _number(2, text("count"))
    message = _bytes(1, kind) + samples
    for name, number in functions.items():
        message += _bytes(4, _number(1, number) + _bytes(4, _number(1, number)))
        message += _bytes(5, _number(1, number) + _number(2, text(name)) + _number(3, text(name)))
    for value in strings:
        message += _bytes(6, value.encode())
    return gzip.compress(message, mtime=0)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _packed(field: int, values: Iterable[int]) -> bytes:
    return _bytes(field, b"".join(map(_varint, values)))


FORMS: Mapping[str, Callable[[Sequence[Breakdown]], bytes]] = {
    "folded": folded,
    "speedscope": speedscope,
    "pprof": pprof,
}
