"""An archive of a store: `--store FILE.tar.xz` reads the results in it as if it were a directory. ZIP files, as CI
systems make of artifacts, are archives too."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from kernometer.cache import cache_folder, kept
from kernometer.errors import ResultError
from kernometer.results.compressed import chunks
from kernometer.results.reader import DEFAULT
from kernometer.results.writer import is_result

#: The most bytes that an archive may expand to, and files in it.
MOST_BYTES, MOST_FILES = 8 * DEFAULT.file_bytes, 100_000
#: What zipfile raises for a member that is encrypted; its NotImplementedError, for an unknown compression, is one too.
_ZIP_REFUSAL = RuntimeError


def is_archive(name: str) -> bool:
    """Whether a file of this name is an archive."""
    return name.endswith((".zip", ".tgz", ".tar")) or ".tar." in name


def unpacked(path: Path) -> Path:
    """The directory of its results, in the cache under the archive's digest. Raises ResultError if it cannot be read,
    or is not an archive."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return kept(cache_folder() / "stores" / digest[:24], lambda scratch: _unpack(path, scratch), ResultError)
    except OSError as error:
        raise ResultError(f"{path} cannot be read: {error.strerror}.", "Name a directory, or an archive.") from error
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, _ZIP_REFUSAL) as error:
        text = f"{path} is not a directory, and no archive of a store: {error}."
        raise ResultError(text, "Give a directory, FILE.tar.xz or FILE.zip.") from error


def _unpack(path: Path, scratch: Path) -> Path:
    """Writes only results, by their last names; nothing else of the archive is written."""
    folder = scratch / "store"
    folder.mkdir()
    for number, (member, content) in enumerate(_members(path, scratch)):
        name = PurePosixPath(member).name
        if number >= MOST_FILES:
            raise ResultError(f"{path} has more than {MOST_FILES:,} files.", "Name a directory.")
        if content is None or not is_result(name):
            continue
        if (folder / name).exists():
            raise ResultError(f"{path} has two files {name}.", "Name a directory.")
        with (folder / name).open("wb") as file:
            shutil.copyfileobj(content, file)
    return folder


def _members(path: Path, scratch: Path) -> Iterator[tuple[str, IO[bytes] | None]]:
    """Name and content of each member of a ZIP file or a tar; None for what is no file."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
                raise ResultError(f"{path} expands to more than {MOST_BYTES:,} bytes.", "Name a directory.")
            for member in archive.infolist():
                yield member.filename, None if member.is_dir() else archive.open(member)
        return
    expanded = scratch / "archive.tar"
    with expanded.open("wb") as file:
        file.writelines(chunks(path, MOST_BYTES))
    with tarfile.open(expanded, "r:") as tar:
        for entry in tar:
            yield entry.name, tar.extractfile(entry) if entry.isreg() else None
