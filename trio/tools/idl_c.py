"""Generates the C of an interface that all structures have in common: headers (prototypes, tables of handlers,
numbers), dispatchers, the kernel's functions; and has the helpers that domains.py needs too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from idl_parse import Argument, Interface, LinuxCall, Member, Service


def parameters(args: tuple[Argument, ...], outs: tuple[Argument, ...] = (), first: tuple[str, ...] = ()) -> str:
    """The parameters of a declaration; further values of the answer are pointers."""
    parts = [*first, *(f"{each.c} {each.name}" for each in args), *(f"{each.c} *out_{each.name}" for each in outs)]
    return ", ".join(parts) or "void"


def arguments(args: tuple[Argument, ...], outs: tuple[Argument, ...] = (), first: tuple[str, ...] = ()) -> str:
    """The arguments of a call in a function with such parameters."""
    return ", ".join([*first, *(each.name for each in args), *(f"out_{each.name}" for each in outs)])


def _comment(doc: tuple[str, ...]) -> list[str]:
    return [f"/* {' '.join(doc)} */"] if doc else []


def guarded(name: str, lines: list[str]) -> str:
    guard = f"TRIO_GEN_{name.upper()}_H"
    return "\n".join([f"#ifndef {guard}", f"#define {guard}", "", *lines, "", "#endif", ""])


def indented(lines: Iterable[str]) -> list[str]:
    return [f"\t{line}" if line else "" for line in lines]


def function(prototype: str, *body: str) -> list[str]:
    """A function in C, with an empty line behind it."""
    return [prototype, "{", *indented(body), "}", ""]


def switch(value: str, cases: Mapping[str, Iterable[str]]) -> list[str]:
    """A switch statement in C."""
    labelled = (line for label, body in cases.items() for line in (f"case {label}:", *indented(body)))
    return [f"switch ({value}) {{", *labelled, "}"]


def pack(args: tuple[Argument, ...]) -> list[str]:
    """The words of a message, in C."""
    words = []
    for arg in args:
        words += [f"{arg.name}.id", f"{arg.name}.length"] if arg.is_grant else [f"(uint64_t){arg.name}"]
    return words


def counter(interface: Interface, member: Member) -> str:
    return f"CALL_{interface.name}_{member.name}".upper()


def _bit(interface: Interface, member: Member) -> int:
    return interface.of("notify").index(member)


def stub_prototype(interface: Interface, member: Member) -> str:
    first = ("uint32_t endpoint",) if interface.many else ()
    return f"int64_t {interface.name}_{member.name}({parameters(member.args, member.outs, first)})"


def client_prototype(interface: Interface, member: Member) -> str:
    return f"int64_t client_{interface.name}_{member.name}({parameters(member.args, (), ('struct request *r',))})"


def _outs(interface: Interface, member: Member) -> list[str]:
    """The places of an answer's further values in a client's request."""
    name = f"OUT_{interface.name}_{member.name}".upper()
    return [f"#define {name}_{out.name.upper()} {index}" for index, out in enumerate(member.outs)]


def enums(interface: Interface) -> dict[str, str]:
    """If the interface has enums, the header that both sides of a call include: `enum share { files = 1 }` of vfs
    becomes `enum vfs_share { VFS_SHARE_FILES = 1 }`."""
    lines = []
    for each in interface.enums:
        name = f"{interface.name}_{each.name}"
        values = ", ".join(f"{name}_{value}".upper() + f" = {number}" for value, number in each.values)
        lines += [*_comment(each.doc), f"enum {name} {{ {values} }};"]
    return {f"{interface.name}_enums.h": guarded(f"{interface.name}_enums", lines)} if lines else {}


def _head(interface: Interface) -> list[str]:
    return ['#include "port.h"', *(f'#include "{name}"' for name in enums(interface))]


def header(interface: Interface) -> str:
    """For services above: stubs of the calls. For services below: the numbers of the notifications."""
    lines = [*_head(interface), '#include "endpoints.h"', ""]
    for member in interface.of("call"):
        lines += [*_comment(member.doc), f"{stub_prototype(interface, member)};"]
    for member in interface.of("notify"):
        lines += [
            *_comment(member.doc),
            f"#define {interface.name.upper()}_{member.name.upper()} {_bit(interface, member)}",
        ]
    return guarded(interface.name, lines)


def handler_prototype(member: Member, name: str) -> str:
    """A client's handler gets the request too."""
    if member.kind == "client":
        return f"verdict {name}({parameters(member.args, (), ('struct request *r',))})"
    return f"int64_t {name}({parameters(member.args, member.outs)})"


