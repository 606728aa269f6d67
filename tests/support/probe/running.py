"""What the tests of the probe share: its records, and its processes while it runs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernometer.targets import build
from tests.support.checkout import KEPT, alone, made

PROBE = Path(__file__).parents[3] / "probe"
#: The least that a run needs.
TINY = ("--runs", "1", "--seconds", "0.02")
#: Busy for many seconds in one process, so that there is something to kill. It needs a batch.
LONG = ("--only", "time", "--runs", "1", "--samples", "4096", "--seconds", "30")
#: One for rows that are over in microseconds: 4096 calibrated samples of them take less than finding one does.
BATCHED = ("--batch", "2000")
#: Switches after which a run is in its measuring loop: before, it may have children that try something out.
WAITED = 20
#: A wait's limit, far beyond what a busy machine takes.
LIMIT_SECONDS = 300.0


def built(compiler: str, flags: str, linking: str = "") -> Path:
    """The probe as a developer builds it, from the separate files; kept for the next time."""
    name = re.sub(r"\W+", "-", f"probe {compiler} {flags} {linking}".strip())
    words = (f"CC={compiler}", f"CFLAGS={flags}", f"LDFLAGS={linking}")
    return made(PROBE, KEPT / name, *words) / "probe"


def give_probe(cache: Path, frontends_probe: Path) -> None:
    """Puts the front end's probe into the cache of this XDG_CACHE_HOME, where whoever would compile it finds it."""
    there = cache / "kernometer" / frontends_probe.parent.name / frontends_probe.name
    with alone("probe"):
        if not there.exists():
            there.parent.mkdir(parents=True, exist_ok=True)
            there.unlink(missing_ok=True)  # that of a cache that is gone
            there.symlink_to(frontends_probe)


def quickly_built(folder: Path, *flags: str) -> Path:
    """The probe from its one file, by a compiler that does not optimise: tcc, in a tenth of the time, or cc."""
    source = folder / "probe.c"
    source.write_text(build.amalgam())
    compiler = ("tcc",) if shutil.which("tcc") else ("cc", "-O0")
    words = (*compiler, *flags, "-o", str(folder / "probe"), str(source), "-lpthread")
    subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)
    return folder / "probe"


def records(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def of_type(text: str, kind: str) -> list[dict[str, Any]]:
    return [record for record in records(text) if record["type"] == kind]


def counted(text: str) -> list[dict[str, Any]]:
    """The first timed run of every row, with what its counting run counted."""
    runs = {run["row"]: run for run in reversed(of_type(text, "run"))}
    return [{**runs[one["row"]], **one} for one in of_type(text, "count") if one["row"] in runs]


def measure(probe: Path, folder: Path, *words: str) -> str:
    """The probe's output; nothing of it may be left in its folder."""
    done = subprocess.run(
        [probe, "--dir", folder, *words], capture_output=True, text=True, timeout=5 * LIMIT_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(folder.iterdir()) == []
    return done.stdout


def parent_of(process: int) -> int:
    """-1 when it is gone or only waits to be reaped."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return -1
    return -1 if fields[0] in "ZX" else int(fields[1])


def children(process: int) -> list[int]:
    found = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return sorted(child for child in found if parent_of(child) == process)


def switches(process: int) -> int:
    """How often it has given up the processor, or lost it; -1 when it is gone."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return -1
    return sum(int(words[1]) for line in status.splitlines() if "ctxt_switches" in (words := line.split())[0])


def until(what: Callable[[], Any], text: str) -> Any:
    """What `what` answers, once it is true."""
    limit = time.monotonic() + LIMIT_SECONDS
    while not (answer := what()):
        assert time.monotonic() < limit, text
        time.sleep(0.005)
    return answer


@dataclass
class Running:
    """A probe under way, its measuring process, and that one's processes at some moment."""

    driver: subprocess.Popen[str]
    run: int
    peers: list[int]

    def finish(self) -> str:
        """Its output, once every one of its processes has gone."""
        text, _ = self.driver.communicate(timeout=LIMIT_SECONDS)
        until(lambda: all(parent_of(p) < 0 for p in (self.run, *self.peers)), "a process is left")
        return text
