"""Why two systems differ, or what is odd in one: the rules of rules.toml applied to costs by row. docs/explain.md.

A finding is a claim with the rows that led to it, a confidence, and what would refute it. Rows that differ and that no
finding explains are a finding of their own, undecided, with the rules that could speak if some rows were measured.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from fnmatch import fnmatchcase
from typing import Any, Literal

import msgspec

from kernometer.explain.expression import (
    Condition,
    Figure,
    Holds,
    Interval,
    condition,
    expression,
    figures,
    is_condition,
    value,
)
from kernometer.explain.systems import Pair, System, differing
from kernometer.stats.model import RowComparison

Kind = Literal["cause", "flaw", "claim refuted", "claim confirmed", "trait"]


#: The family of ratios that a paper states without rows.
STATED = "stated"


class Confidence(IntEnum):
    """In order. docs/explain.md says what each takes."""

    REFUTED = 0  #: the rows led to the claim, and the row that would refute it does
    UNDECIDED = 1  #: no rule can tell
    HYPOTHESIS = 2  #: the rows are as the claim would have them, and other causes would do the same
    LIKELY = 3  #: and rows that another cause would have moved are where they should be
    SHOWN = 4  #: arithmetic, or the row that could refute it is there and does not


class Rule(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One of rules.toml, which explains the fields."""

    name: str
    claim: str
    when: tuple[tuple[str, str], ...]
    refute: str
    kind: Kind = "cause"
    confidence: Literal["hypothesis", "likely", "shown"] = "likely"
    by: Literal["", "time", "path"] = ""
    show: tuple[tuple[str, str], ...] = ()
    refuted_if: tuple[str, str] | None = None
    confirmed_if: tuple[str, str] | None = None
    explains: tuple[str, ...] = ()
    instead_of: tuple[str, ...] = ()
    source: str = ""


