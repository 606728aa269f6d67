"""`explain --time`: from counts to time, judged where both are known, and what the hardware adds to counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files

import click

from kernometer.cli.env import Env
from kernometer.errors import UsageError


def tell(env: Env, by_time: str, by_path: str | None, others: Sequence[str]) -> None:
    """Judges the model on two sets of sessions of one kernel, and tells of each other result what it may."""
    from kernometer.explain import timing
    from kernometer.report.explanation.timing import Side, View, document, print_timing

    store = env.store()
    if by_path is None:
        raise UsageError("--time needs A by time and B by path.", "For example: explain --time label:host label:linux")
    timed, counted = store.load_set(by_time), store.load(by_path)
    if {one.session.by for one in timed} != {"time"} or counted.session.by != "path" or not counted.events:
        raise UsageError(
            "--time needs A by time, and B by path with counts of events.", "'kernometer list' shows both."
        )
    found = timing.judge(timing.operations(counted, timed))
    if found is None:
        raise UsageError(
            "A and B have operations of fewer than three families in common, which cannot judge each other.",
            "Measure the quick profile both ways: kernometer run; kernometer run --by path --on qemu:linux-6.18",
        )
    results = {name: store.load(name) for name in others}
    for name, result in results.items():
        if result.session.by != "path" or not result.events:
            raise UsageError(f"{name} has no counts of events.", "Measure it by path.")
    hardware = timing.hardware(files(timing.__package__).joinpath("hardware.toml").read_text())
    rows = {
        name: tuple(row for row in timing.operations(result) if row.family in timing.FAMILIES)
        for name, result in results.items()
    }
    view = View(Side.of(by_time, timed), Side.of(by_path, [counted]), found, hardware, rows)
    if env.json:
        click.echo(json.dumps(document(view), indent=1), file=env.out)
    else:
        print_timing(env.console(), view)
