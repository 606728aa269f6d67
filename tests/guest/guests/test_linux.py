"""Linux guests, from packages of the test's own."""

from __future__ import annotations

import lzma
import re
import shutil
from pathlib import Path

import pytest

from kernometer.errors import MissingError, TargetError, UsageError
from kernometer.guests import store, variant
from kernometer.guests.kernels import drivers, linux
from kernometer.guests.packages import suites
from tests.support.guests.fixtures import Compile
from tests.support.guests.images import KERNEL, bzimage, elf
from tests.support.guests.repository import Repository

needs_apt = pytest.mark.skipif(shutil.which("apt-get") is None, reason="the guests' packages come through apt")
LIB = "lib/modules/6.1.0-9-amd64"


def offered(mirror: Repository, files: dict[str, bytes], name: str = "linux-image-6.1.0-9-amd64") -> None:
    """A system with this one kernel package."""
    mirror.suite("bookworm", [mirror.package(name, "6.1.27-1", files)])
    mirror.system("bookworm")


@needs_apt
def test_a_package_becomes_a_guest_and_leaves_nothing_else(mirror: Repository, module: Compile) -> None:
    """Expected: kernel, config, the modules kept and what they need, manifest. Broken: 70 MB of package stay."""
    ext4, jbd2, far = module("depends=jbd2,far"), module(), module()
    offered(
        mirror,
        {
            "boot/vmlinuz-6.1.0-9-amd64": bzimage(),
            "boot/config-6.1.0-9-amd64": b"CONFIG_PVH=y\n",
            "boot/System.map-6.1.0-9-amd64": b"stub",
            "usr/share/doc/vmlinuz-6.1.0-9-amd64": b"not this",
            f"{LIB}/modules.builtin": b"kernel/drivers/block/brd.ko\nkernel/lib/crc-x.ko\n",
            f"{LIB}/kernel/drivers/far/away/far.ko.xz": lzma.compress(far),
            f"{LIB}/kernel/fs/ext4/ext4.ko.xz": lzma.compress(ext4),
            f"{LIB}/kernel/fs/jbd2/jbd2.ko": jbd2,
            f"{LIB}/kernel/fs/xfs/xfs.ko": b"damaged, and nobody looks at it",
        },
    )
    said: list[str] = []
    guest = linux.add("6.1", said.append)
    assert guest.kernel.read_bytes() == KERNEL
    assert sorted(path.name for path in guest.folder.iterdir()) == [
        *("bzImage", "config", "drivers", "manifest.json", "vmlinux")
    ]
    made = guest.manifest
    assert (made.release, made.version, made.suite) == ("6.1.0-9-amd64", "6.1.27-1", "bookworm")
    guest.check()
    assert [path.name for path in store.guests_folder().iterdir()] == ["linux-6.1"]
    assert store.find("linux-6.1") == guest
    assert drivers.load_order(guest, ("ext4", "brd")) == (("jbd2", jbd2), ("far", far), ("ext4", ext4))
    with pytest.raises(MissingError, match="minix"):
        drivers.load_order(guest, ("minix",))
    assert any("Downloading linux-image-6.1.0-9-amd64" in line for line in said)
    linux.record(variant.parse("linux-6.1+mitigations=off"))
    assert linux.add("6.1").manifest.variants == ("linux-6.1+mitigations=off",)  # replaced, not in the way


@needs_apt
def test_the_releases_own_kernel_is_a_guest_without_a_version(mirror: Repository) -> None:
    """Expected: linux, of the series that the release installs, though it has a newer one."""
    own = mirror.package("linux-image-amd64", "6.1.27-1") | {"Depends": "linux-image-6.1.0-9-amd64 (= 6.1.27-1)"}
    kernel = mirror.package("linux-image-6.1.0-9-amd64", "6.1.27-1", {"boot/vmlinuz-6.1.0-9-amd64": bzimage()})
    mirror.suite("bookworm", [own, kernel, mirror.package("linux-image-6.12.9+deb12-amd64")])
    mirror.system("bookworm")
    guest = linux.add()
    assert (guest.name, guest.manifest.release) == ("linux", "6.1.0-9-amd64")
    assert store.find("linux") == guest


