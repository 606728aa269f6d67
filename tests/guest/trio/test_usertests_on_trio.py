"""Trio under the suite that Linux passes, and measured in its own units."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.trio.boot import Kernel, Machine, Outcome, boot, initramfs
from tests.support.trio.user_programs import PROGRAMS

pytestmark = pytest.mark.guest

#: What Trio does not have: each is said by the test that skips.
SKIPPED = {"copy_file_range", "thread_robust", "proc_zombie"}

#: What an ordinary user cannot be asked.
NOT_ROOT = ("only for root", "mounting is not permitted here")


def run(kernel: Kernel, programs: Path, *command: str, seconds: float, path: bool = False) -> Outcome:
    files = {f"bin/{each}": (programs / each).read_bytes() for each in PROGRAMS}
    return boot(kernel, initramfs(command, files), Machine(path=path), seconds=seconds)


@pytest.mark.slow(minutes=0.6)
@pytest.mark.parametrize("user", [(), ("-o",)], ids=["root", "ordinary"])
def test_trio_passes(kernel: Kernel, user_programs: Path, user: tuple[str, ...]) -> None:
    """Expected: what Linux does, and as many free pages after each test as before. Broken: the line that says FAIL."""
    ended = run(kernel, user_programs, "usertests", *user, seconds=300.0)
    lines = ended.bulk.decode().splitlines()
    assert [line for line in lines if line.startswith("FAIL")] == [], ended
    assert ended.status == 0, ended
    skipped = [line for line in lines if line.startswith("skip ") and not (user and line.endswith(NOT_ROOT))]
    assert {line.split()[1].rstrip(":") for line in skipped} <= SKIPPED


@pytest.mark.slow(minutes=0.07)
def test_every_unit_is_measured_by_path(kernel: Kernel, user_programs: Path) -> None:
    """Expected: a record of each row but those that no program can cause alone. Broken: an explanation lacks its unit
    cost."""
    ended = run(kernel, user_programs, "probe-trio", "--by", "path", "--profile", "full", seconds=120.0, path=True)
    records = [json.loads(line) for line in ended.bulk.decode().splitlines() if line.startswith("{")]
    rows = {row["row"] for each in records if each["type"] == "workload" for row in each["rows"]}
    assert len(rows) >= 19, ended
    assert [each for each in records if each["type"] == "error"] == []
    refused = {each["row"] for each in records if each["type"] == "unsupported"}
    of_mach = {row for row in rows if row.startswith("mach/")}
    assert of_mach
    assert refused == {"trio/notify", "trio/grant", "trio/irq"} | of_mach
    assert {each["row"] for each in records if each["type"] == "run"} == rows - refused
