"""Trio's drivers on the machines it knows: the clock, the serial line's input, a virtio disk, the display."""

from __future__ import annotations

import time
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from kernometer.guests.architecture import MachineType
from tests.support.guests.monitor import Monitor
from tests.support.trio.boot import Kernel, Machine, boot, initramfs
from tests.support.trio.devices import DISK, SECONDS, SECTOR, TYPES, numbered
from tests.support.trio.fixtures import Program
from tests.support.trio.live import MONITOR, live
from tests.support.trio.partitions import BRIEFLY_IN_TURN

pytestmark = [pytest.mark.guest, pytest.mark.parametrize("kernel", BRIEFLY_IN_TURN, indirect=True)]


@pytest.mark.parametrize("board", TYPES)
def test_every_machine_tells_the_time_sleeps_and_is_off_in_the_end(kernel: Kernel, board: MachineType) -> None:
    """Expected: the date that QEMU gives the machine, then the one that it is set to; a sleep of a tenth of a second by
    the machine's own clock, and off by the register that firmware tells of. Broken: 1970; a sleep that never ends; a
    machine that must be killed, or that is reset."""
    script = """
        date -u +%F; date -u -s 2031-02-03 >/dev/null; date -u +%F
        read a x < /proc/uptime; sleep 0.1; read b x < /proc/uptime; echo $a $b
    """
    machine = Machine(path=True, type=board, more=("-trace", "qemu_system_shutdown_request"))
    ended = boot(kernel, initramfs(("sh", "-c", script)), machine, seconds=SECONDS)
    *days, before, after = ended.bulk.decode().split()
    assert days == ["2025-01-01", "2031-02-03"], ended
    assert 0.09 <= float(after) - float(before) < 0.15, ended
    assert (ended.status, ended.qemu_status) == (0, 0), ended
    assert "qemu_system_shutdown_request" in ended.said, ended


def test_a_stopped_sleep_ends_when_it_would_have(kernel: Kernel) -> None:
    """Expected: two seconds after its beginning. Broken: it begins anew with its whole time, or ends at once."""
    script = """
        read begin x < /proc/uptime
        sleep 2 & sleep 0.5; kill -STOP $!; sleep 0.5; kill -CONT $!; wait $!
        echo $? $begin $(cut -d " " -f 1 /proc/uptime)
    """
    ended = boot(kernel, initramfs(("sh", "-c", script)), Machine(path=True), seconds=SECONDS)
    status, begin, end = ended.bulk.decode().split()
    assert status == "0", ended
    assert 1.99 <= float(end) - float(begin) < 2.1, ended


def test_a_console_whose_name_leads_to_itself_is_no_console(kernel: Kernel) -> None:
    """Expected: ELOOP for /dev/console, that leads to a descriptor without a name, whose name that is. Broken: one
    looks for the other until the stack ends, and the kernel with it."""
    script = "mv /dev/console /dev/was; ln -s /proc/1/fd/0 /dev/console; cat /dev/console 2>&1; cat /proc/1/fd/0 2>&1"
    ended = boot(kernel, initramfs(("sh", "-c", script)), seconds=SECONDS)
    assert ended.bulk.count(b"Too many levels of symbolic links") == 2, ended
    assert ended.qemu_status == 0, ended


@pytest.mark.parametrize("board", ["microvm", "pc"])
def test_what_is_typed_arrives_by_interrupts(kernel: Kernel, board: MachineType, tmp_path: Path) -> None:
    """Expected: a program that waits for a line gets it, and all of a burst that is longer than the device's queue."""
    script = "stty -echo; echo ready; read word; echo heard $word; head -n 40 | sha256sum; echo over"
    lines = b"".join(b"line %02d of a burst that no queue of a device holds\n" % number for number in range(40))
    command = ("sh", "-c", f"exec </dev/console >/dev/console; {script}")
    with live(kernel, initramfs(command), Machine(type=board), tmp_path) as machine:
        machine.hear(b"ready")
        machine.say(b"kernel\n")
        machine.hear(b"heard kernel")
        machine.say(lines)
        assert sha256(lines).hexdigest().encode() in machine.hear(b"over")
        assert machine.ended() == 0


def test_a_line_that_nobody_reads_for_a_while_loses_nothing(kernel: Kernel, tmp_path: Path) -> None:
    """Expected: the program that writes waits, and each line comes, in order. Broken: the device's queue overruns, or
    nobody says that it can take more."""
    command = ("sh", "-c", "seq 1 10000 >/dev/console; echo over >/dev/console")
    with live(kernel, initramfs(command), Machine(), tmp_path) as machine:
        machine.hear(b"structure=")
        time.sleep(1)  # more has been written by then than QEMU and the socket hold
        lines = machine.hear(b"over").split()
        assert machine.ended() == 0
    assert [int(line) for line in lines if line.isdigit()] == list(range(1, 10001))


