"""Generates the C of one structure: the stubs of each protection domain, which are procedure calls within the domain
and messages to others; and what the kernel has to know of its domains."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from idl_c import arguments, client_prototype, counter, function, guarded, indented, pack, stub_prototype, switch
from idl_parse import AT_ITS_END, PAGER, Interface, LinuxCall, Member, Service, Wrong
from structures import Domain, Structure

Interfaces = dict[str, Interface]
#: As message.h has them.
REGISTER_WORDS = 8
REPLY_WORDS = 5
TEXT, TEXT_BYTES = 0xFFFFFFFFFF600000, 0x80000
DATA = 0x10004000
#: With the switch scattered: text at a place of each process's own, and data behind it.
SCATTERED_TEXT = 0x400000


def written(made: Structure, known: Interfaces, found: tuple[Service, ...]) -> dict[str, str]:
    """File name to content."""
    files = {
        "domains.h": _header(made),
        "domains.c": _tables(made, known, found),
        "domains.mk": _fragment(made),
        "domain_kernel.c": _Kernel(made, known, found).text(),
        "images.S": _images(made),
    }
    return files | {f"domain_{each.name}.c": _Server(each, known, found).text() for each in made.servers}


def _header(made: Structure) -> str:
    kinds = [each.kind for each in made.servers]
    return guarded(
        "domains",
        [
            "/* Of this structure: 0 is the kernel, the others are threads or processes. */",
            f"#define DOMAINS {len(made.domains)}",
            f"#define SERVICES_IN_KERNEL {len(made.kernel.services)}",
            f"#define SERVERS {len(made.servers)}",
            f"#define THREADS {kinds.count('thread')}",
            f"#define PROCESSES {kinds.count('process')}",
        ],
    )


def _fragment(made: Structure) -> str:
    lines = [f"IN_KERNEL := {' '.join(each.sources for each in made.kernel.services)}"]
    for kind in ("thread", "process"):
        lines.append(f"{kind.upper()}_DOMAINS := {' '.join(each.name for each in made.servers if each.kind == kind)}")
    lines.append("CHOSEN := " + " ".join(f"-D{each.upper().replace('-', '_')}=1" for each in made.switches))
    lines += [f"SERVICES_{each.name} := {' '.join(one.sources for one in each.services)}" for each in made.servers]
    for each in made.servers:
        text, data = (SCATTERED_TEXT, 0) if "scattered" in made.switches else (TEXT + each.number * TEXT_BYTES, DATA)
        lines.append(f"PLACES_{each.name} := --defsym=TEXT_AT={text:#x} --defsym=DATA_AT={data:#x}")
    return "\n".join([*lines, ""])


def _images(made: Structure) -> str:
    """The programs of domains that are processes, as parts of the kernel's file: GNU assembler."""
    lines = [".section .rodata"]
    for each in made.servers:
        if each.kind == "process":
            lines += [".balign 8", f".globl image_{each.name}", f'image_{each.name}: .incbin "{each.name}.program"']
    return "\n".join([*lines, '.section .note.GNU-stack, "", @progbits', ""])


def _tables(made: Structure, known: Interfaces, found: tuple[Service, ...]) -> str:
    lines = ['#include "servers.h"', '#include "calls.h"', ""]
    for interface in known.values():
        lines += _shapes(interface)
    lines += ["const struct endpoint endpoints[ENDPOINTS] = {"]
    lines.append("\t[ENDPOINT_KERNEL] = { NULL, 0, COUNT_OF(shapes_kernel), shapes_kernel },")
    for each in found:
        number, shapes = made.domain_of(each).number, f"shapes_{each.provides}"
        server = f"&servers[{number}]" if number else "NULL"
        lines.append(f"\t[{each.symbol}] = {{ {server}, {number}, COUNT_OF({shapes}), {shapes} }},")
    lines += ["};", ""]
    for domain in made.servers:
        image, main = f"const uint8_t image_{domain.name}[]", f"_Noreturn void domain_main_{domain.name}(void)"
        lines.append(f"extern {image if domain.kind == 'process' else main};")
    lines += ["", "const struct domain domains[DOMAINS] = {"]
    for domain in made.servers:
        row = _row(domain, known, found)
        lines += [f"\t[{domain.number}] = {{", *(f"\t\t.{name} = {value}," for name, value in row.items()), "\t},"]
    return "\n".join([*lines, "};", ""])


