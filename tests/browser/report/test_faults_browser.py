"""The page of faults in a real browser: can it be read on a phone, in the dark, and by everybody?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernometer.faults.records import read
from kernometer.report.faults import page as written
from tests.support.report.browser import EVERY_LOOK, NEEDS_BROWSER, no_violations, visit

pytestmark = NEEDS_BROWSER

CAMPAIGN = Path(__file__).parents[3] / "studies/reliability/trio.ndjson.xz"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("faults") / "faults.html"
    path.write_text(written(read([CAMPAIGN])), encoding="utf-8")
    return path


@EVERY_LOOK
def test_axe_finds_nothing(browser: Any, page: Path, scheme: str, width: int) -> None:
    no_violations(visit(browser, page, color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True))


@pytest.mark.parametrize("width", [1280, 768, 400, 320])
def test_nothing_scrolls_sideways_and_each_bar_has_room(browser: Any, page: Path, width: int) -> None:
    """Broken: words beside a bar that leave it no width, as five outcomes with their intervals did."""
    shown = visit(browser, page, viewport={"width": width, "height": 900})
    scroll, client = shown.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    bars = shown.evaluate("[...document.querySelectorAll('.bar div')].map(one => one.getBoundingClientRect().width)")
    shown.context.close()
    assert scroll <= client
    assert min(bars) >= 200
