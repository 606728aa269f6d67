"""A driver's process that ends, or is replaced, under load: does its user see anything but a delay?"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kernometer.faults.minixfs import Image
from tests.support.checkout import KEPT, alone, made
from tests.support.faults.mending import Mendable
from tests.support.trio.boot import Kernel, Machine, Outcome, boot, initramfs, virtio_disk
from tests.support.trio.fixtures import Program
from tests.support.trio.minixfs import make, sound
from tests.support.trio.variants import continued

pytestmark = pytest.mark.guest

SECONDS = 240.0
UPDATES, STOPS = 12, 5
RAM_BLOCK, VIRTIO_BLK = "/dev/ram0", "/dev/vda"
#: rs gives up at the ninth end in a short time.
ENDS_MOST = 8


@pytest.fixture(scope="module")
def programs(sources: Path) -> dict[str, bytes]:
    """A kernel, and two builds of each driver for disks, one of which checks itself, by the name of a file."""
    files = [f"micro/domains/{driver}.program" for driver in ("ram_block", "virtio_blk")]
    with alone("hostile"):
        folder = continued(sources, "micro")
        found = {f"{Path(each).stem}.plain": (folder / each).read_bytes() for each in files}
        found["kernel"] = (folder / "trio-micro.elf").read_bytes()
    folder = KEPT / "checked-drivers"
    words = ("STRUCTURE=micro", "SWITCHES=-DTRIO_CHECKED", *(str(folder / each) for each in files))
    made(sources, folder, *words)
    return found | {f"{Path(each).stem}.checked": (folder / each).read_bytes() for each in files}


@pytest.fixture(scope="module")
def kernel(programs: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    file = tmp_path_factory.mktemp("micro") / "trio-micro.elf"
    file.write_bytes(programs["kernel"])
    return Kernel.trio(file)


def reincarnated(
    kernel: Kernel, program: Program, programs: dict[str, bytes], image: Path, driver: str, *, path: bool = False
) -> tuple[list[str], str]:
    """What the program says, and the console."""
    disk = RAM_BLOCK if driver == "ram_block" else VIRTIO_BLK
    files = {each: content for each, content in programs.items() if each.startswith(driver)}
    fill = "cat /image >/dev/ram0; " if driver == "ram_block" else ""
    script = f"set -e; mkdir /mnt; {fill}mount -t minix {disk} /mnt; cd /mnt; "
    updates = UPDATES if files else 0
    script += f"reincarnated {driver} {updates} {STOPS} {' '.join(f'/{each}' for each in files)}; cd /; umount /mnt"
    files |= {"bin/reincarnated": program("reincarnated"), "image": image.read_bytes()}
    more = virtio_disk(image) if disk == VIRTIO_BLK else ()
    ended = boot(kernel, initramfs(("sh", "-c", script), files), Machine(more=more, path=path), seconds=SECONDS)
    assert ended.status == 0, ended
    return ended.bulk.decode().splitlines(), ended.console.decode(errors="replace")


@pytest.mark.parametrize("driver", ["virtio_blk", "ram_block"])
def test_a_disks_driver_is_replaced_and_stopped_under_load_and_nothing_is_lost(
    kernel: Kernel, program: Program, programs: dict[str, bytes], tmp_path: Path, driver: str
) -> None:
    """Expected: no error, no wrong byte, a sound disk. Broken: a request under way that is lost or answered twice."""
    image = tmp_path / "image"
    make(image, 4096, 4096, 512)
    said, console = reincarnated(kernel, program, programs, image, driver)
    assert said[0] == f"starts {1 + UPDATES + STOPS} errors 0 wrong 0", (said, console)
    assert int(said[1].removeprefix("rounds ")) > 1, said
    assert console.count(f"trio: {driver} ends: another program takes its place") == UPDATES
    assert console.count(f"trio: {driver} ends: it was stopped") == STOPS
    if driver == "virtio_blk":
        assert set(sound(image).tree()) == {"/", "/file"}


def test_the_file_system_is_stopped_under_load_and_what_was_synced_is_there(
    kernel: Kernel, program: Program, programs: dict[str, bytes], tmp_path: Path
) -> None:
    """Expected: who wrote is told by fsync, once for each end, that it may be lost; what fsync answered for is there;
    on the disk nothing is wrong but marks without an owner, as after a power cut. Broken: a write that is lost in
    silence, a node that stands for another file."""
    image = tmp_path / "image"
    make(image, 4096, 4096, 512)
    said, console = reincarnated(kernel, program, programs, image, "fs")
    found = re.fullmatch(r"starts (\d+) errors (\d+) wrong 0", said[0])
    assert found, (said, console)
    assert int(found[1]) == 1 + STOPS, console
    assert int(found[2]) <= 2 * STOPS, said
    left = Image(Mendable(image.read_bytes()).mended())
    assert left.wrong == []
    assert set(left.tree()) == {"/", "/file"}


LOST_BY_FS = """cd /mnt; echo synced >file; sync; echo unsynced >other
exec 3>>file 4<other; rm other; echo more >&3; rs stop fs >/dev/null; cat file; ls; cat <&4
echo again >&3; sync; cat file"""
#: Nobody has the file open in between, and vfs has forgotten it for others.
TOLD_ONCE = """cd /mnt; for i in $(seq 100); do echo >f$i; done; echo synced >a; sync; echo more >>a
cat f* >/dev/null; rs stop fs >/dev/null
for i in 1 2; do dd if=/dev/null of=a conv=notrunc,fsync 2>/dev/null; echo $?; done; cat a"""


@pytest.fixture
def in_guest(kernel: Kernel, user_programs: Path, tmp_path: Path) -> Callable[[str, str], Outcome]:
    """What becomes of a script, with a disk of that name mounted at /mnt."""

    def run(script: str, disk: str) -> Outcome:
        image = tmp_path / "image"
        make(image, 4096, 4096, 512)
        files = {"bin/rs": (user_programs / "rs").read_bytes(), "image": image.read_bytes()}
        begin = f"mkdir /mnt; {'cat /image >/dev/ram0; ' if disk == RAM_BLOCK else ''}mount -t minix {disk} /mnt; "
        machine = Machine(more=virtio_disk(image))
        return boot(kernel, initramfs(("sh", "-c", begin + script), files), machine, seconds=SECONDS)

    return run


@pytest.mark.parametrize("disk", [VIRTIO_BLK, RAM_BLOCK])
def test_the_next_fsync_of_a_file_says_that_a_change_is_lost(
    in_guest: Callable[[str, str], Outcome], disk: str
) -> None:
    """Broken: an fsync that answers for what an fs before did not write. The memory disk makes nobody wait."""
    ended = in_guest(TOLD_ONCE, disk)
    assert ended.bulk.decode().splitlines() == ["1", "0", "synced"], ended


def test_what_the_file_system_loses_and_what_it_keeps(in_guest: Callable[[str, str], Outcome]) -> None:
    """Expected: the disk's state; a descriptor of a file that has a name there goes on, another's is stale."""
    ended = in_guest(LOST_BY_FS, VIRTIO_BLK)
    assert ended.bulk.decode().splitlines() == ["synced", "file", "synced", "again"], ended
    assert "Stale file handle" in ended.console.decode(), ended


def test_who_may_replace_what(kernel: Kernel, programs: dict[str, bytes], user_programs: Path) -> None:
    """Expected: root alone, programs alone, what begins anew alone; nothing has ended after all that."""
    script = """n() { "$@" 2>&1 | sed 's/.*: //'; }
