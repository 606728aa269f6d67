"""What interfaces/*.idl and config/services.toml say: the language that idl.py tells of, and who provides what.

Errors are Wrong: FILE:LINE: what.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

#: Says that a line is wrong.
Fail = Callable[[int, str], NoReturn]

WORDS = 12
OUT_WORDS = 8
NOTIFICATIONS = 62
TYPES = {"u32": "uint32_t", "i32": "int32_t", "u64": "uint64_t", "i64": "int64_t"}
#: Descriptors, of which the handler gets what they stand for.
OBJECTS = ("file", "socket")
TYPES |= dict.fromkeys(OBJECTS, "int32_t")
GRANTS = ("grant read", "grant write", "grant read write")
#: The service that makes pages present, and the call by which all who copy ask for one.
PAGER, PAGER_CALL = "vm", "fault"
#: Of a system call.
LAST_REGISTER = 5

_NAME = r"[a-z][a-z0-9_]*"
_MEMBER = re.compile(
    rf"(?P<number>\d+)\s*:\s*(?P<kind>client|call|notify)\s+(?P<name>{_NAME})\s*"
    r"(?:\((?P<args>[^)]*)\))?\s*(?:->\s*\((?P<outs>[^)]*)\))?\s*(?P<waits>\bwaits\b|\bgives way\b)?\s*"
    r"(?:\berrors\s+(?P<errors>[A-Z0-9 ]+?))?\s*$"
)
_ARGUMENT = re.compile(rf"({_NAME})\s*:\s*([a-z0-9 ]+)$")
_LINUX = re.compile(
    rf"linux\s+(?P<number>\d+)\s+(?P<name>{_NAME})\s*=\s*(?P<member>{_NAME})\((?P<args>.*?)\)\s*"
    r"(?P<again>restarts|resumes|continues)?\s*(?:masked\((?P<masked>[^)]*)\))?\s*(?P<leaving>leaving)?\s*"
    r"(?:when\s+(?P<when>.+?))?\s*(?:\bunless\s+(?P<unless>.+?)\s*:\s*(?P<error>E[A-Z0-9]+))?\s*$"
)
_ABSENT = re.compile(rf"linux\s+(?P<number>\d+)\s+(?P<name>{_NAME})\s*=\s*(?P<error>E[A-Z0-9]+)\s*$")
#: An argument that is an iovec: its address, and how many parts it has.
_VECTOR = re.compile(r"vector (a[0-5])\[(a[0-5])\]$")
#: An argument that is room for something whose length comes back where the room's length was.
_ROOM = re.compile(r"room (a[0-5])\[(a[0-5])\]$")
#: An argument that is a time in the client's memory, and the function that makes an instant of it.
_TIME = re.compile(r"(after|after_micro|at|at_calendar)\((a[0-5])\)$")
_USES = re.compile(r"uses\s+(abi/[a-z0-9_]+\.h)$")
_REGISTER = re.compile(r"\ba([0-9]+)\b")
_OPEN = re.compile(rf"(many\s+)?service\s+({_NAME})\s*\{{$")


class Wrong(Exception):  # noqa: N818  # it is raised of what somebody wrote
    """What is wrong with an interface, after FILE:LINE."""


@dataclass(frozen=True)
class Argument:
    """An argument or a further value of the answer: its name and its type in the language."""

    name: str
    type: str

    @property
    def is_grant(self) -> bool:
        return self.type in GRANTS

    @property
    def words(self) -> int:
        return 2 if self.is_grant else 1

    @property
    def is_object(self) -> bool:
        return self.type in OBJECTS

    @property
    def c(self) -> str:
        return "struct grant" if self.is_grant else TYPES[self.type]


@dataclass(frozen=True)
class Member:
    """A line of an interface; `errors` are errno's names, `doc` the lines before it that begin with ///."""

    number: int
    kind: str
    name: str
    args: tuple[Argument, ...]
    outs: tuple[Argument, ...]
    waits: bool
    gives_way: bool
    errors: tuple[str, ...]
    doc: tuple[str, ...]


