"""Trio as a guest: built from sources when those change, listed, refused where it cannot be; what it is given to run.
The sources are stand-ins here, whose kernel is a file of text; tests/guest/trio builds and boots the real one."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from kernometer.errors import BuildError, MissingError, UsageError
from kernometer.guests import plugins, store, variant
from kernometer.guests.emulator.qemu import Machine, QemuVersion, argv
from kernometer.guests.images import disks, displays, initramfs
from kernometer.guests.inside import programs
from kernometer.guests.inside.programs import Provided
from kernometer.guests.kernels import linux, trio
from kernometer.targets import qemu
from tests.support.cli.real import kernometer
from tests.support.guests.trio_sources import MAKEFILE


@pytest.fixture(autouse=True)
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "trio"
    (folder / "user").mkdir(parents=True)
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "kernel").mkdir()
    (folder / "kernel/word").write_text("first")
    monkeypatch.setattr(trio, "source_folder", lambda name: tmp_path / name)
    monkeypatch.setattr(trio, "lwip_sources", lambda _: None)  # not fetched for each test
    return folder


def test_it_is_kept_as_trio_mono_with_what_it_is_made_of() -> None:
    """Expected: a guest whose files are as its manifest says, and what the kernel has without modules."""
    guest = trio.add("mono")
    guest.check()
    assert guest.name == "trio-mono"
    assert guest.kernel.read_bytes().startswith(b"first")
    assert guest.image.startswith("trio 0.7 COUNTERS=0 sha256:")
    assert set(guest.manifest.built_in) == {"bochs", "brd", "minix"}
    assert store.find("trio-mono") == guest


def test_lwip_that_does_not_build_costs_the_network_alone(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: a kernel of our own sources, and one line with the cause's place. Broken: no kernel, forty lines."""
    noise = "".join(f"\t@echo '  CC {number}'\n" for number in range(40))
    wrong = "\t@[ -z '$(LWIP)' ] || { echo \"net.o: undefined reference to 'malloc'\"; echo later; exit 1; }\n"
    (sources / "Makefile").write_text(MAKEFILE.replace("\tmkdir", f"{noise}{wrong}\tmkdir"))
    monkeypatch.setattr(trio, "lwip_sources", lambda _: tmp_path / "lwip")
    said: list[str] = []
    assert trio.add("mono", said.append).kernel.read_bytes().startswith(b"first")
    assert said[:2] == ["trio-mono: compiling …"] * 2
    [told] = said[2:]
    log = Path(told.rpartition(" is in ")[2].removesuffix("."))
    assert told.startswith("trio: without network, since it does not build with lwIP: Trio does not build: make ended ")
    assert "  CC 39" in log.read_text()
    (sources / "Makefile").write_text(MAKEFILE.replace("\tmkdir", f"{noise}{wrong.replace('LWIP', 'BUILD')}\tmkdir"))
    with pytest.raises(BuildError, match=r"make ended with status 2; its whole output is in .*\.$") as caught:
        trio.add("mono")
    assert caught.value.last_output == "net.o: undefined reference to 'malloc'"


def test_it_is_built_again_when_its_sources_change_and_not_before(sources: Path) -> None:
    """Expected: user programs, text and what lies in a folder build are no part of the kernel. Broken: an old kernel
    under new sources, or a compiler that runs for every call."""
    said: list[str] = []
    first = trio.add("mono", said.append).manifest
    assert said == ["trio-mono: compiling …"]
    (sources / "user" / "usertests.c").write_text("changed")
    (sources / "README.md").write_text("changed")
    (sources / "build").mkdir()
    (sources / "build" / "trio-mono.elf").write_text("changed")
    assert trio.add("mono", said.append).manifest == first
    assert len(said) == 1
    (sources / "kernel/word").write_text("second")
    again = trio.add("mono", said.append)
    assert again.kernel.read_bytes().startswith(b"second")
    assert again.manifest.package_sha256 != first.package_sha256


