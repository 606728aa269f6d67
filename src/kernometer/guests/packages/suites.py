"""Finds the suite of the package sources that has a kernel: the system's own first, then others of the same mirror.

The others are the release's backports, later releases with their updates and backports, sid, and earlier releases.
Their sources have the system's mirrors and keys. The mirror may have only some of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from itertools import chain
from pathlib import Path
from typing import Literal

from kernometer.errors import MissingError, TargetError
from kernometer.guests.architecture import X86_64, Architecture
from kernometer.guests.packages import apt as apt_module
from kernometer.guests.packages import sourcelist
from kernometer.guests.packages.apt import LISTS_HOURS, Apt, ExpiredError, NoSuiteError, Package, UnreachableError
from kernometer.guests.packages.sourcelist import Source
from kernometer.text import printable

#: The searched distributions, by the Origin of their Release files.
DISTRIBUTIONS = ("Debian", "Debian Backports", "Ubuntu")
#: Debian's releases in order; a mirror need not have them. Unstable comes after all of them.
RELEASES = ("bullseye", "bookworm", "trixie", "forky", "duke")
#: The first series of the first of them; older ones have left the mirrors.
OLDEST = "5.10"
#: The packages that install a release's own kernel: Debian's, Ubuntu's.
OWN = ("linux-image-amd64", "linux-image-generic")
Direction = Literal["earlier", "later"]
UNSTABLE = "sid"
#: Rolling suites in Release files (their updates: testing-updates), which expire within days if their mirror is not
#: updated.
ROLLING = ("testing", "unstable")

_KERNEL = re.compile(
    r"linux-image-(?P<unsigned>unsigned-)?"
    r"(?P<release>(?P<series>\d+\.\d+)\.\d[^-]*(?:-\d[^-]*)?-(?P<flavour>[a-z][a-z0-9]*(?:-[a-z0-9]+)*?))(?P<late>-unsigned)?"
)
#: Further packages that a kernel may be split into, besides its image: linux-KIND-RELEASE.
_PARTS = ("base", "binary", "modules")
_NO_FLAVOURS = ("dbg", "dbgsym", "signed", "template")

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class KernelName:
    """The parts of a kernel package's name."""

    release: str  #: "6.1.0-56-cloud-amd64", as `uname -r`
    series: str  #: "6.1"
    flavour: str  #: "" for the full one (Debian's amd64, Ubuntu's generic), "cloud", "rt", "lowlatency"
    unsigned: bool  #: without the signature for Secure Boot, which only firmware checks


@dataclass(frozen=True, slots=True)
class Candidate:
    """A kernel package that can be downloaded, and its origin."""

    name: KernelName
    package: Package
    apt: Apt
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A package, downloaded."""

    package: Package
    suite: str
    file: Path
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fetched:
    """A kernel's packages, downloaded."""

    name: KernelName
    package: Package
    suite: str
    parts: tuple[Package, ...]  #: further packages of this kernel
    files: tuple[Path, ...]  #: of all its packages
    remarks: tuple[str, ...]


def kernel_name(package: str, architecture: str = X86_64.debian) -> KernelName | None:
    """From `linux-image-6.12.117+deb12-cloud-amd64-unsigned`; None for other packages."""
    match = _KERNEL.fullmatch(package)
    if match is None or set(match["flavour"].split("-")) & set(_NO_FLAVOURS):
        return None
    flavour = match["flavour"].removesuffix(architecture).removesuffix("-")
    return KernelName(
        match["release"],
        match["series"],
        "" if flavour == "generic" else flavour,
        bool(match["unsigned"] or match["late"]),
    )


def newest(candidates: tuple[Candidate, ...], series: str, flavour: str = "") -> Candidate | None:
    """The highest version of a series and flavour by dpkg's rules, unsigned only without signed ones; None if none."""
    fitting = [one for one in candidates if (one.name.series, one.name.flavour) == (series, flavour)]
    signed = [one for one in fitting if not one.name.unsigned]

    def order(a: Candidate, b: Candidate) -> int:
        x, y = a.package.version, b.package.version
        return apt_module.newer(x, y) - apt_module.newer(y, x)

    return max(signed or fitting, key=cmp_to_key(order), default=None)


