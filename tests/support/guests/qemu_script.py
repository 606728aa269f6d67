"""A QEMU that is a script: what tests of targets that boot something put into its place."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.checkout import share_compiled

if TYPE_CHECKING:
    import pytest


def prepare(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Cache, temporary files and first programs in folders below `folder`."""
    for name in ("cache", "tmp", "bin"):
        (folder / name).mkdir()
    share_compiled(folder / "cache")
    patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    patch.setenv("TMPDIR", str(folder / "tmp"))
    patch.setattr("tempfile.tempdir", None)
    patch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")


def place(folder: Path, script: str) -> None:
    """QEMU as these lines of Python, which have `os`, `signal`, `sys`, `time` and `Path`; asked for it, it says its
    version."""
    program = folder / "bin" / "qemu-system-x86_64"
    program.write_text(
        f"#!{sys.executable}\nimport os, signal, sys, time\nfrom pathlib import Path\n"
        f"if '--version' in sys.argv:\n    print('QEMU emulator version 7.2.22')\n    sys.exit()\n{script}\n"
    )
    program.chmod(0o755)


#: What the plugin writes if no region executed a string instruction: then every count stays as it came.
_NOTHING = {"complete": 0, "cut_off": 0, "counts": {}, "each": [], "repeated": []}
EVENTS = json.dumps({"api": 1, "regions": {str(number): _NOTHING for number in range(1000)}})


def give_plugin(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """A plugin that need not be compiled; its output, which a script of QEMU copies, is the file `events`."""
    (folder / "events").write_text(EVENTS)
    patch.setattr("kernometer.guests.plugins.build", lambda *_: folder / "plugin.so")
