"""The command of a guest's init: files of QEMU's fw_cfg device, which init_command.c reads. Pure.

A guest that was saved before it reads the device gets the files of its new QEMU.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernometer.errors import UsageError

#: Names of the files: the command, and one that runs, without output, before the guest is ready to be saved.
COMMAND, BEFORE = "opt/km/command", "opt/km/before"
#: Each byte that init reads costs it an instruction: padding makes commands up to this size cost the same.
UNIT = 4096
#: The limits of init_command.c.
MAX_BYTES, MAX_WORDS = 65536, 1024


def encoded(words: Sequence[str]) -> bytes:
    """A NUL after each word, then NULs up to a multiple of UNIT. Raises UsageError beyond init's limits."""
    line = b"".join(word.encode() + b"\0" for word in words)
    if len(line) > MAX_BYTES or len(words) > MAX_WORDS or not all(words) or any("\0" in word for word in words):
        raise UsageError(
            f"A command of {len(words)} words and {len(line)} bytes does not fit into a guest.", "Name fewer rows."
        )
    return line.ljust(UNIT, b"\0") + bytes(-len(line) % UNIT if len(line) > UNIT else 0)
