"""The matrix in a real browser: can it be read on a phone, in the dark, and by everybody?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernometer.report.matrix import render
from tests.report.test_browser import axe, browser, pytestmark, visit
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
    shown = visit(browser, page, color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True)
    found = axe.Axe().run(shown)
    shown.context.close()
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("width", [1280, 768, 400, 320])
def test_one_layout_is_shown_that_fits_and_can_be_read(browser: Any, page: Path, width: int) -> None:
    """Expected: names and figures of 12 pixels at least, and no page that scrolls sideways."""
    shown = visit(browser, page, viewport={"width": width, "height": 900})
    seen = [shown.locator(f".heat {layout} svg").first.is_visible() for layout in (".wide", ".narrow")]
    scroll, client = shown.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    heights = shown.evaluate(
        """[...document.querySelectorAll('.heat svg text')]
           .map(one => one.getBoundingClientRect().height).filter(height => height)"""
    )
    shown.context.close()
    assert seen == [width > 760, width <= 760]
    assert scroll <= client
    assert min(heights) >= (12 if width >= 400 else 10)


@pytest.mark.parametrize("width", [1280, 400])
def test_no_text_of_the_heat_map_meets_another(browser: Any, page: Path, width: int) -> None:
    """Expected: with this machine's fonts, figures stay in their cells, and names and heads clear of them."""
    shown = visit(browser, page, viewport={"width": width, "height": 900})
    drawings = shown.evaluate(
        """[...document.querySelectorAll('.heat svg')].map(svg => [...svg.querySelectorAll('text')]
           .map(one => one.getBoundingClientRect()).filter(box => box.width)
           .map(box => [box.left, box.top, box.right, box.bottom])).filter(boxes => boxes.length)"""
    )
    shown.context.close()
    assert drawings
    for boxes in drawings:
        for index, (left, top, right, bottom) in enumerate(boxes):
            for other in boxes[index + 1 :]:
                apart = right <= other[0] or other[2] <= left or bottom <= other[1] + 3 or other[3] <= top + 3
                assert apart, (boxes[index], other)


def test_paper_has_the_wide_heat_map_in_colour_on_white(browser: Any, page: Path) -> None:
    shown = visit(browser, page, viewport={"width": 400, "height": 900}, color_scheme="dark")
    shown.emulate_media(media="print", color_scheme="light")
    assert shown.locator(".heat .wide svg").first.is_visible()
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert shown.pdf(format="A4", prefer_css_page_size=True).startswith(b"%PDF")
    shown.context.close()
