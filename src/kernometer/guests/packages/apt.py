"""Packages by the distribution's own tools: apt checks signatures and chooses the mirror.

Nothing here needs root. Package lists other than the system's own are kept in a private state directory in the cache.
`apt-get update` fetches them from the system's sources, or from other suites of the same mirrors with the same keys.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernometer.cache import cache_folder, locked, sha256
from kernometer.errors import KernometerError, MissingError, ResultError, TargetError
from kernometer.guests.packages import debsource, sourcelist
from kernometer.processes import called

#: Seconds. A download is some 100 MB.
QUERY_SECONDS = 60
UPDATE_SECONDS = 300
DOWNLOAD_SECONDS = 900
#: Older package lists are fetched again before use.
LISTS_HOURS = 6

_SOURCES, _STATUS, _LOCK, _UPDATED, _ABSENT = "fetched.sources", "status", "lock", "updated", "absent"
_POLICY = re.compile(
    r"^ +-?\d+ (?P<uri>\S+) (?P<suite>[^/\s]+)/\S+ \S+ Packages\n +release (?P<release>.*)$", re.MULTILINE
)
_NAME = re.compile(r"[a-z0-9][a-z0-9+.~-]*")


class ExpiredError(TargetError):
    """The mirror's Release file is older than its own limit."""


class UnreachableError(TargetError):
    """The mirror does not answer."""


class NoSuiteError(TargetError):
    """The mirror answers, but has no such suite."""


