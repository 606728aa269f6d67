"""Hosts are told apart by a digest of their machine-id, which tells nobody that number."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from kernometer.targets import local as identity
from kernometer.targets.local import from_spec

ID = "0123456789abcdef0123456789abcdef"


def test_digest_is_keyed_and_tells_nothing_of_the_number() -> None:
    """Expected: the same at every call, another for another machine, and no plain hash, which a table of them finds."""
    found = identity.hashed(f"{ID}\n")
    assert found == identity.hashed(ID) != identity.hashed(ID[::-1])
    assert len(found) == 32
    assert ID not in found
    for plain in (ID.encode(), bytes.fromhex(ID), f"{ID}\n".encode()):
        assert found not in hashlib.sha256(plain).hexdigest()


@pytest.mark.parametrize("text", ["", "\n", "uninitialized\n", ID[:-1], ID + "0", "Z" * 32])
def test_what_is_no_number_identifies_nobody(text: str) -> None:
    """Expected: "". Broken: all hosts whose image was never started are one."""
    assert identity.hashed(text) == ""


def test_first_file_with_a_number_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = tuple(tmp_path / name for name in ("gone", "empty", "dbus"))
    files[1].write_text("")
    monkeypatch.setattr(identity, "FILES", files)
    assert identity.host_id() == ""
    files[2].write_text(ID)
    assert identity.host_id() == identity.hashed(ID)
    assert from_spec("local").place("time").host_id == identity.hashed(ID)
