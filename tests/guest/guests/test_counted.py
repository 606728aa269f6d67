"""Are the figures by path on the pages (tests/support/docs/counted.py) the counts of today?"""

from __future__ import annotations

from pathlib import Path

import pytest

from kernometer.explain.cycles import modelled
from kernometer.explain.structure_factors import ROWS
from kernometer.guests import store
from kernometer.guests.kernels import trio
from kernometer.results.store import read_file
from kernometer.stats.figures import figures
from tests.support.cli.real import kernometer
from tests.support.docs import counted
from tests.support.trio.counts import tools_of


@pytest.mark.guest
@pytest.mark.slow(minutes=0.5)
@pytest.mark.parametrize("guest", counted.GUESTS)
def test_the_counts_on_the_pages_are_those_of_today(guest: str, linux_6_1: store.Guest, tmp_path: Path) -> None:
    """Expected: equal to the instruction, with the tools that they were counted with. Broken, as it was: paths that
    have changed since; COUNTED, and each page that has them, are to be written anew."""
    is_linux = guest == linux_6_1.name
    if not is_linux:
        trio.add(guest.removeprefix("trio-"))
    kernometer(tmp_path, "run", "--by", "path", "--on", f"qemu:{guest}", *ROWS)
    (file,) = tmp_path.glob("*.ndjson")
    result = read_file(file)
    assert result.header is not None
    found = figures(result)
    at = counted.GUESTS.index(guest)
    moved = {row: (round(found[row].value or 0), counts[at]) for row, counts in counted.COUNTED.items()}
    _processor, priced = modelled([result])
    for row, known in counted.CYCLES.items():
        moved[f"{row}, cycles"] = (round(priced[row].cycles.value), known[at])
        if guest == "trio-micro":
            moved[f"{row}, tagged"] = (round(priced[row].tagged.value), known[-1])
    moved = {row: (now, then) for row, (now, then) in moved.items() if now != then}
    release = result.header.uname["release"] if is_linux else counted.LINUX
    here = (tools_of(result), counted.busybox(), release)
    if here != (counted.TOOLS, counted.BUSYBOX, counted.LINUX):
        pytest.skip(f"nothing was counted with {', '.join(here)}; other than on the pages here: {moved}")
    assert moved == {}, "moved: now, and on the pages"
