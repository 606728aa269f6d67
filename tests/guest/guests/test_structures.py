"""`kernometer structures` whole, in real guests: with no Linux to be had, then with one; both in one report."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import msgspec
import pytest

from kernometer.explain.structure_factors import ROWS, SYSTEMS
from kernometer.guests import store
from kernometer.guests.kernels import linux
from kernometer.results.store import Store
from tests.support.cli.real import kernometer
from tests.support.guests.repository import Repository

pytestmark = pytest.mark.guest


def give_linux(guest: store.Guest, cache: Path) -> None:
    """A kernel of another cache as the guest of this release's Linux."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        with store.new_folder() as folder:
            shutil.copytree(guest.folder, folder, dirs_exist_ok=True)
            store.keep(folder, msgspec.structs.replace(guest.manifest, name=linux.name_of(None)))


@pytest.mark.slow(minutes=1.6)
def test_the_whole_story(linux_6_1: store.Guest, mirror: Repository, tmp_path: Path) -> None:
    """Expected: with a mirror that has no kernel, Trio's structures and a word about Linux; with Linux, both factors,
    nothing compiled again, and a page with the machine's session, each operation and its waterfall. Broken: an answer
    by hand, or none because one part is missing."""
    mirror.system("bookworm")
    folder, page = tmp_path / "store", tmp_path / "report.html"
    kernometer(folder, "run", "--runs", "2", "--seconds", "0.005", "--label", "machine", "syscall/getppid@")
    words = ("structures", "--also", "machine", "--report", str(page))

    alone = kernometer(folder, *words, *ROWS[:2], status=1)
    assert "linux is left out: " in alone.stderr
    assert alone.stderr.count("compiling …") == 3
    assert "Left out: linux. " in alone.stdout
    assert "Structure: micro takes" in alone.stdout and "Way of writing: " not in alone.stdout
    assert max(map(len, alone.stdout.splitlines())) <= 80
    assert "Left out: linux." in page.read_text()

    give_linux(linux_6_1, Path(os.environ["XDG_CACHE_HOME"]))
    asked = len(mirror.asked)
    whole = kernometer(folder, *words, "--json")
    assert "compiling …" not in whole.stderr
    assert len(mirror.asked) == asked
    told = json.loads(whole.stdout)
    found = {each["row"]: each["instructions"] for each in told["rows"]}
    assert found.keys() == {row.removesuffix("@") for row in ROWS}
    assert all(each.keys() == set(SYSTEMS) and each["mono"] < each["micro"] for each in found.values())
    assert told["left_out"] == {}
    factors = told["factors"]
    assert factors["domains"]["mean"] * factors["spaces"]["mean"] == pytest.approx(factors["structure"]["mean"])
    assert factors["written"]["operations"] == factors["structure"]["operations"] == len(ROWS)
    assert sum(told["events"].values()) == pytest.approx(1)
    assert len(told["costs"]["rows"]) == len(ROWS)

    text = page.read_text().replace("<wbr>", "")
    assert "Left out" not in text
    assert text.count('class="fall"') == len(ROWS)
    assert all(row in text for row in found)
    machine = Store(folder).load("machine")
    assert machine.session.id in text  # the machine's own session is on the same page
