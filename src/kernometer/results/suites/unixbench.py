"""UnixBench's reports as text, of versions 4 and 5: a run has a part for each number of parallel copies."""

from __future__ import annotations

import re

from kernometer.results.suites.output import CUT, NUMBER, Figure, Output, conditions

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
    """The file's runs: each begins with the suite's name and version."""
    found = [*BEGIN.finditer(text)]
    ends = [*(one.start() for one in found[1:]), len(text)]
    return [_run(text[one.start() : end], one[1]) for one, end in zip(found, ends, strict=True)]


def _run(text: str, version: str) -> Output:
    output = Output("UnixBench", version)
    said, part, copies, figures, ended, in_index = [], "", "", 0, False, False
    for line in map(str.strip, text.splitlines()):
        if found := _COPIES.search(line):
            output.left_out += _unfinished(part) if part and not figures else []
            part, figures, ended, in_index = found[1], 0, False, False
            copies = "" if part.startswith("1 ") else f" ({part})"
        elif found := _FIGURE.fullmatch(line):
            output.figures.append(Figure(found["row"] + copies, found["value"], found["unit"], found["note"]))
            figures += 1
        elif found := _SCORE.fullmatch(line):
            output.figures.append(Figure(found["row"] + copies, found["value"], ""))
            ended, in_index = True, False
        elif "No index results" in line:
            ended = True
        elif _INDEX.search(line):
            in_index = True  # each result once more, with its index
        elif found := _CONDITION.match(line):
            said.append(("OS" if found[1].endswith("-") else found[1][:-1], found[2]))  # version 4 has "System --"
        elif not in_index and _LIKE_A_FIGURE.search(line):
            output.left_out.append(line)
    output.left_out += [] if ended else _unfinished(part)
    output.conditions = conditions(said)
    return output


def _unfinished(part: str) -> list[str]:
    """A part without figures, or a last one without an index and without the reason for having none."""
    return [f"{CUT} ({part})" if part else CUT]
