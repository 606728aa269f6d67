"""A user's own kernel as a guest: what its file is taken for, how it will boot, what is kept and refused."""

from __future__ import annotations

import gzip
import lzma
import struct
from pathlib import Path
from typing import Literal

import pytest

from kernometer.errors import MissingError, TargetError, UsageError
from kernometer.guests import store
from kernometer.guests.architecture import AARCH64, I386, RISCV64, X86_64, Architecture
from kernometer.guests.emulator.qemu import COMMAND_LINE, Boot, Machine, argv, standard
from kernometer.guests.kernels import drivers, kernelfile, own
from kernometer.guests.kernels.own import Given, Root
from kernometer.guests.variant import parse
from kernometer.targets import booting
from kernometer.targets.consoles import images
from kernometer.targets.qemu import QemuTarget
from tests.support.guests.fixtures import Compile
from tests.support.guests.images import HYPERVISOR, KERNEL, bzimage, elf, image, with_release

#: Of a build with just enough functions.
SYSTEM_MAP = "".join(f"{0xFFFFFFFF81000000 + 16 * n:x} t cpu.{n}\n" for n in range(own.LEAST_FUNCTIONS))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


BANNER = b"%s version %s\0Linux version 6.9.1-mine+ (me@here) (gcc) #1 SMP\n\0"


def with_banner(kernel: bytes) -> bytes:
    return kernel + BANNER


@pytest.mark.parametrize("form", ["bzImage", "vmlinux"])
def test_a_kernel_from_a_file_is_a_copy_with_its_own_machine(here: Path, form: str) -> None:
    """Expected: the ELF image, the release from the file, machine and words as given. Broken: a link to a tree."""
    file = here / form
    file.write_bytes(with_release(bzimage()) if form == "bzImage" else with_banner(KERNEL))
    (here / "link").symlink_to(file)
    machine = Machine(type="q35", memory_mib=512)
    guest = own.add(
        "mine", here / "link", Given(machine=parse("g+machine=q35+memory=512"), append="mitigations=off  x=1 -- -l a+b")
    )
    file.unlink()
    guest.check()
    made = guest.manifest
    assert guest.kernel.read_bytes() == (KERNEL if form == "bzImage" else with_banner(KERNEL))
    assert (made.package, made.release, made.version) == (str(file), "6.9.1-mine+", "6.9.1-mine+")
    assert made.machine == machine
    assert made.command_line == f"{COMMAND_LINE} mitigations=off x=1 -- -l a+b"
    assert (guest.packed.is_file(), bool(made.packed_sha256)) == ((form == "bzImage",) * 2)  # for display=vesafb
    with pytest.raises(MissingError, match="without kernel modules"):
        drivers.load_order(guest, ("ext4",))


def test_a_strangers_kernel_is_not_asked_for_modules_of_linux(here: Path) -> None:
    """Expected: the reason of rows on ext4 and MINIX FS, with nothing to add. Broken: advice to give --modules."""
    (here / "file").write_bytes(HYPERVISOR)
    with pytest.raises(MissingError, match="is not known as a Linux") as caught:
        drivers.load_order(own.add("mine", here / "file"), ("ext4",))
    assert "--modules" not in caught.value.next_step


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
        guest = own.add("mine", here / "vmlinux", Given(drivers=folder, symbols=here / "System.map"))
        order = drivers.load_order(guest, ("ext4", "brd"))
        assert order == (("crc32c_generic", crc), ("jbd2", jbd2), ("ext4", ext4))
        with pytest.raises(MissingError, match="minix"):
            drivers.load_order(guest, ("minix",))
    guest.check()
    (guest.folder / store.SYSTEM_MAP).write_text("ffffffff81000000 T other\n")
    with pytest.raises(TargetError, match=r"System\.map is not what was added"):
        guest.check()
    with pytest.raises(UsageError, match=r"has 6.8.0, and the kernel is 6.9.1-mine\+"):
        own.add("mine", here / "vmlinux", Given(drivers=other))
    (place / "kernel/fs/ext4/ext4.ko.gz").write_bytes(gzip.compress(ext4)[:-9])
    with pytest.raises(TargetError, match=r"ext4.ko.gz is cut off"):
        own.add("mine", here / "vmlinux", Given(drivers=place))


