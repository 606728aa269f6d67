"""A service that is wrong on purpose: what it has no right to is refused, what it breaks is its own and its clients'.

hostile_service/ is linked between the service and the kernel; witness.c does what each service is for, before and
after. In hybrid a service is a thread of the kernel's, in its address space: there is nothing to hold it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import idl_parse
from idl_parse import Service
from kernometer.guests.kernels.trio import file_name
from tests.support.trio import hostility
from tests.support.trio.boot import Kernel
from tests.support.trio.hostility import FATAL, LIES, RANDOM, REFUSED, Orders, Seen
from tests.support.turns import in_turn

pytestmark = pytest.mark.guest

PANIC = "Kernel panic"
#: A domain is named by its services.
VFS_AND_FS, ALL = "vfs_fs", "server"
MICRO = ("pm", "vm", "vfs", "fs", "ram_block", "serial", "clock", "framebuffer", "bus", "rs", "net")

Hostile = Callable[[str, str, Orders], Kernel]

#: The kernel's word to each attack of refused.c: to all; to who is called by services, or by programs.
EVERYBODY = {
    "traps that there are not": "ENOSYS",
    "the kernel's calls of others": "EPERM",
    "calls to nobody": "EPERM",
    "notifications to nobody": "EPERM",
    "alarms of others": "EPERM",
    "pointers to what is not its own": "EFAULT",
    "counters that are not its own": "done",
    "pages given that are not its own": "EINVAL",
    "pages of no count": "done",
    "grants made up": "EFAULT",
    "addresses for grants": "EFAULT",
    "grants of tasks that are not its clients": "EFAULT",
    "the next to the kernel": "EFAULT",
    "a reply to nobody": "EINVAL",
    "replies in registers to nobody": "done",
    "answers to others' clients": "ESRCH",
    "others' clients parked": "ESRCH",
    "a flood of traps": "EPERM",
}
#: With a grant that came: nobody gives bus or rs one.
GRANTED = {
    "a right that a grant has not": "EFAULT",
    "a grant widened": "EFAULT",
    "a grant of another generation": "EFAULT",
    "a grant copied to the kernel": "EFAULT",
    "a grant kept": "EFAULT",
}
CALLED = {
    "the next before a reply": "EINVAL",
    "replies in registers before a reply": "EINVAL",
    "a reply from the kernel": "EFAULT",
}
ASKED = {"an answer from the kernel": "EFAULT", "an answer of rubbish": "EINVAL"}
#: To who has a call with a grant to make.
GRANTING = {"addresses sent as grants": "EINVAL", "grants sent that are not its own": "EFAULT"}
#: By a call of the kernel's that the service may make: what it may not do with it (powers.c).
POWERS = {
    "frame_drop": {"frames dropped that are not its own": "EINVAL", "a frame dropped twice": "EINVAL"},
    "frame_address": {"frames reached that are not programs'": "EINVAL"},
    "space_map": {"frames mapped that are not its own": "EINVAL"},
    "frame_device": {"frames of no device of its own": "EPERM"},
    "space_create": {"address spaces that are nobody's": "EINVAL"},
    "memory_promise": {"promises taken back that were not made": "EINVAL"},
    "task_create": {"tasks that are nobody's": "ESRCH", "thread pointers to the kernel": "EPERM"},
    "machine": {"memory written that is not its own": "EFAULT"},
    "port_in": {"ports that are not its own": "EPERM"},
    "irq_attach": {"interrupts that are not its own": "EPERM"},
    "device_map": {"device memory that is not its own": "EINVAL"},
    "device_memory": {"memory told of that is no device's": "EINVAL"},
    "shut_down_by": {"ends of the machine in memory": "EINVAL"},
    "server_stuck": {"servers stuck that it may not call": "EPERM"},
}
BY_SERVICES = {"fs", "ram_block", "serial", "framebuffer", "vm", "vfs", "clock", "bus", "net"}
BY_PROGRAMS = {"pm", "vm", "vfs", "clock"}
WITH_GRANTS = {"pm", "vfs", "fs"}

#: What it does that the processor refuses; and the two ways to say nothing that the kernel can see.
FAULTS = (
    *("null", "kernel read", "kernel write", "own text", "data executed", "privileged", "halted", "port", "divide"),
    *("breakpoint", "gate", "stepped", "no stack", "odd stack", "stack overflow", "panics"),
)
LOOPS = ("loops", "loops with traps")
#: What the witness cannot do without the service: in a process of its own (without pm or vfs none is made), and alone.
DOINGS = (
    *("memory", "fork", "file", "pipe", "disk", "disk file", "maps", "clock", "sleep", "signal", "counters"),
    *("console", "display", "network"),
)
LOST = {
    "fs": ("disk file",),
    "ram_block": ("disk", "disk file"),
    "serial": ("console",),
    "clock": ("clock", "sleep"),
    "framebuffer": ("display",),
    "net": ("network",),
    "vfs": DOINGS,
    "pm": DOINGS,
    VFS_AND_FS: DOINGS,
}
LOST_ALONE = {
    **LOST,
    "vfs": tuple(each for each in DOINGS if each not in ("memory", "clock", "sleep", "signal")),
    "pm": ("fork", "signal"),
    VFS_AND_FS: tuple(each for each in DOINGS if each not in ("memory", "clock", "sleep", "signal")),
}
#: ENXIO: of a disk without a driver.
ERRORS = {"EIO", "errno 6"}


@pytest.fixture(scope="module")
def services(sources: Path) -> Mapping[str, Service]:
    """By name, in the order of their endpoints."""
    known = idl_parse.services(sources / "config/services.toml", idl_parse.interfaces(sources / "interfaces"))
    return {each.name: each for each in sorted(known, key=lambda each: each.endpoint)}


@pytest.fixture(scope="module")
def hostile(sources: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Hostile:
    """A kernel of this structure whose domain has these orders, and knows what it may ask of the kernel. Skips of a
    kernel without network the tests of net."""
    folder = tmp_path_factory.mktemp("hostile")
    masks = hostility.masks(sources)
    made: dict[tuple[str, str], Path] = {}

    def kernel(structure: str, domain: str, orders: Orders) -> Kernel:
        if domain == "net":
            request.getfixturevalue("network")
        if (structure, domain) not in made:
            made[structure, domain] = hostility.built(sources, folder, structure, domain)
        given = replace(orders, kernel=hostility.mask(masks, domain))
        return hostility.ordered(made[structure, domain], given, folder / f"ordered-{file_name(structure)}")

    return kernel


def attacked(hostile: Hostile, service: str, orders: Orders, seconds: float = 120.0, *, path: bool = False) -> Seen:
    """micro with this service hostile. Nobody calls rs: with heartbeats its own alarms wake it, if there is time."""
    if service != "rs":
        return hostility.run(hostile("micro", service, orders), seconds, path=path)
    kernel = hostile("micro+with=heartbeats", service, replace(orders, by_notification=True))
    return hostility.run(kernel, seconds, rests=True)


def others_are_well(seen: Seen, lost: tuple[str, ...]) -> None:
    """In each round all is done that does not need the service; what does is done, or an error, or was ended. What the
    kernel prints is text."""
    assert PANIC not in str(seen.ended), seen.ended
    assert re.findall(r"trio: .*[^ -~\r\n].*", str(seen.ended)) == []
    assert seen.is_alive, seen.ended
    for which in ("before", "between", "after", "alone"):
        found = {name for name, word in seen.rounds[which].items() if word != "ok"}
        assert found <= (set() if which == "before" else set(lost)), seen.ended
        assert not {"hung for good", "WRONG"} & set(seen.rounds[which].values()), seen.ended


@pytest.mark.parametrize("service", in_turn(MICRO, 0.08, always=["fs", "vm"]))
def test_what_a_service_has_no_right_to_is_refused(
    hostile: Hostile, services: Mapping[str, Service], service: str
) -> None:
    """Expected: the table's word to each, and nobody else notices anything. Broken: it is done, or something ends."""
    seen = attacked(hostile, service, Orders(REFUSED), path=True)
    others_are_well(seen, ())
    expected = dict(EVERYBODY)
    expected.update({} if service in ("bus", "rs") else GRANTED)
    expected.update(CALLED if service in BY_SERVICES else {})
    expected.update(ASKED if service in BY_PROGRAMS else {})
    expected.update(GRANTING if service in WITH_GRANTS else {})
    for call, attacks in POWERS.items():
        expected.update(attacks if call in services[service].kernel else {})
    rights = {name: word for name, word in seen.attacks.items() if name.startswith("endpoint ")}
    assert {name: word for name, word in seen.attacks.items() if name not in rights} == expected, seen.ended
    assert rights == expected_rights(services, service), seen.ended


