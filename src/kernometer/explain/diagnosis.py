"""Why two systems differ, or what is odd in one: the rules of rules.toml, applied to costs by row. docs/explain.md.

A finding is a claim with the rows that led to it, a confidence, and what would refute it. Rows that differ and that no
finding explains are an undecided finding, with the rules that could speak if some rows were measured.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Literal, NamedTuple, get_args

import msgspec

from kernometer.explain.expression import Holds, condition, expression, holds, mentioned, value
from kernometer.explain.systems import Interval, Pair, System, differing
from kernometer.results.rows import Row
from kernometer.stats.model import RowComparison
from kernometer.tables import grouped

Kind = Literal["cause", "flaw", "claim refuted", "claim confirmed", "trait"]

#: The family of ratios that a paper states without rows.
STATED = "stated"


class Confidence(IntEnum):
    """In order. docs/explain.md defines them."""

    REFUTED = 0  #: the rows led to the claim, and the refuting row refutes it
    UNDECIDED = 1  #: no rule can tell
    HYPOTHESIS = 2  #: the rows agree with the claim, and would agree with other causes
    LIKELY = 3  #: and rows that another cause would have moved have not moved
    SHOWN = 4  #: arithmetic, or the refuting row is there and does not refute it


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


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of rules.toml."""

    rule: tuple[Rule, ...]
    ladder: tuple[tuple[str, str], ...]  #: what each rung of the cost ladder is, and its sum

    def __post_init__(self) -> None:
        """Raises LanguageError."""
        for rule in self.rule:
            for text, _ in (*rule.when, *filter(None, (rule.refuted_if, rule.confirmed_if))):
                condition(text)
        for text in (*(text for rule in self.rule for text, _ in rule.show), *(text for _, text in self.ladder)):
            expression(text)


