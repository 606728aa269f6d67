"""Functions in C that belong to an interface, whatever the structure: what unpacks messages; the kernel's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from idl_headers import function, guarded, indented, parameters
from idl_parse import Argument, Interface, Member


def kernel_calls(interface: Interface) -> str:
    """Prototypes of the functions behind the kernel's interface."""
    lines = ['#include "port.h"', "", "/* What stands behind kernel.idl, where its calls are told of. */"]
    for member in interface.of("call"):
        lines.append(f"int64_t kernel_call_{member.name}({parameters(member.args, member.outs)});")
    return guarded("kernel_calls", lines)


def packed(args: tuple[Argument, ...]) -> list[tuple[int, Argument]]:
    """Each argument with the first word that it has in a message."""
    at, found = 0, []
    for arg in args:
        found.append((at, arg))
        at += arg.words
    return found


def pack(args: tuple[Argument, ...]) -> list[str]:
    """What each word of a message is, in C."""
    words = []
    for arg in args:
        words += [f"{arg.name}.id", f"{arg.name}.length"] if arg.is_grant else [f"(uint64_t){arg.name}"]
    return words


def switch(value: str, cases: Mapping[str, Iterable[str]]) -> list[str]:
    """In C."""
    labelled = (line for label, body in cases.items() for line in (f"case {label}:", *indented(body)))
    return [f"switch ({value}) {{", *labelled, "}"]


def _unpacked(member: Member) -> list[str]:
    """Its arguments, from the words of a message."""
    return [
        f"(struct grant){{ words[{at}], words[{at + 1}] }}" if arg.is_grant else f"({arg.c})words[{at}]"
        for at, arg in packed(member.args)
    ]


def _called(member: Member, name: str) -> list[str]:
    """From words to words, and the result."""
    inner = ", ".join([*_unpacked(member), *(f"&out_{out.name}" for out in member.outs)])
    if not member.outs:
        return [f"return {name}({inner});"]
    lines = [*(f"{out.c} out_{out.name} = 0;" for out in member.outs), f"int64_t result = {name}({inner});", ""]
    lines += [f"words[{at}] = (uint64_t)out_{out.name};" for at, out in enumerate(member.outs)]
    return [*lines, "return result;"]


def kernel_by_words(interface: Interface) -> str:
    """The kernel's calls as a server makes them, by their numbers."""
    calls, lines = interface.of("call"), ['#include "kernel_calls.h"', '#include "ipc.h"', ""]
    for member in calls:
        called = _called(member, f"kernel_call_{member.name}")
        lines += function(f"static int64_t by_words_{member.name}(uint64_t *words)", *called)
    lines.append("int64_t (*const kernel_calls_by_words[KERNEL_CALLS])(uint64_t *words) = {")
    lines += [f"\t[{member.number}] = by_words_{member.name}," for member in calls]
    grants = " | ".join(f"1UL << {each.number}" for each in calls if any(arg.is_grant for arg in each.args))
    return "\n".join([*lines, "};", f"const uint64_t kernel_calls_with_grants = {grants};", ""])


def dispatcher(interface: Interface) -> str:
    """What unpacks messages and calls the handlers of `struct NAME_service`."""
    name, calls, clients = interface.name, {}, {}
    for each in interface.of("call"):
        called = _called(each, f"service->{each.name}")
        calls[f"{each.number}"] = ["{", *indented(called), "}"] if each.outs else called
    for each in interface.of("client"):
        outs = [f"r->outs = {len(each.outs)};"] if each.outs else []
        clients[f"{each.number}"] = [*outs, f"return service->{each.name}({', '.join(['r', *_unpacked(each)])});"]
    lines = ['#include "message.h"', f'#include "{name}_table.h"', "", f"DISPATCHER({name});", ""]
    lines += _of_table(name, "void", "start", "", "service->start();")
    lines += _of_table(name, "void", "notified", ", uint64_t bits", "service->notified(bits);")
    unused = ["(void)service;", "(void)words;"]
    body = [*switch("call", calls), *unused, "return -ENOSYS;"]
    lines += _of_table(name, "int64_t", "call", ", uint16_t call, uint64_t *words", *body)
    body = [*switch("r->call", clients), *unused, "return refuse(r, ENOSYS);"]
    lines += _of_table(name, "verdict", "client", ", struct request *r, const uint64_t *words", *body)
    return "\n".join(lines)


def _of_table(name: str, result: str, what: str, rest: str, *body: str) -> list[str]:
    """A function of a service that is told by its table."""
    table = f"const struct {name}_service *service = table;"
    return function(f"{result} serve_{name}_{what}(const void *table{rest})", table, "", *body)
