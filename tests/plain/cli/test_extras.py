"""What a library of an extra is missing for says so, and how to install it."""

from __future__ import annotations

import re
import subprocess
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
#: What imports every module without the libraries of the extras, and prints those that need one.
WITHOUT = """
import importlib, pkgutil, sys
import kernometer
from kernometer.errors import LibraryError
sys.modules.update(dict.fromkeys(sys.argv[1:]))
for module in pkgutil.walk_packages(kernometer.__path__, "kernometer."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except LibraryError:
            print(module.name)
"""


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


def test_only_the_console_target_needs_an_extras_library_to_be_imported() -> None:
    """Expected: of all modules three. Broken: guests and all other targets fail where an extra is not installed."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = [re.split(r"[^\w-]", name)[0].replace("-", "_") for each in extras.values() for name in each]
    blocked = [{"vl_convert_python": "vl_convert"}.get(name, name) for name in names if name != "kernometer"]
    done = subprocess.run([sys.executable, "-c", WITHOUT, *blocked], capture_output=True, text=True, timeout=120)
    targets = "kernometer.targets"
    console = [f"{targets}.console", f"{targets}.consoles.dialogue", SERIAL]
    assert (done.stdout.split(), done.stderr) == (console, "")