@dataclass(frozen=True)
class LinuxCall:
    """One of Linux's system calls, made of a client's call.

    `args` are C, with a0 to a5 for the registers as `a[0]` …; `again`: how it begins again after a signal; `when`: a
    condition in C for this line of several of the same number; `unless` that, in C, it is refused with `error`.
    `vector`: address and count of the iovec that one argument is; `room`: address, and where its length is, of one
    whose length comes back there; `time`: the kind of the deadline that one is, and the register that points to it;
    `masked`: where the signal mask during the call is (address and size, or the address of both); `leaving`: what is
    left of the time goes back there. `member` None: the call is known, and answers `error`."""

    number: int
    name: str
    member: Member | None
    args: tuple[str, ...] = ()
    again: str = ""
    when: str = ""
    unless: str = ""
    error: str = ""
    vector: tuple[str, str] | None = None
    room: tuple[str, str] | None = None
    time: tuple[str, str] | None = None
    masked: tuple[str, ...] = ()
    leaving: bool = False


@dataclass(frozen=True)
class Interface:
    """A file of interfaces/. `uses`: headers of Linux's numbers that its Linux calls name."""

    name: str
    many: bool
    members: tuple[Member, ...]
    doc: tuple[str, ...]
    linux: tuple[LinuxCall, ...] = ()
    uses: tuple[str, ...] = ()

    def of(self, *kinds: str) -> tuple[Member, ...]:
        return tuple(each for each in self.members if each.kind in kinds)


@dataclass(frozen=True)
class Service:
    """A table of the configuration: who provides what, made of what, and what it may call; of the kernel's interface
    the calls `kernel` alone, of vm's the calls `vm`; of the machine ranges of ports, lines of interrupts, PCI functions
    (vendor, device). `clients_memory`: all of it is its to read and write."""

    name: str
    endpoint: int
    provides: str
    sources: str
    calls: tuple[str, ...]
    kernel: tuple[str, ...]
    ports: tuple[tuple[int, int], ...] = ()
    interrupts: tuple[int, ...] = ()
    devices: tuple[tuple[int, int], ...] = ()
    vm: tuple[str, ...] = ()
    clients_memory: bool = False

    def depends_on(self, other: Service) -> bool:
        """It calls `other`, or asks it for a page that a copy found absent."""
        return other.provides in self.calls or other.provides == PAGER != self.provides


def parse(path: Path) -> Interface:
    """Raises Wrong."""
    members: list[Member] = []
    calls: list[tuple[int, str]] = []
    uses: list[str] = []
    doc: list[str] = []
    head: tuple[str, bool, tuple[str, ...]] | None = None
    closed = False
    pending, began = "", 0

    def fail(line: int, what: str) -> NoReturn:
        raise Wrong(f"{path}:{line}: {what}")

    number = 0
    for number, raw in enumerate(path.read_text().splitlines(), 1):
        text = raw.strip()
        if text.startswith("///"):
            doc.append(text[3:].strip())
            continue
        text = text.partition("//")[0].strip()
        if not text:
            continue
        if head is None:
            match = _OPEN.match(text)
            if match is None:
                fail(number, "expected 'service NAME {'")
            head, doc = (match[2], bool(match[1]), tuple(doc)), []
        elif text == "}" and not pending:
            closed = True
        elif closed:
            fail(number, "something after the closing brace")
        else:
            began = began if pending else number
            pending = f"{pending} {text}".strip()
            if pending.endswith(";"):
                if match := _USES.match(pending[:-1]):
                    uses.append(match[1])
                elif pending.startswith("linux "):
                    calls.append((began, pending[:-1]))
                else:
                    members.append(_member(pending[:-1], tuple(doc), began, fail))
                pending, doc = "", []
    if head is None or not closed or pending:
        fail(number, "ends in the middle")
    _check_numbers(path, members)
    linux = tuple(_linux(text, line, members, fail) for line, text in calls)
    return Interface(head[0], head[1], tuple(members), head[2], linux, tuple(uses))


