"""A disk image of Debian as if it were a foreign system: its own loader, a login on the serial line, a C compiler.

Built by mmdebstrap from this machine's own package sources, with or without root rights and without a mount. GRUB is
laid on the disk as its own installer does: boot.img as boot record, core.img in the gap before the first partition.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

from kernometer.guests.packages import sourcelist

USER, PASSWORD = "root", "4 horses"
PACKAGES = (
    "linux-image-cloud-amd64",
    "kmod",
    "tcc",
    "libc6-dev",
    "busybox-static",
    "initramfs-tools",
)
GRUB = Path("/usr/lib/grub/i386-pc")
SECTOR = 512
FIRST = 2048  #: sector of the partition
#: MiB of the file system; what is free in it is what the guest may fill.
SIZE = 900
MINUTES = 15

#: no_timer_check: on a loaded host the emulated timer is late, and Linux takes it for broken.
KERNEL = "root=/dev/vda1 ro console=ttyS0 quiet no_timer_check"
GRUB_CONFIG = f"""
set root=(hd0,msdos1)
linux /vmlinuz {KERNEL}
initrd /initrd.img
boot
"""


def missing() -> str:
    """Why the image cannot be built here; "" if it can."""
    for program in ("mmdebstrap", "grub-mkimage", "mke2fs", "apt-get"):
        if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
            return f"there is no {program} here"
    if not (GRUB / "boot.img").is_file():
        return "GRUB for BIOS machines (grub-pc-bin) is not here"
    return "" if sources() else "apt's sources name no Debian"


def sources() -> tuple[str, ...]:
    """Lines of a sources.list: this machine's own Debian release, from where its apt gets it."""
    release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    suite = release.get("VERSION_CODENAME", "").strip('"')
    found = [each for each in sourcelist.system() if each.suite == suite and "main" in each.components]
    return tuple(f"deb {each.uri} {suite} main" for each in found) if release.get("ID") == "debian" else ()


def build(to: Path) -> None:
    """Makes the image; two minutes. In /tmp, since a user namespace's root may not enter a home that is closed."""
    with tempfile.TemporaryDirectory(prefix="kernometer-debian-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        part, core, disk = folder / "part", folder / "core.img", folder / "disk"
        part.touch()
        part.chmod(0o666)  # a user namespace's root writes to it
        _part(folder, part)
        (folder / "grub.cfg").write_text(GRUB_CONFIG)
        modules = ("biosdisk", "part_msdos", "ext2", "linux", "boot", "configfile", "normal")
        config = ("-c", str(folder / "grub.cfg"), "-p", "(hd0,msdos1)/boot/grub")
        _run("grub-mkimage", "-O", "i386-pc", "-o", str(core), *config, *modules)
        if core.stat().st_size > (FIRST - 1) * SECTOR:
            raise ValueError(f"GRUB's core image does not fit before the partition: {core.stat().st_size} bytes")
        with disk.open("wb") as file:
            file.truncate(FIRST * SECTOR + part.stat().st_size)
        with disk.open("r+b") as file:
            file.write((GRUB / "boot.img").read_bytes()[:446])
            file.write(struct.pack("<B3xB3xII", 0x80, 0x83, FIRST, part.stat().st_size // SECTOR))
            file.seek(SECTOR - 2)
            file.write(b"\x55\xaa")
            file.seek(SECTOR)
            file.write(core.read_bytes())
            file.seek(FIRST * SECTOR)
            with part.open("rb") as content:
                shutil.copyfileobj(content, file, 1 << 20)
        shutil.move(disk, to.with_suffix(".new"))
        to.with_suffix(".new").rename(to)


#: Its first process is busybox: what a foreign system's is does not matter, and systemd takes minutes when emulated.
INITTAB = """::sysinit:/bin/mount -o remount,rw /
::sysinit:/bin/mount -t proc proc /proc
::sysinit:/bin/mount -t tmpfs tmpfs /tmp
ttyS0::respawn:/sbin/agetty ttyS0 115200 vt100
::shutdown:/bin/umount -a -r
"""
FSTAB = """/dev/vda1 / ext4 rw 0 1
/dev/sr0 /mnt iso9660 ro,noauto 0 0
"""


def _part(folder: Path, part: Path) -> None:
    """The file system, in one go: packages, then what makes it a machine that one can log in to."""
    (folder / "inittab").write_text(INITTAB)
    (folder / "fstab").write_text(FSTAB)
    hook = folder / "hook"
    hook.write_text(
        "#!/bin/sh\nset -eu\nPATH=$PATH:/usr/sbin:/sbin\n"
        f'echo foreign >"$1/etc/hostname"\ncp {folder}/inittab {folder}/fstab "$1/etc/"\n'
        f"echo '{USER}:{PASSWORD}' | chroot \"$1\" chpasswd\n"
        'for each in init poweroff; do ln -sf ../bin/busybox "$1/sbin/$each"; done\n'
        'rm -rf "$1"/usr/share/doc "$1"/usr/share/locale "$1"/usr/share/man "$1"/var/lib/apt/lists/*\n'
        # a copy: what mmdebstrap has mounted inside is on other file systems, and no content; nodes in /dev would need
        # root, and the kernel makes them itself
        "copy=$(mktemp -d)\ntrap 'rm -rf \"$copy\"' EXIT\n"
        'tar -C "$1" --one-file-system --exclude="./dev/*" -cf - . | tar -C "$copy" -xf -\n'
        f'mke2fs -q -t ext4 -d "$copy" "{part}" {SIZE}m\n'
    )
    hook.chmod(0o755)
    listed = folder / "sources.list"
    listed.write_text("\n".join(sources()) + "\n")
    words = ("mmdebstrap", "--quiet", "--variant=minbase", "--format=null", f"--include={','.join(PACKAGES)}")
    quick = ("--dpkgopt=force-unsafe-io", "--aptopt=Acquire::Languages none")
    _run(*words, *quick, f"--customize-hook={hook}", "", "/dev/null", str(listed))


def _run(*words: str) -> None:
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    done = subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=MINUTES * 60,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]} failed: {done.stderr[-3000:]}")
