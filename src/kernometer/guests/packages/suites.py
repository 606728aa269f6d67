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
#: Debian's releases in order, of which a mirror may lack some. Unstable comes after all of them.
RELEASES = ("bullseye", "bookworm", "trixie", "forky", "duke")
#: The first series of the first release above; mirrors no longer have older ones.
OLDEST = "5.10"
#: The packages that install a release's own kernel: Debian's, Ubuntu's.
OWN = ("linux-image-amd64", "linux-image-generic")
Direction = Literal["earlier", "later"]
UNSTABLE = "sid"
#: Rolling suites, by their Release files (updates: testing-updates): these expire within days on a mirror that is not
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
class Downloaded:
    """A package in a file."""

    package: Package
    suite: str
    file: Path
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fetched:
    """A kernel's packages in files."""

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
    fitting = [each for each in candidates if (each.name.series, each.name.flavour) == (series, flavour)]
    signed = [each for each in fitting if not each.name.unsigned]

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
            "With a kernel of your own: kernometer guest add kernel FILE",
        )
    there: set[str] = set()
    left_out: list[str] = []
    for candidates in _shelves(series, say, left_out, "" if architecture is X86_64 else architecture.debian):
        there.update(candidate.name.series for candidate in candidates if candidate.name.flavour == flavour)
        best = newest(candidates, series, flavour)
        if best is None:
            continue
        try:
            return _downloaded(best, folder, say)
        except TargetError:
            for leftover in folder.glob("*.deb"):
                leftover.unlink()
            if best.apt.state is None:
                continue  # the mirror has replaced a package of the system's lists: use our own lists
            best.apt.update()  # ours can be some hours old too
            again = newest(_kernels(best.apt, best.remarks), series, flavour)
            if again is None or again.package == best.package:
                raise
            return _downloaded(again, folder, say)
    raise _none(f"Linux {series}" + (f" of flavour {flavour}" if flavour else ""), there, left_out)


def newest_of(
    wanted: re.Pattern[str], prefix: str, folder: Path, say: Say, *, later: bool = False, foreign: str = ""
) -> Downloaded | None:
    """Downloads the newest package whose name is `wanted`, which begins with `prefix`, into `folder`, from the first
    list that has one: the system's, then our own of its sources, then, if `later`, those of later releases. None if no
    list has one. `foreign` is another architecture. Raises TargetError if apt fails."""
    apt_module.need()
    failed: TargetError | None = None
    for apt, remarks in _lists(say, later, foreign):
        newest: Package | None = None
        for package in apt.show(name for name in apt.names(prefix) if wanted.fullmatch(name)):
            if newest is None or apt_module.newer(package.version, newest.version):
                newest = package
        if newest is None:
            continue
        say(f"Downloading {newest.name} {newest.version}, {newest.size / 1e6:.0f} MB …")
        try:
            return Downloaded(newest, apt.suite(newest), apt.download(newest, folder), remarks)
        except TargetError as error:  # the mirror has replaced a package of the lists
            failed = error
    if failed is not None:
        raise failed
    return None


def exactly(names: Sequence[str], version: str, folder: Path, say: Say) -> tuple[Path, ...]:
    """Downloads these packages of one version into `folder`, from the first list that has all of them. Raises
    MissingError if there is no such list, TargetError if apt fails."""
    apt_module.need()
    for apt, _ in _lists(say, later=True):
        known = [name for name in names if name in apt.names(name)]
        wanted = {package.name: package for package in apt.show(known) if package.version == version}
        if len(wanted) == len(set(names)):
            say(f"Downloading {', '.join(names)} {version} …")
            return tuple(apt.download(wanted[name], folder) for name in names)
    raise MissingError(
        f"The package sources no longer have {', '.join(names)} of version {version}.",
        "Add the guest again: its newest kernel is then stored, and has these packages.",
    )


def _lists(say: Say, later: bool, foreign: str = "") -> Iterator[tuple[Apt, tuple[str, ...]]]:
    """Package lists, nearest first, with remarks; a suite whose lists cannot be trusted is left out."""
    for own in _system(say, foreign):
        yield own, ()
    for source in chain.from_iterable(beyond(sourcelist.system(), _origins(own, say), "later") if later else ()):
        try:
            opened = _opened(source, say, foreign)
        except UnreachableError:
            raise
        except TargetError as error:
            say(f"{source.suite} is left out: {error.text}")
            continue
        if opened is not None:
            yield opened


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
    has = f"They have {', '.join(series)}." if series else "They name no kernel package of this kind."
    return MissingError(
        f"This system's package sources have no {what}, nor have further suites on the same mirrors.",
        " ".join((has, *left_out)),
    )


def source(package: str, folder: Path) -> Path:
    """As `apt.source`; if that fails, from another release: a mirror may list files that it does not have."""
    try:
        return apt_module.source(package, folder)
    except UnreachableError:
        raise
    except (MissingError, TargetError) as error:
        own = Apt.private("system")
        own.update(LISTS_HOURS)
        for suite in chain.from_iterable(beyond(sourcelist.system(), own.origins(), "earlier", "later")):
            try:
                return apt_module.source(package, folder, suite)
            except UnreachableError:
                raise
            except (MissingError, TargetError):
                continue
        raise error


