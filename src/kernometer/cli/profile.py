"""`kernometer profile`: which functions a row's instructions go to."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from kernometer.cli.env import Env
from kernometer.cli.planning import plan_for, print_commands, program_for, with_processor, with_profiles
from kernometer.cli.progress import measured
from kernometer.cli.show_comparisons import write_report
from kernometer.errors import Status, UsageError
from kernometer.explain.cycles import SHOWN
from kernometer.explain.functions import INSTRUCTIONS, Breakdown, breakdowns, charged
from kernometer.report.profile import functions
from kernometer.report.profile.files import FORMS
from kernometer.report.write.file import write
from kernometer.results.model import Result
from kernometer.results.rows import Row
from kernometer.stats.path import processor as emulated
from kernometer.targets.parse import target_of

#: What is shown by page if nothing else is said.
WALKS = "page-walks"


def command(
    env: Env,
    words: tuple[str, ...],
    spec: str | None,
    name: str | None,
    totals: bool,
    everything: bool,
    form: str,
    output: Path | None,
    unit_costs: bool,
    measure: str | None,
    by_page: bool,
    processor: str,
    label: str,
    seed: int | None,
    report_file: Path | None,
    dry_run: bool,
) -> Status:
    if (spec is None) == (name is None):
        raise UsageError("Give a guest with --on, or a stored session with --of.", "For example: --on qemu:linux-6.1")
    if name is not None:
        result = env.store().load(name)
    elif not words:
        raise UsageError("Which rows?", "For example proc/fork-exit; '*' is the quick profile.")
    else:
        with closing(target_of(spec or "")) as target:
            program = program_for(target, unit_costs=unit_costs)
            plan = plan_for(target, "path", "quick", words, seed, program)
            plan = with_profiles(plan, "totals" if totals else "median", target)
            plan = with_processor(plan, processor, env.store())
            if dry_run:
                print_commands(env, plan, (target,))
                return Status.DONE
            path, result = measured(env, plan, target, label)
        env.say(f"The session is stored in {path}.")
    chosen = _chosen(breakdowns(result), words if name is not None else ())
    if measure or by_page:
        chosen = _charged(result, chosen, measure or WALKS, by_page=by_page)
    if model := emulated(result):
        env.say(f"note: counted on the emulated processor {model}, by whose features a kernel chooses code.")
    _show(env, [*chosen.values()], everything=everything, form=form, output=output)
    if report_file is not None:
        write_report(env, {result.session.label or "this session": [result]}, (), None, report_file)
    return Status.ROWS_FAILED if result.failures else Status.DONE


def _chosen(profiles: dict[str, Breakdown], words: tuple[str, ...]) -> dict[str, Breakdown]:
    """The rows that a word names. Raises UsageError without a profile."""
    chosen = {
        row: profile for row, profile in profiles.items() if not words or any(Row(row).is_named(word) for word in words)
    }
    if not chosen:
        raise UsageError(
            "There is no profile of such a row." if profiles else "The session has no profiles.",
            "kernometer profile --on qemu:GUEST ROW measures one.",
        )
    return chosen


def _charged(result: Result, profiles: dict[str, Breakdown], measure: str, *, by_page: bool) -> dict[str, Breakdown]:
    """The same in counts of the memory system. Raises UsageError without any."""
    what = next(head for head in SHOWN if head.lower().replace(",", "").replace(" ", "-") == measure)
    made = {
        row: shown for row, profile in profiles.items() if (shown := charged(result, profile, what, by_page=by_page))
    }
    if not made:
        raise UsageError(f"No function was charged with {what}.", "kernometer profile --on qemu:GUEST ROW does it.")
    return made


def _show(env: Env, profiles: list[Breakdown], *, everything: bool, form: str, output: Path | None) -> None:
    if form == "pprof" and output is None:
        raise UsageError("pprof's form is binary.", "Name a file: -o out.pb.gz")
    if form != "table":
        if any(profile.what != INSTRUCTIONS for profile in profiles):
            raise UsageError("Files are of instructions.", "Leave --in out, or --format.")
        data = FORMS[form](profiles)
        if output is None:
            env.out.write(data.decode())
            return
        write(output, data, "profile")
        return
    if output is not None:
        raise UsageError("-o needs a --format.", "For example: --format folded -o out.folded")
    if env.json:
        env.print_json([functions.document(profile) for profile in profiles])
        return
    for profile in profiles:
        env.show(functions.blocks(profile, everything=everything))
    env.show(functions.notes_of(profiles))
