"""`kernometer man`: the manual page, made from the command tree, so that it lists exactly the existing options."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from kernometer import __version__
from kernometer.cli import kernometer
from kernometer.cli.env import Env
from kernometer.errors import Status

#: Variables that no option declares.
ENVIRONMENT = {
    "NO_COLOR": "Any value: no colour, as with --no-color.",
    "COLUMNS": "The width of tables if the output is not a terminal.",
    "XDG_DATA_HOME": "The directory that contains kernometer/results [default: ~/.local/share].",
    "XDG_CONFIG_HOME": "The directory that contains kernometer/config.toml [default: ~/.config].",
}

CONFIGURATION = """\
kernometer/config.toml in the XDG config home contains default options: kernometer's own at the top, those of a command
in its table, by their long names without dashes. Flags are true or false, repeatable options are lists.

\b
store = "/data/results"
[run]
profile = "full"
half-width = 0.005
[guest.add]
machine = "q35"

The command line overrides the environment, the environment 'run --again', 'run --again' this file, and this file the
default. With a file that is no TOML, an unknown option or a wrong value, every command ends with status 2, and the
error names file, table and option."""


def command(env: Env) -> None:
    root = click.get_current_context().find_root()
    env.print("\n".join(page(kernometer, root)))


def escaped(text: str) -> str:
    """Text for roff: ASCII, no accidental requests, hyphens that can be copied into a shell."""
    text = text.replace("\\", "\\[rs]").replace("-", "\\-").replace("'", "\\[aq]").replace("`", "\\[ga]")
    text = text.replace("^", "\\[ha]").replace("~", "\\[ti]")
    text = re.sub(r"[^\x00-\x7f]", lambda match: f"\\[u{ord(match.group()):04X}]", text)
    return f"\\&{text}" if text.startswith(".") else text


def page(group: click.Group, root: click.Context) -> Iterator[str]:
    """The lines of the page, in man(7) macros. `group` is the command `kernometer` itself, `root` its context."""
    title = (group.help or "").partition("\n")[0]
    yield f'.TH KERNOMETER 1 "" "kernometer {__version__}" "User Commands"'
    yield ".SH NAME"
    yield escaped(f"kernometer - {title[:1].lower()}{title[1:].rstrip('.')}")
    yield ".SH SYNOPSIS"
    yield from synopsis(root)
    yield ".SH DESCRIPTION"
    yield from prose(group.help or "")
    yield ".SH OPTIONS"
    yield from options(root)
    yield ".SH COMMANDS"
    for context in commands(group, root):
        yield from section(context)
    yield ".SH CONFIGURATION"
    yield from prose(CONFIGURATION)
    yield from environment(root)
    yield from statuses()
    yield from examples(group, root)


def commands(group: click.Group, parent: click.Context) -> Iterator[click.Context]:
    """Every command, each group followed by its own commands."""
    for name in group.list_commands(parent):
        command = group.get_command(parent, name)
        if command is None or command.hidden:
            continue
        context = click.Context(command, info_name=name, parent=parent)
        yield context
        if isinstance(command, click.Group):
            yield from commands(command, context)


def synopsis(context: click.Context) -> Iterator[str]:
    """How a command is called."""
    pieces = " ".join(context.command.collect_usage_pieces(context))
    yield f"\\fB{escaped(context.command_path)}\\fR {escaped(pieces)}"


def section(context: click.Context) -> Iterator[str]:
    """One command: how it is called, what it does, its options."""
    command = context.command
    yield f".SS {escaped(context.command_path.partition(' ')[2])}"
    yield from synopsis(context)
    yield ".PP"
    yield from prose(command.help or command.short_help or "")
    yield from options(context)


def prose(text: str) -> Iterator[str]:
    r"""Paragraphs of a help text; one that begins with \b keeps its lines."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", inspect.cleandoc(text))):
        if number:
            yield ".PP"
        if paragraph.startswith("\b\n"):
            yield from verbatim(paragraph.split("\n")[1:])
        else:
            yield from (escaped(line.strip()) for line in paragraph.split("\n") if line)


def verbatim(lines: list[str]) -> Iterator[str]:
    """Lines as they are."""
    yield from (".nf", *(escaped(line) for line in lines), ".fi")


def options(context: click.Context) -> Iterator[str]:
    """Every option with its help, as --help has it."""
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[1]:  # an argument without a help text is in the synopsis only
            yield from (".TP", f"\\fB{escaped(record[0])}\\fR", escaped(record[1]))


def environment(root: click.Context) -> Iterator[str]:
    """The environment variables: those of options, then the conventional ones."""
    told = {
        str(parameter.envvar): f"As {parameter.opts[0]}."
        for parameter in root.command.get_params(root)
        if parameter.envvar
    }
    yield ".SH ENVIRONMENT"
    for name, text in (told | ENVIRONMENT).items():
        yield from (".TP", f"\\fB{escaped(name)}\\fR", escaped(text))


def statuses() -> Iterator[str]:
    """Every exit status with its meaning."""
    yield ".SH EXIT STATUS"
    for status in Status:
        yield from (".TP", f"\\fB{int(status)}\\fR", escaped(status.meaning))


def examples(group: click.Group, root: click.Context) -> Iterator[str]:
    """The examples at the end of --help."""
    formatter = root.make_formatter()
    group.format_epilog(root, formatter)
    yield ".SH EXAMPLES"
    for number, block in enumerate(re.split(r"\n\s*\n", formatter.getvalue().strip())):
        if number:
            yield ".PP"
        yield from verbatim(block.removeprefix("Examples:\n").split("\n"))
