"""How to attach a debugger to a guest that waits for it. Pure."""

from __future__ import annotations

import shlex
from pathlib import Path

from kernometer.guests import store
from kernometer.text import printable


def how_to_attach(guest: store.Guest, socket: Path) -> str:
    """The command line, and where to find names and addresses of the kernel's functions."""
    made = guest.manifest
    command = shlex.join(("gdb", "-ex", f"target remote {socket}", str(guest.kernel)))
    lines = [
        "QEMU waits for a debugger. In another terminal:",
        f"  {command}",
        "There 'continue' boots the guest. Before it has booted stop it with 'hbreak', not with 'break', which writes",
        "to memory that is not mapped yet.",
    ]
    if made.package.startswith("linux-image-"):  # a package's kernel is stripped
        lines += [
            f"This kernel has no symbols: {made.package}-dbg {made.version} has. Where that is installed, give gdb",
            f"/usr/lib/debug/boot/vmlinux-{made.release} in its place, then 'hbreak start_kernel'. Without it an",
            "address does: 'grep -w start_kernel /proc/kallsyms' in the guest names it, then 'hbreak *0xffffffff…'.",
        ]
    return printable("\n".join(lines), keep="\n")
