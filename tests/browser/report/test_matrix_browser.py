"""The matrix in a real browser: can it be read on a phone, in the dark, and by everybody?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernometer.report.matrix.page import render
from kernometer.stats.series import Series
from tests.support.report.browser import EVERY_LOOK, NEEDS_BROWSER, no_violations, visit
from tests.support.report.matrices import made

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("matrix") / "matrix.html"
    path.write_text(render(of_means(made(13, failed=5))), encoding="utf-8")
    return path


def of_means(matrix: Series) -> Series:
    """The matrix with the longest ratios: all of means."""
    comparisons = {
        name: replace(comparison, rows=tuple(replace(row, by_mean=True) for row in comparison.rows))
        for name, comparison in matrix.comparisons.items()
    }
    return replace(matrix, comparisons=comparisons)


@EVERY_LOOK
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


VERSIONS = ("6.1", "6.12", "6.16", "6.17", "6.18", "6.19", "7.0", "7.1", "7.2", "7.3")
#: Ten kernels of Debian and two systems whose names differ from theirs in more than the version.
TWELVE = (*(f"qemu:linux-{version}" for version in VERSIONS), "qemu:linux-6.1+machine=pc", "qemu:xen")


def shown_with(browser: Any, path: Path, systems: int, width: int) -> Any:
    path.write_text(render(made(systems, names=TWELVE)), encoding="utf-8")
    return visit(browser, path, viewport={"width": width, "height": 900})


def test_twelve_systems_are_one_grid_and_no_column_is_cut(browser: Any, tmp_path: Path) -> None:
    """Expected: at 1280 pixels all columns are in view, at the same places in every family, no word beyond its cell.
    Broken: the last two systems are beyond the edge, and each family has columns of its own."""
    shown = shown_with(browser, tmp_path / "twelve.html", 12, 1280)
    cut = shown.evaluate(
        """[...document.querySelectorAll('.scroll, .grid th, .grid td')]
           .filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.outerHTML.slice(0, 200))"""
    )
    places = shown.evaluate(
        """['heat', 'cells'].map(kind => [...document.querySelectorAll(`table.${kind} tr:not(.group)`)]
           .map(row => [...row.children].map(one => Math.round(one.getBoundingClientRect().left)).join()))"""
    )
    shown.context.close()
    assert cut == []
    assert all(len(rows) == 5 and len({*rows}) == 1 for rows in places)


@pytest.mark.parametrize(("systems", "width"), [(12, 1280), (12, 390), (30, 1280)])
def test_heads_and_names_stay_in_view(browser: Any, tmp_path: Path, systems: int, width: int) -> None:
    """Expected: wherever one reads, the row's name and the column's head are seen. Broken: figures of something."""
    shown = shown_with(browser, tmp_path / "many.html", systems, width)
    shown.set_viewport_size({"width": width, "height": 240})
    last = shown.locator("table.heat tbody tr:last-child td:last-child").last
    shown.evaluate("document.querySelector('.grid').scrollIntoView()")
    last.evaluate("one => one.scrollIntoView({block: 'nearest', inline: 'end'})")
    name, head = shown.locator("table.heat tbody tr:last-child th").last, shown.locator("table.heat thead th").last
    boxes = [one.bounding_box() for one in (last, name, head)]
    page = shown.evaluate("document.documentElement.scrollWidth")
    shown.context.close()
    for box in boxes:
        assert box is not None
        assert box["x"] >= -1 and box["x"] + box["width"] <= width + 1
        assert box["y"] >= -1 and box["y"] + box["height"] <= 241
    assert page <= width


def test_paper_has_the_heat_map_in_colour_on_white(browser: Any, page: Path) -> None:
    shown = visit(browser, page, viewport={"width": 400, "height": 900}, color_scheme="dark")
    shown.emulate_media(media="print", color_scheme="light")
    assert shown.locator("table.heat td").first.evaluate("one => getComputedStyle(one).printColorAdjust") == "exact"
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert shown.pdf(format="A4", prefer_css_page_size=True).startswith(b"%PDF")
    shown.context.close()
