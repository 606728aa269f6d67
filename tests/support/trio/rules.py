"""What Trio's sources promise of its structure, read from the sources and from what was compiled of them.

A service sees the seam's port, the interfaces that trio/config lets it call, and Linux's numbers; no kernel header,
nothing of another service. Which structure a kernel has may be asked in few places, KNOW_THE_STRUCTURE.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import idl_parse
from idl_parse import Interface, Service

#: What C has without a library.
FREESTANDING = frozenset({"stdarg.h", "stdbool.h", "stddef.h", "stdint.h", "limits.h"})
#: What gcc calls or names by itself, beside the port's memcpy and its like.
COMPILERS_OWN = frozenset({"__stack_chk_fail", "__stack_chk_guard", "_GLOBAL_OFFSET_TABLE_"})
#: What a service sees of seam/: the world, how text is put together, trees, what the kernel tells in numbers, and the
#: experiment's switches.
PORT = ("port.h", "text.h", "tree.h", "numbers.h", "switches.h")
#: Where it may be asked which structure this is: also where a freed frame ends windows on it, a device's memory is
#: mapped for a process, what servers count is told, and where the processor enters the kernel: a server's trap has a
#: shorter way, of which mono's system calls must not have an instruction.
KNOW_THE_STRUCTURE = (
    *("seam", "kernel/abi"),
    *("kernel/core/frames.h", "kernel/core/device_calls.c", "kernel/core/task_calls.c", "kernel/x86/entry.S"),
)

_INCLUDE = re.compile(r'^[ \t]*#\s*include\s*(?:"([^"]+)"|<([^>]+)>|(\S+))', re.MULTILINE)
#: A condition of the preprocessor; and the words of the generated domains.h, for conditions in C.
_ASKS = re.compile(
    r"^[ \t]*#\s*(?:if|ifdef|ifndef|elif)\b.*\b\w*(?:STRUCTURE|MONO|HYBRID|MICRO).*"
    r"|^.*\b(?:DOMAINS|SERVERS|PROCESSES|SERVICES_IN_KERNEL|PRESENT_DOMAIN|domains\.h)\b.*",
    re.MULTILINE,
)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_COPIES = re.compile(r"\bcopy_(?:in|out|zeros|string)\b")
_CALLED = re.compile(r"\b([a-z_]\w*)\(")


def interfaces(root: Path) -> dict[str, Interface]:
    """By name; `root` is the folder trio/."""
    return idl_parse.interfaces(root / "interfaces")


def services(root: Path) -> tuple[Service, ...]:
    """Those of the configuration."""
    return idl_parse.services(root / "config" / "services.toml", interfaces(root))


def c_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in {".c", ".h", ".S"})


def without_comments(text: str) -> str:
    """Lines stay where they are."""
    return _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)


def includes(text: str) -> Iterator[tuple[int, str, bool]]:
    """Line, name, and whether it is in angle brackets."""
    plain = without_comments(text)
    for found in _INCLUDE.finditer(plain):
        yield (
            plain.count("\n", 0, found.start(1 if found[1] else 2 if found[2] else 3)) + 1,
            *((found[1], False) if found[1] else (found[2] or found[3], True)),
        )


def foreign_includes(root: Path) -> Iterator[str]:
    """Includes in services and drivers of what is not theirs to see, as FILE:LINE: what."""
    found = services(root)
    for service in found:
        folder = root / service.sources
        allowed = {*PORT, "endpoints.h", "call_names.h", f"{service.provides}_serve.h"}
        # Who provides what it calls itself has names of its own for its handlers.
        allowed |= {f"{service.provides}_table.h"} if service.provides in service.calls else set()
        allowed |= {f"{name}.h" for name in service.calls} | ({"kernel.h"} if service.kernel else set())
        allowed |= {f"{above.provides}.h" for above in found if service.provides in above.calls}  # to notify
        abi = {f"abi/{path.name}" for path in (root / "interfaces" / "abi").glob("*.h")}
        for path in c_files(folder):
            for line, name, angles in includes(path.read_text()):
                own = not angles and ".." not in name and (folder / name).is_file()
                # A library's headers, where the service says which parts of it there are.
                lwip = name.startswith("lwip/") and (folder / "lwip" / "lwipopts.h").is_file()
                if not own and not lwip and name not in (FREESTANDING if angles else allowed | abi):
                    yield f"{path.relative_to(root)}:{line}: includes {name}"


def shadowed_headers(root: Path, generated: Iterable[str]) -> Iterator[str]:
    """Headers of one name in folders that one file includes from without a path: the seam, what is generated, and the
    roots of services."""
    beside = {path.name for path in (root / "seam").glob("*.h")}
    for name in sorted(beside.intersection(generated)):
        yield f"seam/{name}"
    beside.update(generated)
    for service in services(root):
        for path in sorted((root / service.sources).glob("*.h")):
            if path.name in beside:
                yield path.relative_to(root).as_posix()


def in_no_service(root: Path) -> Iterator[str]:
    """Files below services/ and drivers/ that belong to no service of the configuration: no rule would see them."""
    folders = [root / service.sources for service in services(root)]
    for path in (*c_files(root / "services"), *c_files(root / "drivers")):
        if not any(path.is_relative_to(folder) for folder in folders):
            yield str(path.relative_to(root))


def ask_the_structure(root: Path) -> Iterator[str]:
    """Conditions on the structure outside of the folders that may know it, and of what is built here, which is made for
    one."""
    for path in c_files(root):
        place = path.relative_to(root)
        if not any(place.is_relative_to(folder) for folder in (*KNOW_THE_STRUCTURE, "user", "build")):
            text = without_comments(path.read_text())
            for found in _ASKS.finditer(text):
                line = text.count("\n", 0, found.start()) + 1
                # a header's own guard asks nothing
                if not found[0].split()[-1].endswith("_H"):
                    yield f"{place}:{line}: {found[0].strip()}"


def copies_of_vm(root: Path) -> Iterator[str]:
    """Copies by the memory service, which every copy of a client's memory depends on: it would ask itself for a page.
    Its reports go to another service's own memory."""
    for path in c_files(root / "services" / "vm"):
        text = without_comments(path.read_text())
        for found in _COPIES.finditer(text):
            if path.name != "report.c":
                line = text.count("\n", 0, found.start()) + 1
                yield f"{path.relative_to(root)}:{line}: {found[0]}"


