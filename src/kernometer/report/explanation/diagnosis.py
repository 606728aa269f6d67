"""Findings of `kernometer explain` for the terminal and as JSON, the rules that tell them, and causes for the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from kernometer.explain.diagnosis import STATED, Confidence, Diagnosis, Evidence, Finding, Rules, Undecided, diagnose
from kernometer.explain.systems import System, of_session
from kernometer.report.comparison.view import Cause
from kernometer.report.session.systems import Subject
from kernometer.report.words.names import sentence as safe
from kernometer.report.words.units import NOTHING, counted, format_value, ratio_text
from kernometer.report.write.document import pick, plain
from kernometer.report.write.terminal import Block, Grid, Line
from kernometer.stats.model import Comparison
from kernometer.tables import packaged
from kernometer.text import printable, some

#: Rows of a family of undecided ones, of a finding's figures, and of rules that lack rows, before the rest is counted.
SHOWN, FIGURES, LACKING = 4, 6, 3
#: Kinds of findings that say why one side costs more, or why its figures cannot be taken as they are.
KINDS = ("cause", "flaw")
_COLOURS = {Confidence.SHOWN: "green", Confidence.LIKELY: "green", Confidence.REFUTED: "dim"}


def blocks(diagnosis: Diagnosis, remarks: Sequence[str]) -> Iterator[Block]:
    """For the terminal: the sentence, what else differs, the findings, what stays undecided, the cost ladder."""
    yield Line(printable(sentence(diagnosis)), "bold")
    yield from (Line(printable(line), "yellow") for line in remarks)
    letters = dict(
        zip((system.name for system in diagnosis.systems), "AB" if len(diagnosis.systems) > 1 else ("",), strict=True)
    )
    if len(letters) > 1:
        yield Line(printable("; ".join(f"{letter}: {name}" for name, letter in letters.items())))
    groups: dict[tuple[str, Confidence], dict[str, Finding]] = {}
    for finding in diagnosis.findings:  # what one rule says of both systems with equal confidence is printed once
        groups.setdefault((finding.rule.name, finding.confidence), {})[letters[finding.system]] = finding
    for alike in groups.values():
        yield from _finding_lines(alike, diagnosis.systems)
    for rest in diagnosis.undecided:
        yield from _undecided_lines(rest)
    if diagnosis.ladder:
        yield Line("Cost ladder, each rung in null calls", "bold", apart=True)
        yield _ladder(diagnosis)


def sentence(diagnosis: Diagnosis) -> str:
    """How many findings of each kind, and how many rows stay undecided."""
    names = " against ".join(system.name for system in reversed(diagnosis.systems))
    kinds = [
        finding.kind.partition(" ")[0] for finding in diagnosis.findings if finding.confidence is not Confidence.REFUTED
    ]
    told = (("cause", ""), ("flaw", " of the figures"), ("claim", " of the literature"))
    words = ", ".join(counted(kinds.count(kind), kind) + rest for kind, rest in told)
    rows = counted(sum(len(group.rows) for group in diagnosis.undecided), "row")
    return f"{names}: {words}" + (f"; {rows} undecided." if len(diagnosis.systems) > 1 else ".")


def words(evidence: Evidence) -> str:
    """The evidence in words, with its number."""
    value = evidence.value.value
    plain = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return evidence.words.replace("{t}", format_value(value, evidence.value.unit or "ns")).replace("{}", plain)


def _finding_lines(alike: Mapping[str, Finding], systems: Sequence[System]) -> Iterator[Block]:
    """What a rule says of each of these systems, by letter."""
    first = next(iter(alike.values()))
    rule, confidence = first.rule, first.confidence
    where = f" in {' and '.join(alike)}" if "" not in alike else ""
    lead = f"{first.kind}{where}: {rule.claim}"
    yield Line(f" [{confidence.name.lower()}]", _COLOURS.get(confidence, "yellow"), lead=lead, apart=True)
    for letter, finding in alike.items():
        for evidence in finding.evidence:
            if len(alike) == 1 or not evidence.of_other:  # the other system has its own line
                yield _indented(f"- {f'{letter}: ' if len(alike) > 1 else ''}{words(evidence)}")
    rows = [*dict.fromkeys(row for finding in alike.values() for evidence in finding.evidence for row in evidence.rows)]
    grid = [(printable(row), *(shown(system, row) for system in systems)) for row in rows[:FIGURES]]
    heads = [("", *"AB")] if len(systems) > 1 else []
    more = [(f"and {counted(len(rows) - FIGURES, 'more row')}",)] if len(rows) > FIGURES else []
    yield Grid((), [*heads, *grid, *more], left=range(3), indent=4)
    yield _indented(f"refuted if: {rule.refute}")
    for letter, finding in alike.items():
        if finding.outcome:
            verdict = "refuted" if confidence is Confidence.REFUTED else "not refuted"
            yield _indented(f"here{f', {letter}' if letter else ''}: {words(finding.outcome)}: {verdict}")
    if rule.refuted_if and not first.outcome:
        yield _indented("the rows that could refute it are not here, or do not decide")
    if rule.source:
        yield _indented(f"source: {rule.source}", "dim")


def _indented(text: str, style: str = "") -> Line:
    return Line(printable(text), style, indent=2)


def shown(system: System, row: str) -> str:
    """A figure as its result shows it."""
    figure = system.shown.get(row)
    if figure is None:
        return NOTHING
    return printable(figure.printed, 30) or format_value(figure.value, figure.unit)


def _undecided_lines(group: Undecided) -> Iterator[Block]:
    known = sorted((ratio for _, ratio in group.rows if 0 < ratio < math.inf), key=lambda ratio: abs(math.log(ratio)))
    ends = dict.fromkeys(map(ratio_text, (*known[:1], *known[-1:])))
    what = f"{counted(len(group.rows), 'row')} of {group.family} differ{'' if len(group.rows) > 1 else 's'}"
    if group.family == STATED:
        what = f"{counted(len(group.rows), 'ratio')} that the text states"
    yield Line(f"undecided: {what}{', by ' if ends else ''}{' to '.join(ends)}", "bold", apart=True)
    rows = [
        f"{row} {f'{ratio_text(ratio)}×' if math.isfinite(ratio) and ratio else '(a number on one side only)'}"
        for row, ratio in group.rows
    ]
    yield _indented(some(rows, SHOWN, between="; "))
    for rule, lacking in group.lacking[:LACKING]:
        yield _indented(f"{rule} cannot tell without {', '.join(lacking[:LACKING])}")
    if group.excluded:
        yield _indented(f"excluded by rows that are here: {', '.join(group.excluded)}")
    if group.family == STATED:
        yield _indented("the paper prints no rows, and every rule needs some: nothing about the cause can be decided")
    elif not group.lacking and not group.excluded:
        yield _indented("no rule speaks of these rows; rows of what they consist of, or a profile, could tell")


def _ladder(diagnosis: Diagnosis) -> Grid:
    calls = diagnosis.ladder.get("a null call", (None,) * len(diagnosis.systems))
    rows = []
    for what, costs in diagnosis.ladder.items():
        cells = [what]
        for cost, call in zip(costs, calls, strict=True):
            cells.append(format_value(cost.value, cost.unit) if cost else NOTHING)
            cells.append(f"{cost.value / call.value:.2g}" if cost and call else "")
        rows.append(cells)
    return Grid(
        ("", *(head for system in diagnosis.systems for head in (printable(system.name, 24), "×"))), rows, cut=True
    )


def document(diagnosis: Diagnosis, remarks: Iterable[str]) -> dict[str, Any]:
    """`explain --json`."""
    return {
        "systems": [pick(system, "name", "by") for system in diagnosis.systems],
        "sentence": sentence(diagnosis),
        "remarks": [*remarks],
        "findings": [_finding(finding, diagnosis.systems) for finding in diagnosis.findings],
        "undecided": [
            {
                "family": group.family,
                "rows": [{"row": row, "ratio": ratio if math.isfinite(ratio) else None} for row, ratio in group.rows],
                "lacking": [{"rule": rule, "rows": [*rows]} for rule, rows in group.lacking],
                "excluded": [*group.excluded],
            }
            for group in diagnosis.undecided
        ],
        "ladder": [{"what": what, "costs": plain(costs)} for what, costs in diagnosis.ladder.items()],
    }


def _finding(finding: Finding, systems: Sequence[System]) -> dict[str, Any]:
    return {
        "rule": finding.rule.name,
        "kind": finding.kind,
        "system": finding.system,
        "other": finding.other,
        "claim": finding.rule.claim,
        "confidence": finding.confidence.name.lower(),
        "evidence": [
            {
                "text": words(each),
                "value": each.value.value,
                "unit": each.value.unit,
                "rows": [{"row": row, "figures": [shown(system, row) for system in systems]} for row in each.rows],
            }
            for each in finding.evidence
        ],
        "refute": finding.rule.refute,
        "outcome": words(finding.outcome) if finding.outcome else "",
        "source": finding.rule.source,
    }


@cache
def rules() -> Rules:
    document = packaged("kernometer.explain", "rules.toml")
    named = [{"name": name, **rest} for name, rest in document["rule"].items()]
    return msgspec.convert({**document, "rule": named}, Rules)


def causes(a: Subject, b: Subject, comparison: Comparison) -> list[Cause]:
    """Why B differs from A, the surest cause first; none between times and counts."""
    if len({result.session.by for result in (*a.results, *b.results)}) != 1:
        return []
    sides = [of_session(subject.key, subject.results[0], subject.figures[0], comparison) for subject in (a, b)]
    findings = diagnose(rules(), sides[0], sides[1], {row.row: row for row in comparison.rows}).findings
    told = [finding for finding in findings if finding.kind in KINDS and finding.confidence > Confidence.UNDECIDED]
    told.sort(key=lambda finding: -finding.confidence)
    letters = {subject.key: subject.letter for subject in (a, b)}
    return [_cause(finding, letters[finding.system]) for finding in told]


def _cause(finding: Finding, letter: str) -> Cause:
    return Cause(
        title=safe(f"{finding.kind} in {letter}: {finding.rule.claim}"),
        confidence=finding.confidence.name.lower(),
        evidence=tuple(safe(words(each)) for each in finding.evidence),
        refute=safe(finding.rule.refute),
    )
