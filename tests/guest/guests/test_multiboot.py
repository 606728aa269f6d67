"""Multiboot kernels with modules as guests: what is kept and refused; and a small real one (tiny.c), the whole way."""

from __future__ import annotations

import gzip
import json
import os
import struct
import subprocess
from pathlib import Path

import pytest

from kernometer.errors import TargetError, UsageError
from kernometer.guests import store
from kernometer.guests.emulator.qemu import Machine
from kernometer.guests.images import roots
from kernometer.guests.images.initramfs import Entry
from kernometer.guests.kernels import kernelfile, own, symbols
from kernometer.guests.kernels.own import Given
from kernometer.results.store import Store
from kernometer.targets.base import Deadline, Job
from kernometer.targets.qemu import QemuTarget
from tests.support.checkout import share_compiled
from tests.support.cli.real import kernometer
from tests.support.guests import tiny
from tests.support.guests.repeated import repeated
from tests.support.turns import in_turn

HERE = Path(__file__).parent
#: Instructions from the begin marker of tiny.c's regions to the end marker.
MARKED = 69


def compiled(folder: Path, *flags: str) -> Path:
    """tiny.c as a kernel; freestanding, so that no library of 32 bits is needed."""
    made = folder / "tiny"
    words = [
        *("gcc", "-m32", "-std=gnu99", "-O2", "-ffreestanding", "-nostdlib", "-static", "-fno-pic", "-no-pie"),
        *("-fno-stack-protector", "-fno-asynchronous-unwind-tables", f"-Wl,-T,{HERE}/tiny.ld,--build-id=none"),
        *(*flags, "-o", str(made), str(HERE / "tiny.c")),
    ]
    subprocess.run(words, check=True, timeout=60, capture_output=True)
    return made


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Guests of the test's own."""
    share_compiled(tmp_path / "cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def file(folder: Path, name: str, content: bytes = b"a module") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.usefixtures("cache")
def test_kernel_and_modules_are_kept_under_their_own_names(kernel: Path, tmp_path: Path) -> None:
    """Expected: copies, their digests, the words of each, on a pc. Broken: the guest changes with the build tree."""
    first, second = file(tmp_path, "ds"), file(tmp_path, "other/ds", b"another")
    modules = [f"{first} -a 1,2", f"  {second}   two  words ", str(first), "@initramfs", "@probe --continue"]
    guest = own.add("tiny", kernel, Given(modules=modules, append="console=com0"))
    assert guest == store.find("tiny")
    made = guest.manifest
    assert [(one.file, one.arguments) for one in made.modules] == [
        ("ds", "-a 1,2"),
        ("ds-2", "two  words"),
        ("ds", ""),
        ("@initramfs", ""),
        ("@probe", "--continue"),
    ]
    assert (made.machine, made.command_line, made.output) == (Machine(type="pc"), "console=com0", "debug-port")
    assert (guest.folder / "ds-2").read_bytes() == b"another"
    assert made.remarks == ()
    first.write_bytes(b"built again")
    guest.check()


@pytest.mark.usefixtures("cache")
def test_what_qemu_is_told_names_no_folder_of_the_hosts(kernel: Path, tmp_path: Path) -> None:
    """Expected: names below a link, commas doubled. Broken: the cache's path is in the guest's memory, and its counts
    with it; or the words after a comma are a module of their own."""
    guest = own.add("tiny", kernel, Given(modules=[f"{file(tmp_path, 'ds')} a=1,2", "@initramfs", "@probe --continue"]))
    assert guest.initrd("initrd", "probe", ("--by", "path", "fs/read,ext4")) == (
        "guest/ds a=1,,2,initrd,probe --continue --by path fs/read,,ext4"
    )
    assert str(guest.kernel_word) == "guest/vmlinux"
    boots = tmp_path / "boot"
    boots.mkdir()
    guest.link(boots)
    assert (boots / guest.kernel_word).samefile(guest.kernel)
    with pytest.raises(TargetError, match="File exists"):
        guest.link(boots)


@pytest.mark.usefixtures("cache")
def test_the_image_is_another_with_another_module_or_other_words(kernel: Path, tmp_path: Path) -> None:
    """Expected: four names for four systems, one for a copy. Broken: their counts compare as one kernel's."""
    one, other = file(tmp_path, "one"), file(tmp_path, "other/one", b"another module")
    images = [
        own.add(name, kernel, Given(modules=[module])).image
        for name, module in (("a", f"{one}"), ("b", f"{other}"), ("c", f"{one} -v"), ("d", f"{one}"))
    ]
    assert len(set(images)) == 3
    assert images[0] == images[3]


@pytest.mark.usefixtures("cache")
def test_a_changed_module_is_not_booted(kernel: Path, tmp_path: Path) -> None:
    guest = own.add("tiny", kernel, Given(modules=[str(file(tmp_path, "ds"))]))
    (guest.folder / "ds").write_bytes(b"something else")
    with pytest.raises(TargetError, match="ds is not what was added"):
        guest.check()


@pytest.mark.usefixtures("cache")
def test_a_kernel_that_never_hears_of_the_rows_is_remarked_on(kernel: Path, tmp_path: Path) -> None:
    guest = own.add("tiny", kernel, Given(modules=[str(file(tmp_path, "ds"))]))
    assert "no program learns which rows" in guest.manifest.remarks[0]


@pytest.mark.usefixtures("cache")
def test_names_that_are_taken_or_odd_are_changed(kernel: Path, tmp_path: Path) -> None:
    """Expected: the guest's own files stay what they are. Broken: a module called vmlinux replaces the kernel."""
    paths = [file(tmp_path, name) for name in ("vmlinux", "manifest.json", "drivers", "-rf", "a,b")]
    guest = own.add("tiny", kernel, Given(modules=[str(path) for path in paths]))
    names = [one.file for one in guest.manifest.modules]
    assert names == ["vmlinux-2", "manifest.json-2", "drivers-2", "module", "module-2"]
    guest.check()
    assert store.find("tiny").kernel.read_bytes() == kernel.read_bytes()


@pytest.mark.usefixtures("cache")
def test_a_packed_kernel_is_unpacked_and_a_packed_module_is_not(kernel: Path, tmp_path: Path) -> None:
    packed = file(tmp_path, "tiny.gz", gzip.compress(kernel.read_bytes()))
    guest = own.add("tiny", packed, Given(modules=[str(packed)]))
    assert guest.kernel.read_bytes() == kernel.read_bytes()
    assert (guest.folder / "tiny.gz").read_bytes() == packed.read_bytes()


HEADER = struct.pack("<III", kernelfile.MAGIC, 3, -(kernelfile.MAGIC + 3) & 0xFFFFFFFF)
ELF32 = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HH", 2, 3) + bytes(44)


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (ELF32, "no multiboot header in its first 8,192 bytes"),
        (ELF32 + bytes(2) + HEADER, "no multiboot header"),
        (ELF32 + bytes(8192) + HEADER, "no multiboot header"),
        (ELF32 + HEADER[:8] + b"abcd", "no multiboot header"),
        (ELF32 + struct.pack("<I", 0xE85250D6), "multiboot 2 is not what QEMU loads"),
        (HEADER + bytes(100), "no ELF file"),
        (HEADER, "no ELF file"),
        (ELF32.replace(struct.pack("<HH", 2, 3), struct.pack("<HH", 2, 40)) + HEADER, "no kernel for x86"),
        (b"\x1f\x8b" + bytes(50), "is damaged"),
        (gzip.compress(ELF32 + HEADER, mtime=0)[:-20], "is cut off"),
    ],
)
def test_what_is_no_multiboot_kernel_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    """Expected: the cause, and no guest. Broken: QEMU says something about PVH at the first boot."""
    with pytest.raises(TargetError, match=words):
        own.add("tiny", file(tmp_path, "kernel", content))
    assert store.listed() == ()