def _row(domain: Domain, known: Interfaces, found: tuple[Service, ...]) -> dict[str, str]:
    """A row of the table of `struct domain`, by its members."""
    services = domain.services
    # All services that call one of these, or are one of these.
    above = [each for each in found if any(each is one or one.provides in each.calls for one in services)]
    ports = [f"{{ {first:#x}, {count} }}" for each in services for first, count in each.ports]
    devices = [f"{device << 16 | vendor:#x}" for each in services for vendor, device in each.devices]
    return {
        "name": f'"{domain.name}"',
        "endpoints": _bits(each.symbol for each in services),
        "calls": _bits(sorted(each.symbol for each in _callees(domain, found))),
        "has_windows": str(any(_has_windows(each) for each in services)).lower(),
        "has_bus": str(any("device_memory" in each.kernel for each in services)).lower(),
        "interrupts": f"{sum(1 << line for each in services for line in each.interrupts):#x}",
        "ports": f"{{ {', '.join(ports)} }}",
        "devices": f"{{ {', '.join(devices)} }}",
        "notifies": _bits(each.symbol for each in above),
        "kernel_calls": _numbers(known["kernel"], {name for each in services for name in each.kernel}),
        "vm_calls": _numbers(known[PAGER], {name for each in services for name in each.vm}),
        "policy": AT_ITS_END[max((each.at_its_end for each in services), key=[*AT_ITS_END].index)],
        "keeps_pages": str(any(each.keeps_pages for each in services)).lower(),
        "pages_most": _pages(services),
        "has_clients_memory": str(any(each.clients_memory for each in services)).lower(),
        **({"image": f"image_{domain.name}"} if domain.kind == "process" else {"run": f"domain_main_{domain.name}"}),
    }


def _pages(services: tuple[Service, ...]) -> str:
    each = [one.pages for one in services]
    return "UINT64_MAX" if None in each else str(sum(filter(None, each)))


def _bits(numbers: Iterable[int | str]) -> str:
    return " | ".join(f"1UL << {each}" for each in numbers) or "0"


def _has_windows(service: Service) -> bool:
    """Whether it asks vm where it can read and write a page, or is vm, which asks the kernel."""
    return service.provides == PAGER or "object_page" in service.vm


def _numbers(interface: Interface, names: set[str]) -> str:
    return _bits(sorted(each.number for each in interface.of("call") if each.name in names))


def _callees(domain: Domain, found: tuple[Service, ...]) -> list[Service]:
    """The services outside of a domain that it calls."""
    return [
        below
        for below in found
        if below not in domain.services and any(each.depends_on(below) for each in domain.services)
    ]


def _shapes(interface: Interface) -> list[str]:
    """By call number, what a message looks like."""
    before, lines = [], [f"static const struct shape shapes_{interface.name}[] = {{"]
    for member in interface.of("client", "call"):
        grants = [f"{{ {at}, {arg.rights} }}" for at, arg in member.packed if arg.is_grant]
        name = f"grants_{interface.name}_{member.name}"
        if grants:
            before.append(f"static const struct shape_grant {name}[] = {{ {', '.join(grants)}, {{ 0, 0 }} }};")
        rest = f"{member.words}, {len(member.outs)}, {name if grants else 'NULL'}"
        lines.append(f"\t[{member.number}] = {{ SHAPE_{member.kind.upper()}, {rest} }},")
    return [*before, *lines, "};"]


