"""usertests in a guest: which of its questions are answered wrongly."""

from __future__ import annotations

from pathlib import Path

from tests.support.trio.boot import Kernel, Machine, boot, initramfs
from tests.support.trio.user_programs import PROGRAMS

USERTESTS_SECONDS = 600.0


def failed_questions(kernel: Kernel, user_programs: Path) -> set[str]:
    """By name, once the program has ended and more than 400 were answered rightly."""
    files = {f"bin/{each}": (user_programs / each).read_bytes() for each in PROGRAMS}
    ended = boot(kernel, initramfs(("usertests",), files), Machine(), seconds=USERTESTS_SECONDS)
    lines = [line.split() for line in ended.bulk.decode().splitlines()]
    assert ended.status is not None, ended
    assert len([words for words in lines if words[:1] == ["ok"]]) > 400, ended
    return {words[1].rstrip(":") for words in lines if words[:1] == ["FAIL"]}
