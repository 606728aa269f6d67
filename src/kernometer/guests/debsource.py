"""Debian source packages: what a .dsc names, checked by its SHA-256 and unpacked, with Debian's patches applied.

By dpkg-source where it is installed, else by our code; the formats are dpkg-source(1)'s `3.0 (quilt)`, `3.0 (native)`
and `1.0` without a diff.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tarfile
from pathlib import Path, PurePosixPath

from kernometer.errors import MissingError, TargetError

UNPACK_SECONDS = 300
#: The largest that anybody would want to unpack here.
MAX_UNPACKED = 1 << 30


def unpack(description: Path, into: Path) -> Path:
    """The folder `into`, new, with the source that `description`, an authenticated .dsc, describes.

    Raises TargetError where a file is not what the .dsc says or cannot be unpacked, MissingError where a program is
    needed that is not here.
    """
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
    shutil.rmtree(scratch, ignore_errors=True)  # gone already where the tarball has no folder of its own
    for each in debian:
        _extract(each, into)
    _patch(into)
    return into


def checked(description: Path) -> tuple[Path, ...]:
    """The files that a .dsc names, beside it. Raises TargetError where one is missing or another."""
    text = description.read_text(errors="replace")
    block = re.search(r"^Checksums-Sha256:[ \t]*\n((?:[ \t]+\S.*\n)+)", text, re.MULTILINE)
    lines = [line.split() for line in block[1].splitlines()] if block else []
    if not lines or any(len(line) != 3 or "/" in line[2] or line[2].startswith(".") for line in lines):
        raise TargetError(f"{description.name} names no files with their SHA-256.", "Report this package.")
    found = []
    for digest, _, name in lines:
        path = description.with_name(name)
        try:
            with path.open("rb") as file:
                right = hashlib.file_digest(file, "sha256").hexdigest() == digest
        except OSError as error:
            raise TargetError(f"{name}: {error.strerror}.", "Try again.") from error
        if not right:
            raise TargetError(f"{name} is not what {description.name} says: its SHA-256 differs.", "Try again.")
        found.append(path)
    return tuple(found)


def _extract(path: Path, into: Path) -> None:
    """Files and folders only, so that no member leads out of `into`.

    tarfile's `data` filter would allow links too, but Python 3.11.2, that of Debian 12, has no filters.
    """
    try:
        with tarfile.open(path) as archive:
            if sum(member.size for member in archive) > MAX_UNPACKED:
                raise TargetError(f"{path.name} would unpack to more than {MAX_UNPACKED >> 20} MiB.")
            for member in archive:
                name = PurePosixPath(member.name)
                if name.is_absolute() or ".." in name.parts or not (member.isreg() or member.isdir()):
                    raise tarfile.ExtractError(f"{member.name} is a link, a device or outside the archive's folder")
            archive.extraction_filter = lambda member, _: member  # later Pythons warn where there is none
            archive.extractall(into)  # noqa: S202  # the names were judged above
    except (tarfile.TarError, EOFError, OSError) as error:
        raise TargetError(f"{path.name} cannot be unpacked: {error}.", "apt-get install dpkg-dev.") from error


def _top(folder: Path) -> str:
    """A tarball of upstream's usually holds one folder; one that does not is that folder itself."""
    entries = list(folder.iterdir())
    return entries[0].name if len(entries) == 1 and entries[0].is_dir() else "."


def _patch(folder: Path) -> None:
    """Applies debian/patches in the order of its series file."""
    series = folder / "debian" / "patches" / "series"
    lines = series.read_text().splitlines() if series.is_file() else []
    names = [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]
    if names and shutil.which("patch") is None:
        raise MissingError("Debian's patches need a program patch.", "apt-get install dpkg-dev.")
    for name in names:
        _run(("patch", "-p1", "-s", "-f", "-d", str(folder), "-i", str(series.with_name(name))), name)


def _run(words: tuple[str, ...], what: str) -> None:
    try:
        done = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, timeout=UNPACK_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise TargetError(f"{words[0]} did not end in {UNPACK_SECONDS} s on {what}.", "Try again.") from error
    if done.returncode != 0:
        said = (done.stdout + done.stderr).decode(errors="replace").strip()[-2000:]
        raise TargetError(f"{what}: {words[0]} failed.", "What it said is below.", said)
