"""A console target whose QEMU is a script, and what such tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernometer.targets import build
from kernometer.targets.console import ConsoleTarget
from tests.support.guests import qemu_script

ROOT = Path(__file__).parents[3]
SOURCE = "/* what is to arrive */\n" + "int main(void) { return 0; }\n" * 40

DESCRIPTION = """
system = "a foreign one"
tried = "by its author"
[boot]
seconds = 20
panic = ["panic: "]
[login]
user = "root"
password = "secret"
seconds = 20
[shell]
seconds = 20
[files]
seconds = 60
[compile]
probe = "/opt/probe"
seconds = 20
[run]
output = "/opt/output"
[power_off]
seconds = 20
"""

Plays = Callable[..., ConsoleTarget]


@pytest.fixture
def plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plays:
    """A target for a description; its QEMU runs the given Python lines in the boot's folder (see foreign.py).

    `in_TABLE` adds lines to a table of the description.
    """
    qemu_script.prepare(tmp_path, monkeypatch)
    monkeypatch.setattr(build, "amalgam", lambda: SOURCE)
    monkeypatch.setattr("kernometer.guests.emulator.kvm.DEVICE", tmp_path / "no-kvm")
    (tmp_path / "disk.img").write_bytes(b"a disk")

    def play(script: str, described: str = DESCRIPTION, **more: str) -> ConsoleTarget:
        for table, line in more.items():
            head = f"[{table.removeprefix('in_')}]\n"
            assert head in described
            described = described.replace(head, f"{head}{line}\n")
        (tmp_path / "disk.img.toml").write_text(described)
        qemu_script.place(
            tmp_path,
            f"sys.path.insert(0, {str(ROOT)!r})\n"
            "from tests.support.targets.foreign import GOOD, RECORDS, Foreign, forever\n"
            f"Path({str(tmp_path)!r}, 'pid').write_text(str(os.getpid()))\n{script}",
        )
        return ConsoleTarget.from_spec(str(tmp_path / "disk.img"))

    return play
