"""The interface compiler: from interfaces/*.idl and config/services.toml to C headers, stubs and dispatchers.

    python3 idl.py OUT INTERFACES CONFIG                    what all structures have in common
    python3 idl.py OUT INTERFACES CONFIG STRUCTURE          what one of them has: config/structures, structures.py

The language, a line a member:

    [many] service NAME {            many: more than one service provides it; a call then names the endpoint first
        /// for readers
        N: client NAME(ARG: TYPE, …) [-> (OUT: TYPE, …)] [waits | gives way] [errors E…];    a program calls it
        N: call NAME(ARG: TYPE, …) [-> (OUT: TYPE, …)] [errors E…];             a service or the kernel calls it
        N: notify NAME;                                                           a bit
        enum NAME { VALUE = NUMBER, … };      a type of ARGs and OUTs below, a u32; both sides name SERVICE_NAME_VALUE
        linux N NAME = CLIENT(ARG, …) [restarts | resumes | continues] [masked(…)] [leaving] [when CONDITION]
            [unless CONDITION: ERROR];
        linux N NAME = ERROR;
        uses abi/NAME.h;                                                          what the ARGs name
    }

An ARG of a system call is C, in which a0 … a5 are its registers. A grant is aN[LENGTH], `string aN`, or `none`;
aN?[LENGTH] and `string? aN` grant nothing for a null pointer. `vector aN[aM]` is the memory of an iovec. `room aN[aM]`
is as long as aM points to; the first further value of the answer, its length, is written back there. after(aN),
after_micro(aN), at(aN) and at_calendar(aN) make a deadline of the time at aN; `leaving` writes the rest of it back.
`masked(aN, aM)` sets another signal mask, of aM bytes, for the time of the call; `masked(aN)`: aN points to both. If
several lines have one number, in whatever interfaces, the first whose `when` holds counts, else the one without.

Types: u32 i32 u64 i64, `grant read` (the callee may read it), `grant write`, `grant read write`. A message has room for
WORDS words; a grant takes two. The first argument of a client's call may be a `file` or a `socket`: a descriptor, for
which the handler gets the struct that the service's file_at() or socket_at() finds.
Written for each interface into OUT:

    NAME.h          stubs of its calls, numbers of its notifications: what those above include
    NAME_serve.h    the handlers NAME_CALL, and NAME_HANDLERS, their table: what the service itself includes
    NAME_table.h    struct NAME_service, the table's type
    NAME_enums.h    its enums, if any: the first and the third of these include it
    NAME_client.h   stubs of its client calls: what kernel/abi includes
    NAME_dispatch.c what unpacks messages
    kernel_calls.h, kernel_dispatch.c
                    the kernel's functions kernel_NAME as stubs call them, kernel_call_NAME; from words to words
    endpoints.h     numbers of services; calls.h, calls.c, call_names.h: a counter a call, and its name

and for a structure

    domain_NAME.c   of each protection domain: stubs, procedure calls within it and messages to others
    domains.h, domains.c
                    what the kernel knows of its domains: whom each may call, what messages look like
    domains.mk, images.S
                    which services each domain is linked from; programs within the kernel's file

Limits: members stand on one line each (a line may go on after `(` or `,`). Errors go to stderr as FILE:LINE: what,
exit status 1.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import domains
import idl_c
import idl_parse
import structures


def written(out: Path, folder: Path, config: Path, words: str) -> dict[Path, str]:
    """Path to content. Raises Wrong."""
    known = idl_parse.interfaces(folder)
    found = idl_parse.services(config, known)
    if words:
        made = structures.structure(config.parent / "structures", words, found)
        return {out / name: text for name, text in domains.written(made, known, found).items()}
    files = {"endpoints.h": idl_c.endpoints(found)} | idl_c.counters(known)
    for name, interface in known.items():
        files |= {f"{name}.h": idl_c.header(interface), f"{name}_serve.h": idl_c.serve(interface)}
        files |= {f"{name}_table.h": idl_c.table(interface)} | idl_c.enums(interface)
        files |= {f"{name}_client.h": idl_c.client(interface), f"{name}_dispatch.c": idl_c.dispatcher(interface)}
    files |= idl_c.kernel_calls(known["kernel"])
    files["kernel_dispatch.c"] = idl_c.kernel_by_words(known["kernel"])
    return {out / name: text for name, text in files.items()}


def main(arguments: list[str]) -> int:
    if len(arguments) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    out, folder, config = map(Path, arguments[:3])
    try:
        files = written(out, folder, config, "".join(arguments[3:]))
    except (idl_parse.Wrong, OSError, tomllib.TOMLDecodeError) as error:
        print(error, file=sys.stderr)
        return 1
    out.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        if not path.is_file() or path.read_text() != text:  # an unchanged header rebuilds nothing
            path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
