"""The report: one HTML file that needs no network and contains no JavaScript.

CSS draws the intervals in the cells of tables (axis.py); small.py writes the SVG of each row's charts. CSS is inlined.
A content security policy forbids everything else, so that even a string that was not escaped could load and run
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from kernometer.report.explanation.structures_view import StructuresView
from kernometer.report.session.page import Systems, build
from kernometer.report.session.view import Page
from kernometer.report.words.names import PARTS
from kernometer.report.write.file import whole_file
from kernometer.results.model import Result
from kernometer.stats.floors import Layout
from kernometer.stats.history import History
from kernometer.stats.model import Comparison
from kernometer.text import solid

if TYPE_CHECKING:
    from jinja2 import Environment

#: A comma that no digits follow, as they do in a number.
_COMMA = re.compile(r",(?!\d{3}\b)")


def render(
    results: Sequence[Result],
    comparisons: Sequence[Comparison] = (),
    history: History | None = None,
    *,
    systems: Systems | None = None,
    floors: Sequence[Layout] = (),
    structures: StructuresView | None = None,
) -> str:
    """The page of these results; with two systems or more, of their comparisons against the baseline.

    `history`: earlier sessions, for the spread of the first result's host. `systems`: the results of each name in
    the comparisons, the baseline first; needed if the results have other names. `floors`: by path, the known layouts.
    `structures`: a section of its own.
    Raises ResultError if there is no result, or results and comparisons do not match.
    """
    return lay_out(build(results, comparisons, history, systems, floors, structures))


def lay_out(page: Page) -> str:
    """The view model as HTML."""
    heat = ("matrix.css",) if page.boundaries else ()
    falls = ("costs.css",) if page.structures else ()
    return fill("report.html.j2", page, "report.css", *heat, *falls)


def fill(template: str, page: object, *styles: str) -> str:
    """The page from this template, its values and these style sheets."""
    return _template_environment().get_template(template).render(page=page, css=_css(*styles))


def write(path: Path, content: str | bytes, what: str = "report") -> None:
    """Writes a file whole or not at all. Raises ResultError, naming `what` it is, if it cannot be written."""
    with whole_file(path, what) as file:
        file.write(content.encode() if isinstance(content, str) else content)


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
