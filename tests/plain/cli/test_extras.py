"""What a library of an extra is missing for says so, and how to install it."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from importlib import import_module

import pytest

from kernometer.errors import MissingError
from kernometer.report.literature.draw import picture
from kernometer.report.literature.points import Drawing
from kernometer.stats.changes import FEWEST, change_points
from kernometer.targets.consoles.media import iso
from tests.support.checkout import ROOT

SERIAL = "kernometer.targets.consoles.serial"


def console() -> object:
    del sys.modules[SERIAL]
    return import_module(SERIAL)


@pytest.mark.parametrize(
    ("library", "extra", "call"),
    [
        ("vl_convert", "figures", lambda: picture(Drawing.__new__(Drawing), "svg")),
        ("ruptures", "changes", lambda: change_points([*map(float, range(FEWEST))])),
        ("pycdlib", "console", lambda: iso({})),
        ("pexpect", "console", console),
    ],
)
def test_a_missing_library_is_named_with_its_extra(
    library: str, extra: str, call: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: status 6, and the command that installs it. Broken: an ImportError, or a call without the library."""
    monkeypatch.setitem(sys.modules, SERIAL, import_module(SERIAL))  # as it was, when the test is over
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingError, match=" needs ") as told:
        call()
    assert f"'kernometer[{extra}]'" in told.value.next_step
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert any(name.replace("-", "_").startswith(library) for name in extras[extra])
