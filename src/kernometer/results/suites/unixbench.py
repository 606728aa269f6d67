"""UnixBench's reports as text, of versions 4 and 5: a run has a part for each number of parallel copies."""

from __future__ import annotations

import re

from kernometer.results.suites.output import CUT, NUMBER, Figure, Output, conditions, runs

BEGIN = re.compile(r"^.{0,80}?BYTE UNIX Benchmarks +\(Version ([\d.]*)", re.M)
_FIGURE = re.compile(
    rf"(?P<row>\S.{{0,60}}?)[ \t]{{1,60}}(?P<value>{NUMBER}) {{0,9}}(?P<unit>[A-Za-z]{{1,9}}) {{1,9}}"
    r"\((?P<note>[\d.]{1,15} s(?:ecs)?, \d{1,9} samples)\)"
)
_COPIES = re.compile(r"running (\d{1,9} parallel cop(?:y|ies))")
_INDEX = re.compile(r"Index Values|Partial Index|INDEX VALUES")
_SCORE = re.compile(rf"(?P<row>.{{0,60}}\b(?:Index Score(?: \(Partial Only\))?|FINAL SCORE))\s+(?P<value>{NUMBER})")
_CONDITION = re.compile(r"(System --|(?:System|OS|Machine|CPU \d+|Graphics|(?:Start |End )?Benchmark Run):) (.+)")
_LIKE_A_FIGURE = re.compile(r"\d ?(?:lp[sm]|MWIPS|KBps)\b|\d samples\)|no measured results", re.I)


def read(text: str) -> list[Output]:
    """The file's runs, each of which begins with the suite's name and version."""
    return [_run(part, version) for part, version in runs(text, BEGIN)]


def _run(text: str, version: str) -> Output:
    output = Output("UnixBench", version)
    said, part, copies, figures, ended, in_index = [], "", "", 0, False, False
    for line in map(str.strip, text.splitlines()):
        if match := _COPIES.search(line):
            output.left_out += _unfinished(part) if part and not figures else []
            part, figures, ended, in_index = match[1], 0, False, False
            copies = "" if part.startswith("1 ") else f" ({part})"
        elif match := _FIGURE.fullmatch(line):
            output.figures.append(Figure(match["row"] + copies, match["value"], match["unit"], match["note"]))
            figures += 1
        elif match := _SCORE.fullmatch(line):
            output.figures.append(Figure(match["row"] + copies, match["value"], ""))
            ended, in_index = True, False
        elif "No index results" in line:
            ended = True
        elif _INDEX.search(line):
            in_index = True  # which repeats each result, with its index
        elif match := _CONDITION.match(line):
            said.append(("OS" if match[1].endswith("-") else match[1][:-1], match[2]))  # version 4 has "System --"
        elif not in_index and _LIKE_A_FIGURE.search(line):
            output.left_out.append(line)
    output.left_out += [] if ended else _unfinished(part)
    output.conditions = conditions(said)
    output.dates += [date for name, when in said if "Benchmark Run" in name for date in _dates(when)]
    return output


def _dates(when: str) -> list[str]:
    """Of version 4 one; of version 5 `Sat Nov 28 2026 11:18:01 - 11:46:12` is two."""
    begin, _, end = when.partition(" - ")
    return [begin, re.sub(r"\d\d:\d\d:\d\d", lambda _: end, begin)] if end else [begin]


def _unfinished(part: str) -> list[str]:
    """The end of a part without figures, or of a last one without an index or the reason for having none."""
    return [f"{CUT} ({part})" if part else CUT]
