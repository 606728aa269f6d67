"""Rules of this project that no existing linter has: an exception to a rule gives its reason; C is no wider than the
screen, with its comments (which clang-format ignores); news fragments are sentences.

usage: scripts/house.py [DIR]      (the checkout by default); exit status 1 if it finds something
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

#: The comments that switch a rule off; `reason` is the rest of the line.
EXCEPTIONS = {
    ".py": (
        re.compile(r"#\s*noqa(?::\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*)?(?P<reason>[^\n]*)"),
        re.compile(r"#\s*type:\s*ignore(?:\[[\w, -]*\])?(?P<reason>[^\n]*)"),
        re.compile(r"#\s*fmt:\s*(?:off|skip)(?P<reason>[^\n]*)"),
        re.compile(r"#\s*pragma:\s*no cover(?P<reason>[^\n]*)"),
    ),
    ".c": (
        re.compile(r"XX(?P<reason>[^\n]*)"),
        re.compile(r"clang-format off(?P<reason>[^\n]*)"),
        re.compile(r"NOLINT\w*(?:\([\w.,* -]*\))?(?P<reason>[^\n]*)"),
    ),
    ".sh": (re.compile(r"#\s*shellcheck\s+disable=[\w,]+(?P<reason>[^\n]*)"),),
}
#: Files about such comments.
SPEAK_OF_THEM = {"scripts/house.py", "tests/plain/house/test_lint.py"}
SUFFIXES = {".h": ".c", ".bash": ".sh", "": ".sh"}

WIDTH = 120
KINDS = ("added", "changed", "fixed", "removed")
FRAGMENT = re.compile(rf"(?:\d+|\+[a-z0-9-]+)\.(?:{'|'.join(KINDS)})\.md")
LONGEST_FRAGMENT = 400


def has_reason(text: str) -> bool:
    """Whether the text has at least two words, of six letters in all."""
    words = re.findall(r"[^\W\d_]+", text)
    return len(words) >= 2 and sum(map(len, words)) >= 6


def bare_exceptions(name: str, text: str) -> Iterator[str]:
    """Exceptions to a linter's rule without a reason on their line, as `file:line: comment`."""
    suffix = Path(name).suffix
    for pattern in EXCEPTIONS.get(SUFFIXES.get(suffix, suffix), ()):
        for match in pattern.finditer(text):
            if not has_reason(match["reason"]):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{name}:{line}: an exception without a reason: {match.group().strip()}"


def too_wide(name: str, text: str) -> Iterator[str]:
    """Lines of C that are wider than WIDTH columns, a tab being eight."""
    for number, line in enumerate(text.splitlines(), 1):
        if Path(name).suffix in {".c", ".h"} and len(line.expandtabs(8)) > WIDTH:
            yield f"{name}:{number}: {len(line.expandtabs(8))} columns; {WIDTH} are the most"


def bare_settings(text: str) -> Iterator[str]:
    """Rules that pyproject.toml ignores without a reason on the line."""
    lint = tomllib.loads(text).get("tool", {}).get("ruff", {}).get("lint", {})
    ignored = {
        *lint.get("ignore", ()),
        *(code for codes in lint.get("per-file-ignores", {}).values() for code in codes),
    }
    for code in sorted(ignored):
        for number, line in enumerate(text.splitlines(), 1):
            if f'"{code}"' in line and not has_reason(line.partition("#")[2]):
                yield f"pyproject.toml:{number}: {code} is ignored without a reason on its line"


def bad_fragments(fragments: dict[str, str]) -> Iterator[str]:
    """Errors in the files of packaging/news/ (name → text), except README.md."""
    for name, text in sorted(fragments.items()):
        if not FRAGMENT.fullmatch(name):
            yield f"packaging/news/{name}: not <issue or +words>.<{'|'.join(KINDS)}>.md"
        elif not re.fullmatch(r"[^\n]+\.\n", text):
            yield f"packaging/news/{name}: not a sentence on one line that ends with a full stop"
        elif len(text) > LONGEST_FRAGMENT:
            yield f"packaging/news/{name}: longer than {LONGEST_FRAGMENT} characters"


def tracked(root: Path) -> list[str]:
    """Files of the checkout: those that git tracks or would add."""
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return sorted({name for name in listed.stdout.split("\0") if name and (root / name).is_file()})


def findings(root: Path) -> Iterator[str]:
    """All findings, one per line."""
    names = tracked(root)
    for name in names:
        if Path(name).suffix in {*EXCEPTIONS, *SUFFIXES} and name not in SPEAK_OF_THEM:
            text = (root / name).read_text(errors="replace")
            yield from bare_exceptions(name, text)
            yield from too_wide(name, text)
    yield from bare_settings((root / "pyproject.toml").read_text())
    news = {Path(name).name: (root / name).read_text() for name in names if name.startswith("packaging/news/")}
    news.pop("README.md", None)
    yield from bad_fragments(news)


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    wrong = list(findings(root))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