@needs_apt
@pytest.mark.parametrize("missing", ["zstd", "qemu-system-x86_64"])
def test_what_is_not_here_is_named_before_anything_is_fetched(
    mirror: Repository, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    """Expected: the package and the command for it, no question to the mirror. Broken: 100 MB, then an error."""
    found = shutil.which
    monkeypatch.setattr("shutil.which", lambda name: None if name == missing else found(name))
    with pytest.raises(MissingError, match=f"no {missing} here") as caught:
        linux.add("6.1")
    assert "apt-get install " in caught.value.next_step
    assert "docs/install.md" in caught.value.next_step
    assert mirror.asked == []


@needs_apt
def test_a_kernel_in_parts_becomes_one_guest(mirror: Repository, module: Compile) -> None:
    """Expected: image, configuration and modules from three packages, each with its digest. Broken: no modules."""
    release = "7.2.1+deb13-cloud-amd64"
    lib = f"usr/lib/modules/{release}"
    parts = {
        f"linux-base-{release}": {f"{lib}/config": b"CONFIG_PVH=y\n", f"{lib}/modules.builtin": b"kernel/x/minix.ko\n"},
        f"linux-binary-{release}": {f"{lib}/vmlinuz": bzimage()},
        f"linux-modules-{release}": {f"{lib}/kernel/drivers/block/brd.ko.xz": lzma.compress(module())},
    }
    packages = [mirror.package(name, "7.2.1-1", files) for name, files in parts.items()]
    image_package = mirror.package(f"linux-image-{release}", "7.2.1-1") | {"Depends": ", ".join(parts)}
    mirror.suite("bookworm", [*packages, image_package])
    mirror.system("bookworm")
    guest = linux.add("7.2-cloud")
    assert (guest.name, guest.manifest.release) == ("linux-7.2-cloud", release)
    assert guest.manifest.parts == tuple(f"{one['Package']} {one['SHA256']}" for one in packages)
    assert (guest.folder / "config").read_bytes() == b"CONFIG_PVH=y\n"
    assert drivers.load_order(guest, ("brd", "minix")) == (("brd", module()),)


@needs_apt
@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"boot/config-6.1": b"x"}, "contains 0 kernels"),
        ({"boot/vmlinuz-6.1": b"x", "boot/vmlinuz-6.2": b"x"}, "contains 2 kernels"),
        ({"boot/vmlinuz-6.1": b"garbage"}, "no setup header"),
        ({"boot/vmlinuz-6.1": elf()}, "no PVH entry"),
        ({"boot/vmlinuz-6.1": b"\x7fELF" + bytes(200)}, "not an ELF file of little-endian x86"),
        ({"boot/vmlinuz-6.1": bzimage(), f"{LIB}/kernel/fs/ext4/ext4.ko": b"x"}, "ext4 is not a kernel module"),
    ],
)
def test_a_package_without_a_usable_kernel_leaves_no_guest(
    mirror: Repository, files: dict[str, bytes], words: str
) -> None:
    """Expected: the cause, and an empty folder. Broken: half a guest that `guest list` shows."""
    offered(mirror, files)
    with pytest.raises(TargetError, match=words):
        linux.add("6.1")
    assert list(store.guests_folder().iterdir()) == []


@pytest.mark.parametrize("version", ["", "6", "6.1.2", "../6.1", "six", "6.1 ", "6.1\n", "6.1-", "6.1+x", "6.1-../x"])
def test_what_is_no_version_never_reaches_apt(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError, match="not a Linux series"):
        linux.add(version)


@pytest.mark.guest
@pytest.mark.slow(minutes=0.16)
def test_the_distributions_own_kernel_has_the_modules_that_rows_need(guest_cache: Path) -> None:
    """Expected: every one that is kept, after all that it needs. Broken: the package's form changed."""
    assert guest_cache.is_dir()
    said: list[str] = []
    guest = linux.add("6.1", said.append)
    assert guest.manifest.suite
    assert any("Downloading" in line for line in said)
    order = [name for name, _ in drivers.load_order(guest, drivers.KEPT)]
    assert order.index("mbcache") < order.index("ext4")
    assert {"brd", "ext4", "minix", "bochs"} <= {*order}


@pytest.mark.guest
@pytest.mark.slow(minutes=0.23)
def test_the_distributions_mirrors_have_further_series(guest_cache: Path, tmp_path: Path) -> None:
    """Expected: several, from suites that /etc/apt does not name. Broken: what is beyond the system's is not found."""
    assert guest_cache.is_dir()
    with pytest.raises(MissingError, match=r"no Linux 99\.9") as caught:
        suites.fetch("99.9", "", tmp_path, lambda _: None)
    series = re.findall(r"\d+\.\d+", caught.value.next_step.partition("have ")[2].partition(". ")[0])
    assert len(series) > 2
    assert "6.1" in series