def _linux(text: str, line: int, members: list[Member], fail: Fail) -> LinuxCall:
    if absent := _ABSENT.match(text):
        return LinuxCall(int(absent["number"]), absent["name"], None, error=absent["error"])
    match = _LINUX.match(text)
    if match is None:
        fail(line, f"not a system call: {text[:60]!r}")
    member = next((each for each in members if each.kind == "client" and each.name == match["member"]), None)
    if member is None:
        fail(line, f"there is no client's call {match['member']!r}")
    args = _split(match["args"])
    if len(args) != len(member.args):
        fail(line, f"{member.name} has {len(member.args)} arguments")
    times = [found for each in args if (found := _TIME.match(each))]
    vectors = [found for each in args if (found := _VECTOR.match(each))]
    masked = tuple(_registers(each, line, fail) for each in _split(match["masked"] or ""))
    rooms = [found for each in args if (found := _ROOM.match(each))]
    if max(len(times), len(vectors), len(rooms)) > 1 or (match["leaving"] and not times):
        fail(line, "one time, one vector and one room at most; what is left is of a time")
    return LinuxCall(
        number=int(match["number"]),
        name=match["name"],
        member=member,
        args=tuple(_expression(arg, given, line, fail) for arg, given in zip(member.args, args, strict=True)),
        again=match["again"] or "",
        when=_registers(match["when"] or "", line, fail),
        unless=_registers(match["unless"] or "", line, fail),
        error=match["error"] or "",
        vector=_two(vectors[0]) if vectors else None,
        room=_two(rooms[0]) if rooms else None,
        time=(times[0][1], _two(times[0])[1]) if times else None,
        masked=masked,
        leaving=bool(match["leaving"]),
    )


def _two(found: re.Match[str]) -> tuple[str, str]:
    """Registers as C has them."""
    return _REGISTER.sub(r"a[\1]", found[1]), _REGISTER.sub(r"a[\1]", found[2])


def _split(text: str) -> list[str]:
    """At its commas outside of brackets."""
    parts, depth = [""], 0
    for each in text:
        depth += (each in "([") - (each in ")]")
        if each == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += each
    return [part.strip() for part in parts] if text.strip() else []


def _registers(text: str, line: int, fail: Fail) -> str:
    if wrong := [found for found in _REGISTER.findall(text) if int(found) > LAST_REGISTER]:
        fail(line, f"there is no register a{wrong[0]}")
    return _REGISTER.sub(r"a[\1]", text)


def _expression(arg: Argument, given: str, line: int, fail: Fail) -> str:
    """C for an argument: a number, a time, or a grant: `string aN`, `none`, `aN[LENGTH]`, `vector aN[aM]`,
    `room aN[aM]`; with a ? behind `string` or aN a null pointer is a grant of nothing."""
    if not arg.is_grant:
        return "deadline" if _TIME.match(given) else f"({arg.c})({_registers(given, line, fail)})"
    if _VECTOR.match(given) or _ROOM.match(given):
        return given.partition(" ")[0]
    if given == "none":
        return "user_grant(0, 0)"
    if match := re.fullmatch(r"string(\??) (.+)", given):
        return f"user_string{'_if' if match[1] else ''}({_registers(match[2], line, fail)})"
    match = re.fullmatch(r"(a\d)(\??)\[(.+)\]", given)
    if match is None:
        fail(line, f"{arg.name} is a grant: aN[LENGTH], aN?[LENGTH], string aN, vector aN[aM], room aN[aM], none")
    address, length = _registers(match[1], line, fail), _registers(match[3], line, fail)
    return f"{'user_grant_if' if match[2] else 'user_grant'}({address}, {length})"


