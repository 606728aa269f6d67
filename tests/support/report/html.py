"""What a page of HTML consists of."""

from __future__ import annotations

from html.parser import HTMLParser

#: Elements that could run or load something.
ACTIVE = {"script", "iframe", "object", "embed", "img", "form", "base", "audio", "video", "foreignobject", "image"}


class Elements(HTMLParser):
    """Every element with its attributes, and the visible text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)
