"""A kernel stack has three pages, a service's own four, whatever a program does: who calls himself, and how deep can it
become?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernometer.guests.kernels import trio
from tests.support.trio import call_graph
from tests.support.trio.call_graph import Graph
from tests.support.trio.variants import variant
from tests.support.turns import in_turn

#: What entry.S pushes before the first function.
ENTRY = 22 * 8

#: Functions that reach themselves, how often at most, and why not more.
RINGS: dict[frozenset[str], int] = {
    # Text into text; a panic within a panic is the last.
    frozenset({"put_number", "text_add", "text_add_list", "log_list", "log_line", "panic", "__stack_chk_fail"}): 2,
    # A stopped child's end continues its parent, which tells its own: by SIGCHLD, that changes no process.
    frozenset({"parent_tell", "process_end", "signal_send", "stop_end"}): 3,
    # An interpreter has none.
    frozenset({"image_give"}): 2,
    # Again after the one block that it needed.
    frozenset({"map_find"}): 2,
    # A socket closed by rights_settle() loses rights, that wait for the present round's end; what waits to be accepted
    # has nothing that does.
    frozenset({"file_released", "socket_release", "socket_close", "packet_remove", "rights_settle"}): 3,
    # A descriptor without a name leads to the console's, once.
    frozenset({"walk", "go_by_link", "proc_follow", "proc_readlink", "terminal_node", "terminal_stat"}): 2,
    # NESTS_MOST epolls in one another, and the outermost.
    frozenset({"file_ready", "epoll_poll"}): 5,
    # Bridges behind bridges: the machine's maker, not a program.
    frozenset({"scan"}): 4,
    # From the stub of a disk's call to the checked disk, and from there, by the same stub, to the disk below, once.
    **{frozenset({f"block_{each}", f"checksum_{each}"}): 2 for each in ("capacity", "read", "write", "flush")},
}
#: And where services are processes.
RINGS_OF_PROCESSES = {
    # Its first trap ends the process.
    frozenset({"panic", "say", "__stack_chk_fail"}): 2,
    # Page tables have four levels. A server that takes more than was promised ends where it is, and gives all back;
    # what it had are no tables of windows.
    frozenset(
        {
            *("task_discard", "space_free"),
            *("entry_at", "entry_clear", "entry_make", "frame_drop", "frame_free_clean_promised"),
            *("frame_return", "frame_take_promised", "frame_take_promised_dirty", "idle_run"),
            *("kernel_stack_give", "pages_give"),
            *("process_free", "prune", "schedule", "server_end", "table_free", "task_run", "unmap"),
        }
    ): 4,
}
STRUCTURES = in_turn(("mono", "hybrid", "micro"), 0.28)


def rings_of(structure: str) -> dict[frozenset[str], int]:
    return RINGS | RINGS_OF_PROCESSES if structure == "micro" else RINGS


@pytest.fixture(scope="module")
def graph(structure: str, sources: Path) -> Graph:
    assert trio.lwip_sources(print) is not None, "the network's depth is to be known too"
    return call_graph.read(sources, variant(sources, structure, "CC=gcc -fcallgraph-info=su"), structure)


def pages_of(file: Path, name: str) -> int:
    found = re.search(rf"#define {name} (\d+)", file.read_text())
    assert found
    return int(found[1])


@pytest.mark.parametrize("structure", STRUCTURES, scope="module")
def test_each_function_that_reaches_itself_has_a_reason_to_end(graph: Graph, structure: str) -> None:
    """Expected: the rings above, and no call by a table that is not understood. Broken: a depth that a program chooses,
    as folders in folders or sockets in sockets are, and with it a kernel that a program brings down."""
    assert graph.unresolved == []
    assert {call_graph.names(ring) for ring in graph.rings()} == rings_of(structure).keys()


@pytest.mark.parametrize("structure", STRUCTURES, scope="module")
def test_the_deepest_chain_of_calls_fits_a_stack(graph: Graph, structure: str, sources: Path) -> None:
    """Expected: it and its entry take less than the pages of a stack: a task's or a thread's in the kernel, and a
    process's own. Broken: a large array on a way that no test goes."""
    depth, chain = call_graph.deepest(graph, rings_of(structure))
    assert ENTRY + depth < pages_of(sources / "kernel/core/memory.h", "STACK_PAGES") * 4096, chain
    assert len(graph.frame) > 1000
    assert depth > 4000
    if structure == "micro":
        depth, chain = call_graph.deepest(graph, rings_of(structure), kernel=False)
        assert 2000 < depth < pages_of(sources / "seam/message.h", "PROCESS_STACK_PAGES") * 4096, chain