@dataclass(frozen=True, slots=True)
class Package:
    """One candidate of one package, from the signed package lists."""

    name: str
    version: str
    sha256: str
    size: int = 0  #: bytes to download
    depends: tuple[str, ...] = ()  #: names of required packages; the first one of alternatives


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a suite, from its signed Release file."""

    uri: str
    suite: str  #: the source's name: "stable"
    codename: str  #: "trixie", "trixie-security"
    origin: str  #: "Debian"


@dataclass(frozen=True, slots=True)
class Apt:
    """apt with the system's package lists, or with a private state directory.

    `sources` are those of the private state, as deb822; "" means the system's. `architecture` is that of the packages,
    "" the system's own.
    """

    state: Path | None = None
    sources: str = ""
    architecture: str = ""

    @classmethod
    def private(cls, name: str, sources: str = "", architecture: str = "") -> Apt:
        """A private state in the cache, separate for each `name`, its architecture, and its mirrors and keys."""
        folder = "-".join(filter(None, (name, architecture, sha256(sources.encode())[:8])))
        return cls(cache_folder() / "apt" / folder, sources, architecture)

    def options(self) -> tuple[str, ...]:
        if self.state is None:
            return ()
        own = (
            f"Dir::Etc::sourcelist={self.state}/{_SOURCES}",
            "Dir::Etc::sourceparts=-",
            "Acquire::Check-Date=true",  # off in some containers; `sources` set whether a suite's age counts
        )
        settings = (
            f"Dir::State={self.state}/state",
            f"Dir::State::Lists={self.state}/lists",
            f"Dir::Cache={self.state}/cache",
            # Containers switch these two off, and then every query parses the lists again.
            "Dir::Cache::pkgcache=pkgcache.bin",
            "Dir::Cache::srcpkgcache=srcpkgcache.bin",
            "Acquire::Languages=none",  # no translated descriptions, which are megabytes
            f"Dir::State::status={self.state}/{_STATUS}",  # empty: installed packages are not candidates
            # As root, apt would fetch as the user _apt, who cannot enter root's cache. Signatures are still checked.
            *(("APT::Sandbox::User=root",) if os.geteuid() == 0 else ()),
            *(own if self.sources else ()),
            *((f"APT::Architecture={self.architecture}",) if self.architecture else ()),
            *((f"APT::Architectures={self.architecture}",) if self.architecture else ()),
        )
        return tuple(word for setting in settings for word in ("-o", setting))

    def update(self, hours: float = 0.0) -> None:
        """Fetches the package lists into the private state, unless those there are younger than `hours`. Raises
        NoSuiteError, ExpiredError, UnreachableError or (a bad signature) another TargetError, with apt's output."""
        with self._locked() as state:
            if self.fresh(hours):
                return
            if self._young(_ABSENT, hours):
                raise NoSuiteError("The mirror had no such suite at the last update.")
            self.forget()
            (state / _SOURCES).write_text(self.sources)
            words = ("apt-get", *self.options(), "-q", "update")
            try:
                _run(words, UPDATE_SECONDS, "The package lists could not be fetched.")
            except TargetError as error:
                sorted_out = _sorted_out(error, bool(self.release("Codename")))
                if isinstance(sorted_out, NoSuiteError):
                    (state / _ABSENT).touch()
                raise sorted_out from error
            (state / _UPDATED).touch()

    def fresh(self, hours: float) -> bool:
        """Whether the private state's lists are younger than `hours`."""
        return self._young(_UPDATED, hours)

    def forget(self) -> None:
        """Makes the next update fetch, however young the lists are."""
        for stamp in (_UPDATED, _ABSENT):
            if self.state is not None:
                (self.state / stamp).unlink(missing_ok=True)

    def _young(self, stamp: str, hours: float) -> bool:
        """Whether the stamp is younger than `hours`; one from the future, after a change of the clock, is not."""
        try:
            return self.state is not None and 0 <= time.time() - (self.state / stamp).stat().st_mtime < hours * 3600
        except OSError:
            return False

    def release(self, field: str) -> str:
        """A field of the Release file that the last update checked; "" if it has no such field."""
        for path in sorted((self.state / "lists").glob("*Release")) if self.state else ():
            with path.open(encoding="utf-8", errors="replace") as file:
                head = file.read(4096)
            if match := re.search(rf"^{field}: (.*)$", head, re.MULTILINE):
                return match[1].strip()
        return ""

    def names(self, prefix: str) -> list[str]:
        """The sorted names of packages with this prefix."""
        words = ("apt-cache", *self.options(), "pkgnames", prefix)
        return sorted(set(_run(words, QUERY_SECONDS, "apt cannot read its package lists.").split()))

    def show(self, names: Iterable[str]) -> tuple[Package, ...]:
        """The candidates of these packages that can be downloaded."""
        asked = tuple(names)
        if not asked:
            return ()
        words = ("apt-cache", *self.options(), "show", "--no-all-versions", *asked)
        shown = _run(words, QUERY_SECONDS, "apt cannot read its package lists.")
        packages = []
        for stanza in shown.split("\n\n"):
            fields = dict(re.findall(r"^(Package|Version|SHA256|Size|Depends): (.*\S)$", stanza, re.MULTILINE))
            name, version, digest = (fields.get(key, "") for key in ("Package", "Version", "SHA256"))
            if name and version and digest:
                depends = [each.split()[0] for each in fields.get("Depends", "").split(",") if each.strip()]
                packages.append(Package(name, version, digest, int(fields.get("Size", "0")), tuple(depends)))
        return tuple(packages)

    def origins(self) -> tuple[Origin, ...]:
        """The origins of all suites in the package lists."""
        shown = _run(("apt-cache", *self.options(), "policy"), QUERY_SECONDS, "apt cannot read its package lists.")
        origins = []
        for match in _POLICY.finditer(shown):
            fields = dict(part.partition("=")[::2] for part in match["release"].split(","))
            origins.append(Origin(match["uri"], match["suite"], fields.get("n", ""), fields.get("o", "")))
        return tuple(dict.fromkeys(origins))

    def suite(self, package: Package) -> str:
        """The suite of this version in the lists ("bookworm-security"); "" if not known."""
        words = ("apt-cache", *self.options(), "madison", package.name)
        for line in _run(words, QUERY_SECONDS, "apt cannot read its package lists.").splitlines():
            parts = [part.strip() for part in line.split("|")]
            if len(parts) == 3 and parts[1] == package.version and len(where := parts[2].split()) > 1:
                return where[1].rpartition("/")[0]
        return ""

    def download(self, package: Package, folder: Path) -> Path:
        """The package's file in `folder`, authenticated by apt and checked against the lists' SHA-256."""
        before = set(folder.glob("*.deb"))
        _run(
            ("apt-get", *self.options(), "-q", "download", f"{package.name}={package.version}"),
            DOWNLOAD_SECONDS,
            f"{package.name} could not be downloaded.",
            folder,
        )
        files = [path for path in folder.glob("*.deb") if path not in before]
        if len(files) != 1:
            raise TargetError(f"apt-get left {len(files)} package files instead of one.", "Try again.")
        with files[0].open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != package.sha256:
            raise TargetError(f"{package.name} does not match the package lists: its SHA-256 differs.", "Try again.")
        return files[0]

    @contextmanager
    def _locked(self) -> Iterator[Path]:
        """Allows one update of a state directory at a time, in all processes."""
        if self.state is None:
            raise ValueError("only the administrator updates the system's own lists")
        try:
            for folder in ("state/lists/partial", "lists/partial", "cache/archives/partial"):
                (self.state / folder).mkdir(parents=True, exist_ok=True)
            (self.state / _STATUS).touch()
            with locked(self.state / _LOCK, UPDATE_SECONDS) as taken:
                if not taken:
                    raise TargetError(f"Another process holds {self.state}.", "Try again.")
                yield self.state
        except OSError as error:
            raise ResultError(
                f"{error.filename}: {error.strerror}.", "Set XDG_CACHE_HOME to a writable directory."
            ) from error


