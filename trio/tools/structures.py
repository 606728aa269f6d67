"""A structure: which services are in one protection domain, and of which kind each domain is.

`NAME` is a file of config/structures; `NAME+together=A,B` puts services of it into one domain, `NAME+apart=A,B` puts
each of them into a process of its own, `NAME+with=A,B` turns switches of seam/switches.h on. Errors are Wrong.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from idl_parse import Service, Wrong

#: Kinds of domains: in the kernel on its callers' stacks; a thread of the kernel; a process with its own space.
KINDS = ("kernel", "thread", "process")
#: The switches of seam/switches.h, and where each has an effect.
SWITCHES: dict[str, str] = tomllib.loads((Path(__file__).parents[1] / "config" / "switches.toml").read_text())

Groups = list[tuple[str, list[str]]]


@dataclass(frozen=True)
class Domain:
    """Services that call each other as procedures. `number` is 0 for those in the kernel, on their callers' stacks."""

    number: int
    name: str
    kind: str
    services: tuple[Service, ...]


@dataclass(frozen=True)
class Structure:
    """`kernel` may be empty."""

    name: str
    kernel: Domain
    servers: tuple[Domain, ...]
    switches: tuple[str, ...] = ()

    @property
    def domains(self) -> tuple[Domain, ...]:
        return (self.kernel, *self.servers)

    def domain_of(self, service: Service) -> Domain:
        return next(each for each in self.domains if service in each.services)


def structure(folder: Path, words: str, found: tuple[Service, ...]) -> Structure:
    """Raises Wrong."""
    name, *changes = words.split("+")
    path = folder / f"{name}.toml"
    if not path.is_file():
        raise Wrong(f"{path}:1: there is no structure {name!r}")
    table = tomllib.loads(path.read_text())
    match table:
        case {"all": kind, **rest} if not rest and kind in KINDS:
            groups = [(kind, [each.name for each in found])]
        case {"each": kind, **rest} if not rest and kind in KINDS[1:]:
            groups = [(kind, [each.name]) for each in found]
        case _:
            raise Wrong(f"{path}:1: expected 'all' or 'each', and one of {', '.join(KINDS)}")
    switches: list[str] = []
    for change in changes:
        if change.startswith("with="):
            switches += change.removeprefix("with=").split(",")
        else:
            groups = _changed(groups, change, {each.name for each in found})
    domains = [(kind, tuple(each for each in found if each.name in names)) for kind, names in groups if names]
    domains.sort(key=lambda each: each[1][0].endpoint)
    kernel = next((each for kind, each in domains if kind == "kernel"), ())
    servers = [each for each in domains if each[0] != "kernel"]
    made = Structure(
        words,
        Domain(0, "kernel", "kernel", kernel),
        tuple(
            Domain(at, "server" if services == found else "_".join(each.name for each in services), kind, services)
            for at, (kind, services) in enumerate(servers, 1)
        ),
        tuple(switches),
    )
    _check(made, found)
    _check_switches(made)
    return made


def _changed(groups: Groups, change: str, known: set[str]) -> Groups:
    how, _, text = change.partition("=")
    names = text.split(",")
    if how not in ("together", "apart") or len(set(names)) < len(names):
        raise Wrong(f"{change!r}: expected together=A,B, apart=A or with=SWITCH")
    if unknown := set(names) - known:
        raise Wrong(f"{change!r}: there is no service {', '.join(sorted(unknown))}")
    kinds = [kind for kind, members in groups if set(members) & set(names)]
    left = [(kind, [each for each in members if each not in names]) for kind, members in groups]
    if how == "apart":
        return left + [("process", [each]) for each in names]
    if len(set(kinds)) > 1:
        raise Wrong(f"{change!r}: their domains are not of one kind")
    if kinds[0] == "kernel":
        raise Wrong(f"{change!r}: they are in the kernel, together")
    return [*left, (kinds[0], names)]


def _check(made: Structure, found: tuple[Service, ...]) -> None:
    """A server answers one call at a time: if it waits for another one that waits for it, both wait for ever. Services
    in the kernel run on their callers' stacks, and each is entered alone: there the order of services is enough."""
    names = {service: each.name for each in made.servers for service in each.services}
    names |= {service: service.name for service in made.kernel.services}
    order = [(each, below) for each in found for below in found if each.depends_on(below)]
    if circle := _circle([(a.name, b.name) for a, b in order]):
        raise Wrong(f"services call each other in a circle: {circle}")
    if circle := _circle([(names[a], names[b]) for a, b in order if names[a] != names[b]]):
        raise Wrong(f"{made.name}: domains call each other in a circle: {circle}")


def _check_switches(made: Structure) -> None:
    if unknown := set(made.switches) - {*SWITCHES}:
        raise Wrong(f"there is no switch {', '.join(sorted(unknown))}, but {', '.join(SWITCHES)}")
    if len(set(made.switches)) < len(made.switches):
        raise Wrong(f"{made.name}: a switch twice")
    there = {
        "all": True,
        "messages": made.servers,
        "processes": any(each.kind == "process" for each in made.servers),
        "processes that begin anew": any(_begins_anew(each) for each in made.servers),
        "services in the kernel": made.kernel.services,
        "disks": True,
    }
    for each in made.switches:
        if not there[SWITCHES[each]]:
            raise Wrong(f"{made.name}: it has no {SWITCHES[each]}, so {each} changes nothing")


def _begins_anew(domain: Domain) -> bool:
    return domain.kind == "process" and all(each.at_its_end == "start again" for each in domain.services)


def _circle(edges: list[tuple[str, str]]) -> str:
    """One there is, or nothing."""
    done: set[str] = set()

    def visit(node: str, way: list[str]) -> str:
        if node in way:
            return " > ".join([*way[way.index(node) :], node])
        if node not in done:
            for _, below in (edge for edge in edges if edge[0] == node):
                if circle := visit(below, [*way, node]):
                    return circle
            done.add(node)
        return ""

    return next((circle for node, _ in edges if (circle := visit(node, []))), "")
