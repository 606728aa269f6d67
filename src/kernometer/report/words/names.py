"""Names and sentences that are safe to show, and short heads for columns: what tells systems apart. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kernometer.text import printable

#: How many characters of a name (row, label, host) and of a text (an error, a remark) are shown.
NAME, TEXT = 120, 600
_ENDS = re.compile(r".*[-+:/,@ ]")
PARTS = re.compile(r"[^-+:/,=@ ]*[-+:/,=@ ]|[^-+:/,=@ ]+")


def name(text: str) -> str:
    return printable(text, NAME)


def sentence(text: str) -> str:
    return printable(text, TEXT)


def short_names(names: Sequence[str]) -> list[str]:
    """Names without their common beginning up to a separator: qemu:linux-6.1, qemu:linux-6.12 become 6.1, 6.12. Where
    one name is the beginning of all others, as a wrapper that each runs in, its words stay together."""
    safe = [*map(name, names)]
    same = next((n for n, letters in enumerate(zip(*safe, strict=False)) if len(set(letters)) > 1), min(map(len, safe)))
    beginning = safe[0][:same]
    shared = _ENDS.match(beginning.partition(" ")[0] if beginning in safe else beginning) if len(safe) > 1 else None
    short = [name[shared.end() :] for name in safe] if shared else safe
    return short if all(short) else safe


def lines(name: str, width: int, most: int) -> list[str]:
    """A name in at most `most` (2 or more) lines of `width` characters, broken after separators if possible. Of a name
    that needs more the last line stays: columns often differ in their ends."""
    made = packed(PARTS.findall(name), width)
    if len(made) > most:
        made = [*made[: most - 2], made[most - 2][: width - 1] + "…", made[-1]]
    return made


def packed(parts: Iterable[str], width: int, indent: str = "") -> list[str]:
    """The parts in lines of at most `width`, each whole where it fits; all lines but the first begin with `indent`."""
    made = [""]
    for part in parts:
        rest = part
        if made[-1].strip() and len(made[-1]) + len(rest) > width:
            made.append(indent)
        while len(made[-1]) + len(rest) > width:
            room = width - len(made[-1])
            made[-1], rest = made[-1] + rest[:room], rest[room:]
            made.append(indent)
        made[-1] += rest
    return made
