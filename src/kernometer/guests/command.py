"""What a guest's init is told to run: files of QEMU's fw_cfg device, which init_command.c reads. Pure.

The device answers when it is asked: a guest that was saved before it asked reads what its new QEMU has for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernometer.errors import UsageError

#: Names of the files: the command, and one that is run, its output unseen, before the guest is ready to be saved.
COMMAND, BEFORE = "opt/km/command", "opt/km/before"
#: init counts an instruction for each byte that it reads: commands up to this size take equally long.
UNIT = 4096
#: What init_command.c can hold.
MAX_BYTES, MAX_WORDS = 65536, 1024


def encoded(words: Sequence[str]) -> bytes:
    """A NUL after each word, then NULs up to a multiple of UNIT. Raises UsageError for what init cannot hold."""
    line = b"".join(word.encode() + b"\0" for word in words)
    if len(line) > MAX_BYTES or len(words) > MAX_WORDS or not all(words) or any("\0" in word for word in words):
        raise UsageError(
            f"A command of {len(words)} words and {len(line)} bytes does not fit into a guest.", "Name fewer rows."
        )
    return line.ljust(UNIT, b"\0") + bytes(-len(line) % UNIT if len(line) > UNIT else 0)
