"""`kernometer faults`: faults in the services of Trio's structures and in Linux, and what becomes of the system."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TypeVar

import click

from kernometer.cli import options
from kernometer.cli.arguments import targets as split_targets
from kernometer.cli.env import Env, json_option, pass_env
from kernometer.errors import ResultError, UsageError
from kernometer.faults import campaign, linux_campaign
from kernometer.faults.campaign import Wanted
from kernometer.faults.kinds import KINDS
from kernometer.faults.linux import SUBJECTS
from kernometer.faults.records import Header, Record, line, read
from kernometer.guests.kernels.trio import calls, is_trio
from kernometer.guests.packages.suites import Say
from kernometer.report import faults as report
from kernometer.report.write.file import write
from kernometer.targets.parse import target_of
from kernometer.targets.qemu import QemuTarget

EPILOG = """\b
Examples:
  kernometer faults --on qemu:trio-micro,qemu:trio-mono --report out.html
  kernometer faults --on qemu:trio-micro --kinds null-write -n 20
  kernometer faults --on qemu:trio-micro --services virtio_blk --checked
  kernometer faults --on qemu:linux-6.1+memory=256 --kinds wrong-data -n 20
  kernometer faults campaign.ndjson more.ndjson     show them as one

RESULT: a campaign's file. A campaign is kept in the store, in the directory
faults beside the results; an interrupted one keeps what it has.
docs/reliability.md describes kinds and outcomes."""

FAULTS, OPERATIONS = 100, 300
#: Progress is told after so many faults.
TOLD = 25

_T = TypeVar("_T", bound=str)


@click.command(epilog=EPILOG)
@click.argument("paths", metavar="[RESULT]...", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--on",
    "specs",
    metavar="T[,T...]",
    multiple=True,
    help="Structures of Trio: qemu:trio-micro, …; or qemu:linux-6.1.",
)
@click.option("-n", "--count", type=click.IntRange(1, 100_000), default=FAULTS, show_default=True, help="Faults each.")
@click.option("--kinds", metavar="KIND[,KIND...]", default="", help="Kinds of faults [default: all].")
@click.option("--services", metavar="S[,S...]", default="", help="Services to put them into [default: all].")
@click.option("--functions", metavar="F[,F...]", default="", help="Functions of these to put them into [default: all].")
@click.option(
    "--operations",
    type=click.IntRange(2, 100_000),
    default=OPERATIONS,
    show_default=True,
    help="What the program does that works all the while.",
)
@click.option(
    "--checked",
    is_flag=True,
    help="Do it again with the virtio disk behind /dev/checked, which finds its wrong answers.",
)
@click.option("--jobs", type=click.IntRange(1, 1024), help="Guests in parallel [default: one per CPU].")
@options.label
@options.seed
@options.report
@json_option
@pass_env
def command(
    env: Env,
    paths: tuple[Path, ...],
    specs: tuple[str, ...],
    count: int,
    kinds: str,
    services: str,
    functions: str,
    operations: int,
    checked: bool,
    jobs: int | None,
    label: str,
    seed: int | None,
    report_file: Path | None,
) -> None:
    """Put faults into the services and drivers of Trio, or into Linux, and see what becomes of the system.

    A program works on three file systems; at a drawn moment a drawn place of a service's code is made faulty, the same
    place in each structure. The outcome of each fault is observed: masked, delayed, an error returned, data lost,
    hung, dead. In Linux a kernel module makes the fault, in the task or interrupt that enters a drawn function of
    virtio_blk, brd, 8250, ext4 or minix.
    """
    found = list(paths)
    with ExitStack() as stack:
        targets = _targets(stack, split_targets(specs), checked=checked)
        if targets:
            wanted = Wanted(
                targets=targets,
                count=count,
                seed=1 if seed is None else seed,
                operations=operations,
                kinds=_chosen("kind", kinds, KINDS),
                services=_chosen("service", services, tuple(dict.fromkeys((*calls(), *SUBJECTS)))),
                functions=frozenset(filter(None, functions.split(","))),
                label=label,
                checked=checked,
                jobs=jobs or len(os.sched_getaffinity(0)),
            )
            found.append(_kept(env, wanted))
        elif not paths:
            raise UsageError("The structures are missing.", "Name them: --on qemu:trio-micro,qemu:trio-mono.")
    campaigns = read(found)
    if not campaigns:
        raise ResultError(f"{found[0]} has no fault.", "Name a campaign's file.")
    if env.json:
        click.echo(json.dumps(report.document(campaigns), ensure_ascii=False, indent=1), file=env.out)
    else:
        env.show(report.blocks(campaigns))
    if report_file is not None:
        write(report_file, report.page(campaigns))


def _targets(stack: ExitStack, specs: Sequence[str], *, checked: bool) -> list[QemuTarget]:
    found = []
    for spec in specs:
        target = stack.enter_context(closing(target_of(spec)))
        if not isinstance(target, QemuTarget) or not (is_trio(target.guest) or target.guest.manifest.release):
            raise UsageError(f"{spec} is neither Trio nor Linux.", "For example --on qemu:trio-micro.")
        if checked and not is_trio(target.guest):
            raise UsageError(f"{spec} has no /dev/checked.", "Leave out --checked.")
        found.append(target)
    return found


def _chosen(what: str, given: str, there: Sequence[_T]) -> list[_T]:
    """Those of a list that `given` names, in the list's order; all if it names none. Raises UsageError."""
    words = {word for word in given.split(",") if word}
    if unknown := words - {*there}:
        raise UsageError(f"There is no {what} {sorted(unknown)[0]!r}.", f"There are {', '.join(there)}.")
    return [one for one in there if not words or one in words]


def _runs(wanted: Wanted, say: Say) -> Iterator[Header | Record]:
    """Trio's structures together, as they have the same faults; then each Linux."""
    for run, there, ours in ((campaign.run, tuple(calls()), True), (linux_campaign.run, SUBJECTS, False)):
        targets = [one for one in wanted.targets if is_trio(one.guest) is ours]
        if targets:
            services = [one for one in wanted.services if one in there]
            yield from run(replace(wanted, targets=targets, services=services), say)


def _kept(env: Env, wanted: Wanted) -> Path:
    """Runs the campaign; its file in the store, which grows with each fault. One that cannot begin leaves none."""
    folder = env.store().writable() / "faults"
    path = folder / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.getpid()}.ndjson"
    runs = _runs(wanted, env.say)
    first = next(runs)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            name = ""
            for one in chain([first], runs):
                file.write(line(one))
                file.flush()
                if not isinstance(one, Record):
                    name = one.target
                elif (one.number + 1) % TOLD == 0:
                    env.say(f"{name}: {one.number + 1} of {wanted.count} faults")
    except OSError as error:
        raise ResultError(
            f"{path} cannot be written: {error.strerror}.", "Name a directory with --store DIR."
        ) from error
    env.say(f"kept as {path}")
    return path
