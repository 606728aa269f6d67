"""`kernometer workloads`: the probe's registry of workloads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
import msgspec
from rich.table import Table

from kernometer.campaign.plan import definitions
from kernometer.cli.env import Env
from kernometer.report.words.curves import spread_of
from kernometer.report.write.terminal import Grid
from kernometer.results.model import By, Workload
from kernometer.stats.curves import curves

if TYPE_CHECKING:
    from rich.console import Console


def command(env: Env, names: tuple[str, ...], profile: str, by: By, unit_costs: bool) -> None:
    workloads = definitions(by, profile, names, program="probe-trio" if unit_costs else "probe")
    if env.json:
        click.echo(msgspec.json.format(msgspec.json.encode(workloads), indent=1).decode(), file=env.out)
    elif names:
        for workload in workloads:
            _print_definition(env.console(), workload)
    else:
        rows = ((workload.name, workload.unit, str(len(workload.rows)), workload.what) for workload in workloads)
        env.show([Grid(("workload", "unit", "rows", "what"), rows, left=(0, 1, 3), unbroken=(0, 1))])
        env.say(f"'kernometer workloads {'--unit-costs ' if unit_costs else ''}NAME' prints a definition and its rows.")


def _print_definition(console: Console, workload: Workload) -> None:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for head, text in _facts(workload):
        table.add_row(head, text)
    for curve in curves({row.row: row for row in workload.rows}, {workload.name: workload}):
        table.add_row("curve", f"{curve.name}: {spread_of(curve)}")
    for row in workload.rows:
        quick = ", quick" if "quick" in row.profiles else ""
        plan = f", by path {row.path_n} times" if row.path_n else ""
        missing = f", unsupported here: {row.unsupported}" if row.unsupported else ""
        table.add_row("row", f"{row.row}{quick}{plan}{missing}")
    console.print(workload.name, style="bold")
    console.print(table)
    console.print()


def _facts(workload: Workload) -> Iterator[tuple[str, str]]:
    yield "what", workload.what
    yield "inside", workload.inside
    beside = "subtracted: " if workload.figure_less_baseline else "shown beside it: "
    counts = workload.unit == "count"
    overhead = "none: a count" if counts else "clock and empty loop"
    yield "overhead", overhead + (f"; {beside}{workload.subtracts}" if workload.subtracts else "")
    unit = f"{workload.unit} {'of' if counts else 'per'} {workload.per}"
    yield "unit", f"{unit}, {workload.better} is better; by {' and '.join(workload.by)}"
    if workload.settings:
        yield "depends on", f"{', '.join(workload.settings)}: settings of the system; a result's header lists them"
    yield "source", workload.source
    yield "revision", str(workload.revision)
