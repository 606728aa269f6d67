"""Do the pages of studies/sources print what their commands find in the stored sessions?"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.checkout import ROOT
from tests.support.docs.pages import blocks
from tests.support.docs.running import copy_of_checkout, environment, run
from tests.support.turns import in_turn

PAGES = sorted(page.stem for page in (ROOT / "studies/sources").glob("*.md") if page.stem != "README")


@pytest.mark.parametrize("page", in_turn(PAGES, 0.13, always=["corbet-2007"]))
def test_the_tables_are_those_of_the_stored_sessions(page: str, tmp_path: Path) -> None:
    """Expected: each line of a table that the commands print stands on the page. Broken: a figure nobody counted."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    copy_of_checkout(folder)
    env = environment(folder)
    text = (ROOT / f"studies/sources/{page}.md").read_text()
    scripts = [block.script for block in blocks(text) if block.script and not block.skipped]
    assert scripts
    for script in scripts:
        done = run(script, folder, env)
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        for line in done.stdout.splitlines():
            assert not line.startswith("|") or line in text.splitlines(), line
