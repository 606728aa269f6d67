"""Debian source packages: checks the files of a .dsc by their SHA-256, unpacks them and applies Debian's patches.

It runs dpkg-source if that is installed. Our own code unpacks dpkg-source(1)'s formats `3.0 (quilt)`, `3.0 (native)`
and `1.0` without a diff.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tarfile
from pathlib import Path, PurePosixPath

from kernometer.errors import MissingError, TargetError
from kernometer.processes import called

UNPACK_SECONDS = 300
#: The most bytes that are unpacked.
MAX_UNPACKED = 1 << 30


def unpack(description: Path, into: Path) -> Path:
    """Makes the directory `into` with the source of `description`, an authenticated .dsc. Raises TargetError if a file
    does not match the .dsc or cannot be unpacked, MissingError if a program is missing."""
    files = checked(description)
    if shutil.which("dpkg-source"):
        _run(("dpkg-source", "--no-check", "-q", "-x", str(description), str(into)), description.name)
        return into
    tarballs = [path for path in files if ".tar." in path.name]
    debian = [path for path in tarballs if ".debian.tar." in path.name]
    originals = [path for path in tarballs if re.search(r"(?<!-)\.orig\.tar\.", path.name)]
    if len(tarballs) != len(files) or len(originals or tarballs) != 1:
        raise MissingError(f"{description.name} needs dpkg-source.", "apt-get install dpkg-dev.")
    scratch = into.with_name(f"{into.name}.unpacking")
    scratch.mkdir()
    _extract((originals or tarballs)[0], scratch)
    (scratch / _top(scratch)).rename(into)
    shutil.rmtree(scratch, ignore_errors=True)  # it was moved if the tarball has no directory of its own
    for each in debian:
        _extract(each, into)
    _patch(into)
    return into


def checked(description: Path) -> tuple[Path, ...]:
    """The files of a .dsc, in its directory. Raises TargetError if one is missing or differs."""
    text = description.read_text(errors="replace")
    block = re.search(r"^Checksums-Sha256:[ \t]*\n((?:[ \t]+\S.*\n)+)", text, re.MULTILINE)
    lines = [line.split() for line in block[1].splitlines()] if block else []
    if not lines or any(len(line) != 3 or "/" in line[2] or line[2].startswith(".") for line in lines):
        raise TargetError(f"{description.name} names no files with their SHA-256.", "Report this package.")
    files = []
    for digest, _, name in lines:
        path = description.with_name(name)
        try:
            with path.open("rb") as file:
                right = hashlib.file_digest(file, "sha256").hexdigest() == digest
        except OSError as error:
            raise TargetError(f"{name}: {error.strerror}.", "Try again.") from error
        if not right:
            raise TargetError(f"{name} does not match {description.name}: its SHA-256 differs.", "Try again.")
        files.append(path)
    return tuple(files)


def _extract(path: Path, into: Path) -> None:
    """Unpacks files and directories only, so that no member leads out of `into`. tarfile's `data` filter would allow
    links too, but Debian 12's Python, 3.11.2, has no filters."""
    try:
        with tarfile.open(path) as archive:
            if sum(member.size for member in archive) > MAX_UNPACKED:
                raise TargetError(f"{path.name} would unpack to more than {MAX_UNPACKED >> 20} MiB.")
            for member in archive:
                name = PurePosixPath(member.name)
                if name.is_absolute() or ".." in name.parts or not (member.isreg() or member.isdir()):
                    raise tarfile.ExtractError(f"{member.name} is a link, a device or outside the archive's directory")
            archive.extraction_filter = lambda member, _: member  # later Pythons warn without a filter
            archive.extractall(into)  # noqa: S202  # the names are checked above
    except (tarfile.TarError, EOFError, OSError) as error:
        raise TargetError(f"{path.name} cannot be unpacked: {error}.", "apt-get install dpkg-dev.") from error


def _top(folder: Path) -> str:
    """The tarball's only entry if that is a directory, as usual; else the tarball's own directory."""
    entries = list(folder.iterdir())
    return entries[0].name if len(entries) == 1 and entries[0].is_dir() else "."


def _patch(folder: Path) -> None:
    """Applies debian/patches in the order of its series file."""
    series = folder / "debian" / "patches" / "series"
    lines = series.read_text().splitlines() if series.is_file() else []
    names = [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]
    if names and shutil.which("patch") is None:
        raise MissingError("Debian's patches need the program patch.", "apt-get install dpkg-dev.")
    for name in names:
        _run(("patch", "-p1", "-s", "-f", "-d", str(folder), "-i", str(series.with_name(name))), name)


def _run(words: tuple[str, ...], what: str) -> None:
    done = called(words, UNPACK_SECONDS)
    if done.returncode != 0:
        raise TargetError(f"{what}: {words[0]} failed.", "Its output is below.", (done.stdout + done.stderr)[-2000:])