def _shelves(series: str, say: Say, left_out: list[str], foreign: str) -> Iterator[tuple[Candidate, ...]]:
    """The candidates of one group of suites at a time, nearest first. A group is fetched when it is asked for. A suite
    whose lists cannot be trusted is left out, with the reason in `left_out`. `foreign`: another architecture."""
    for own in _system(say, foreign):
        kernels = _kernels(own)
        yield kernels
    older = all(_number(series) < _number(kernel.name.series) for kernel in kernels)
    directions: tuple[Direction, ...] = ("earlier",) if older else ("later",)
    origins = _origins(own, say)
    if not any(each.origin.startswith("Debian") for each in origins):
        left_out.append("Debian's are searched if apt has a source of Debian's, with its keyring.")
    for sources in beyond(sourcelist.system(), origins, *(directions if kernels else ("later", "earlier"))):
        group: list[Candidate] = []
        for source in sources:
            try:
                if (opened := _opened(source, say, foreign)) is not None:
                    group += _kernels(*opened)
            except UnreachableError:
                raise
            except TargetError as error:
                cause = next((line for line in error.last_output.splitlines() if line[:2] in ("E:", "W:")), error.text)
                left_out.append(f"{source.suite} is left out: {printable(cause, 300)}")
                say(left_out[-1])
        yield tuple(group)


def _system(say: Say, foreign: str = "") -> Iterator[Apt]:
    """The system's sources, first with its own lists, then with lists fetched into the cache. For another architecture
    (`foreign`) only with fetched lists, for the system's sources need not have it."""
    sources = "\n".join(each.stanza(architecture=foreign) for each in sourcelist.system()) if foreign else ""
    if not foreign:
        yield Apt()
    own = Apt.private("system", sources, foreign)
    if not own.fresh(LISTS_HOURS):
        say("Fetching the system's package lists …")
    own.update(LISTS_HOURS)
    yield own


def _origins(own: Apt, say: Say) -> tuple[apt_module.Origin, ...]:
    """The origins of the system's sources. A suite without packages of an architecture is missing in that one's lists
    (`own`), so the lists of the system's own architecture are asked."""
    if own.architecture:
        *_, own = _system(say)
    return own.origins()


def _number(series: str) -> list[int]:
    """For sorting: 6.2 before 6.12."""
    return [int(number) for number in series.split(".")]


def beyond(
    sources: tuple[Source, ...], origins: tuple[apt_module.Origin, ...], *directions: Direction
) -> Iterator[tuple[Source, ...]]:
    """The suites to try after the system's own, of earlier or later releases; those of a tuple are tried together. All
    kernels of a release are newer than those of the one before. Pure.

    `origins` has the origins of `sources`: only mirrors of a distribution are used.
    """
    by_place = {(_place(source.uri), source.suite): source for source in sources}
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
        missing = [name for name in names if name not in here and mirror(name) in mirrors]
        if missing:
            yield tuple(mirrors[mirror(name)].sibling(name) for name in missing)


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
    """The lists of a suite beyond the system's, with remarks. None if the mirror has no such suite, or the suite has
    another origin."""
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
    """The remark on a Release file with a valid signature and an expired date."""
    date = apt.release("Valid-Until")
    return f"The Release file of {suite} is signed, and expired on {date}: its age is not checked."


def _kernels(apt: Apt, remarks: tuple[str, ...] = ()) -> tuple[Candidate, ...]:
    """Every kernel image that can be downloaded."""
    own = apt.architecture or X86_64.debian
    names = {name: kernel for name in apt.names("linux-image-") if (kernel := kernel_name(name, own)) is not None}
    return tuple(Candidate(names[each.name], each, apt, remarks) for each in apt.show(names) if each.name in names)


def _downloaded(kernel: Candidate, folder: Path, say: Say) -> Fetched:
    """Downloads the package and the further packages of this kernel."""
    apt, release = kernel.apt, kernel.name.release
    needed = [name for name in kernel.package.depends if name in {f"linux-{kind}-{release}" for kind in _PARTS}]
    candidates = apt.show({*needed, *apt.names(f"linux-modules-extra-{release}")})
    same = (candidate for candidate in candidates if candidate.version == kernel.package.version)
    parts = tuple(sorted(same, key=lambda part: part.name))
    suite = apt.suite(kernel.package)
    remarks = list(kernel.remarks)
    if kernel.name.unsigned:
        remarks.append(f"{kernel.package.name} is not signed for Secure Boot; the signed package is not in {suite}.")
    if gone := sorted(set(needed) - {part.name for part in parts}):
        remarks.append(f"No longer in {suite}, and so not kept: {', '.join(gone)}.")
    for remark in remarks[len(kernel.remarks) :]:
        say(remark)
    files = []
    for package in (kernel.package, *parts):
        where = f" of {suite}" if suite else ""
        say(f"Downloading {package.name} {package.version}{where}, {package.size / 1e6:.0f} MB …")
        files.append(apt.download(package, folder))
    return Fetched(kernel.name, kernel.package, suite, parts, tuple(files), tuple(remarks))


def _place(uri: str) -> str:
    """One spelling of a URI that apt prints and its files write differently."""
    return re.sub(r"^(file|copy):/+", r"\1:/", uri).rstrip("/")