def expected_rights(services: Mapping[str, Service], service: str) -> dict[str, str]:
    """By endpoint, to a call that is none and to a notification that is none: EPERM (-1) where it may do neither,
    EINVAL (-22) where it may: call who is in its list (of vm what is listed), notify who has it in theirs."""
    rights = {"endpoint 0": "-1 -1"}
    mine = services[service]
    for other in services.values():
        calls = other.provides in mine.calls and other.name != "vm"
        notifies = other is mine or mine.provides in other.calls
        rights[f"endpoint {other.endpoint}"] = f"{-22 if calls else -1} {-22 if notifies else -1}"
    return rights


@pytest.mark.slow(minutes=0.02)
@pytest.mark.parametrize("harm", [*FAULTS, *LOOPS])
@pytest.mark.parametrize("service", ["vfs", "pm", "net"])
def test_a_service_that_faults_or_loops_is_ended_and_its_clients_get_errors(
    hostile: Hostile, service: str, harm: str
) -> None:
    """Expected: one line says why; what needs it is EIO from then on, the rest goes on. Broken: a kernel that panics,
    somebody who waits for ever, data that are others'."""
    ended_and_errors(hostile, "micro", service, harm)


@pytest.mark.slow(minutes=0.02)
@pytest.mark.parametrize("harm", [*FAULTS, *LOOPS])
@pytest.mark.parametrize("service", ["fs", "ram_block", "serial", "framebuffer", "clock"])
def test_a_service_without_state_that_faults_or_loops_begins_anew(hostile: Hostile, service: str, harm: str) -> None:
    """Expected: the call that was under way is made again, and fails itself if it ends the next process too; all is
    well afterwards, what was on the disk too. Broken: whoever needs the driver gets errors for good."""
    seen = hostility.run(hostile("micro", service, Orders(FATAL, harm)))
    others_are_well(seen, LOST[service])
    for which in ("after", "alone"):
        assert set(seen.rounds[which].values()) == {"ok"}, seen.ended
    ends = str(seen.ended).count(f"trio: {service} ends: ")
    assert 1 <= ends <= 2, seen.ended
    assert str(seen.ended).count(f"trio: {service} has begun anew") == ends, seen.ended


