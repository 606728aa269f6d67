"""The terminal, the pipe or the file that a command prints on."""

from __future__ import annotations

import re
from typing import IO, Any, TextIO, cast

from rich.console import Console
from rich.text import Text

from kernometer.text import wrapped

_TRAILING = re.compile(r" +$", re.MULTILINE)


class Lines(Console):
    """Wraps sentences so that a number keeps its unit on its line."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*map(self._wrapped, objects), **options)

    def _wrapped(self, shown: object) -> object:
        if not isinstance(shown, Text) or shown.spans or shown.cell_len <= self.width:
            return shown
        return Text(wrapped(shown.plain, self.width), shown.style)


class Trimmed:
    """A stream whose lines end in no spaces, for programs and files, which do not show them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(_TRAILING.sub("", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def on(stream: TextIO, *, color: bool, columns: int) -> Console:
    """Colour on a terminal only, `columns` elsewhere, and no markup, since strings are data."""
    terminal = stream.isatty()
    return Lines(
        file=stream if terminal else cast("IO[str]", Trimmed(stream)),
        force_terminal=terminal,
        color_system="auto" if terminal and color else None,
        no_color=not color,
        width=None if terminal else columns,
        markup=False,
        highlight=False,
        emoji=False,
    )
