"""Do the commands in README.md and docs/ work as they stand there?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT, copy_to
from tests.docs.pages import Block, blocks
from tests.turns import in_turn

PAGES = sorted(page.relative_to(ROOT).as_posix() for of in ("*.md", "docs/**/*.md") for page in ROOT.glob(of))
#: Pages whose commands compile and measure much: in their turn.
LONG = {"docs/portability.md", "docs/adding-a-workload.md", "docs/variants.md", "docs/figures.md"}
#: Seconds for one block.
LIMIT = 900


def copy_of_checkout(folder: Path) -> None:
    """The files that git has or would take: a page may change them."""
    copy_to(folder)
    (folder / ".venv").symlink_to(Path(sys.prefix))


def environment(folder: Path) -> dict[str, str]:
    """A reader's: this environment's commands, the copy's sources, a home with nothing in it."""
    home = folder.parent / "home"
    home.mkdir()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "KERNOMETER_"))}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**inherited, "PATH": path, "HOME": str(home), "PYTHONPATH": str(folder / "src")}


def run(script: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A block's commands in the page's folder."""
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def do(block: Block, folder: Path, env: dict[str, str]) -> None:
    """One block in the page's folder."""
    if block.file:
        (folder / block.file).write_text(block.text)
        return
    done = run(block.script, folder, env)
    assert done.returncode == block.status, f"line {block.line}:\n{block.script}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", in_turn(PAGES, 0.7, always={*PAGES} - {*LONG}))
def test_a_page_can_be_followed(page: str, tmp_path: Path) -> None:
    """Expected: block after block, in a fresh copy of the checkout. Broken: documentation of what used to be."""
    steps = [block for block in blocks((ROOT / page).read_text()) if not block.skipped]
    if not any(block.script for block in steps):
        return
    folder = tmp_path / "checkout"
    folder.mkdir()
    copy_of_checkout(folder)
    env = environment(folder)
    for block in steps:
        do(block, folder, env)


def test_the_parser_finds_commands_files_and_exceptions() -> None:
    page = (
        "text\n```console\n$ true \\\n  x\noutput\n$ false\n```\n"
        "<!-- status: 3 -->\n```sh\nexit 3\n```\n"
        "<!-- file: a.c -->\n```c\nint x;\n```\n"
        "<!-- not run: it takes an hour -->\n```sh\nsleep 3600\n```\n```python\nx\n```\n"
    )
    found = list(blocks(page))
    assert [block.script for block in found] == ["true \\\n  x\nfalse", "exit 3\n", "", "sleep 3600\n"]
    assert [block.status for block in found] == [0, 3, 0, 0]
    assert (found[2].file, found[2].text, found[3].skipped) == ("a.c", "int x;\n", "it takes an hour")
    assert found[0].line == 2


@pytest.mark.parametrize(
    "page",
    ["<!-- not run: because -->\n```sh\nx\n```\n", "<!-- ignore: it all -->\n```sh\nx\n```\n", "```console\nx\n```\n"],
)
def test_a_block_that_says_nothing_is_an_error(page: str) -> None:
    """Expected: an error. Broken: a command that nobody runs, for no reason given."""
    with pytest.raises(ValueError, match=r"line [12]"):
        list(blocks(page))


def test_a_block_that_fails_is_found(tmp_path: Path) -> None:
    [block] = blocks("```console\n$ false\n$ true\n```\n")
    with pytest.raises(AssertionError, match="line 1"):
        do(block, tmp_path, dict(os.environ))
