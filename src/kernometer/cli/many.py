"""What commands that measure many targets share: measuring them, judging them against one, telling what failed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from kernometer.campaign.cells import Listen, Outcome, Places, finished, measure_cells
from kernometer.campaign.here import Here
from kernometer.campaign.plan import Plan
from kernometer.campaign.scheduler import workers_of
from kernometer.cli.compare import history_of_hosts
from kernometer.cli.env import Env
from kernometer.cli.planning import (
    NO_PROCESSOR,
    check_by,
    check_targets,
    plan_for,
    print_commands,
    program_for,
    tell_notes,
    with_processor,
    with_profiles,
)
from kernometer.cli.progress import progress, tell_errors
from kernometer.cli.show_comparisons import known_layouts
from kernometer.cli.trio_kernels import tell_lacking
from kernometer.errors import Status, UsageError
from kernometer.explain import factorial, machines
from kernometer.guests import variant
from kernometer.report.explanation import boundaries, switches
from kernometer.report.explanation import machines as machines_report
from kernometer.report.matrix import terminal
from kernometer.report.matrix.document import document
from kernometer.report.matrix.measures import counted_in, measured_in
from kernometer.report.matrix.view import view
from kernometer.report.session import counters
from kernometer.report.write.file import write
from kernometer.results.model import By
from kernometer.results.store import Store, read_file
from kernometer.results.writer import new_session_id
from kernometer.stats.figures import Counted
from kernometer.stats.series import Column, Series, series
from kernometer.targets.base import Profiled
from kernometer.targets.parse import target_of

#: The word for a guest's own machine.
STANDARD_WORD = "standard"


@dataclass(frozen=True, slots=True)
class Rounds:
    """How the targets are measured."""

    label: str
    boots: int = 1  #: sessions of each target, by time
    jobs: int | None = None  #: guests in parallel, by path; None: one per CPU
    profiled: Profiled = ""  #: which profile each row gets, by path
    processor: str = NO_PROCESSOR  #: whose memory system is counted, by path
    different_machines: bool = False
    dry_run: bool = False
    scheduler: str = ""  #: whose workers measure, instead of this host
    resume: bool = False  #: only what complete sessions of the label lack


@dataclass(frozen=True, slots=True)
class Shown:
    """How the targets are judged and shown. Raises UsageError if two things are to be shown instead of ratios."""

    delta: float
    report_file: Path | None
    baseline: str = ""
    points: bool = False
    counters: bool = False
    boundaries: bool = False  #: instead of ratios
    factorial: bool = False  #: likewise
    measure: str | None = None  #: of report/matrix/measures.py, instead of the figures

    def __post_init__(self) -> None:
        if self.boundaries and self.factorial:
            raise UsageError("--boundaries and --factorial measure different kernels.", "Give one of them.")


def on_machines(specs: Sequence[str], machines: Sequence[str]) -> list[str]:
    """Each target on each machine, one kernel after the other; without machines the targets themselves. Raises
    UsageError for a target that is not a guest, and for words that do not describe a machine."""
    if not machines:
        return list(specs)
    for spec in specs:
        if not spec.startswith("qemu:"):
            raise UsageError(f"{spec} has one machine, its own.", "--machine is for guests: --on qemu:linux-6.1.")
    for machine in machines:
        words = "" if machine == STANDARD_WORD else variant.parse(f"guest+{machine}").command_line("")
        if words:
            raise UsageError(f"{words!r} is not a machine option.", "For example cpu=Nehalem, machine=q35, standard.")
    return [spec if machine == STANDARD_WORD else f"{spec}+{machine}" for spec in specs for machine in machines]


def fresh_label(kind: str) -> str:
    return f"{kind}-{new_session_id().partition('-')[0]}"


def measure(
    env: Env,
    specs: Sequence[str],
    beside: Sequence[str],
    by: By,
    plan_of: Callable[..., Plan],
    rounds: Rounds,
    *,
    unit_costs: bool,
) -> list[Column] | None:
    """A column for each target; `plan_of` makes the plan for one of them. None after a dry run. Raises UsageError for
    an unknown target, and for fewer than two."""
    store = env.store()
    if rounds.scheduler:  # only its workers need the guests and the targets
        plan = plan_of(None, program="probe-trio" if unit_costs else "probe")
        plan = replace(with_processor(plan, rounds.processor, store), profiled=rounds.profiled)
        if rounds.jobs is not None:
            raise UsageError("A scheduler's workers have as many cells as processors and threads.", "Leave --jobs out.")
        if rounds.dry_run:
            raise UsageError("A scheduler's workers are not asked for their commands.", "Leave --dry-run out.")
        workers = partial(workers_of, rounds.scheduler, by, store, rounds.label)
        return _measured(env, plan, specs, beside, rounds, workers, silence=plan.patience)
    with ExitStack() as stack:
        targets = [stack.enter_context(closing(target_of(spec))) for spec in specs]  # all, before any is measured
        if len(targets) < 2:
            raise UsageError("A matrix needs at least two targets.", "For example: --on qemu:linux-6.1,qemu:linux-6.12")
        check_by(by, *targets)
        if not rounds.different_machines:
            check_targets({target.name: target for target in targets}, by, may_boot=not rounds.dry_run)
        plan = plan_of(None if rounds.dry_run else targets[0], program=program_for(*targets, unit_costs=unit_costs))
        plan = with_profiles(plan, rounds.profiled, *targets)
        plan = with_processor(plan, rounds.processor, store)
        if rounds.dry_run:
            print_commands(env, plan, targets)
            return None
        tell_notes(env, by, *targets)
        jobs = rounds.jobs or len(os.sched_getaffinity(0))
        names = [target.name for target in targets]

        def here(listen: Listen) -> AbstractContextManager[Places]:
            return nullcontext(Here(targets, store, rounds.label, listen, jobs))

        return _measured(env, plan, names, beside, rounds, here)


def _measured(
    env: Env,
    plan: Plan,
    targets: Sequence[str],
    beside: Sequence[str],
    rounds: Rounds,
    places: Callable[[Listen], AbstractContextManager[Places]],
    silence: float | None = None,
) -> list[Column]:
    """Measures the cells that are left in the places that `places` gives for a listener. Prints what failed and where
    the sessions are; returns the columns."""
    known = finished(env.store(), rounds.label, plan) if rounds.resume else {}
    each = rounds.boots if plan.by == "time" else 1
    there = sum(min(each, len(paths)) for (target, _host), paths in known.items() if target in targets)
    left = max(0, each * len(targets) - there)
    with progress(env, plan, left, silence=silence) as listen, places(listen) as measuring:
        outcomes = measure_cells(plan, targets, measuring, rounds.label, rounds.boots, known)
    tell_errors(env, outcomes)
    if any(outcome.paths for outcome in outcomes):
        env.say(f"The sessions are stored under the label {rounds.label}: kernometer matrix 'label:{rounds.label}'")
    return measured(outcomes, beside)


def with_units(
    env: Env, specs: Sequence[str], of_trio: Sequence[str], words: Sequence[str], rounds: Rounds
) -> Iterator[Column]:
    """The columns of the unit costs of those targets that are Trio, then those of the rows of all, by path; only the
    rows are profiled and have their memory system counted."""
    for units, rows in ((True, ()), (False, words)):
        chosen = of_trio if units else specs
        plan_of = partial(plan_for, by="path", profile="quick", words=rows, seed=None)
        how = replace(rounds, profiled="", processor=NO_PROCESSOR) if units else rounds
        yield from (measure(env, chosen, [], "path", plan_of, how, unit_costs=units) or ()) if chosen else ()


def measured(outcomes: Sequence[Outcome], aside: Sequence[str]) -> list[Column]:
    """One column per target (by time: per target and machine), in the order given. `aside` names targets, which stand
    aside on every machine, or columns. Raises ResultError if a file cannot be read."""
    return [
        Column(
            outcome.name,
            tuple(read_file(path) for path in outcome.paths),
            outcome.why,
            bool({outcome.name, outcome.target}.intersection(aside)),
        )
        for outcome in outcomes
    ]


def judge(env: Env, columns: Sequence[Column], shown: Shown) -> Status:
    """Judges all against one, prints that, and writes the report. Raises UsageError if there is no boundary to show."""
    store: Store = env.store()
    results = [result for column in columns for result in column.results]
    counted = bool(results) and all(result.session.by == "path" for result in results)
    judged = series(
        columns,
        baseline=shown.baseline,
        history=None if counted else history_of_hosts(store, results),
        delta=shown.delta,
        floors=known_layouts(store) if counted else (),
    )
    in_measure = counted_in(judged, shown.measure)
    if in_measure is None:
        raise UsageError(
            f"{judged.baseline} has no {shown.measure}.",
            "Measure it, on x86: --by path --processor skylake",
        )
    if env.json:
        env.print(document(judged, in_measure))
    else:
        _print(env, judged, shown, in_measure)
    if shown.report_file is not None:
        from kernometer.report.matrix.page import render

        write(shown.report_file, render(judged, in_measure))
        env.say(f"The report is in {shown.report_file}.")
    failed = any(column.failure or any(result.failures for result in column.results) for column in columns)
    return Status.ROWS_FAILED if failed else Status.DONE


def _print(env: Env, judged: Series, shown: Shown, in_measure: Counted) -> None:
    if shown.factorial:
        effects = factorial.of_results(judged.results, in_measure)
        if effects is None:
            raise UsageError(
                "There is no switch: that takes sessions of one structure of Trio with switches on and off.",
                "kernometer ab --by path --factorial qemu:trio-micro",
            )
        env.show(switches.blocks(effects))
    elif shown.boundaries:
        prices = boundaries.of_series(judged, in_measure)
        if prices is None:
            raise UsageError(
                "There is no boundary: that takes sessions of Trio's mono, and of mono with one service cut out.",
                "kernometer ab --by path --boundaries",
            )
        env.show(boundaries.blocks(prices))
        tell_lacking(env, (column.name for column in judged.columns))
    else:
        told = (measured_in(judged, shown.measure) if shown.measure else None) or judged
        env.show(terminal.blocks(view(told, points=shown.points)))
        if told is judged and (study := machines.study(judged.results)):
            env.show(machines_report.blocks(study))
    if shown.counters:
        env.show(counters.blocks({column.name: column.results for column in judged.columns if column.results}))
