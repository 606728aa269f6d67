"""Is the checkout clean, and would the project's own rules notice if it were not?"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts.house import bad_fragments, bare_exceptions, bare_settings, has_reason, too_wide
from tests.support.turns import in_turn

ROOT = Path(__file__).parents[3]


QUICK_STEPS = ("ruff", "ruff-format", "mypy", "clang-format", "shellcheck", "house")


def lint(step: str, seconds: float) -> None:
    done = subprocess.run(
        [ROOT / "scripts/lint", step], capture_output=True, text=True, timeout=seconds, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("step", in_turn(QUICK_STEPS, 0.4, always={*QUICK_STEPS} - {"mypy", "clang-format"}))
def test_lint_finds_nothing(step: str) -> None:
    """Expected: `make lint` is clean. Its output says what is not."""
    lint(step, 500)


@pytest.mark.slow(minutes=3.4)
def test_the_static_analyser_finds_nothing() -> None:
    """Expected: the same of clang-tidy, which takes minutes for the kernel's C."""
    lint("clang-tidy", 1800)


def test_lint_knows_the_steps_that_are_tested() -> None:
    """Expected: a new step of scripts/lint has a test above. Broken: CI never runs it."""
    done = subprocess.run(
        [ROOT / "scripts/lint", "nothing"], capture_output=True, text=True, timeout=60, check=False, cwd=ROOT
    )
    assert done.returncode == 2
    said = done.stderr.rstrip().rpartition("there are: ")[2].rstrip(")")
    assert set(said.split()) == {*QUICK_STEPS, "clang-tidy"}


@pytest.mark.parametrize(
    ("name", "bare", "reasoned"),
    [
        ("a.py", "x = 1  # noqa: E501", "x = 1  # noqa: E501  # a table reads better wide"),
        ("a.py", "x = 1  # noqa: E501, S101", "x = 1  # noqa: E501, S101  # made by a tool"),
        ("a.py", "x = y  # type: ignore[assignment]", "x = y  # type: ignore[assignment]  # the stub is wrong"),
        ("a.py", "# fmt: off", "# fmt: off: columns are aligned"),
        ("a.h", "/* clang-format off */", "/* clang-format off: a table */"),
        ("a.c", "f(); // NOLINT(cert-err33-c)", "f(); // NOLINT(cert-err33-c): nothing to do about it"),
        ("a.sh", "# shellcheck disable=SC2016", "# shellcheck disable=SC2016 # an awk program"),
        ("scripts/run", "# shellcheck disable=SC2016,SC2034", "# shellcheck disable=SC2016,SC2034 # an awk program"),
    ],
)
def test_an_exception_without_a_reason_is_found(name: str, bare: str, reasoned: str) -> None:
    """Expected: the line is named. Broken: rules are switched off in silence."""
    [found] = bare_exceptions(name, f"\n{bare}\n")
    assert found.startswith(f"{name}:2: an exception without a reason: ")
    assert list(bare_exceptions(name, f"\n{reasoned}\n")) == []


def test_a_line_of_c_is_as_wide_as_the_screen() -> None:
    assert list(too_wide("a.c", f"\t{'x' * 112}\n")) == []
    assert list(too_wide("a.c", f"\n\t{'x' * 113}\n")) == ["a.c:2: 121 columns; 120 are the most"]


def test_a_setting_without_a_reason_is_found() -> None:
    text = '[tool.ruff.lint]\nignore = [\n    "S603",\n    "S607", # the PATH is the user\'s\n]\n'
    assert list(bare_settings(text)) == ["pyproject.toml:3: S603 is ignored without a reason on its line"]
    text = '[tool.ruff.lint.per-file-ignores]\n"tests/**" = ["S101"]\n'
    assert list(bare_settings(text)) == ["pyproject.toml:2: S101 is ignored without a reason on its line"]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("3.added.md", "`ab` measures two targets in turns.\n", ""),
        ("+bsd.fixed.md", "The probe builds on NetBSD.\n", ""),
        ("three.added.md", "A sentence.\n", "not <issue"),
        ("3.bugfix.md", "A sentence.\n", "not <issue"),
        ("3.fixed.md", "no full stop\n", "not a sentence"),
        ("3.fixed.md", "Two.\n\nParagraphs.\n", "not a sentence"),
        ("3.fixed.md", "", "not a sentence"),
        ("3.fixed.md", "x" * 500 + ".\n", "longer than"),
    ],
)
def test_a_news_fragment_is_a_sentence_of_a_known_kind(name: str, text: str, says: str) -> None:
    found = list(bad_fragments({name: text}))
    assert [says in line for line in found] == ([True] if says else [])


@pytest.mark.parametrize("text", ["", "  ", "#", ": E501", "reason", "x y"])
def test_one_word_is_no_reason(text: str) -> None:
    assert not has_reason(text)
