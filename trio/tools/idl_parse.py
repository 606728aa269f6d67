"""Reads interfaces/*.idl, in the language that idl.py describes, and config/services.toml.

Errors are Wrong: FILE:LINE: what.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

WORDS = 12
OUT_WORDS = 8
NOTIFICATIONS = 62
TYPES = {"u32": "uint32_t", "i32": "int32_t", "u64": "uint64_t", "i64": "int64_t"}
#: Types of descriptors: the handler gets what the descriptor stands for.
OBJECTS = ("file", "socket")
TYPES |= dict.fromkeys(OBJECTS, "int32_t")
GRANTS = ("grant read", "grant write", "grant read write")
#: The service that makes pages present, and the call by which every service that copies asks for one.
PAGER, PAGER_CALL = "vm", "fault"
#: What becomes of a process that ends; a process of several services has the last of theirs.
AT_ITS_END = {"start again": "POLICY_START_AGAIN", "give up": "POLICY_GIVE_UP", "stop": "POLICY_STOP"}
#: The last register of a system call.
LAST_REGISTER = 5

_NAME = r"[a-z][a-z0-9_]*"
_MEMBER = re.compile(
    rf"(?P<number>\d+)\s*:\s*(?P<kind>client|call|notify)\s+(?P<name>{_NAME})\s*"
    r"(?:\((?P<args>[^)]*)\))?\s*(?:->\s*\((?P<outs>[^)]*)\))?\s*(?P<waits>\bwaits\b|\bgives way\b)?\s*"
    r"(?:\berrors\s+(?P<errors>[A-Z0-9 ]+?))?\s*$"
)
_ARGUMENT = re.compile(rf"({_NAME})\s*:\s*([a-z0-9_ ]+)$")
_LINUX = re.compile(
    rf"linux\s+(?P<number>\d+)\s+(?P<name>{_NAME})\s*=\s*(?P<member>{_NAME})\((?P<args>.*?)\)\s*"
    r"(?P<again>restarts|resumes|continues)?\s*(?:masked\((?P<masked>[^)]*)\))?\s*(?P<leaving>leaving)?\s*"
    r"(?:when\s+(?P<when>.+?))?\s*(?:\bunless\s+(?P<unless>.+?)\s*:\s*(?P<error>E[A-Z0-9]+))?\s*$"
)
_ABSENT = re.compile(rf"linux\s+(?P<number>\d+)\s+(?P<name>{_NAME})\s*=\s*(?P<error>E[A-Z0-9]+)\s*$")
_REGISTER = re.compile(r"\ba([0-9]+)\b")
#: The same in C.
_A = r"(a\[\d+\])"
#: An argument that is an iovec (its address, its number of parts), or room for a value (its address, and where its
#: length is, to which the value's length is written).
_PAIR = re.compile(rf"(vector|room) {_A}\[{_A}\]$")
#: An argument that is a time in the client's memory: the function that makes an instant of it, and its address.
_TIME = re.compile(rf"(after|after_micro|at|at_calendar)\({_A}\)$")
_STRING = re.compile(r"string(\??) (.+)$")
_GRANT = re.compile(rf"{_A}(\??)\[(.+)\]$")
_VALUE = rf"{_NAME}\s*=\s*\d+"
_ENUM = re.compile(rf"enum\s+(?P<name>{_NAME})\s*\{{\s*(?P<values>{_VALUE}(?:\s*,\s*{_VALUE})*)\s*\}}$")
_USES = re.compile(r"uses\s+(abi/[a-z0-9_]+\.h)$")
_OPEN = re.compile(rf"(many\s+)?service\s+({_NAME})\s*\{{$")


class Wrong(Exception):  # noqa: N818  # it is raised of what somebody wrote
    """What is wrong with an interface, after FILE:LINE."""


@dataclass(frozen=True)
class Enum:
    """Names of numbers, or of bits, that both sides of a call have."""

    name: str
    values: tuple[tuple[str, int], ...]
    doc: tuple[str, ...]


@dataclass(frozen=True)
class Argument:
    """An argument or a further value of the answer: its name and its type in the language, which may be an enum's."""

    name: str
    type: str

    @property
    def is_grant(self) -> bool:
        return self.type in GRANTS

    @property
    def rights(self) -> str:
        """The rights of a grant, in C."""
        return " | ".join(f"RIGHT_{each.upper()}" for each in ("read", "write") if each in self.type)

    @property
    def words(self) -> int:
        return 2 if self.is_grant else 1

    @property
    def is_object(self) -> bool:
        return self.type in OBJECTS

    @property
    def c(self) -> str:
        return "struct grant" if self.is_grant else TYPES.get(self.type, "uint32_t")


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

    @property
    def words(self) -> int:
        return sum(each.words for each in self.args)

    @property
    def packed(self) -> Iterator[tuple[int, Argument]]:
        """Each argument with the first word that it has in a message."""
        return zip(accumulate((each.words for each in self.args), initial=0), self.args, strict=False)


