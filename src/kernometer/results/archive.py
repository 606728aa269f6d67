"""An archive of a store: `--store FILE.tar.xz` reads the results in it as if it were a directory."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
from pathlib import Path, PurePosixPath

from kernometer.cache import cache_folder, kept
from kernometer.errors import ResultError
from kernometer.results.compressed import chunks
from kernometer.results.reader import DEFAULT
from kernometer.results.writer import SUFFIX, is_result

#: The most bytes that an archive may expand to, and files in it.
MOST_BYTES, MOST_FILES = 8 * DEFAULT.file_bytes, 100_000


def unpacked(path: Path) -> Path:
    """The directory of its results, in the cache under the archive's digest. Raises ResultError if it cannot be read,
    is not an archive, or has no result."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return kept(cache_folder() / "stores" / digest[:24], lambda scratch: _unpack(path, scratch), ResultError)
    except OSError as error:
        raise ResultError(f"{path} cannot be read: {error.strerror}.", "Name a directory, or an archive.") from error
    except tarfile.TarError as error:
        text = f"{path} is not a directory, and no archive of a store: {error}."
        raise ResultError(text, "Give a directory, or FILE.tar.xz.") from error


def _unpack(path: Path, scratch: Path) -> Path:
    """Writes only results, by their last names; nothing else of the archive is written."""
    folder = scratch / "store"
    folder.mkdir()
    expanded = scratch / "archive.tar"
    with expanded.open("wb") as file:
        file.writelines(chunks(path, MOST_BYTES))
    with tarfile.open(expanded, "r:") as archive:
        for number, member in enumerate(archive):
            name = PurePosixPath(member.name).name
            if number >= MOST_FILES:
                raise ResultError(f"{path} has more than {MOST_FILES:,} files.", "Name a directory.")
            content = archive.extractfile(member) if member.isreg() and is_result(name) else None
            if content is None:
                continue
            if (folder / name).exists():
                raise ResultError(f"{path} has two files {name}.", "Name a directory.")
            with (folder / name).open("wb") as file:
                shutil.copyfileobj(content, file)
    if not any(folder.iterdir()):
        raise ResultError(f"There is no result in {path}.", f"An archive of a store has *{SUFFIX} files.")
    return folder