def test_a_map_that_is_not_the_kernels_leaves_the_guest_that_was_there(here: Path) -> None:
    """Expected: nothing stored, and the older guest as it was; a remark of the check is kept. Broken: the wrong map has
    replaced the right one, and is refused afterwards."""
    (here / "vmlinux").write_bytes(with_banner(KERNEL))
    (here / "System.map").write_text(SYSTEM_MAP)
    mapped = Given(symbols=here / "System.map")
    seen: list[bytes] = []

    def remarking(guest: store.Guest) -> tuple[str, ...]:
        guest.check()
        seen.append((guest.folder / store.SYSTEM_MAP).read_bytes())
        return ("not checked",)

    def refusing(guest: store.Guest) -> tuple[str, ...]:
        raise UsageError(guest.name)

    kept = own.add("mine", here / "vmlinux", mapped, check=remarking)
    assert seen == [SYSTEM_MAP.encode()]
    assert kept.manifest.remarks[-1:] == ("not checked",)
    (here / "System.map").write_text(SYSTEM_MAP + "ffffffff82000000 t more\n")
    with pytest.raises(UsageError, match="mine"):
        own.add("mine", here / "vmlinux", mapped, check=refusing)
    assert store.find("mine").manifest == kept.manifest
    assert [each.name for each in store.guests_folder().iterdir()] == ["mine"]


def test_a_map_of_few_functions_is_refused_with_their_number(here: Path) -> None:
    """Expected: refused, without a boot. Broken: one symbol gets all the code that follows it."""
    (here / "vmlinux").write_bytes(with_banner(KERNEL))
    for lines, number in (("ffffffff81000000 T load_module\n", 1), (SYSTEM_MAP.replace(" t ", " d "), 0)):
        (here / "System.map").write_text(lines)
        with pytest.raises(UsageError, match=rf"System\.map has too few functions for a kernel \({number}\)"):
            own.add("mine", here / "vmlinux", Given(symbols=here / "System.map"))
    assert store.listed() == ()


def test_a_bzimage_without_a_pvh_entry_boots_as_it_is(here: Path) -> None:
    """Expected: the packed image, and a remark. Broken: QEMU refuses the ELF image."""
    packed = bzimage(elf(b""))
    (here / "bzImage").write_bytes(packed)
    guest = own.add("old", here / "bzImage")
    assert guest.kernel.read_bytes() == packed
    assert "PVH" in guest.manifest.remarks[0]
    assert guest.manifest.release == ""


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"garbage", "no ELF file and no Linux image"),
        (elf(b""), "no PVH entry"),
        (KERNEL[:4] + b"\x01" + KERNEL[5:], "no PVH entry"),
        (KERNEL[:18] + b"\x28\x00" + KERNEL[20:], "no kernel for x86"),
        (b"\x7fELF", "no ELF file"),
        (image(lzma.compress(elf(b"")[:18] + b"\x28\x00" + elf(b"")[20:])), "no kernel for x86"),
    ],
)
def test_a_file_that_is_no_kernel_leaves_no_guest(here: Path, content: bytes, words: str) -> None:
    (here / "file").write_bytes(content)
    with pytest.raises(TargetError, match=words):
        own.add("mine", here / "file")
    assert store.listed() == ()


@pytest.mark.parametrize("name", ["linux-6.1", "linux-6.1-cloud", "linux", "xen", "a+b", "../x"])
def test_names_of_packages_guests_are_taken(here: Path, name: str) -> None:
    """Expected: UsageError. Broken: a kernel of one's own under the name of Debian's in a published comparison."""
    (here / "file").write_bytes(KERNEL)
    with pytest.raises(UsageError):
        own.add(name, here / "file")


def test_a_file_that_is_not_there_is_said(here: Path) -> None:
    for name in ("nothing", "."):
        with pytest.raises((UsageError, TargetError)):
            own.add("mine", here / name)


def arm_image(mark: bytes) -> bytes:
    return bytes(0x38) + mark + bytes(100) + b"Linux version 6.9.1-mine (me@here) (gcc)"


#: For EFI: what unpacks itself there, with its payload at 64.
def zboot(kernel: bytes) -> bytes:
    packed = gzip.compress(kernel)
    return struct.pack("<2s2x4sII", b"MZ", b"zimg", 64, len(packed)).ljust(64, b"\0") + packed


WIDE_MULTIBOOT = KERNEL[:4000] + HYPERVISOR[64:] + KERNEL[4000:]


