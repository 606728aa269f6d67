"""Findings of `kernometer explain` for the terminal, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kernometer.explain.diagnosis import STATED, Confidence, Diagnosis, Evidence, Finding, Undecided
from kernometer.explain.systems import System
from kernometer.report.words.units import NOTHING, counted, format_value, ratio_text
from kernometer.text import printable

if TYPE_CHECKING:
    from rich.console import Console

#: Rows of a family of undecided ones, of a finding's figures, and of rules that lack rows, before the rest is counted.
SHOWN, FIGURES, LACKING = 4, 6, 3
_COLOURS = {Confidence.SHOWN: "green", Confidence.LIKELY: "green", Confidence.REFUTED: "dim"}


def print_diagnosis(console: Console, of: Diagnosis, remarks: Sequence[str]) -> None:
    """The sentence, what else differs, the findings, what stays undecided, the cost ladder."""
    console.print(Text(printable(sentence(of)), "bold"))
    for line in remarks:
        console.print(Text(printable(line), "yellow"))
    letters = dict(zip((one.name for one in of.systems), "AB" if len(of.systems) > 1 else ("",), strict=True))
    if len(letters) > 1:
        console.print(Text(printable("; ".join(f"{letter}: {name}" for name, letter in letters.items()))))
    groups: dict[tuple[str, Confidence], dict[str, Finding]] = {}
    for one in of.findings:  # what one rule says of both systems with equal confidence is printed once
        groups.setdefault((one.rule.name, one.confidence), {})[letters[one.system]] = one
    for alike in groups.values():
        _print_finding(console, alike, of.systems)
    for rest in of.undecided:
        _print_undecided(console, rest)
    if of.ladder:
        console.print()
        console.print(Text("Cost ladder, each rung in null calls", "bold"))
        console.print(_ladder(of))


def sentence(of: Diagnosis) -> str:
    """How many findings of each kind, and how many rows stay undecided."""
    names = " against ".join(one.name for one in reversed(of.systems))
    kinds = [one.kind.partition(" ")[0] for one in of.findings if one.confidence is not Confidence.REFUTED]
    told = (("cause", ""), ("flaw", " of the figures"), ("claim", " of the literature"))
    words = ", ".join(counted(kinds.count(kind), kind) + rest for kind, rest in told)
    rows = counted(sum(len(one.rows) for one in of.undecided), "row")
    return f"{names}: {words}" + (f"; {rows} undecided." if len(of.systems) > 1 else ".")


def words(of: Evidence) -> str:
    """With the number in them."""
    value = of.value.value
    plain = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return of.words.replace("{t}", format_value(value, of.value.unit or "ns")).replace("{}", plain)


def _print_finding(console: Console, alike: Mapping[str, Finding], systems: Sequence[System]) -> None:
    """What a rule says of each of these systems, by letter."""
    first = next(iter(alike.values()))
    rule, confidence = first.rule, first.confidence
    where = f" in {' and '.join(alike)}" if "" not in alike else ""
    console.print()
    head = Text(f"{first.kind}{where}: {rule.claim}", "bold")
    console.print(head + Text(f" [{confidence.name.lower()}]", _COLOURS.get(confidence, "yellow")))
    for letter, one in alike.items():
        for evidence in one.evidence:
            if len(alike) == 1 or not evidence.of_other:  # the other system has its own line
                _indent(console, f"- {f'{letter}: ' if len(alike) > 1 else ''}{words(evidence)}")
    rows = [*dict.fromkeys(row for one in alike.values() for evidence in one.evidence for row in evidence.rows)]
    grid = Table.grid(padding=(0, 2, 0, 0))
    if len(systems) > 1:
        grid.add_row("", *"AB")
    for row in rows[:FIGURES]:
        grid.add_row(Text(printable(row)), *(Text(shown(system, row)) for system in systems))
    if len(rows) > FIGURES:
        grid.add_row(f"and {counted(len(rows) - FIGURES, 'more row')}")
    console.print(Padding(grid, (0, 0, 0, 4)))
    _indent(console, f"refuted if: {rule.refute}")
    for letter, one in alike.items():
        if one.outcome:
            verdict = "refuted" if confidence is Confidence.REFUTED else "not refuted"
            _indent(console, f"here{f', {letter}' if letter else ''}: {words(one.outcome)}: {verdict}")
    if rule.refuted_if and not first.outcome:
        _indent(console, "the rows that could refute it are not here, or do not decide")
    if rule.source:
        _indent(console, f"source: {rule.source}", "dim")


def _indent(console: Console, text: str, style: str = "") -> None:
    console.print(Padding(Text(printable(text), style), (0, 0, 0, 2)))


def shown(system: System, row: str) -> str:
    """A figure as the result has it."""
    figure = system.shown.get(row)
    if figure is None:
        return NOTHING
    return printable(figure.printed, 30) or format_value(figure.value, figure.unit)


def _print_undecided(console: Console, of: Undecided) -> None:
    known = sorted((ratio for _, ratio in of.rows if 0 < ratio < math.inf), key=lambda ratio: abs(math.log(ratio)))
    ends = dict.fromkeys(map(ratio_text, (*known[:1], *known[-1:])))
    what = f"{counted(len(of.rows), 'row')} of {of.family} differ{'' if len(of.rows) > 1 else 's'}"
    if of.family == STATED:
        what = f"{counted(len(of.rows), 'ratio')} that the text states"
    console.print()
    console.print(Text(f"undecided: {what}{', by ' if ends else ''}{' to '.join(ends)}", "bold"))
    rows = (
        f"{row} {f'{ratio_text(ratio)}×' if math.isfinite(ratio) and ratio else '(a number on one side only)'}"
        for row, ratio in of.rows[:SHOWN]
    )
    _indent(console, "; ".join(rows) + (f" and {len(of.rows) - SHOWN} more" if len(of.rows) > SHOWN else ""))
    for rule, lacking in of.lacking[:LACKING]:
        _indent(console, f"{rule} cannot tell without {', '.join(lacking[:LACKING])}")
    if of.excluded:
        _indent(console, f"excluded by rows that are here: {', '.join(of.excluded)}")
    if of.family == STATED:
        _indent(console, "the paper prints no rows, and every rule needs some: nothing about the cause can be decided")
    elif not of.lacking and not of.excluded:
        _indent(console, "no rule speaks of these rows; rows of what they consist of, or a profile, could tell")


def _ladder(of: Diagnosis) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("")
    for system in of.systems:
        table.add_column(printable(system.name, 24), justify="right")
        table.add_column("×", justify="right")
    calls = of.ladder.get("a null call", (None,) * len(of.systems))
    for what, costs in of.ladder.items():
        cells: list[str] = []
        for cost, call in zip(costs, calls, strict=True):
            cells.append(format_value(cost.value, cost.unit) if cost else NOTHING)
            cells.append(f"{cost.value / call.value:.2g}" if cost and call else "")
        table.add_row(what, *cells)
    return table


def document(of: Diagnosis, remarks: Iterable[str]) -> dict[str, Any]:
    """`explain --json`."""
    return {
        "systems": [{"name": one.name, "by": one.by} for one in of.systems],
        "sentence": sentence(of),
        "remarks": [*remarks],
        "findings": [_finding(one, of.systems) for one in of.findings],
        "undecided": [
            {
                "family": one.family,
                "rows": [{"row": row, "ratio": ratio if math.isfinite(ratio) else None} for row, ratio in one.rows],
                "lacking": [{"rule": rule, "rows": [*rows]} for rule, rows in one.lacking],
                "excluded": [*one.excluded],
            }
            for one in of.undecided
        ],
        "ladder": [
            {"what": what, "costs": [cost and cost._asdict() for cost in costs]} for what, costs in of.ladder.items()
        ],
    }


def _finding(one: Finding, systems: Sequence[System]) -> dict[str, Any]:
    return {
        "rule": one.rule.name,
        "kind": one.kind,
        "system": one.system,
        "other": one.other,
        "claim": one.rule.claim,
        "confidence": one.confidence.name.lower(),
        "evidence": [
            {
                "text": words(each),
                "value": each.value.value,
                "unit": each.value.unit,
                "rows": [{"row": row, "figures": [shown(system, row) for system in systems]} for row in each.rows],
            }
            for each in one.evidence
        ],
        "refute": one.rule.refute,
        "outcome": words(one.outcome) if one.outcome else "",
        "source": one.rule.source,
    }