def _member(text: str, doc: tuple[str, ...], line: int, fail: Fail) -> Member:
    match = _MEMBER.match(text)
    if match is None:
        fail(line, f"not a member: {text[:60]!r}")
    args, outs = (_arguments(match[part] or "", line, fail) for part in ("args", "outs"))
    if sum(each.words for each in args) > WORDS:
        fail(line, f"{match['name']} needs more than {WORDS} words")
    if len(outs) > OUT_WORDS or any(each.is_grant for each in outs):
        fail(line, f"{match['name']}: at most {OUT_WORDS} values come back, and no grant")
    if match["waits"] and match["kind"] != "client":
        fail(line, "only a client's call may wait or give way; others say EWAIT")
    if match["kind"] == "notify" and (match["args"] is not None or int(match["number"]) < 0):
        fail(line, "a notification carries nothing")
    return Member(
        int(match["number"]),
        match["kind"],
        match["name"],
        args,
        outs,
        match["waits"] == "waits",
        match["waits"] == "gives way",
        tuple((match["errors"] or "").split()),
        doc,
    )


def _arguments(text: str, line: int, fail: Fail) -> tuple[Argument, ...]:
    found = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        match = _ARGUMENT.match(part)
        if match is None or (match[2] not in TYPES and match[2] not in GRANTS):
            fail(line, f"not an argument: {part!r}")
        found.append(Argument(match[1], match[2]))
    if len({each.name for each in found}) != len(found):
        fail(line, "two arguments of one name")
    return tuple(found)


def _check_numbers(path: Path, members: list[Member]) -> None:
    for attribute in ("number", "name"):
        seen: set[object] = set()
        for what in (getattr(member, attribute) for member in members):
            if what in seen:
                raise Wrong(f"{path}:1: {what} stands twice")
            seen.add(what)
    if sum(each.kind == "notify" for each in members) > NOTIFICATIONS:
        raise Wrong(f"{path}:1: more than {NOTIFICATIONS} notifications")


def interfaces(folder: Path) -> dict[str, Interface]:
    """By name. Raises Wrong."""
    return {each.name: each for each in map(parse, sorted(folder.glob("*.idl")))}


def services(path: Path, known: dict[str, Interface]) -> tuple[Service, ...]:
    """Those of the configuration, where interfaces `known` by name are. Endpoints are numbered from 1 in the file's
    order; 0 is the kernel. Raises Wrong."""
    found = []
    for endpoint, (name, table) in enumerate(tomllib.loads(path.read_text()).items(), 1):
        if table["provides"] not in known:
            raise Wrong(f"{path}:1: {name} provides {table['provides']!r}, of which there is no interface")
        kernel, vm = ({each.name for each in known[one].of("call")} for one in ("kernel", PAGER))
        named_vm = set(table.get("vm", ()))
        if unknown := (set(table["kernel"]) - kernel) | (named_vm - vm) | (set(table["calls"]) - set(known)):
            raise Wrong(f"{path}:1: {name} may call {', '.join(sorted(unknown))}: no such thing")
        calls, kernels, vms = tuple(table["calls"]), tuple(table["kernel"]), (*table.get("vm", ()), PAGER_CALL)
        ports = tuple((first, count) for first, count in table.get("ports", ()))
        lines = tuple(table.get("interrupts", ()))
        devices = tuple((int(text[:4], 16), int(text[5:], 16)) for text in table.get("devices", ()))
        named = (name, endpoint, table["provides"], table["sources"])
        found.append(Service(*named, calls, kernels, ports, lines, devices, vms, table.get("clients_memory", False)))
    for interface in known.values():
        count = sum(each.provides == interface.name for each in found)
        if interface.name != "kernel" and count != 1 and not (interface.many and count):
            raise Wrong(f"{path}:1: {count} services provide {interface.name}")
    return tuple(found)
