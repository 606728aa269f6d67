"""scripts/pairs.py, on findings that were made up."""

from __future__ import annotations

from typing import Any

from scripts.pairs import judge, table

PAIR: dict[str, Any] = {"what": "w", "by": "path", "must": ["one in B | two in B", "three in A"], "true": ["four in A"]}


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
    ]
    one = judge(PAIR, {"systems": [{"name": "a"}, {"name": "b"}], "findings": said})
    assert (one.found, one.missed, one.false, one.said) == (("two in B",), ("three in A",), ("three in B",), 3)
    assert table([one]).endswith("Found: 1 of 2; missed: 1; falsely said: 1 of 3 findings.")
