"""Options that several commands share, each defined once: names, type, help."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import click

from kernometer.errors import ResultError
from kernometer.targets.parse import FORMS

#: What a result's records and the probe hold of a seed, and the probe of a batch.
MOST_SEED, MOST_BATCH = (1 << 63) - 1, 2_000_000_000


class Real(click.FloatRange):
    """A range that not-a-number is outside of: it passes every comparison with the bounds."""

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = float(super().convert(value, param, ctx))
        if math.isnan(found):
            self.fail(f"{value!r} is no number.", param, ctx)
        return found


def _writable(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    """Raises ResultError where the report could not be written: now, and not after measuring."""
    if path is not None and (path.is_file() or not path.exists()):  # else a device or a pipe, which is opened later
        try:
            tempfile.TemporaryFile(dir=path.parent).close()
        except OSError as error:
            text = f"The report cannot be written to {path}: {error.strerror}."
            raise ResultError(text, "Name another file with --report FILE.") from error
    return path


#: A paragraph for the foot of a command's help.
TARGETS = f"TARGET: {', '.join(f'{form} ({what})' for form, what in FORMS)}."

profile = click.option(
    "--profile",
    type=click.Choice(["quick", "full"]),
    default="quick",
    show_default=True,
    help="Which rows: quick is at most a minute on two cores.",
)
by = click.option(
    "--by",
    type=click.Choice(["time", "path"]),
    default="time",
    show_default=True,
    help="Measure time, or count instructions (on a guest).",
)
label = click.option("--label", metavar="L", default="", help="Names a set of sessions; compare takes it as label:L.")
seconds = click.option("--seconds", type=Real(0.0001, 3600), help="Seconds of sampling in one run.")
batch = click.option(
    "--batch",
    type=click.IntRange(0, MOST_BATCH),
    help="Iterations in one sample; 1 times each of them [default: calibrated].",
)
#: The probe's clocks that times can be taken with.
CLOCKS = ("monotonic", "monotonic-raw", "gettimeofday", "times", "cycles", "cycles-serialised")
clock = click.option(
    "--clock", type=click.Choice(CLOCKS), help="Clock to take times with [default: monotonic, if there is one]."
)
seed = click.option(
    "--seed",
    type=click.IntRange(0, MOST_SEED),
    help="Seed of the order of rows and of the workloads' data [default: drawn; by path 1].",
)
delta = click.option("--delta", type=Real(0.0001, 1), default=0.02, show_default=True, help="What counts as equal.")
report = click.option(
    "--report",
    "report_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=_writable,
    help="Also write the report, one HTML file.",
)
different_machines = click.option(
    "--different-machines", is_flag=True, help="Compare guests although their virtual machines differ."
)
whole = click.option("--all", "whole", is_flag=True, help="Show every row, not only those that people ask for first.")
points = click.option("--points", is_flag=True, help="Show every point of a curve as a row of its own.")
unit_costs = click.option(
    "--unit-costs",
    is_flag=True,
    help="Trio's unit costs instead of the workloads: kernel entry, service call, fault, switch, copy (docs/trio.md).",
)
dry_run = click.option("--dry-run", is_flag=True, help="Print what would be started, and leave.")
