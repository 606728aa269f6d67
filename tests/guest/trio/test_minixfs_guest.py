"""Trio's disk file system in the machine: do programs find their files on a virtio disk, and is the disk sound then?"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kernometer.guests.architecture import MachineType
from tests.support.guests.monitor import Monitor
from tests.support.trio.boot import Kernel, Machine, boot, initramfs, virtio_disk
from tests.support.trio.devices import TYPES
from tests.support.trio.fixtures import Program
from tests.support.trio.live import MONITOR, live
from tests.support.trio.minixfs import make, sound
from tests.support.trio.partitions import BRIEFLY_IN_TURN, MONO_AND_IN_TURN
from tests.support.turns import in_turn, some

pytestmark = pytest.mark.guest
BRIEFLY = pytest.mark.parametrize("kernel", BRIEFLY_IN_TURN, indirect=True)

HERE = Path(__file__).parent
SECONDS = 120.0


def on_disk(
    kernel: Kernel,
    image: Path,
    *command: str,
    files: dict[str, bytes],
    bad_sector: int | None = None,
    board: MachineType = "microvm",
) -> bytes:
    """What the command says with the image as its virtio disk, of which a sector cannot be read where one is given."""
    machine = Machine(type=board, more=virtio_disk(image, bad_sector))
    ended = boot(kernel, initramfs(command, files), machine, seconds=SECONDS)
    assert ended.status == 0, ended
    return ended.bulk


@BRIEFLY
@pytest.mark.parametrize("board", some(TYPES, 0.03, every=3))
def test_a_tree_an_archive_and_a_program_on_a_virtio_disk_and_a_sound_disk_after(
    kernel: Kernel, tmp_path: Path, board: MachineType
) -> None:
    """Expected: what tree.sh says, and fsck.minix finds nothing. Broken: a wait for the disk that loses or repeats a
    part of a call, or something that unmounting did not write."""
    image = tmp_path / "image"
    make(image, 8192, 1024, 1024)
    files = {"bin/tree": (HERE / "tree.sh").read_bytes()}
    said = on_disk(kernel, image, "sh", "/bin/tree", "/dev/vda", files=files, board=board)
    lines = said.decode().splitlines()
    assert lines[:3] == ["file 2", "file 1", "run from the disk"]
    assert lines[-1] == "9"
    tree = sound(image).tree()
    assert tree["/hard"] == b"file 1\n"
    assert tree["/soft"] == b"a/b/f2"
    assert {name for name in tree if name.startswith("/x/moved/")} == {
        *(f"/x/moved/f{each}" for each in (1, 2, 4, 5, 6, 7, 8, 9)),
        "/x/moved/c",
    }


@BRIEFLY
def test_what_sync_answered_for_is_on_the_disk_when_the_machine_stops(kernel: Kernel, tmp_path: Path) -> None:
    """Expected: the machine ends with the disk mounted; what was synced is there, and nothing is wrong but marks."""
    image = tmp_path / "image"
    make(image, 4096, 4096, 512)
    script = "mkdir /mnt; mount -t minix /dev/vda /mnt; cd /mnt; mkdir d; echo kept >d/file; sync; echo >d/more; sync"
    on_disk(kernel, image, "sh", "-c", script, files={})
    assert sound(image).tree()["/d/file"] == b"kept\n"


#: The suite from the disk and on it, where nothing of the program or of its files' attributes is in memory yet.
COLD = """mkdir /mnt; mount -t minix /dev/vda /mnt; cp /bin/usertests /bin/busybox /mnt; umount /mnt
mount -t minix /dev/vda /mnt
for i in 1 2 3 4; do /mnt/busybox true & done; wait
TMPDIR=/mnt /mnt/usertests mapped_ protection_ mmap_file_offset mmap_beyond_end exec_ pipe_
umount /mnt"""


@pytest.mark.parametrize("kernel", MONO_AND_IN_TURN, indirect=True)
@pytest.mark.parametrize("block", in_turn([1024, 4096], 0.1, always=[1024]))
def test_pages_of_files_and_programs_come_from_a_cold_disk(
    kernel: Kernel, user_programs: Path, tmp_path: Path, block: int
) -> None:
    """Expected: every question is answered as on Linux, and the disk is not busy after. Broken: a page that does not
    come or comes wrong, a call that takes one that has to be read for one that is not there."""
    image = tmp_path / "image"
    make(image, 16 * 1024 * 1024 // block, block, 1024)
    said = on_disk(
        kernel, image, "sh", "-ec", COLD, files={"bin/usertests": (user_programs / "usertests").read_bytes()}
    )
    lines = said.decode().splitlines()
    assert [line for line in lines if line.startswith("FAIL")] == []
    assert lines[-1].endswith(" 0 failed, 0 skipped")
    sound(image)


@BRIEFLY
def test_a_disk_that_stalls_keeps_nobody_from_being_killed(kernel: Kernel, program: Program, tmp_path: Path) -> None:
    """Expected: as on Linux, SIGKILL ends a mincore whose answer belongs on a page that the disk has, at once; mlock
    waits for its page whatever other signal comes. Broken: EINTR, or a process that waits for the disk to be killed."""
    image = tmp_path / "image"
    make(image, 4096, 4096, 512)
    script = """
        exec </dev/console >/dev/console; stty -echo
        mkdir /mnt; mount -t minix /dev/vda /mnt; head -c 262144 /dev/zero >/mnt/file; umount /mnt
        mount -t minix /dev/vda /mnt; stalled /mnt/file; umount /mnt
    """
    drive = ("-drive", f"file={image},if=none,id=disk,format=raw", "-device", "virtio-blk-pci,drive=disk")
    inside = initramfs(("sh", "-c", script), {"bin/stalled": program("stalled")})
    others = dict.fromkeys(("bps_rd", "bps_wr", "iops", "iops_rd", "iops_wr"), 0)
    with live(kernel, inside, Machine(more=drive), tmp_path) as machine:
        machine.hear(b"ready")
        monitor = Monitor(tmp_path / MONITOR)
        monitor.ask("block_set_io_throttle", device="disk", bps=1, **others)
        machine.say(b"\n")
        machine.hear(b"killed 9\r\n")
        monitor.ask("block_set_io_throttle", device="disk", bps=0, **others)
        machine.hear(b"locked 0\r\n")
        machine.hear(b"touched 0\r\n")
        assert machine.ended() == 0
    sound(image)


def first_page(program: bytes) -> bytes:
    """The page of an ELF file that holds its first instruction."""
    (entry,) = struct.unpack_from("<Q", program, 24)
    (headers,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    for at in range(headers, headers + size * count, size):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", program, at)
        if kind == 1 and address <= entry < address + length:
            begin = (entry - address + offset) // 4096 * 4096
            return program[begin : begin + 4096]
    raise AssertionError("no segment has the entry")


@BRIEFLY
def test_a_page_that_the_disk_cannot_read_ends_the_program_that_touches_it(
    kernel: Kernel, user_programs: Path, tmp_path: Path
) -> None:
    """Expected: SIGBUS, each time, and the machine goes on. Broken: a program that waits for good, or runs zeros."""
    image, program = tmp_path / "image", (user_programs / "usertests").read_bytes()
    make(image, 4096, 4096, 512)
    fill = "mkdir /mnt; mount -t minix /dev/vda /mnt; cp /bin/usertests /mnt; umount /mnt"
    on_disk(kernel, image, "sh", "-ec", fill, files={"bin/usertests": program})
    sector = image.read_bytes().index(first_page(program)) // 512
    script = "mkdir /mnt; mount -t minix /dev/vda /mnt; for i in 1 2; do /mnt/usertests -l; echo $?; done"
    said = on_disk(kernel, image, "sh", "-c", script, files={}, bad_sector=sector)
    assert said.decode().split() == ["135", "135"]
