"""lmbench's results files, and what its commands print alone: lines with a unit, and tables whose unit follows from
their heading."""

from __future__ import annotations

import re

from kernometer.results.suites.output import CUT, NUMBER, Figure, Output, conditions, number

BEGIN = re.compile(r"^\[lmbench([\d.]*)", re.M)
#: A line of a command that was called alone, as logs and mails have them.
ALONE = re.compile(
    r"^.{0,60}\b(?:Simple (?:syscall|read|write|f?stat|open/close)|Select on \d+ (?:\S+ )?fd's|Protection fault"
    r"|Signal handler (?:installation|overhead)|Process fork\+(?:exit|execve|/bin/sh -c)|Pagefaults on \S+"
    r"|(?:Pipe|AF_UNIX sock stream|F(?:ifo|IFO)|Semaphore|Fcntl lock) (?:latency|bandwidth)"
    r"|(?:TCP|UDP) latency using \S+|TCP/IP connection cost to \S+): \d[\d.]* (?:(?:micro|nano)seconds|MB/sec)"
    r'|^"(?:size=\d+k ovr=|stride=\d+)',
    re.M,
)
_LINE = re.compile(rf"(.{{1,80}}?): ?({NUMBER}) (microseconds|nanoseconds|milliseconds|[KM]B/sec)")
_POINT = re.compile(rf"({NUMBER})\s+({NUMBER})(?: MB/sec)?")
_FILES = re.compile(rf"(\d{{1,6}}k)\s+({NUMBER})\s+({NUMBER})\s+({NUMBER})")
_HEADING = re.compile(r'"|[A-Za-z][^:]{0,80}\b(?:bandwidth|latency|parallelism|bcopy)\b[^:]{0,80}$')
_CONDITION = re.compile(r"\[([A-Z_ ]+): (.+)\]")
_LIKE_A_FIGURE = re.compile(r"-?\d|[^\[].*:\s*-?\d[\d.,]*(?:e[+-]?\d+)?(?![\d:.])")


def read(text: str) -> list[Output]:
    """The file's runs, each of which begins with a line of its host; without one the whole is a run."""
    starts = [begin.start() for begin in BEGIN.finditer(text)] or [0]
    return [_run(text[start:end]) for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def _run(text: str) -> Output:
    """A blank line ends a table; a program's complaint within a table does not. A date ends the file."""
    begin = BEGIN.match(text)
    output = Output("lmbench", begin[1] if begin else "")
    said, heading, above, ended = [], "", "Memory load latency", not begin
    for line in map(str.strip, text.splitlines()):
        figures = _figures(line, heading, above)
        if not line:
            heading = ""
        elif figures:
            output.figures += figures
        elif _HEADING.match(line):
            heading = line.strip('"')
            above = heading if heading.endswith("load latency") else above
        elif condition := _CONDITION.fullmatch(line):
            said.append((condition[1], condition[2]))
        elif _LIKE_A_FIGURE.match(line):
            output.left_out.append(f"{heading}: {line}" if heading and line[0] in "-0123456789" else line)
        output.dates += [line] if line.startswith("[") else []
        ended = not begin or line.startswith("[") or (ended and not figures)
    output.conditions = conditions(said)
    output.left_out += [] if ended else [CUT]
    return output


def _figures(line: str, heading: str, above: str) -> list[Figure]:
    if match := _LINE.fullmatch(line):
        return [Figure(match[1], match[2], match[3])]
    if (match := _POINT.fullmatch(line)) and (place := _place(heading, above, number(match[1]))):
        return [Figure(place[0], match[2], place[1])]
    if heading.capitalize() == "File system latency" and (match := _FILES.fullmatch(line)):
        row, note = f"File system latency: {match[1]}", f"{match[2]} files"
        return [Figure(f"{row}, {end}", match[at], "files/sec", note) for at, end in ((3, "created"), (4, "deleted"))]
    return []


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
    """The nearest power of two, or one and a half times one, for few digits are printed; others stay as they are."""
    below = 1 << max(0, round(size).bit_length() - 1)
    near = (each for each in (below, 3 * below // 2, 2 * below) if each and abs(size / each - 1) < 0.03)
    return next(near, round(size))
