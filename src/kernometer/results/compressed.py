"""The one place that opens a file that may be compressed. Its first bytes tell, not its name."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from kernometer.errors import ResultError

CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
#: Compressions that are recognised, with what expands them.
_OTHERS = {b"\x28\xb5\x2f\xfd": "zstd -d", b"\xfd7zXZ\0": "xz -dk", b"BZh": "bzip2 -dk"}


def chunks(path: Path, limit: int) -> Iterator[bytes]:
    """The contents, at most `limit` bytes, however much the file would expand to.

    Raises OSError if it cannot be read, ResultError if it is damaged or compressed in another way.
    """
    with path.open("rb") as plain:
        begin = plain.read(8)
        plain.seek(0)
        for magic, command in _OTHERS.items():
            if begin.startswith(magic):
                raise ResultError(f"{path} is compressed in a way that is not read here.", f"First: {command} {path}")
        file = gzip.GzipFile(fileobj=plain) if begin.startswith(_GZIP) else plain
        try:
            while limit > 0 and (chunk := file.read(min(limit, CHUNK))):
                limit -= len(chunk)
                yield chunk
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ResultError(f"{path} cannot be expanded: {error}.", "Was it cut off? Copy it again.") from error
