"""What a console target is made of: images, the job's files, QEMU's words."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from kernometer.errors import UsageError
from kernometer.guests.emulator.qemu import Boot, Phase, argv
from kernometer.targets.consoles import attached, description, dialogue, images, media
from tests.support.targets.foreign import content

QCOW2 = struct.pack(">4sIQ", b"QFI\xfb", 3, 0).ljust(512, b"\0")


@pytest.mark.parametrize(
    ("head", "found"),
    [(b"\xeb\x63\x90", "raw"), (QCOW2, "qcow2"), (b"KDMV\1", "vmdk"), (b"conectix", "vpc"), (b"CD001", "raw")],
)
def test_an_images_format_is_known_by_its_head(tmp_path: Path, head: bytes, found: str) -> None:
    """Expected: as QEMU names it. Broken: QEMU guesses, and a raw disk that looks like qcow2 names other files."""
    (tmp_path / "image").write_bytes(head)
    assert images.image(tmp_path / "image").format == found


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"\xfd7zXZ\0...", "unxz"),
        (b"\x7fELF\2\1\1", "--kernel FILE"),
        (b"\x1f\x8b...", "gunzip"),
        (b"", "Fetch the image again"),
        (QCOW2[:8] + struct.pack(">Q", 4096) + QCOW2[16:], "qemu-img convert"),
        (QCOW2[:72] + struct.pack(">Q", 4) + QCOW2[80:], "qemu-img convert"),
    ],
)
def test_what_is_no_whole_image_is_refused(tmp_path: Path, head: bytes, words: str) -> None:
    """Expected: UsageError with the command that helps. Broken: a compressed disk boots into nothing; or a digest of a
    file that holds only what differs from another."""
    (tmp_path / "image").write_bytes(head)
    with pytest.raises(UsageError) as caught:
        images.image(tmp_path / "image")
    assert words in caught.value.next_step


def test_the_digest_is_taken_once_for_each_state_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: from the cache while the file stays, another when it changes. Broken: gigabytes read for each session;
    or an image that was changed passes for the old one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "disk"
    path.write_bytes(b"one")
    image = images.image(path)
    first = image.digest
    monkeypatch.setattr("hashlib.file_digest", lambda *_: pytest.fail("the file was read again"))
    assert image.digest == first
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path.write_bytes(b"two")
    os.utime(path, ns=(1, 1))
    assert image.digest != first


def test_a_cd_rom_holds_the_files_under_both_names(tmp_path: Path) -> None:
    """Expected: probe.c by Rock Ridge, PROBE.C;1 for the oldest readers. Broken: a system finds no source."""
    data = b"int x;\n" * 5000
    (tmp_path / "job.iso").write_bytes(media.iso({"probe.c": data}))
    assert content(str(tmp_path / "job.iso"), "/probe.c") == data
    assert b"PROBE.C;1" in (tmp_path / "job.iso").read_bytes()
    with pytest.raises(ValueError, match="not a name for the oldest readers"):
        media.iso({"amalgamation.c": b""})


@pytest.mark.parametrize("data", [b"", b"a", b"hello\n" * 999, bytes(range(256)) * 300])
def test_cksum_is_posixs(data: bytes) -> None:
    """Expected: as the system's own cksum, whose algorithm POSIX prescribes."""
    said = subprocess.run(["cksum"], input=data, capture_output=True, check=True).stdout
    assert said.split()[:2] == [str(media.cksum(data)).encode(), str(len(data)).encode()]


def test_lines_for_a_terminal_decode_to_the_file(tmp_path: Path) -> None:
    """Expected: by base64, and with uuencode's frame by a uudecode that we did not write. Broken: a line that a shell's
    `read` or `case` changes."""
    data = bytes(range(256)) * 40
    bare = media.lines(data, "probe.c", "base64")
    assert (
        subprocess.run(["base64", "-d"], input="\n".join(bare).encode(), capture_output=True, check=True).stdout == data
    )
    framed = media.lines(data, "probe.c", "uuencode")
    assert all(len(line) <= media.LINE and line.strip() == line and "\\" not in line for line in bare)
    assert not {".", ","} & {*bare, *framed}
    busybox = shutil.which("busybox")
    if busybox is None:
        pytest.skip("busybox, whose uudecode is asked, is not here")
    (tmp_path / "coded").write_text("\n".join(framed) + "\n")
    subprocess.run([busybox, "uudecode", "-o", str(tmp_path / "out"), str(tmp_path / "coded")], check=True)
    assert (tmp_path / "out").read_bytes() == data


