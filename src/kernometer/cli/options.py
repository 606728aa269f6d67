"""Options that several commands share."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from kernometer.cli import completion
from kernometer.cli.env import callback
from kernometer.targets.parse import FORMS

_F = TypeVar("_F", bound=Callable[..., Any])

#: The largest seed in a result's records and in the probe, and the probe's largest batch.
MOST_SEED, MOST_BATCH = (1 << 63) - 1, 2_000_000_000


class Real(click.FloatRange):
    """A range that refuses not-a-number, which click's comparisons with the bounds would accept."""

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


class TrioOption(click.Option):
    """An option of Trio's experiments."""


class BriefHelp(click.Command):
    """Its help only names the options of Trio's experiments, which the manual page explains."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        every = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        of_trio = [option for option in every if isinstance(option, TrioOption)]
        records = [option.get_help_record(ctx) for option in every if option not in of_trio]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record is not None])
        if of_trio:
            names = ", ".join(option.opts[0] for option in of_trio)
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(f"For experiments with Trio: {names} (docs/trio.md, 'kernometer man').")


class TakesCommand(BriefHelp):
    """Keeps everything after the first `--` apart and unparsed, in the context, by this key."""

    KEY = "kernometer.command"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[self.KEY] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


#: A file to be written, and a directory that is there; the ways of measuring; the profiles.
FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
WAYS, PROFILES = click.Choice(["time", "path"]), click.Choice(["quick", "full"])
#: A paragraph for the foot of a command's help.
TARGETS = f"TARGET: {', '.join(f'{form} ({what})' for form, what in FORMS)}."

profile = click.option(
    "--profile",
    type=PROFILES,
    default="quick",
    show_default=True,
    help="Which rows: quick is at most a minute on two cores.",
)
processor = click.option(
    "--processor",
    metavar="NAME",
    default="skylake",
    show_default=True,
    help="By path: the processor whose caches and TLBs are counted; host: this host's; NAME+curves: also why lines "
    "miss, and in which size they would not; none: no one's.",
)
by = click.option(
    "--by",
    type=WAYS,
    default="time",
    show_default=True,
    help="Measure time, or count instructions (on a guest).",
)
label = click.option("--label", metavar="L", default="", help="Name for a set of sessions; compare takes label:L.")
seconds = click.option("--seconds", type=Real(0.0001, 3600), help="Seconds of sampling in each run.")
batch = click.option(
    "--batch",
    type=click.IntRange(0, MOST_BATCH),
    help="Iterations in one sample; 1 times every iteration [default: calibrated].",
)
#: The probe's clocks that times can be taken with.
CLOCKS = ("monotonic", "monotonic-raw", "gettimeofday", "times", "cycles", "cycles-serialised")
#: What functions are charged with: explain/cycles.SHOWN, in small letters and joined.
COUNTS = (
    *("l1i-misses", "l1d-misses", "l2-misses", "l3-misses"),
    *("page-walks", "page-walks-tagged", "mispredicted-branches"),
)
row_timeout = click.option(
    "--row-timeout",
    type=Real(1, 86400),
    help="Give a row up after so many seconds without output: by path its guest, by time the probe [default: 320].",
)
clock = click.option(
    "--clock", type=click.Choice(CLOCKS), help="Clock for times [default: monotonic, if the system has it]."
)
seed = click.option(
    "--seed",
    type=click.IntRange(0, MOST_SEED),
    help="Seed of the order of rows and of the workloads' data [default: drawn; by path 1].",
)
#: Below the median the fastest iterations would be judged, and no session is long enough beyond the last.
QUANTILES = Real(0.5, 0.9999)
delta = click.option("--delta", type=Real(0.0001, 1), default=0.02, show_default=True, help="What counts as equal.")
#: Raises ResultError before measuring if the file cannot be written.
writable = callback("arguments", "writable")
report = click.option(
    "--report",
    "report_file",
    metavar="FILE",
    type=FILE,
    callback=writable,
    help="Also write the report, one HTML file.",
)
different_machines = click.option(
    "--different-machines", is_flag=True, help="Compare guests even if their virtual machines differ."
)
everything = click.option(
    "--all", "everything", is_flag=True, help="Show every row, and every fact in which the sides differ."
)
points = click.option("--points", is_flag=True, help="Show every point of a curve as its own row.")
counters = click.option(
    "--counters",
    cls=TrioOption,
    is_flag=True,
    help="Also show what one operation is made of, where a kernel tells (Trio): messages, switches, bytes, faults.",
)
functions = click.option(
    "--functions",
    is_flag=True,
    help="By path: also show which functions make the difference. Takes about three times as long (docs/profile.md).",
)
boundaries = click.option(
    "--boundaries",
    cls=TrioOption,
    is_flag=True,
    help="Show, instead of ratios, the price of each boundary between Trio's services, and whether these prices add up "
    "(docs/trio.md). ab then takes no target, or Trio's mono, and compiles and measures all partitions that show it.",
)
factorial = click.option(
    "--factorial",
    cls=TrioOption,
    is_flag=True,
    help="Show, instead of ratios, what each switch of Trio costs, alone and with others (docs/trio.md). ab then takes "
    "one structure, or none for micro, and measures it with its switches, or those that it is named with, in all "
    "settings.",
)
unit_costs = click.option(
    "--unit-costs",
    cls=TrioOption,
    is_flag=True,
    help="Unit costs of Trio or GNU Mach, no workloads: kernel entry, service call, fault, switch (docs/trio.md).",
)
jobs = click.option("--jobs", type=click.IntRange(1, 1024), help="Guests in parallel [default: one per CPU].")
dry_run = click.option("--dry-run", is_flag=True, help="Print the commands without running them.")
again = click.option(
    "--again",
    metavar="RESULT",
    is_eager=True,
    expose_value=False,
    callback=callback("arguments", "repeated"),
    shell_complete=completion.results,
    help="Repeat a session: its target, rows, options (but for the label) and seed. Other options override its own.",
)


def _file(name: str, what: str) -> Callable[[_F], _F]:
    return click.option(name, metavar="FILE", type=FILE, callback=writable, help=f"With --gate: {what}.")


#: What gate.wanted takes.
GATE = (
    click.option("--gate", is_flag=True, help="Leave with status 7 if a row is slower, failed, or on one side only."),
    click.option("--strict", is_flag=True, help="With --gate: undecided rows fail too."),
    click.option(
        "--allow",
        metavar="ROW[=N%]",
        multiple=True,
        help="With --gate: rows (patterns) that may cost N % more, or change in any way; repeatable.",
    ),
    _file("--markdown", "write a summary in Markdown"),
    _file("--junit", "write a summary in JUnit's XML"),
    _file("--mail", "write a summary as a mail, with the command that reproduces it"),
)


def gated(command: _F) -> _F:
    """Adds the options of GATE."""
    return functools.reduce(lambda made, option: option(made), reversed(GATE), command)
