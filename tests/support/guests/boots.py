"""Boots of a guest whose QEMU is a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kernometer.cache import sha256
from kernometer.guests import store
from kernometer.guests.emulator.qemu import COMMAND_LINE, Boot, Machine
from kernometer.guests.store import Manifest
from kernometer.targets import booting
from kernometer.targets.qemu import QemuTarget
from tests.support.guests import qemu_script

#: What QEMU boots, in short.
BOOT = Boot(
    machine=Machine(),
    accelerator="icount",
    kernel=Path("/k/vmlinux"),
    initrd="initrd",
    command_line=COMMAND_LINE,
    console=Path("console"),
    bulk=Path("bulk"),
)

WORKLOAD = {
    "type": "workload",
    "name": "syscall/getppid",
    "per": "call",
    "unit": "ns",
    "better": "lower",
    "by": ["path"],
    "source": "",
    "what": "",
    "inside": "",
    "rows": [{"row": "syscall/getppid", "id": 2}, {"row": "syscall/getppid@cold", "id": 4}],
}
RUN = {"type": "run", "row": "syscall/getppid", "workload": "syscall/getppid", "run": 0, "batch": 1, "samples": [384]}
REGIONS = {
    "0": {"complete": 10, "cut_off": 0, "counts": {"instructions": 360}, "each": [36] * 10, "repeated": [0] * 10},
    "2": {"complete": 1, "cut_off": 0, "counts": {"instructions": 403, "syscalls": 1}, "each": [403], "repeated": [0]},
    "4": {"complete": 0, "cut_off": 1, "counts": {"instructions": 0}, "each": [], "repeated": []},
}


def lines(*records: Mapping[str, object]) -> str:
    return "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)


GOOD = f"#kernometer begin 1\n{lines(WORKLOAD, RUN)}#kernometer end 2\n#init exit 0 signal 0\n"
Boots = Callable[[str], QemuTarget]


def archive(
    program: str, files: Mapping[str, bytes], guest: object = None, command: Sequence[str] = (), before: object = ()
) -> bytes:
    """In place of an archive: the command's words at its end, each after a NUL."""
    return "\0".join((repr((program, files, guest, before)), *command)).encode()


@pytest.fixture
def boots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Boots:
    """A target whose QEMU runs the given Python lines in the boot's folder. Only the initramfs is left out: compiling
    the probe for each test would take longer than all of them."""
    qemu_script.prepare(tmp_path, monkeypatch)
    monkeypatch.setattr(booting, "initrd", archive)
    monkeypatch.setattr(booting, "inside", lambda *_: (b"init", b"probe"))
    kernel = b"a kernel"
    with store.new_folder() as folder:
        (folder / "vmlinux").write_bytes(kernel)
        made = Manifest(
            name="linux-9.9",
            package="linux-image-9.9.0-amd64",
            version="9.9.1-1",
            release="9.9.0-amd64",
            package_sha256="0" * 64,
            kernel_sha256=sha256(kernel),
            kernel_bytes=len(kernel),
        )
        store.keep(folder, made)

    def make(script: str) -> QemuTarget:
        qemu_script.place(
            tmp_path,
            f"GOOD, REGIONS = {GOOD!r}, {json.dumps({'api': 1, 'regions': REGIONS})!r}\n"
            "def bulk(text): open('bulk', 'a').write(text)\n"
            "def console(text): open('console', 'a').write(text)\n"
            "def events(text=REGIONS): open('events.json', 'w').write(text)\n"
            f"signal.signal(signal.SIGTERM, signal.SIG_IGN)  # QEMU too lets its plugin write first\n{script}",
        )
        return replace(QemuTarget.from_spec("linux-9.9"), saved=False)

    return make


def left_behind(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "tmp").iterdir())
