"""/dev/checked: a disk's wrong answers are found, and where it gives none, nothing is different."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernometer.faults.promises import Promises, events, judge
from kernometer.faults.worker import program
from tests.support.trio.boot import Kernel, Machine, boot, devices, initramfs
from tests.support.trio.live import live
from tests.support.trio.minixfs import make, sound
from tests.support.trio.partitions import BRIEFLY_IN_TURN

pytestmark = [pytest.mark.guest, pytest.mark.parametrize("kernel", BRIEFLY_IN_TURN, indirect=True)]

WORK = """
    mkdir /mnt; mount -t minix /dev/checked /mnt && worker --seed 1 --operations 400 /mnt; echo status $?; umount /mnt
    mount -t minix /dev/checked /mnt; for f in /mnt/w1/?/s*; do cat $f >/dev/null || echo bad; done; umount /mnt
    echo end
"""
#: Twice by the checksums, once past them, and once more by them: written anew, it is believed again.
LIES = """
    exec </dev/console >/dev/console; stty -echo; mkdir /mnt
    mount -t minix /dev/checked /mnt; echo as-it-was-written >/mnt/file; umount /mnt; mount -t minix /dev/checked /mnt
    cat /mnt/file; umount /mnt; echo ready.; read -r line
    mount -t minix /dev/checked /mnt; cat /mnt/file || echo EIO.; umount /mnt
    mount -t minix /dev/vda /mnt; cat /mnt/file; umount /mnt
    mount -t minix /dev/checked /mnt; echo as-it-was-written >/mnt/file; umount /mnt
    mount -t minix /dev/checked /mnt; cat /mnt/file || echo EIO.; umount /mnt; echo end.
"""


def disk(image: Path) -> tuple[str, ...]:
    return ("-drive", f"file={image},if=none,id=disk,format=raw", "-device", "virtio-blk-pci,drive=disk")


@pytest.mark.parametrize("block", [1024, 4096])
def test_a_disk_that_gives_no_wrong_answer_is_the_same_disk(kernel: Kernel, tmp_path: Path, block: int) -> None:
    """Expected: the worker meets no error, all promises hold on a sound disk. Broken: a write that has not ended yet
    taken for a wrong answer, or a part of a request lost."""
    image = tmp_path / "image"
    make(image, 4 * 1024 * 1024 // block, block, 256)
    inside = initramfs(("sh", "-c", WORK), {"bin/worker": program().read_bytes()})
    ended = boot(kernel, inside, Machine(more=disk(image)), seconds=120)
    lines = ended.bulk.decode().splitlines()
    assert lines[-2:] == ["status 0", "end"], ended
    assert b"checksum:" not in ended.console
    promises = Promises.after(events(ended.bulk))
    assert promises.errors == 0
    judged = judge(promises, sound(image).tree(), "/mnt")
    assert judged.lost + judged.wrong == []
    assert judged.promises > 0


def test_what_is_not_as_it_was_written_is_an_error(kernel: Kernel, tmp_path: Path) -> None:
    """Expected: EIO where the disk answers with other bytes than those written, which /dev/vda believes; once they are
    written anew they are read again. Broken: wrong data for a program."""
    image = tmp_path / "image"
    make(image, 1024)
    with live(kernel, initramfs(("sh", "-c", LIES)), Machine(more=disk(image)), tmp_path) as machine:
        assert b"as-it-was-written" in machine.hear(b"ready.")
        raw = image.read_bytes()
        assert raw.count(b"as-it-was-written") == 1
        image.write_bytes(raw.replace(b"as-it-was-written", b"as-it-was-witten!"))
        machine.say(b"\n")
        said = machine.hear(b"end.").decode().split()
        assert machine.ended() == 0
    said = [word for word in said if word.startswith(("as-it", "EIO"))]
    assert said == ["EIO.", "as-it-was-witten!", "as-it-was-written"]


def test_it_stands_before_the_memory_disk_where_there_is_no_other(kernel: Kernel) -> None:
    """Expected: the memory disk's file system, by both names."""
    script = "umount /disk/minix; mkdir /mnt; mount -t minix /dev/checked /mnt && echo one >/mnt/f && umount /mnt; "
    script += "mount -t minix /dev/ram0 /mnt; cat /mnt/f"
    machine = Machine()
    ended = boot(kernel, initramfs(("sh", "-c", script), devices(kernel, machine, ["minix"])), machine)
    assert (ended.status, ended.bulk) == (0, b"one\n"), ended