def _header_of(member: Member, to: str) -> str:
    """The header of a message, in C. An answer of more than REPLY_WORDS further values comes by memory."""
    client = member.kind == "client"
    outs = len(member.outs) if not client or len(member.outs) <= REPLY_WORDS else 0
    return f"HEADER({str(client).lower()}, {to}, {member.number}, {member.words}, {outs})"


def _is_plain(member: Member) -> bool:
    """Whether its message can be all of a system call: the words go in registers, and only the result comes back."""
    return not member.outs and member.words <= REGISTER_WORDS


def _stores(member: Member) -> list[str]:
    """Stores the arguments into words."""
    return [f"words[{at}] = {word};" for at, word in enumerate(pack(member.args))]


class _Domain:
    """What the stubs of the kernel's domain and those of a server's have in common."""

    def __init__(self, domain: Domain, known: Interfaces, found: tuple[Service, ...]) -> None:
        self.domain = domain
        self.known = known
        self.found = found

    def call(self, interface: Interface, member: Member) -> list[str]:
        """A stub."""
        providers = [each for each in self.found if each.provides == interface.name]
        here = [each for each in providers if each in self.domain.services]
        body = [f"count_call({counter(interface, member)});"]
        for each in here:
            body += [f"if (endpoint == {each.symbol})"] if interface.many else []
            body.append(f"return {self.procedure(member, each)};")
        if not here or here != providers:
            to = "endpoint" if interface.many else f"ENDPOINT_{interface.name.upper()}"
            body += ["{", *indented(self.message(member, to)), "}"]
        elif interface.many:
            body.append("return -ENODEV;")
        return function(stub_prototype(interface, member), *body)

    def give(self, member: Member, to: str) -> list[str]:
        """Makes entries for the grants of the kernel's own call; a server's get theirs where its call is checked."""
        lines = []
        for at, arg in member.packed:
            if arg.is_grant and self.domain.number == 0:
                lines.append(f"if (!grant_put(current, endpoints[{to}].domain, &words[{at}], {arg.rights}))")
                lines.append("\treturn grants_refused(&current->caller);")
        return lines

    def message(self, member: Member, to: str) -> list[str]:
        """The part of a stub that sends words to another domain. Raises Wrong if there are too many."""
        if member.words > REGISTER_WORDS:
            raise Wrong(f"{member.name}: a call between services has at most {REGISTER_WORDS} words")
        room = max(member.words, len(member.outs), 1)
        lines = [f"uint64_t words[{room}];", "int64_t result;", "", *_stores(member), *self.give(member, to)]
        lines.append(f"result = message_call({_header_of(member, to)}, words);")
        lines += [f"*out_{out.name} = ({out.c})words[{index}];" for index, out in enumerate(member.outs)]
        return [*lines, "return result;"]

    def procedure(self, member: Member, service: Service) -> str:
        """A call within the domain."""
        return f"{service.name}_service.{member.name}({arguments(member.args, member.outs)})"


