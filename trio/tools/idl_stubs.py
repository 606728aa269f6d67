"""Functions in C that belong to an interface, whatever the structure: what unpacks messages; the kernel's own."""

from __future__ import annotations

from idl_headers import guarded, parameters
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


def _word(arg: Argument, at: int, source: str) -> str:
    if arg.is_grant:
        return f"(struct grant){{ {source}[{at}], {source}[{at + 1}] }}"
    return f"({arg.c}){source}[{at}]"


def _called(member: Member, function: str) -> list[str]:
    """From words to words, and the result."""
    given = [_word(arg, at, "words") for at, arg in packed(member.args)]
    inner = ", ".join([*given, *(f"&out_{out.name}" for out in member.outs)])
    if not member.outs:
        return [f"return {function}({inner});"]
    lines = [*(f"{out.c} out_{out.name} = 0;" for out in member.outs), f"int64_t result = {function}({inner});", ""]
    return [
        *lines,
        *(f"words[{at}] = (uint64_t)out_{out.name};" for at, out in enumerate(member.outs)),
        "return result;",
    ]


def kernel_by_words(interface: Interface) -> str:
    """The kernel's calls as a server makes them, by their numbers."""
    lines = ['#include "kernel_calls.h"', '#include "ipc.h"', ""]
    table = ["int64_t (*const kernel_calls_by_words[KERNEL_CALLS])(uint64_t *words) = {"]
    for member in interface.of("call"):
        lines += [f"static int64_t by_words_{member.name}(uint64_t *words)", "{"]
        lines += [*(f"\t{line}" for line in _called(member, f"kernel_call_{member.name}")), "}", ""]
        table.append(f"\t[{member.number}] = by_words_{member.name},")
    grants = " | ".join(f"1UL << {each.number}" for each in interface.of("call") if any(a.is_grant for a in each.args))
    return "\n".join([*lines, *table, "};", f"const uint64_t kernel_calls_with_grants = {grants};", ""])


def dispatcher(interface: Interface) -> str:
    """What unpacks messages and calls the handlers of `struct NAME_service`."""
    lines = ['#include "message.h"', f'#include "{interface.name}_table.h"', ""]
    lines += [f"DISPATCHER({interface.name});", ""]
    name = f"const struct {interface.name}_service *service = table"
    lines += [f"void serve_{interface.name}_start(const void *table)", "{", f"\t{name};", ""]
    lines += ["\tservice->start();", "}", ""]
    lines += [f"void serve_{interface.name}_notified(const void *table, uint64_t bits)", "{", f"\t{name};", ""]
    lines += ["\tservice->notified(bits);", "}", ""]
    lines += [f"int64_t serve_{interface.name}_call(const void *table, uint16_t call, uint64_t *words)", "{"]
    lines += [f"\t{name};", "", "\tswitch (call) {"]
    for member in interface.of("call"):
        called = [f"\t\t{line}" for line in _called(member, f"service->{member.name}")]
        lines += (
            [f"\tcase {member.number}: {{", *called, "\t}"] if member.outs else [f"\tcase {member.number}:", *called]
        )
    lines += ["\t}", "\t(void)service;", "\t(void)words;", "\treturn -ENOSYS;", "}", ""]
    lines += [f"verdict serve_{interface.name}_client(const void *table, struct request *r, const uint64_t *words)"]
    lines += ["{", f"\t{name};", "", "\tswitch (r->call) {"]
    for member in interface.of("client"):
        words = [_word(arg, at, "words") for at, arg in packed(member.args)]
        lines += [f"\tcase {member.number}:", *([f"\t\tr->outs = {len(member.outs)};"] if member.outs else [])]
        lines += [f"\t\treturn service->{member.name}({', '.join(['r', *words])});"]
    lines += ["\t}", "\t(void)service;", "\t(void)words;", "\treturn refuse(r, ENOSYS);", "}", ""]
    return "\n".join(lines)
