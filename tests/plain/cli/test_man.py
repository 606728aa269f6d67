"""Does the manual page say what the commands say, and does it read well?"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator

import click
import pytest

from kernometer.__main__ import main
from kernometer.cli import COMMANDS, kernometer
from kernometer.cli.man import ENVIRONMENT, commands, escaped, prose
from kernometer.errors import Status


@pytest.fixture
def page(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["man"]) == Status.DONE
    return capsys.readouterr().out


def all_options() -> Iterator[tuple[str, str]]:
    """(command, flag) of every flag there is; `guest add` is a command of its own."""
    root = click.Context(kernometer, info_name="kernometer")
    every = [root, *commands(kernometer, root)]
    paths = [context.command_path.partition(" ")[2] for context in every]
    assert {*COMMANDS, "guest add", "guest list"} <= set(paths)
    for name, context in zip(paths, every, strict=True):
        for parameter in context.command.get_params(context):
            if isinstance(parameter, click.Option) and not parameter.hidden:
                yield from ((name, flag) for flag in parameter.opts + parameter.secondary_opts)


def test_every_flag_stands_under_its_command(page: str) -> None:
    """Expected: each flag in its command's own section. Broken: a flag that only --help knows."""
    parts = re.split(r"^\.S[SH] (.*)$", page, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    found = list(all_options())
    assert len(found) > 5
    for name, flag in found:
        section = sections[escaped(name) if name else "OPTIONS"]
        assert re.search(rf"^\\fB.*{re.escape(escaped(flag))}\b", section, flags=re.MULTILINE), (name, flag)


def test_every_exit_status_is_listed(page: str) -> None:
    listed = page.split(".SH EXIT STATUS\n")[1].split(".SH ")[0]
    assert re.findall(r"\\fB(\d+)\\fR", listed) == [str(int(status)) for status in Status]
    assert all(escaped(status.meaning) in listed for status in Status)


def test_variables_are_listed(page: str) -> None:
    assert all(f"\\fB{escaped(name)}\\fR" in page for name in (*ENVIRONMENT, "KERNOMETER_STORE"))


@pytest.mark.skipif(not shutil.which("groff"), reason="needs groff (Debian: groff-base)")
def test_groff_has_nothing_to_complain_of(page: str) -> None:
    """Expected: no warning at all. Broken: a macro or an escape that a reader's system shows as garbage."""
    done = subprocess.run(
        ["groff", "-ww", "-man", "-Tutf8", "-P-c"], input=page, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    shown = re.sub(".\b", "", done.stdout)
    assert "EXIT STATUS" in shown
    assert "--no-color" in shown


def test_the_page_is_ascii(page: str) -> None:
    """Expected: any roff reads it, whatever the locale."""
    assert page.isascii()


@pytest.mark.parametrize(
    ("text", "roff"),
    [
        (".so /etc/passwd", "\\&.so /etc/passwd"),
        ("'tis", "\\[aq]tis"),
        ("a\\fB", "a\\[rs]fB"),
        ("±2 %", "\\[u00B1]2 %"),
        ("--x", "\\-\\-x"),
    ],
)
def test_text_is_no_roff(text: str, roff: str) -> None:
    """Expected: shown as it is. Broken: a help text that begins with a dot vanishes as an unknown request."""
    assert escaped(text) == roff


def test_a_paragraph_that_keeps_its_lines_keeps_them() -> None:
    assert list(prose("One\n    two.\n\n    \b\n    a  b\n    c\n    ")) == [
        "One",
        "two.",
        ".PP",
        ".nf",
        "a  b",
        "c",
        ".fi",
    ]
