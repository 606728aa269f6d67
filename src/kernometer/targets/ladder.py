"""`guest check`: what a guest's kernel does, rung by rung, from its boot to a row in a guest that was saved."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kernometer.cache import compiled
from kernometer.errors import BuildError, TargetError
from kernometer.guests import store
from kernometer.guests.emulator.process import end_of, started
from kernometer.guests.emulator.qemu import argv
from kernometer.guests.inside import programs
from kernometer.processes import scratch
from kernometer.targets import booting
from kernometer.targets.base import Deadline
from kernometer.targets.booting import BULK, CONSOLE, MuteError, Watch, explained
from kernometer.targets.guest_runs import BOOT_SECONDS
from kernometer.targets.qemu import QemuTarget
from kernometer.targets.stream import LAST_OUTPUT, shown

#: The program in the guest (ladder.c), and its rungs with what to try where one fails.
PROGRAM = "bin/ladder"
INSIDE = {
    "mounts": "Rows that need it are unsupported. Give an --init that mounts it, or build it into the kernel.",
    "fork": "The probe starts each run as a process of its own: nothing can be measured without fork.",
    "wait": "The probe waits for each run, sometimes without blocking: nothing can be measured without it.",
    "clock": "Times are wrong; rows by path are counted all the same.",
}
NO_INIT = "Is an init= or rdinit= missing in --append? Another first process: --init."
#: From the last rung to the machine's end, after which it is not waited for.
OFF_SECONDS = 20.0
LOOK_SECONDS = 0.1
_ENDED = b"#init exit "
_EXIT = re.compile(r"#init exit (-?\d+) signal (\d+)")
_LACKS = re.compile(r"#init lacks (.*)")
_RUNG = re.compile(r"#rung (\w+)(?: (ok|failed) ?(.*))?")


@dataclass(frozen=True, slots=True)
class Rung:
    """`failure` is "" where it holds, or was not tried; `remark`: what is to be known all the same."""

    name: str
    failure: str = ""
    step: str = ""
    last_output: str = ""
    remark: str = ""
    tried: bool = True


def climb(target: QemuTarget) -> Iterator[Rung]:
    """The rungs, from below, as they are tried; those above one that nothing is possible without are left out. Raises
    MissingError or BuildError if a program cannot be made."""
    target.guest.check()
    if target.guest.has_init:
        held = True
        for rung in _inside(target):
            held &= not rung.failure or rung.name in ("mounts", "clock", "console", "power-off")
            yield rung
        if not held:
            return
    for name, attempt in (("ready", target.save), ("saved", replace(target, saved=True).try_saved)):
        if target.unsavable:
            yield Rung(name, remark=f"{target.unsavable}; each row boots a guest", tried=False)
            continue
        try:
            attempt()
        except BuildError:
            raise
        except TargetError as error:
            yield Rung(name, error.text, error.next_step, error.last_output)
            return
        yield Rung(name)


def _inside(target: QemuTarget) -> Iterator[Rung]:
    """What ladder.c finds in a booted guest."""
    guest, name = target.guest, target.name
    source = Path(programs.__file__).parent / "ladder.c"
    flags = (*programs.static_compiler(guest.architecture), "-std=gnu99")
    program = compiled("ladder", flags, (source,)).read_bytes()
    archive = booting.initrd("probe", {PROGRAM: program}, guest, (f"/{PROGRAM}",))
    with scratch("kernometer-qemu-") as folder:
        booting.lay_out(guest, folder, archive)
        off, error = False, TargetError(f"{name} ended too early.")
        try:
            off = _booted(argv(replace(target.boot("path"), plugin=None, events=None)), folder, name)
        except TargetError as failed:
            error = failed
        error = explained(error, folder, name)
        console, bulk = (shown(end_of(folder / each, LAST_OUTPUT)) for each in (CONSOLE, BULK))
    rungs = {rung[1]: rung for rung in _RUNG.finditer(f"{bulk}\n{console}")}
    if not console.strip() and not bulk.strip():
        yield Rung("boots", error.text, error.next_step, error.last_output)
        return
    yield Rung("boots")
    why = "" if rungs else _not_tried(guest, f"{bulk}\n{console}")
    if not rungs and not why:
        step = error.next_step if isinstance(error, MuteError) else NO_INIT
        yield Rung("init", error.text, step, error.last_output)
        return
    yield Rung("init", remark="; ".join(f"it lacks {each}" for each in _LACKS.findall(f"{bulk}\n{console}")))
    for each, step in INSIDE.items():
        rung = rungs.get(each)
        if why:
            yield Rung(each, remark=why, tried=False)
            continue
        if rung is None or not rung[2]:
            yield Rung(each, error.text, step, error.last_output)
            return
        yield Rung(each, rung[3] if rung[2] == "failed" else "", step)
    is_bulk = guest.manifest.output == "debug-port"
    if (_EXIT if why else _RUNG).search(bulk if is_bulk else console):
        yield Rung("console")
    else:
        other = "serial" if is_bulk else "debug-port"
        yield Rung("console", "The probe's lines come elsewhere.", f"Add the guest again with --output {other}.")
    yield Rung("power-off", remark="" if off else "it stays on, which costs nothing: QEMU is ended")


def _not_tried(guest: store.Guest, output: str) -> str:
    """Why the program told nothing, if its end is no fault of the guest's: a system whose probe is the user's own runs
    none of our programs. "" otherwise."""
    ended = _EXIT.search(output)
    if ended is None or guest.own(store.OWN_PROBE) is None:
        return ""
    how = f"signal {ended[2]}" if ended[2] != "0" else f"status {ended[1]}"
    return f"the program for it ended by {how} there; the probe is the system's own"


def _booted(words: tuple[str, ...], folder: Path, name: str) -> bool:
    """Boots until the machine is off, or should be; returns whether it is. Raises TargetError if it is given up."""
    watch, until, off = Watch(folder, name), Deadline.after(BOOT_SECONDS), None
    with started(words, folder) as process:
        while process.poll() is None and not (off and off.passed):
            if off is None and any(_ENDED in end_of(folder / each, LAST_OUTPUT) for each in (CONSOLE, BULK)):
                off = Deadline.after(OFF_SECONDS)
            if until.passed:
                raise TargetError(f"{name} was not done when its time was up.")
            watch.size()
            watch.panic()
            if off is None:
                watch.silence(process.pid)
            time.sleep(LOOK_SECONDS)
        return process.poll() is not None
