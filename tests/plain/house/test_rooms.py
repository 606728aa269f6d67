"""`make test WHAT=FOLDER`: does the table of docs/development.md know every folder, every room, and who uses what?"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from tests.support.checkout import ROOT, names
from tests.support.rooms import KINDS, room, table

FOLDERS = {name.split("/")[2] for name in names() if name.startswith("src/kernometer/") and name.count("/") > 2}
#: Folders at the top level with sources or texts that tests concern.
OTHERS = {"probe", "trio", "studies", "docs", "scripts", "packaging", "tests"}
#: A room of whose modules this share imports a folder is in that folder's row.
SHARE = 0.25


def modules_of_rooms() -> dict[str, list[Path]]:
    """By room."""
    found = defaultdict(list)
    for name in names():
        if Path(name).name.startswith("test_") and name.endswith(".py") and (inside := room(name)):
            found[inside].append(ROOT / name)
    return found


def imported(path: Path) -> set[str]:
    """Folders of the package that a test module imports."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            modules.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {name.split(".")[1] for name in modules if name.startswith("kernometer.")} & FOLDERS


def test_every_folder_of_the_sources_has_a_row() -> None:
    assert set(table()) == FOLDERS | OTHERS


def test_every_room_is_in_a_row_and_every_row_names_rooms() -> None:
    """Expected: no test that no folder runs. Broken: a folder of tests was renamed."""
    assert {inside for rooms in table().values() for inside in rooms} == set(modules_of_rooms())
    assert all(rooms and rooms[0] == folder for folder, rooms in table().items() if folder in modules_of_rooms())


def test_a_row_has_the_rooms_that_use_the_folder() -> None:
    """Expected: as the page says. Broken: `make test WHAT=stats` misses the room that calls it in each module."""
    for inside, paths in modules_of_rooms().items():
        uses = [imported(path) for path in paths]
        for folder in FOLDERS:
            if sum(folder in each for each in uses) >= SHARE * len(paths):
                assert inside in table()[folder], f"{inside} uses {folder}"


def test_tests_are_in_a_room_of_a_kind() -> None:
    """Expected: beside the rooms are only the rules of the whole house and the modules next to the folders."""
    found = {name for name in names() if name.startswith("tests/") and Path(name).name.startswith("test_")}
    assert {name for name in found if name.endswith(".py") and not room(name)} == {
        "tests/test_architecture.py",
        "tests/plain/test_cache.py",
    }
    assert {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name[0] not in "_."} == {
        *KINDS,
        "support",
        "campaigns",
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tests/plain/stats/test_gate.py", "stats"),
        ("tests/guest/trio", "trio"),
        ("tests/plain/test_cache.py", None),
        ("tests/support/stats/rates.py", None),
        ("tests/plain", None),
    ],
)
def test_the_room_of_a_path(name: str, expected: str | None) -> None:
    assert room(name) == expected
