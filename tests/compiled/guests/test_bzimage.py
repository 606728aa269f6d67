"""From bzImage to ELF: every way of packing, and images that are damaged or lie."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kernometer.errors import MissingError, TargetError
from kernometer.guests.kernels import bzimage
from kernometer.guests.kernels.bzimage import pvh_entry, unpack
from tests.support.guests.images import KERNEL, elf, image, note


def with_size(pack: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """As the kernel's build does: the unpacked size after the stream, four bytes."""
    return lambda data: pack(data) + struct.pack("<I", len(data))


def program(*words: str) -> Callable[[bytes], bytes]:
    return lambda data: subprocess.run(words, input=data, capture_output=True, timeout=60, check=True).stdout


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": with_size(bz2.compress),
    "xz": with_size(
        lambda data: lzma.compress(
            data,
            check=lzma.CHECK_CRC32,
            filters=[{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "dict_size": 32 << 20}],
        )
    ),
    "lzma": with_size(lambda data: lzma.compress(data, format=lzma.FORMAT_ALONE)),
    "lz4": with_size(program("lz4", "-lc")),
    "zstd": with_size(program("zstd", "-qc")),
}


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("setup_sectors", [0, 4, 27])
def test_every_packing_gives_the_kernel_back(packer: str, setup_sectors: int) -> None:
    """Expected: the same bytes. Broken: the size that the build appends, or 0 for 4 sectors, is not thought of."""
    assert unpack(image(PACKERS[packer](KERNEL), setup_sectors)) == KERNEL


def test_an_elf_file_is_taken_as_it_is() -> None:
    assert unpack(KERNEL) == KERNEL


@pytest.mark.parametrize("packer", PACKERS)
def test_a_damaged_payload_is_an_error_of_ours(packer: str) -> None:
    """Expected: TargetError. Broken: an exception of the decompressor, or a kernel that is cut short."""
    packed = PACKERS[packer](KERNEL)
    for damaged in (packed[: len(packed) // 2], packed[:40] + bytes(20) + packed[60:]):
        with pytest.raises(TargetError):
            unpack(image(damaged))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no setup header"),
        (bytes(2000), "no setup header"),
        (image(b"\x89LZO" + bytes(20)), "89 4c 5a 4f"),
        (image(gzip.compress(b"not ELF", mtime=0)), "does not unpack to an ELF file"),
        (image(gzip.compress(KERNEL, mtime=0), version=0x0207), "older than 2.08"),
        (image(gzip.compress(KERNEL, mtime=0))[:3000], "cut off"),
    ],
)
def test_what_is_no_kernel_says_why(data: bytes, words: str) -> None:
    """Expected: a sentence that names the cause. Broken: an index error."""
    with pytest.raises(TargetError, match=words):
        unpack(data)


@pytest.mark.parametrize("packer", ["gzip", "bzip2", "xz", "lzma", "zstd"])
def test_a_bomb_stops_at_the_limit(packer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: TargetError before the memory is full. Broken: whatever the payload unpacks to is taken."""
    monkeypatch.setattr(bzimage, "MAX_UNPACKED", 1000)
    with pytest.raises(TargetError, match="larger than"):
        unpack(image(PACKERS[packer](KERNEL)))


@pytest.mark.parametrize("name", ["lz4", "zstd"])
def test_a_size_that_lies_is_found(name: str) -> None:
    """Expected: TargetError, and no more is read than was announced. Broken: the announced size is believed."""
    packed = PACKERS[name](KERNEL)[:-4]
    for lie in (len(KERNEL) - 1, len(KERNEL) + 1):
        with pytest.raises(TargetError, match="damaged"):
            unpack(image(packed + struct.pack("<I", lie)))


@pytest.mark.parametrize("name", ["lz4", "zstd"])
def test_a_missing_program_is_named(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Expected: MissingError with what to install. Broken: FileNotFoundError."""
    packed = image(PACKERS[name](KERNEL))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match=name):
        unpack(packed)


def test_the_pvh_entry_is_found_behind_other_notes() -> None:
    assert pvh_entry(KERNEL) == 0x1000850


@pytest.mark.parametrize(
    "kernel",
    [
        elf(note(b"Xen\0", 6, b"linux")),
        elf(note(b"NetBSD\0", 18, bytes(8))),
        elf(note(b"Xen\0", 18, bytes(8)), kind=1),
        elf(b"\xff" * 40),
    ],
)
def test_a_kernel_without_the_note_has_no_entry(kernel: bytes) -> None:
    """Expected: None. Broken: another owner's note 18, or a note in no PT_NOTE segment, is taken for it."""
    assert pvh_entry(kernel) is None


def test_headers_that_are_cut_off_are_an_error() -> None:
    with pytest.raises(TargetError, match="cut off"):
        pvh_entry(KERNEL[:100])
