"""Do the pages agree with what they speak of?"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from kernometer import __version__

ROOT = Path(__file__).parents[3]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("packaging/news/README.md"),
        *ROOT.glob("studies/**/*.md"),
        *ROOT.glob("trio/**/*.md"),
    ]
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    """Expected: every relative link is a file here, and has the heading that it names. Broken: a page that moved."""
    for link in re.findall(r"\]\(([^)\s]+)[^)]*\)", page.read_text()):
        name, _, heading = link.partition("#")
        if "://" in link:
            continue
        to = page.parent / name if name else page
        assert to.exists(), link
        assert not heading or to.suffix != ".md" or heading in anchors(to), link


def anchors(page: Path) -> set[str]:
    """Of its headings, as GitHub names them; a heading that occurs again has a number."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    counted: Counter[str] = Counter()
    for heading in re.findall(r"^#+ +(.+)$", text, flags=re.MULTILINE):
        counted[re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")] += 1
    return {name + (f"-{again}" if again else "") for name, count in counted.items() for again in range(count)}


def test_the_readme_names_the_packages_that_run_installs() -> None:
    """Expected: what `make run` may install is what the README says. Broken: a surprise on somebody's machine."""
    system = (ROOT / "packaging/requirements/system.txt").read_text()
    readme, install = ((ROOT / name).read_text() for name in ("README.md", "docs/install.md"))
    for group in ("run", "guests"):
        needed = re.findall(rf"^{group}\s*\|\s*(\S+)", system, flags=re.MULTILINE)
        assert needed
        assert f"`{' '.join(needed)}`" in readme
        assert f"$ apt-get install {' '.join(needed)}\n" in install


def test_the_readme_tells_of_the_readers_own_machine_before_trio() -> None:
    """Expected: how to read a verdict, then our own kernel. Broken: the second thing a reader sees is of three kernels
    that nobody runs."""
    readme = (ROOT / "README.md").read_text()
    parts = ("$ make run", "## The verdict line", "kernometer structures", "## What it measures")
    places = [readme.index(part) for part in parts]
    assert places == sorted(places)
    assert "trio" not in readme[: places[1]].lower()


def test_the_citation_is_of_this_version() -> None:
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_newest_changes_are_of_this_version() -> None:
    """Expected: a release has its section. Broken: a version that nobody wrote down."""
    [newest, *_] = re.findall(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", (ROOT / "CHANGES.md").read_text(), re.MULTILINE)
    assert newest == __version__


def test_every_target_of_the_makefile_is_in_make_help() -> None:
    """Expected: one line each. Broken: a target that only its author knows."""
    text = (ROOT / "Makefile").read_text()
    [phony] = re.findall(r"^\.PHONY: (.*)$", text, flags=re.MULTILINE)
    assert phony.split() == re.findall(r"^([a-z-]+):.* ## \S", text, flags=re.MULTILINE)


def test_every_system_package_says_how_it_is_seen_and_what_for() -> None:
    for line in (ROOT / "packaging/requirements/system.txt").read_text().splitlines():
        if not line.startswith("#"):
            group, package, check, reason = (part.strip() for part in line.split("|"))
            assert group in ("run", "guests", "test", "wish")
            assert re.fullmatch(r"[a-z0-9.+-]+", package)
            assert re.fullmatch(r"(command|file|header|python|module) \S+", check)
            assert len(reason.split()) >= 1
