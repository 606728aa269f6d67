"""What tests of Trio share: the kernel, built as `guest add trio` builds it, and one way to boot it and Linux."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernometer import source_folder
from kernometer.cache import compiled
from kernometer.guests import store
from kernometer.guests.inside import programs
from kernometer.guests.kernels import linux, trio
from tests.support.checkout import KEPT, alone
from tests.support.trio.boot import Kernel
from tests.support.trio.user_programs import PROGRAMS, make
from tests.support.trio.variants import built, micro, mirrored

HERE = Path(__file__).parent

Program = Callable[[str], bytes]


@pytest.fixture(scope="session")
def sources(guest_cache: Path) -> Iterator[Path]:
    """A copy of Trio's, and of the probe's beside it, from which the front end builds too: whoever edits them meanwhile
    changes no test."""
    assert guest_cache.is_dir()  # where what they are built with is kept
    folder = KEPT / "sources" / "trio"
    with alone("sources"):
        for name in ("trio", "probe"):
            mirrored(source_folder(name), folder.with_name(name))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trio, "source_folder", lambda name: folder.with_name(name))
        yield folder


@pytest.fixture(scope="session")
def kernel(
    request: pytest.FixtureRequest,
    guest_cache: Path,
    sources: Path,
) -> Kernel:
    """Of mono, or of the structure that the test's parameter names."""
    assert guest_cache.is_dir()
    assert sources.is_dir()
    structure = getattr(request, "param", "mono")
    return Kernel.trio(micro(sources) if structure == "micro" else built(structure))


@pytest.fixture(scope="session")
def network() -> None:
    """Skips what needs it where Trio is built without."""
    if trio.lwip_sources(print) is None:
        pytest.skip("lwIP's sources are not to be had")


@pytest.fixture(scope="session")
def built_elsewhere(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build's folder, of a copy of the sources in another place."""
    folder = tmp_path_factory.mktemp("another-place")
    shutil.copytree(sources, folder / "copy")
    trio.build(folder / "copy", folder / "objects", "mono", trio.lwip_sources(linux.silently))
    return folder / "objects"


@pytest.fixture(scope="session")
def linux_kernel(linux_6_1: store.Guest) -> Kernel:
    return Kernel.linux(linux_6_1.name)


@pytest.fixture(scope="session")
def program(guest_cache: Path) -> Program:
    """A static program of NAME.c in this folder, and of those of NAME_*.c, NAME.h that there are."""
    assert guest_cache.is_dir()

    def made(name: str) -> bytes:
        parts = sorted(HERE.glob(f"{name}_*.c"))
        sources = (HERE / f"{name}.c", *parts, *HERE.glob(f"{name}.h"))
        return compiled(name, (*programs.static_compiler(), *map(str, parts)), sources).read_bytes()

    return made


@pytest.fixture(scope="session")
def user_programs(sources: Path) -> Path:
    """A folder with the programs of trio/user: usertests, fuzz, probe-trio."""
    return make(sources / "user", KEPT / "user", *PROGRAMS)
