"""A compiler for guests: is it complete, is it always the same, and what is said where it cannot be made?"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from kernometer.errors import BuildError, MissingError
from kernometer.guests.images import initramfs
from kernometer.guests.inside import tools
from kernometer.guests.packages import apt
from kernometer.targets import build
from kernometer.targets.base import Deadline

HELLO = """#include <math.h>
#include <stdio.h>
int main(int count, char **words)
{
	long double third = 1.0L / (count + 2);
	return printf("hello %s %.3f %.3Lf\\n", words[1], sqrt(count), third) < 0;
}
"""


@pytest.fixture(scope="module")
def toolchain(guest_cache: Path) -> Mapping[str, bytes]:
    """Built once a checkout; its source comes through apt."""
    assert guest_cache.is_dir()
    return tools.toolchain()


@pytest.fixture
def bare(toolchain: Mapping[str, bytes], tmp_path: Path) -> Path:
    """A file system that holds the compiler and nothing else."""
    root = tmp_path / "root"
    for name, data in toolchain.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if name.startswith("bin/"):
            path.chmod(0o755)
    return root


def inside(root: Path, *words: str) -> str:
    """The output of a program in there; as root by chroot, else in a user namespace."""
    enter = ("chroot",) if os.geteuid() == 0 else ("unshare", "--user", "--map-root-user", "chroot")
    done = subprocess.run(
        (*enter, str(root), *words), capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL
    )
    if enter[0] == "unshare" and done.stderr.startswith("unshare:"):
        pytest.skip(f"an ordinary user may not change the root here: {done.stderr.strip()}")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


@pytest.mark.slow(minutes=0.02)
@pytest.mark.parametrize("flags", [(), ("-static",)], ids=["shared", "static"])
def test_a_program_is_compiled_and_runs_where_nothing_else_is(bare: Path, flags: tuple[str, ...]) -> None:
    """Expected: libc, libm, tcc's own helpers and the loader are found. Broken: a path of the host's is in it."""
    (bare / "hello.c").write_text(HELLO)
    inside(bare, "/bin/tcc", *flags, "-o", "/hello", "/hello.c", "-lm")
    assert inside(bare, "/hello", "there") == "hello there 1.414 0.250\n"
    assert (b"/bin/libc.so" in (bare / "hello").read_bytes()) == (flags == ())


@pytest.mark.slow(minutes=0.02)
def test_the_probe_is_compiled_there_and_measures(bare: Path) -> None:
    """Expected: rows are listed and one is measured. Broken: a probe that needs more than a compiler and a libc."""
    (bare / "probe.c").write_text(build.amalgam())
    inside(bare, "/bin/tcc", "-o", "/probe", "/probe.c")
    assert "syscall/getppid" in inside(bare, "/probe", "--list").split()
    found = inside(bare, "/probe", "--dir", "/", "--runs", "1", "--seconds", "0.01", "syscall/getppid").splitlines()
    assert [line[:12] for line in found if line.startswith('{"type":"run')] == ['{"type":"run'] * 2
    assert '"compiler":"tcc' in found[1]


@pytest.mark.slow(minutes=0.02)
def test_it_fits_into_a_guest(toolchain: Mapping[str, bytes]) -> None:
    """Expected: no name is taken, and the two that are executed can be. Broken: no boot with a compiler."""
    found = {entry.name: entry for entry in initramfs.entries(b"", b"", b"busybox", toolchain)}
    assert [found[name].mode & 0o777 for name in ("bin/tcc", "bin/libc.so", "usr/lib/libc.a")] == [0o755, 0o755, 0o644]


@pytest.mark.slow(minutes=0.22)
def test_two_builds_are_the_same_bytes(guest_cache: Path, tmp_path: Path) -> None:
    """Expected: equal, in whatever folder. Broken: a time or a path in it, which changes every boot's archive."""
    assert guest_cache.is_dir()
    made = []
    for name in ("a", "another folder"):
        (tmp_path / name).mkdir()
        folder = tools.build(tmp_path / name)
        made.append({path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()})
    assert made[0] == made[1]
    assert b"tcc version 0." in made[1][Path("bin/tcc")]
    assert not any(os.fsencode(tmp_path) in data for data in made[0].values())


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match="no gcc and make and musl-gcc here") as caught:
        tools.toolchain()
    assert "apt-get install" in caught.value.next_step


def fake_source(monkeypatch: pytest.MonkeyPatch, configure: str) -> None:
    """A source whose configure is this script."""

    def source(package: str, folder: Path) -> Path:
        made = folder / package
        made.mkdir()
        (made / "configure").write_text(f"#!/bin/sh\n{configure}\n")
        (made / "configure").chmod(0o755)
        return made

    monkeypatch.setattr(apt, "source", source)


@pytest.mark.skipif(shutil.which("musl-gcc") is None, reason="musl-tools is not installed")
def test_a_build_that_fails_is_quoted_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fake_source(monkeypatch, "printf 'no \\033[1m luck\\n'; exit 3")
    with pytest.raises(BuildError, match="ended with status 3") as caught:
        tools.toolchain()
    assert caught.value.last_output == "no \\x1b[1m luck"
    assert list((tmp_path / "kernometer" / "toolchains").iterdir()) == []


def test_a_build_that_hangs_is_ended_with_its_children(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Expected: given up, and no child left. Broken: a make that goes on in a folder that is gone."""
    monkeypatch.setattr(tools, "BUILD_SECONDS", 1.0)
    program = f"import os, time; open({str(tmp_path / 'child')!r}, 'w').write(str(os.getpid())); time.sleep(1000)"
    fake_source(monkeypatch, f"'{sys.executable}' -c \"{program}\" & wait")
    with pytest.raises(BuildError, match="was not built after"):
        tools.build(tmp_path)
    child = Path(f"/proc/{(tmp_path / 'child').read_text()}/stat")
    until = Deadline.after(20)  # it was killed, and may still be dying
    while is_running(child) and not until.passed:
        time.sleep(0.02)
    assert not is_running(child)


def is_running(process: Path) -> bool:
    try:
        return process.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
