"""What the worker's events promise: what must be called lost or wrong, and what must not."""

from __future__ import annotations

import json

import pytest

from kernometer.faults.promises import Event, Promises, events, judge, read
from kernometer.faults.worker import MOST_LOOSE, content

SEED = 7
A, B = "/mnt/w7/a/s0", "/mnt/w7/a/s1"


def said(event: str, **members: object) -> Event:
    made = read(json.dumps({"event": event, **members}).encode())
    assert made is not None
    return made


START = said("start", format=1, seed=SEED)
MADE = (START, said("changes", what="create", file=1, version=0, path=A))
KEPT = (*MADE, said("kept", file=1, version=3, length=1, path=A))
WRITTEN = (*KEPT, said("changes", what="write", file=1, version=3, path=A))
MOVED = (*KEPT, said("changes", what="rename", file=1, version=3, path=A, to=B))
OTHER = (*KEPT, said("changes", what="create", file=2, version=0, path=B))
REPLACED = (
    *OTHER, said("kept", file=2, version=1, length=1, path=B),
    said("changes", what="replace", file=1, version=3, path=A),
    said("changes", what="rename", file=2, version=1, path=B, to=A),
)  # fmt: skip  # as a table
UNLINKED = (*KEPT, said("changes", what="unlink", file=1, version=3, path=A))
GONE = (*UNLINKED, said("gone", path=A))


def v(version: int, file: int = 1) -> bytes:
    return content(SEED, file, version)


def torn(old: bytes, new: bytes) -> bytes:
    """The new one, whose second sector is the old one's."""
    old = old.ljust(len(new), b"\0")
    return new[:512] + old[512:1024] + new[1024:]


def verdict(told: tuple[Event, ...], **files: bytes) -> tuple[int, int, int]:
    """How many are lost, wrong, fine, with these files at A and B."""
    tree: dict[str, bytes | None] = {"/": None, "/w7": None, "/w7/a": None}
    tree |= {{"a": "/w7/a/s0", "b": "/w7/a/s1"}[name]: data for name, data in files.items()}
    judged = judge(Promises.after(told), tree, "/mnt")
    assert judged.promises == judged.fine + len(judged.lost)
    return len(judged.lost), len(judged.wrong), judged.fine


def test_what_was_kept_must_be_there_as_it_was() -> None:
    """Expected: lost when it is away, older, newer, or has one wrong bit."""
    assert verdict(KEPT, a=v(3)) == (0, 0, 1)
    assert verdict(KEPT) == (1, 0, 0)
    assert verdict(KEPT, a=v(2)) == (1, 0, 0)
    assert verdict(KEPT, a=v(4)) == (1, 0, 0)
    assert verdict(KEPT, a=bytes([v(3)[0] ^ 1]) + v(3)[1:]) == (1, 0, 0)
    assert verdict(KEPT, b=v(3))[0] == 1


def test_what_changes_may_be_old_new_or_between() -> None:
    """Expected: neither lost nor wrong; wrong where a byte is of no version, or of one before the last kept."""
    assert verdict(WRITTEN, a=v(3)) == verdict(WRITTEN, a=v(4)) == verdict(WRITTEN) == (0, 0, 0)
    assert verdict(WRITTEN, a=torn(v(3), v(4))) == (0, 0, 0)
    assert verdict(WRITTEN, a=v(3 + MOST_LOOSE)) == (0, 0, 0)
    assert verdict(WRITTEN, a=v(3, file=9)) == (0, 1, 0)
    assert verdict(WRITTEN, a=bytes([v(3)[0] ^ 0x55]) + v(3)[1:]) == (0, 1, 0)
    assert verdict(WRITTEN, a=b"") == (0, 1, 0)


def test_a_name_on_its_way_may_be_old_new_both_or_none() -> None:
    for files in ({"a": v(3)}, {"b": v(3)}, {"a": v(3), "b": v(3)}, {}):
        assert verdict(MOVED, **files) == (0, 0, 0)
    assert verdict(MOVED, b=v(1, file=2)) == (0, 1, 0)


def test_a_name_that_is_replaced_may_have_either_file() -> None:
    assert verdict(REPLACED, a=v(3)) == verdict(REPLACED, a=v(1, file=2)) == (0, 0, 0)
    assert verdict(REPLACED, a=v(3), b=v(1, file=2)) == (0, 0, 0)
    assert verdict(REPLACED, a=v(3), b=v(3)) == (0, 1, 0)


def test_what_was_told_to_be_gone_must_not_come_back() -> None:
    assert verdict(UNLINKED, a=v(3)) == verdict(UNLINKED) == (0, 0, 0)
    assert verdict(GONE) == (0, 0, 1)
    assert verdict(GONE, a=v(3)) == (1, 1, 0)
    assert verdict((*GONE, said("changes", what="create", file=5, version=0, path=A)), a=b"") == (0, 0, 0)


def test_a_file_that_nobody_has_made_is_wrong() -> None:
    assert verdict(KEPT, a=v(3), b=b"") == (0, 1, 1)
    assert verdict((START,)) == (0, 0, 0)
    assert judge(Promises(), {"/w7/a/s0": b""}, "/mnt").wrong == []


def test_other_disks_are_left_out() -> None:
    assert judge(Promises.after(KEPT), {"/": None}, "/elsewhere").promises == 0


@pytest.mark.parametrize(
    "line",
    [
        b"", b"trio: off", b'{"event":"kept"', b"[1]", b'{"event":3}', b'{"event":"kept","file":-1}',
        b'{"event":"kept","version":10001}', b'{"event":"start","format":2}', b'{"event":"' + b"x" * 5000 + b'"}',
        b'{"event":"kept","path":"\xff"}',
    ],
)  # fmt: skip  # as a table
def test_what_is_no_event_is_none(line: bytes) -> None:
    """Expected: left out. Broken: a console's other words, or a line that was cut off, end the judgement."""
    assert read(line) is None


def test_a_last_line_without_its_end_is_no_event() -> None:
    """Expected: the guest died while it said it; what it was about to promise is not promised."""
    line = b'{"event":"gone","operation":1,"path":"/mnt/w7/a/s0"}'
    assert [event.event for event in events(line + b"\r\n" + line)] == ["gone"]