def _linux_call(interface: Interface, each: LinuxCall, member: Member, name: str, *, by_services: bool) -> list[str]:
    """Makes a client's call of registers; `by_services`: passes the registers on, if that is possible."""
    if by_services and each.is_registers:
        # The registers lie in the order of a message's words.
        header = f"HEADER(true, ENDPOINT_{interface.name.upper()}, LINUX_CALLS + {each.number}, {each.registers}, 0)"
        sent = f"message_plain_call({header}, (uint64_t *)(uintptr_t)a)"
        count = counter(interface, member)
        body = [f"count_call({count});", f"return checked_result({count}, {sent});"]
        return function(f"static int64_t {name}(struct task *t, const uint64_t *a)", *body)
    kind = "inline" if each.room or each.masked or each.leaving or not _is_plain(member) else "plain"
    call = f"client_{interface.name}_{member.name}_{kind}({', '.join(['&t->request', *each.args])})"
    body = ["nanoseconds deadline;"] if each.time else []
    body += ["struct grant vector;"] if each.vector else []
    body += ["struct grant room;"] if each.room else []
    body += ["int64_t result;", ""] if each.time or each.vector or each.room or each.masked else []
    body += [f"if ({each.unless})", f"\treturn -{each.error};"] if each.unless else []
    before = []
    if each.vector:
        before.append(f"user_vector(t, {each.vector[0]}, {each.vector[1]}, &vector)")
    if each.room:
        before.append(f"room_of({each.room[0]}, {each.room[1]}, &room)")
        call = f"room_used(t, {each.room[0]}, {each.room[1]}, {call})"
    if each.time:
        # A timeval's parts are microseconds.
        kind, unit = each.time[0].removesuffix("_micro"), "1000" if each.time[0].endswith("_micro") else "1"
        words = [each.time[1], *([unit] if kind == "after" else []), "&deadline"]
        before.append(f"deadline_{kind}({', '.join(words)})")
    if each.masked:
        before.append(f"mask_begin{'_at' if len(each.masked) == 1 else ''}(t, {', '.join(each.masked)})")
        call = f"mask_end(t, result, {call})"
    for step in before:
        body += [f"result = {step};", "if (result < 0)", "\treturn result;"]
    if each.time and each.again == "restarts":
        # A time that has begun does not begin again.
        body += [f"if ({each.time[1]})", "\tt->system_call = -1;"]
    if each.time and each.leaving:
        left = f"deadline_left({each.time[1]}, {unit}, deadline)"
        body += [f"result = {call};", f"(void){left};", "return result;"]
    else:
        body.append(f"return {call};")
    return function(f"static int64_t {name}(struct task *t, const uint64_t *a)", *body)


#: The member `restarts` of `struct route`, by the words of the language.
_AGAIN = {"": "0", "restarts": "1", "resumes": "RESUMES", "continues": "CONTINUES"}


def _routes(known: Interfaces, decoding: set[str]) -> list[str]:
    """The routes of system calls. Of several lines of one call those with a condition come first. `decoding`:
    interfaces whose services make a call's arguments themselves."""
    calls = [(interface, each) for interface in known.values() for each in interface.linux]
    calls.sort(key=lambda found: (found[1].number, not found[1].when))
    functions, table = [], ["const struct route routes_generated[] = {"]
    for number, found in groupby(calls, key=lambda found: found[1].number):
        lines = list(found)
        name, again = lines[-1][1].name, {each.again for _, each in lines if each.member}
        if len({each.name for _, each in lines}) > 1 or len(again) > 1 or sum(not each.when for _, each in lines) != 1:
            raise Wrong(f"{name}: lines of one call have its name, begin again alike, and one has no condition")
        choice = []
        for at, (interface, each) in enumerate(lines):
            made = f"linux_{name}" + (f"_{at}" if len(lines) > 1 else "")
            if each.member:
                functions += _linux_call(interface, each, each.member, made, by_services=interface.name in decoding)
            choice += [f"if ({each.when})"] if each.when else []
            choice.append(f"return {f'{made}(t, a)' if each.member else f'-{each.error}'};")
        if len(lines) > 1 or not lines[0][1].member:
            functions += function(f"static int64_t linux_{name}(struct task *t, const uint64_t *a)", *choice)
        table.append(f'\t{{ {number}, {_AGAIN[(again or {""}).pop()]}, "{name}", linux_{name} }},')
    return [*functions, *table, "\t{ 0 },", "};", ""]


def _kernel_stub(interface: Interface, member: Member) -> list[str]:
    called = f"kernel_call_{member.name}({arguments(member.args, member.outs)})"
    return function(
        stub_prototype(interface, member), f"count_call({counter(interface, member)});", f"return {called};"
    )


