"""apt with a private state: real apt, a mirror of the test's own; and sources of packages."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from kernometer.errors import MissingError, ResultError, TargetError
from kernometer.guests.packages import apt, debsource
from kernometer.guests.packages.apt import Apt
from tests.support.guests.repository import Repository, source_package, tarball

pytestmark = pytest.mark.skipif(shutil.which("apt-get") is None, reason="the guests' packages come through apt")


def test_the_systems_lists_are_never_updated(mirror: Repository) -> None:
    """Expected: ValueError. Broken: a measuring tool changes what the administrator's apt knows."""
    assert mirror.url
    with pytest.raises(ValueError, match="administrator"):
        Apt().update()


def test_lists_of_the_cache_are_the_mirrors(mirror: Repository, tmp_path: Path) -> None:
    """Expected: names, candidates, origin and suite from the lists; nothing of the system's touched."""
    mirror.suite("bookworm", [mirror.package("linux-image-6.1.0-9-amd64", "6.1.27-1"), mirror.package("other")])
    mirror.system("bookworm")
    found = Apt.private("system")
    found.update()
    assert found.names("linux-") == ["linux-image-6.1.0-9-amd64"]
    (package,) = found.show(found.names("linux-"))
    assert (package.version, found.suite(package)) == ("6.1.27-1", "bookworm")
    assert [(one.suite, one.codename, one.origin) for one in found.origins()] == [("bookworm", "bookworm", "Debian")]
    assert found.release("Suite") == "stable"
    assert found.show(()) == ()
    assert not any(path.is_file() for path in (mirror.folder / "state" / "lists").rglob("*"))
    into = tmp_path / "into"
    into.mkdir()
    assert found.download(package, into).name == "linux-image-6.1.0-9-amd64_6.1.27-1_amd64.deb"


def test_what_two_mirrors_left_is_kept_apart() -> None:
    """Expected: another state for other sources of the same suite. Broken: a kernel from last month's mirror."""
    one, other = (Apt.private("sid", f"URIs: http://{name}/\n") for name in ("a", "b"))
    assert one.state != other.state


def test_a_cache_that_cannot_be_written_is_said(mirror: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: ResultError with the variable to set. A file stands in the way, which stops root too."""
    (mirror.folder / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(mirror.folder / "file"))
    with pytest.raises(ResultError) as caught:
        Apt.private("system").update()
    assert "XDG_CACHE_HOME" in caught.value.next_step


def test_an_update_that_fails_tells_what_apt_said(mirror: Repository) -> None:
    """Expected: apt's own words. Broken: "failed"."""
    mirror.suite("bookworm", [mirror.package("other")])
    (mirror.folder / "debian/dists/bookworm/main/binary-amd64/Packages").write_text("another\n")
    mirror.system("bookworm")
    with pytest.raises(TargetError, match="could not be fetched") as caught:
        Apt.private("system").update()
    assert mirror.url in caught.value.last_output


@pytest.mark.parametrize(
    ("a", "b", "wanted"), [("6.1.100-1", "6.1.27-1", True), ("1-1~rc1", "1-1", False), ("1", "1", False)]
)
def test_versions_are_compared_by_dpkgs_rules(a: str, b: str, wanted: bool) -> None:
    """Expected: numbers as numbers, ~ before the end. Broken: versions compared as text."""
    assert apt.newer(a, b) is wanted


def test_without_apt_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MissingError, match="there is no apt or dpkg here"):
        apt.need()


def hide(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """As if it were not installed."""
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == program else which(name))


@pytest.mark.parametrize("by", ["dpkg-source", "ourselves"])
def test_a_source_is_unpacked_with_its_patches(
    mirror: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """Expected: the same tree with dpkg-source and without it; no deb-src line on the system. Broken: no patches."""
    if shutil.which("dpkg-source" if by == "dpkg-source" else "patch") is None:
        pytest.skip("dpkg-dev is not installed")
    mirror.suite("bookworm", sources=source_package(mirror.folder / "debian" / "pool"))
    mirror.system("bookworm")
    if by == "ourselves":
        hide(monkeypatch, "dpkg-source")
    found = apt.source("hello", tmp_path)
    assert found == tmp_path / "hello"
    assert (found / "hello.c").read_text() == "int two;\n"
    assert (found / "debian" / "changelog").is_file()
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["cache", "hello", "mirror"]


def test_a_source_that_nobody_has_is_missing(mirror: Repository, tmp_path: Path) -> None:
    mirror.suite("bookworm", sources=source_package(mirror.folder / "debian" / "pool"))
    mirror.system("bookworm")
    with pytest.raises(MissingError, match="no source of goodbye"):
        apt.source("goodbye", tmp_path)
    with pytest.raises(ValueError, match="not a package's name"):
        apt.source("--help", tmp_path)


@pytest.mark.parametrize("name", ["hello_1.orig.tar.gz", "hello_1-1.debian.tar.xz"])
def test_a_source_file_that_is_another_is_refused(tmp_path: Path, name: str) -> None:
    """Expected: TargetError that names the file. Broken: code from a mirror is built unseen."""
    source_package(tmp_path, **{name: b"another"})
    with pytest.raises(TargetError, match=f"{name} does not match"):
        debsource.unpack(tmp_path / "hello_1-1.dsc", tmp_path / "into")


@pytest.mark.parametrize("lines", ["", "Checksums-Sha256:\n ab 1 ../x\n", "Checksums-Sha256:\n ab 1\n"])
def test_a_description_that_names_no_files_is_refused(tmp_path: Path, lines: str) -> None:
    (tmp_path / "x.dsc").write_text(lines)
    with pytest.raises(TargetError, match="names no files"):
        debsource.checked(tmp_path / "x.dsc")


@pytest.mark.parametrize(
    ("name", "content"), [("../outside", b"x"), ("/outside", b"x"), ("inside", "../outside"), ("inside", "/etc")]
)
def test_no_source_leads_out_of_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes | str
) -> None:
    """Expected: TargetError, before anything is written. Broken: a tarball writes or points where it likes."""
    hide(monkeypatch, "dpkg-source")
    archive = tarball("gz", {"first": b"x", name: content})
    (tmp_path / "x.orig.tar.gz").write_bytes(archive)
    text = f"Checksums-Sha256:\n {hashlib.sha256(archive).hexdigest()} 1 x.orig.tar.gz\n"
    (tmp_path / "x.dsc").write_text(text)
    with pytest.raises(TargetError, match="cannot be unpacked"):
        debsource.unpack(tmp_path / "x.dsc", tmp_path / "into")
    assert not (tmp_path / "outside").exists()
    assert list((tmp_path / "into.unpacking").iterdir()) == []


def test_the_fixtures_apt_is_not_the_systems(mirror: Repository) -> None:
    """Expected: only the test's folder in apt's configuration. Broken: tests that depend on /etc/apt."""
    done = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True, timeout=60)
    assert f'Dir::State::lists "{mirror.folder}/state/lists"' in done.stdout
    assert f'Dir::Etc::sourceparts "{mirror.folder}/etc/parts"' in done.stdout
