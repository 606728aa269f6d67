"""A system on a disk as a guest: typing at its console brings it to a waiting probe, where it is saved."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from kernometer.errors import UsageError
from kernometer.guests import store
from kernometer.guests.emulator.process import talking
from kernometer.guests.kernels import linux
from kernometer.guests.variant import Variant, parse
from kernometer.targets.base import Deadline
from kernometer.targets.consoles import description, images
from kernometer.targets.consoles.description import Description
from kernometer.targets.saved import saving
from kernometer.targets.saved.wire import Debugger, Monitor

#: The debugger's socket in QEMU's directory.
DEBUGGER = "gdb"


def add(name: str, system: str, what: str, wanted: Variant) -> store.Guest:
    """Stores a system as a guest; `name` "": its description's. `what` is the path of a disk's image, or `qemu:GUEST`,
    whose kernel and modules are copied. Raises UsageError, or MissingError if there is no such guest."""
    loaded = description.find(system)
    files = {store.DESCRIPTION: loaded.text}
    name = store.checked(name or Path(system).stem)
    linux.check_name(name)
    if what.startswith("qemu:"):
        inner = parse(what.removeprefix("qemu:"))
        guest = store.find(inner.guest)
        if any(module.made for module in guest.manifest.modules):
            raise UsageError(f"{guest.name} takes its probe from memory.", f"Measure it as qemu:{guest.name}.")
        files |= {path.name: path.read_bytes() for path in guest.folder.iterdir() if path.name != store.MANIFEST}
        machine = inner.machine(guest.manifest.machine)
        devices = tuple(dict.fromkeys((*machine.devices, *loaded.description.boot.devices)))
        made = msgspec.structs.replace(
            guest.manifest,
            machine=msgspec.structs.replace(machine, devices=devices),
            command_line=inner.command_line(guest.manifest.command_line),
            variants=(),
        )
    else:
        image = images.image(Path(what))
        made = store.Manifest(
            name=name,
            package=str(image.path),
            version=loaded.description.system,
            release="",
            package_sha256=image.digest,
            disk=str(image.path),
            disk_sha256=image.digest,
            machine=loaded.description.machine,
            command_line="",
        )
    machine = wanted.machine(made.machine)
    return store.add(msgspec.structs.replace(made, name=name, machine=machine, output="serial"), files)


def seconds(described: Description) -> float:
    """The most for all steps."""
    steps = (described.boot, described.login, described.shell, described.files, described.compile)
    return sum(step.seconds for step in steps)


def save(
    words: tuple[str, ...],
    folder: Path,
    described: Description,
    carried: dict[str, bytes],
    before: Sequence[str],
    into: Path,
    until: Deadline,
    name: str,
) -> Iterator[int]:
    """Boots by `words`, logs in, compiles the files `carried`, runs the command `before` if there is one, starts a
    probe that waits, and saves the machine `into`. Yields the emulator's process id. Raises TargetError that names the
    step; LibraryError without pexpect."""
    from kernometer.targets.consoles.dialogue import Dialogue
    from kernometer.targets.consoles.serial import Console

    saving.lay_out(folder, into)
    with talking(words, folder, 2) as (process, (monitor, line)):
        ask = Monitor(monitor, until)
        console = Console(line, name, described.boot.panic, lambda: ask.execute("query-status"))
        with socket.socket(socket.AF_UNIX) as debugger:
            debugger.connect(str(folder / DEBUGGER))
            at = Debugger(debugger, until)
            at.proceed()
            dialogue = Dialogue(console, described, until)
            dialogue.enter()
            dialogue.carry(carried)
            dialogue.compile()
            if before:
                dialogue.command("history", f"{shlex.join(before)} >{described.run.output} 2>&1", until.left())
            dialogue.wait()
            waits = Deadline.after(described.shell.seconds)
            while not at.stopped():
                if waits.passed:
                    raise console.error("wait", "the probe did not wait for its command")
                ask.execute("query-status")  # wakes QEMU
                yield process.pid
            yield from saving.keep(ask, process.pid, folder, into, until)
