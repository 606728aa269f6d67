"""What no committed text holds: where somebody's checkout lies, where packages come from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.checkout import ROOT, names

#: Somebody's home or a folder that only one machine has; a setting or an address of a package index.
HOME = r"(?<![\w/.~-])/(?:home/(?!me\b|you\b|user\b)|Users/|root/|work/)\w"
INDEX = r"\bindex-url\s*=|\bindex-url\s+[\"']?https?:|https?://[^\s/]*(?:pypi|artifactory|nexus)[^\s/]*|https?://\S+/simple\b"
BANNED = re.compile(f"{HOME}|{INDEX}")


def committed() -> Iterator[tuple[str, str]]:
    """(name, text) of every text file that git has or would take."""
    for name in names():
        try:
            yield name, (ROOT / name).read_text()
        except UnicodeDecodeError:
            continue


def test_lock_files_name_no_index() -> None:
    """Expected: names, versions, hashes. Broken: an address, which is the user's own setting."""
    for name in ("run", "dev", "oldest"):
        text = (ROOT / f"packaging/requirements/{name}.txt").read_text()
        for line in text.splitlines()[1:]:
            assert re.fullmatch(r"[a-z0-9.-]+==\S+( ; [^:/@]+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?", line), line
        assert "://" not in text


def test_no_text_names_a_machine_or_an_index() -> None:
    """Expected: nothing that is true on one machine only."""
    here = Path(__file__).relative_to(ROOT).as_posix()
    for name, text in committed():
        found = BANNED.search(text)
        assert found is None or name == here, f"{name}: {found.group() if found else ''}"


@pytest.mark.parametrize(
    "text",
    [
        "see /home/ann/kernometer",
        "/root/x",
        "--extra-index-url=x",
        "--index-url https://x",
        "https://pypi.example/x",
        "http://h/simple/",
    ],
)
def test_such_a_text_is_found(text: str) -> None:
    assert BANNED.search(text)


@pytest.mark.parametrize("text", ["~/.local/share", "a/home/b", "$HOME/x", "https://example.org/simply"])
def test_an_innocent_text_is_not(text: str) -> None:
    assert not BANNED.search(text)