def source(package: str, folder: Path, suite: sourcelist.Source | None = None) -> Path:
    """A directory in `folder` with the source of a package of `suite`, or else of this release, with Debian's patches.

    apt fetches it by source lists of the system's own mirror, with the system's keys, and needs no deb-src line in the
    system's sources. Raises MissingError if there is no such source, TargetError if apt fails.
    """
    if not _NAME.fullmatch(package):
        raise ValueError(f"{package!r} is not a package's name")
    need()
    suites = [suite] if suite else sourcelist.system()
    stanzas = [each.stanza("deb-src") for each in suites if each.trust or each.components]
    if not stanzas:
        raise MissingError("apt has no package sources here.", "Check /etc/apt/sources.list.d.")
    apt = Apt.private("source", "\n".join(stanzas))
    apt.update(LISTS_HOURS)
    words = ("apt-get", *apt.options(), "-q", "source", "--download-only", "--only-source", package)
    try:
        _run(words, DOWNLOAD_SECONDS, f"The source of {package} could not be downloaded.", folder)
    except TargetError as error:
        if "Unable to find a source package" in error.last_output:
            raise MissingError(f"This system's package sources have no source of {package}.") from error
        raise
    descriptions = list(folder.glob(f"{package}_*.dsc"))
    if len(descriptions) != 1:
        raise TargetError(f"apt-get left {len(descriptions)} source descriptions instead of one.", "Try again.")
    return debsource.unpack(descriptions[0], folder / package)


def need() -> None:
    """Raises MissingError without apt or dpkg."""
    if any(shutil.which(program) is None for program in ("apt-get", "apt-cache", "dpkg-deb")):
        raise MissingError("Guests are made from packages, and there is no apt or dpkg here.", "Use Debian or Ubuntu.")


def newer(a: str, b: str) -> bool:
    """Whether version `a` is higher than `b`, by dpkg's rules."""
    words = ("dpkg", "--compare-versions", a, "gt", b)
    return called(words, QUERY_SECONDS).returncode == 0


def _sorted_out(error: TargetError, has_release: bool) -> KernometerError:
    """The error of a failed update, by apt's output. (apt fetches a trusted source's lists even without a Release.)"""
    said = error.last_output
    if re.search(r"^E: Release file for .* is expired", said, re.MULTILINE):
        return ExpiredError(error.text, error.next_step, said)
    absent = r"^E: (The repository .* does not have a Release file|Failed to fetch .* (404  |File not found))"
    if not has_release and re.search(absent, said, re.MULTILINE):
        return NoSuiteError(error.text, error.next_step, said)
    if re.search(r"Could not (resolve|connect)|Temporary failure|Unable to connect|Connection (timed|refused)", said):
        return UnreachableError("The package mirror cannot be reached.", "Check the network and apt's sources.", said)
    return error


def _run(words: tuple[str, ...], seconds: float, what: str, folder: Path | None = None) -> str:
    """The program's output. Raises TargetError with `what` and its last messages."""
    settings = {"LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    done = called(words, seconds, "Guests need Debian's or Ubuntu's apt, and its mirror.", folder=folder, more=settings)
    if done.returncode != 0 or re.search(r"^(W: Failed to fetch|Err:)", done.stderr, re.MULTILINE):
        raise TargetError(what, "apt's last output is below.", done.stderr.strip()[-2000:])
    return done.stdout
