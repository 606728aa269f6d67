"""Which kernel is fetched, and what is said when there is none: with an apt that is a script of the test's."""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import struct
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from kernometer.errors import MissingError, ResultError, TargetError, UsageError
from kernometer.guests import apt, linux, store
from tests.guests.test_bzimage import KERNEL, image

#: Both apt-get and apt-cache. `lists.json` holds two sets of packages: the system's, and what an update brings.
FAKE = """#!{python}
import hashlib, json, pathlib, sys
here = pathlib.Path({here!r})
lists = json.loads((here / "lists.json").read_text())
words = sys.argv[1:]
private = any(word.startswith("Dir::State=") for word in words)
with (here / "log").open("a") as log:
    shown = [word for word in words if "::" not in word and word != "-o"]
    log.write(" ".join(["private" if private else "system", *shown]) + "\\n")
known = lists["private" if private else "system"]
words = [w for w in words if "::" not in w and w not in ("-o", "-q")]
if words[0] == "update":
    if "broken" in lists:
        sys.exit("Err:1 http://mirror.example trixie InRelease")
elif words[0] == "pkgnames":
    print("\\n".join(dict.fromkeys(p["Package"] for p in known)))
elif words[0] == "show":
    for package in known:
        if package["Package"] in words:
            print("".join(f"{{key}}: {{value}}\\n" for key, value in package.items()))
elif words[0] == "download":
    name, _, version = words[1].partition("=")
    file = here / "pool" / f"{{name}}_{{version}}.deb"
    if not private and "gone" in lists or not file.exists():
        sys.exit("E: Failed to fetch: 404 Not Found")
    pathlib.Path(file.name).write_bytes(file.read_bytes())
"""


