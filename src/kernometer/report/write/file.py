"""Files that appear, or replace an older one, only when they are complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from kernometer.errors import ResultError


@contextmanager
def complete_file(path: Path, what: str) -> Iterator[IO[bytes]]:
    """The file to write within the block. A block that fails leaves nothing behind. Raises ResultError, naming `what`
    it is, if it cannot be written."""
    unfinished: Path | None = None
    try:
        if path.exists() and not path.is_file():  # a device or a pipe: replacing it would take it from the whole system
            with path.open("wb") as file:
                yield file
            return
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}-", suffix=".part")
        unfinished = Path(name)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.chmod(0o666 & ~_umask())  # as any other file: the temporary one is its owner's alone
        unfinished.replace(path)
    except OSError as error:
        text = f"The {what} cannot be written to {path}: {error.strerror or error}."
        raise ResultError(text, "Name another file, in a directory that you may write to.") from error
    finally:
        if unfinished is not None:
            unfinished.unlink(missing_ok=True)


def write(path: Path, content: str | bytes, what: str = "report") -> None:
    """`complete_file` with this content."""
    with complete_file(path, what) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def _umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
