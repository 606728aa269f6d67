"""The one place that opens files that may be compressed, which their first bytes tell, and not their names."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

from kernometer.errors import MissingError, ResultError

CHUNK = 1 << 20
#: What may follow a result's suffix in a file's name.
SUFFIXES = ("", ".gz", ".zst", ".xz", ".bz2")
_GZIP, _ZSTD, _XZ, _BZIP2 = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0", b"BZh"
NO_ZSTD = "It cannot be read: zstd is not installed."
#: The most memory that the window of a compressed file may take.
_WINDOW = 256 << 20


def chunks(path: Path, limit: int) -> Iterator[bytes]:
    """The contents, at most `limit` bytes, however much the file would expand to. Raises OSError if it cannot be read,
    ResultError if it is damaged, MissingError without the program that expands it."""
    with path.open("rb", buffering=0) as plain:  # a program that expands it reads from its beginning
        begin = plain.read(8)
        plain.seek(0)
        try:
            for chunk in _expanded(plain, begin, min(limit, CHUNK)) if limit else ():
                yield chunk[:limit]
                limit -= len(chunk)
                if limit <= 0:
                    return
        except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error, _DamagedError) as error:
            raise ResultError(f"{path} cannot be expanded: {error}.", "Was it cut off? Copy it again.") from error


class _DamagedError(Exception):
    """A compressed file that cannot be expanded."""


def _expanded(plain: BinaryIO, begin: bytes, size: int) -> Iterator[bytes]:
    if begin.startswith(_GZIP):
        yield from _read(gzip.GzipFile(fileobj=plain), size)
    elif begin.startswith(_ZSTD):
        with _zstd(plain) as file:
            yield from _read(file, size)
    elif begin.startswith((_XZ, _BZIP2)):
        yield from _streams(plain, is_xz=begin.startswith(_XZ))
    else:
        yield from _read(plain, size)


def _read(file: IO[bytes] | gzip.GzipFile, size: int) -> Iterator[bytes]:
    while chunk := file.read(size):
        yield chunk


def _streams(plain: BinaryIO, *, is_xz: bool) -> Iterator[bytes]:
    """One stream after another, each in bounded memory."""
    rest = plain.read(CHUNK)
    while rest:
        stream = lzma.LZMADecompressor(memlimit=_WINDOW) if is_xz else bz2.BZ2Decompressor()
        while not stream.eof:
            if stream.needs_input and not rest:
                rest = plain.read(CHUNK)
                if not rest:
                    raise EOFError("it ends within its data")
            try:
                chunk = stream.decompress(rest, CHUNK)
            except OSError as error:  # bz2's word for damage
                raise _DamagedError(error) from error
            rest = b""
            if chunk:
                yield chunk
        rest = (stream.unused_data or plain.read(CHUNK)).lstrip(b"\0" if is_xz else b"")


@contextmanager
def _zstd(plain: BinaryIO) -> Iterator[IO[bytes]]:
    """Python 3.11 has no module for it."""
    try:
        program = subprocess.Popen(("zstd", "-dcq"), stdin=plain, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise MissingError(NO_ZSTD, "apt-get install zstd") from error
    with program:
        try:
            if program.stdout:
                yield program.stdout
            if program.wait() != 0:
                raise _DamagedError("zstd finds it damaged")
        finally:
            program.kill()
