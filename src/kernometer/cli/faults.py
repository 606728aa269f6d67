"""`kernometer faults`: faults in the services of Trio's structures and in Linux, and what becomes of the system."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from kernometer.cli.arguments import targets as split_targets
from kernometer.cli.env import Env
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

#: Progress is told after so many faults.
TOLD = 25

_T = TypeVar("_T", bound=str)


def command(
    env: Env,
    paths: tuple[Path, ...],
    specs: tuple[str, ...],
    kinds: str,
    services: str,
    functions: str,
    checked: bool,
    jobs: int | None,
    report_file: Path | None,
    **given: Any,
) -> None:
    files = list(paths)
    with ExitStack() as stack:
        targets = _targets(stack, split_targets(specs), checked=checked)
        if targets:
            wanted = Wanted(
                targets=targets,
                kinds=_chosen("kind", kinds, KINDS),
                services=_chosen("service", services, tuple(dict.fromkeys((*calls(), *SUBJECTS)))),
                functions=frozenset(filter(None, functions.split(","))),
                checked=checked,
                jobs=jobs or len(os.sched_getaffinity(0)),
                **given,
            )
            files.append(_kept(env, wanted))
        elif not paths:
            raise UsageError("The structures are missing.", "Name them: --on qemu:trio-micro,qemu:trio-mono.")
    campaigns = read(files)
    if not campaigns:
        raise ResultError(f"{files[0]} has no fault.", "Name a campaign's file.")
    env.answer(lambda: report.document(campaigns), report.blocks(campaigns), ensure_ascii=False)
    if report_file is not None:
        write(report_file, report.page(campaigns))


def _targets(stack: ExitStack, specs: Sequence[str], *, checked: bool) -> list[QemuTarget]:
    targets = []
    for spec in specs:
        target = stack.enter_context(closing(target_of(spec)))
        if not isinstance(target, QemuTarget) or not (is_trio(target.guest) or target.guest.manifest.release):
            raise UsageError(f"{spec} is neither Trio nor Linux.", "For example --on qemu:trio-micro.")
        if checked and not is_trio(target.guest):
            raise UsageError(f"{spec} has no /dev/checked.", "Leave out --checked.")
        targets.append(target)
    return targets


def _chosen(what: str, given: str, there: Sequence[_T]) -> list[_T]:
    """The names of `there` that `given` lists, in order; all if it lists none. Raises UsageError."""
    words = {word for word in given.split(",") if word}
    if unknown := words - {*there}:
        raise UsageError(f"There is no {what} {sorted(unknown)[0]!r}.", f"There are {', '.join(there)}.")
    return [name for name in there if not words or name in words]


def _runs(wanted: Wanted, say: Say) -> Iterator[Header | Record]:
    """Runs Trio's structures together, since they get the same faults; then each Linux."""
    for run, there, ours in ((campaign.run, tuple(calls()), True), (linux_campaign.run, SUBJECTS, False)):
        targets = [target for target in wanted.targets if is_trio(target.guest) is ours]
        if targets:
            services = [name for name in wanted.services if name in there]
            yield from run(replace(wanted, targets=targets, services=services), say)


def _kept(env: Env, wanted: Wanted) -> Path:
    """Runs the campaign into a file of the store, which grows with each fault. Without a first record there is none."""
    folder = env.store().writable() / "faults"
    path = folder / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.getpid()}.ndjson"
    runs = _runs(wanted, env.say)
    first = next(runs)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            name = ""
            for record in chain([first], runs):
                file.write(line(record))
                file.flush()
                if not isinstance(record, Record):
                    name = record.target
                elif (record.number + 1) % TOLD == 0:
                    env.say(f"{name}: {record.number + 1} of {wanted.count} faults")
    except OSError as error:
        raise ResultError(
            f"{path} cannot be written: {error.strerror}.", "Name a directory with --store DIR."
        ) from error
    env.say(f"kept as {path}")
    return path
