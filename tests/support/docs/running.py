"""A page's commands in a copy of the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.checkout import copy_to

#: Seconds for one block.
LIMIT = 900


def copy_of_checkout(folder: Path) -> None:
    """The files that git has or would take: a page may change them."""
    copy_to(folder)
    (folder / ".venv").symlink_to(Path(sys.prefix))


def environment(folder: Path) -> dict[str, str]:
    """A reader's: this environment's commands, the copy's sources, a home with nothing in it."""
    home = folder.parent / "home"
    home.mkdir()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "KERNOMETER_"))}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**inherited, "PATH": path, "HOME": str(home), "PYTHONPATH": str(folder / "src")}


def run(script: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A block's commands in the page's folder."""
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        stdin=subprocess.DEVNULL,
    )
