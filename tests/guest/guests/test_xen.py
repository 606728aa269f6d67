"""Xen with a Linux on it: what it is made of, from packages of a mirror of the test's own; and a real one, booted."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from kernometer.cache import sha256
from kernometer.errors import MissingError, TargetError, UsageError
from kernometer.guests import store, variant
from kernometer.guests.emulator.qemu import COMMAND_LINE, Machine
from kernometer.guests.kernels import xen
from kernometer.results.store import Store
from kernometer.targets import booting
from kernometer.targets.base import Deadline, Job
from kernometer.targets.qemu import QemuTarget
from tests.support.cli.real import judged
from tests.support.guests.images import HYPERVISOR, KERNEL, bzimage, elf
from tests.support.guests.repeated import repeated
from tests.support.guests.repository import Repository

needs_apt = pytest.mark.skipif(shutil.which("apt-get") is None, reason="the guests' packages come through apt")

ABLE = b"CONFIG_XEN=y\nCONFIG_XEN_DOM0=y\n"


def hypervisor(mirror: Repository, series: str, version: str, content: bytes = HYPERVISOR) -> dict[str, str]:
    files = {
        f"boot/xen-{series}-amd64.gz": gzip.compress(content),
        f"boot/xen-{series}-amd64.efi": b"not this one",
        f"boot/xen-{series}-amd64.config": b"CONFIG_PV=y\n",
    }
    return mirror.package(f"xen-hypervisor-{series}-amd64", version, files)


@pytest.fixture
def mirror(mirror: Repository) -> Repository:
    """A system of bookworm with Xen 4.9 and 4.17, and what is called alike and is none."""
    packages = [hypervisor(mirror, "4.9", "4.9.1-1"), hypervisor(mirror, "4.17", "4.17.7-1")]
    packages += [mirror.package(f"xen-hypervisor-{name}", "9.9-1") for name in ("common", "4.17-amd64-dbg")]
    mirror.suite("bookworm", packages)
    mirror.system("bookworm")
    return mirror


def linux(name: str = "linux-6.1", config: bytes = ABLE, **given: object) -> store.Guest:
    """A Linux guest that is here already, with a driver."""
    kernel = f"the kernel of {name}".encode()
    with store.new_folder() as folder:
        (folder / store.KERNEL).write_bytes(kernel)
        (folder / store.DRIVERS).mkdir()
        (folder / store.DRIVERS / "brd.ko").write_bytes(b"a driver")
        if config:
            (folder / store.CONFIG).write_bytes(config)
        values: dict[str, object] = {
            "name": name,
            "package": "linux-image-6.1.0-9-amd64",
            "version": "6.1.27-1",
            "release": "6.1.0-9-amd64",
            "package_sha256": "0" * 64,
            "kernel_sha256": sha256(kernel),
            "kernel_bytes": len(kernel),
            "drivers_sha256": "1" * 64,
        }
        return store.keep(folder, store.Manifest(**(values | given)))  # type: ignore[arg-type]  # as above


@needs_apt
@pytest.mark.usefixtures("mirror")
def test_the_newest_xen_takes_the_linux_that_is_here() -> None:
    """Expected: 4.17 after 4.9, on pc, the Linux as a module, its drivers beside it. Broken: its console is lost."""
    below = linux()
    guest = xen.add()
    made = guest.manifest
    assert (guest.name, made.package) == ("xen", "xen-hypervisor-4.17-amd64 with linux-image-6.1.0-9-amd64")
    assert (made.version, made.release) == ("4.17.7-1 with 6.1.27-1", "6.1.0-9-amd64")
    assert made.machine == Machine(type="pc")
    assert guest.kernel.read_bytes() == HYPERVISOR
    assert [(one.file, one.arguments) for one in made.modules] == [
        ("dom0", COMMAND_LINE.replace("ttyS0", "hvc0")),
        (store.INITRAMFS, ""),
    ]
    assert (guest.folder / "dom0").read_bytes() == below.kernel.read_bytes()
    assert (guest.folder / store.DRIVERS / "brd.ko").read_bytes() == b"a driver"
    assert made.drivers_sha256 == below.manifest.drivers_sha256
    guest.check()
    assert sorted(path.suffix for path in guest.folder.iterdir()) == ["", "", "", "", ".json"]  # and no package
    assert xen.add() == guest


@needs_apt
@pytest.mark.usefixtures("mirror")
def test_a_variants_words_are_xens_and_those_of_its_linux_are_the_linuxs() -> None:
    """Expected: two command lines that are told apart by name. Broken: Xen takes mitigations=off and ignores it."""
    linux()
    guest = xen.add("linux-6.1+mitigations=off")
    assert guest.name == "xen-linux-6.1-mitigations-off"
    assert guest.manifest.modules[0].arguments.endswith("panic=-1 mitigations=off")
    assert guest.manifest.command_line == xen.XEN_LINE
    assert variant.parse("xen+spec-ctrl=no").command_line(xen.XEN_LINE) == f"{xen.XEN_LINE} spec-ctrl=no"
    assert guest.image != xen.add().image


@needs_apt
def test_a_linux_that_is_not_here_is_added(mirror: Repository) -> None:
    files = {"boot/vmlinuz-6.12.1-amd64": bzimage(), "boot/config-6.12.1-amd64": ABLE}
    mirror.suite(
        "bookworm",
        [hypervisor(mirror, "4.17", "4.17.7-1"), mirror.package("linux-image-6.12.1-amd64", "6.12.1-1", files)],
    )
    said: list[str] = []
    assert xen.add("linux-6.12", said.append).name == "xen-linux-6.12"
    assert [guest.name for guest in store.listed()] == ["linux-6.12", "xen-linux-6.12"]
    assert any("linux-6.12" in line for line in said)


@needs_apt
@pytest.mark.usefixtures("mirror")
@pytest.mark.parametrize(
    ("dom0", "words"),
    [
        ("linux-6.1+machine=q35", "the virtual machine's"),
        ("linux-6.1+memory=1024", "the virtual machine's"),
        ("cloud", "lacks CONFIG_XEN_DOM0"),
        ("tiny", "not a Linux by itself"),
        ("linux-6.1+", "is invalid"),
    ],
)
def test_what_cannot_be_the_first_domain_is_refused(dom0: str, words: str) -> None:
    """Expected: UsageError, and no guest. Broken: Xen panics at the first boot, without the cause."""
    linux()
    linux("cloud", b"CONFIG_XEN=y\n# CONFIG_XEN_DOM0 is not set\n")
    linux("tiny", modules=(store.Module(file=store.INITRAMFS),))
    with pytest.raises(UsageError, match=words):
        xen.add(dom0)
    assert [guest.name for guest in store.listed()] == ["cloud", "linux-6.1", "tiny"]


@needs_apt
@pytest.mark.usefixtures("mirror")
def test_a_guest_that_nobody_knows_is_missing() -> None:
    with pytest.raises(MissingError, match="no guest mine"):
        xen.add("mine")


@needs_apt
@pytest.mark.usefixtures("mirror")
def test_a_kernel_from_a_file_is_believed() -> None:
    """Expected: no configuration, no verdict. Broken: kernels of one's own are all refused."""
    linux("mine", config=b"")
    assert xen.add("mine").name == "xen-mine"


