"""Machines with a hostile service (hostile_service/): the kernel's build, its orders, a boot with the witness."""

from __future__ import annotations

import shutil
import struct
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import idl_parse
from kernometer.cache import compiled
from kernometer.guests.inside import programs
from kernometer.guests.kernels.trio import file_name
from tests.support.checkout import alone
from tests.support.trio import minixfs
from tests.support.trio.boot import DEBUG_EXIT, Inside, Kernel, Machine, Outcome, boot, initramfs
from tests.support.trio.variants import continued

HERE = Path(__file__).parent
FOLDER = HERE / "hostile_service"
MARK = b"HOSTILE ORDERS:\0"
BLOCKS = 256
MEMORY_MIB = 128
REFUSED, RANDOM, FATAL, LIES = range(4)


@dataclass(frozen=True)
class Orders:
    """What the hostile service is to do once the witness has told it to; hostile.h."""

    kind: int
    which: str = ""
    seed: int = 0
    count: int = 0
    kernel: int = 0
    by_notification: bool = False

    @property
    def packed(self) -> bytes:
        which = self.which.encode()
        words = (self.kind, which, self.seed, self.count, self.kernel, self.by_notification)
        return MARK + struct.pack("<Q24sQQQQ", *words)


@dataclass(frozen=True)
class Seen:
    """How it ended: what the witness saw by round and doing, what the hostile service said."""

    ended: Outcome
    rounds: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    attacks: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_alive(self) -> bool:
        """The kernel is: the witness came to its end, and ended the machine itself."""
        return self.ended.bulk.endswith(b"end\n") and self.ended.qemu_status == 1

    @property
    def made(self) -> int:
        """Of random messages, the last number that the service said."""
        return int(self.attacks.get("made", "0"))

    @classmethod
    def of(cls, ended: Outcome) -> Seen:
        rounds: dict[str, dict[str, str]] = {}
        for line in ended.bulk.decode(errors="replace").splitlines():
            head, _, outcome = line.partition(": ")
            which, _, name = head.partition(" ")
            rounds.setdefault(which, {})[name] = outcome
        attacks = {}
        for line in ended.console.decode(errors="replace").replace("\r", "").splitlines():
            _, found, rest = line.partition("hostile: ")
            if found:
                name, _, outcome = rest.rpartition(": ")
                attacks[name] = outcome
        return cls(ended, rounds, attacks)


def is_in(service: str, domain: str) -> bool:
    """A domain has the names of its services, or is that of all."""
    return domain == "server" or f"_{service}_" in f"_{domain}_"


def masks(sources: Path) -> dict[str, int]:
    """By service, a bit for each call of the kernel's that it may make."""
    numbers = {each.name: each.number for each in idl_parse.parse(sources / "interfaces/kernel.idl").members}
    known = idl_parse.services(sources / "config/services.toml", idl_parse.interfaces(sources / "interfaces"))
    return {each.name: sum(1 << numbers[call] for call in each.kernel) for each in known}


def mask(by_service: Mapping[str, int], domain: str) -> int:
    together = 0
    for name, bits in by_service.items():
        together |= bits if is_in(name, domain) else 0
    return together


def built(sources: Path, to: Path, structure: str, domain: str) -> Path:
    """A kernel in `to` whose `domain` is hostile; what is the same for all of them is compiled once."""
    hostile, made = (f"HOSTILE={domain}", f"HOSTILE_FOLDER={FOLDER}"), to / f"{domain}-{file_name(structure)}"
    with alone("hostile"):  # the next to build there
        shutil.copy(continued(sources, structure, *hostile) / file_name(structure), made)
    return made


def ordered(kernel: Path, orders: Orders, to: Path) -> Kernel:
    content = bytearray(kernel.read_bytes())
    at = content.index(MARK)
    content[at : at + len(orders.packed)] = orders.packed
    to.write_bytes(content)
    return Kernel.trio(to)


def witness(*, rests: bool) -> Inside:
    """The witness alone, and a disk for it. `rests`: it sleeps a second once the hostile service was told."""
    source = HERE / "witness.c"
    program = compiled("witness", programs.static_compiler(), (source,)).read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder, "image")
        minixfs.make(image, BLOCKS)
        files = {"disk.image": image.read_bytes()} | ({"rests": b""} if rests else {})
        return initramfs((), files, init=program)


def run(kernel: Kernel, seconds: float = 120.0, *, rests: bool = False, path: bool = False) -> Seen:
    """`path`: what the witness has patience for is as many instructions on a busy host. `rests`: by path, so is its
    second."""
    machine = Machine(path=path or rests, memory_mib=MEMORY_MIB, more=DEBUG_EXIT, display="bochs-drm")
    return Seen.of(boot(kernel, witness(rests=rests), machine, seconds=seconds))


#: What they do to programs is their right, up to the end of the first process.
MASTERS = ("pm", "vm", "vfs")


def findings(seen: Seen, service: str) -> list[str]:
    """What is wrong after random messages of this service's, a line each."""
    lines = str(seen.ended).splitlines()
    found = [line for line in lines if "Kernel panic" in line or "in the kernel" in line]
    if found or any(is_in(each, service) for each in MASTERS):
        return found
    if not seen.is_alive:
        return ["the witness did not come to its end"]
    words = {(which, name): word for which in ("between", "after") for name, word in seen.rounds[which].items()}
    return [f"{which} {name}: {word}" for (which, name), word in words.items() if word in ("WRONG", "hung for good")]