@pytest.mark.parametrize(
    ("content", "way", "architecture", "linux"),
    [
        (KERNEL, "pvh", X86_64, False),
        (KERNEL[:18] + b"\x03" + KERNEL[19:], "pvh", X86_64, False),
        (bzimage(), "pvh", X86_64, False),
        (HYPERVISOR, "multiboot", X86_64, False),
        (WIDE_MULTIBOOT, "multiboot", X86_64, False),
        (KERNEL[:18] + b"\xb7" + KERNEL[19:], "image", AARCH64, False),
        (arm_image(b"ARM\x64"), "image", AARCH64, True),
        (gzip.compress(arm_image(b"ARM\x64"), mtime=0), "image", AARCH64, True),
        (zboot(arm_image(b"ARM\x64")), "image", AARCH64, True),
        (arm_image(b"RSC\x05"), "image", RISCV64, True),
    ],
)
def test_a_file_tells_how_qemu_starts_it(
    here: Path, content: bytes, way: str, architecture: Architecture, linux: bool
) -> None:
    """Expected: way, architecture, and Linux's command line for a Linux alone; the user is told. Broken: a stranger's
    kernel gets Linux's words, or QEMU says at the first boot that it cannot load it."""
    (here / "file").write_bytes(content)
    read, said = kernelfile.read(content, "file"), list[str]()
    guest = own.add("mine", here / "file", say=said.append)
    assert (read.way, read.architecture, bool(read.release)) == (way, architecture, linux)
    assert (guest.architecture, guest.has_init) == (architecture, True)
    assert guest.manifest.command_line == (standard(architecture)[1] if linux else "")
    assert [module.file for module in guest.manifest.modules] == (["@initramfs"] if way == "multiboot" else [])
    assert f"mine: {read.what}" in said[0]
    assert guest.manifest.machine.type in said[0]
    assert any("--symbols" in line for line in said) is not linux


def test_a_wide_multiboot_kernel_is_loaded_as_it_is() -> None:
    """QEMU loads it, but not if it says that it is for x86-64. Expected: that one field is changed. Broken: refused, or
    converted, without the names of its functions."""
    boots = kernelfile.read(WIDE_MULTIBOOT, "file").boots
    assert [at for at in range(len(boots)) if boots[at] != WIDE_MULTIBOOT[at]] == [18]
    assert (boots[4], boots[18]) == (2, 3)


def test_an_architecture_is_named_where_the_file_does_not_tell_it(here: Path) -> None:
    """Expected: i386's programs on a PC of the same emulator, for a file that may be either's; nothing else. Broken: a
    kernel of 32 bits gets an init of 64."""
    (here / "file").write_bytes(HYPERVISOR)
    guest = own.add("mine", here / "file", Given(architecture=I386))
    assert guest.architecture is I386
    boot = Boot(guest.manifest.machine, "icount", guest.kernel_word, "", "", Path("c"), Path("b"))
    words = argv(boot)
    assert (words[0], words[words.index("-machine") + 1]) == ("qemu-system-x86_64", "pc")
    assert "isa-debugcon,iobase=0xe9,chardev=bulk" in words
    for architecture in (AARCH64, RISCV64):
        with pytest.raises(UsageError, match=f"not for {architecture.name}"):
            own.add("mine", here / "file", Given(architecture=architecture))


