"""Modules for a guest's own kernel: from packages of exactly its version, or an error that says what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernometer.errors import MissingError, UsageError
from kernometer.guests import store
from kernometer.guests.kernels import headers
from kernometer.guests.packages import suites
from tests.support.guests.repository import Repository

NAME = "linux-image-6.1.0-1-amd64"


def guest(package: str = NAME, release: str = "6.1.0-1-amd64") -> store.Guest:
    manifest = store.Manifest(name="linux-6.1", package=package, version="6.1.5-1", release=release, package_sha256="")
    return store.add(manifest, {store.KERNEL: b"kernel"})


def source(folder: Path) -> Path:
    (folder / "ours.c").write_text("int ours;\n")
    return folder / "ours.c"


def silently(_: str) -> None:
    pass


def test_packages_of_another_version_are_not_taken(mirror: Repository, tmp_path: Path) -> None:
    """Expected: an error with the way out. Broken: a module that the guest's kernel refuses to load."""
    mirror.suite(
        "bookworm", [mirror.package(NAME, "6.1.5-1"), mirror.package("linux-headers-6.1.0-1-amd64", "6.1.6-1")]
    )
    mirror.system("bookworm")
    with pytest.raises(
        MissingError, match=r"no longer have .*linux-headers-6\.1\.0-1-amd64.* of version 6\.1\.5-1"
    ) as e:
        headers.modules(guest(), source(tmp_path), (), silently)
    assert "Add the guest again" in e.value.next_step


def test_packages_of_the_version_are_downloaded_in_their_order(mirror: Repository, tmp_path: Path) -> None:
    names = ("linux-headers-6.1.0-1-common", NAME)
    mirror.suite("bookworm", [mirror.package(name, "6.1.5-1") for name in sorted(names)])
    mirror.system("bookworm")
    (tmp_path / "to").mkdir()
    found = suites.exactly(names, "6.1.5-1", tmp_path / "to", silently)
    assert [path.name.partition("_")[0] for path in found] == list(names)


def test_a_kernel_from_a_file_has_no_headers(mirror: Repository, tmp_path: Path) -> None:
    assert mirror.url
    with pytest.raises(UsageError, match="is not a Linux from packages"):
        headers.modules(guest("/boot/vmlinuz", ""), source(tmp_path), (), silently)


@pytest.mark.parametrize("release", ["6.8.0-151-generic", "6.1.0-1-arm64"])
def test_a_kernel_of_another_distribution_or_architecture_is_refused_at_once(
    mirror: Repository, tmp_path: Path, release: str
) -> None:
    """Expected: the reason. Broken: a download, and then the advice to add the guest again."""
    assert mirror.url
    with pytest.raises(UsageError, match="Debian's headers for amd64 alone"):
        headers.modules(guest(f"linux-image-{release}", release), source(tmp_path), (), silently)
