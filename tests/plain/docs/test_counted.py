"""Are the figures by path on the pages those that were counted last, or dated? Its namesake in guest/ counts."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.checkout import ROOT
from tests.support.docs import counted

#: Of the others in studies/sources test_sources.py knows more.
PAGES = sorted(
    page.relative_to(ROOT).as_posix()
    for of in ("*.md", "docs/**/*.md", "trio/*.md", "studies/*/README.md")
    for page in ROOT.glob(of)
    if page.name != "CHANGES.md"
)


@pytest.mark.parametrize("page", PAGES)
def test_a_figure_by_path_is_the_counted_one_or_dated(page: str) -> None:
    """Expected: one figure a row on all pages. Broken, as it was: 21,248 on one, 21,191 on another, 25,486 gross on a
    third, and 21,280 counted."""
    assert [str(each) for each in counted.strayed((ROOT / page).read_text())] == []


def test_revisions_beside_dates_are_commits() -> None:
    """Expected: what was counted can be counted again. Broken: a revision that nobody has."""
    git = ("git", f"--git-dir={ROOT / '.git'}")
    shallow = subprocess.run(
        (*git, "rev-parse", "--is-shallow-repository"), capture_output=True, text=True, check=False
    )
    if shallow.stdout.strip() != "false":
        pytest.skip("the commits are not here")
    named = {revision for page in PAGES for revision in counted.revisions((ROOT / page).read_text())}
    assert named
    for revision in named:
        subprocess.run((*git, "merge-base", "--is-ancestor", revision, "HEAD"), check=True, timeout=60)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("proc/fork-exit   164,667  18,248  24,985", [18_248]),
        ("proc/fork-exit   164,667  17,776  24,985   8.65   1.39", []),
        ("| `proc/fork-exit` | 25,486 | 27,647 | 2,161 |", [25_486, 27_647]),
        ("proc/fork-exit: 21,191 to 27,814, 1.353 times", [21_191]),
        ("proc/fork-exit          156,768 instr 26,936 instr 0.172 exact", [156_768, 26_936]),
        ("proc/fork-exit\ntrio-mono     21,191    40", [21_191]),
        ("proc/fork-exit\n\ntrio-mono     21,191    40", []),
        (
            "ctx/pipe-pair@same-cpu 10,379 instr\n  10,901 instr\n  12,817 in 23 %\n  10,891 mean\n  9,668 kernel part",
            [10_901],
        ),
        ("Cycles of one operation on a Skylake\nsyscall/getppid 284 165 371 1,133 774\n\nsyscall/getppid 367", []),
        ("Cycles of one operation on a Skylake\nsyscall/getppid 284 138 1,134", [138, 1_134]),
        ("proc/fork-exec   21,191", []),
        ("proc/fork-exit   21,191 ns ±1.2 %", []),
        ("one `proc/fork-exit` takes +21,191, 21,191 %, 21,191.5", []),
        ("$ kernometer run proc/fork-exit --seed 21191", []),
        ("## A\n2026-11-25 at `a31a2117`\n### B\nproc/fork-exit 21,191\n## C\nproc/fork-exit 21,191", [21_191]),
    ],
)
def test_a_figure_that_is_not_counted_is_found(line: str, found: list[int]) -> None:
    assert [each.figure for each in counted.strayed(f"# Page\n{line}\n")] == found
