"""First file systems that are images: what fsck and debugfs find in them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernometer.errors import TargetError, UsageError
from kernometer.guests import store
from kernometer.guests.images import roots
from kernometer.guests.images.initramfs import PROBE, Entry, entries
from kernometer.guests.inside import programs
from kernometer.targets import booting

CONTENT = entries(b"an init", b"a probe" * 99_999, b"busybox", {programs.COMMAND: b"/bin/probe\0--wait\0"})


def asked(image: bytes, folder: Path, *commands: str) -> list[str]:
    """What debugfs answers; fsck has found nothing to mend before."""
    (folder / "image").write_bytes(image)
    subprocess.run(("/usr/sbin/e2fsck", "-fn", folder / "image"), check=True, capture_output=True)
    words = ("/usr/sbin/debugfs", "-R")
    return [
        subprocess.run((*words, each, folder / "image"), check=True, capture_output=True, text=True).stdout
        for each in commands
    ]


def test_an_image_holds_what_the_archive_does(tmp_path: Path) -> None:
    """Expected: sound, of revision 0, equal each time; files, nodes and links as in the archive, and /sbin/init.
    Broken: a kernel of 1995's ext2 refuses it, or counts move with the hour."""
    image = roots.ext2(CONTENT, 8, 1024)
    assert image == roots.ext2(CONTENT, 8, 1024)
    assert len(image) == 8 << 20
    said = asked(
        image, tmp_path, "stats", "cat /init", "stat /dev/null", "stat /bin/sh", f"stat /{PROBE}", "stat /sbin/init"
    )
    assert "Filesystem revision #:    0" in said[0] and "features:      (none)" in said[0]
    assert said[1] == "an init"
    assert "character special" in said[2] and "Mode:  0666" in said[2] and "01:03" in said[2]
    assert 'Fast link dest: "busybox"' in said[3]
    assert "Mode:  0755" in said[4] and "Size: 699993" in said[4] and "User:     0" in said[4]
    assert 'Fast link dest: "../init"' in said[5]
    with pytest.raises(TargetError, match="do not fit"):
        roots.ext2((*CONTENT, Entry("large", 0o100644, b"x" * (8 << 20))), 8, 1024)


@pytest.mark.parametrize("there", [("etc",), ("bin", "etc", "opt")])
def test_files_are_put_into_a_users_image(tmp_path: Path, there: tuple[str, ...]) -> None:
    """Expected: new files in place of old ones, folders made where they lack, all else as it was. Broken: a damaged
    file system, or the old init."""
    old = [Entry(name, 0o040755) for name in there] + [
        Entry("etc/passwd", 0o100644, b"root"),
        Entry("init", 0o100755, b"old"),
    ]
    old += [Entry("bin/probe", 0o100755, b"old")] if "bin" in there else []
    given = roots.ext2(old, 4, 1024)
    put = [entry for entry in CONTENT if entry.name in ("init", PROBE, programs.COMMAND)]
    image = roots.holding(given, put, "disk.img")
    said = asked(image, tmp_path, "cat /init", "cat /etc/passwd", f"stat /{PROBE}", f"cat /{programs.COMMAND}")
    assert said[:2] == ["an init", "root"]
    assert "Size: 699993" in said[2]
    assert said[3] == "/bin/probe\0--wait\0"
    with pytest.raises(UsageError, match="no ext2, ext3 or ext4"):
        roots.holding(bytes(4096), put, "disk.img")


def test_a_guest_whose_root_is_ext2_gets_an_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: in the archive's place, with the command. Broken: an archive, which that kernel does not unpack."""
    monkeypatch.setattr(booting, "inside", lambda *_: (b"init", b"probe"))
    made = store.Manifest(
        name="g", package="", version="", release="", package_sha256="", root="ext2", root_mib=4, root_block=1024
    )
    image = booting.initrd("probe", {}, store.Guest(tmp_path, made))
    assert asked(image, tmp_path, f"cat /{programs.COMMAND}")[0].startswith("/bin/probe\0--wait\0")
