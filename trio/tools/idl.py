"""The interface compiler: from interfaces/*.idl and config/services.toml to C headers, stubs and dispatchers.

    python3 idl.py OUT INTERFACES CONFIG

The language, a line a member:

    [many] service NAME {            many: more than one service provides it; a call then names the endpoint first
        /// for readers
        N: client NAME(ARG: TYPE, …) [-> (OUT: TYPE, …)] [waits] [errors E…];    asked by a user program
        N: call NAME(ARG: TYPE, …) [-> (OUT: TYPE, …)] [errors E…];              asked by a service or the kernel
        N: notify NAME;                                                           a bit
    }

Types: u32 i32 u64 i64, `grant read` (the one that is asked may read it), `grant write`. A message has room for
WORDS words; a grant takes two. Written for each interface into OUT:

    NAME.h          stubs of its calls, numbers of its notifications: what those above include
    NAME_serve.h    struct NAME_service, the table of handlers: what the service itself includes
    NAME_client.h   stubs of its client calls: what kernel/abi includes
    NAME_stubs.c, NAME_client_stubs.c, NAME_dispatch.c
                    what a structure with messages links: what packs them and what unpacks them
    mono_stubs.c    stubs that are procedure calls, for all
    program_SERVICE.c, micro_images.S
                    a service as a program, and all of them within the kernel's file
    hybrid_stubs.c  services by endpoint; the kernel's calls as procedure calls
    kernel_calls.h, kernel_service.c
                    the functions kernel_call_NAME behind the kernel's interface, and their table
    endpoints.h     numbers of services; calls.h, calls.c: a counter a call, and its name

Limits: members stand on one line each (a line may go on after `(` or `,`). Errors go to stderr as FILE:LINE: what,
exit status 1.
"""

from __future__ import annotations

import re
import sys
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
GRANTS = ("grant read", "grant write")

_NAME = r"[a-z][a-z0-9_]*"
_MEMBER = re.compile(
    rf"(?P<number>\d+)\s*:\s*(?P<kind>client|call|notify)\s+(?P<name>{_NAME})\s*"
    r"(?:\((?P<args>[^)]*)\))?\s*(?:->\s*\((?P<outs>[^)]*)\))?\s*(?P<waits>\bwaits\b)?\s*"
    r"(?:\berrors\s+(?P<errors>[A-Z0-9 ]+?))?\s*$"
)
_ARGUMENT = re.compile(rf"({_NAME})\s*:\s*([a-z0-9 ]+)$")
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
    errors: tuple[str, ...]
    doc: tuple[str, ...]


@dataclass(frozen=True)
class Interface:
    """A file of interfaces/."""

    name: str
    many: bool
    members: tuple[Member, ...]
    doc: tuple[str, ...]

    def of(self, *kinds: str) -> tuple[Member, ...]:
        return tuple(each for each in self.members if each.kind in kinds)


@dataclass(frozen=True)
class Service:
    """A line of the configuration: who provides what."""

    name: str
    endpoint: int
    provides: str


