"""Sources as apt has them, in both forms."""

from __future__ import annotations

import pytest

from kernometer.guests.packages.sourcelist import Source, parse_deb822, parse_one_line

BOOKWORM = Source("http://mirror/debian", "bookworm", ("main", "contrib"), (("Signed-By", "/keys/a.gpg"),))


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("deb http://mirror/debian bookworm main", Source("http://mirror/debian", "bookworm", ("main",))),
        ("deb [signed-by=/keys/a.gpg] http://mirror/debian bookworm main contrib", BOOKWORM),
        ("  deb  [ arch=amd64  signed-by=/keys/a.gpg ] http://mirror/debian bookworm main contrib # c", BOOKWORM),
        ('deb [signed-by="/keys/a.gpg"] http://mirror/debian bookworm main contrib', BOOKWORM),
        ("deb [trusted=yes] file:/pool x main", Source("file:/pool", "x", ("main",), (("Trusted", "yes"),))),
        ("deb-src http://mirror/debian bookworm main", None),
        ("# deb http://mirror/debian bookworm main", None),
        ("deb http://mirror/flat ./", None),
        ("deb cdrom", None),
        ("", None),
    ],
)
def test_one_line_sources(line: str, wanted: Source | None) -> None:
    """Expected: place, suite, components and whom to trust. Broken: an option taken for the mirror."""
    assert list(parse_one_line(f"{line}\n")) == ([wanted] if wanted else [])


def test_deb822_sources() -> None:
    """Expected: one for each mirror and suite; a key of several lines whole; what is switched off left out."""
    text = (
        "# comment\nTypes: deb deb-src\nURIs: http://a http://b\nSuites: x\n x-updates\nComponents: main contrib\n"
        "Signed-By:\n -----BEGIN\n .\n# comment within\n abc\n -----END\n"
        "\n \nTypes: deb\nURIs: http://off\nSuites: x\nComponents: main\nEnabled: no\n"
        "\nTypes: deb-src\nURIs: http://sources\nSuites: x\nComponents: main\n"
        "\nTypes: deb\nURIs: http://flat\nSuites: ./\n"
    )
    found = list(parse_deb822(text))
    assert [(one.uri, one.suite) for one in found] == [
        ("http://a", "x"),
        ("http://a", "x-updates"),
        ("http://b", "x"),
        ("http://b", "x-updates"),
    ]
    assert found[0].components == ("main", "contrib")
    assert found[0].trust == (("Signed-By", "\n -----BEGIN\n .\n abc\n -----END"),)


def test_another_suite_of_the_same_mirror_has_the_same_keys() -> None:
    """Expected: what apt reads back. Broken: a key lost on the way, and everything trusted or nothing."""
    sid = BOOKWORM.sibling("sid")
    assert sid == Source(BOOKWORM.uri, "sid", ("main",), BOOKWORM.trust)
    text = sid.stanza(extra="Check-Valid-Until: no")
    assert list(parse_deb822(text)) == [sid]
    assert "Check-Valid-Until: no\n" in text
    assert "Types: deb-src\n" in sid.stanza("deb-src")