def test_variants_stay_listed_when_it_is_built_again() -> None:
    trio.add("mono")
    linux.record(variant.parse("trio-mono+memory=64"))
    assert trio.add("mono").manifest.variants == ("trio-mono+memory=64",)


def test_without_a_compiler_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MissingError, match="no gcc and no ld and no objcopy and no make") as caught:
        trio.add("mono")
    assert caught.value.next_step.startswith("Debian, Ubuntu: apt-get install gcc binutils make. docs/install.md ")


def test_what_does_not_build_is_an_error_with_the_compilers_words(sources: Path) -> None:
    """Expected: nothing is kept. Broken: half a kernel in the cache, found the next time."""
    (sources / "Makefile").write_text("all services:\n\techo word.c:1: error: no such word >&2; exit 1\n")
    for _ in range(2):
        with pytest.raises(BuildError, match="make ended with status 2") as caught:
            trio.add("mono")
        assert "word.c:1: error" in caught.value.last_output
    assert store.listed() == ()


UNITS = """\
$(BUILD)/probe-trio: probe-trio/trap.c $(PROBE)/km.h
\tmkdir -p $(BUILD)
\tcat $^ > $@
\techo "$(CC) $(CFLAGS)" >> $@
\tdate +%N >> $@
"""


def test_the_program_of_the_unit_costs_is_built_again_when_its_own_or_the_probes_sources_change(sources: Path) -> None:
    """Expected: kept by a digest of both, compiled as the probe of a guest is. Broken: a registry that is no longer."""
    user, probe = sources / "user", sources.with_name("probe")
    (user / "Makefile").write_text(UNITS)
    for folder, file in ((user / "probe-trio", "trap.c"), (probe, "km.h")):
        folder.mkdir()
        (folder / file).write_text(f"{file}\n")
    compiler, *flags = programs.static_compiler()
    first = trio.probe()
    words = " ".join((compiler, *(flag for flag in flags if flag != "-static")))
    assert first.read_text().splitlines()[:3] == ["trap.c", "km.h", words]
    (sources / "kernel/word").write_text("another kernel")
    assert trio.probe() == first
    (probe / "km.h").write_text("another engine\n")
    assert trio.probe() != first
    (user / "probe-trio/trap.c").write_text("another unit\n")
    assert trio.probe().read_text().startswith("another unit\nanother engine\n")


def test_only_trio_is_measured_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu, "detect", lambda _: QemuVersion(9, 9, 9))
    monkeypatch.setattr(plugins, "find", lambda _: (None, ""))
    made = trio.add("mono")
    assert qemu.QemuTarget.from_spec("trio-mono+memory=64").programs == ("probe", "probe-trio")
    with store.new_folder() as folder:
        (folder / store.KERNEL).write_bytes(made.kernel.read_bytes())
        store.keep(folder, msgspec.structs.replace(made.manifest, name="linux-9.9"))
    assert qemu.QemuTarget.from_spec("linux-9.9").programs == ("probe",)