def table(interface: Interface) -> str:
    """The type of the table of handlers, for whoever calls them."""
    lines = [*_head(interface), "", f"struct {interface.name}_service {{"]
    lines += ["\t/* At boot, in the order of the configuration from its end. */", "\tvoid (*start)(void);"]
    lines += ["\tvoid (*notified)(uint64_t bits);"]
    for member in interface.of("client", "call"):
        lines.append(f"\t{handler_prototype(member, f'(*{member.name})')};")
    return guarded(f"{interface.name}_table", [*lines, "};"])


def _finding(member: Member, name: str) -> list[str]:
    """A handler that gets what a descriptor stands for, and the function in the table, which finds that."""
    kind, rest = member.args[0].type, member.args[1:]
    return [
        f"verdict {name}({parameters(rest, (), ('struct request *r', f'struct {kind} *{kind}'))});",
        *function(
            f"static inline {handler_prototype(member, f'{name}_at')}",
            f"struct {kind} *{kind} = {kind}_at(r, {member.args[0].name});",
            "",
            f"return {kind} == NULL ? ANSWERED : {name}({arguments(rest, (), ('r', kind))});",
        ),
    ]


def serve(interface: Interface) -> str:
    """For the service: prototypes of its handlers, and the contents of their table."""
    name = interface.name
    lines = [f'#include "{name}_table.h"', '#include "endpoints.h"', ""]
    lines += [f"void {name}_start(void);", f"void {name}_notified(uint64_t bits);"]
    for kind in sorted({arg.type for member in interface.members for arg in member.args if arg.is_object}):
        lines += ["/* NULL: r->result says why. */", f"struct {kind} *{kind}_at(struct request *r, int32_t fd);"]
    handlers = {"start": "start", "notified": "notified"}
    for member in interface.of("client", "call"):
        own = f"{name}_{member.name}"
        handlers[member.name] = member.name
        lines += _comment(member.doc)
        if member.args and member.args[0].is_object:
            handlers[member.name] += "_at"
            lines += _finding(member, own)
        else:
            lines.append(f"{handler_prototype(member, own)};")
    lines += ["", f"#define {name.upper()}_HANDLERS \\", "\t{ \\"]
    lines += [*(f"\t\t.{each} = {name}_{handler}, \\" for each, handler in handlers.items()), "\t}", ""]
    for member in interface.of("notify"):
        lines.append(f"#define NOTIFIED_{f'{name}_{member.name}'.upper()} (1ULL << {_bit(interface, member)})")
    for member in interface.of("client"):
        lines += _outs(interface, member)
    return guarded(f"{name}_serve", lines)


def client(interface: Interface) -> str:
    """Stubs of the clients' calls, and the places of further values in the request."""
    lines = ['#include "port.h"', ""]
    for member in interface.of("client"):
        lines += [*_comment(member.doc), f"{client_prototype(interface, member)};"]
        lines += _outs(interface, member)
    return guarded(f"{interface.name}_client", lines)


def endpoints(found: tuple[Service, ...]) -> str:
    """Numbers of services, by their names; and by the interface's name if one service alone provides it."""
    lines = ["#define ENDPOINT_KERNEL 0"]
    lines += [f"#define ENDPOINT_{each.name.upper()} {each.endpoint}" for each in found]
    provided = [each.provides for each in found]
    lines += [
        f"#define ENDPOINT_{each.provides.upper()} ENDPOINT_{each.name.upper()}"
        for each in found
        if each.provides != each.name and provided.count(each.provides) == 1
    ]
    return guarded("endpoints", [*lines, f"#define ENDPOINTS {len(found) + 1}"])


def counters(interfaces: dict[str, Interface]) -> dict[str, str]:
    """File name to content: each call has the index of its counter, a name in reports, and the errors that it lists."""
    named = [(counter(i, m), f"{i.name}.{m.name}", m) for i in interfaces.values() for m in i.of("client", "call")]
    errors = "const uint16_t *const call_errors[]"
    head = ['#include "port.h"', "", "enum {", *(f"\t{name}," for name, _, _ in named), "\tCALLS", "};", ""]
    head += ["/* Those that each may answer, 0 behind; of a kernel with TRIO_CHECKED. */", f"extern {errors};"]
    names = ["static const char *const call_names[] = {", *(f'\t"{name}",' for _, name, _ in named), "};"]
    body = ['#include "calls.h"', "", "#ifdef TRIO_CHECKED", f"{errors} = {{"]
    for _, _, member in named:
        # A signal may end whatever waits.
        listed = [*member.errors, *(["EINTR"] if member.waits else []), "0"]
        body.append(f"\t(const uint16_t[]){{ {', '.join(listed)} }},")
    body += ["};", "#endif", ""]
    return {
        "calls.h": guarded("calls", head),
        "call_names.h": guarded("call_names", names),
        "calls.c": "\n".join(body),
    }


