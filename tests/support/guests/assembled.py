"""What an assembler makes of instructions."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path


def assembled(folder: Path, instructions: Sequence[tuple[str, object]]) -> list[str]:
    """The bytes of each instruction, in hexadecimal, in order; by the assembler's own listing."""
    source = folder / "all.s"
    source.write_text("".join(f"{instruction}\n" for instruction, _ in instructions))
    listing = subprocess.run(
        ["as", "-al", "--listing-lhs-width=4", "-o", str(folder / "all.o"), str(source)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    found: dict[int, str] = {}
    for line in listing.splitlines():
        words = line.split()
        if len(words) >= 3 and words[0].isdecimal() and len(words[1]) == 4:
            code = "".join(word for word in line[: line.index("\t")].split()[2:])
            found[int(words[0])] = found.get(int(words[0]), "") + code.lower()
    return [found[number] for number in range(1, len(instructions) + 1)]