#: How many grants of its clients' memory a service has at once (seam/grants.c).
CLIENT_GRANTS = 2


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

    @property
    def is_registers(self) -> bool:
        """Whether the service can make the arguments itself, since they depend on the registers alone and the result is
        the member's (seam/switches.h, decoded-by-services)."""
        more = self.when or self.unless or self.vector or self.room or self.time or self.masked or self.leaving
        words = " ".join(self.args)
        plain = not more and "t->" not in words and "deadline" not in words
        return bool(self.member and not self.member.outs and plain and words.count("user_grant") <= CLIENT_GRANTS)

    @property
    def registers(self) -> int:
        """How many registers the call uses, from the first on."""
        return max((int(each) + 1 for each in re.findall(r"\ba\[(\d)\]", " ".join(self.args))), default=0)


@dataclass(frozen=True)
class Interface:
    """A file of interfaces/. `uses`: headers of Linux's numbers that its Linux calls name."""

    name: str
    many: bool
    members: tuple[Member, ...]
    doc: tuple[str, ...]
    linux: tuple[LinuxCall, ...] = ()
    uses: tuple[str, ...] = ()
    enums: tuple[Enum, ...] = ()

    def of(self, *kinds: str) -> tuple[Member, ...]:
        return tuple(each for each in self.members if each.kind in kinds)


@dataclass(frozen=True)
class Service:
    """A table of the configuration: what it provides, its sources, and what it may call; of the kernel's interface only
    the calls `kernel`, of vm's the calls `vm`; of the machine ranges of ports, lines of interrupts, PCI functions
    (vendor, device). `clients_memory`: all of it is its to read and write. `at_its_end`: of AT_ITS_END.
    `pages`: how many it may have of pages_take, None: of any number."""

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
    at_its_end: str = "give up"
    keeps_pages: bool = False
    pages: int | None = 0

    @property
    def symbol(self) -> str:
        """The name of `endpoint` in C."""
        return f"ENDPOINT_{self.name.upper()}"

    def depends_on(self, other: Service) -> bool:
        """Whether it calls `other`, or asks it for a page that a copy found absent. A service that provides what it
        also calls stands before the others that provide that, and calls only those."""
        is_before = other.provides == self.provides and other.provides in other.calls
        return (other.provides in self.calls and not is_before) or other.provides == PAGER != self.provides


def parse(path: Path) -> Interface:
    """Raises Wrong."""
    statements = list(_statements(path.read_text()))
    number, doc, text = statements[0] if statements else (1, (), "")
    head = _OPEN.match(text)
    if head is None:
        raise Wrong(f"{path}:{number}: expected 'service NAME {{'")
    made = Interface(head[2], bool(head[1]), (), doc)
    for number, doc, text in statements[1:-1]:
        try:
            made = _with(made, text.removesuffix(";"), doc)
        except Wrong as wrong:
            raise Wrong(f"{path}:{number}: {wrong}") from None
    number, _, text = statements[-1]
    if text != "}":
        raise Wrong(f"{path}:{number}: ends in the middle")
    return made