def fetch(series: str, flavour: str, folder: Path, say: Say, architecture: Architecture = X86_64) -> Fetched:
    """Downloads the newest kernel of a series ("6.1") and flavour from the first suite that has one, into `folder`.

    `say` prints slow steps and anything unusual. Raises MissingError, with the series that exist, if no suite has it,
    TargetError if apt fails.
    """
    apt_module.need()
    if _number(series) < _number(OLDEST):
        raise MissingError(
            f"Linux {series} has left the mirrors: {RELEASES[0]}, the oldest release there, begins with {OLDEST}.",
            "With a kernel of your own: kernometer guest add linux --kernel FILE",
        )
    there: set[str] = set()
    left_out: list[str] = []
    for candidates in _shelves(series, say, left_out, "" if architecture is X86_64 else architecture.debian):
        there.update(one.name.series for one in candidates if one.name.flavour == flavour)
        found = newest(candidates, series, flavour)
        if found is None:
            continue
        try:
            return _downloaded(found, folder, say)
        except TargetError:
            for leftover in folder.glob("*.deb"):
                leftover.unlink()
            if found.apt.state is None:
                continue  # the mirror has replaced a package of the system's lists: use our own lists
            found.apt.update()  # ours can be some hours old too
            again = newest(_kernels(found.apt, found.remarks), series, flavour)
            if again is None or again.package == found.package:
                raise
            return _downloaded(again, folder, say)
    raise _none(f"Linux {series}" + (f" of flavour {flavour}" if flavour else ""), there, left_out)


def newest_of(
    wanted: re.Pattern[str], prefix: str, folder: Path, say: Say, *, later: bool = False, foreign: str = ""
) -> Found | None:
    """Downloads the newest package whose name is `wanted`, which begins with `prefix`, from the first list that has one
    into `folder`: the system's, else our own of its sources, and if `later` those of later releases. None if none has.
    `foreign`: of another architecture.

    Raises TargetError if apt fails.
    """
    apt_module.need()
    failed: TargetError | None = None
    for apt, remarks in _lists(say, later, foreign):
        newest: Package | None = None
        for one in apt.show(name for name in apt.names(prefix) if wanted.fullmatch(name)):
            if newest is None or apt_module.newer(one.version, newest.version):
                newest = one
        if newest is None:
            continue
        say(f"Downloading {newest.name} {newest.version}, {newest.size / 1e6:.0f} MB …")
        try:
            return Found(newest, apt.suite(newest), apt.download(newest, folder), remarks)
        except TargetError as error:  # the mirror has replaced a package of the lists
            failed = error
    if failed is not None:
        raise failed
    return None


def exactly(names: Sequence[str], version: str, folder: Path, say: Say) -> tuple[Path, ...]:
    """Downloads these packages of one version into `folder`, from the first list that has them all.

    Raises MissingError if no list has, TargetError if apt fails.
    """
    apt_module.need()
    for apt, _ in _lists(say, later=True):
        known = [name for name in names if name in apt.names(name)]
        found = {one.name: one for one in apt.show(known) if one.version == version}
        if len(found) == len(set(names)):
            say(f"Downloading {', '.join(names)} {version} …")
            return tuple(apt.download(found[name], folder) for name in names)
    raise MissingError(
        f"The package sources no longer have {', '.join(names)} of version {version}.",
        "Add the guest again: its newest kernel is then stored, and has these packages.",
    )


def _lists(say: Say, later: bool, foreign: str = "") -> Iterator[tuple[Apt, tuple[str, ...]]]:
    """Package lists, nearest first, and remarks on them; a suite whose lists cannot be trusted is left out."""
    for own in _system(say, foreign):
        yield own, ()
    for source in chain.from_iterable(beyond(sourcelist.system(), _origins(own, say), "later") if later else ()):
        try:
            found = _opened(source, say, foreign)
        except UnreachableError:
            raise
        except TargetError as error:
            say(f"{source.suite} is left out: {error.text}")
            continue
        if found is not None:
            yield found


def own_series(say: Say) -> str:
    """The series of this release's own kernel. Raises MissingError if its package sources have none."""
    apt_module.need()
    for apt in _system(say):
        for package in apt.show(set(OWN) & set(apt.names("linux-image-"))):
            for name in package.depends:
                if kernel := kernel_name(name):
                    return kernel.series
    raise MissingError("This system's package sources have no kernel of their own.", "Name a series, such as 6.12.")