def test_a_header_that_gives_addresses_needs_no_elf() -> None:
    flags = kernelfile.HAS_ADDRESSES
    raw = struct.pack("<III", kernelfile.MAGIC, flags, -(kernelfile.MAGIC + flags) & 0xFFFFFFFF) + bytes(20)
    assert (kernelfile.read(raw, "raw").boots, kernelfile.read(raw, "raw").way) == (raw, "multiboot")


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("", "no such module"),
        ("@disk", "no such module"),
        ("nowhere/ds", "No such file"),
        (".", "not a regular file"),
        ("empty", "is empty"),
        ("ds \N{LATIN SMALL LETTER E WITH ACUTE}", "printable ASCII"),
        ("ds a\nb", "printable ASCII"),
    ],
)
def test_a_module_that_is_none_is_refused(
    kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, words: str
) -> None:
    """Expected: UsageError, and no guest. Broken: half a guest, or a wait for what a pipe will never say."""
    monkeypatch.chdir(tmp_path)
    file(tmp_path, "ds")
    file(tmp_path, "empty", b"")
    os.mkfifo(tmp_path / "pipe")
    for each in (module, "pipe"):
        with pytest.raises(UsageError, match="not a regular file" if each == "pipe" else words):
            own.add("tiny", kernel, Given(modules=[each]))
    assert store.listed() == ()


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("name", ["linux-6.1", "xen", "xen-mine", "../x", ""])
def test_names_of_other_guests_are_refused(kernel: Path, name: str) -> None:
    with pytest.raises(UsageError):
        own.add(name, kernel)


def wide(kernel: Path, folder: Path) -> Path:
    """The kernel as an ELF file of 64 bits, as GNU Mach is linked."""
    made = folder / "tiny64"
    words = ("objcopy", "-I", "elf32-i386", "-O", "elf64-x86-64", str(kernel), str(made))
    subprocess.run(words, check=True, timeout=60)
    return made


