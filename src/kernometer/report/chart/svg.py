"""A drawing in a page: SVG written by hand, with its text alternative."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import escape


@dataclass(frozen=True, slots=True)
class Plot:
    """A static chart. `svg` is our own markup, safe to put into the page."""

    svg: str
    width: int


def plot(body: str, size: tuple[int, int], title: str, text: str) -> Plot:
    """`body` in a drawing of this width and height."""
    width, height = size
    return Plot(
        f'<svg class="small" role="img" viewBox="0 0 {width} {height}" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title><desc>{escape(text)}</desc>{body}</svg>",
        width,
    )