def parse(path: Path) -> Interface:
    """Raises Wrong."""
    members: list[Member] = []
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
                members.append(_member(pending[:-1], tuple(doc), began, fail))
                pending, doc = "", []
    if head is None or not closed or pending:
        fail(number, "ends in the middle")
    _check_numbers(path, members)
    return Interface(head[0], head[1], tuple(members), head[2])


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
        fail(line, "only a client's call may wait; others say EWAIT")
    if match["kind"] == "notify" and (match["args"] is not None or int(match["number"]) < 0):
        fail(line, "a notification carries nothing")
    return Member(
        int(match["number"]),
        match["kind"],
        match["name"],
        args,
        outs,
        bool(match["waits"]),
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


def services(path: Path, interfaces: dict[str, Interface]) -> tuple[Service, ...]:
    """Endpoints are numbered from 1 in the file's order; 0 is the kernel. Raises Wrong."""
    found = []
    for endpoint, (name, table) in enumerate(tomllib.loads(path.read_text()).items(), 1):
        if table["provides"] not in interfaces:
            raise Wrong(f"{path}:1: {name} provides {table['provides']!r}, of which there is no interface")
        kernel = {each.name for each in interfaces["kernel"].of("call")}
        if unknown := (set(table["kernel"]) - kernel) | (set(table["calls"]) - set(interfaces)):
            raise Wrong(f"{path}:1: {name} may call {', '.join(sorted(unknown))}: no such thing")
        found.append(Service(name, endpoint, table["provides"]))
    for interface in interfaces.values():
        count = sum(each.provides == interface.name for each in found)
        if interface.name != "kernel" and count != 1 and not (interface.many and count):
            raise Wrong(f"{path}:1: {count} services provide {interface.name}")
    return tuple(found)


# C ---------------------------------------------------------------------------------------------------------------


def _params(args: tuple[Argument, ...], outs: tuple[Argument, ...] = (), first: tuple[str, ...] = ()) -> str:
    parts = [*first, *(f"{each.c} {each.name}" for each in args), *(f"{each.c} *out_{each.name}" for each in outs)]
    return ", ".join(parts) or "void"


def _values(args: tuple[Argument, ...], outs: tuple[Argument, ...] = (), first: tuple[str, ...] = ()) -> str:
    return ", ".join([*first, *(each.name for each in args), *(f"out_{each.name}" for each in outs)])


def _comment(doc: tuple[str, ...]) -> list[str]:
    return [f"/* {' '.join(doc)} */"] if doc else []


def _guarded(name: str, lines: list[str]) -> str:
    guard = f"TRIO_GEN_{name.upper()}_H"
    return "\n".join([f"#ifndef {guard}", f"#define {guard}", "", *lines, "", "#endif", ""])


def _counter(interface: Interface, member: Member) -> str:
    return f"CALL_{interface.name}_{member.name}".upper()


def _bit(interface: Interface, member: Member) -> int:
    return interface.of("notify").index(member)


def _first(interface: Interface) -> tuple[str, ...]:
    return ("uint32_t endpoint",) if interface.many else ()


def _stub_prototype(interface: Interface, member: Member) -> str:
    return f"int64_t {interface.name}_{member.name}({_params(member.args, member.outs, _first(interface))})"


def _client_prototype(interface: Interface, member: Member) -> str:
    return f"int64_t client_{interface.name}_{member.name}({_params(member.args, (), ('struct request *r',))})"


def header(interface: Interface) -> str:
    """Stubs of the calls, for those above, and the notifications' numbers, for those below."""
    lines = ['#include "port.h"', '#include "endpoints.h"', ""]
    for member in interface.of("call"):
        lines += [*_comment(member.doc), f"{_stub_prototype(interface, member)};"]
    for member in interface.of("notify"):
        lines += [
            *_comment(member.doc),
            f"#define {interface.name.upper()}_{member.name.upper()} {_bit(interface, member)}",
        ]
    return _guarded(interface.name, lines)


def serve(interface: Interface) -> str:
    """The handlers' table. A call's handler gets the service's state, a client's also the request."""
    own = f"struct {interface.name} *self"
    lines = ['#include "port.h"', '#include "endpoints.h"', "", f"struct {interface.name};", ""]
    lines += [f"struct {interface.name}_service {{", f"\tstruct {interface.name} *self;"]
    lines += ["\t/* At boot, in the order of the configuration from its end. */", f"\tvoid (*start)({own});"]
    lines += [f"\tvoid (*notified)({own}, uint64_t bits);"]
    for member in interface.of("client", "call"):
        client = member.kind == "client"
        first = (own, "struct request *r") if client else (own,)
        result = "verdict" if client else "int64_t"
        lines += [f"\t{each}" for each in _comment(member.doc)]
        lines.append(f"\t{result} (*{member.name})({_params(member.args, () if client else member.outs, first)});")
    lines += ["};", ""]
    for member in interface.of("notify"):
        name = f"{interface.name}_{member.name}".upper()
        lines.append(f"#define NOTIFIED_{name} (1ULL << {_bit(interface, member)})")
    for member in interface.of("client"):
        lines += [
            f"#define OUT_{interface.name.upper()}_{member.name.upper()}_{out.name.upper()} {index}"
            for index, out in enumerate(member.outs)
        ]
    return _guarded(f"{interface.name}_serve", lines)


def client(interface: Interface) -> str:
    """Stubs of the clients' calls, and where in the request each further value of an answer is."""
    lines = ['#include "port.h"', ""]
    for member in interface.of("client"):
        lines += [*_comment(member.doc), f"{_client_prototype(interface, member)};"]
        lines += [
            f"#define OUT_{interface.name.upper()}_{member.name.upper()}_{out.name.upper()} {index}"
            for index, out in enumerate(member.outs)
        ]
    return _guarded(f"{interface.name}_client", lines)


def _provider(member: Member, of: str, first: tuple[str, ...] = ()) -> str:
    return f"{of}.{member.name}({_values(member.args, member.outs, (f'{of}.self', *first))})"


def _checked(interface: Interface, member: Member, of: str) -> str:
    return f"checked_result({_counter(interface, member)}, {_provider(member, of)})"


def mono(interfaces: dict[str, Interface], found: tuple[Service, ...]) -> str:
    """A stub is a procedure call; a client's runs its handler again for as long as that parks."""
    lines = ['#include "mono.h"']
    for interface in interfaces.values():
        lines += [f'#include "{interface.name}.h"', f'#include "{interface.name}_serve.h"']
        lines += [f'#include "{interface.name}_client.h"']
    lines += ["", *(f"extern const struct {each.provides}_service {each.name}_service;" for each in found)]
    lines += ['#include "kernel_calls.h"', ""]
    for interface in interfaces.values():
        providers = [each for each in found if each.provides == interface.name]
        for member in interface.of("call"):
            lines += [_stub_prototype(interface, member), "{", f"\tcount_call({_counter(interface, member)});"]
            if interface.many:
                lines.append("\tswitch (endpoint) {")
                for each in providers:
                    lines.append(f"\tcase ENDPOINT_{each.name.upper()}:")
                    lines.append(f"\t\treturn {_checked(interface, member, f'{each.name}_service')};")
                lines += ["\t}", "\treturn -ENODEV;"]
            else:
                of = providers[0].name if providers else "kernel"
                lines.append(f"\treturn {_checked(interface, member, f'{of}_service')};")
            lines += ["}", ""]
        for member in interface.of("client"):
            of = f"{providers[0].name}_service"
            values = _values(member.args, (), (f"{of}.self", "r"))
            lines += [_client_prototype(interface, member), "{", f"\tcount_call({_counter(interface, member)});"]
            if member.waits:
                lines.append(f"\trequest_begin(r, {member.number});")
                lines.append(f"\twhile ({of}.{member.name}({values}) == PARKED && wait_for_answer(r))")
                lines.append("\t\tcontinue;")
            else:
                lines.append(f"\tat_once(r, {of}.{member.name}({values}));")
            lines += [f"\treturn checked_result({_counter(interface, member)}, r->result);", "}", ""]
    lines += ["void services_start(void)", "{"]
    lines += [f"\t{each.name}_service.start({each.name}_service.self);" for each in reversed(found)]
    lines += ["}", "", "void service_notified(uint32_t endpoint, uint64_t bits)", "{", "\tswitch (endpoint) {"]
    for each in found:
        lines += [f"\tcase ENDPOINT_{each.name.upper()}:"]
        lines += [f"\t\t{each.name}_service.notified({each.name}_service.self, bits);", "\t\tbreak;"]
    lines += ["\t}", "}", ""]
    return "\n".join(lines)


def kernel_calls(interface: Interface) -> tuple[str, str]:
    """Prototypes of the functions behind the kernel's interface, and their table."""
    table = "const struct kernel_service kernel_service"
    own = ("struct kernel *self",)
    head = ['#include "kernel_serve.h"', "", "/* What stands behind kernel.idl, where its calls are told of. */"]
    body = ['#include "kernel_calls.h"', "", f"{table} = {{"]
    for member in interface.of("call"):
        head.append(f"int64_t kernel_call_{member.name}({_params(member.args, member.outs, own)});")
        body.append(f"\t.{member.name} = kernel_call_{member.name},")
    return _guarded("kernel_calls", [*head, "", f"extern {table};"]), "\n".join([*body, "};", ""])


def _word(arg: Argument, at: int, source: str) -> str:
    if arg.is_grant:
        return f"(struct grant){{ {source}[{at}], {source}[{at + 1}] }}"
    return f"({arg.c}){source}[{at}]"


def _packed(args: tuple[Argument, ...]) -> list[tuple[int, Argument]]:
    at, found = 0, []
    for arg in args:
        found.append((at, arg))
        at += arg.words
    return found


def _pack(args: tuple[Argument, ...]) -> list[str]:
    lines = []
    for at, arg in _packed(args):
        if arg.is_grant:
            lines += [f"\tm.words[{at}] = {arg.name}.id;", f"\tm.words[{at + 1}] = {arg.name}.length;"]
        else:
            lines.append(f"\tm.words[{at}] = (uint64_t){arg.name};")
    return lines


def stubs(interface: Interface) -> str:
    """Stubs of calls that pack a message, for a service or a kernel that has messages."""
    lines = ['#include "messages.h"', f'#include "{interface.name}.h"', ""]
    to = "endpoint" if interface.many else f"ENDPOINT_{interface.name.upper()}"
    for member in interface.of("call"):
        lines += [_stub_prototype(interface, member), "{", f"\tstruct message m = {{ .call = {member.number} }};", ""]
        lines += [*_pack(member.args), f"\tmessage_call({to}, &m);"]
        lines += [f"\t*out_{out.name} = ({out.c})m.words[{index}];" for index, out in enumerate(member.outs)]
        lines += ["\treturn m.result;", "}", ""]
    return "\n".join(lines)


def client_stubs(interface: Interface) -> str:
    """Stubs of the clients' calls that pack a message, for kernel/abi."""
    lines = ['#include "messages.h"', f'#include "{interface.name}_client.h"', '#include "endpoints.h"', ""]
    for member in interface.of("client"):
        lines += [_client_prototype(interface, member), "{", f"\tstruct message m = {{ .call = {member.number} }};", ""]
        lines += [*_pack(member.args), f"\tmessage_client_call(ENDPOINT_{interface.name.upper()}, r, &m);"]
        lines += ["\treturn r->result;", "}", ""]
    return "\n".join(lines)


def dispatcher(interface: Interface) -> str:
    """What unpacks messages and calls the handlers of `struct NAME_service`."""
    lines = ['#include "messages.h"', f'#include "{interface.name}_serve.h"', ""]
    lines += [f"DISPATCHER({interface.name});", ""]
    name = f"const struct {interface.name}_service *service = table"
    lines += [f"void serve_{interface.name}_start(const void *table)", "{", f"\t{name};", ""]
    lines += ["\tservice->start(service->self);", "}", ""]
    lines += [f"void serve_{interface.name}_notified(const void *table, uint64_t bits)", "{", f"\t{name};", ""]
    lines += ["\tservice->notified(service->self, bits);", "}", ""]
    lines += [f"void serve_{interface.name}_call(const void *table, struct message *m)", "{", f"\t{name};", ""]
    lines += ["\tswitch (m->call) {"]
    for member in interface.of("call"):
        words = [_word(arg, at, "m->words") for at, arg in _packed(member.args)]
        outs = [f"{out.c} out_{out.name} = 0;" for out in member.outs]
        inner = ", ".join(["service->self", *words, *(f"&out_{out.name}" for out in member.outs)])
        lines += [f"\tcase {member.number}: {{", *(f"\t\t{each}" for each in outs)]
        lines += ["", f"\t\tm->result = service->{member.name}({inner});"]
        lines += [f"\t\tm->words[{index}] = (uint64_t)out_{out.name};" for index, out in enumerate(member.outs)]
        lines += ["\t\tbreak;", "\t}"]
    lines += ["\tdefault:", "\t\t(void)service;", "\t\tm->result = -ENOSYS;", "\t}", "}", ""]
    lines += [f"verdict serve_{interface.name}_client(const void *table, struct request *r, const uint64_t *words)"]
    lines += ["{", f"\t{name};", "", "\tswitch (r->call) {"]
    for member in interface.of("client"):
        words = [_word(arg, at, "words") for at, arg in _packed(member.args)]
        lines += [f"\tcase {member.number}:"]
        lines += [f"\t\treturn service->{member.name}({', '.join(['service->self', 'r', *words])});"]
    lines += ["\t}", "\t(void)service;", "\t(void)words;", "\treturn refuse(r, ENOSYS);", "}", ""]
    return "\n".join(lines)


def servers(interfaces: dict[str, Interface], found: tuple[Service, ...]) -> str:
    """Every service's dispatcher by its endpoint, and the kernel's calls as calls of procedures."""
    lines = ['#include "messages.h"', '#include "kernel.h"', '#include "kernel_serve.h"', ""]
    for name in sorted({each.provides for each in found}):
        lines += [f"DISPATCHER({name});"]
    for each in found:
        of = f"struct {each.provides}_service"
        lines += [f"{of};", f"extern const {of} {each.name}_service;"]
    lines += ['#include "kernel_calls.h"', "", "const struct dispatcher dispatchers[] = {"]
    for each in found:
        of = each.provides
        lines += [f'\t[ENDPOINT_{each.name.upper()}] = {{ "{each.name}", &{each.name}_service, serve_{of}_start, ']
        lines[-1] += f"serve_{of}_notified, serve_{of}_call, serve_{of}_client }},"
    lines += ["};", ""]
    kernel = interfaces["kernel"]
    for member in kernel.of("call"):
        lines += [_stub_prototype(kernel, member), "{"]
        lines += [f"\treturn {_provider(member, 'kernel_service')};", "}", ""]
    return "\n".join(lines)


def program(service: Service) -> str:
    """Which service a program is, where services are programs."""
    of = service.provides
    lines = ['#include "messages.h"', "", f"DISPATCHER({of});", f"struct {of}_service;"]
    lines += [f"extern const struct {of}_service {service.name}_service;", ""]
    lines += ["const struct dispatcher this_service = {"]
    lines += [f'\t"{service.name}", &{service.name}_service, serve_{of}_start, serve_{of}_notified, serve_{of}_call,']
    return "\n".join([*lines, f"\tserve_{of}_client", "};", ""])


def images(found: tuple[Service, ...]) -> str:
    """The services' programs, by endpoint, as parts of the kernel's file: GNU assembler."""
    lines = [".section .rodata"]
    for each in found:
        lines += [".balign 8", f'image_{each.name}: .incbin "{each.name}.program"']
    lines += [".balign 8", ".globl service_images", "service_images:", ".quad 0"]
    lines += [f".quad image_{each.name}" for each in found]
    lines += [".globl service_names", "service_names:", ".quad 0", *(f".quad name_{each.name}" for each in found)]
    lines += [f'name_{each.name}: .asciz "{each.name}"' for each in found]
    return "\n".join([*lines, '.section .note.GNU-stack, "", @progbits', ""])


def endpoints(found: tuple[Service, ...]) -> str:
    """Services' numbers, by their names and, where one service alone provides it, by the interface's."""
    lines = ["#define ENDPOINT_KERNEL 0"]
    lines += [f"#define ENDPOINT_{each.name.upper()} {each.endpoint}" for each in found]
    provided = [each.provides for each in found]
    lines += [
        f"#define ENDPOINT_{each.provides.upper()} ENDPOINT_{each.name.upper()}"
        for each in found
        if each.provides != each.name and provided.count(each.provides) == 1
    ]
    return _guarded("endpoints", [*lines, f"#define ENDPOINTS {len(found) + 1}"])


def counters(interfaces: dict[str, Interface]) -> tuple[str, str]:
    """Header and table: a counter's index a call, its name in reports, the errors that the interface lists."""
    named = [(_counter(i, m), f"{i.name}.{m.name}", m) for i in interfaces.values() for m in i.of("client", "call")]
    declared = ("const char *const call_names[]", "const uint16_t *const call_errors[]")
    head = ['#include "port.h"', "", "enum {", *(f"\t{name}," for name, _, _ in named), "\tCALLS", "};", ""]
    head += [f"extern {declared[0]};", "/* Those that each may answer, 0 behind; of a kernel with TRIO_CHECKED. */"]
    head += [f"extern {declared[1]};"]
    body = ['#include "calls.h"', "", f"{declared[0]} = {{", *(f'\t"{name}",' for _, name, _ in named), "};", ""]
    body += ["#ifdef TRIO_CHECKED", f"{declared[1]} = {{"]
    for _, _, member in named:
        # Whatever waits may be ended by a signal.
        errors = [*member.errors, *(["EINTR"] if member.waits else []), "0"]
        body.append(f"\t(const uint16_t[]){{ {', '.join(errors)} }},")
    body += ["};", "#endif"]
    return _guarded("calls", head), "\n".join([*body, ""])


def written(out: Path, folder: Path, config: Path) -> dict[Path, str]:
    """Path to content. Raises Wrong."""
    read = [parse(path) for path in sorted(folder.glob("*.idl"))]
    interfaces = {each.name: each for each in read}
    found = services(config, interfaces)
    calls_h, calls_c = counters(interfaces)
    files = {"endpoints.h": endpoints(found), "calls.h": calls_h, "calls.c": calls_c}
    files |= {"mono_stubs.c": mono(interfaces, found), "hybrid_stubs.c": servers(interfaces, found)}
    files["kernel_calls.h"], files["kernel_service.c"] = kernel_calls(interfaces["kernel"])
    files["micro_images.S"] = images(found)
    files |= {f"program_{each.name}.c": program(each) for each in found}
    for name, interface in interfaces.items():
        files |= {f"{name}.h": header(interface), f"{name}_serve.h": serve(interface)}
        files |= {f"{name}_client.h": client(interface), f"{name}_stubs.c": stubs(interface)}
        files |= {f"{name}_client_stubs.c": client_stubs(interface), f"{name}_dispatch.c": dispatcher(interface)}
    return {out / name: text for name, text in files.items()}


def main(arguments: list[str]) -> int:
    if len(arguments) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    out, folder, config = map(Path, arguments)
    try:
        files = written(out, folder, config)
    except (Wrong, OSError, tomllib.TOMLDecodeError) as error:
        print(error, file=sys.stderr)
        return 1
    out.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        if not path.is_file() or path.read_text() != text:  # an unchanged header rebuilds nothing
            path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