def kernel_calls(interface: Interface) -> dict[str, str]:
    """Prototypes of the functions behind the kernel's interface. A call has one name where it is made and where it is
    defined. The kernel also links stubs, which count calls, so the linker knows its functions as kernel_call_NAME."""
    calls, head = interface.of("call"), [*_head(interface), ""]
    takes = {each: f"({parameters(each.args, each.outs)})" for each in calls}
    serve = []
    for each in calls:
        serve += [*_comment(each.doc), f'int64_t kernel_{each.name}{takes[each]} __asm__("kernel_call_{each.name}");']
    stubs = [f"int64_t kernel_call_{each.name}{takes[each]};" for each in calls]
    return {
        "kernel_serve.h": guarded("kernel_serve", [*head, "/* To be defined in the kernel. */", *serve]),
        "kernel_calls.h": guarded("kernel_calls", [*head, "/* The same, as generated stubs call them. */", *stubs]),
    }


def _unpacked(member: Member) -> list[str]:
    """A call's arguments, from the words of a message."""
    return [
        f"(struct grant){{ words[{at}], words[{at + 1}] }}" if arg.is_grant else f"({arg.c})words[{at}]"
        for at, arg in member.packed
    ]


def _called(member: Member, name: str) -> list[str]:
    """Calls a function by the words of a message, which get its further values; returns its result."""
    inner = ", ".join([*_unpacked(member), *(f"&out_{out.name}" for out in member.outs)])
    if not member.outs:
        return [f"return {name}({inner});"]
    lines = [*(f"{out.c} out_{out.name} = 0;" for out in member.outs), f"int64_t result = {name}({inner});", ""]
    lines += [f"words[{at}] = (uint64_t)out_{out.name};" for at, out in enumerate(member.outs)]
    return [*lines, "return result;"]


def kernel_by_words(interface: Interface) -> str:
    """By number: the kernel's calls as a server makes them, from words to words."""
    calls, lines = interface.of("call"), ['#include "kernel_calls.h"', '#include "ipc.h"', ""]
    for member in calls:
        called = _called(member, f"kernel_call_{member.name}")
        lines += function(f"static int64_t by_words_{member.name}(uint64_t *words)", *called)
    lines.append("int64_t (*const kernel_calls_by_words[KERNEL_CALLS])(uint64_t *words) = {")
    lines += [f"\t[{member.number}] = by_words_{member.name}," for member in calls]
    grants = " | ".join(f"1UL << {each.number}" for each in calls if any(arg.is_grant for arg in each.args))
    return "\n".join([*lines, "};", f"const uint64_t kernel_calls_with_grants = {grants};", ""])


def dispatcher(interface: Interface) -> str:
    """Functions that unpack messages and call the handlers in a `struct NAME_service`."""
    name, calls, clients = interface.name, {}, {}
    for each in interface.of("call"):
        called = _called(each, f"service->{each.name}")
        calls[f"{each.number}"] = ["{", *indented(called), "}"] if each.outs else called
    for each in interface.of("client"):
        outs = [f"r->outs = {len(each.outs)};"] if each.outs else []
        clients[f"{each.number}"] = [*outs, f"return service->{each.name}({', '.join(['r', *_unpacked(each)])});"]
    lines = ['#include "message.h"', f'#include "{name}_table.h"', "", f"DISPATCHER({name});", ""]
    registers = {f"{each.number}": [_of_registers(each)] for each in interface.linux if each.is_registers}
    decodes = []
    if registers:
        lines[1:1] = ['#include "decode.h"', *(f'#include "{each}"' for each in interface.uses)]
        body = [*switch("r->call - LINUX_CALLS", registers), "(void)service;", "return refuse(r, ENOSYS);"]
        lines += _of_table(name, "static verdict", "linux", ", struct request *r, const uint64_t *a", *body)
        decodes = [
            "if (DECODED_BY_SERVICES && r->call >= LINUX_CALLS)",
            f"\treturn serve_{name}_linux(table, r, words);",
        ]
    lines += _of_table(name, "void", "start", "", "service->start();")
    lines += _of_table(name, "void", "notified", ", uint64_t bits", "service->notified(bits);")
    unused = ["(void)service;", "(void)words;"]
    body = [*switch("call", calls), *unused, "return -ENOSYS;"]
    lines += _of_table(name, "int64_t", "call", ", uint16_t call, uint64_t *words", *body)
    body = [*decodes, *switch("r->call", clients), *unused, "return refuse(r, ENOSYS);"]
    lines += _of_table(name, "verdict", "client", ", struct request *r, const uint64_t *words", *body)
    return "\n".join(lines)


def _of_registers(each: LinuxCall) -> str:
    """A system call whose service has the registers."""
    called = each.member.name if each.member else ""
    return f"return service->{called}({', '.join(('r', *each.args))});"


def _of_table(name: str, result: str, what: str, rest: str, *body: str) -> list[str]:
    """A function that gets the service as its table."""
    table = f"const struct {name}_service *service = table;"
    return function(f"{result} serve_{name}_{what}(const void *table{rest})", table, "", *body)
