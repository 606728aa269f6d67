"""Rights: a driver that is a process reaches its device because services.toml says so, and not without."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from kernometer.guests.kernels import trio
from tests.support.trio.boot import Kernel, Machine, boot, initramfs
from tests.support.trio.devices import DISK, SECONDS, numbered
from tests.support.trio.fixtures import Program

pytestmark = [pytest.mark.guest, pytest.mark.slow(minutes=0.19)]

SCRIPT = """
date -u +%Y
wc -c 2>&1 </dev/vda || echo no disk
draws; echo $?
echo heard >/dev/console
echo over
"""


@pytest.mark.parametrize(
    ("service", "year", "disk", "drawn", "heard"),
    [
        ("nobody", "2025", "8192", "0", True),
        ("serial", "2025", "8192", "0", False),
        ("clock", "1970", "8192", "0", True),
        ("virtio_blk", "2025", "no disk", "0", True),
        ("framebuffer", "2025", "8192", "1", True),
        ("vm", "2025", "8192", "2", True),
        ("bus", "2025", "no disk", "1", True),
    ],
)
def test_a_driver_without_its_rights_has_no_device_and_that_is_all(
    sources: Path, program: Program, tmp_path: Path, service: str, year: str, disk: str, drawn: str, heard: bool
) -> None:
    """Expected: its device is not there, or its memory cannot be mapped; the others are as ever, and the machine ends.
    Broken: a driver that reaches what no line of services.toml gives it."""
    changed = tmp_path / "trio"
    shutil.copytree(sources, changed)
    services = changed / "config" / "services.toml"
    before, at, own = services.read_text().partition(f"\n[{service}]\n")
    own, end, after = own.partition("\n\n")
    services.write_text(before + at + re.sub(r"(?m)^(ports|interrupts|devices) = .*\n?", "", own) + end + after)
    trio.build(changed, tmp_path / "build", "micro")
    kernel = Kernel.trio(tmp_path / "build" / trio.file_name("micro"))
    (tmp_path / "disk").write_bytes(numbered(16))
    files = {"bin/draws": program("draws"), "picture": bytes(range(256)) * 3000}
    machine = Machine(path=True, type="pc", more=(*DISK, "-device", "VGA"))
    ended = boot(kernel, initramfs(("sh", "-c", SCRIPT), files), machine, seconds=SECONDS, keep=tmp_path)
    lines = ended.bulk.decode().splitlines()
    assert (lines[0], lines[-3], lines[-2], lines[-1]) == (year, disk, drawn, "over"), ended
    assert (b"heard" in ended.console) == heard, ended
    assert (ended.status, ended.qemu_status) == (0, 0), ended
