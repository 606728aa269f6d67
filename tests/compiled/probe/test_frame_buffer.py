"""Rows of the frame buffer, on a screen that is a file: what they draw is checked, and what was there comes back."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.probe.outcomes import BY_PATH, Outcome, listed, start
from tests.support.probe.running import TINY

#: screen.c's: bytes of the screen's memory.
SCREEN_BYTES = 2048 * 400
FILL = "fb/fill@width=64,height=64"
DRIVERS = {"bochs-drm": "bochs-drmdrmfb", "vesafb": "VESA VGA"}

Draw = Callable[..., Outcome]


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("shim") / "screen.so"
    source = Path(__file__).with_name("screen.c")
    subprocess.run(("cc", "-shared", "-fPIC", "-o", str(made), str(source)), check=True, timeout=60)
    return made


@pytest.fixture
def screen(tmp_path: Path) -> Path:
    path = tmp_path / "screen"
    path.write_bytes(os.urandom(SCREEN_BYTES))
    return path


@pytest.fixture
def draw(probe: Path, shim: Path, screen: Path, tmp_path: Path) -> Draw:
    """Runs the probe with that screen; capital words are the shim's."""

    def drawn(*words: str, **given: str) -> Outcome:
        usual = {"SCREEN": str(screen), "SCREEN_DRIVER": "a driver", "SCREEN_BITS": "32", "SCREEN_WIDTH": "400"}
        env = {"LD_PRELOAD": str(shim), **usual, **{f"SCREEN_{name.upper()}": value for name, value in given.items()}}
        return start(probe, "--dir", str(tmp_path), *words, env=env)

    return drawn


def test_every_row_draws_what_it_should_and_puts_back_what_was_there(draw: Draw, screen: Path) -> None:
    """Expected: a figure and a remark of each row, the screen's memory as before. Broken: a row that passes without
    drawing, or leaves its picture on the user's screen."""
    before = screen.read_bytes()
    found = draw(*TINY, "--profile", "full", "fb/*")
    assert found.of("error") == []
    by_path = [record["row"] for record in found.of("unsupported")]
    assert all(row.endswith(tuple(DRIVERS)) for row in by_path)
    runs = found.of("run")
    assert len(runs) == 21
    assert all(run["warnings"][0]["text"].startswith("the frame buffer was a driver, 400 x 330") for run in runs)
    assert screen.read_bytes() == before


@pytest.mark.parametrize("tag", DRIVERS)
def test_by_path_the_driver_is_the_one_that_the_row_names(draw: Draw, tag: str) -> None:
    """Expected: rows of this driver run, those of the other say which one is here and which word names the other.
    Broken: figures of one driver under the other's name."""
    found = draw(*BY_PATH, f"{FILL},bochs-drm", f"{FILL},vesafb", driver=DRIVERS[tag])
    assert [run["row"] for run in found.of("run")] == [f"{FILL},{tag}"]
    (other,) = found.of("unsupported")
    (missing,) = set(DRIVERS) - {tag}
    assert (
        other["reason"]
        == f"the frame buffer here is {DRIVERS[tag]}: for this row add display={missing} to the guest's name"
    )


def test_another_kernels_driver_for_the_same_display_is_measured_by_the_same_row(draw: Draw) -> None:
    """Expected: Trio's driver for bochs-display counts as the one for that display. Broken: no row can be compared."""
    found = draw(*BY_PATH, f"{FILL},bochs-drm", f"{FILL},vesafb", driver="bochs-display")
    assert [run["row"] for run in found.of("run")] == [f"{FILL},bochs-drm"]
    assert [record["row"] for record in found.of("unsupported")] == [f"{FILL},vesafb"]


@pytest.mark.parametrize(
    ("row", "accident", "said"),
    [
        (FILL, "wrong", "pixel 32, 0 is"),
        (FILL, "short", "pwrite"),
        ("fb/cursor@size=16", "wrong", "pixel "),
        ("fb/fill-mmap@width=64,height=64", "private", "pixel 0, 0 is"),
        ("fb/rotate-mmap@width=64,height=64", "private", "pixel 0, 0 is"),
    ],
)
def test_what_was_drawn_wrongly_is_an_error(draw: Draw, row: str, accident: str, said: str) -> None:
    """Expected: the pixel, or the call. Broken: a driver that draws nothing is a fast one."""
    found = draw(*TINY, row, accident=accident)
    assert found.of("run") == []
    (error,) = found.of("error")
    assert said in error["text"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"accident": "ENOENT"}, "there is no frame buffer here (/dev/fb0: ENOENT): measure it in a guest"),
        ({"accident": "EACCES"}, "may not be opened by this user"),
        ({"bits": "16"}, "its pixels are not of 32 bits"),
        ({"width": "63"}, "too small"),
    ],
)
def test_a_screen_that_will_not_do_is_a_reason(draw: Draw, given: dict[str, str], said: str) -> None:
    found = draw(*TINY, FILL, **given)
    (record,) = found.of("unsupported")
    assert said in record["reason"]
    assert found.status == 0


def test_without_a_frame_buffer_the_row_by_path_names_the_guest_that_has_one(draw: Draw) -> None:
    """Expected: the variant to measure on. Broken: an error, or a row that is silently left out."""
    (record,) = draw(*BY_PATH, f"{FILL},vesafb", accident="ENOENT").of("unsupported")
    assert "ENOENT" in record["reason"]
    assert record["reason"].endswith("such as linux-6.1+machine=pc+display=vesafb")


def test_the_list_says_which_rows_need_which_display(probe: Path) -> None:
    """Expected: by path, rows with a driver; by time, rows without. Broken: a session plans rows that cannot be."""
    full = ("--profile", "full")
    by_path = listed(probe, *BY_PATH, *full, "fb/*")
    for tag in DRIVERS:
        tagged = [row for name, row in by_path.items() if name.endswith(tag)]
        assert len(tagged) == 21
        assert all((row["needs"], row["unsupported"], row["params"]["display"]) == ([tag], "", tag) for row in tagged)
    assert all("bochs-drm or vesafb" in row["unsupported"] for name, row in by_path.items() if not row["needs"])
    by_time = [name for name in listed(probe, *full) if name.startswith("fb/")]
    assert len(by_time) == 21
    assert not any(name.endswith(tuple(DRIVERS)) for name in by_time)
    assert not [name for name in listed(probe) if name.startswith("fb/")]