def _statements(text: str) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """Statements, which end with a brace or a semicolon: first line, the /// lines before it, text."""
    doc: list[str] = []
    words: list[str] = []
    began = 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.partition("//")[0].strip()
        if raw.strip().startswith("///"):
            doc.append(raw.strip()[3:].strip())
        elif line:
            began = began if words else number
            words.append(line)
        if line.endswith(("{", ";", "}")):
            yield began, tuple(doc), " ".join(words)
            doc, words = [], []
    if words:
        yield began, tuple(doc), " ".join(words)


def _with(made: Interface, text: str, doc: tuple[str, ...]) -> Interface:
    """The interface with one more statement, which has no semicolon."""
    if text == "}":
        raise Wrong("something after the closing brace")
    if match := _USES.match(text):
        return replace(made, uses=(*made.uses, match[1]))
    if text.startswith("linux "):
        return replace(made, linux=(*made.linux, _linux(text, made.of("client"))))
    if match := _ENUM.match(text):
        pairs = (each.split("=") for each in match["values"].split(","))
        enum = Enum(match["name"], tuple((name.strip(), int(number)) for name, number in pairs), doc)
        if enum.name in {*TYPES, *(each.name for each in made.enums)}:
            raise Wrong(f"there is a type {enum.name} already")
        return replace(made, enums=(*made.enums, enum))
    member = _member(text, doc, {each.name for each in made.enums})
    for each in made.members:
        if twice := {member.number, member.name} & {each.number, each.name}:
            raise Wrong(f"{twice.pop()} stands twice")
    if member.kind == "notify" and len(made.of("notify")) == NOTIFICATIONS:
        raise Wrong(f"more than {NOTIFICATIONS} notifications")
    return replace(made, members=(*made.members, member))


def _linux(text: str, clients: tuple[Member, ...]) -> LinuxCall:
    """Parses a system call; `clients` are the calls that stand above it."""
    registers = _REGISTER.findall(text)
    text = _REGISTER.sub(r"a[\1]", text)
    if absent := _ABSENT.match(text):
        return LinuxCall(int(absent["number"]), absent["name"], None, error=absent["error"])
    match = _LINUX.match(text)
    if match is None:
        raise Wrong(f"not a system call: {text[:60]!r}")
    member = next((each for each in clients if each.name == match["member"]), None)
    if member is None:
        raise Wrong(f"there is no client's call {match['member']!r}")
    args = _split(match["args"])
    if len(args) != len(member.args):
        raise Wrong(f"{member.name} has {len(member.args)} arguments")
    times = [(found[1], found[2]) for each in args if (found := _TIME.match(each))]
    pairs = [(found[1], (found[2], found[3])) for each in args if (found := _PAIR.match(each))]
    if len(times) > 1 or len(dict(pairs)) < len(pairs) or (match["leaving"] and not times):
        raise Wrong("one time, one vector and one room at most; what is left is of a time")
    expressions = tuple(_expression(arg, given) for arg, given in zip(member.args, args, strict=True))
    if wrong := [each for each in registers if int(each) > LAST_REGISTER]:
        raise Wrong(f"there is no register a{wrong[0]}")
    return LinuxCall(
        number=int(match["number"]),
        name=match["name"],
        member=member,
        args=expressions,
        **{each: match[each] or "" for each in ("again", "when", "unless", "error")},
        vector=dict(pairs).get("vector"),
        room=dict(pairs).get("room"),
        time=times[0] if times else None,
        masked=tuple(_split(match["masked"] or "")),
        leaving=bool(match["leaving"]),
    )


def _split(text: str) -> list[str]:
    """Splits at commas outside of brackets."""
    parts, depth = [""], 0
    for each in text:
        depth += (each in "([") - (each in ")]")
        if each == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += each
    return [part.strip() for part in parts] if text.strip() else []


def _expression(arg: Argument, given: str) -> str:
    """C for an argument: a number, a time, or a grant: `string aN`, `none`, `aN[LENGTH]`, `vector aN[aM]`,
    `room aN[aM]`; with a ? behind `string` or aN a null pointer is a grant of nothing."""
    if not arg.is_grant:
        return "deadline" if _TIME.match(given) else f"({arg.c})({given})"
    if match := _PAIR.match(given):
        return match[1]
    if given == "none":
        return "user_grant(0, 0)"
    if match := _STRING.match(given):
        return f"user_grant{'_if' if match[1] else ''}({match[2]}, PATH_BYTES)"
    if match := _GRANT.match(given):
        return f"user_grant{'_if' if match[2] else ''}({match[1]}, {match[3]})"
    raise Wrong(f"{arg.name} is a grant: aN[LENGTH], aN?[LENGTH], string aN, vector aN[aM], room aN[aM], none")


