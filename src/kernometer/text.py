"""Makes strings from a machine safe to print: characters that a terminal would obey or hide become escapes."""

from __future__ import annotations


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
