"""Who calls whom in a kernel, and how much stack each takes: what gcc tells of each object (-fcallgraph-info=su), and
for a call by a table of operations the functions that stand in such tables.

A service is linked for itself, so that its names are its own; the kernel and the seam share theirs. Where services are
threads or processes, each has its domain's stubs, and all have the same runtime.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.trio import rules

#: Component and function: `("services/vfs", "vfs_read")`.
Function = tuple[str, str]

_NODE = re.compile(r'^node: \{ title: "([^"]+)" label: "[^"]*?(?:\\n(\d+) bytes \([a-z,]+\))?"')
_EDGE = re.compile(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"(?: label: "([^":]+):(\d+):(\d+)")?')
_MEMBER = re.compile(r"\.(\w+)\s*=\s*&?(\w+)\s*[,}\n]")
_SERVICE_TABLE = re.compile(r"^const struct \w+_service \w+ = \{.*?^\};", re.MULTILINE | re.DOTALL)
_BY_TABLE = re.compile(r"(?:(\w+)_service)?(?:->|\.)(\w+)\(")
_BY_ARRAY = re.compile(r"^()(\w+_by_words)\[")
_BY_PARAMETER = re.compile(r"()(\w+)\(")
#: Tables whose members have no names in their initialisers, and a parameter: what functions in them are called.
_NAMED = {
    "run": r"(?:run|linux)_\w+",
    "text": r"text_\w+",
    "act": r"act_\w+",
    "kernel_calls_by_words": r"by_words_\w+",
    **{each: rf"serve_\w+_{each}" for each in ("start", "notified", "call", "client")},
}
_INDIRECT = "__indirect_call"
KERNEL, RUNTIME = "kernel", "runtime of a server"
#: The component with lwIP's functions, and whom lwIP calls by a pointer, by what stands there.
NETWORK = "services/net"
_OF_LWIP = {
    "TCP_EVENT_ERR(": ("failed",),
    "TCP_EVENT_RECV(": ("received", "tcp_recv_null"),
    "TCP_EVENT_CLOSED(": ("received", "tcp_recv_null"),
    "TCP_EVENT_SENT(": ("sent",),
    "TCP_EVENT_CONNECTED(": ("connected",),
    "TCP_EVENT_ACCEPT(": ("accepted", "tcp_accept_null"),
    "TCP_EVENT_POLL(": (),  # nobody has asked for it
    "pcb->recv(": ("received",),
    "netif->output(": ("netif_loop_output_ipv4",),
    "init(netif)": ("netif_loopif_init",),
}
#: Linked into each domain that is a thread or a process.
_IN_RUNTIME = re.compile(r"seam/(?:server|server_process|thread|process|queues)|gen/(?!kernel_)\w+_dispatch")
_IN_DOMAIN = re.compile(r"gen/domain_(?!kernel$)\w+")
_DISPATCHER = re.compile(r"(\w+)_dispatch\.c$")
#: Where one of these touches a page of a program's that is not there, the processor pushes registers and calls a trap.
_COPIES = ("user_copy", "user_zero", "user_copy_string")
FAULT: Function = (KERNEL, "a fault in a copy")
_OF_FAULT = ("trap", "page_fault", "exception")
_REGISTERS = 22 * 8


@dataclass
class Graph:
    """`frame`: bytes of stack a function takes; `calls`: whom it calls; `unresolved`: calls by unknown tables."""

    frame: dict[Function, int] = field(default_factory=dict)
    calls: dict[Function, set[Function]] = field(default_factory=dict)
    unresolved: list[str] = field(default_factory=list)

    def rings(self) -> Iterator[frozenset[Function]]:
        """Functions that reach each other, or themselves (Tarjan's strongly connected components)."""
        number: dict[Function, int] = {}
        least: dict[Function, int] = {}
        stack: list[Function] = []
        ended: set[Function] = set()
        for start in self.frame:
            work = [(start, iter(self.calls[start]))] if start not in number else []
            if work:
                number[start] = least[start] = len(number)
                stack.append(start)
            while work:
                one, rest = work[-1]
                another = next(rest, None)
                if another is None:
                    work.pop()
                    if work:
                        least[work[-1][0]] = min(least[work[-1][0]], least[one])
                    if least[one] == number[one]:
                        members = frozenset(stack[stack.index(one) :])
                        del stack[stack.index(one) :]
                        ended |= members
                        if len(members) > 1 or one in self.calls[one]:
                            yield members
                elif another not in number:
                    number[another] = least[another] = len(number)
                    stack.append(another)
                    work.append((another, iter(self.calls[another])))
                elif another not in ended:
                    least[one] = min(least[one], number[another])


def component_of(path: Path, servers: bool) -> str:
    """Of an object's path below the structure's folder, or a source's below trio/; `servers`: all services are threads
    or processes."""
    name = path.with_suffix("").as_posix()
    if path.parts[0] in ("services", "drivers"):
        return Path(*path.parts[:2]).as_posix()
    if path.parts[0] == "lwip":
        return NETWORK
    if servers and _IN_RUNTIME.fullmatch(name):
        return RUNTIME
    return name if servers and _IN_DOMAIN.fullmatch(name) else KERNEL


def _tables(root: Path, made: Iterable[Path], servers: bool) -> Mapping[tuple[str, bool, str], set[str]]:
    """Component, whether it is a service's table of handlers, and member to the functions that stand there."""
    found: dict[tuple[str, bool, str], set[str]] = {}

    def add(component: str, handlers: bool, text: str) -> None:
        for member, function in _MEMBER.findall(text):
            found.setdefault((component, handlers, member), set()).add(function)

    for path, inside in [
        *((path, path.relative_to(root)) for path in rules.c_files(root)),
        *((path, Path("gen", path.name)) for folder in made for path in rules.c_files(folder)),
    ]:
        if inside.parts[0] not in ("services", "drivers", "kernel", "seam", "gen") or inside.name.endswith("_serve.h"):
            continue
        text, component = rules.without_comments(path.read_text()), component_of(inside, servers)
        if _IN_DOMAIN.fullmatch(component):  # its table is the runtime's
            component = RUNTIME
        add(component, True, " ".join(_SERVICE_TABLE.findall(text)))
        add(component, False, _SERVICE_TABLE.sub("", text))
        names = set(re.findall(r"\b\w+\b", text))
        for member, pattern in _NAMED.items():
            found.setdefault((component, False, member), set()).update(
                each for each in names if re.fullmatch(pattern, each)
            )
    return found


def read(root: Path, build: Path, structure: str = "mono") -> Graph:
    """Of the sources `root` (trio/), compiled to `build` with that option: mono, hybrid or micro."""
    graph, out, servers = Graph(), build / structure, structure != "mono"
    tables = _tables(root, (build / "gen", out / "gen"), servers)
    services = rules.services(root)
    of_service = {each.name: each.sources for each in services}
    of_interface = {
        name: [each.sources for each in services if each.provides == name] for name in rules.interfaces(root)
    }
    provided = {each.sources: each.provides for each in services}
    domains = [f"gen/domain_{each.name}" for each in services] if servers else []
    #: Where a name is looked for that a component does not have, before the kernel.
    beyond = {each.sources: [[f"gen/domain_{each.name}"], [RUNTIME]] for each in services} if servers else {}
    beyond |= {each: [[RUNTIME]] for each in domains} | {RUNTIME: [domains]}
    edges: list[tuple[str, str, str, tuple[str, str, str]]] = []
    objects = [(path.relative_to(folder), path) for folder in (build / "any", out) for path in folder.rglob("*.ci")]
    for inside, path in sorted(objects):
        component = component_of(inside, servers)
        for line in path.read_text().splitlines():
            if (node := _NODE.match(line)) and node[2]:
                graph.frame[component, node[1]] = int(node[2])
            elif edge := _EDGE.match(line):
                edges.append((component, edge[1], edge[2], (edge[3] or "", edge[4] or "", edge[5] or "")))
    by_name: dict[tuple[str, str], set[Function]] = {}
    for component, title in graph.frame:
        by_name.setdefault((component, title.split(":")[-1].split(".")[0]), set()).add((component, title))

    def by_table(component: str, file: str, line: str, column: str) -> Iterable[Function]:
        source = root / file
        text = " ".join(source.read_text().splitlines()[int(line) - 1 : int(line) + 2])[int(column) - 1 :]
        if "/src/core/" in file and (of_lwip := next((each for each in _OF_LWIP if each in text), None)):
            return {each for name in _OF_LWIP[of_lwip] for each in by_name[NETWORK, name]}
        called = _BY_ARRAY.search(text) or _BY_TABLE.search(text) or _BY_PARAMETER.search(text)
        service, member = called.groups() if called else ("", "")
        if unpacks := _DISPATCHER.search(file):
            places = [(each, True) for each in of_interface[unpacks[1]]]
        else:
            places = [(of_service.get(service, KERNEL), True)] if service else [(component, False)]
        found = {
            each
            for inside, handlers in places
            for name in (
                [f"{provided[inside]}_{member}", f"{Path(inside).name}_{member}"]
                if handlers and inside in provided
                else tables.get((inside, handlers, member), ())
            )
            for each in by_name.get((inside, name), ())
        }
        if not found:
            graph.unresolved.append(f"{file}:{line}")
        return found

    def by_its_name(component: str, called: str) -> set[Function]:
        for places in ([component], *beyond.get(component, []), [KERNEL]):
            if found := {(each, called) for each in places} & graph.frame.keys():
                return found
        return set()

    graph.frame[FAULT] = _REGISTERS + sum(
        graph.frame[each] for name in _OF_FAULT for each in by_name.get((KERNEL, name), ())
    )
    graph.calls = {each: set() for each in graph.frame}
    graph.calls[FAULT] = {(KERNEL, "vm_fault")}
    for component, caller, called, at in edges:
        if (component, caller) not in graph.frame:
            continue
        if called == _INDIRECT:
            graph.calls[component, caller].update(by_table(component, *at))
        elif called in _COPIES:
            graph.calls[component, caller].add(FAULT)
        else:
            graph.calls[component, caller] |= by_its_name(component, called)
    return graph


def deepest(graph: Graph, times: Mapping[frozenset[str], int], kernel: bool = True) -> tuple[int, list[Function]]:
    """Bytes of the deepest stack that any chain of calls can take, and the chain; `times`: how often a ring is gone
    round, by its members' names. Not `kernel`: of chains that begin in a service or its runtime."""
    ring_of = {one: ring for ring in graph.rings() for one in ring}
    known: dict[Function | frozenset[Function], tuple[int, list[Function]]] = {}

    def below(one: Function) -> tuple[int, list[Function]]:
        ring = ring_of.get(one, frozenset((one,)))
        if ring not in known:
            own = sum(graph.frame[each] for each in ring) * times.get(names(ring), 1)
            further = [below(each) for each in {called for each in ring for called in graph.calls[each]} - ring]
            most, chain = max(further, default=(0, []))
            known[ring] = own + most, [min(ring), *chain]
        return known[ring]

    return max(below(each) for each in graph.frame if kernel or each[0] != KERNEL)


def names(ring: Iterable[Function]) -> frozenset[str]:
    """Functions' names without their files."""
    return frozenset(title.split(":")[-1].split(".")[0] for _, title in ring)