def _member(text: str, doc: tuple[str, ...], enums: set[str]) -> Member:
    match = _MEMBER.match(text)
    if match is None:
        raise Wrong(f"not a member: {text[:60]!r}")
    name, kind, waits = match["name"], match["kind"], match["waits"]
    args, outs = (_arguments(match[part] or "", enums) for part in ("args", "outs"))
    if len(outs) > OUT_WORDS or any(each.is_grant for each in outs):
        raise Wrong(f"{name}: at most {OUT_WORDS} values come back, and no grant")
    if waits and kind != "client":
        raise Wrong("only a client's call may wait or give way; others say EWAIT")
    if kind == "notify" and match["args"] is not None:
        raise Wrong("a notification carries nothing")
    errors = tuple((match["errors"] or "").split())
    made = Member(int(match["number"]), kind, name, args, outs, waits == "waits", waits == "gives way", errors, doc)
    if made.words > WORDS:
        raise Wrong(f"{name} needs more than {WORDS} words")
    return made


def _arguments(text: str, enums: set[str]) -> tuple[Argument, ...]:
    types, found = {*TYPES, *GRANTS, *enums}, []
    for part in filter(None, (each.strip() for each in text.split(","))):
        match = _ARGUMENT.match(part)
        if match is None or match[2] not in types:
            raise Wrong(f"not an argument: {part!r}")
        found.append(Argument(match[1], match[2]))
    if len({each.name for each in found}) != len(found):
        raise Wrong("two arguments of one name")
    return tuple(found)


def interfaces(folder: Path) -> dict[str, Interface]:
    """All interfaces of a folder, by name. Raises Wrong."""
    return {each.name: each for each in map(parse, sorted(folder.glob("*.idl")))}


def services(path: Path, known: dict[str, Interface]) -> tuple[Service, ...]:
    """The services of a configuration. Endpoints have numbers from 1 on, in the file's order; 0 is the kernel. Raises
    Wrong."""
    found = []
    for endpoint, (name, table) in enumerate(tomllib.loads(path.read_text()).items(), 1):
        if table["provides"] not in known:
            raise Wrong(f"{path}:1: {name} provides {table['provides']!r}, of which there is no interface")
        kernel, vm = ({each.name for each in known[one].of("call")} for one in ("kernel", PAGER))
        made = Service(
            name=name,
            endpoint=endpoint,
            provides=table["provides"],
            sources=table["sources"],
            calls=tuple(table["calls"]),
            kernel=tuple(table["kernel"]),
            ports=tuple((first, count) for first, count in table.get("ports", ())),
            interrupts=tuple(table.get("interrupts", ())),
            devices=tuple((int(text[:4], 16), int(text[5:], 16)) for text in table.get("devices", ())),
            vm=(*table.get("vm", ()), PAGER_CALL),
            clients_memory=table.get("clients_memory", False),
            at_its_end=table.get("at_its_end", "give up"),
            keeps_pages=table.get("keeps_pages", False),
            pages=None if table.get("pages") == "any" else table.get("pages", 0),
        )
        if unknown := (set(made.kernel) - kernel) | (set(made.vm) - vm) | (set(made.calls) - set(known)):
            raise Wrong(f"{path}:1: {name} may call {', '.join(sorted(unknown))}: no such thing")
        if made.at_its_end not in AT_ITS_END:
            raise Wrong(f"{path}:1: {name} at its end: expected one of {', '.join(AT_ITS_END)}")
        found.append(made)
    for interface in known.values():
        count = sum(each.provides == interface.name for each in found)
        if interface.name != "kernel" and count != 1 and not (interface.many and count):
            raise Wrong(f"{path}:1: {count} services provide {interface.name}")
    return tuple(found)
