"""Strings that came from a machine, made safe to print: what a terminal would obey or hide is shown as an escape."""

from __future__ import annotations

import unicodedata

#: Unicode categories a terminal may act on or not show: control, format (bidirectional overrides, zero width),
#: surrogate, private use, unassigned, line and paragraph separator.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def printable(text: str, limit: int = 0, keep: str = "") -> str:
    """`text` with every character that is not plainly visible written as its Python escape (`\\x1b`, `\\u202e`).

    A backslash stays as it is. `keep` names characters that pass (a newline, for whole outputs). With a `limit` the
    text is cut to that many characters, the last of them an ellipsis.
    """
    if limit and len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character, keep) for character in text)


def _shown(character: str, keep: str) -> str:
    if character in keep or unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape").decode("ascii")
