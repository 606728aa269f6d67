"""What runners are told to do exists here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.checkout import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_a_push_is_checked_by_what_the_readme_promises() -> None:
    """Expected: lint, tests here, the promise on the other Debian, the studies. Broken: a half that nobody runs."""
    [named] = re.findall(r"target: \[(.*)\]", (ROOT / ".github/workflows/check.yml").read_text())
    assert set(named.split(", ")) == {"lint", "test", "test-elsewhere", "studies"} <= TARGETS
    promised = re.findall(r"make ([a-z-]+)", (ROOT / ".ci/run").read_text())
    assert set(promised) <= set(named.split(", "))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_targets_of_the_makefile_within_a_limit_and_with_few_rights(path: Path) -> None:
    text = path.read_text()
    assert set(re.findall(r"^ +run: make ([a-z-]+)", text, re.MULTILINE)) <= TARGETS
    assert text.count("runs-on:") == text.count("timeout-minutes:") > 0
    assert "permissions:\n  contents: " in text
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+", action) for action in re.findall(r"uses: (.*)", text))
