"""The profile of a row: do its lines sum to the figure, and are they the right functions?"""

from __future__ import annotations

import struct
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kernometer.campaign.plan import plan_of
from kernometer.errors import TargetError
from kernometer.guests import store
from kernometer.guests.kernels import symbols, trio
from kernometer.guests.plugins import profile, trace
from kernometer.guests.plugins.flow import exceptions
from kernometer.guests.plugins.trace import Flow
from kernometer.results.iteration import median_iteration
from kernometer.results.model import KERNEL as OF_KERNEL
from kernometer.results.model import Failure, Memory, Profile, Run, Workload
from kernometer.results.processor import find
from kernometer.results.reader import parse_record
from kernometer.stats.cost import run_cost
from kernometer.targets.base import Deadline, Profiled
from kernometer.targets.qemu import QemuTarget
from tests.support.checkout import alone
from tests.support.guests.assembled import assembled
from tests.support.guests.booted import PARTS

HERE = Path(__file__).parent

#: What each does to the flow.
FLOWS = (
    ("call .", Flow.CALL),
    ("call *%rax", Flow.CALL),
    ("call *8(%r12)", Flow.CALL),
    ("ret", Flow.RETURN),
    ("ret $8", Flow.RETURN),
    ("jmp .", Flow.JUMP),
    ("jmp *%rax", Flow.JUMP),
    ("je .", Flow.JUMP),
    ("je . + 1000", Flow.JUMP),
    ("loop .", Flow.JUMP),
    ("syscall", Flow.ENTER),
    ("int $0x80", Flow.ENTER),
    ("sysretq", Flow.LEAVE),
    ("iretq", Flow.IRET),
    ("rep movsb", Flow.REPEAT),
    ("movsb", Flow.PLAIN),
    ("rdtsc", Flow.CLOCK),
    ("rdtscp", Flow.CLOCK),
    ("mov %rax,%cr3", Flow.SPACE),
    ("mov %rax,%cr4", Flow.PLAIN),
    ("mov %rsi,%rsp", Flow.STACK),
    ("mov 0x1c0(%rsi),%rsp", Flow.STACK),
    ("mov %gs:0x100,%rsp", Flow.STACK),
    ("pop %rsp", Flow.STACK),
    ("mov %rbp,%rsp", Flow.PLAIN),
    ("mov %rsi,%r12", Flow.PLAIN),
    ("mov (%rsi),%r12", Flow.PLAIN),
    ("pop %r12", Flow.PLAIN),
    ("mov %rsp,%rax", Flow.PLAIN),
    ("push (%rax)", Flow.PLAIN),
    ("incl (%rax)", Flow.PLAIN),
    ("setb %al", Flow.PLAIN),
    ("movabs $0xc3c3c3c3c3c3c3c3,%rax", Flow.PLAIN),
)


