"""The user's image: its format for QEMU, and its digest, which is computed once for each state of the file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from kernometer.cache import cache_folder, sha256
from kernometer.errors import UsageError

HEAD_BYTES = 512
#: How files of a format begin, and QEMU's name of it. Any other file is a raw disk.
FORMATS = ((b"QFI\xfb", "qcow2"), (b"KDMV", "vmdk"), (b"conectix", "vpc"), (b"<<< ", "vdi"), (b"vhdxfile", "vhdx"))
COMPRESSED = (
    (b"\xfd7zXZ\0", "unxz"),
    (b"\x1f\x8b", "gunzip"),
    (b"BZh", "bunzip2"),
    (b"\x28\xb5\x2f\xfd", "unzstd"),
    (b"PK\3\4", "unzip"),
)
#: A qcow2 file of version 3 with this bit set keeps its data in another file.
EXTERNAL_DATA = 1 << 2


@dataclass(frozen=True, slots=True)
class Image:
    """A disk or a CD-ROM, which is never written to."""

    path: Path
    format: str

    @property
    def digest(self) -> str:
        """SHA-256 of the file, cached until its size or time of change differs."""
        status = self.path.stat()
        state = f"{self.path}\0{status.st_ino}\0{status.st_size}\0{status.st_mtime_ns}"
        kept = cache_folder() / "digests" / sha256(state.encode())
        try:
            return kept.read_text(encoding="ascii")
        except (FileNotFoundError, UnicodeDecodeError):
            with self.path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        try:
            kept.parent.mkdir(parents=True, exist_ok=True)
            fresh = kept.with_suffix(".new")
            fresh.write_text(digest, encoding="ascii")
            fresh.rename(kept)
        except OSError:  # without a cache it is computed every time
            return digest
        return digest


def image(path: Path) -> Image:
    """Reads the file's head. Raises UsageError for a file that is not a complete image."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}.", "Name the file of a disk image or of an ISO.") from error
    if not head:
        raise UsageError(f"{path} is empty.", "Fetch the image again.")
    for beginning, program in COMPRESSED:
        if head.startswith(beginning):
            raise UsageError(f"{path} is compressed.", f"Unpack it first: {program}.")
    if head.startswith(b"\x7fELF"):
        raise UsageError(
            f"{path} is an ELF file: a kernel or a program, and no disk.",
            "A kernel is added by 'guest add SYSTEM --kernel FILE', or by 'guest add kernel FILE'.",
        )
    kind = next((name for beginning, name in FORMATS if head.startswith(beginning)), "raw")
    if kind == "qcow2" and _leads_elsewhere(head):
        raise UsageError(
            f"{path} keeps data in another file, so its digest does not identify its contents.",
            "Make it whole: qemu-img convert -O qcow2.",
        )
    return Image(path.resolve(), kind)


def _leads_elsewhere(head: bytes) -> bool:
    """Whether it has a backing file, or (version 3) data in another file: QEMU, docs/interop/qcow2.txt."""
    if len(head) < 80:
        return False
    version, backing, incompatible = (int.from_bytes(head[at:end]) for at, end in ((4, 8), (8, 16), (72, 80)))
    return backing != 0 or (version >= 3 and incompatible & EXTERNAL_DATA != 0)
