"""Does studies/README.md say what the files of studies/ say?"""

from __future__ import annotations

import pytest

from studies import gallery
from tests.support.checkout import ROOT


@pytest.mark.slow(minutes=0.15)
def test_the_page_is_what_the_script_writes() -> None:
    """Expected: every figure is that of the study's own files. Broken: an example measured anew, or a hand."""
    assert gallery.PAGE.read_text() == gallery.page()


def test_every_study_is_on_the_page() -> None:
    studies = {folder.name for folder in (ROOT / "studies").iterdir() if (folder / "README.md").is_file()}
    page = gallery.PAGE.read_text()
    assert all(f"\n[studies/{name}]({name})\n" in page for name in studies)


def test_a_figure_that_is_not_there_is_an_error() -> None:
    """Expected: an error. Broken: a page with a hole."""
    with pytest.raises(ValueError, match="not found"):
        gallery._found(r"(\d+) slower", "0.5 faster")
