"""The matrix in a real browser: can it be read on a phone, in the dark, and by everybody?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernometer.report.matrix import render
from tests.report.test_browser import browser, no_violations, pytestmark, visit
from tests.report.test_matrix import made

__all__ = ["browser", "pytestmark"]  # a fixture and marks, found by their names


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("matrix") / "matrix.html"
    path.write_text(render(made(13, failed=5)), encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_axe_finds_nothing(browser: Any, page: Path, scheme: str, width: int) -> None:
    no_violations(visit(browser, page, color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True))


@pytest.mark.parametrize("width", [1280, 768, 400, 320])
def test_only_the_tables_scroll_sideways_and_figures_can_be_read(browser: Any, page: Path, width: int) -> None:
    """Expected: figures of 12 pixels at least, each inside its cell, and no page that scrolls sideways."""
    shown = visit(browser, page, viewport={"width": width, "height": 900})
    scroll, client = shown.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    cells = shown.evaluate(
        """[...document.querySelectorAll('table.heat td')]
           .map(one => [parseFloat(getComputedStyle(one).fontSize), one.scrollWidth - one.clientWidth])"""
    )
    shown.context.close()
    assert scroll <= client
    assert cells and min(size for size, _over in cells) >= 12
    assert max(over for _size, over in cells) <= 0


def test_paper_has_the_heat_map_in_colour_on_white(browser: Any, page: Path) -> None:
    shown = visit(browser, page, viewport={"width": 400, "height": 900}, color_scheme="dark")
    shown.emulate_media(media="print", color_scheme="light")
    assert shown.locator("table.heat td").first.evaluate("one => getComputedStyle(one).printColorAdjust") == "exact"
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert shown.pdf(format="A4", prefer_css_page_size=True).startswith(b"%PDF")
    shown.context.close()