def test_a_changed_structure_is_a_guest_of_its_own_and_has_variants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: `together=`, `apart=` and `with=` name another kernel, wherever they stand; other words its machine.
    Broken: trio-micro with words that no kernel reads."""
    monkeypatch.setattr(qemu, "detect", lambda _: QemuVersion(9, 9, 9))
    monkeypatch.setattr(plugins, "find", lambda _: (None, ""))
    name = "trio-micro+together=vfs,fs"
    for structure in ("micro", "micro+together=vfs,fs", "mono+apart=fs+apart=clock", "micro+with=by-queue"):
        assert trio.add(structure).manifest.release == f"0.7-{structure}"
    with pytest.raises(UsageError, match="not the name of a guest"):
        store.find(name.replace(",", "-"))
    assert store.find(name).kernel.read_bytes() != store.find("trio-micro").kernel.read_bytes()
    target = qemu.QemuTarget.from_spec("trio-micro+memory=64+together=vfs,fs")
    assert (target.guest, target.name) == (store.find(name), f"qemu:{name}+memory=64")
    words = argv(target.boot("time"))
    assert str(target.guest.kernel) in words
    assert "together" not in target.boot("time").command_line
    linux.record(target.variant)
    for removed in (f"{name}+memory=64", name):
        assert kernometer(tmp_path, "guest", "rm", removed).stdout == f"{removed}: removed\n"
    found = store.find("trio-micro+with=by-queue")
    assert qemu.QemuTarget.from_spec("trio-micro+memory=64+with=by-queue").guest == found
    assert [guest.name for guest in store.listed()] == [
        "trio-micro",
        "trio-micro+with=by-queue",
        "trio-mono+apart=fs+apart=clock",
    ]


@pytest.mark.parametrize(
    "structure",
    [
        "hybird",
        "",
        "micro+beside=vfs",
        "micro+together=",
        "micro+apart=fs,",
        "together=vfs,fs",
        "micro+with=",
        "micro+",
        "../mono",
    ],
)
def test_a_structure_that_there_is_not_is_refused_with_those_that_there_are(structure: str) -> None:
    with pytest.raises(UsageError, match="no structure") as caught:
        trio.add(structure)
    assert "mono" in caught.value.next_step
    assert store.listed() == ()


def test_one_structure_that_there_is_not_stops_all_of_a_command(tmp_path: Path) -> None:
    done = kernometer(tmp_path, "guest", "add", "trio", "mono", "hybird", status=2)
    assert "'hybird'" in done.stderr
    assert not (tmp_path / "cache").exists()


def test_a_name_like_its_own_is_not_for_the_users_kernels() -> None:
    for name in ("trio", "trio-mono", "trio-mine"):
        with pytest.raises(UsageError, match="Trio's"):
            linux.check_name(name)


def test_list_shows_it_beside_the_others(tmp_path: Path) -> None:
    trio.add("mono")
    listed = kernometer(tmp_path, "guest", "list").stdout.splitlines()
    assert listed[1].split() == ["trio-mono", "0.7-mono", "0.0", "trio"]
    assert len(listed) == 2
    (document,) = json.loads(kernometer(tmp_path, "guest", "list", "--json").stdout)
    assert document["built_in"] == list(trio.BUILT_IN)


def test_its_disk_is_minix_and_needs_no_driver_to_be_loaded() -> None:
    """Expected: the image and the word for it; for ext4 the reason. Broken: init is given drivers that are none."""
    given = disks.provide(trio.add("mono"), ("minix", "ext4"), "")
    assert given.arguments == (
        *("--no-disk", "ext4=trio-mono has no ext4, and loads no kernel modules."),
        *("--disk", f"minix={disks.MOUNTED}/minix"),
    )
    assert set(given.files) == {f"{disks.IMAGES}/minix"}


def test_its_display_needs_no_driver_to_be_loaded() -> None:
    guest = trio.add("mono")
    bochs = Machine(display="bochs-drm")
    assert displays.provide(guest, bochs) == Provided({}, ())
    assert displays.kernel(guest, bochs) == guest.kernel
    with pytest.raises(MissingError, match="no driver for display=vesafb"):
        displays.kernel(guest, msgspec.structs.replace(bochs, type="pc", display="vesafb"))


def test_what_linux_gets_for_a_row_with_a_disk_is_still_a_list_of_drivers(sources: Path) -> None:
    """Expected: a guest whose manifest is of before keeps its drivers. Broken: every guest is taken for Trio."""
    old = msgspec.structs.replace(trio.add("mono").manifest, name="linux-9.9", built_in=())
    guest = store.Guest(sources, old)
    (words, reason) = disks.provide(guest, ("minix",), "").arguments
    assert words == "--no-disk"
    assert "before these were stored" in reason
    assert initramfs.DRIVERS not in disks.provide(guest, ("minix",), "").files