def port_functions(root: Path) -> frozenset[str]:
    """Those of what a service sees of the seam."""
    texts = (without_comments((root / "seam" / name).read_text()) for name in PORT)
    return frozenset(name for text in texts for name in _CALLED.findall(text))


def calls_of(root: Path, interface: str) -> frozenset[str]:
    """Names of the calls that services make, without the interface's."""
    members = interfaces(root)[interface].of("call")
    return frozenset(member.name for member in members)


def allowed_symbols(root: Path, service: Service) -> frozenset[str]:
    """What its objects may leave to others: of the kernel and the memory service only the calls that it has by name."""
    calls = {interface: calls_of(root, interface) for interface in service.calls}
    calls |= {"kernel": frozenset(service.kernel)}
    calls |= {idl_parse.PAGER: frozenset(service.vm)} if idl_parse.PAGER in calls else {}
    return port_functions(root) | COMPILERS_OWN | {f"{name}_{call}" for name, found in calls.items() for call in found}


def undefined(objects: Iterable[Path]) -> frozenset[str]:
    """Symbols that these objects together leave undefined."""
    found = _symbols(objects)
    return frozenset(name for name, kinds in found.items() if not kinds - set("Uvw"))


def shown(objects: Iterable[Path]) -> frozenset[str]:
    """Symbols that other objects can see."""
    return frozenset(name for name, kinds in _symbols(objects).items() if any(kind.isupper() for kind in kinds - {"U"}))


def _symbols(objects: Iterable[Path]) -> dict[str, set[str]]:
    """Name to the letters that nm gives for it."""
    words = ("nm", "--format=posix", *map(str, objects))
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    found: dict[str, set[str]] = {}
    for line in done.stdout.splitlines():
        parts = line.split()
        if len(parts) >= 2 and len(parts[1]) == 1:
            found.setdefault(parts[0], set()).add(parts[1])
    return found
