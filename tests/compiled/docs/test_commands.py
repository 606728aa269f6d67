"""Do the commands in README.md and docs/ work as they stand there?"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.checkout import ROOT
from tests.support.docs.pages import Block, blocks, is_shown
from tests.support.docs.running import copy_of_checkout, environment, run
from tests.support.turns import in_turn

PAGES = sorted(page.relative_to(ROOT).as_posix() for of in ("*.md", "docs/**/*.md") for page in ROOT.glob(of))
#: Pages whose commands compile and measure much: in their turn.
LONG = {
    *("README.md", "docs/trio.md"),
    *("docs/portability.md", "docs/adding-a-workload.md", "docs/variants.md", "docs/figures.md"),
    *("docs/published.md", "docs/programs.md", "docs/targets.md", "docs/console.md", "docs/memory-and-files.md"),
}
#: What is measured on a core that is never quiet is told in other columns.
DISTURBED = "no quiet core"
#: What both streams say before each command.
NEXT = "\N{SYMBOL FOR RECORD SEPARATOR}"


def do(block: Block, folder: Path, env: dict[str, str]) -> None:
    """One block in the page's folder."""
    if block.file:
        (folder / block.file).write_text(block.text)
        return
    before = f"echo {NEXT} | tee /dev/stderr"
    script = "\n".join(f"{before}\n{command}" for command, _ in block.steps) or block.script
    done = run(script, folder, env)
    assert done.returncode == block.status, f"line {block.line}:\n{block.script}\n{done.stdout}{done.stderr}"
    streams = (stream.split(f"{NEXT}\n")[1:] for stream in (done.stdout, done.stderr))
    for (command, shown), out, err in zip(block.steps, *streams, strict=True):
        if not shown.strip() or DISTURBED in out:
            continue
        # progress and notes are not always of interest
        assert any(is_shown(shown, printed) for printed in (out, err, err + out)), (
            f"line {block.line} shows something else than what is printed:\n{command}\n{out}{err}"
        )


@pytest.mark.parametrize("page", in_turn(PAGES, 0.4, always={*PAGES} - {*LONG}))
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
    assert found[0].steps == (("true \\\n  x", "output"), ("false", ""))


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


PRINTED = """\
A noisy machine: 12 % of the time; half of the figures are known to ±0.56 %
within a session.

row                  value  per
syscall/getppid    103 ns  call  faster
sig/catch@n=2      1.2 µs  signal
2 rows in 12 s.
"""


@pytest.mark.parametrize(
    ("shown", "is_so"),
    [
        (PRINTED, True),
        (PRINTED.replace("call  faster", "call  undecided\n                   sees 82 %, +6 min"), True),
        (PRINTED.replace("12 % of the", "3 %\nof the").replace("103 ns", "98.5 ns").replace("faster", "slower"), True),
        ("...\nrow  value  per\nsig/catch@n=2    1 µs  signal\nsyscall/getppid  9 ns  call\n9 rows in 1 s.\n", True),
        ("A noisy machine: 1 % of the\n...\nwithin a session.\n...\n", True),
        ("A noisy machine: 1 % of the\n...\n2 rows in 3 s.\n", True),
        ("A noisy machine: 1 % of the\n2 rows in 3 s.\n", False),
        ("...\nrow  value  per\nsig/catch@n=2  1 µs  signal\n9 rows in 1 s.\n", False),
        ("...\nrow  value  per\nsig/catch@n=3  1 µs  signal\n...\n", False),
        ("...\nrow  figure  per\n...\n", False),
        ("...\nwithin a session.\n...\nA noisy machine:\n...\n", False),
        ("A noisy mach\n...\n", False),
        (PRINTED.replace("2 rows in 12 s.\n", ""), False),
    ],
)
def test_output_that_is_no_more_what_is_printed_is_found(shown: str, is_so: bool) -> None:
    """Expected: other figures, verdicts, wraps and orders of rows are the same output; other names, sentences and
    columns are not, and what is left out is said."""
    assert is_shown(shown, PRINTED) == is_so


def test_a_page_that_shows_something_else_is_found(tmp_path: Path) -> None:
    """Expected: each command's own output, on either stream. Broken, as it was: the exit status alone is compared."""
    for text in ("$ echo 1 a\n2 a\n$ echo b >&2\nb\n", "$ echo a\n$ true\n", "$ echo a; echo b >&2\na\n"):
        [block] = blocks(f"```console\n{text}```\n")
        do(block, tmp_path, dict(os.environ))
    for text in ("$ echo a\nb\n", "$ echo a\n$ true\na\n", "$ echo a b\na\n"):
        [block] = blocks(f"```console\n{text}```\n")
        with pytest.raises(AssertionError, match="line 1 shows something else"):
            do(block, tmp_path, dict(os.environ))
