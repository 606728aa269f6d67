"""Functions in C: stubs and dispatchers, as calls of procedures and as messages; what puts the services together."""

from __future__ import annotations

from idl_headers import arguments, client_prototype, counter, guarded, parameters, stub_prototype
from idl_parse import Argument, Interface, Member, Service


def _provider(member: Member, of: str, first: tuple[str, ...] = ()) -> str:
    return f"{of}.{member.name}({arguments(member.args, member.outs, (f'{of}.self', *first))})"


def _checked(interface: Interface, member: Member, of: str) -> str:
    return f"checked_result({counter(interface, member)}, {_provider(member, of)})"


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
            lines += [stub_prototype(interface, member), "{", f"\tcount_call({counter(interface, member)});"]
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
            values = arguments(member.args, (), (f"{of}.self", "r"))
            lines += [client_prototype(interface, member), "{", f"\tcount_call({counter(interface, member)});"]
            if member.waits or member.gives_way:
                begin = f"request_begin(r, {member.number})" if member.waits else "request_begin_at_once(r)"
                lines.append(f"\t{begin};")
                lines.append(f"\twhile ({of}.{member.name}({values}) == PARKED && wait_for_answer(r))")
                lines.append("\t\tcontinue;")
            else:
                lines.append(f"\tat_once(r, {of}.{member.name}({values}));")
            lines += [f"\treturn checked_result({counter(interface, member)}, r->result);", "}", ""]
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
        head.append(f"int64_t kernel_call_{member.name}({parameters(member.args, member.outs, own)});")
        body.append(f"\t.{member.name} = kernel_call_{member.name},")
    return guarded("kernel_calls", [*head, "", f"extern {table};"]), "\n".join([*body, "};", ""])


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
        lines += [stub_prototype(interface, member), "{", f"\tstruct message m = {{ .call = {member.number} }};", ""]
        lines += [*_pack(member.args), f"\tmessage_call({to}, &m);"]
        lines += [f"\t*out_{out.name} = ({out.c})m.words[{index}];" for index, out in enumerate(member.outs)]
        lines += ["\treturn m.result;", "}", ""]
    return "\n".join(lines)


def client_stubs(interface: Interface) -> str:
    """Stubs of the clients' calls that pack a message, for kernel/abi."""
    lines = ['#include "messages.h"', f'#include "{interface.name}_client.h"', '#include "endpoints.h"', ""]
    for member in interface.of("client"):
        lines += [client_prototype(interface, member), "{", f"\tstruct message m = {{ .call = {member.number} }};", ""]
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
        lines += [stub_prototype(kernel, member), "{"]
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
