"""The seam: a thin slice of services, the same objects in three structures, each on the real kernel."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernometer.cache import sha256, source_folder
from tests.trio.boot import DEBUG_EXIT, Inside, Kernel, Machine, boot

STRUCTURES = ("mono", "hybrid", "micro")
#: What program.S of the slice ends the machine with if every step was right; else the number of the step.
ALL_RIGHT = 42
MAKE_SECONDS = 300


def made(structure: str, folder: Path) -> Path:
    """Builds the slice of one structure in `folder`."""
    words = ("make", "-C", str(source_folder("trio")), f"BUILD={folder}", f"STRUCTURE={structure}", "slice")
    done = subprocess.run(words, capture_output=True, text=True, timeout=MAKE_SECONDS, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return folder / f"slice-{structure}.elf"


@pytest.mark.guest
@pytest.mark.slow(minutes=2)
def test_a_service_answers_waits_and_is_asked_for_pages_in_three_structures(tmp_path: Path) -> None:
    """Expected: an answer at once, one that waits for another task, pages by faults, from one object a service. Broken:
    a structure in which a parked request is lost, or that needs its own build of a service."""
    digests = set()
    for structure in STRUCTURES:
        machine = Machine(path=True, more=DEBUG_EXIT)
        ended = boot(Kernel.trio(made(structure, tmp_path)), Inside(b"", b""), machine, seconds=120)
        assert ended.debug_exit == ALL_RIGHT, f"{structure}: {ended}"
        objects = sorted((tmp_path / structure / "slice").glob("*.o"))
        digests.add(sha256(b"".join(each.read_bytes() for each in objects)))
    assert len(objects) >= 3
    assert len(digests) == 1