@needs_apt
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (elf(), "no multiboot header"),
        (KERNEL, "no multiboot header"),
        (b"\x7fELF" + bytes(100), "is no kernel for x86"),
        (None, "contains 0 hypervisors"),
    ],
)
def test_a_package_without_a_usable_hypervisor_leaves_no_guest(
    mirror: Repository, content: bytes | None, words: str
) -> None:
    linux()
    name = "xen-hypervisor-4.17-amd64"
    package = mirror.package(name, "9-1") if content is None else hypervisor(mirror, "4.17", "9-1", content)
    mirror.suite("bookworm", [package])
    with pytest.raises(TargetError, match=words):
        xen.add()
    assert [guest.name for guest in store.listed()] == ["linux-6.1"]


@needs_apt
def test_sources_without_xen_say_so(mirror: Repository) -> None:
    linux()
    mirror.suite("bookworm", [])
    with pytest.raises(MissingError, match="no Xen"):
        xen.add()


@needs_apt
def test_a_package_that_differs_from_the_signed_lists_is_refused(mirror: Repository) -> None:
    linux()
    mirror.suite("bookworm", [hypervisor(mirror, "4.17", "9-1") | {"SHA256": "0" * 64}])
    with pytest.raises(TargetError, match=r"xen-hypervisor-4\.17-amd64"):
        xen.add()