def test_the_users_own_init_and_probe_are_in_the_archive(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: both, by their digests; another image than with ours; ours for a Linux is the one of every Linux.
    Broken: ours, which do not run there."""
    monkeypatch.setattr("kernometer.targets.build.static_probe", lambda _: here / "ours")
    monkeypatch.setattr(
        "kernometer.guests.inside.programs.init", lambda _, stranger: here / ("strangers" if stranger else "ours")
    )
    for name in ("file", "ours", "strangers", "own-init", "own-probe"):
        (here / name).write_bytes(HYPERVISOR + name.encode())
    images = set()
    for given, init, probe in (
        (Given(), b"strangers", b"ours"),
        (Given(init=here / "own-init"), b"own-init", b"ours"),
        (Given(init=here / "own-init", probe=here / "own-probe"), b"own-init", b"own-probe"),
    ):
        guest = own.add("mine", here / "file", given)
        assert booting.inside(guest) == (HYPERVISOR + init, HYPERVISOR + probe)
        images.add(guest.image)
    assert len(images) == 3
    (here / "linux").write_bytes(with_banner(KERNEL))
    assert booting.inside(own.add("a-linux", here / "linux"))[0] == HYPERVISOR + b"ours"
    (guest.folder / store.INIT).write_bytes(b"changed")
    with pytest.raises(TargetError, match="own-init is not what was added"):
        guest.check()


@pytest.mark.parametrize(
    ("word", "root"),
    [
        ("initramfs", Root()),
        ("none", Root("none")),
        ("ext2", Root("ext2", mib=16, block=1024)),
        ("ext2:block=4096,size=8", Root("ext2", mib=8, block=4096)),
        ("disk:a:b,c", Root("disk", Path("a:b,c"))),
        *(
            (word, None)
            for word in ("", "ext4", "disk:", "disk", "ext2:size=0", "ext2:block=512", "ext2:inodes=9", "none:x")
        ),
    ],
)
def test_a_root_is_named_by_one_word(word: str, root: Root | None) -> None:
    if root is not None:
        assert Root.of(word) == root
        return
    with pytest.raises(UsageError, match="no such root"):
        Root.of(word)


@pytest.mark.parametrize(
    ("kernel", "device"),
    [(HYPERVISOR, "ide-hd"), (with_banner(KERNEL), "virtio-blk-pci")],
    ids=["multiboot", "linux"],
)
def test_a_kernel_gets_its_root_on_the_users_disk(
    here: Path, kernel: bytes, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: on the bus of its machine, not written to and not booted from; another image with another disk, or an
    image of another size. Broken: counts of two disks compare as one kernel's."""
    (here / "file").write_bytes(kernel)
    (here / "disk.img").write_bytes(b"a disk")
    made = {
        own.add("mine", here / "file", Given(root=root)).image
        for root in (
            Root("ext2", mib=8, block=1024),
            Root("ext2", mib=9, block=1024),
            Root("disk", Path("x"), "0" * 64),
        )
    }
    assert len(made) == 3
    root = Root("disk", here / "disk.img", images.image(here / "disk.img").digest)
    guest = own.add("mine", here / "file", Given(root=root))
    assert guest.image not in made
    assert (guest.has_init, guest.waits, guest.manifest.modules) == (False, True, ())
    monkeypatch.setattr("kernometer.guests.plugins.build", lambda *_: here / "plugin.so")
    target = QemuTarget.of_guest(guest, parse("mine"))
    for phase, file in (("", f"{here}/disk.img,format=raw,snapshot=on"), ("saved", "disk,format=qcow2")):
        words = target.boot("path", phase=phase)  # type: ignore[arg-type]  # a Phase
        assert words.kernel == Path("guest/vmlinux")
        assert words.devices == ("-drive", f"if=none,id=image,file={file}", "-device", words.devices[3])
        assert words.devices[3].startswith(device) and "bootindex" not in words.devices[3]
    (here / "disk.img").write_bytes(b"another disk")
    with pytest.raises(UsageError, match=r"disk\.img has changed"):
        target.boot("path")


def test_what_a_module_has_in_it_is_told(here: Path) -> None:
    """Expected: whose init and probe, in what, and by which module. Broken: '@initramfs', which is an image of ext2."""
    said = list[str]()
    (here / "file").write_bytes(HYPERVISOR)
    own.add("mine", here / "file", Given(root=Root("ext2", mib=8, block=1024), init=here / "file"), say=said.append)
    assert "the user's init and our probe in an ext2 image of 8 MiB, by the modules @initramfs;" in said[1]


def test_a_kernel_with_a_root_of_its_own_gets_no_module(here: Path) -> None:
    """Expected: neither an archive nor a module; it can be saved, and by path alone. Broken: 'needs a module'."""
    (here / "file").write_bytes(HYPERVISOR)
    guest = own.add("mine", here / "file", Given(root=Root("none"), system="Asterinas 0.18"))
    assert (guest.manifest.modules, guest.initrd("initrd"), guest.has_init, guest.waits) == ((), "", False, True)
    assert " Asterinas 0.18 sha256:" in guest.image


@pytest.mark.parametrize("kind", ["none", "disk"])
def test_the_given_probe_is_the_one_in_a_root_of_its_own(here: Path, kind: Literal["none", "disk"]) -> None:
    """Expected: it is kept, and belongs to what boots. Broken: a profile looks for our probe in a foreign root."""
    (here / "file").write_bytes(HYPERVISOR)
    (here / "probe").write_bytes(HYPERVISOR + b"its own")
    root = Root(kind, here / "file" if kind == "disk" else None)
    guest = own.add("mine", here / "file", Given(root=root, probe=here / "probe"))
    assert booting.inside(guest)[1] == HYPERVISOR + b"its own"
    assert guest.image != own.add("mine", here / "file", Given(root=root)).image