@pytest.mark.parametrize(
    "line", ["echo a", "a" * 200, " ".join(["word"] * 300), "x 'a b " + "c " * 80 + "' " + "d " * 90]
)
def test_a_line_is_cut_where_a_shell_joins_it_again(line: str) -> None:
    """Expected: pieces of at most 202 bytes that sh reads as the line. Broken: a backslash within single quotes."""
    pieces = dialogue.typed(line)
    assert all(len(piece) <= dialogue.TYPED + 2 for piece in pieces)
    script = "set -- " + "\n".join(pieces) + '\nprintf "%s\\n" "$@"'
    whole = f"set -- {line}\n" + 'printf "%s\\n" "$@"'
    said = [subprocess.run(["sh", "-c", each], capture_output=True, check=True).stdout for each in (script, whole)]
    assert said[0] == said[1]


def described(**tables: str) -> description.Description:
    text = "\n".join(f"[{table}]\n{lines}" for table, lines in tables.items())
    import msgspec

    return msgspec.toml.decode(f'system = "x"\n{text}', type=description.Description)


def words(of: description.Description, boots: images.Image | None, phase: Phase = "") -> str:
    return " ".join(attached.devices(of, of.machine, boots, phase))


DISK = images.Image(Path("/disks/a,b.img"), "raw")


def test_the_whole_command_for_a_disk() -> None:
    """Expected: exactly this; the disk is never written to, a comma in its path is no separator."""
    of = described(boot="devices = ['VGA']\nmemory = 64")
    made = Boot(
        machine=of.machine,
        accelerator="tcg",
        kernel=None,
        initrd="",
        command_line="",
        console=None,
        bulk=Path("bulk"),
        devices=attached.devices(of, of.machine, DISK),
        typed=True,
    )
    assert " ".join(argv(made)) == (
        "qemu-system-x86_64 -no-user-config -nodefaults -display none -no-reboot"
        " -machine pc -accel tcg -smp 1 -cpu max -m 64 -device VGA"
        " -drive if=none,id=image,file=/disks/a,,b.img,format=raw,snapshot=on"
        " -device ide-hd,drive=image,bus=ide.0,bootindex=0"
        " -drive if=none,id=job,file=job.iso,format=raw,readonly=on -device ide-cd,drive=job,bus=ide.1"
        " -chardev socket,id=console,fd=1 -serial chardev:console"
        " -chardev file,id=bulk,path=bulk -device isa-debugcon,iobase=0xe9,chardev=bulk"
        " -chardev socket,id=monitor,fd=0 -mon chardev=monitor,mode=control"
    )


def test_a_saved_systems_changes_are_a_file_that_restored_ones_do_not_write() -> None:
    """Expected: the boot writes to the changes; rows read them. Broken: the user's image, or the next row's disk, is
    written to."""
    assert "file=disk,format=qcow2 " in words(described(), DISK, "saved")
    assert "file=disk,format=qcow2,snapshot=on " in words(described(), DISK, "restored")


def test_other_media_other_words() -> None:
    """Expected: a CD-ROM is read only, a network reaches nothing but our files."""
    cdrom = words(described(boot="media = 'cdrom'\nfirmware = 'serial'"), DISK)
    assert "readonly=on -device ide-cd,drive=image,bus=ide.0,bootindex=0" in cdrom
    assert "-machine graphics=off" in cdrom
    network = words(described(files="way = 'network'\ncard = 'virtio-net-pci'"), DISK)
    assert "-netdev user,id=net,restrict=on,tftp=files -device virtio-net-pci,netdev=net" in network
    assert "job.iso" not in network
    virtio = words(described(boot="machine = 'microvm'\nbus = 'virtio'"), DISK)
    assert "-device virtio-blk-pci,drive=image,bootindex=0" in virtio
    assert "-device virtio-blk-pci,drive=job" in virtio


def test_a_guests_kernel_has_no_drive() -> None:
    assert words(described(files="way = 'none'", compile="command = ''"), None) == ""
