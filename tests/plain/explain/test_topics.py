"""Differences by topic: does each function belong to one, and do the topics sum to the difference?"""

from __future__ import annotations

import pytest

from kernometer.explain.functions import Change, Difference
from kernometer.explain.topics import NAMED, OTHERS, PROGRAM, by_topic, topic_of, topics


@pytest.mark.parametrize(
    ("function", "what"),
    [
        ("apparmor_file_permission", "security modules and audit"),
        ("__mem_cgroup_charge", "control groups and pressure"),
        ("memset_orig", "memory copied and cleared"),
        ("prandom_u32_state", "hardening, mitigations, random numbers"),
        ("__rcu_read_lock", "RCU, locks, preemption"),
        ("userfaultfd_wp", "watchers, leases, userfaultfd"),
        ("__task_pid_nr_ns", "namespaces, limits, counts of mounts"),
        ("entry_SYSCALL_64_after_hwframe", "entry into the kernel and return"),
        ("entry_system_call", "entry into the kernel and return"),
        ("kmem_cache_alloc_noprof", "allocation of memory and frames"),
        ("pick_eevdf", "scheduling, switches and clocks"),
        ("copy_page_range", "regions, page tables, faults"),
        ("kernel_call_space_share", "regions, page tables, faults"),
        ("link_path_walk.part.0", "paths, descriptors and file systems"),
        ("pipe_read", "paths, descriptors and file systems"),
        ("get_signal", "signals"),
        ("copy_process", "processes and programs"),
    ],
)
def test_a_function_belongs_to_what_its_name_says(function: str, what: str) -> None:
    topic = topic_of(function)
    assert topic is not None
    assert topic.what == what


def test_a_name_that_says_nothing_has_no_topic() -> None:
    assert topic_of("zero_read") is None


def test_topics_have_names_of_their_own_that_fit_a_line() -> None:
    """Expected: each word of a topic is not shadowed by an equal one before it. Broken: a pattern that can never
    match."""
    seen: set[str] = set()
    for topic in topics():
        assert 0 < len(topic.what) <= 40
        assert not seen & {*topic.names}, topic.what
        seen |= {*topic.names}
    assert len({topic.what for topic in topics()}) == len(topics())
    assert {topic.trio for topic in topics()} == {True, False}


def test_topics_sum_to_the_difference() -> None:
    """Expected: nothing is lost: the program's own functions, named lines and functions without a topic have their
    lines. Broken: shares of less than the whole."""
    changes = (
        Change("memset_orig", kernel=True, a=0, b=700),
        Change("memset", kernel=True, a=500, b=2),
        Change("aa_file_perm", kernel=True, a=100, b=0),
        Change("zero_read", kernel=True, a=0, b=30),
        Change("memset", kernel=False, a=5, b=6),
        Change("interrupts", kernel=False, a=0, b=40),
    )
    of = Difference("row", sum(change.more for change in changes), changes)
    shares = {each.what: each.more for each in by_topic(of, {"interrupts": 40})}
    assert shares == {
        "memory copied and cleared": 202,
        "security modules and audit": -100,
        OTHERS: 30,
        PROGRAM: 1,
        NAMED: 40,
    }
    assert sum(shares.values()) == of.more
