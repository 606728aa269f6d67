"""The small kernels spaces.s and paged.s, booted by path: their regions as the emulator's plugins saw them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from kernometer.guests import plugins
from kernometer.guests.emulator.qemu import Boot, Machine, argv, detect
from kernometer.guests.plugins import Kind, events, trace
from kernometer.guests.plugins.events import Region
from kernometer.guests.plugins.trace import Trace
from kernometer.results import processor
from tests.support.checkout import ROOT

SOURCES = ROOT / "tests" / "guest" / "guests"


def booted(folder: Path, name: str = "skylake", source: str = "spaces.s") -> dict[str, Region]:
    """By the plugin's numbers; what its debug port wrote is in `folder / "bulk"`. `name`: the modelled processor."""
    return events.parse(_written(folder, "events", f"memory={processor.find(name).geometry.word}", source))


def recorded(folder: Path, region: int, charged: Sequence[int]) -> Trace:
    """The last of these executions of a region, to which and whose pages they are charged."""
    digits = f"{sum(1 << at for at in charged):x}"[::-1]
    words = f"region={region},execution={charged[-1]},charged={digits}"
    return trace.parse(_written(folder, "profile", f"{words},memory={processor.find('skylake').geometry.word}"))


def _written(folder: Path, kind: Kind, recorded: str, source: str = "spaces.s") -> bytes:
    kernel = folder / "spaces"
    flags = ("-m32", "-nostdlib", "-static", "-no-pie", f"-Wl,-T,{SOURCES}/tiny.ld,--build-id=none", f"-Wa,-I{SOURCES}")
    subprocess.run(["gcc", *flags, "-o", kernel, SOURCES / source], check=True, timeout=60)
    (folder / "console").touch()
    boot = Boot(
        machine=Machine(type="pc", memory_mib=64),
        accelerator="icount",
        kernel=kernel,
        initrd="",
        command_line="",
        console=folder / "console",
        bulk=folder / "bulk",
        plugin=plugins.build(detect(), kind),
        events=folder / "events.json",
        recorded=recorded,
    )
    subprocess.run(argv(boot), check=True, timeout=600, stdin=subprocess.DEVNULL)
    return (folder / "events.json").read_bytes()