n rs update nobody /p; n rs update pm /p; n rs update serial /text; n rs update serial /dev/null; n rs stop nobody
n su u -c 'rs stop serial'
rs | sed 1d | while read name life starts rest; do echo $name $life $starts; done"""
    files = {"p": programs["ram_block.plain"], "text": b"#!/bin/sh\n", "etc/passwd": b"u:x:1000:1000::/:/bin/sh\n"}
    files |= {"bin/rs": (user_programs / "rs").read_bytes()}
    ended = boot(kernel, initramfs(("sh", "-c", script), files), seconds=SECONDS)
    lines = ended.bulk.decode().splitlines()
    assert lines[:6] == [
        "No such file or directory",
        *("Invalid argument" for _ in range(3)),
        "No such file or directory",
        "Operation not permitted",
    ], ended
    assert {line.split(" ", 1)[1] for line in lines[6:]} == {"runs 1"}, ended


@pytest.mark.slow(minutes=0.06)
def test_a_driver_that_ends_again_and_again_is_given_up(kernel: Kernel, user_programs: Path) -> None:
    """Expected: each time later, then not at all: EIO for who needs it, and the rest goes on."""
    script = """i=0; while [ $i -lt 12 ]; do rs stop clock >/dev/null 2>&1 || break; i=$((i + 1)); done
echo stopped $i; rs | grep clock | while read name life rest; do echo $life; done"""
    ended = boot(
        kernel, initramfs(("sh", "-c", script), {"bin/rs": (user_programs / "rs").read_bytes()}), seconds=SECONDS
    )
    assert ended.bulk.decode().splitlines() == [f"stopped {ENDS_MOST}", "lost"], ended
    assert "trio: rs gives clock up: it has ended 9 times" in ended.console.decode()
