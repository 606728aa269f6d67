"""Facts that are the same on both sides, and facts that differ. docs/statistics.md, "What may be compared"."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import compress
from typing import Any

import msgspec

from kernometer.errors import ResultError
from kernometer.results.model import COMPARABLE, Result
from kernometer.stats.model import Difference

#: Facts that are shown besides those of `COMPARABLE`: they may be what is compared.
ALSO: dict[tuple[str, ...], str] = {
    ("session", "target"): "target",
    ("session", "command_line"): "kernel command line",
    ("session", "profile"): "profile",
    ("session", "host_id"): "host id",
    ("session", "kernometer"): "kernometer",
    ("header", "uname", "nodename"): "host",
    ("header", "uname", "sysname"): "kernel",
    ("header", "uname", "release"): "kernel release",
    ("header", "uname", "version"): "kernel build",
    ("header", "uname", "machine"): "architecture",
}
#: Facts about the moment of a result: every two results differ in them.
MOMENTARY = frozenset({"load", "loadavg", "steal", "uptime", "time"})
#: Facts that the names of two targets choose, and what follows from these.
CHOSEN = frozenset(
    {"target", "kernel", "kernel release", "kernel build", "kernel command line", "host", "host id"}
    | {"host kernel", "host kernel build"}
)
#: Facts that the target of a built probe names: `local:'gcc -O0'`.
BUILT = frozenset({"probe compiler", "probe flags"})
#: Facts that repeat which kernel a release is.
RELEASE = frozenset({"kernel build", "host kernel", "host kernel build"})
#: The deepest nesting of facts from `check`.
DEEPEST = 3
#: Characters of a fact (the longest command line of Linux on x86), and of its name.
TEXT_LIMIT, NAME_LIMIT = 2048, 200
NOT_KNOWN = "not known"
#: Of a session by path without a number of its definition: see results/model.PATH_DEFINITION.
OLD_DEFINITION = "each iteration of a string instruction with rep is an instruction"


def check_comparable(a: Sequence[Result], b: Sequence[Result]) -> None:
    """Raises ResultError if a ratio would be meaningless: an empty side, times with counts, counts of two
    definitions, a session with itself."""
    if not a or not b:
        raise ResultError("a comparison needs at least one result on each side", "kernometer show lists the results")
    ways = {result.session.by for result in (*a, *b)}
    if len(ways) > 1:
        raise ResultError(
            "results by time and by path cannot be compared: one are nanoseconds, the other instructions",
            "compare results that were measured the same way (kernometer run --by time, or --by path)",
        )
    check_definition((*a, *b))
    both = {result.session.id for result in a} & {result.session.id for result in b}
    if both:
        raise ResultError(f"session {min(both)} is on both sides", "name two different results, or two labels")
    for side in (a, b):
        if len({result.session.id for result in side}) < len(side):
            raise ResultError("a side names the same session twice", "name each result once")


def check_definition(results: Iterable[Result], *present: int) -> None:
    """Raises ResultError if results by path have several definitions of the figure, or another than `present`."""
    sessions = [result.session for result in results]
    if len({*present, *(session.path_definition for session in sessions)}) > 1:
        older = min(sessions, key=lambda session: session.path_definition)
        raise ResultError(
            f"counts of two definitions cannot be compared: in session {older.id} {OLD_DEFINITION}",
            "measure it anew (kernometer run --by path), and compare that session",
        )


def differences(a: Sequence[Result], b: Sequence[Result]) -> tuple[tuple[Difference, ...], tuple[Difference, ...]]:
    """(same, differs): every fact of a side. A fact that varies within a side counts as different."""
    return contrasts([_facts(result) for result in a], [_facts(result) for result in b], _asked(a, b))


def contrasts(
    facts_a: Sequence[Mapping[str, str]], facts_b: Sequence[Mapping[str, str]], asked: Collection[str] = ()
) -> tuple[tuple[Difference, ...], tuple[Difference, ...]]:
    """As `differences`, of the facts of each result of a side. `asked`: those that the names of the targets choose."""
    same: list[Difference] = []
    differs: list[Difference] = []
    for what in dict.fromkeys(name for facts in (*facts_a, *facts_b) for name in facts):
        of_a, of_b = _values(facts_a, what), _values(facts_b, what)
        if what == "machine" and of_a != of_b:  # long texts that differ in few words
            short = machine_differences({*of_a, *of_b})
            of_a, of_b = ([short[machine] for machine in machines] for machines in (of_a, of_b))
        difference = Difference(what, "; ".join(of_a) or NOT_KNOWN, "; ".join(of_b) or NOT_KNOWN, what in asked)
        (same if of_a == of_b and len(of_a) == 1 else differs).append(difference)
    return tuple(same), tuple(differs)


def machine_differences(machines: Collection[str]) -> dict[str, str]:
    """From each machine's text (results/model.Session.machine) to those of its parts that differ between the machines;
    to the whole text if the texts are of different kinds (for example a virtual machine and this host)."""
    parts = {machine: machine.split("; ") for machine in machines}
    if len({len(part) for part in parts.values()}) > 1:
        return {machine: machine or "this host itself" for machine in machines}
    differing = [len(set(column)) > 1 for column in zip(*parts.values(), strict=True)]
    return {machine: ", ".join(compress(words, differing)) or "this host itself" for machine, words in parts.items()}


def _asked(a: Sequence[Result], b: Sequence[Result]) -> frozenset[str]:
    """Facts whose difference the names of the targets ask for, or another difference tells already."""
    named = [{result.session.target for result in side} for side in (a, b)]
    releases = [{result.header.uname.get("release") for result in side if result.header} for side in (a, b)]
    if named[0] == named[1]:
        return RELEASE if releases[0] != releases[1] else frozenset()
    asked = CHOSEN
    if all(target.startswith(("local", "probe:")) for target in named[0] | named[1]):
        asked |= BUILT
    if all(not machine or machine.startswith("host ") for machine in (result.session.machine for result in (*a, *b))):
        asked |= {"machine"}  # ssh's, which its target names
    return asked


def _values(sides: Sequence[Mapping[str, str]], what: str) -> list[str]:
    return sorted({facts.get(what, NOT_KNOWN) for facts in sides})


def _facts(result: Result) -> dict[str, str]:
    records: dict[str, Any] = {"session": msgspec.to_builtins(result.session)}
    if result.header is not None:
        records["header"] = msgspec.to_builtins(result.header)
    facts = {}
    for path in (*COMPARABLE, *ALSO):
        value: Any = records
        for step in path:
            value = value.get(step) if isinstance(value, Mapping) else None
        if value not in (None, "", [], 0):
            facts[_name(path)] = _text(value)
    facts.update(_flat(result.session.host.get("facts"), "host"))
    return facts


def _name(path: tuple[str, ...]) -> str:
    """Words for a table: ("header", "probe", "source_digest") is "probe source digest"."""
    words = path if path == ("header", "format") else path[1:]
    return ALSO.get(path) or " ".join(words).replace("_", " ")


def _flat(value: Any, name: str, depth: int = 0) -> dict[str, str]:
    if isinstance(value, Mapping) and depth < DEEPEST:
        facts: dict[str, str] = {}
        for key, inner in value.items():
            if str(key) not in MOMENTARY:
                facts.update(_flat(inner, f"{name} {key}", depth + 1))
        return facts
    return {} if value is None else {name[:NAME_LIMIT].replace("_", " "): _text(value)}


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 1] + "…"
