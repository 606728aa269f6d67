"""`kernometer workloads`: the probe's registry of workloads."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kernometer.campaign.plan import definitions
from kernometer.cli.env import Env
from kernometer.report.words.curves import spread_of
from kernometer.report.write.terminal import BLANK, Grid, Line
from kernometer.results.model import By, Workload
from kernometer.stats.curves import curves


def command(env: Env, names: tuple[str, ...], profile: str, by: By, unit_costs: bool) -> None:
    workloads = definitions(by, profile, names, program="probe-trio" if unit_costs else "probe")
    if env.json:
        env.print(msgspec.json.format(msgspec.json.encode(workloads), indent=1).decode())
    elif names:
        for workload in workloads:
            env.show([Line(workload.name, "bold"), Grid((), _facts(workload), left=(0, 1), unbroken=(0,)), BLANK])
    else:
        rows = ((workload.name, workload.unit, str(len(workload.rows)), workload.what) for workload in workloads)
        env.show([Grid(("workload", "unit", "rows", "what"), rows, left=(0, 1, 3), unbroken=(0, 1))])
        env.say(f"'kernometer workloads {'--unit-costs ' if unit_costs else ''}NAME' prints a definition and its rows.")


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
    for curve in curves({row.row: row for row in workload.rows}, {workload.name: workload}):
        yield "curve", f"{curve.name}: {spread_of(curve)}"
    for row in workload.rows:
        quick = ", quick" if "quick" in row.profiles else ""
        plan = f", by path {row.path_n} times" if row.path_n else ""
        missing = f", unsupported here: {row.unsupported}" if row.unsupported else ""
        yield "row", f"{row.row}{quick}{plan}{missing}"
