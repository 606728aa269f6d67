"""The rules of `kernometer explain` that come with the package, and the causes that they tell of a comparison."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

import msgspec

from kernometer.explain.diagnosis import Confidence, Finding, Rules, diagnose
from kernometer.explain.systems import of_session
from kernometer.report.explanation.diagnosis import words
from kernometer.report.session.systems import Subject, sentence
from kernometer.report.session.view import Cause
from kernometer.stats.model import Comparison

#: Kinds of findings that say why one side costs more, or why its figures cannot be taken as they are.
KINDS = ("cause", "flaw")


@cache
def rules() -> Rules:
    document = tomllib.loads(files("kernometer.explain").joinpath("rules.toml").read_text(encoding="utf-8"))
    named = [{"name": name, **rest} for name, rest in document["rule"].items()]
    return msgspec.convert({**document, "rule": named}, Rules)


def causes(a: Subject, b: Subject, comparison: Comparison) -> list[Cause]:
    """Why B differs from A, the surest first; none where times are held against counts."""
    if len({one.session.by for one in (*a.results, *b.results)}) != 1:
        return []
    sides = [of_session(one.key, one.results[0], one.figures[0], comparison) for one in (a, b)]
    found = diagnose(rules(), sides[0], sides[1], {row.row: row for row in comparison.rows}).findings
    told = [one for one in found if one.kind in KINDS and one.confidence > Confidence.UNDECIDED]
    told.sort(key=lambda one: -one.confidence)
    letters = {one.key: one.letter for one in (a, b)}
    return [_cause(one, letters[one.system]) for one in told]


def _cause(one: Finding, letter: str) -> Cause:
    return Cause(
        title=sentence(f"{one.kind} in {letter}: {one.rule.claim}"),
        confidence=one.confidence.name.lower(),
        evidence=tuple(sentence(words(each)) for each in one.evidence),
        refute=sentence(one.rule.refute),
    )
