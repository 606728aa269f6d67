"""The price of each boundary in a real browser: can it be read on a phone, in the dark, and by everybody?"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kernometer.explain.partitions import cut_of, plan, target
from kernometer.report.matrix.page import render
from kernometer.stats.series import Column, series
from tests.support.report.browser import EVERY_LOOK, NEEDS_BROWSER, no_violations, visit
from tests.support.stats.simulate import path_result

pytestmark = NEEDS_BROWSER

SERVICES = ("pm", "vm", "vfs", "fs", "ram_block", "virtio_blk", "serial", "clock", "framebuffer", "bus")
ROWS = ("syscall/getppid", "ctx/ring@procs=8,token=0,ws=0,same-cpu", "mem/mmap-munmap@bytes=65536")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As many boundaries as Trio has, and figures of six digits."""
    columns = []
    for number, structure in enumerate(plan(SERVICES, pairwise(SERVICES)).structures):
        dear = 900_000 * ("pm" in cut_of(structure))
        counts = {row: 100 + dear + number * place for place, row in enumerate(ROWS)}
        columns.append(Column(target(structure), (path_result(structure, counts, target=target(structure)),)))
    path = tmp_path_factory.mktemp("boundaries") / "boundaries.html"
    path.write_text(render(series(columns)), encoding="utf-8")
    return path


@EVERY_LOOK
def test_axe_finds_nothing(browser: Any, page: Path, scheme: str, width: int) -> None:
    no_violations(visit(browser, page, color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True))


@pytest.mark.parametrize("width", [1280, 768, 400, 320])
def test_only_the_tables_scroll_sideways_and_the_operation_stays(browser: Any, page: Path, width: int) -> None:
    """Expected: figures of 12 pixels at least, each inside its cell; a table scrolled to its end still names its rows,
    in no more than half of a phone's width."""
    shown = visit(browser, page, viewport={"width": width, "height": 900})
    scroll, client = shown.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    cells = shown.evaluate(
        """[...document.querySelectorAll('table.prices td')]
           .map(one => [parseFloat(getComputedStyle(one).fontSize), one.scrollWidth - one.clientWidth])"""
    )
    names = shown.evaluate(
        """[...document.querySelectorAll('#boundaries .scroll')].map(one => {
             one.scrollLeft = 10000;
             const name = one.querySelector('tbody th').getBoundingClientRect();
             return [name.left - one.getBoundingClientRect().left, name.width];
           })"""
    )
    shown.context.close()
    assert scroll <= client
    assert cells and min(size for size, _over in cells) >= 12
    assert max(over for _size, over in cells) <= 0
    assert len(names) == 5
    assert all(abs(left) <= 1 for left, _width in names)
    assert max(wide for _left, wide in names) <= max(client / 2, 200)