class _Kernel(_Domain):
    """The kernel's own domain: the services in it, and the calls that it makes for programs."""

    def __init__(self, made: Structure, known: Interfaces, found: tuple[Service, ...]) -> None:
        super().__init__(made.kernel, known, found)
        self.locked = _locked(made, found)
        self.mixed = bool(made.servers)
        self.decoded_by_services = "decoded-by-services" in made.switches
        self.parking_counted = "parking-counted" in made.switches

    def text(self) -> str:
        services = self.domain.services
        headers = sorted({each for one in self.known.values() for each in one.uses})
        lines = ['#include "abi/abi.h"', *(f'#include "{each}"' for each in headers)]
        lines += ['#include "local.h"', '#include "kernel_calls.h"']
        lines += ['#include "ipc.h"'] if self.mixed else []
        for name in self.known:
            lines += [f'#include "{name}.h"', f'#include "{name}_table.h"', f'#include "{name}_client.h"']
        lines += ["", *(f"extern const struct {each.provides}_service {each.name}_service;" for each in services), ""]
        for interface in self.known.values():
            for member in interface.of("call"):
                if interface.name == "kernel":
                    lines += _kernel_stub(interface, member) if services else []
                else:
                    lines += self.call(interface, member)
            for member in interface.of("client"):
                lines += self.client(interface, member)
        decoding = {each.provides for each in self.found if each not in services} if self.decoded_by_services else set()
        lines += _routes(self.known, decoding)
        starts = [f"{each.name}_service.start();" for each in reversed(services)]
        lines += function("void services_start(void)", *starts)
        cases = {each.symbol: [f"{each.name}_service.notified(bits);", "break;"] for each in services}
        prototype = "void service_notified(uint32_t endpoint, uint64_t bits)"
        lines += function(prototype, *switch("endpoint", cases), "(void)bits;")
        return "\n".join([*lines, *(self.entered() if self.mixed and services else [])])

    def procedure(self, member: Member, service: Service) -> str:
        found = self.entering(service, super().procedure(member, service))
        return f"checked_result({counter(self.known[service.provides], member)}, {found})"

    def entering(self, service: Service, call: str) -> str:
        return f"ENTERED({service.symbol}, {call})" if service in self.locked else call

    def client(self, interface: Interface, member: Member) -> list[str]:
        service = next(each for each in self.found if each.provides == interface.name)
        prototype, count = client_prototype(interface, member), counter(interface, member)
        name = f"client_{interface.name}_{member.name}"
        inline = f"static inline __attribute__((always_inline)) {prototype.replace(name, f'{name}_inline')}"
        outside = function(prototype, f"return {name}_inline({arguments(member.args, (), ('r',))});")
        if service in self.domain.services:
            result = f"return checked_result({count}, r->result);"
            lines = function(inline, f"count_call({count});", *self.handled(member, service), result)
            return [*lines, f"#define {name}_plain {name}_inline", *outside]
        words = [f"uint64_t words[{member.words or 1}];", "", f"count_call({count});", *_stores(member)]
        call = f"message_call({_header_of(member, service.symbol)}, words)"
        lines = function(inline, *words, *self.give(member, service.symbol), f"return checked_result({count}, {call});")
        # If the message is all of a system call, its reply may return to the program.
        calls = ("message_call(", "message_plain_call(")
        return [*lines, *(each.replace("_inline(", "_plain(").replace(*calls) for each in lines), *outside]

    def handled(self, member: Member, service: Service) -> list[str]:
        """Runs the handler again for as long as it parks."""
        run = self.entering(service, f"{service.name}_service.{member.name}({arguments(member.args, (), ('r',))})")
        if not member.waits and not member.gives_way:
            return [f"at_once(r, {run});"]
        begin = f"request_begin(r, {member.number})" if member.waits else "request_begin_at_once(r)"
        if self.parking_counted:
            return [f"{begin};", f"COUNTED_HANDLE(r, {run});"]
        return [f"{begin};", f"while ({run} == PARKED && wait_for_answer(r))", "\tcontinue;"]

    def entered(self) -> list[str]:
        """Calls of servers to services in the kernel, by endpoint."""
        services = self.domain.services
        calls = {each: f"serve_{each.provides}_call(&{each.name}_service, call, words)" for each in services}
        cases = {each.symbol: [f"return {self.entering(each, call)};"] for each, call in calls.items()}
        call = ["uint16_t call = HEADER_CALL(header);", ""]
        body = [*call, *switch("HEADER_ENDPOINT(header) & 0xffff", cases), "return -EINVAL;"]
        lines = [f"DISPATCHER({name});" for name in sorted({each.provides for each in services})]
        return [*lines, "", *function("int64_t service_entered(uint64_t header, uint64_t *words)", *body)]


