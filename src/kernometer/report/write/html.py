"""How everything comes to a page: templates filled with values, and style sheets in the page itself.

A content security policy forbids everything else, so that even a string that was not escaped could load and run
nothing.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from kernometer import __version__
from kernometer.report.words.names import PARTS
from kernometer.text import solid

if TYPE_CHECKING:
    from jinja2 import Environment

#: A comma outside a number: no digits follow it.
_COMMA = re.compile(r",(?!\d{3}\b)")


def fill(template: str, page: object, *styles: str) -> str:
    """The page from this template, its values and these style sheets."""
    return _template_environment().get_template(template).render(page=page, css=_css(*styles), version=__version__)


@cache
def _template_environment() -> Environment:
    """Escapes everything except our own SVG and CSS, which are marked as markup."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("kernometer.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"breakable": breakable, "code": code, "parted": parted, "solid": solid}
    return environment


def breakable(row: str) -> Markup:
    """A row's name with possible line breaks between its parameters; copying and searching find the same text. A number
    has none: 1,344."""
    return Markup("<wbr>@").join(Markup(",<wbr>").join(_COMMA.split(part)) for part in row.split("@"))


def parted(head: str) -> Markup:
    """A column's head with possible line breaks behind its separators."""
    return Markup("<wbr>").join(PARTS.findall(head))


def code(text: str) -> Markup:
    """Text with the parts in backticks as code."""
    parts = text.split("`")
    marked = (Markup("<code>{}</code>").format(part) if odd % 2 else escape(part) for odd, part in enumerate(parts))
    return Markup("").join(marked) if len(parts) % 2 else escape(text)


def _css(*names: str) -> Markup:
    folder = files("kernometer.report").joinpath("templates")
    text = "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names)
    return Markup(text)  # noqa: S704  # our own files, without a value of any result
