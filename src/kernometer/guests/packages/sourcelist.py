"""The system's package sources for apt: one-line (`*.list`) and deb822 (`*.sources`), sources.list(5).

Only the parts that our own sources need are read: the place, the suite, and the keys.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kernometer.errors import TargetError
from kernometer.guests.architecture import X86_64
from kernometer.processes import called

QUERY_SECONDS = 60
#: The most bytes of a file of sources; one with a key has some kilobytes.
MAX_FILE = 1 << 20
#: Options of trust, which apply to every suite of the same mirror. deb822's spelling.
TRUST = ("Signed-By", "Trusted")

_ONE_LINE = re.compile(
    r"deb\s+(?:\[(?P<options>[^]]*)\]\s*)?(?P<uri>[a-z+]+:\S*)\s+(?P<suite>\S+)(?P<components>[^#]*)"
)


@dataclass(frozen=True, slots=True)
class Source:
    """One suite of one mirror."""

    uri: str
    suite: str  #: "bookworm-updates"
    components: tuple[str, ...]
    trust: tuple[tuple[str, str], ...] = ()  #: the given options of TRUST; a key may have several lines

    def sibling(self, suite: str) -> Source:
        """Another suite of the same mirror, with the same keys, and only the main component, which has the kernels."""
        return replace(self, suite=suite, components=("main",))

    def stanza(self, kind: str = "deb", extra: str = "", architecture: str = X86_64.debian) -> str:
        """The source as deb822 for apt, with only package lists (`deb`) or source lists (`deb-src`)."""
        lines = [
            f"Types: {kind}",
            f"URIs: {self.uri}",
            f"Suites: {self.suite}",
            f"Components: {' '.join(self.components)}",
            f"Targets: {'Sources' if kind == 'deb-src' else 'Packages'}",
            *((f"Architectures: {architecture}",) if kind == "deb" else ()),
            *(f"{name}: {value}" for name, value in self.trust),
            *((extra,) if extra else ()),
        ]
        return "\n".join(lines) + "\n"


def system() -> tuple[Source, ...]:
    """Every enabled source of binary packages on this system, in apt's order of files. Raises MissingError without apt,
    TargetError if a file cannot be read."""
    sources: list[Source] = []
    for path in _files():
        try:
            text = path.read_bytes()[:MAX_FILE].decode(errors="replace")
        except OSError as error:
            raise TargetError(f"{path}: {error.strerror}.", "apt's sources must be readable.") from error
        sources += parse_deb822(text) if path.suffix == ".sources" else parse_one_line(text)
    return tuple(dict.fromkeys(sources))


def parse_one_line(text: str) -> Iterator[Source]:
    """From lines such as `deb [signed-by=/…] http://mirror/debian bookworm main`."""
    for line in text.splitlines():
        match = _ONE_LINE.match(line.strip())
        if match is None or match["suite"].endswith("/"):
            continue
        given = dict(word.partition("=")[::2] for word in (match["options"] or "").replace('"', "").split())
        trust = tuple((name, given[name.lower()]) for name in TRUST if given.get(name.lower()))
        yield Source(match["uri"], match["suite"], tuple(match["components"].split()), trust)


def parse_deb822(text: str) -> Iterator[Source]:
    """From stanzas of `Name: value`, in which a line that begins with a space continues the value above it."""
    text = re.sub(r"^#.*\n?", "", text, flags=re.MULTILINE)
    for stanza in re.split(r"\n[ \t]*\n", text):
        fields: dict[str, str] = {}
        for name, value in re.findall(r"^([A-Za-z0-9-]+):[ \t]*(.*(?:\n[ \t].*)*)", stanza, re.MULTILINE):
            fields[name.lower()] = value.rstrip()
        enabled = fields.get("enabled", "yes").lower() not in ("no", "false", "0")
        if "deb" not in fields.get("types", "").split() or not enabled:
            continue
        trust = tuple((name, fields[name.lower()]) for name in TRUST if fields.get(name.lower()))
        for uri in fields.get("uris", "").split():
            for suite in fields.get("suites", "").split():
                if not suite.endswith("/"):
                    yield Source(uri, suite, tuple(fields.get("components", "").split()), trust)


def _files() -> list[Path]:
    """The files of sources in apt's own configuration."""
    words = ("apt-config", "shell", "file", "Dir::Etc::sourcelist/f", "parts", "Dir::Etc::sourceparts/d")
    said = called(words, QUERY_SECONDS, "Guests need Debian's or Ubuntu's apt.").stdout
    places = dict(word.partition("=")[::2] for word in shlex.split(said))
    parts = Path(places.get("parts") or "/nonexistent")
    paths = [path for path in (Path(places.get("file", "")),) if path.is_file()]
    if parts.is_dir():
        paths += sorted(path for path in parts.iterdir() if path.suffix in (".list", ".sources") and path.is_file())
    return paths
