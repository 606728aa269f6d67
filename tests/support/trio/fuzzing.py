"""The fuzzer (trio/user/fuzz) on Trio: boots it, and says what it found: a panic, a machine that hangs, a page that is
lost, a sequence that was broken, a complaint of a kernel that checks itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path

from kernometer import source_folder
from kernometer.guests.kernels import trio
from tests.support.trio.boot import Kernel, Machine, Outcome, boot, initramfs
from tests.support.trio.user_programs import PROGRAMS
from tests.support.trio.variants import variant

#: The fuzzer says something each second of the guest's, but for one long call: a machine that says nothing for so long
#: hangs, however busy the host is.
SILENCE_SECONDS = 120.0
#: How a line of the console begins with what was found.
PANIC, BROKEN, COMPLAINT = "Kernel panic", "fuzz: broken: ", "checked: "


@dataclass(frozen=True)
class Report:
    """What the fuzzer counted."""

    figures: Mapping[str, int]  #: calls, processes, stuck; or sequences, broken
    errors: Mapping[str, int]  #: calls by errno, as "22 Invalid argument"
    signals: Mapping[str, int]  #: processes by the signal that ended them

    @classmethod
    def read(cls, text: str) -> Report:
        """Of its standard output: lines of a name and a number, of `errno N COUNT WORDS`, and of `signal N COUNT`."""
        tables: dict[str, dict[str, int]] = {"": {}, "errno": {}, "signal": {}}
        for line in text.splitlines():
            name, _, rest = line.partition(" ")
            if name in ("errno", "signal"):
                number, count, *words = rest.split()
                tables[name][" ".join((number, *words))] = int(count)
            elif rest.split()[:1] and rest.split()[0].isdigit():
                tables[""][name] = int(rest.split()[0])
        return cls(tables[""], tables["errno"], tables["signal"])


def checked_kernel(structure: str = "mono") -> Kernel:
    """A kernel that checks itself. Its shares are small, so that nearly every call gives way."""
    switches = "SWITCHES=-DTRIO_CHECKED -DSHARE_PAGES=3 -DSHARE_BYTES=700UL"
    return Kernel.trio(variant(source_folder("trio"), structure, switches) / trio.file_name(structure))


def run(kernel: Kernel, programs: Path, *command: str, seconds: float, silence: float = SILENCE_SECONDS) -> Outcome:
    files = {f"bin/{each}": (programs / each).read_bytes() for each in PROGRAMS}
    return boot(kernel, initramfs(command, files), Machine(), seconds=seconds, silence=silence)


def calls(seed: int, count: int, processes: int = 8) -> tuple[str, ...]:
    """The command for random calls."""
    return ("fuzz", "--seed", str(seed), "--calls", str(count), "--processes", str(processes), "--beat")


def sequences(seed: int, count: int) -> tuple[str, ...]:
    """The command for sequences."""
    return ("fuzz", "--seed", str(seed), "--sequences", str(count), "--log")


def findings(ended: Outcome) -> list[str]:
    """What is wrong, a line each; none where all is well. Of a machine that hangs: the last word that it said."""
    lines = ended.console.decode(errors="replace").replace("\r", "").splitlines()
    found = [line for line in lines if BROKEN in line or COMPLAINT in line]
    if panic := list(dropwhile(lambda line: PANIC not in line, lines)):
        found.append(" ".join(panic))
    elif ended.qemu_status is None:
        found.append(f"the machine hangs, or is too slow; the last that it said: {lines[-1] if lines else 'nothing'}")
    elif not found and (ended.status != 0 or ended.qemu_status != 0):
        found.append(str(ended))
    return found