@pytest.mark.usefixtures("cache")
def test_a_kernel_of_64_bits_keeps_the_names_of_its_functions(kernel: Path, tmp_path: Path) -> None:
    """Expected: its own names, with their addresses. Broken: a profile of GNU Mach has none."""
    guest = own.add("tiny", wide(kernel, tmp_path))
    table = symbols.of_elf(guest.kernel.read_bytes())
    assert table is not None
    assert "kernel_main" in table.names


@pytest.fixture
def said(tmp_path: Path) -> Path:
    """What the kernel is to print: a probe's records, with its own counts for samples."""
    return file(tmp_path, "said", tiny.said())


@pytest.mark.guest
@pytest.mark.parametrize("output", in_turn(["debug-port", "serial"], 0.08, always=["debug-port"]))
def test_a_kernel_of_ones_own_is_measured_the_whole_way(added: str, said: Path, tmp_path: Path, output: str) -> None:
    """Expected: guest add, run, and the kernel's own counts with an event vector beside them; every word that was
    given arrives. Broken: a word is lost at a comma or a space, or the kernel's end is taken for a bad one."""
    kernel = compiled(tmp_path, *(["-DSERIAL"] if output == "serial" else []))
    modules = (f"{said} a=1,2  b", "@initramfs", "@probe --continue")
    words = (word for module in modules for word in ("--module", module))
    append = ("--append", "root=a,b quiet", "--output", output)
    done = kernometer(tmp_path, "guest", "add", "kernel", str(kernel), "--name", added, *words, *append)
    assert added in done.stdout
    run = ("run", "--by", "path", "--on", f"qemu:{added}", "--seed", "1", "syscall/getppid@")
    document = json.loads(kernometer(tmp_path, *run, "--json").stdout)
    (row,) = document["rows"]
    assert row["row"] == "syscall/getppid"
    result = Store(tmp_path).load("@last")
    assert result.header is not None
    assert result.runs[0].samples == (tiny.REGION,) * 3
    assert (result.events[0].regions, result.events[0].counts["instructions"]) == (3, 3 * MARKED)
    assert result.session.image == store.find(added).image
    told = result.header.uname["version"].split("|")
    assert told[:3] == ["guest/vmlinux root=a,b quiet", "guest/said a=1,2  b[ker]", "initrd[707]"]
    assert told[3].startswith("probe --continue --only define --by path ")
    assert told[3].endswith("syscall/getppid@[ELF]")


@pytest.mark.guest
@pytest.mark.slow(minutes=0.07)
def test_an_elf64_kernel_boots_on_another_machine_with_further_words(
    added: str, kernel: Path, said: Path, tmp_path: Path
) -> None:
    """Expected: booted as any other; two boots are equal. Broken: QEMU wants 32 bits."""
    own.add(added, wide(kernel, tmp_path), Given(modules=[str(said), "@initramfs"], append="first"))
    target = QemuTarget.from_spec(f"{added}+second+machine=q35")
    job = Job(("--by", "path", "--seed", "1", "syscall/getppid"), "path")
    boots = [list(target.run(job, Deadline.after(300))) for _ in range(2)]
    assert repeated(boots[0]) == repeated(boots[1])
    assert json.loads(boots[0][0])["uname"]["version"].startswith("guest/vmlinux first second|guest/said[ker]|")


@pytest.mark.guest
@pytest.mark.slow(minutes=0.3)
@pytest.mark.parametrize("root", ["none", "ext2", "disk:disk.img"])
def test_a_kernel_is_saved_where_it_waits_whatever_its_root(
    added: str, said: Path, tmp_path: Path, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks at nothing but, in memory, each row's command. Expected: saved with its disk, restored for each row,
    counted. Broken: it is refused because it takes no module, or boots for each row and never learns what is wanted."""
    monkeypatch.chdir(tmp_path)
    disk = roots.ext2([Entry("etc", 0o040755)], 8, 1024)
    (tmp_path / "disk.img").write_bytes(disk)
    init = ("--init", "ours") if root.startswith("disk:") else ()
    text = json.dumps(said.read_text())  # a string of C too
    kernel = compiled(tmp_path, f"-DTEXT={text}")
    done = kernometer(tmp_path, "guest", "add", "kernel", str(kernel), "--name", added, "--root", root, *init)
    words = {"none": "no archive", "ext2": "@initramfs"}
    assert words.get(root, "a copy of the disk, with init and probe") in done.stderr
    run = ("run", "--by", "path", "--on", f"qemu:{added}", "--seed", "1", "syscall/getppid@")
    told = kernometer(tmp_path, *run)
    assert "cannot be saved" not in told.stderr
    result = Store(tmp_path).load("@last")
    assert result.session.state == "saved"
    assert ("-drive" in result.session.launch) == root.startswith("disk:")
    assert ("initrd" in result.session.launch) == (root == "ext2")
    assert result.runs[0].samples == (tiny.REGION,) * 3
    assert result.header is not None
    assert result.header.uname["version"].startswith("/bin/probe|--only|define|--by|path|")
    assert "syscall/getppid@" in result.header.uname["version"]
    assert (tmp_path / "disk.img").read_bytes() == disk
