"""Rows over commits in a real browser: can the page be read on a phone, in the dark, and by everybody?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernometer.report.store.since import render
from tests.support.report.browser import EVERY_LOOK, NEEDS_BROWSER, no_violations, visit
from tests.support.report.courses import functions, made

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("since") / "since.html"
    path.write_text(render(*made(), functions()), encoding="utf-8")
    return path


@EVERY_LOOK
def test_axe_finds_nothing(browser: Any, page: Path, scheme: str, width: int) -> None:
    no_violations(visit(browser, page, color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True))


@pytest.mark.parametrize("width", [1280, 390])
def test_every_word_of_a_chart_is_inside_it_and_can_be_read(browser: Any, page: Path, width: int) -> None:
    """Expected: letters of 9 pixels at least, all within their drawing, and no page that scrolls sideways. Broken: a
    date that is cut at the edge, or a chart for magnifying glasses."""
    shown = visit(browser, page, viewport={"width": width, "height": 900})
    scroll, client = shown.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    words = shown.evaluate(
        """[...document.querySelectorAll('#changed svg text')].map(one => {
             const [word, chart] = [one, one.closest('svg')].map(each => each.getBoundingClientRect());
             return [word.height, word.left - chart.left, chart.right - word.right,
                     word.top - chart.top, chart.bottom - word.bottom];
           })"""
    )
    shown.context.close()
    assert scroll <= client
    assert words and min(height for height, *_ in words) >= 9
    assert min(away for _height, *edges in words for away in edges) >= -1