def _none(what: str, there: set[str], left_out: list[str]) -> MissingError:
    series = sorted(there, key=_number)
    has = f"They have {', '.join(series)}." if series else "They name no kernel packages of this kind at all."
    return MissingError(
        f"This system's package sources have no {what}, nor have further suites on the same mirrors.",
        " ".join((has, *left_out)),
    )


def source(package: str, folder: Path) -> Path:
    """As `apt.source`, from another release if the system's fails: a mirror may list files that it does not have."""
    try:
        return apt_module.source(package, folder)
    except UnreachableError:
        raise
    except (MissingError, TargetError) as error:
        own = Apt.private("system")
        own.update(LISTS_HOURS)
        for one in chain.from_iterable(beyond(sourcelist.system(), own.origins(), "earlier", "later")):
            try:
                return apt_module.source(package, folder, one)
            except UnreachableError:
                raise
            except (MissingError, TargetError):
                continue
        raise error


def _shelves(series: str, say: Say, left_out: list[str], foreign: str) -> Iterator[tuple[Candidate, ...]]:
    """The candidates, one group of suites at a time, nearest first; each group is fetched only when it is needed.

    A suite whose lists cannot be trusted is left out, and `left_out` gets the reason. `foreign`: another architecture.
    """
    for own in _system(say, foreign):
        kernels = _kernels(own)
        yield kernels
    older = all(_number(series) < _number(one.name.series) for one in kernels)
    directions: tuple[Direction, ...] = ("earlier",) if older else ("later",)
    origins = _origins(own, say)
    if not any(one.origin.startswith("Debian") for one in origins):
        left_out.append("Debian's are searched if apt has a source of Debian's, with its keyring.")
    for sources in beyond(sourcelist.system(), origins, *(directions if kernels else ("later", "earlier"))):
        found: list[Candidate] = []
        for source in sources:
            try:
                if (opened := _opened(source, say, foreign)) is not None:
                    found += _kernels(*opened)
            except UnreachableError:
                raise
            except TargetError as error:
                cause = next((line for line in error.last_output.splitlines() if line[:2] in ("E:", "W:")), error.text)
                left_out.append(f"{source.suite} is left out: {printable(cause, 300)}")
                say(left_out[-1])
        yield tuple(found)


def _system(say: Say, foreign: str = "") -> Iterator[Apt]:
    """The system's sources: with its own lists, then with lists fetched into the cache. `foreign`: the lists of another
    architecture, which the system's sources need not have."""
    sources = "\n".join(one.stanza(architecture=foreign) for one in sourcelist.system()) if foreign else ""
    if not foreign:
        yield Apt()
    own = Apt.private("system", sources, foreign)
    if not own.fresh(LISTS_HOURS):
        say("Fetching the system's package lists …")
    own.update(LISTS_HOURS)
    yield own


def _origins(own: Apt, say: Say) -> tuple[apt_module.Origin, ...]:
    """The origins of the system's sources, of which `own` are the lists. A suite without packages of an architecture
    has none in its lists, so that those of the system's own architecture are asked."""
    if own.architecture:
        *_, own = _system(say)
    return own.origins()


def _number(series: str) -> list[int]:
    """For sorting: 6.2 before 6.12."""
    return [int(number) for number in series.split(".")]


def beyond(
    sources: tuple[Source, ...], origins: tuple[apt_module.Origin, ...], *directions: Direction
) -> Iterator[tuple[Source, ...]]:
    """Suites to try after the system's own, of earlier releases, later ones, or both; a tuple is tried together. A
    release's kernels are newer than all of the one before. Pure.

    `origins` contains the origins of `sources`: only mirrors of a distribution are used.
    """
    by_place = {(_place(one.uri), one.suite): one for one in sources}
    mirrors: dict[str, Source] = {}  #: by distribution; Debian's security updates have their own
    here: set[str] = set()
    for origin in origins:
        source = by_place.get((_place(origin.uri), origin.suite))
        if source is not None and origin.origin in DISTRIBUTIONS:
            here.add(origin.codename)
            distribution = origin.origin.partition(" ")[0]
            security = distribution == "Debian" and origin.codename.endswith("-security")
            mirrors.setdefault("security" if security else distribution, source)
    for names, mirror in _names({name.partition("-")[0] for name in here}, mirrors, directions):
        found = tuple(mirrors[mirror(name)].of(name) for name in names if name not in here and mirror(name) in mirrors)
        if found:
            yield found


