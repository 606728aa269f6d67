"""studies/pairs.py, on findings that were made up."""

from __future__ import annotations

from typing import Any

from studies.pairs import judge

PAIR: dict[str, Any] = {"must": ["one in B | two in B", "three in A"], "true": ["four in A"], "false": ["seven in B"]}


def finding(rule: str, system: str, kind: str = "cause", confidence: str = "likely") -> dict[str, str]:
    return {"rule": rule, "system": system, "kind": kind, "confidence": confidence}


def test_what_is_said_is_held_against_what_is_known() -> None:
    """Expected: an alternative counts once, a wrong side is false, claims and refuted hypotheses are not counted."""
    said = [
        finding("two", "b"),
        finding("three", "b"),
        finding("four", "a", "trait"),
        finding("five", "a", "claim refuted"),
        finding("six", "a", confidence="refuted"),
        finding("seven", "a", "trait"),
        finding("seven", "b", "trait"),
    ]
    document = {"systems": [{"name": "a"}, {"name": "b"}], "findings": said}
    found, missed, false, counted = judge(PAIR, ["seven in A", "seven in B"], document)
    assert (found, missed, false) == (["two in B"], ["three in A"], ["three in B", "seven in B"])
    assert len(counted) == 5
