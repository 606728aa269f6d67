"""A page in a real browser, and what axe says of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")
#: The marks of a module whose tests need one.
NEEDS_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (Debian: apt-get install chromium; Ubuntu has none)"),
]
#: One of the four looks of a page in each run of `make test`, the others in their turn.
EVERY_LOOK = pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("light", 1280),
        *(
            pytest.param(*look, marks=pytest.mark.slow(minutes=0.1))
            for look in (("dark", 400), ("light", 400), ("dark", 1280))
        ),
    ],
)
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]

sync_api = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=60_000)
        yield started
        started.close()


def visit(browser: Any, path: Path, **context: Any) -> Any:
    page = browser.new_context(**context).new_page()
    page.set_default_timeout(60_000)
    page.goto(path.as_uri())
    return page


def no_violations(page: Any) -> None:
    """None of any rule that axe knows, in a page that may be evaluated; else axe's report. The page is closed."""
    found = axe.Axe().run(page)
    page.context.close()
    assert found.violations_count == 0, found.generate_report()