#: Rows whose cost under Xen has its own cause: calls, switches of page tables, their set-up and copies.
ROWS = ("syscall/getppid", "ctx/pipe-pair", "proc/fork-exit", "mem/touch")
#: Beyond any machine: a boot takes half a minute on an idle one.
BOOT_SECONDS = 900
PATIENCE = 2 * BOOT_SECONDS


@pytest.fixture(scope="module")
def guest(linux_6_1: store.Guest) -> QemuTarget:
    """Debian's Xen with that Linux, downloaded once a checkout."""
    assert linux_6_1.folder.is_dir()
    if xen.NAME not in [each.name for each in store.listed()]:
        xen.add()
    return QemuTarget.from_spec(xen.NAME)


def boot(target: QemuTarget, *words: str) -> list[bytes]:
    job = Job(("--by", "path", "--seed", "1", *words), "path")
    return list(target.run(job, Deadline.after(BOOT_SECONDS)))


@pytest.mark.guest
@pytest.mark.slow(minutes=0.7)
@pytest.mark.timeout(PATIENCE)
def test_xen_is_compared_exactly_with_the_same_linux_on_the_same_machine(guest: QemuTarget, tmp_path: Path) -> None:
    """Expected: not refused; the same figures twice; every call enters the hypervisor, which changes page tables for
    it. Broken: memory, machine or console differ, or a boot depends on time."""
    words = ("--by", "path", "qemu:linux-6.1+machine=pc", guest.name, *ROWS)
    first, second = (judged(tmp_path / str(number), *words) for number in range(2))
    assert first == second
    assert len(first) >= len(ROWS)
    assert {row: found["verdict"] for row, found in first.items()} == dict.fromkeys(first, "slower")
    kept = [Store(tmp_path / "0").load(name) for name in ("@1", "@last")]
    (events,) = (one for side in kept if side.session.side == "B" for one in side.events if one.row == ROWS[0])
    each = {name: count / events.regions for name, count in events.counts.items()}
    # the program's call, and the Linux's own to return from it; some more where its clock ticks
    assert all(2 <= each[name] < 2.05 for name in ("syscalls", "cr3_writes"))


@pytest.mark.guest
@pytest.mark.slow(minutes=0.4)
@pytest.mark.timeout(PATIENCE)
def test_the_whole_quick_profile_runs_on_xen_and_two_boots_are_equal(guest: QemuTarget) -> None:
    """Expected: no row fails, each is exact. Broken: a row needs what a paravirtualised kernel has not."""
    boots = [boot(guest, "--profile", "quick") for _ in range(2)]
    records = [json.loads(line) for line in boots[0]]
    assert [one for one in records if one["type"] == "error"] == []
    assert len({one["row"] for one in records if one["type"] == "run"}) > 60
    assert repeated(boots[0]) == repeated(boots[1])


@pytest.mark.guest
@pytest.mark.slow(minutes=0.6)
def test_a_linux_that_panics_on_xen_is_told_soon(guest: QemuTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: its words. Broken: Xen spins for five seconds of the guest's clock, and silence is the error."""
    monkeypatch.setattr(booting, "initrd", lambda *_: b"no archive")
    with pytest.raises(TargetError, match="kernel panicked"):
        boot(guest)
