"""Where the report is written to something that is no file."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

from kernometer.report.write.file import write


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    """Expected: its reader gets the page. Broken: a file takes its place; with /dev/null, on the whole system."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    write(pipe, "<p>page</p>")
    reader.join(20)
    assert got == ["<p>page</p>"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