@pytest.mark.parametrize("board", TYPES)
def test_a_disk_holds_what_was_written_and_nothing_else_changed(
    kernel: Kernel, board: MachineType, tmp_path: Path
) -> None:
    """Expected: the guest reads the host's bytes; whole blocks, many at once, and parts of a sector that it writes are
    in the host's file where they belong; past the end is an error. Broken: a request's data in another's memory."""
    disk = numbered(4096)
    (tmp_path / "disk").write_bytes(disk)
    script = """
        sha256sum < /dev/vda
        dd if=/dev/vda of=/dev/vda bs=128k skip=4 seek=8 count=2 conv=notrunc,fsync
        printf trio | dd of=/dev/vda bs=1 seek=1234 conv=notrunc
        dd if=/dev/zero of=/dev/vda bs=512 seek=4094 conv=notrunc && echo no end
        sync
    """
    ended = boot(
        kernel,
        initramfs(("sh", "-c", script)),
        Machine(type=board, more=DISK),
        seconds=SECONDS,
        keep=tmp_path,
    )
    assert ended.bulk.decode().split()[0] == sha256(disk).hexdigest(), ended
    assert b"no end" not in ended.bulk
    assert b"No space left on device" in ended.console
    disk[8 * 131072 : 10 * 131072] = disk[4 * 131072 : 6 * 131072]
    disk[1234:1238] = b"trio"
    disk[4094 * SECTOR :] = bytes(2 * SECTOR)
    assert (tmp_path / "disk").read_bytes() == disk


def test_many_programs_use_the_disk_at_once(kernel: Kernel, tmp_path: Path) -> None:
    """Expected: more requests than the driver has room for, and each gets its own data. Broken: an answer for somebody
    else; a program that nobody wakes."""
    disk = numbered(16384)
    (tmp_path / "disk").write_bytes(disk)
    script = """
        for i in 0 1 2 3 4 5 6 7 8 9 10 11; do
            dd if=/dev/vda of=/dev/vda bs=65536 skip=$i seek=$((i + 16)) count=1 conv=notrunc,fsync &
            dd if=/dev/vda bs=1536 skip=$((7 * i)) count=40 of=/tmp/$i &
        done
        wait
        cd /tmp; cat 0 1 2 3 4 5 6 7 8 9 10 11 | sha256sum
    """
    ended = boot(kernel, initramfs(("sh", "-c", script)), Machine(more=DISK), seconds=SECONDS, keep=tmp_path)
    read = b"".join(disk[7 * each * 1536 : (7 * each + 40) * 1536] for each in range(12))
    assert ended.bulk.decode().split()[0] == sha256(read).hexdigest(), ended
    disk[16 * 65536 : 28 * 65536] = disk[: 12 * 65536]
    assert (tmp_path / "disk").read_bytes() == disk


def test_a_disk_that_refuses_is_an_error_of_the_write(kernel: Kernel, tmp_path: Path) -> None:
    """Expected: EIO for the program, and the disk can still be read. Broken: a write that is told to be good."""
    (tmp_path / "disk").write_bytes(numbered(64))
    drive, what, *device = DISK
    script = "dd if=/dev/zero of=/dev/vda bs=4k count=1 conv=notrunc && echo good; dd if=/dev/vda bs=4k count=1 | wc -c"
    machine = Machine(more=(drive, f"{what},read-only=on", *device))
    ended = boot(kernel, initramfs(("sh", "-c", script)), machine, seconds=SECONDS, keep=tmp_path)
    assert ended.bulk.split() == [b"4096"], ended
    assert b"Input/output error" in ended.console
    assert (tmp_path / "disk").read_bytes() == numbered(64)


@pytest.mark.parametrize(
    ("board", "device", "width", "height"),
    [
        ("microvm", "bochs-display,xres=640,yres=480", 640, 480),
        ("pc", "VGA,xres=800,yres=600", 800, 600),
        ("pc", "VGA,mmio=off", 1024, 768),
        ("q35", "bochs-display,xres=1024,yres=768", 1024, 768),
    ],
)
def test_the_screen_shows_what_was_drawn(
    kernel: Kernel, program: Program, board: MachineType, device: str, width: int, height: int, tmp_path: Path
) -> None:
    """Expected: of the size that the screen says it likes, or the usual one where it cannot say, pixel by pixel, if it
    is written, and if it is put into the screen's memory. Broken: a driver without its registers; another's memory."""
    picture = np.random.default_rng(6).integers(0, 256, (height, width, 4), np.uint8)
    command = ("sh", "-c", "exec </dev/console; draws && echo drawn >/dev/console; read word")
    files = {"picture": picture.tobytes(), "bin/draws": program("draws")}
    with live(
        kernel,
        initramfs(command, files),
        Machine(type=board, more=("-device", device)),
        tmp_path,
    ) as machine:
        machine.hear(b"drawn")
        screen = Monitor(tmp_path / MONITOR).screen(tmp_path)
        machine.say(b"\n")
        assert machine.ended() == 0
    # Bytes of a pixel: blue, green, red, nothing.
    assert np.array_equal(screen, picture[:, :, 2::-1])