class Evidence(NamedTuple):
    """`words` have `{}` in place of the number, or `{t}` if that is a cost."""

    words: str
    value: Interval
    rows: tuple[str, ...]
    of_other: bool = False  #: it is only about the other system


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim about `system`, compared with `other` if the rule compares."""

    rule: Rule
    kind: Kind  #: the rule's; but a cause in one system becomes a trait if both systems have it
    system: str
    other: str
    confidence: Confidence
    evidence: tuple[Evidence, ...]
    outcome: Evidence | None = None  #: what the refuting row says; None if there is none


class Undecided(NamedTuple):
    """Rows of one family that differ without an explanation: `rows` with their ratios, B to A."""

    family: str
    rows: tuple[tuple[str, float], ...]
    lacking: tuple[tuple[str, tuple[str, ...]], ...]  #: rules that could speak, and the rows that they lack
    excluded: tuple[str, ...]  #: rules whose rows are there and deny the claim


@dataclass(frozen=True, slots=True)
class Diagnosis:
    systems: tuple[System, ...]
    findings: tuple[Finding, ...]
    undecided: tuple[Undecided, ...]
    ladder: Mapping[str, tuple[Interval | None, ...]]  #: the rungs, and the cost of each on each system


def diagnose(
    rules: Rules, a: System, b: System | None = None, judged: Mapping[str, RowComparison] | None = None
) -> Diagnosis:
    """Findings about A, about B, and about their difference. `judged`: B compared with A, by row."""
    given = judged or {}
    pairs = [Pair(a, b, given, "Y"), Pair(b, a, given, "X")] if b is not None else [Pair(a)]
    spoken: list[Finding] = []
    unsure: dict[str, tuple[str, ...]] = {}
    said_no: list[str] = []
    for rule in rules.rule:
        answers = [_apply(rule, pair) for pair in pairs]
        spoken += [answer for answer in answers if isinstance(answer, Finding)]
        if all(answer is None for answer in answers):
            said_no.append(rule.name)
        elif lacking := next((answer for answer in answers if answer and not isinstance(answer, Finding)), None):
            unsure[rule.name] = lacking
    replaced = {(name, finding.system) for finding in spoken for name in finding.rule.instead_of}
    findings = [finding for finding in spoken if (finding.rule.name, finding.system) not in replaced]
    alike = [finding.rule.name for finding in findings if finding.kind == "cause" and not finding.other]
    findings = [
        replace(finding, kind="trait") if alike.count(finding.rule.name) == 2 else finding for finding in findings
    ]
    findings.sort(key=lambda finding: (get_args(Kind).index(finding.kind), -finding.confidence))
    rest = _unexplained(differing(a, b, given), findings, a.stated) if b is not None else {}
    undecided = []
    for family, rows in rest.items():
        could = [rule.name for rule in rules.rule if any(Row(row).is_like(*rule.explains) for row, _ in rows)]
        measurable = [name for name in could if name in unsure and all("/" in row for row in unsure[name])]
        excluded = tuple(name for name in could if name in said_no)
        undecided.append(Undecided(family, tuple(rows), tuple((name, unsure[name]) for name in measurable), excluded))
    ladder = {what: tuple(value(expression(sum_), Pair(pair.x)) for pair in pairs) for what, sum_ in rules.ladder}
    ladder = {what: costs for what, costs in ladder.items() if any(costs)}
    return Diagnosis(tuple(pair.x for pair in pairs), tuple(findings), tuple(undecided), ladder)


def _apply(rule: Rule, pair: Pair) -> Finding | tuple[str, ...] | None:
    """A finding; the rows that are missing; or None if the rows deny the claim."""
    conditions = [(condition(text), words) for text, words in rule.when]
    used = [figure for test, _ in conditions for side in (test.left, *test.comparators) for figure in mentioned(side)]
    of_two = any(figure.side == "Y" for figure in used)
    if rule.by not in ("", pair.x.by) or (of_two and pair.y is None):
        return ()
    held = {holds(test, pair) for test, _ in conditions}
    if Holds.NO in held:
        return None
    if Holds.UNKNOWN in held:
        return tuple(dict.fromkeys(figure.rows[0] for figure in used if not any(pair.costs(*figure).values())))
    stated = Confidence[rule.confidence.upper()]
    confidence = max(Confidence(stated - (Holds.BARELY in held)), Confidence.HYPOTHESIS)
    said: list[tuple[ast.expr, str]] = [*conditions, *((expression(text), words) for text, words in rule.show)]
    evidence = tuple(shown for node, words in said if words and (shown := _evidence(node, words, pair)))
    other = pair.y.name if of_two and pair.y else ""
    finding = Finding(rule, rule.kind, pair.x.name, other, confidence, evidence)
    for test, proves in ((rule.refuted_if, Confidence.REFUTED), (rule.confirmed_if, Confidence.SHOWN)):
        if test is not None:
            tested = condition(test[0])
            here, outcome = holds(tested, pair), _evidence(tested.left, test[1], pair)
            if here is Holds.YES:
                return replace(finding, confidence=proves, outcome=outcome)
            if here is Holds.NO and proves is Confidence.REFUTED:
                finding = replace(finding, outcome=outcome)
    return finding


def _evidence(node: ast.expr, words: str, pair: Pair) -> Evidence | None:
    """The evidence of a sum, or of the left side of a condition that holds."""
    if isinstance(node, ast.Compare):
        if holds(node, pair) not in (Holds.YES, Holds.BARELY):
            return None
        node = node.left
    interval = value(node, pair)
    if interval is None:
        return None
    used = [*mentioned(node)]
    rows = dict.fromkeys(row for figure in used for row in pair.costs(*figure))
    return Evidence(words, interval, tuple(rows), {figure.side for figure in used} == {"Y"})


def _unexplained(
    rows: Mapping[str, float], findings: Sequence[Finding], stated: Mapping[str, float]
) -> dict[str, list[tuple[str, float]]]:
    """The rows that no cause explains, by workload's family or by table."""
    real = [finding for finding in findings if finding.confidence > Confidence.UNDECIDED and finding.kind != "trait"]
    told = [form for finding in real for form in finding.rule.explains]

    def family(row: str) -> str:
        table, colon, _ = row.partition(": ")
        return STATED if row in stated else table if colon else Row(row).family

    return grouped((family(row), (row, ratio)) for row, ratio in rows.items() if not Row(row).is_like(*told))
