"""Are the studies' tables those that `make studies` makes of the stored sessions, and is every page made?"""

from __future__ import annotations

import pytest

from studies.__main__ import HERE, Made, listed
from tests.support.checkout import ROOT, names

#: Tables of sessions that are not stored, see their studies' pages.
AS_PRINTED = {
    "full-profile/by-time.txt",
    "reliability/linux.txt",
    *(f"sources/by-time-{name}.txt" for name in ("gvisor", "host", "uml")),
    "bisect-linux/log.txt",
    *(f"trio-structures/{name}.txt" for name in ("pages", "pages-scattered")),
}
MADE = {f"{made.study}/{made.text}": made for made in listed() if made.text}


def test_every_table_is_made_or_is_known_not_to_be() -> None:
    """Expected: a table in git has its command in studies.toml. Broken: one that nobody can make again."""
    tables = {name.removeprefix("studies/") for name in names() if name.startswith("studies/") and name[-4:] == ".txt"}
    assert tables == AS_PRINTED | {*MADE}


def test_no_page_is_in_git() -> None:
    assert not [name for name in names() if name.startswith("studies/") and name.endswith(".html")]


@pytest.mark.slow(minutes=1)
@pytest.mark.parametrize("name", MADE)
def test_a_table_is_what_its_command_prints(name: str) -> None:
    """Expected: equal to the letter. Broken: a verdict changed, and the study's page still tells the old one: make
    studies, and read the page."""
    made: Made = MADE[name]
    assert (HERE / name).read_text() == made.table()
    assert (ROOT / "studies" / made.study / "README.md").exists()