def _locked(made: Structure, found: tuple[Service, ...]) -> set[Service]:
    """Services in the kernel whose handlers may have to wait for a server: without a lock another caller could enter in
    the middle of a handler."""
    waits = {each for server in made.servers for each in server.services}
    while more := {each for each in found if any(each.depends_on(below) for below in waits)} - waits:
        waits |= more
    return waits & set(made.kernel.services)


#: The registers of a message's words, in message.h's order.
_REGISTERS = ("rdi", "rsi", "rdx", "r10", "r8", "r9", "rbx", "r12")


class _Server(_Domain):
    """A domain that is a thread or a process."""

    def message(self, member: Member, to: str) -> list[str]:
        """A process puts the words into registers itself."""
        if self.domain.kind != "process" or member.words > REGISTER_WORDS:
            return super().message(member, to)
        values = [*pack(member.args), *["0"] * (len(member.outs) - member.words)]
        lines = [f"int64_t result = (int64_t)SEND({to}, {member.number});"]
        lines += [f'register uint64_t w{at} __asm__("{_REGISTERS[at]}") = {value};' for at, value in enumerate(values)]
        outs = ['"+a"(result)', *(f'"+r"(w{at})' for at in range(len(values)))]
        lines += ["", f'__asm__ volatile("syscall" : {", ".join(outs)} : : "rcx", "r11", "memory");']
        lines += [f"*out_{out.name} = ({out.c})w{index};" for index, out in enumerate(member.outs)]
        return [*lines, "return result;"]

    def text(self) -> str:
        services = self.domain.services
        process = self.domain.kind == "process"
        allowed = {name for each in services for name in each.kernel}
        lines = ['#include "server.h"', '#include "calls.h"']
        lines += ["" if process else '#include "kernel_calls.h"']
        called = {each.provides for each in (*services, *_callees(self.domain, self.found))} | {"kernel", PAGER}
        for name in sorted(called):
            lines += [f'#include "{name}.h"', f'#include "{name}_table.h"']
        lines += ["", *(f"DISPATCHER({name});" for name in sorted({each.provides for each in services}))]
        lines += [f"extern const struct {each.provides}_service {each.name}_service;" for each in services]
        lines += ["struct counters domain_counters;", ""]
        for name in sorted(called):
            interface = self.known[name]
            for member in interface.of("call"):
                if name != "kernel":
                    lines += self.call(interface, member)
                elif member.name in allowed:
                    lines += self.call(interface, member) if process else _kernel_stub(interface, member)
        lines += ["const struct dispatcher domain_services[] = {"]
        for each in reversed(services):
            provided = each.provides
            lines.append(f"\t{{ &{each.name}_service, serve_{provided}_start, serve_{provided}_notified,")
            lines.append(f"\t  serve_{provided}_call, serve_{provided}_client, {{ 0 }} }},")
        lines += ["};", f"const unsigned domain_service_count = {len(services)};"]
        places = [f"[{each.symbol}] = {at}" for at, each in enumerate(reversed(services))]
        lines += [f"const uint8_t domain_places[ENDPOINTS] = {{ {', '.join(places)} }};"]
        clients = any(self.known[each.provides].of("client") for each in services)
        lines += [f"struct held domain_held[{'TASKS' if clients else '1'}];"]
        if not process:
            main = f"_Noreturn void domain_main_{self.domain.name}(void)"
            lines += [f"{main};", *function(main, "serve();")]
        return "\n".join([*lines, ""])