class Step(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One rung of the cost ladder."""

    what: str
    cost: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """`words` with `{}` at the place of the number, or `{t}` if that is a cost."""

    words: str
    value: Interval
    rows: tuple[str, ...]
    of_other: bool = False  #: it is about the other system alone


@dataclass(frozen=True, slots=True)
class Finding:
    """One claim about `system`, compared with `other` if the rule does."""

    rule: Rule
    kind: Kind  #: the rule's, but a trait where a cause in one system alone is there in both
    system: str
    other: str
    confidence: Confidence
    evidence: tuple[Evidence, ...]
    outcome: str = ""  #: what the refuting row says here; "" if it is not among the rows
    outcome_value: Interval | None = None


@dataclass(frozen=True, slots=True)
class Undecided:
    """Rows of one family that differ and that nothing explains: `rows` with their ratios, B to A."""

    family: str
    rows: tuple[tuple[str, float], ...]
    lacking: tuple[tuple[str, tuple[str, ...]], ...]  #: rules that could speak, and the rows that they lack
    excluded: tuple[str, ...]  #: rules whose rows are there and say no


@dataclass(frozen=True, slots=True)
class Rung:
    what: str
    costs: tuple[Interval | None, ...]  #: of each system


@dataclass(frozen=True, slots=True)
class Diagnosis:
    systems: tuple[System, ...]
    findings: tuple[Finding, ...]
    undecided: tuple[Undecided, ...]
    ladder: tuple[Rung, ...]


@dataclass(frozen=True, slots=True)
class Rules:
    rules: tuple[Rule, ...]
    ladder: tuple[Step, ...]


def rules_of(document: Mapping[str, Any]) -> Rules:
    """The contents of rules.toml. Raises msgspec.ValidationError, or LanguageError for a condition."""
    rules = tuple(msgspec.convert(document["rule"], list[Rule]))
    for rule in rules:
        for text, _ in (*rule.when, *filter(None, (rule.refuted_if, rule.confirmed_if))):
            condition(text)
        for text, _ in rule.show:
            condition(text) if is_condition(text) else expression(text)
    return Rules(rules, tuple(msgspec.convert(document["ladder"], list[Step])))


def diagnose(
    rules: Rules, a: System, b: System | None = None, judged: Mapping[str, RowComparison] | None = None
) -> Diagnosis:
    """Findings about A, about B, and about their difference. `judged`: B compared with A, by row."""
    given = judged or {}
    pairs = [Pair(a, b, given, "Y"), Pair(b, a, given, "X")] if b is not None else [Pair(a)]
    spoken: list[Finding] = []
    unsure: dict[str, tuple[str, ...]] = {}
    said_no: list[str] = []
    for rule in rules.rules:
        answers = [_apply(rule, pair) for pair in pairs]
        spoken += [one for one in answers if isinstance(one, Finding)]
        if all(one is None for one in answers):
            said_no.append(rule.name)
        elif lacking := next((one for one in answers if one and not isinstance(one, Finding)), None):
            unsure[rule.name] = lacking
    replaced = {(name, one.system) for one in spoken for name in one.rule.instead_of}
    findings = [one for one in spoken if (one.rule.name, one.system) not in replaced]
    alike = [one.rule.name for one in findings if one.kind == "cause" and not one.other]
    findings = [replace(one, kind="trait") if alike.count(one.rule.name) == len(_SIDES) else one for one in findings]
    findings.sort(key=lambda one: (_ORDER.index(one.kind), -one.confidence))
    undecided: tuple[Undecided, ...] = ()
    if b is not None:
        families = _families(differing(a, b, given), findings, a.stated)
        undecided = tuple(_undecided(rules, *each, unsure, said_no) for each in families.items())
    steps = [(step.what, expression(step.cost)) for step in rules.ladder]
    ladder = tuple(
        Rung(what, tuple(value(node, Pair(one)) for one in (a, b) if one is not None)) for what, node in steps
    )
    systems = (a,) if b is None else (a, b)
    return Diagnosis(systems, tuple(findings), undecided, tuple(one for one in ladder if any(one.costs)))


_SIDES = "AB"
_ORDER = ("cause", "flaw", "claim refuted", "claim confirmed", "trait")


def _apply(rule: Rule, pair: Pair) -> Finding | tuple[str, ...] | None:
    """A finding; the rows that are missing to tell; or None if the rows say no."""
    conditions = [(condition(text), words) for text, words in rule.when]
    of_two = any(figure.side == "Y" for one, _ in conditions for figure in one.figures())
    if rule.by not in ("", pair.x.by) or (of_two and pair.y is None):
        return ()
    held = {one.holds(pair) for one, _ in conditions}
    if Holds.NO in held:
        return None
    if held & {Holds.UNKNOWN, Holds.UNSURE}:
        return tuple(dict.fromkeys(row for one, _ in conditions for row in _absent(one, pair)))
    stated = Confidence[rule.confidence.upper()]
    confidence = max(Confidence(stated - (Holds.BARELY in held)), Confidence.HYPOTHESIS)
    said = [(one.left, words) for one, words in conditions]
    for text, words in rule.show:
        if not is_condition(text):
            said.append((expression(text), words))
        elif (only := condition(text)).holds(pair) in (Holds.YES, Holds.BARELY):
            said.append((only.left, words))
    evidence = tuple(found for node, words in said if (found := _evidence(node, words, pair)) is not None)
    other = pair.y.name if of_two and pair.y else ""
    finding = Finding(rule, rule.kind, pair.x.name, other, confidence, evidence)
    for test, proves in ((rule.refuted_if, Confidence.REFUTED), (rule.confirmed_if, Confidence.SHOWN)):
        if test is not None:
            tested = condition(test[0])
            held_here, measured = tested.holds(pair), value(tested.left, pair)
            if held_here is Holds.YES:
                return replace(finding, confidence=proves, outcome=test[1], outcome_value=measured)
            if held_here is Holds.NO and proves is Confidence.REFUTED:
                finding = replace(finding, outcome=test[1], outcome_value=measured)
    return finding


def _absent(one: Condition, pair: Pair) -> Iterator[str]:
    for figure in one.figures():
        if not any(cost.cost for row in figure.rows for cost in pair.costs(figure.side, row)):
            yield figure.rows[0]


def _evidence(node: ast.expr, words: str, pair: Pair) -> Evidence | None:
    found = value(node, pair)
    if found is None or not words:
        return None
    rows = [cost.row for figure in figures(node) for cost in _first(figure, pair)]
    other = {figure.side for figure in figures(node)} == {"Y"}
    return Evidence(words, found, tuple(dict.fromkeys(rows)), other)


def _first(figure: Figure, pair: Pair) -> Sequence[Any]:
    return next((found for row in figure.rows if (found := pair.costs(figure.side, row))), ())


def _families(
    rows: Mapping[str, float], findings: Sequence[Finding], stated: Mapping[str, float]
) -> dict[str, list[tuple[str, float]]]:
    """The rows that no cause accounts for, by workload's family or by table."""
    real = [one for one in findings if one.confidence > Confidence.UNDECIDED and one.kind != "trait"]
    told = [form for one in real for form in one.rule.explains]
    families: dict[str, list[tuple[str, float]]] = {}
    for row, ratio in rows.items():
        if not any(fnmatchcase(row, form) for form in told):
            table, colon, _ = row.partition(": ")
            family = STATED if row in stated else table if colon else row.partition("/")[0]
            families.setdefault(family, []).append((row, ratio))
    return families


def _undecided(
    rules: Rules,
    family: str,
    rows: Sequence[tuple[str, float]],
    unsure: Mapping[str, tuple[str, ...]],
    said_no: Sequence[str],
) -> Undecided:
    could = [
        rule.name for rule in rules.rules if any(fnmatchcase(row, form) for row, _ in rows for form in rule.explains)
    ]
    measurable = [
        name for name in could if name in unsure and all("/" in row for row in unsure[name])
    ]  # no paper's own
    lacking = tuple((name, unsure[name]) for name in measurable)
    return Undecided(family, tuple(rows), lacking, tuple(name for name in could if name in said_no))