def test_what_an_instruction_does_to_the_flow_is_known_by_its_bytes(tmp_path: Path) -> None:
    """Expected: no other flow. Broken: the end of a frame (mov %rbp,%rsp) is a switch of tasks."""
    program = tmp_path / "flow"
    words = ("gcc", "-std=gnu99", "-fsanitize=address,undefined", "-o", str(program), str(HERE / "units" / "flow.c"))
    subprocess.run(words, check=True, timeout=120)
    lines = "".join(f"{int(flow)} {code}\n" for (_, flow), code in zip(FLOWS, assembled(tmp_path, FLOWS), strict=True))
    done = subprocess.run([str(program)], input=lines, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (f"{len(FLOWS)} read\n", "")


def test_a_count_is_charged_to_the_instruction_that_made_it(tmp_path: Path) -> None:
    """Expected: a fetch and an access to the instruction at which they happen and to the page that it asks for, a
    misprediction to the branch before and its page, of the wanted executions alone, whose address spaces are one by
    their order; nothing once one of them did not end. Broken: a miss of the instruction after."""
    program = tmp_path / "charge"
    words = ("gcc", "-std=gnu99", "-fsanitize=address,undefined", "-o", str(program), str(HERE / "units" / "charge.c"))
    subprocess.run(words, check=True, timeout=120)
    done = subprocess.run(
        [str(program)], env={"ASAN_OPTIONS": "detect_leaks=0"}, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "charge 1 l1i_misses 2",
        "charge 2 walks 4",
        "charge 2 mispredicted_conditional 2",
        "charge 3 l2_load_misses 2",
        "page -1 ffff800000003 0 0 0 0 0 0 0 walks 4",
        "page 0 7 0 0 0 0 0 0 0 l2_load_misses 2",
        "page 0 400 0 0 0 0 0 0 0 l1i_misses 2 mispredicted_conditional 2",
        "killed",
    ]


#: (address, size, flow); the kernel's half has the sign bit.
Step = tuple[int, int, Flow]
KERNEL = 1 << 63
USER = 0x400000


def written(
    steps: Sequence[Step], readings: Sequence[tuple[int, int, int]] = (), *, kept: bool = True, goes_on: int = -1
) -> bytes:
    """A file as the plugin writes it. `readings`: (before which step, stack pointer, page-table base). `goes_on`: the
    step in which a string instruction goes on after an interrupt."""
    known = list(dict.fromkeys(steps))
    table = b"".join(
        struct.pack("<3Q4B12x", at, at >> 12, steps.count(one), size, int(flow), at >> 63, 1)
        for one in known
        for at, size, flow in [one]
    )
    at_step = {at: number for number, (at, _, _) in enumerate(readings)}
    order = []
    for number, one in enumerate(steps):
        order += [1 << 31 | at_step[number]] if number in at_step else []
        order.append(known.index(one) | (number == goes_on) << 30)
    order = order if kept else []
    values = b"".join(struct.pack("<2Q", stack, space) for _, stack, space in readings if kept)
    head = struct.pack("<8s7Q", b"KMTRACE", len(known), len(order), len(values) // 16, 1, len(steps), kept, 0)
    return head + table + struct.pack(f"<{len(order)}I", *order) + values


def plain(start: int, count: int) -> list[Step]:
    return [(start + 4 * number, 4, Flow.PLAIN) for number in range(count)]


CLOCK = (USER - 2, 2, Flow.CLOCK)
CLOCK_AGAIN = (USER + 0x100, 2, Flow.CLOCK)
#: A handler of three instructions, of page faults or of interrupts.
FAULT, TICK = KERNEL | 0x1000, KERNEL | 0x2000


def handled(by: int) -> list[Step]:
    return [*plain(by, 2), (by + 8, 2, Flow.IRET)]


def to_the_clock(at: int) -> list[Step]:
    """From an address to the second reading of the clock."""
    return [(at, 4, Flow.JUMP), CLOCK_AGAIN]


NOTHING = symbols.Symbols(None, "", ())


def profiled(
    steps: Sequence[Step], again: int, readings: Sequence[tuple[int, int, int]] = (), goes_on: int = -1
) -> Profile:
    parsed = trace.parse(written(steps, readings, goes_on=goes_on))
    return profile.profile(profile.Counted("a/row", 0, 0, again, again), parsed, NOTHING)


def test_a_fault_is_counted_twice_and_an_interrupt_is_between() -> None:
    """Expected: the attempt is named, the tick's three instructions are an interrupt's, and nothing is left. Broken: a
    fault in a string instruction taken for a tick."""
    before, after = plain(USER, 3), plain(USER + 12, 2)
    steps = [CLOCK, *before, *handled(FAULT), before[2], *after, *handled(TICK), *to_the_clock(USER + 20)]
    made = profiled(steps, len(steps) - 2)
    assert (made.counted, made.repeated, made.rest) == (len(steps) - 1, 1, 0)
    assert sum(line.count for line in made.lines if line.interrupt) == 3
    assert sum(line.count for line in made.lines if line.kernel) == 6


def test_a_tick_may_come_as_soon_as_a_fault_is_handled() -> None:
    """A call has no page for its return address; a tick comes with the return to it. Expected: the attempt is known.
    Broken: the return to the tick's handler is taken for one to where the call goes."""
    [first], call, called = plain(USER, 1), (USER + 4, 5, Flow.CALL), (USER + 0x40, 1, Flow.RETURN)
    steps = [CLOCK, first, *handled(FAULT), first, call, *handled(FAULT), *handled(TICK), call, called]
    steps += to_the_clock(USER + 9)
    made = profiled(steps, len(steps) - 3)
    assert (made.repeated, made.rest, made.without_stacks) == (2, 0, "")


@pytest.mark.parametrize(("by", "repeated"), [(FAULT, 1), (TICK, 0)])
def test_a_string_instruction_is_interrupted_or_faults(by: int, repeated: int) -> None:
    """Expected: one instruction; after a fault it is tried again, after a tick it goes on. Broken: its address is the
    same after both, so that both are one."""
    string, then = (USER + 4, 2, Flow.REPEAT), (USER + 6, 4, Flow.JUMP)
    before = [CLOCK, *plain(USER, 1), string, *handled(by)]
    steps = [*before, string, then, CLOCK_AGAIN]
    made = profiled(steps, len(steps) - 2, goes_on=len(before) if by == TICK else -1)
    assert (made.repeated, made.rest) == (repeated, 0)
    assert sum(line.count for line in made.lines if line.interrupt) == (3 if by == TICK else 0)
    assert sum(stack.count for stack in made.stacks) == made.counted


def test_a_page_that_is_missing_where_a_jump_goes_repeats_nothing() -> None:
    """Expected: the jump was executed once, also if it is later executed again after a fault of its own page. Broken:
    both are one fault of the jump."""
    jump, there = (USER, 6, Flow.JUMP), plain(USER + 0x200, 1)
    fault = [*plain(USER + 0x80, 1), *handled(FAULT), *plain(USER + 0x80, 1), (USER + 0x84, 4, Flow.JUMP)]
    back = (USER + 0x204, 4, Flow.JUMP)
    steps = [CLOCK, (USER, 0, Flow.JUMP), *fault, jump, *handled(FAULT), *there, back]
    steps += [(USER + 0x300, 4, Flow.JUMP), *handled(FAULT), jump, *there, *to_the_clock(USER + 0x204)]
    made = profiled(steps, len(steps) - 2)
    assert (made.repeated, made.rest) == (1, 0)


def nested(depth: int, most: int) -> list[Step]:
    """A function on a page of its own, which calls the next one."""
    at = USER + 0x1000 * depth
    inside = [(at + 8, 1, Flow.CALL), *nested(depth + 1, most)] if depth < most else [(at + 8, 1, Flow.PLAIN)]
    return [*plain(at, 2), *inside, (at + 9, 1, Flow.RETURN)]


def stacks(made: Profile) -> dict[tuple[str, ...], int]:
    return {tuple(made.names[at] for at in one.frames): one.count for one in made.stacks}


def page(at: int) -> str:
    return f"[{'kernel' if at >> 63 else 'user'} code at {at >> 12 << 12:#x}]"


def test_calls_are_followed_through_a_switch_of_tasks_and_back() -> None:
    """Expected: what another task does is not below the first one's calls, and the first goes on where it was. Broken:
    both return to the same address in the scheduler, so that they are one."""
    table = symbols.Table(
        (KERNEL | 0x5000, KERNEL | 0x5100, KERNEL | 0x6000, KERNEL | 0x7000),
        ("schedule", "__switch_to_asm", "read", "other"),
    )
    known = symbols.Symbols(table, "made up", ())
    call = (KERNEL | 0x5000, 5, Flow.CALL)
    switch = [(KERNEL | 0x5100, 4, Flow.STACK), (KERNEL | 0x5104, 1, Flow.RETURN)]
    enter, leave = (USER, 2, Flow.ENTER), (KERNEL | 0x6008, 3, Flow.LEAVE)
    ours = [enter, *plain(KERNEL | 0x6000, 1), (KERNEL | 0x6004, 4, Flow.CALL)]
    other = [(KERNEL | 0x5005, 1, Flow.RETURN), *plain(KERNEL | 0x7000, 3), (KERNEL | 0x700C, 4, Flow.JUMP), call]
    rest = [(KERNEL | 0x5005, 1, Flow.RETURN), leave, *to_the_clock(USER + 2)]
    steps = [CLOCK, *ours, call, *switch, *other, *switch, *rest]
    first = len(ours) + 2
    second = first + 2 + len(other)
    readings = [
        (0, 0x7000, 1),
        (first, 0xA000, 1),
        (first + 2, 0xB000, 1),
        (second, 0xB000, 1),
        (second + 2, 0xA000, 1),
    ]
    parsed = trace.parse(written([*steps], readings))
    made = profile.profile(profile.Counted("a/row", 0, 0, len(steps) - 1, len(steps) - 1), parsed, known)
    assert made.without_stacks == ""
    found = stacks(made)
    assert sum(found.values()) == made.counted
    assert found[page(USER), "read", "schedule", "__switch_to_asm"] == 2
    assert sum(count for path, count in found.items() if "other" in path) > 3
    assert not any("read" in path and "other" in path for path in found)
    assert {line.task for line in made.lines if made.names[line.function] == "__switch_to_asm"} == {0, 1}
    assert {line.task for line in made.lines if made.names[line.function] == "other"} == {1}


def test_stacks_that_do_not_end_as_they_began_are_not_shown() -> None:
    """Expected: the reason, and the functions all the same. Broken: a graph of half a stack."""
    made = profiled(
        [CLOCK, (USER, 5, Flow.CALL), *plain(USER + 0x1000, 3), (USER + 0x100C, 4, Flow.JUMP), CLOCK_AGAIN], 6
    )
    assert made.stacks == ()
    assert "not that of its begin" in made.without_stacks
    assert sum(line.count for line in made.lines) == made.counted == 6


def test_rare_stacks_are_counted_at_their_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: as many as allowed, with the same sum. Broken: a result of megabytes, or lost instructions."""
    monkeypatch.setattr(profile, "MAX_STACKS", 3)
    inside = [(USER, 1, Flow.CALL), *nested(1, 8)]
    made = profiled([CLOCK, *inside, *to_the_clock(USER + 1)], len(inside) + 2)
    assert len(made.stacks) == 3
    assert sum(one.count for one in made.stacks) == made.counted


def test_without_an_order_there_are_counts() -> None:
    parsed = trace.parse(written([CLOCK, *plain(USER, 5)], kept=False))
    made = profile.profile(profile.Counted("a/row", 0, 0, 6, 6), parsed, NOTHING)
    assert (made.counted, made.without_stacks) == (6, profile.ONLY_COUNTS)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:0],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data + b"charge 99 walks 1\n",
        lambda data: data + b"charge 1 walks\n",
        lambda data: data + b"touch 0 user_code 1 2 3\n",
        lambda data: data.replace(b"KMTRACE", b"KMTRACF"),
        lambda data: data[:-4] + struct.pack("<I", 77),
        lambda data: data[:-4] + struct.pack("<I", 1 << 31 | 5),
        lambda data: data[:16] + struct.pack("<Q", 1 << 60) + data[24:],
        lambda data: data[: 64 + 25] + b"\x63" + data[64 + 26 :],
    ],
)
def test_a_damaged_file_is_an_error(damage: object) -> None:
    """Expected: TargetError. Broken: an index beyond the table, or gigabytes asked for."""
    data = damage(written([CLOCK, *plain(USER, 5)]))  # type: ignore[operator]  # one of the functions above
    with pytest.raises(TargetError):
        trace.parse(data)


def test_the_iteration_is_that_of_the_figure() -> None:
    """Expected: the lower median of the runs' lower medians, net, as the statistics take it. Broken: a profile of
    another iteration than the one that is shown."""
    from tests.support.stats.simulate import baseline, run

    common = {"batch": 1, "loop_cost": (7, 7, 8), "loop_batch": 1}
    runs = [
        run([90, 30, 60, 20], run=0, baseline=baseline([9, 11], 1), **common),
        run([50, 40, 45], run=1, baseline=baseline([10], 1), **common),
        run([70, 80], run=2, baseline=baseline([19], 1), **common),
    ]
    for net in (True, False):
        found = median_iteration(runs, less_baseline=net)
        costs = sorted(run_cost(one, "path", net).figure.cost for one in runs)
        assert found is not None
        assert run_cost(found.run, "path", net).figure.cost == costs[1]
        assert found.gross == sorted(found.run.samples)[(len(found.run.samples) - 1) // 2]
        before = sum(len(one.samples) for one in runs[: runs.index(found.run)])
        assert found.number == before + found.run.samples.index(found.gross)
    assert median_iteration([], less_baseline=False) is None


def measured(name: str, words: Sequence[str], view: Profiled = "median") -> tuple[list[Profile], list[Run], list[str]]:
    """A guest's profiles and runs, and the rows that failed."""
    target = QemuTarget.from_spec(name)
    job = replace(plan_of(None, "path", "quick", words, 1), profiled=view).job()
    records = [parse_record(line) for line in target.run(job, Deadline.after(3400))]
    failed = [f"{one.row}: {one.text}" for one in records if isinstance(one, Failure)]
    net = {row.row for one in records if isinstance(one, Workload) and one.figure_less_baseline for row in one.rows}
    profiles = [one for one in records if isinstance(one, Profile)]
    runs = [one for one in records if isinstance(one, Run)]
    for one in profiles:
        of_row = [run for run in runs if run.row == one.row]
        found = median_iteration(of_row, less_baseline=one.row in net)
        assert found is not None
        if view == "median":
            assert (one.run, one.sample, one.gross) == (found.run.run, found.sample, found.gross)
    return profiles, runs, failed


def of_kind(kind: str, linux_6_1: store.Guest) -> str:
    if kind == "linux":
        return linux_6_1.name
    with alone(f"trio-{kind}"):
        return trio.add(kind).name


@pytest.mark.guest
@pytest.mark.slow(minutes=0.4)
@pytest.mark.parametrize("kind", ["linux", "mono", "hybrid", "micro"])
def test_a_few_rows_sum_to_their_figures(kind: str, linux_6_1: store.Guest) -> None:
    """Expected: exactly, with stacks, also where tasks switch and pages fault. Broken: any instruction lost."""
    rows = (
        "syscall/getppid",
        "ctx/pipe-pair",
        "proc/fork-exit",
        "mem/touch",
        "fs/write@bufsize=1024,blocks=2000,minix",
    )
    profiles, _, failed = measured(of_kind(kind, linux_6_1), rows)
    assert failed == []
    assert {one.row: (one.rest, one.moved) for one in profiles} == {one.row: (0, 0) for one in profiles}
    assert [one.row for one in profiles if one.without_stacks] == []
    assert all(sum(stack.count for stack in one.stacks) == one.counted for one in profiles)
    found = {one.row: {one.names[line.function]: line for line in one.lines} for one in profiles}
    if kind == "linux":
        assert found["syscall/getppid"]["entry_SYSCALL_64_after_hwframe"].kernel
        assert "copy_page_range" in found["proc/fork-exit"]
        assert any(name.endswith("[minix]") for name in found["fs/write@bufsize=1024,blocks=2000,minix"])
    else:
        assert any("fork" in name or "clone" in name for name in found["proc/fork-exit"])
    if kind == "micro":
        assert any(name.endswith("(pm)") and not line.kernel for name, line in found["syscall/getppid"].items())


@pytest.mark.guest
@pytest.mark.slow(minutes=2.3)
@pytest.mark.timeout(3500)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kind", ["linux", "mono"])
def test_every_row_of_the_quick_profile_sums_to_its_figure(kind: str, part: str, linux_6_1: store.Guest) -> None:
    """Expected: all rows that are counted have a profile without a rest, if the order of its instructions was kept.
    Broken: an exception that is not understood."""
    profiles, runs, failed = measured(of_kind(kind, linux_6_1), PARTS[part])
    assert failed == []
    assert {one.row for one in runs if one.loop_cost} == {one.row for one in profiles}
    assert {one.row: one.rest for one in profiles if one.rest and one.ordered} == {}
    assert [one.row for one in profiles if not one.ordered] in ([], ["sh/script-busybox-8", "sh/script-busybox-16"])
    assert [one.row for one in profiles if one.moved] == []


@pytest.mark.guest
@pytest.mark.slow(minutes=0.08)
def test_all_iterations_together_are_another_view(linux_6_1: store.Guest) -> None:
    """Expected: the sums of all regions. Broken: one iteration, or the sum where the figure is meant."""
    (one,), (run,), failed = measured(linux_6_1.name, ("syscall/getppid@",), "totals")
    assert failed == []
    assert (one.view, one.gross) == ("totals", sum(run.samples))
    assert one.counted > one.gross
    assert one.stacks == ()


@pytest.mark.guest
@pytest.mark.slow(minutes=0.3)
@pytest.mark.parametrize("kind", ["linux", "micro"])
def test_a_memory_systems_counts_are_charged_to_functions(kind: str, linux_6_1: store.Guest) -> None:
    """Expected: every miss, walk and misprediction of the row's iterations, to the last one, also where processes are
    made, by function and by page; a footprint of the kernel and of each server, as the row's. Broken: an execution too
    many, a miss between two instructions lost, a page of one server counted for another."""
    target = QemuTarget.from_spec(of_kind(kind, linux_6_1))
    plan = plan_of(None, "path", "quick", ("syscall/open-close@", "proc/fork-exit"), 1)
    job = replace(plan, profiled="median", processor=find("skylake")).job()
    records = [parse_record(line) for line in target.run(job, Deadline.after(900))]
    assert [one.text for one in records if isinstance(one, Failure)] == []
    profiles = {one.row: one for one in records if isinstance(one, Profile)}
    memories = {one.row: one for one in records if isinstance(one, Memory)}
    assert set(profiles) == set(memories) and len(profiles) == 2
    for row, memory in memories.items():
        sums = Counter[str]()
        for each in profiles[row].charges:
            sums.update(each.counts)
        kinds = [name for name in memory.counts if "misses" in name or "walks" in name or "mispredicted" in name]
        assert len(kinds) == 26
        assert {name: sums[name] for name in kinds} == {name: memory.counts[name] for name in kinds}
        by_kind, lines = Counter[str](), Counter[str]()
        for page in profiles[row].pages:
            by_kind.update(page.counts)
            lines.update({f"{what}_lines": int(mask, 16).bit_count() for what, mask in page.lines.items()})
        assert by_kind == {name: count for name, count in sums.items() if count}
        if row == "syscall/open-close":  # whose iterations are alike: no page is asked for in others alone
            assert not any(page.counts.get("walks") for page in profiles[row].pages if not page.address)
        assert any(not each.kernel for each in profiles[row].charges)
        touched = Counter[str]()
        for part in profiles[row].footprints.values():
            touched.update(part)
        of_kernel = {name: count for name, count in memory.footprint.items() if name.startswith("kernel")}
        assert profiles[row].footprints[OF_KERNEL] == of_kernel
        assert all(touched[name] >= count for name, count in memory.footprint.items())
        for name in ("user_code_lines", "user_data_lines"):
            # A page that is copied while it is in use is two places in memory.
            assert 0 < lines[name] <= touched[name] and (row == "proc/fork-exit" or lines[name] == touched[name])
    if kind == "micro":
        assert len(profiles["syscall/open-close"].footprints) == 3  # the kernel, the probe, vfs
        code = {profiles["syscall/open-close"].names[each.function] for each in profiles["syscall/open-close"].charges}
        assert any(name.endswith("(vfs)") for name in code)
        walked = [page for page in profiles["syscall/open-close"].pages if {"walks", "large_walks"} & {*page.counts}]
        assert {page.space for page in walked} >= {0, 1} and any(page.stack for page in walked)


def test_exceptions_of_nothing() -> None:
    """Expected: none, in a trace of one instruction."""
    import numpy as np

    parsed = trace.parse(written([CLOCK]))
    found = exceptions(parsed, np.zeros(1, dtype=np.int64))
    assert (found.taken, found.repeated, found.interrupts) == (frozenset(), frozenset(), ())
