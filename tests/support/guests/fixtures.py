"""What tests of guests share: a cache for kernels, programs and plugin that outlives a test run and is not the user's;
a mirror of packages, and kernel modules compiled here."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernometer.guests import store
from kernometer.guests.emulator.qemu import COMMAND_LINE
from kernometer.guests.kernels import linux
from tests.support.checkout import alone, share_compiled
from tests.support.guests.repository import Repository, served
from tests.support.probe.running import give_probe

Compile = Callable[..., bytes]


@pytest.fixture(scope="session")
def guest_cache(request: pytest.FixtureRequest, frontends_probe: Path) -> Iterator[Path]:
    """XDG_CACHE_HOME inside pytest's own cache: the kernel is downloaded once a checkout."""
    cache = request.config.cache
    assert cache is not None
    folder = Path(cache.mkdir("guests")).resolve()
    give_probe(folder, frontends_probe)
    share_compiled(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="session")
def linux_6_1(guest_cache: Path) -> store.Guest:
    """The newest Debian kernel of the series, as a guest, added once a checkout."""
    assert guest_cache.is_dir()
    with alone("linux-6.1"):
        here = (each for each in store.listed() if each.name == "linux-6.1")
        return next((each for each in here if each.manifest.command_line == COMMAND_LINE), None) or linux.add("6.1")


@pytest.fixture
def added(guest_cache: Path) -> Iterator[str]:
    """A guest's name in that cache; the guest is removed again."""
    assert guest_cache.is_dir()
    name = f"added-{os.getpid()}"
    yield name
    store.remove(name)


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    """A mirror that apt asks in place of the system's, and a cache of the test's own."""
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "mirror" / "apt.conf"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "mirror").mkdir()
    with served(tmp_path / "mirror") as made:
        yield made


@pytest.fixture
def module(tmp_path: Path) -> Compile:
    """An object as a kernel's build makes one, with these lines in .modinfo."""

    def compiled(*lines: str) -> bytes:
        code = "".join(
            f'__attribute__((section(".modinfo"), used)) static const char l{number}[] = "{line}";\n'
            for number, line in enumerate(("license=GPL", *lines))
        )
        source, made = tmp_path / "m.c", tmp_path / "m.o"
        source.write_text(f"{code}int init_module(void) {{ return 0; }}\n")
        subprocess.run(["gcc", "-c", "-ffunction-sections", "-o", str(made), str(source)], check=True, timeout=60)
        return made.read_bytes()

    return compiled
