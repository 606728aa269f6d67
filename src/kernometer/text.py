"""Makes strings from a machine safe to print: characters that a terminal would obey or hide become escapes. Says where
a sentence's lines may end."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

#: Spaces where no line ends: between a number and its unit.
_KEPT = re.compile(r"(?<=[ ±.]\d) (?=[a-zµ%])|(?<=\d\d) (?=[a-zµ%])|(?<=equivalent) (?=\()")


def printable(text: str, limit: int = 0, keep: str = "") -> str:
    """`text` with every character that is not plainly visible written as its Python escape (`\\x1b`, `\\u202e`).

    That is Unicode's control, format (bidirectional overrides, zero width), surrogate, private and unassigned
    characters, and every space but U+0020. A backslash stays as it is. `keep` names characters that pass (a newline,
    for whole outputs). With a `limit` the text is cut to that many characters, the last of them an ellipsis.
    """
    if limit and len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isprintable():
        return text
    return "".join(_shown(character, keep) for character in text)


def _shown(character: str, keep: str) -> str:
    if character in keep or character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")


def some(names: Sequence[str], most: int = 5, kind: str = "", between: str = ", ") -> str:
    """The first of these names, and how many more there are, of which kind: `a, b and 3 more rows`."""
    more = f" and {len(names) - most} more{kind}" if len(names) > most else ""
    return f"{between.join(names[:most])}{more}"


def solid(text: str) -> str:
    """A sentence without line breaks between a number and its unit."""
    return _KEPT.sub("\u00a0", text)


def wrapped(text: str, width: int) -> str:
    """`solid`, in lines of at most `width`; those that follow an indented one are indented further."""
    lines = []
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip(" "))]
        after = indent + "  " * bool(indent)
        lines += textwrap.wrap(
            solid(line), width, subsequent_indent=after, break_on_hyphens=False, break_long_words=False
        ) or [""]
    return "\n".join(lines).replace("\u00a0", " ")
