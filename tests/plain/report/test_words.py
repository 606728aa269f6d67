"""Every flag has words, and reading statistics costs nothing until it is asked for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kernometer.report.words.flags import WORDS, explain
from kernometer.stats.model import FlagCode

DOCS = Path(__file__).parents[3] / "docs" / "statistics.md"
STATS = Path(__file__).parents[3] / "src" / "kernometer" / "stats"


@pytest.mark.parametrize("code", FlagCode, ids=lambda code: code.value)
def test_every_flag_is_worded(code: FlagCode) -> None:
    words = WORDS[code]
    assert words.label and len(words.letter) == 1
    assert words.sentence.endswith(".")
    for command in (False, True):
        assert explain(code, command=command).startswith(f"{words.sentence} {words.advice}")
        assert explain(code, command=command).endswith(".")


@pytest.mark.parametrize("code", [FlagCode.BELOW_RESOLUTION, FlagCode.COARSE_CLOCK], ids=lambda code: code.value)
def test_advice_names_only_what_was_given(code: FlagCode) -> None:
    """Broken: "leave out --batch" where nobody gave it."""
    assert "--" not in explain(code)
    assert "--batch" in explain(code, {"batch"}) and "--clock" not in explain(code, {"batch"})
    assert "--clock" in explain(code, {"clock", "runs"})
    assert "--seconds" in explain(code, command=True) and "--batch" not in explain(code, command=True)


def test_labels_are_told_apart() -> None:
    assert (
        len({words.label for words in WORDS.values()}) == len({words.letter for words in WORDS.values()}) == len(WORDS)
    )


def test_importing_the_rules_imports_neither_numpy_nor_scipy() -> None:
    """Expected: `kernometer --help` may import any of them. Broken: it takes half a second."""
    modules = ", ".join(f"kernometer.stats.{path.stem}" for path in STATS.glob("*.py") if path.stem != "__init__")
    code = f"import sys, {modules}; sys.exit(any(name in sys.modules for name in ('numpy', 'scipy')))"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_documented_sections_exist() -> None:
    """Expected: a docstring that names a section of docs/statistics.md names one that is there."""
    text = DOCS.read_text(encoding="utf-8")
    headings = {line.lstrip("# ").strip() for line in text.splitlines() if line.startswith("##")}
    named = {
        name
        for path in (*STATS.glob("*.py"), STATS.parent / "report" / "words" / "flags.py")
        for line in re.findall(r"docs/statistics\.md,((?: \"[^\"]+\"(?: and)?)+)", path.read_text(encoding="utf-8"))
        for name in re.findall(r"\"([^\"]+)\"", line)
    }
    assert len(named) > 10
    assert named <= headings


def test_every_threshold_is_documented() -> None:
    """Expected: each named constant of a rule stands in docs/statistics.md. Broken: a number nobody can question."""
    text = DOCS.read_text(encoding="utf-8")
    constants = {
        name
        for path in STATS.glob("*.py")
        for line in re.findall(r"^([A-Z][A-Z_0-9, ]+) = [(\s]*\d", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for name in re.split(r",\s*", line)
    }
    assert len(constants) > 25
    assert {name for name in constants if f"`{name}`" not in text} == {"TEXT_LIMIT", "NAME_LIMIT", "SHORT"}
