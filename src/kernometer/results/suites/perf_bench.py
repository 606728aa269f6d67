"""perf bench's output in both of its formats, of one benchmark or of many."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from kernometer.errors import UsageError
from kernometer.results.suites.output import NUMBER, Figure, Output, number
from kernometer.text import printable

BEGIN = re.compile(r"^# Running '?([\w-]+/[\w-]+)'? benchmark.*$", re.M)
#: Output that does not name its benchmark: the simple format.
NAMELESS = re.compile(rf"\s*(?:# function '.*\s+)?(?:{NUMBER}\s*$|Run summary \[PID|Average \S+ took:)", re.M)
_EXAMPLE = "For example: --command 'perf bench --format=simple sched pipe -l 100000'."
_ALONE = re.compile(rf"({NUMBER})(?:\s+(usecs/op(?:/cpu)?|ops/sec|[KMG]?B/sec|cycles/byte))?")
_TOTAL = re.compile(rf"Total time: ({NUMBER}) \[?(u?sec)s?\]?")
_UNIT = r"[mun]?secs?|ms|[KMG]?B|(?:(?:ADD|MOD|DEL) )?operations(?:/sec)?"
_SAID = re.compile(
    rf"(?P<label>[^\[].{{0,80}}?):?\s{{1,30}}(?P<value>{NUMBER})(?: (?P<unit>{_UNIT}))?"
    r"(?:\s*\((?P<spread>\+-[^()]{1,40})\))?(?P<time>, total secs = \d{1,9})?"
)
_READING = re.compile(rf"\[(Run|thread) +\d{{1,9}}\].{{1,100}}?({NUMBER}) (?:ms|ops/sec)\b[^;]{{0,40}}")
_NUMA = re.compile(rf"(?P<task>[^,]{{1,40}}),\s+(?P<value>{NUMBER}),\s+(?P<unit>[^,]{{1,20}}),\s+(?P<what>\S{{1,60}})")
_FUNCTION = re.compile(r"# function '([^']{1,60})'")
_SIZE = re.compile(r"# Copying (\S{1,20}) bytes")
_BITS = re.compile(r"\d+ operations (\d+ bits set of \d+ bits)")
_COMMENT = re.compile(r"#|Run summary|$")
_LIKE_A_FIGURE = re.compile(r"(?:\d|\binf|\bnan)\s*\[?(?:[mun]?secs?\b|ms\b|[KMGT]?B\b|ops\b|operations\b|cycles/|%)")


def read(text: str, command: str, loops: Mapping[str, int]) -> Output:
    """`command` printed the text, if that does not tell; `loops`: operations in one printed total, by benchmark."""
    benchmark, operations = _called(command) if command else ("", 0)
    before, *parts = BEGIN.split(text)
    named = list(zip(parts[::2], parts[1::2], strict=True))
    if not named:
        named, before = [(benchmark, before)], ""
    output = Output("perf bench", conditions={"command": command} if command else {})
    output.left_out += [line.strip() for line in before.splitlines() if _LIKE_A_FIGURE.search(line)]
    for name, said in named:
        _benchmark(output, name, said, (operations or loops[name]) if name in loops else 0)
    return output


def _called(command: str) -> tuple[str, int]:
    """The benchmark that it names, and the number of operations that it asks for (0: none is given)."""
    try:
        words = shlex.split(command.partition("bench")[2])
    except ValueError:
        words = []
    while words and words[0].startswith("-"):
        del words[: 2 if words[0] in ("-f", "--format", "-r", "--repeat") else 1]
    if len(words) < 2 or not re.fullmatch(r"[a-z]\w*/[a-z][\w-]*", "/".join(words[:2])) or words[1] == "all":
        raise UsageError(f"{printable(command, 80)!r} names no benchmark of perf bench.", _EXAMPLE)
    given = re.search(r"(?:^| )(?:-l|--loop)[ =]?([1-9]\d{0,11})\b", " ".join(words[2:]))
    return "/".join(words[:2]), int(given[1]) if given else 0


def _benchmark(output: Output, name: str, text: str, operations: int) -> None:
    """Appends the figures of one benchmark. Its total counts only if no cost of an operation follows from it."""
    figures, totals = list[Figure](), list[Figure]()
    function, size, bits, readings = "", "", "", list[float]()
    for line in map(str.strip, text.splitlines()):
        row = ", ".join((f"{name}: {function}", size) if size else (f"{name}: {function}",)) if function else name
        if match := _FUNCTION.match(line):
            function, size = match[1], ""
        elif match := _SIZE.match(line):
            size = match[1]
        elif match := _BITS.fullmatch(line):
            bits = f", {match[1]}"
        elif match := _TOTAL.fullmatch(line):
            totals.append(Figure(row, match[1], match[2]))
        elif match := _ALONE.fullmatch(line):
            plain = "B/sec" if name.startswith("mem/") else f"sec for {operations} operations" if operations else "sec"
            kept = totals if match[2] == "ops/sec" else figures
            per = ", per CPU" * (match[2] == "usecs/op/cpu")
            kept.append(Figure(row + per, match[1], match[2] or plain))
        elif match := _READING.fullmatch(line):
            readings.append(number(match[2]))
        elif (match := _SAID.fullmatch(line)) and (match["unit"] or match["spread"]):
            what = re.sub(r"^Averaged? ?|(?: took| in)$", "", match["label"])
            kind, _, unit = (match["unit"] or "").rpartition(" ")
            label = ", ".join(filter(None, (what, kind)))
            note = ((match["spread"] or "") + (match["time"] or "")).strip(", ")
            row = f"{row}{bits}: {label}" if label else row
            figures.append(Figure(row, match["value"], unit, note, (tuple(readings),) if readings else ()))
            readings.clear()
        elif match := _NUMA.fullmatch(line):
            unit = match["unit"] + " of 10^9" * match["unit"].startswith("GB")
            figures.append(Figure(f"{name}: {match['task']}, {match['what']}", match["value"], unit))
        elif not _COMMENT.match(line) and _LIKE_A_FIGURE.search(line):
            output.left_out.append(f"{row}: {line}")
    output.figures += figures or totals
    if not figures and not totals:
        output.left_out.append(f"{name}: it printed no figure that can be read")
    output.left_out += [f"{name}: readings without their average: {len(readings)}"] if readings else []