IDLE = "answers, and gets nothing done"


@pytest.mark.slow(minutes=0.05)
@pytest.mark.parametrize(("service", "harm"), [("serial", "idles once"), ("ram_block", "idles")])
def test_a_driver_that_does_nothing_and_says_so_again_and_again_is_started_again(
    hostile: Hostile, service: str, harm: str
) -> None:
    """Expected: vfs or fs has it ended after a thousand rounds, and the next process does what was to be done; an open
    of the disk meanwhile finds none: ENXIO. Broken: they and the driver tell each other to go on for ever."""
    seen = hostility.run(hostile("micro", service, Orders(FATAL, harm)), 240.0, rests=True)
    others_are_well(seen, LOST[service] if service == "ram_block" else ())
    assert f"trio: {service} {IDLE}" in str(seen.ended), seen.ended
    assert f"trio: {service} has begun anew" in str(seen.ended), seen.ended


@pytest.mark.slow(minutes=0.02)
@pytest.mark.parametrize("harm", LOOPS)
def test_with_heartbeats_rs_ends_a_service_that_does_not_answer(hostile: Hostile, harm: str) -> None:
    seen = hostility.run(hostile("micro+with=heartbeats", "ram_block", Orders(FATAL, harm)))
    others_are_well(seen, LOST["ram_block"])
    assert set(seen.rounds["alone"].values()) == {"ok"}, seen.ended
    assert "rs: ram_block does not say that it is alive" in str(seen.ended)
    assert "it does not answer" not in str(seen.ended), "the clock's ticks were first"


@pytest.mark.slow(minutes=0.12)
@pytest.mark.parametrize("harm", ["null", "stack overflow", "loops"])
def test_services_in_one_process_end_together(hostile: Hostile, harm: str) -> None:
    ended_and_errors(hostile, "micro+together=vfs,fs", VFS_AND_FS, harm)


def ended_and_errors(hostile: Hostile, structure: str, domain: str, harm: str) -> None:
    seen = hostility.run(hostile(structure, domain, Orders(FATAL, harm)))
    others_are_well(seen, LOST[domain])
    for which, lost in (("after", LOST[domain]), ("alone", LOST_ALONE[domain])):
        words = {name: word for name, word in seen.rounds[which].items() if word != "ok"}
        # what has hung once, until the service was ended, is not tried again
        hung = set(DOINGS) - set(seen.rounds[which])
        assert set(words) | hung == set(lost), seen.ended
        assert set(words.values()) <= ERRORS, seen.ended
    assert f"trio: {domain} ends: " in str(seen.ended)


