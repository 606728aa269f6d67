"""`kernometer explain`: why two results differ, or what is odd in one. By counts it compares two structures of Trio by
events, other guests by the topics of their functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kernometer.cli import many
from kernometer.cli.arguments import is_target
from kernometer.cli.compare import judged
from kernometer.cli.env import Env
from kernometer.cli.published import of_one_system
from kernometer.errors import Status, UsageError
from kernometer.explain import costs as event_costs
from kernometer.explain import timing
from kernometer.explain.costs import Explained
from kernometer.explain.cycles import modelled
from kernometer.explain.diagnosis import diagnose
from kernometer.explain.partitions import MONO, structure_of, switches_of
from kernometer.explain.systems import System, of_session, printed
from kernometer.explain.topics import Topical, of_results
from kernometer.report.comparison import cycles
from kernometer.report.explanation import costs as costs_report
from kernometer.report.explanation import cycles as cycles_report
from kernometer.report.explanation import diagnosis as diagnosis_report
from kernometer.report.explanation import timing as timing_report
from kernometer.report.explanation.cycles import CyclesView
from kernometer.report.literature.published import different
from kernometer.report.profile.functions import topic_blocks, topics_document
from kernometer.report.write.file import write
from kernometer.results.model import Paper, Result
from kernometer.results.rows import Row
from kernometer.stats.figures import figures
from kernometer.stats.model import Comparison
from kernometer.stats.path import conditions
from kernometer.stats.sides import side
from kernometer.text import some

#: For `--report` without anything that it draws.
_NO_REPORT = UsageError("--report draws cycles, and costs by events, of two sides by path.", "--help has examples.")
#: Differences that are named in one line.
NAMED = 6


def command(
    env: Env,
    name_a: str,
    name_b: str | None,
    words: tuple[str, ...],
    delta: float,
    timing: bool,
    processor: str,
    different_machines: bool,
    report_file: Path | None,
) -> Status:
    store = env.store()
    names = [name for name in (name_a, name_b) if name]
    if len(set(names)) < len(names):
        raise UsageError("A and B are the same result.", "Give one alone to see what is odd in it.")
    if timing:
        if report_file is not None:
            raise _NO_REPORT
        tell_time(env, name_a, name_b, words)
        return Status.DONE
    if all(map(is_target, names)):
        return _measured(env, names, words, processor, report_file)
    if words:
        raise UsageError("ROW is for targets to be measured.", "For example: qemu:trio-mono qemu:trio-micro.")
    columns = {name: store.column(name) for name in names}
    sets = {name: () if columns[name] else store.load_set(name) for name in names}
    comparison = None
    if len({result.session.by for side in sets.values() for result in side}) == 1 and name_b and all(sets.values()):
        [comparison], _ = judged(store, sets, delta, different_machines=different_machines)
    rows = {row.row: row for row in comparison.rows} if comparison else {}
    systems = []
    for name, column in columns.items():
        if column is None:
            newest = sets[name][0]
            systems.append(of_session(name, newest, figures(newest), comparison))
        else:
            systems.append(printed(name, of_one_system(column).publication, column.system))
    in_cycles = _in_cycles(sets) if len(sets) == 2 else None
    costs = kept(env, {name: side[0] for name, side in sets.items() if side})
    tell(env, costs, in_cycles, report_file)
    topics = of_results(*sets.values()) if len(sets) == 2 and all(sets.values()) else ()
    remarks = _remarks(systems, comparison, [column.publication.paper for column in columns.values() if column])
    diagnosis = diagnose(diagnosis_report.rules(), systems[0], systems[1] if name_b else None, rows)
    if env.json:
        told = diagnosis_report.document(diagnosis, remarks) | (
            {"costs": costs_report.document(costs)} if costs else {}
        )
        told |= {"topics": topics_document(topics)} if topics else {}
        told |= {"modelled": cycles.document(*sets.values())} if in_cycles else {}
        env.print_json(told)
    else:
        if topics:
            tell_topics(env, topics, [side[0].session.target for side in sets.values()])
        env.show(diagnosis_report.blocks(diagnosis, remarks))
    return Status.DONE


def _measured(env: Env, specs: list[str], words: tuple[str, ...], processor: str, report_file: Path | None) -> Status:
    """Measures two guests and explains how they differ."""
    if len(specs) == 1:
        next_step = f"Measure it: kernometer run --on {specs[0]}; then explain @last."
        raise UsageError("A target alone has no result.", next_step)
    sides = measured(env, specs, words, processor)
    costs, topics = costs_of(sides), of_results(*sides.values())
    told_under = conditions(*(side(name, results) for name, results in sides.items()))
    for condition in () if env.json else told_under:
        env.console().print(condition, markup=False, highlight=False)
    tell(env, costs, _in_cycles(sides), report_file)
    if env.json:
        told: dict[str, object] = {"costs": costs_report.document(costs) if costs else None, "conditions": told_under}
        told |= {"topics": topics_document(topics), "modelled": cycles.document(*sides.values())}
        env.print_json(told)
    elif topics:
        tell_topics(env, topics, specs)
    failed = any(result.failures for results in sides.values() for result in results)
    return Status.ROWS_FAILED if failed else Status.DONE


def _remarks(systems: Sequence[System], comparison: Comparison | None, papers: Sequence[Paper]) -> list[str]:
    """What limits the findings; it is printed before them."""
    remarks: list[str] = []
    if comparison is not None:
        remarks += comparison.conditions
        differ = list(dict.fromkeys(fact.what for fact in comparison.differs if not fact.asked))
        if differ:
            remarks.append(f"The sides differ in {some(differ, NAMED)}.")
        if comparison.undecidable:
            remarks.append("One session a side shows no spread between sessions: ratios are taken as they are.")
    elif len(systems) == 2 and systems[0].by != systems[1].by:
        remarks.append("One side counts instructions, the other took times: only rules about one side can speak.")
    elif len(systems) == 2:
        remarks.append("Printed figures have no interval: a ratio below 1.5 counts as no difference.")
        remarks += [different(papers[0])] if len(papers) == 1 else []
    return remarks


def tell_time(env: Env, by_time: str, by_path: str | None, others: Sequence[str]) -> None:
    """Judges the cycles of the modelled processor on a kernel's sessions by time and by path, and tells those of each
    other result."""
    store = env.store()
    if by_path is None:
        raise UsageError("--time needs A by time and B by path.", "For example: explain --time label:host label:linux")
    timed, counted = store.load_set(by_time), store.load(by_path)
    processor, rows = modelled([counted])
    if {result.session.by for result in timed} != {"time"} or processor is None:
        raise UsageError(
            "--time needs A by time, and B by path with counts of a processor.", "'kernometer list' shows both."
        )
    judgement = timing.judge(rows, timed)
    if judgement is None or not judgement.rows:
        raise UsageError(
            "A and B have too few rows in common: those in user mode tell how long a cycle is.",
            "Measure the quick profile both ways: kernometer run; kernometer run --by path --on qemu:linux-6.18",
        )
    results = {}
    for name in others:
        its_processor, its_rows = modelled([store.load(name)])
        if its_processor != processor:
            raise UsageError(f"{name} has no counts of that processor.", f"B's is {processor.name}: --processor.")
        results[name] = {row: each.cycles for row, each in its_rows.items() if Row(row).family in timing.FAMILIES}
    kernels = timed[0].kernel, counted.kernel
    view = timing_report.View((by_time, by_path), kernels, len(timed), processor.name, judgement, results)
    env.answer(lambda: timing_report.document(view), timing_report.blocks(view))


#: How many of a target's newest sessions are searched for unit costs.
LOOKED_AT = 50


def are_of_trio(specs: Sequence[str]) -> bool:
    """Whether all are Trio. Raises UsageError if they are and not exactly one has its services in the kernel."""
    structures = [each[0] for spec in specs if (each := structure_of(spec))]
    within = [each for each in structures if switches_of(each)[0] == MONO]
    if len(structures) == len(specs) and len(within) != 1:
        raise UsageError(
            "Exactly one of the two structures must have its services in the kernel.",
            "For example: qemu:trio-mono qemu:trio-micro",
        )
    return len(structures) == len(specs)


def measured(env: Env, specs: Sequence[str], words: Sequence[str], processor: str) -> dict[str, list[Result]]:
    """Measures the rows on each target, under one label: on Trio also its unit costs, otherwise with profiles. Raises
    UsageError if a target is not a guest or has no profile, and as are_of_trio does."""
    of_trio = are_of_trio(specs)
    how = many.Rounds(many.fresh_label("explain"), profiled="" if of_trio else "median", processor=processor)
    sessions: dict[str, list[Result]] = {spec: [] for spec in specs}
    for column in many.with_units(env, specs, specs if of_trio else (), words, how):
        sessions[column.name] += column.results
    return sessions


def kept(env: Env, results: Mapping[str, Result]) -> Explained | None:
    """The costs from these two sessions and the newest unit costs of the same kernels; None without them."""
    counted = [
        result for result in results.values() if result.session.by == "path" and structure_of(result.session.target)
    ]
    if not len(counted) == len(results) == 2:
        return None
    sides = {result.session.target: [result, *_units_of(env, result)] for result in counted}
    return costs_of(sides) if len(sides) == 2 else None


def _units_of(env: Env, like: Result) -> Iterator[Result]:
    """The newest session with unit costs of the same kernel."""
    store = env.store()
    for summary in store.summaries(target=like.session.target, by="path", newest=LOOKED_AT):
        if summary.image != like.session.image:
            continue
        result = store.read(summary.path)
        alike = result.session.path_definition == like.session.path_definition
        if alike and any(Row(run.row).is_unit_cost for run in result.runs):
            yield result
            return


def costs_of(sides: Mapping[str, Sequence[Result]]) -> Explained | None:
    """None if not exactly one of the two has servers, or one lacks unit costs."""
    (name_a, a), (name_b, b) = sides.items()
    return event_costs.explained(event_costs.side(name_a, a), event_costs.side(name_b, b), [*a, *b])


def tell_topics(env: Env, rows: Sequence[Topical], names: Sequence[str]) -> None:
    a, b = names
    env.show(topic_blocks(rows, (a, b), with_trio=any(map(structure_of, names))))


def tell(env: Env, costs: Explained | None, in_cycles: CyclesView | None, report_file: Path | None) -> None:
    """Prints cycles and costs, and writes their page. Raises UsageError without both, if it is asked for."""
    if not env.json:
        env.show(cycles_report.blocks(in_cycles) if in_cycles else ())
        env.show(costs_report.blocks(costs) if costs else ())
    if report_file is not None:
        if costs is None and in_cycles is None:
            raise _NO_REPORT
        write(report_file, costs_report.page(costs, in_cycles))
        env.say(f"The report is in {report_file}.")


def _in_cycles(sides: Mapping[str, Sequence[Result]]) -> CyclesView | None:
    (name_a, a), (name_b, b) = sides.items()
    return cycles_report.view(name_a, a, name_b, b)
