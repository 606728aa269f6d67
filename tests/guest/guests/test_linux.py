"""Linux guests: from packages of the test's own, and from kernels' files."""

from __future__ import annotations

import gzip
import lzma
import re
import shutil
import struct
from pathlib import Path

import pytest

from kernometer.errors import MissingError, TargetError, UsageError
from kernometer.guests import store, variant
from kernometer.guests.emulator.qemu import COMMAND_LINE, Machine
from kernometer.guests.kernels import drivers, linux
from kernometer.guests.packages import suites
from tests.support.guests.fixtures import Compile
from tests.support.guests.images import KERNEL, bzimage, elf
from tests.support.guests.repository import Repository

needs_apt = pytest.mark.skipif(shutil.which("apt-get") is None, reason="the guests' packages come through apt")
#: Of a build with just enough functions.
SYSTEM_MAP = "".join(f"{0xFFFFFFFF81000000 + 16 * n:x} t cpu.{n}\n" for n in range(linux.LEAST_FUNCTIONS))
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
        ({"boot/vmlinuz-6.1": b"\x7fELF" + bytes(200)}, "no PVH entry"),
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


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


BANNER = b"%s version %s\0Linux version 6.9.1-mine+ (me@here) (gcc) #1 SMP\n\0"


def with_banner(kernel: bytes) -> bytes:
    return kernel + BANNER


def with_release(packed: bytes) -> bytes:
    """The setup header's pointer to the version string, and the string behind the header."""
    text, at = b"6.9.1-mine+ (me@here) #1 SMP\0", 0x300
    return packed[:0x20E] + struct.pack("<H", at - 0x200) + packed[0x210:at] + text + packed[at + len(text) :]


@pytest.mark.parametrize("form", ["bzImage", "vmlinux"])
def test_a_kernel_from_a_file_is_a_copy_with_its_own_machine(here: Path, form: str) -> None:
    """Expected: the ELF image, the release from the file, machine and words as given. Broken: a link to a tree."""
    file = here / form
    file.write_bytes(with_release(bzimage()) if form == "bzImage" else with_banner(KERNEL))
    (here / "link").symlink_to(file)
    machine = Machine(type="q35", memory_mib=512)
    guest = linux.from_file("mine", here / "link", append=("mitigations=off", "x=1"), machine=machine)
    file.unlink()
    guest.check()
    made = guest.manifest
    assert guest.kernel.read_bytes() == (KERNEL if form == "bzImage" else with_banner(KERNEL))
    assert (made.package, made.release, made.version) == (str(file), "6.9.1-mine+", "6.9.1-mine+")
    assert made.machine == machine
    assert made.command_line == f"{COMMAND_LINE} mitigations=off x=1"
    assert (guest.packed.is_file(), bool(made.packed_sha256)) == ((form == "bzImage",) * 2)  # for display=vesafb
    with pytest.raises(MissingError, match="without kernel modules"):
        drivers.load_order(guest, ("ext4",))


def test_an_installed_directory_gives_the_modules_that_rows_need(here: Path, module: Compile) -> None:
    """Expected: packed in any way, with what they need, and those of that kernel alone; `build` is not followed.
    Broken: the file system of the sources is walked, or a module of another kernel is loaded."""
    ext4, jbd2, crc = module("depends=jbd2", "softdep=pre: crc32c"), module(), module("alias=crc32c")
    place = here / "root/lib/modules/6.9.1-mine+"
    other = here / "root/lib/modules/6.8.0"
    for folder in (place / "kernel/fs/ext4", place / "kernel/lib", place / "kernel/crypto", other, here / "sources"):
        folder.mkdir(parents=True)
    (place / "modules.builtin").write_text("kernel/drivers/block/brd.ko\n")
    (other / "modules.builtin").write_text("")
    (place / "kernel/fs/ext4/ext4.ko.gz").write_bytes(gzip.compress(ext4))
    (place / "kernel/lib/jbd2.ko.xz").write_bytes(lzma.compress(jbd2))
    (place / "kernel/crypto/crc32c_generic.ko").write_bytes(crc)
    (place / "kernel/fs/xfs.ko").write_bytes(b"damaged, and nobody looks at it")
    (here / "sources/minix.ko").write_bytes(module())
    (place / "build").symlink_to(here / "sources")
    (here / "vmlinux").write_bytes(with_banner(KERNEL))
    (here / "System.map").write_text(SYSTEM_MAP)
    for folder in (here / "root", place):
        guest = linux.from_file("mine", here / "vmlinux", modules=folder, system_map=here / "System.map")
        order = drivers.load_order(guest, ("ext4", "brd"))
        assert order == (("crc32c_generic", crc), ("jbd2", jbd2), ("ext4", ext4))
        with pytest.raises(MissingError, match="minix"):
            drivers.load_order(guest, ("minix",))
    guest.check()
    (guest.folder / store.SYSTEM_MAP).write_text("ffffffff81000000 T other\n")
    with pytest.raises(TargetError, match=r"System\.map is not what was added"):
        guest.check()
    with pytest.raises(UsageError, match=r"has 6.8.0, and the kernel is 6.9.1-mine\+"):
        linux.from_file("mine", here / "vmlinux", modules=other)
    (place / "kernel/fs/ext4/ext4.ko.gz").write_bytes(gzip.compress(ext4)[:-9])
    with pytest.raises(TargetError, match=r"ext4.ko.gz is cut off"):
        linux.from_file("mine", here / "vmlinux", modules=place)


