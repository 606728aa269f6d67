"""Kernel packages by the distribution's own tools: apt decides what is authentic and whose mirror is used.

Nothing here needs root. Where the system's package lists are missing (fresh containers have none) or too old to
download from, a state folder of our own is filled with `apt-get update` from the system's sources and keys.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from kernometer.cache import cache_folder
from kernometer.errors import MissingError, TargetError

#: Full flavours only: Debian's amd64 and Ubuntu's generic. cloud, rt and unsigned images are variants of their own.
KERNEL_PACKAGE = re.compile(r"linux-image-(?P<series>\d+\.\d+)\.\d[^-]*(?:-\d[^-]*)?-(?:amd64|generic)")

#: Seconds. A download is some 100 MB.
QUERY_SECONDS = 60
UPDATE_SECONDS = 300
DOWNLOAD_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Package:
    """One candidate of one package, as the signed package lists have it."""

    name: str
    version: str
    sha256: str

    @property
    def series(self) -> str:
        """ "6.1" of linux-image-6.1.0-56-amd64."""
        match = KERNEL_PACKAGE.fullmatch(self.name)
        return match["series"] if match else ""


@dataclass(frozen=True, slots=True)
class Apt:
    """apt with the system's state, or with a state folder of our own."""

    state: Path | None = None

    def options(self) -> tuple[str, ...]:
        if self.state is None:
            return ()
        return (
            *("-o", f"Dir::State={self.state}/state"),
            *("-o", f"Dir::State::Lists={self.state}/lists"),
            *("-o", f"Dir::Cache={self.state}/cache"),
            *("-o", "Dir::State::status=/var/lib/dpkg/status"),
            # For root apt would fetch as the user _apt, who has no way into root's cache; signatures are checked alike.
            *(("-o", "APT::Sandbox::User=root") if os.geteuid() == 0 else ()),
        )

    def update(self) -> None:
        """Fetches the package lists into the private state. Raises TargetError with what apt said."""
        if self.state is None:
            raise ValueError("the system's own lists are the administrator's")
        for folder in ("state/lists/partial", "lists/partial", "cache/archives/partial"):
            (self.state / folder).mkdir(parents=True, exist_ok=True)
        _run(("apt-get", *self.options(), "-q", "update"), UPDATE_SECONDS, "The package lists could not be fetched.")

    def kernels(self) -> tuple[Package, ...]:
        """Every full-flavour kernel image that can be downloaded."""
        every = _run(
            ("apt-cache", *self.options(), "pkgnames", "linux-image-"),
            QUERY_SECONDS,
            "apt cannot read its package lists.",
        )
        names = sorted(name for name in every.split() if KERNEL_PACKAGE.fullmatch(name))
        if not names:
            return ()
        shown = _run(
            ("apt-cache", *self.options(), "show", "--no-all-versions", *names),
            QUERY_SECONDS,
            "apt cannot read its package lists.",
        )
        return tuple(package for stanza in shown.split("\n\n") if (package := _package(stanza)) is not None)

    def download(self, package: Package, folder: Path) -> Path:
        """The package's file in `folder`, authenticated by apt and compared with the lists' SHA-256."""
        _run(
            ("apt-get", *self.options(), "-q", "download", f"{package.name}={package.version}"),
            DOWNLOAD_SECONDS,
            f"{package.name} could not be downloaded.",
            folder,
        )
        files = list(folder.glob("*.deb"))
        if len(files) != 1:
            raise TargetError(f"apt-get left {len(files)} package files where one was asked for.", "Try again.")
        with files[0].open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != package.sha256:
            raise TargetError(f"{package.name} is not what the package lists say: its SHA-256 differs.", "Try again.")
        return files[0]


def newest(packages: tuple[Package, ...], series: str) -> Package | None:
    """The package of `series` with the highest version, by dpkg's rules; None where there is none."""
    of_series = [package for package in packages if package.series == series]
    return max(of_series, key=functools.cmp_to_key(_compare), default=None)


def fetch(series: str, folder: Path) -> tuple[Package, Path]:
    """Downloads the newest kernel of a series ("6.1") into `folder`; the package and its file.

    The system's lists come first; ours where those are missing, lack the series, or name a file that is gone.
    Raises MissingError where no list has it, saying which are there, TargetError where apt fails.
    """
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise MissingError("Guests are made from packages, and apt and dpkg are not here.", "Use Debian or Ubuntu.")
    system = Apt()
    found = newest(system.kernels(), series)
    if found is not None:
        try:
            return found, system.download(found, folder)
        except TargetError:
            for leftover in folder.glob("*.deb"):
                leftover.unlink()
    own = Apt(cache_folder() / "apt")
    own.update()
    packages = own.kernels()
    found = newest(packages, series)
    if found is None:
        there = sorted({package.series for package in packages}, key=lambda each: [int(n) for n in each.split(".")])
        raise MissingError(
            f"This system's package sources have no Linux {series}.",
            f"They have {', '.join(there)}." if there else "apt's sources name no kernel packages at all.",
        )
    return found, own.download(found, folder)


def _package(stanza: str) -> Package | None:
    fields = dict(re.findall(r"^(Package|Version|SHA256): (\S+)$", stanza, re.MULTILINE))
    if len(fields) < 3 or not KERNEL_PACKAGE.fullmatch(fields["Package"]):
        return None
    return Package(fields["Package"], fields["Version"], fields["SHA256"])


def _compare(a: Package, b: Package) -> int:
    for relation, answer in (("lt", -1), ("gt", 1)):
        words = ("dpkg", "--compare-versions", a.version, relation, b.version)
        if subprocess.run(words, check=False, timeout=QUERY_SECONDS).returncode == 0:
            return answer
    return 0


def _run(words: tuple[str, ...], seconds: float, what: str, folder: Path | None = None) -> str:
    """The program's output. Raises TargetError with `what` and the last that it said."""
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env={**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except FileNotFoundError as error:
        raise MissingError(f"There is no {words[0]} here.", "Guests need Debian's or Ubuntu's apt.") from error
    except subprocess.TimeoutExpired as error:
        raise TargetError(f"{what} {words[0]} did not end in {seconds:.0f} s.", "Look at the network.") from error
    said = done.stderr.decode(errors="replace")
    if done.returncode != 0 or re.search(r"^(W: Failed to fetch|Err:)", said, re.MULTILINE):
        raise TargetError(what, "What apt said last is below.", said.strip()[-2000:])
    return done.stdout.decode(errors="replace")
