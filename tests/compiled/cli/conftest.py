"""Partitions that a QEMU of ours boots, which knows what each costs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from kernometer.guests.kernels import trio
from kernometer.results.store import Store
from kernometer.targets import booting
from tests.support.cli.matrices import ROW
from tests.support.guests import qemu_script
from tests.support.guests.trio_sources import MAKEFILE
from tests.support.results import make

#: `top` calls `low`, and all ask vm for pages.

SERVICES = """\
[top]
provides = "top"
calls = ["low"]
[low]
provides = "low"
calls = []
[vm]
provides = "vm"
calls = []
"""
#: 100, 7 for any cut, 500 of top's own, and 60 less with both low and vm out, which cost 80 and nothing alone. Of the
#: switches of test_factorial.py 40, 5, and 3 for both.
QEMU = f"""#!{sys.executable}
import re, sys
words = sys.argv
if "--version" in words:
    sys.exit(print("QEMU emulator version 7.2.22"))
def after(option):
    return words[words.index(option) + 1]
kernel = re.search(r"structure=([^ ]*)", open(after("-kernel")).read())[1]
out = set(kernel.partition("apart=")[2].split(",")) if kernel.startswith("mono") else set(("top", "low", "vm"))
count = 100 + 7 * bool(out - set([""])) + 500 * ("top" in out) + 80 * ("low" in out) - 60 * (out >= set(("low", "vm")))
count -= 30 * ("together" in kernel)
count += 40 * ("dear" in kernel) + 5 * ("cheap" in kernel) + 3 * ("dear" in kernel and "cheap" in kernel)
if kernel == "one-server" and "no-one-server" in open(after("-kernel")).read():
    open("console", "a").write("[    1.2] Kernel panic - not syncing: none here.\\n")
    sys.exit(1)
open("events.json", "w").write(open({{events!r}}).read())
lines = open({{records!r}}).read().replace("COUNT", str(count)).splitlines()
open("bulk", "a").write("\\n".join(["#kernometer begin 1", *lines, f"#kernometer end {{{{len(lines)}}}}", ""]))
"""


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Trio's, and a QEMU that knows what each of its kernels costs."""
    folder = tmp_path / "trio"
    (folder / "config").mkdir(parents=True)
    (folder / "config" / "services.toml").write_text(SERVICES)
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "kernel").mkdir()
    (folder / "kernel" / "word").write_text("first\n")
    monkeypatch.setattr(trio, "source_folder", lambda name: tmp_path / name)
    records = tmp_path / "records"
    run = make.run(0, ROW, samples=(12_345,) * 5, batch=1, loop_batch=1, loop_cost=(0,), baseline=None, warnings=())
    lines = make.lines([make.header(by="path"), make.workload(), run])
    records.write_text("\n".join(line.decode().replace("12345", "COUNT") for line in lines))
    program = tmp_path / "bin" / "qemu-system-x86_64"
    program.parent.mkdir()
    program.write_text(QEMU.format(records=str(records), events=str(tmp_path / "events")))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(booting, "initrd", lambda *given: repr(given).encode())
    qemu_script.give_plugin(tmp_path, monkeypatch)
    return folder


@pytest.fixture
def store(sources: Path, tmp_path: Path) -> Store:
    assert sources.is_dir()
    return Store(tmp_path / "store")
