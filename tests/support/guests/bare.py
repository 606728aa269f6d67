"""The small kernel spaces.s, booted by path: its regions as the emulator's plugin saw them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from kernometer.guests import plugins
from kernometer.guests.emulator.qemu import Boot, Machine, argv, detect
from kernometer.guests.plugins import events
from kernometer.guests.plugins.events import Region
from kernometer.results import processor
from tests.support.checkout import ROOT

SOURCES = ROOT / "tests" / "guest" / "guests"


def booted(folder: Path, name: str = "skylake") -> dict[str, Region]:
    """By the plugin's numbers; what its debug port wrote is in `folder / "bulk"`. `name`: the modelled processor."""
    kernel = folder / "spaces"
    flags = ("-m32", "-nostdlib", "-static", "-no-pie", f"-Wl,-T,{SOURCES}/tiny.ld,--build-id=none", f"-Wa,-I{SOURCES}")
    subprocess.run(["gcc", *flags, "-o", kernel, SOURCES / "spaces.s"], check=True, timeout=60)
    (folder / "console").touch()
    boot = Boot(
        machine=Machine(type="pc", memory_mib=64),
        accelerator="icount",
        kernel=kernel,
        initrd="",
        command_line="",
        console=folder / "console",
        bulk=folder / "bulk",
        plugin=plugins.build(detect(), "events"),
        events=folder / "events.json",
        recorded=f"memory={processor.find(name).geometry.word}",
    )
    subprocess.run(argv(boot), check=True, timeout=600, stdin=subprocess.DEVNULL)
    return events.parse((folder / "events.json").read_bytes())
