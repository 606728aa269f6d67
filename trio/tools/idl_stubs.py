"""Functions in C that belong to an interface, whatever the structure: what unpacks messages; the kernel's own table."""

from __future__ import annotations

from idl_headers import guarded, parameters
from idl_parse import Argument, Interface, Member


def kernel_calls(interface: Interface) -> tuple[str, str]:
    """Prototypes of the functions behind the kernel's interface, and their table."""
    table = "const struct kernel_service kernel_service"
    head = ['#include "kernel_table.h"', "", "/* What stands behind kernel.idl, where its calls are told of. */"]
    body = ['#include "kernel_calls.h"', "", f"{table} = {{"]
    for member in interface.of("call"):
        head.append(f"int64_t kernel_call_{member.name}({parameters(member.args, member.outs)});")
        body.append(f"\t.{member.name} = kernel_call_{member.name},")
    return guarded("kernel_calls", [*head, "", f"extern {table};"]), "\n".join([*body, "};", ""])


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


def _case(member: Member) -> list[str]:
    given = [_word(arg, at, "words") for at, arg in packed(member.args)]
    if not member.outs:
        return [f"\tcase {member.number}:", f"\t\treturn service->{member.name}({', '.join(given)});"]
    outs = [f"\t\t{out.c} out_{out.name} = 0;" for out in member.outs]
    inner = ", ".join([*given, *(f"&out_{out.name}" for out in member.outs)])
    lines = [f"\tcase {member.number}: {{", *outs, f"\t\tint64_t result = service->{member.name}({inner});", ""]
    lines += [f"\t\twords[{index}] = (uint64_t)out_{out.name};" for index, out in enumerate(member.outs)]
    return [*lines, "\t\treturn result;", "\t}"]


def kernel_by_words(interface: Interface) -> str:
    """The kernel's calls as a server makes them, by their numbers: from words to words, and the result."""
    lines = ['#include "kernel_calls.h"', '#include "ipc.h"', ""]
    table = ["int64_t (*const kernel_calls_by_words[KERNEL_CALLS])(uint64_t *words) = {"]
    for member in interface.of("call"):
        given = [_word(arg, at, "words") for at, arg in packed(member.args)]
        inner = ", ".join([*given, *(f"&out_{out.name}" for out in member.outs)])
        lines += [f"static int64_t by_words_{member.name}(uint64_t *words)", "{"]
        if member.outs:
            lines += [f"\t{out.c} out_{out.name} = 0;" for out in member.outs]
            lines += [f"\tint64_t result = kernel_call_{member.name}({inner});", ""]
            lines += [f"\twords[{index}] = (uint64_t)out_{out.name};" for index, out in enumerate(member.outs)]
            lines += ["\treturn result;", "}", ""]
        else:
            lines += [f"\treturn kernel_call_{member.name}({inner});", "}", ""]
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
        lines += _case(member)
    lines += ["\t}", "\t(void)service;", "\t(void)words;", "\treturn -ENOSYS;", "}", ""]
    lines += [f"verdict serve_{interface.name}_client(const void *table, struct request *r, const uint64_t *words)"]
    lines += ["{", f"\t{name};", "", "\tswitch (r->call) {"]
    for member in interface.of("client"):
        words = [_word(arg, at, "words") for at, arg in packed(member.args)]
        lines += [f"\tcase {member.number}:", *([f"\t\tr->outs = {len(member.outs)};"] if member.outs else [])]
        lines += [f"\t\treturn service->{member.name}({', '.join(['r', *words])});"]
    lines += ["\t}", "\t(void)service;", "\t(void)words;", "\treturn refuse(r, ENOSYS);", "}", ""]
    return "\n".join(lines)
