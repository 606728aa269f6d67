"""The command line. `commands` declares what each command takes and what its help says, and loads little more than
click; the file of a command does it, and is imported when it is called (env.done_by). So `kernometer --help` loads no
command, and the help and the completion of a command's options load its declaration alone.

Imports stand at the top of a file, but for these. This file, __main__, env, config and completion import what only some
calls need within functions, so that `kernometer --help` takes at most 1.5 times what `import click` takes: 1.40, by the
medians of 25 runs of each in alternation, in CPU time (user and system, getrusage). And libraries that take tenths of a
second, or that not everybody has, are imported by the functions that use them: jinja2, rich.progress, and those of the
extras in pyproject.toml (numpy and scipy at their first use: arrays.py); so is what of ours few calls of a command need
and loads most: the report's pages, and how kernels are made. tests/plain/cli/test_frame.py holds all this.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from kernometer import __version__, source_folder
from kernometer.cli.env import Env, no_color_wanted

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Entry(NamedTuple):
    """A command, which a module of cli.commands declares."""

    group: str
    place: str  #: `.MODULE.NAME`
    summary: str  #: one line; help, completion and man page take it from here


GROUPS = {
    "measure": "Measure",
    "judge": "Judge what was measured",
    "look": "Look at results",
    "host": "This host",
    "guests": "Guests",
    "extras": "Extras",
    "experiments": "Experiments",
}

#: In the order that help shows, within each group.
COMMANDS: dict[str, Entry] = {
    "run": Entry("measure", ".measure.run", "Measure a kernel: this machine's, or a guest's."),
    "ab": Entry("measure", ".measure.ab", "Measure two targets in alternating blocks, and compare."),
    "matrix": Entry("measure", ".measure.matrix", "Compare many systems with one: a table and a heat map."),
    "profile": Entry("measure", ".measure.profile", "Show which functions a row's instructions go to."),
    "compare": Entry("judge", ".judge.compare", "Compare stored results with each other."),
    "explain": Entry("judge", ".judge.explain", "Say why two results differ, by their figures alone."),
    "predict": Entry("judge", ".judge.predict", "Predict what a program would cost on another kernel."),
    "show": Entry("look", ".look.show", "Show one result as a table."),
    "list": Entry("look", ".look.list_", "List the stored results."),
    "report": Entry("look", ".look.report", "Write one HTML file: figures, distributions, comparisons."),
    "workloads": Entry("look", ".look.workloads", "List what can be measured, with its definition."),
    "figure": Entry("look", ".look.figure", "Draw a figure of the literature from results."),
    "export": Entry("look", ".look.export", "Write results as CSV or JSON."),
    "import": Entry("look", ".look.import_", "Keep results of lmbench, UnixBench, perf bench and others."),
    "rm": Entry("look", ".look.rm", "Remove stored results."),
    "check": Entry("host", ".others.check", "Say what disturbs measuring on this host, and what to do."),
    "guest": Entry("guests", ".guests.guest", "Fetch, list and remove kernels to measure under QEMU."),
    "man": Entry("extras", ".others.man", "Print the manual page."),
    "completion": Entry("extras", ".others.completion", "Print the completion script of a shell."),
    "structures": Entry(
        "experiments", ".experiments.structures", "Say what a microkernel's structure costs: Linux and Trio."
    ),
    "faults": Entry("experiments", ".experiments.faults", "Put faults into Trio's services, and see what survives."),
    "floors": Entry("experiments", ".experiments.floors", "Measure how far a kernel's counts move by layout alone."),
}

EXAMPLES = """\
Examples:
  kernometer run                        measure this machine, keep the result
  kernometer run --label before         the same, as one of a set of sessions
  kernometer show @last                 the latest result as a table
  kernometer compare label:before label:after
                                        judge two sets of stored sessions
  kernometer ab local wrap:'taskset -c 1'
                                        measure two targets in turns, and judge
  kernometer report @last -o out.html   one HTML file that opens offline

RESULT is a session's id or the beginning of one, a label, @last, @1 (the last
but one), or a file; label:NAME is the set of all sessions of that label."""


class LazyGroup(click.Group):
    """A group whose commands are those of COMMANDS."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's own signature
        return [*COMMANDS]  # not list(): the module of the command `list` hides it here once that is loaded

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # click's own signature
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, _, name = entry.place.rpartition(".")
        command: click.Command = getattr(import_module(module, f"{__name__}.commands"), name)
        command.short_help = entry.summary
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            close = get_close_matches(name, COMMANDS, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else "See 'kernometer --help'."
            raise click.UsageError(f"There is no command {name!r}. {hint}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        names = [CompletionItem(n, help=e.summary) for n, e in COMMANDS.items() if n.startswith(incomplete)]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  # click's own signature
        """Prints the commands by group, from COMMANDS alone: no command is imported."""
        width = max(map(len, COMMANDS), default=0)
        for key, title in GROUPS.items():
            rows = [(name.ljust(width), entry.summary) for name, entry in COMMANDS.items() if entry.group == key]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  # click's own signature
        formatter.write(f"\n{EXAMPLES}\n\nThe pages that are called docs/NAME.md are here:\n{source_folder('docs')}\n")


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="kernometer %(version)s")
@click.option(
    "--store",
    "folder",
    metavar="DIR",
    envvar="KERNOMETER_STORE",
    type=click.Path(path_type=Path),
    help="Where results are kept, or an archive of results (FILE.tar.xz), to read [default: kernometer/results in the "
    "XDG data home].",
)
@click.option("--no-color", is_flag=True, help="No colour, as with NO_COLOR=1. Only terminals get colour.")
@click.pass_context
def kernometer(context: click.Context, folder: Path | None, no_color: bool) -> None:
    """Measures operating-system kernels, compares them with honest statistics, and says why they differ.

    'kernometer COMMAND --help' explains each command.
    """
    context.obj = Env(out=sys.stdout, err=sys.stderr, store_folder=folder, color=not no_color and not no_color_wanted())