def _names(
    bases: set[str], mirrors: Container[str], directions: tuple[Direction, ...]
) -> Iterator[tuple[tuple[str, ...], Callable[[str], str]]]:
    """Names of suites that are tried together, and a function for the mirror of each."""
    if "Ubuntu" in mirrors:
        for release in sorted(bases - {*RELEASES, UNSTABLE}):
            yield (f"{release}-updates", f"{release}-security"), lambda _: "Ubuntu"
    if "Debian" in mirrors:
        own = max((RELEASES.index(name) for name in bases if name in RELEASES), default=len(RELEASES))
        releases = {"later": (*RELEASES[own:], UNSTABLE), "earlier": RELEASES[:own][::-1]}
        for release in chain.from_iterable(releases[direction] for direction in directions):
            if release == UNSTABLE:
                yield (UNSTABLE,), _debian
                continue
            yield (release, f"{release}-updates", f"{release}-security"), _debian
            yield (f"{release}-backports",), _debian


def _debian(suite: str) -> str:
    return "security" if suite.endswith("-security") else "Debian"


def _opened(source: Source, say: Say, foreign: str = "") -> tuple[Apt, tuple[str, ...]] | None:
    """The lists of a suite beyond the system's, and remarks; None if the mirror has no such suite, or one of another
    origin."""
    strict, lenient = (
        Apt.private(
            source.suite,
            source.stanza(extra=f"Check-Valid-Until: {checked}", architecture=foreign or X86_64.debian),
            foreign,
        )
        for checked in ("yes", "no")
    )
    if lenient.fresh(LISTS_HOURS):
        return lenient, (_expired(lenient, source.suite),)
    try:
        if not strict.fresh(LISTS_HOURS):
            say(f"Looking for {source.suite} on the system's mirror …")
        strict.update(LISTS_HOURS)
        return (strict, ()) if strict.release("Origin") in DISTRIBUTIONS else None
    except NoSuiteError:
        return None
    except ExpiredError:
        lenient.update()
        if lenient.release("Suite").partition("-")[0] not in ROLLING or lenient.release("Origin") not in DISTRIBUTIONS:
            lenient.forget()
            raise
        remark = _expired(lenient, source.suite)
        say(remark)
        return lenient, (remark,)


def _expired(apt: Apt, suite: str) -> str:
    """The remark about a Release file with a valid signature and an expired date."""
    return (
        f"The Release file of {suite} is signed, and expired on {apt.release('Valid-Until')}: its age is not checked."
    )


def _kernels(apt: Apt, remarks: tuple[str, ...] = ()) -> tuple[Candidate, ...]:
    """Every kernel image that can be downloaded."""
    own = apt.architecture or X86_64.debian
    names = {name: kernel for name in apt.names("linux-image-") if (kernel := kernel_name(name, own)) is not None}
    return tuple(Candidate(names[one.name], one, apt, remarks) for one in apt.show(names) if one.name in names)


def _downloaded(found: Candidate, folder: Path, say: Say) -> Fetched:
    """Downloads the package and the further packages of this kernel."""
    apt, release = found.apt, found.name.release
    needed = [name for name in found.package.depends if name in {f"linux-{kind}-{release}" for kind in _PARTS}]
    candidates = apt.show({*needed, *apt.names(f"linux-modules-extra-{release}")})
    parts = tuple(one for one in sorted(candidates, key=lambda one: one.name) if one.version == found.package.version)
    suite = apt.suite(found.package)
    remarks = list(found.remarks)
    if found.name.unsigned:
        remarks.append(f"{found.package.name} is not signed for Secure Boot; the signed package is not in {suite}.")
    if gone := sorted(set(needed) - {one.name for one in parts}):
        remarks.append(f"No longer in {suite}, and so not kept: {', '.join(gone)}.")
    for remark in remarks[len(found.remarks) :]:
        say(remark)
    files = []
    for package in (found.package, *parts):
        where = f" of {suite}" if suite else ""
        say(f"Downloading {package.name} {package.version}{where}, {package.size / 1e6:.0f} MB …")
        files.append(apt.download(package, folder))
    return Fetched(found.name, found.package, suite, parts, tuple(files), tuple(remarks))


def _place(uri: str) -> str:
    """One spelling of a URI that apt and its files write differently."""
    return re.sub(r"^(file|copy):/+", r"\1:/", uri).rstrip("/")