@pytest.mark.slow(minutes=0.05)
@pytest.mark.parametrize("harm", ["parks", "parks hard", "rubbish", "alarms", "notifies", "memory"])
@pytest.mark.parametrize("service", ["fs", "clock", "serial", "net"])
def test_a_service_that_never_answers_or_floods_keeps_its_own_clients_alone(
    hostile: Hostile, services: Mapping[str, Service], service: str, harm: str
) -> None:
    """Expected: who waits for it can be killed; the others go on, some after a while, and of a service that may take
    no pages at once. Broken: they wait too; the leak of a driver takes all memory."""
    seen = hostility.run(hostile("micro", service, Orders(FATAL, harm)), seconds=240.0)
    taken = DOINGS if services[service].pages is None else ()
    slowed = {"notifies": ("memory", "fork", "disk file"), "memory": taken}.get(harm, ())
    others_are_well(seen, (*LOST[service], *slowed))


@pytest.mark.slow(minutes=0.05)
@pytest.mark.parametrize(("structure", "domain"), [("micro", "vm"), ("one-server", ALL)])
@pytest.mark.parametrize("harm", ["null", "panics"])
def test_without_memory_the_first_process_ends_and_the_machine_with_it(
    hostile: Hostile, structure: str, domain: str, harm: str
) -> None:
    """Expected: the kernel lives; the first process has a fault that nobody answers: its SIGBUS is the machine's
    status, and a line says so. Broken: a panic, or a machine that hangs."""
    seen = hostility.run(hostile(structure, domain, Orders(FATAL, harm)))
    assert PANIC not in str(seen.ended), seen.ended
    assert f"trio: {domain} ends: " in str(seen.ended)
    assert "the first process" in str(seen.ended)
    assert seen.ended.debug_exit == (128 + 7) % 128, seen.ended


@pytest.mark.slow(minutes=0.19)
@pytest.mark.parametrize("harm", ["task of nothing", "grant of ended"])
def test_tasks_that_pm_makes_and_ends_are_no_harm_to_the_kernel(hostile: Hostile, harm: str) -> None:
    """Expected: a task without registers ends, a grant ends with its task. Broken: the kernel's panic, as both did."""
    seen = hostility.run(hostile("micro", "pm", Orders(FATAL, harm)), seconds=20.0)
    assert PANIC not in str(seen.ended), seen.ended
    assert seen.attacks["begins"] == harm
    assert set(seen.attacks.values()) <= {harm, "EFAULT"}, seen.ended


@pytest.mark.parametrize("service", in_turn(MICRO, 0.07, always=["fs", "vm"]))
def test_random_messages_do_no_harm_to_the_kernel(hostile: Hostile, service: str, commits_seed: int) -> None:
    """Expected: no panic, whatever the seed; by a driver or a file system nothing else either. Broken: a seed."""
    seen = attacked(hostile, service, Orders(RANDOM, seed=commits_seed, count=20_000), 30.0)
    assert seen.made > 0, seen.ended
    assert not hostility.findings(seen, service), (commits_seed, seen.ended)


@pytest.mark.slow(minutes=0.29)
@pytest.mark.parametrize(
    ("structure", "domain"), [("one-server", ALL), ("micro+together=vfs,fs", VFS_AND_FS), ("mono+apart=fs", "fs")]
)
def test_random_messages_of_other_partitions_do_no_harm_to_the_kernel(
    hostile: Hostile, structure: str, domain: str, commits_seed: int
) -> None:
    seen = hostility.run(hostile(structure, domain, Orders(RANDOM, seed=commits_seed, count=100_000)), seconds=30.0)
    assert not hostility.findings(seen, domain), (commits_seed, seen.ended)


@pytest.mark.slow(minutes=0.06)
@pytest.mark.parametrize(
    ("structure", "service"),
    [
        ("micro", "fs"),
        ("micro", "ram_block"),
        ("micro", "clock"),
        ("micro", "net"),
        ("mono+apart=fs", "fs"),
        ("mono+apart=clock", "clock"),
    ],
)
def test_a_service_that_lies_is_believed_by_its_own_clients_alone(
    hostile: Hostile, structure: str, service: str, commits_seed: int
) -> None:
    """Expected: a third of its answers are others than it had, and what does not need it goes on. Broken: a service
    above, or the kernel, that takes a number for a place."""
    seen = hostility.run(hostile(structure, service, Orders(LIES, seed=commits_seed)), seconds=60.0)
    assert PANIC not in str(seen.ended), (commits_seed, seen.ended)
    assert seen.is_alive, (commits_seed, seen.ended)
    wrong = {name for which in ("between", "after") for name, word in seen.rounds[which].items() if word != "ok"}
    assert wrong <= set(LOST[service]), (commits_seed, seen.ended)