class FakeApt:
    """A distribution with packages of the test's own."""

    def __init__(self, here: Path) -> None:
        self.here = here
        (here / "pool").mkdir()
        (here / "bin").mkdir()
        for name in ("apt-get", "apt-cache"):
            script = here / "bin" / name
            script.write_text(FAKE.format(python=sys.executable, here=str(here)))
            script.chmod(0o755)
        self.lists: dict[str, object] = {"system": [], "private": []}
        self.save()

    def save(self, **more: object) -> None:
        self.lists |= more
        (self.here / "lists.json").write_text(json.dumps(self.lists))

    def package(self, name: str, version: str, content: bytes = b"") -> dict[str, str]:
        (self.here / "pool" / f"{name}_{version}.deb").write_bytes(content)
        return {"Package": name, "Version": version, "SHA256": hashlib.sha256(content).hexdigest()}

    @property
    def log(self) -> list[str]:
        return (self.here / "log").read_text().splitlines()


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeApt:
    made = FakeApt(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return made


def test_the_newest_of_the_series_is_taken_by_dpkgs_rules(fake: FakeApt, tmp_path: Path) -> None:
    """Expected: 10 after 9, ~rc before the release, no other series. Broken: versions compared as text."""
    names = (
        ("linux-image-6.1.0-9-amd64", "6.1.27-1"),
        ("linux-image-6.1.0-10-amd64", "6.1.100-1"),
        ("linux-image-6.1.0-11-amd64", "6.1.100-1~rc1"),
        ("linux-image-6.12.1+deb12-amd64", "6.12.1-1"),
    )
    fake.save(system=[fake.package(*each) for each in names])
    package, file = apt.fetch("6.1", tmp_path)
    assert (package.name, package.version) == ("linux-image-6.1.0-10-amd64", "6.1.100-1")
    assert file.name == "linux-image-6.1.0-10-amd64_6.1.100-1.deb"


@pytest.mark.parametrize(
    ("name", "series"),
    [
        ("linux-image-6.1.0-56-amd64", "6.1"),
        ("linux-image-6.12.117+deb12-amd64", "6.12"),
        ("linux-image-6.8.0-31-generic", "6.8"),
        ("linux-image-6.5.0-0.deb12.4-amd64", "6.5"),
        ("linux-image-6.1.0-56-cloud-amd64", ""),
        ("linux-image-6.1.0-56-rt-amd64", ""),
        ("linux-image-6.1.0-56-amd64-dbg", ""),
        ("linux-image-6.1.0-56-amd64-unsigned", ""),
        ("linux-image-unsigned-6.8.0-31-generic", ""),
        ("linux-image-amd64", ""),
        ("linux-image-6.12-amd64", ""),
    ],
)
def test_only_full_flavours_count(name: str, series: str) -> None:
    """Expected: a series for what boots as `linux-V`, none for others. Broken: the cloud flavour is taken for it."""
    assert apt.Package(name, "1", "0").series == series


def test_system_lists_that_lack_it_are_followed_by_our_own(fake: FakeApt, tmp_path: Path) -> None:
    """Expected: an update into the cache, then the package. Broken: fresh containers have no guests at all."""
    fake.save(private=[fake.package("linux-image-6.1.0-9-amd64", "6.1.27-1")])
    package, _ = apt.fetch("6.1", tmp_path)
    assert package.series == "6.1"
    assert "private update" in [line.replace(" -q", "") for line in fake.log]
    assert not any(line.startswith("system") and "update" in line for line in fake.log)


def test_system_lists_that_are_too_old_are_followed_by_our_own(fake: FakeApt, tmp_path: Path) -> None:
    """Expected: a file that is gone from the mirror leads to an update. Broken: 404 is the end."""
    package = fake.package("linux-image-6.1.0-9-amd64", "6.1.27-1")
    fake.save(system=[package], private=[package], gone=True)
    assert apt.fetch("6.1", tmp_path)[0].version == "6.1.27-1"


def test_a_series_that_is_nowhere_lists_those_that_are(fake: FakeApt, tmp_path: Path) -> None:
    """Expected: MissingError, in the order of numbers. Broken: 6.12 before 6.2."""
    names = ("linux-image-6.12.1+deb12-amd64", "linux-image-6.2.0-1-amd64", "linux-image-6.1.0-9-amd64")
    fake.save(private=[fake.package(name, "1") for name in names])
    with pytest.raises(MissingError, match=r"no Linux 5\.4") as caught:
        apt.fetch("5.4", tmp_path)
    assert "6.1, 6.2, 6.12" in caught.value.next_step


def test_a_file_that_differs_from_the_signed_lists_is_refused(fake: FakeApt, tmp_path: Path) -> None:
    """Expected: TargetError naming the digest. Broken: whatever came is unpacked."""
    package = fake.package("linux-image-6.1.0-9-amd64", "6.1.27-1") | {"SHA256": "0" * 64}
    fake.save(private=[package])
    with pytest.raises(TargetError, match="SHA-256"):
        apt.fetch("6.1", tmp_path)


def test_an_update_that_fails_tells_what_apt_said(fake: FakeApt, tmp_path: Path) -> None:
    fake.save(broken=True)
    with pytest.raises(TargetError) as caught:
        apt.fetch("6.1", tmp_path)
    assert "mirror.example" in caught.value.last_output


def deb(folder: Path, files: dict[str, bytes]) -> bytes:
    """A package with these files, made by dpkg-deb from an archive of ours (owners need no root)."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    control = io.BytesIO()
    with tarfile.open(fileobj=control, mode="w"):
        pass
    parts = {"debian-binary": b"2.0\n", "control.tar": control.getvalue(), "data.tar": data.getvalue()}
    for name, content in parts.items():
        (folder / name).write_bytes(content)
    made = folder / "made.deb"
    made.unlink(missing_ok=True)
    subprocess.run(["ar", "rcD", str(made), *parts], cwd=folder, check=True, timeout=60)
    return made.read_bytes()


def bzimage() -> bytes:
    packed = lzma.compress(KERNEL, check=lzma.CHECK_CRC32)
    return image(packed + struct.pack("<I", len(KERNEL)))


def test_a_package_becomes_a_guest_and_leaves_nothing_else(fake: FakeApt, tmp_path: Path) -> None:
    """Expected: kernel, config, manifest. Broken: 70 MB of package stay, or another's vmlinuz is taken."""
    content = deb(
        tmp_path,
        {
            "boot/vmlinuz-6.1.0-9-amd64": bzimage(),
            "boot/config-6.1.0-9-amd64": b"CONFIG_PVH=y\n",
            "boot/System.map-6.1.0-9-amd64": b"stub",
            "usr/share/doc/vmlinuz-6.1.0-9-amd64": b"not this",
        },
    )
    fake.save(system=[fake.package("linux-image-6.1.0-9-amd64", "6.1.27-1", content)])
    guest = linux.add("6.1")
    assert guest.kernel.read_bytes() == KERNEL
    assert sorted(path.name for path in guest.folder.iterdir()) == ["config", "manifest.json", "vmlinux"]
    assert (guest.manifest.release, guest.manifest.version) == ("6.1.0-9-amd64", "6.1.27-1")
    guest.check()
    assert [path.name for path in store.guests_folder().iterdir()] == ["linux-6.1"]
    assert store.find("linux-6.1") == guest
    assert linux.add("6.1") == guest  # replaced, not in the way


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"boot/config-6.1": b"x"}, "holds 0 kernels"),
        ({"boot/vmlinuz-6.1": b"garbage"}, "no setup header"),
        ({"boot/vmlinuz-6.1": b"\x7fELF" + bytes(200)}, "no PVH entry"),
    ],
)
def test_a_package_without_a_usable_kernel_leaves_no_guest(
    fake: FakeApt, tmp_path: Path, files: dict[str, bytes], words: str
) -> None:
    """Expected: the cause, and an empty folder. Broken: half a guest that `guest list` shows."""
    fake.save(system=[fake.package("linux-image-6.1.0-9-amd64", "1", deb(tmp_path, files))])
    with pytest.raises(TargetError, match=words):
        linux.add("6.1")
    assert list(store.guests_folder().iterdir()) == []


