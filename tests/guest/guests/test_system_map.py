"""A System.map given with a kernel of one's own: is it held against what that kernel lists itself?"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from kernometer.guests import store
from kernometer.targets import profiling
from kernometer.targets.qemu import QemuTarget
from tests.support.checkout import alone
from tests.support.cli.real import kernometer

NAME = "mapped"
SHIFTED = "__x64_sys_getppid"


@pytest.fixture(scope="module")
def own(linux_6_1: store.Guest) -> Sequence[str]:
    """The kernel's functions as its build lists them."""
    if shutil.which("busybox") is None:
        pytest.skip("busybox-static is not installed")
    listing = QemuTarget.from_spec(linux_6_1.name).kernel_listing()
    return [line for line in listing if re.fullmatch(r"[0-9a-f]+ [A-Za-z] [!-~]+", line)]


@pytest.fixture
def add(linux_6_1: store.Guest, tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Adds that kernel as one's own with such a map; what the command says on standard error."""

    def added(lines: Sequence[str], *options: str, status: int = 0) -> str:
        (tmp_path / "System.map").write_text("\n".join(lines) + "\n")
        words = (str(linux_6_1.packed), "--symbols", str(tmp_path / "System.map"), "--name", NAME)
        return kernometer(tmp_path, "guest", "add", "kernel", *words, *options, status=status).stderr

    with alone(NAME):
        yield added
        if NAME in {guest.name for guest in store.listed()}:
            store.remove(NAME)


@pytest.mark.guest
def test_a_kernel_that_cannot_switch_the_machine_off_lists_its_functions(linux_6_1: store.Guest) -> None:
    """It halts at its end. Expected: the whole list, once its last line has come. Broken: a wait for QEMU's end,
    which never comes, and then a profile without the kernel's names."""
    if shutil.which("busybox") is None:
        pytest.skip("busybox-static is not installed")
    listing = QemuTarget.from_spec(f"{linux_6_1.name}+acpi=off").kernel_listing()
    assert any(line.endswith(f" T {SHIFTED}") for line in listing)


@pytest.mark.guest
@pytest.mark.slow(minutes=0.9)
def test_a_stale_map_is_refused_with_the_first_symbol_that_differs(own: Sequence[str], add: Callable[..., str]) -> None:
    """Expected: the build's own is stored; another, or a part of it, is refused by name or number, and the guest stays
    as it was. Broken: a profile names functions that were never called."""
    assert "could not be checked" not in add(own)
    kept = store.find(NAME).manifest
    at = int(next(line for line in own if line.endswith(f" {SHIFTED}")).split()[0], 16)
    stale = [f"{at + 16:x} T {SHIFTED}" if line.endswith(f" {SHIFTED}") else line for line in own]
    told = f"{SHIFTED} is at {at + 16:x} in it, and at {at:x} in the kernel"
    assert told in add(stale, status=2)
    assert re.search(r"it has [\d,]+ of the kernel's [\d,]+ functions", add(own[: len(own) // 2], status=2))
    assert store.find(NAME).manifest == kept


@pytest.mark.guest
@pytest.mark.slow(minutes=0.4)
def test_a_map_that_the_kernel_cannot_confirm_is_said_to_be_unchecked(
    own: Sequence[str], add: Callable[..., str]
) -> None:
    """A kernel that hides its addresses, as one without kallsyms has none. Expected: the guest, with a remark, and a
    profile by that map says so. Broken: it is believed in silence, or nothing can be profiled."""
    said = add(own, "--append", "sysctl.kernel.kptr_restrict=2")
    why = "the kernel lists no functions in /proc/kallsyms"
    assert f"{NAME}: Its symbols could not be checked: {why}." in said
    guest = store.find(NAME)
    listing = QemuTarget.from_spec(NAME).kernel_listing()
    assert profiling.unlike(guest, listing) == why


def test_a_profile_takes_what_the_kernel_prints_before_a_map(tmp_path: Path) -> None:
    """Also of a guest that was added before maps were checked. Broken: its stale map names the functions."""
    (tmp_path / store.SYSTEM_MAP).write_text("ffffffff81000000 T load_module\n")
    guest = store.Guest(tmp_path, store.Manifest(name="g", package="g", version="1", release="1", package_sha256=""))
    listing = tmp_path / "listing"
    listing.write_text("ffffffff81000000 T __x64_sys_getppid\n")
    for file, name, source in (
        (listing, "__x64_sys_getppid", profiling.LISTED),
        (None, "load_module", profiling.UNCONFIRMED),
    ):
        table, said = profiling.of_kernel(file, guest)
        assert (table.names if table else (), said) == ((name,), source)
    listing.write_text("0000000000000000 T __x64_sys_getppid\n")
    assert profiling.of_kernel(listing, guest)[1] == profiling.UNCONFIRMED
