"""What structure costs, as `kernometer explain` has found it in sessions that were made up."""

from __future__ import annotations

from kernometer.explain.costs import KINDS, Counts, Explained, Side, explained

#: What each event costs in the structure that these figures are made by.
TRUE = {"traps": 6, "messages": 267, "bytes": 0.5, "copies": 257, "strings": 486, "requests": 78, "faults": 63}
TRUE |= {"switches": 770}
MESSAGE = {"messages.calls": 1, "messages.replies": 1, "traps.servers": 1}
TRAP = {"traps.system_calls": 1}
#: By row: its figure in the kernel, its counters there, its counters with servers.
ROWS: dict[str, tuple[float, Counts, Counts]] = {
    "trio/trap": (83, TRAP, TRAP),
    "trio/call@bytes=0": (116, TRAP, TRAP | MESSAGE),
    "trio/call@bytes=8": (161, TRAP, TRAP | MESSAGE | {"traps.servers": 2, "copies.bytes": 1, "bytes.in": 8}),
    "trio/call@bytes=64": (168, TRAP, TRAP | MESSAGE | {"traps.servers": 2, "copies.bytes": 1, "bytes.in": 64}),
    "trio/call@bytes=4096": (672, TRAP, TRAP | MESSAGE | {"traps.servers": 2, "copies.bytes": 1, "bytes.in": 4096}),
    "trio/string": (181, TRAP, TRAP | MESSAGE | {"traps.servers": 2, "copies.strings": 1, "bytes.in": 8}),
    "trio/fault@cow=0": (798, {}, MESSAGE | {"traps.servers": 2, "faults.message": 1}),
    "trio/flush@pages=1": (937, TRAP, TRAP | MESSAGE | {"traps.servers": 3}),
    "trio/turn@same-cpu": (1178, {"switches.queued": 1}, {"switches.queued": 2}),
    "syscall/read-zero": (257, TRAP, TRAP | MESSAGE | {"traps.servers": 2, "copies.bytes": 1, "bytes.out": 1}),
    "ctx/yield": (564, {"switches.queued": 2}, {"switches.queued": 2}),
}
BEYOND = 40  #: what the figure of a row has that no event explains


def true_cost(row: str) -> float:
    kernel, before, after = ROWS[row]
    return kernel + sum(TRUE[kind.name] * kind.count(before, after) for kind in KINDS)


def sides(*, without: str = "") -> tuple[Side, Side]:
    rows = [row for row in ROWS if row != without]
    beyond = {"syscall/read-zero": BEYOND}
    mono = Side("mono", {row: ROWS[row][0] for row in rows}, {row: ROWS[row][1] for row in rows})
    micro = Side(
        "micro",
        {row: true_cost(row) + beyond.get(row, 0) for row in rows},
        {row: ROWS[row][2] for row in rows},
    )
    return mono, micro


def found(*, without: str = "") -> Explained:
    mono, micro = sides(without=without)
    of = explained(mono, micro, ())
    assert of is not None
    return of