def test_a_map_that_is_not_the_kernels_leaves_the_guest_that_was_there(here: Path) -> None:
    """Expected: nothing stored, and the older guest as it was; a remark of the check is kept. Broken: the wrong map has
    replaced the right one, and is refused afterwards."""
    (here / "vmlinux").write_bytes(KERNEL)
    (here / "System.map").write_text(SYSTEM_MAP)
    seen: list[bytes] = []

    def remarking(guest: store.Guest) -> tuple[str, ...]:
        guest.check()
        seen.append((guest.folder / store.SYSTEM_MAP).read_bytes())
        return ("not checked",)

    def refusing(guest: store.Guest) -> tuple[str, ...]:
        raise UsageError(guest.name)

    kept = linux.from_file("mine", here / "vmlinux", system_map=here / "System.map", check=remarking)
    assert seen == [SYSTEM_MAP.encode()]
    assert kept.manifest.remarks[-1:] == ("not checked",)
    (here / "System.map").write_text(SYSTEM_MAP + "ffffffff82000000 t more\n")
    with pytest.raises(UsageError, match="mine"):
        linux.from_file("mine", here / "vmlinux", system_map=here / "System.map", check=refusing)
    assert store.find("mine").manifest == kept.manifest
    assert [each.name for each in store.guests_folder().iterdir()] == ["mine"]


def test_a_map_of_few_functions_is_refused_with_their_number(here: Path) -> None:
    """Expected: refused, without a boot. Broken: one symbol gets all the code that follows it."""
    (here / "vmlinux").write_bytes(KERNEL)
    for lines, number in (("ffffffff81000000 T load_module\n", 1), (SYSTEM_MAP.replace(" t ", " d "), 0)):
        (here / "System.map").write_text(lines)
        with pytest.raises(UsageError, match=rf"System\.map has too few functions for a kernel \({number}\)"):
            linux.from_file("mine", here / "vmlinux", system_map=here / "System.map")
    assert store.listed() == ()


def test_a_bzimage_without_a_pvh_entry_boots_as_it_is(here: Path) -> None:
    """Expected: the packed image, and a remark. Broken: QEMU refuses the ELF image."""
    packed = bzimage(elf(b""))
    (here / "bzImage").write_bytes(packed)
    guest = linux.from_file("old", here / "bzImage")
    assert guest.kernel.read_bytes() == packed
    assert "PVH" in guest.manifest.remarks[0]
    assert guest.manifest.release == ""


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"garbage", "not a Linux kernel image"),
        (elf(b""), "no PVH entry"),
        (KERNEL[:4] + b"\x01" + KERNEL[5:], "not a kernel for x86-64"),
        (KERNEL[:18] + b"\xb7\x00" + KERNEL[20:], "not a kernel for x86-64"),
        (b"\x7fELF", "not a kernel for x86-64"),
    ],
)
def test_a_file_that_is_no_kernel_leaves_no_guest(here: Path, content: bytes, words: str) -> None:
    (here / "file").write_bytes(content)
    with pytest.raises(TargetError, match=words):
        linux.from_file("mine", here / "file")
    assert store.listed() == ()


@pytest.mark.parametrize("name", ["linux-6.1", "linux-6.1-cloud", "linux", "xen", "a+b", "../x"])
def test_names_of_packages_guests_are_taken(here: Path, name: str) -> None:
    """Expected: UsageError. Broken: a kernel of one's own under the name of Debian's in a published comparison."""
    (here / "file").write_bytes(KERNEL)
    with pytest.raises(UsageError):
        linux.from_file(name, here / "file")


def test_a_file_that_is_not_there_is_said(here: Path) -> None:
    for name in ("nothing", "."):
        with pytest.raises((UsageError, TargetError)):
            linux.from_file("mine", here / name)


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