@pytest.mark.parametrize("series", ["", "6", "6.1.2", "../6.1", "six", "6.1 ", "6.1\n"])
def test_what_is_no_series_never_reaches_apt(fake: FakeApt, series: str) -> None:
    with pytest.raises(UsageError, match="not a Linux series"):
        linux.add(series)
    assert not (fake.here / "log").exists()


def test_a_changed_kernel_is_not_booted(fake: FakeApt, tmp_path: Path) -> None:
    """Expected: TargetError before a boot. Broken: counts of a damaged kernel under the name of another."""
    content = deb(tmp_path, {"boot/vmlinuz-6.1": bzimage()})
    fake.save(system=[fake.package("linux-image-6.1.0-9-amd64", "1", content)])
    guest = linux.add("6.1")
    guest.kernel.write_bytes(KERNEL[:-1] + b"!")
    with pytest.raises(TargetError, match="SHA-256 differs"):
        guest.check()


def test_guests_are_listed_found_and_removed(fake: FakeApt, tmp_path: Path) -> None:
    content = deb(tmp_path, {"boot/vmlinuz-6.1": bzimage()})
    names = ("linux-image-6.12.1+deb12-amd64", "linux-image-6.1.0-9-amd64")
    fake.save(system=[fake.package(name, "1", content) for name in names])
    for series in ("6.12", "6.1"):
        linux.add(series)
    assert [guest.name for guest in store.listed()] == ["linux-6.1", "linux-6.12"]
    store.remove("linux-6.1")
    assert [guest.name for guest in store.listed()] == ["linux-6.12"]
    with pytest.raises(MissingError, match=r"linux-6\.12") as caught:
        store.find("linux-6.1")
    assert "guest add linux 6.1" in caught.value.next_step
    with pytest.raises(MissingError):
        store.remove("linux-6.1")


@pytest.mark.parametrize("name", ["../outside", ".hidden", "", "a/b", "a b", "ä"])
def test_no_name_leads_out_of_the_folder(fake: FakeApt, name: str) -> None:
    """Expected: UsageError. Broken: `guest rm ../..` removes what is not ours."""
    for use in (store.find, store.remove):
        with pytest.raises(UsageError, match="not the name of a guest"):
            use(name)
    assert fake.here.is_dir()


@pytest.mark.parametrize("content", [b"", b"{", b'{"name": 3}', b"\xff" * 100, b" " * (1 << 17)])
def test_a_damaged_manifest_is_an_error_of_ours(fake: FakeApt, content: bytes) -> None:
    folder = store.guests_folder() / "linux-6.1"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_bytes(content)
    with pytest.raises(TargetError, match=r"manifest\.json"):
        store.find("linux-6.1")
    assert fake.here.is_dir()


def test_a_cache_that_cannot_be_written_is_said(fake: FakeApt, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: ResultError with the variable to set. A file stands in the way, which stops root too."""
    (fake.here / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(fake.here / "file"))
    with pytest.raises(ResultError) as caught:
        linux.add("6.1")
    assert "XDG_CACHE_HOME" in caught.value.next_step
