"""`kernometer predict`: what a command's kernel work would cost on another system."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from kernometer.campaign.plan import plan_of
from kernometer.cli.arguments import command_of, is_target
from kernometer.cli.env import Env
from kernometer.cli.planning import check_by, check_machines, program_for
from kernometer.cli.progress import measured
from kernometer.errors import TargetError, UsageError
from kernometer.explain import prediction
from kernometer.explain.prediction import Asked, Entries
from kernometer.guests.emulator.qemu import emulated
from kernometer.host import recorder
from kernometer.processes import scratch
from kernometer.report.explanation.prediction import View, blocks, document
from kernometer.results.model import PATH_DEFINITION, By, Result
from kernometer.results.rows import Row
from kernometer.stats.differences import check_definition
from kernometer.tables import packaged
from kernometer.targets import execution
from kernometer.targets.base import Deadline
from kernometer.targets.local import host_id
from kernometer.targets.parse import target_of
from kernometer.targets.qemu import QemuTarget

#: By time: the fewest and the most executions, and the seconds of processor time that they take together. The kernel
#: tells user and system time apart at its ticks, 100 to 1,000 a second, so the mean of many executions is taken.
EXECUTIONS, MOST_EXECUTIONS, SECONDS = 5, 500, 2.0


def command(
    env: Env,
    names: tuple[str, ...],
    by: By,
    folder: Path | None,
    bring: tuple[str, ...],
    limit: float,
    different_machines: bool,
) -> None:
    words = command_of(click.get_current_context())
    if len(names) != 2 or not words:
        raise UsageError(
            "predict needs A, B and a command.", "For example: kernometer predict --on local --on label:b -- true"
        )
    held = {name: env.store().load(name) for name in names if not is_target(name)}
    ways = {result.session.by for result in held.values()} or {by}
    if len(ways) > 1 or (len(held) == 1 and ways != {by}):
        raise UsageError(
            "A and B are not measured the same way.", "Both by time, or both by path: 'kernometer list' shows how."
        )
    (by,) = ways
    a, b = names
    _check(names, held, by, different_machines=different_machines)
    priced = msgspec.convert(packaged("kernometer.explain", "prices.toml"), prediction.Prices)
    asked = _in_guest(names, held, words, folder, bring, limit) if by == "path" else _here(words, folder, limit)
    rows = priced.all_rows if asked.entries else priced.rows(asked.asked.calls)
    results = {name: held.get(name) or _measured(env, name, by, rows) for name in names}
    sheets = [prediction.sheet(results[name]) for name in names]
    of_a = results[a].session
    scaled = asked.place == (of_a.image if by == "path" else of_a.host_id)
    scaled &= by == "path" or of_a.target.partition(":")[0] in ("local", "probe")  # a wrapper may be a kernel
    if asked.entries:
        by_entry = [prediction.entries(results[name]) for name in names]
        predicted = prediction.divide(asked.entries, asked.asked.user, priced, *by_entry)
    else:
        predicted = prediction.predict(asked.asked, priced, *sheets, scaled=scaled)
    missing = sorted(rows - (sheets[0].keys() & sheets[1]))
    by_name = "" if asked.entries else Path(recorder.recorder("")[0]).name
    view = View(a, b, by, words, asked.status, by_name, asked.witness, tuple(missing))
    env.answer(lambda: document(predicted, view), blocks(predicted, view), ensure_ascii=False)


def _check(names: Iterable[str], held: Mapping[str, Result], by: By, *, different_machines: bool) -> None:
    """Raises UsageError or ResultError, before anything runs, if A and B cannot be compared with each other or with the
    command."""
    check_definition(held.values(), *([PATH_DEFINITION] if by == "path" else []))
    with ExitStack() as stack:
        targets = {name: stack.enter_context(closing(target_of(name))) for name in names if name not in held}
        check_by(by, *targets.values())
        if by == "path" and not different_machines:
            machines = {name: target.machine(by) for name, target in targets.items()}
            check_machines({name: {machines.get(name) or held[name].session.machine} for name in names})
        for name in names if by == "time" else ():
            machine = held[name].session.machine if name in held else targets[name].place(by).machine
            if emulated(machine):
                raise UsageError(
                    f"{name} is emulated ({machine}): its times are the emulator's, and the command runs on this host, "
                    "so that nearly all of its cost would be the kernel's.",
                    "Count instead: --by path, with a guest as A.",
                )


class _Ran(NamedTuple):
    asked: Asked
    status: int
    place: str  #: the image or the host, as a session calls it
    witness: str  #: what another counter saw
    entries: Entries | None = None  #: None: the calls were recorded


def _here(words: tuple[str, ...], folder: Path | None, limit: float) -> _Ran:
    """Runs the command on this host: once to warm up, then without a recorder, then with one."""
    with _copy(folder) as work:
        recorder.timed(words, work, limit)
    user, system, number = 0.0, 0.0, 0
    while number < EXECUTIONS or (user + system < SECONDS * 1e9 and number < MOST_EXECUTIONS):
        with _copy(folder) as work:
            last = recorder.timed(words, work, limit)
        user, system, number = user + last.user, system + last.kernel, number + 1
    with _copy(folder) as work:
        recording = recorder.record(words, work, limit)
    asked = Asked(recording.calls, last.faults, last.switches, user / number, system / number)
    return _Ran(asked, last.status, host_id(), f"times: the mean of {number} executions")


@contextmanager
def _copy(folder: Path | None) -> Iterator[Path]:
    if folder is None:
        yield Path.cwd()
        return
    with scratch("kernometer-files-") as made:
        work = made / folder.absolute().name
        shutil.copytree(folder, work, symlinks=True)
        yield work


def _counts_entries(name: str, held: Mapping[str, Result]) -> bool:
    """Whether entries are counted in its rows."""
    if name in held:
        return bool(prediction.entries(held[name]))
    with closing(target_of(name)) as target:
        return isinstance(target, QemuTarget) and target.counts_entries


def _in_guest(
    names: tuple[str, ...],
    held: Mapping[str, Result],
    words: tuple[str, ...],
    folder: Path | None,
    bring: Iterable[str],
    limit: float,
) -> _Ran:
    """Counts the command on A, by entries if those of the rows are known; else a second guest records its calls."""
    a = names[0]
    spec = held[a].session.target if a in held else a
    with closing(target_of(spec)) as target:
        if not isinstance(target, QemuTarget):
            raise UsageError(f"{spec} is not a guest: by path a command runs in one.", "For example qemu:linux-6.1.")
        brought = execution.program_files(words[0], *bring)
        words = (f"/{next(iter(brought))}", *words[1:])
        brought |= execution.folder_files(folder) if folder else {}
        counted = execution.count(target, words, brought, Deadline.after(limit))
        place = target.place("path").image
        same = a not in held or held[a].session.image == place
        if same and counted.entries and all(_counts_entries(name, held) for name in names):
            asked = Asked({}, counted.faults, counted.switches, counted.user, counted.kernel, counted.resident)
            return _Ran(asked, counted.status, place, "", counted.entries)
        by = recorder.recorder(execution.TRACE)
        brought |= execution.program_files(by[0])
        traced = execution.count(target, (*by, *words), brought, Deadline.after(limit), execution.TRACE)
        calls = recorder.parse(traced.trace).calls
        if not calls:
            raise TargetError(f"{by[0]} recorded no system call in {spec}.", "It needs ptrace there.")
        asked = Asked(calls, counted.faults, counted.switches, counted.user, counted.kernel, counted.resident)
        return _Ran(asked, counted.status, place, f"{counted.syscalls:,} counted by the emulator")


def _measured(env: Env, spec: str, by: By, rows: Iterable[str]) -> Result:
    """Measures and stores the rows that the price list needs."""
    with closing(target_of(spec)) as target:
        check_by(by, target)
        plan = plan_of(
            target, by, "full", sorted(Row(row).argument for row in rows), 1, program_for(target, unit_costs=False)
        )
        return measured(env, plan, target, "predict").result
