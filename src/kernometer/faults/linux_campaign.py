"""A campaign of faults in a Linux guest: what is drawn for each subject and kind, and the table of outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from kernometer.faults.linux import KINDS, OUTCOMES, SUBJECTS, Fault, Observation, Outcome, drawn, is_data_lost, outcome
from kernometer.faults.linux_guest import Linux
from kernometer.stats.proportions import wilson

_OOPS = "Oops:"


class Run(msgspec.Struct, frozen=True):
    """One fault and what it led to. `outcome`: None if it never happened."""

    fault: Fault
    outcome: Outcome | None
    data_lost: bool
    oopsed: bool
    context: str  #: "task", "interrupt", "softirq"
    fsck: int | None


def campaign(linux: Linux, draws: int, seed: int) -> Iterator[Run]:
    """`draws` faults of each kind for each subject; and each that oopses once more with panic_on_oops, which changes
    nothing before an oops."""
    for subject in SUBJECTS:
        places = linux.places(subject)
        linux.say(f"{subject}: {len(places)} functions entered, {sum(one.entries for one in places):,} times")
        usual = linux.run(Fault(subject, places[0].symbol, 1 << 62, "null-write", 1))
        usual_ns = max(int(one["slowest_ns"]) for one in usual.events if one["event"] == "end")
        for kind in KINDS:
            for number in range(draws):
                fault = drawn(places, kind, seed + number)
                if fault is None:
                    break
                first = _run(linux, fault, usual_ns)
                yield first
                if first.oopsed:
                    yield _run(linux, msgspec.structs.replace(fault, panic_on_oops=True), usual_ns)


def _run(linux: Linux, fault: Fault, usual_ns: int) -> Run:
    seen: Observation = linux.run(fault)
    context = str(seen.struck["context"]) if seen.struck else ""
    found = outcome(seen, usual_ns)
    return Run(fault, found, is_data_lost(seen), _OOPS in seen.console, context, seen.fsck)


def table(runs: Sequence[Run]) -> str:
    """Lines with the share of each outcome, by kind and by subject, with 95 % intervals."""
    struck = [one for one in runs if one.outcome is not None]
    plain = [one for one in struck if not one.fault.panic_on_oops]
    head = f"{'':24}{'runs':>5}" + "".join(f"{name:>19}" for name in (*OUTCOMES, "(with data lost)"))
    lines = [f"{len(runs)} runs; in {len(runs) - len(struck)} the fault never happened", "", head]
    lines += [_row(kind, [one for one in plain if one.fault.kind == kind]) for kind in KINDS]
    lines += ["", *(_row(subject, [one for one in plain if one.fault.subject == subject]) for subject in SUBJECTS), ""]
    lines += [_row(f"in {where}", [one for one in plain if one.context == where]) for where in ("task", "interrupt")]
    again = [one for one in struck if one.fault.panic_on_oops]
    paired = {msgspec.structs.replace(one.fault, panic_on_oops=False) for one in again}
    lines += ["", _row("oopsed, panic_on_oops=0", [one for one in plain if one.fault in paired])]
    lines += [_row("the same, with =1", again)]
    return "\n".join(lines) + "\n"


def _row(name: str, runs: Sequence[Run]) -> str:
    if not runs:
        return f"{name:24}{0:5}"
    counted = Counter(one.outcome for one in runs)
    cells = [_share(counted[each], len(runs)) for each in OUTCOMES]
    return f"{name:24}{len(runs):5}" + "".join([*cells, _share(sum(one.data_lost for one in runs), len(runs))])


def _share(found: int, of: int) -> str:
    low, high = wilson(found, of)
    return f"{found:6} ({100 * low:3.0f}–{100 * high:3.0f} %)"
