"""`kernometer structures`: Linux and Trio by path, and how much of a microkernel's cost is its structure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kernometer.cli import many
from kernometer.cli.env import Env
from kernometer.cli.planning import plan_for
from kernometer.cli.show_comparisons import compared_with_last, write_report
from kernometer.errors import KernometerError, Status, StoppedError, TargetError
from kernometer.explain.structure_factors import LINUX, ROWS, SYSTEMS, answer, in_cycles
from kernometer.guests import store
from kernometer.guests.inside import programs
from kernometer.guests.kernels import linux, trio
from kernometer.report.explanation.structures import StructuresView, blocks, document, view
from kernometer.results.model import Result


def command(env: Env, words: tuple[str, ...], also: str | None, processor: str, report_file: Path | None) -> Status:
    store = env.store()
    beside = store.load(also) if also else None
    left_out: dict[str, KernometerError] = {}
    try:
        systems = _measured(env, words, processor, left_out)
    except StoppedError:
        raise
    except KernometerError as error:
        if beside is not None:
            _report(env, report_file, beside, {}, view(None, None, {"Linux and Trio": error}))
        raise
    answered = answer(systems)
    priced = in_cycles(systems, [operation.row for operation in answered.operations])
    shown = view(answered, priced, left_out)
    env.answer(lambda: document(answered, priced, left_out), blocks(shown))
    _report(env, report_file, beside, systems, shown)
    failed = any(result.failures for sessions in systems.values() for result in sessions)
    return Status.ROWS_FAILED if failed or left_out else Status.DONE


def _measured(
    env: Env, words: Sequence[str], processor: str, left_out: dict[str, KernometerError]
) -> dict[str, list[Result]]:
    """The sessions of each system, Trio's with its unit costs; what fails goes into `left_out`. Raises what Trio's
    guests fail with, MissingError without QEMU, UsageError for an unknown row, all before measuring."""
    programs.need("Linux and Trio are measured under QEMU", "qemu-system-x86_64")
    plan_for(None, "path", "quick", words or ROWS, None)  # an unknown row is refused before minutes of making guests
    added = _added(env, left_out)
    how = many.Rounds(many.fresh_label("structures"), processor=processor)
    sessions: dict[str, list[Result]] = {name: [] for name in added}
    specs = {f"qemu:{guest}": name for name, guest in added.items()}
    of_trio = [spec for spec, name in specs.items() if name != LINUX]
    for column in many.with_units(env, [*specs], of_trio, words or ROWS, how):
        sessions[specs[column.name]] += column.results
        if column.failure:
            left_out[specs[column.name]] = TargetError(column.failure)
    return {name: results for name, results in sessions.items() if results}


def _added(env: Env, left_out: dict[str, KernometerError]) -> dict[str, str]:
    """The guest of each system, made if it is not there. Raises MissingError or BuildError if Trio's cannot be."""
    guests: dict[str, str] = {}
    built = trio.current()
    for name in SYSTEMS:
        if name == LINUX:
            try:
                guests[name] = _linux(env)
            except StoppedError:
                raise
            except KernometerError as error:
                left_out[name] = error
                env.say(f"{name} is left out: {error.text}")
        else:
            guests[name] = f"trio-{name}" if name in built else trio.add(name, env.say).name
    return guests


def _linux(env: Env) -> str:
    """The guest of this release's kernel."""
    name = linux.name_of(None)
    if all(guest.name != name for guest in store.listed()):
        env.say(f"{name}: looking for the Linux that this release installs …")
        linux.add(None, env.say)
    return name


def _report(
    env: Env, file: Path | None, beside: Result | None, systems: Mapping[str, Sequence[Result]], shown: StructuresView
) -> None:
    """One file: the stored session beside the last, if one is named, else the sessions of `systems`; and the answer."""
    if beside is not None:
        write_report(env, *compared_with_last(env.store(), beside), file, structures=shown)
    else:
        write_report(env, systems, (), None, file, structures=shown)
