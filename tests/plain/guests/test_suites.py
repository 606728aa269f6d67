"""Which suite a kernel is taken from: real apt, mirrors of the test's own on loopback."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernometer.errors import MissingError, TargetError
from kernometer.guests.kernels import linux
from kernometer.guests.packages import apt, suites
from kernometer.guests.packages.apt import Origin
from kernometer.guests.packages.sourcelist import Source
from tests.support.guests.repository import Repository, source_package

pytestmark = pytest.mark.skipif(shutil.which("apt-get") is None, reason="the guests' packages come through apt")


@pytest.fixture
def mirror(mirror: Repository) -> Repository:
    """A system of bookworm, its lists not fetched yet; kernel 6.1 in bookworm, a newer one in its security suite."""
    mirror.suite("bookworm", [mirror.package("linux-image-6.1.0-9-amd64", "6.1.27-1")])
    mirror.suite("bookworm-security", [mirror.package("linux-image-6.1.0-10-amd64", "6.1.100-1")])
    mirror.system("bookworm", "bookworm-security")
    return mirror


def fetch(folder: Path, series: str, flavour: str = "") -> tuple[suites.Fetched, list[str]]:
    """What was fetched, and what was said meanwhile."""
    into = Path(tempfile.mkdtemp(dir=folder))
    said: list[str] = []
    return suites.fetch(series, flavour, into, said.append), said


@pytest.mark.parametrize("one_line", [False, True], ids=["deb822", "one-line"])
def test_the_systems_suites_come_first(mirror: Repository, tmp_path: Path, one_line: bool) -> None:
    """Expected: the newest by dpkg's rules, its suite named, and no other suite asked for. Broken: 9 after 10."""
    mirror.suite("trixie", [mirror.package("linux-image-6.1.0-99-amd64", "6.1.999-1")])
    mirror.system("bookworm", "bookworm-security", one_line=one_line)
    found, _ = fetch(tmp_path, "6.1")
    assert (found.package.name, found.suite) == ("linux-image-6.1.0-10-amd64", "bookworm-security")
    assert [path.name for path in found.files] == ["linux-image-6.1.0-10-amd64_6.1.100-1_amd64.deb"]
    assert not any("trixie" in path for path in mirror.asked)


@pytest.mark.parametrize("one_line", [False, True], ids=["deb822", "one-line"])
def test_further_suites_are_on_the_systems_own_mirrors(mirror: Repository, tmp_path: Path, one_line: bool) -> None:
    """Expected: backports of the next release, security from the security mirror. Broken: only what /etc/apt names."""
    mirror.suite("trixie", [mirror.package("linux-image-6.12.1+deb13-amd64", "6.12.1-1")])
    mirror.suite("trixie-security", [mirror.package("linux-image-6.12.9+deb13-amd64", "6.12.9-1")])
    mirror.suite("trixie-backports", [mirror.package("linux-image-6.16.3+deb13-amd64", "6.16.3-1~bpo13+1")])
    mirror.system("bookworm", "bookworm-security", one_line=one_line)
    found, said = fetch(tmp_path, "6.16")
    assert (found.suite, found.package.version, found.remarks) == ("trixie-backports", "6.16.3-1~bpo13+1", ())
    assert any("trixie-backports" in line for line in said)
    assert fetch(tmp_path, "6.12")[0].suite == "trixie-security"


def test_an_older_series_is_of_an_earlier_release(mirror: Repository, tmp_path: Path) -> None:
    """Expected: Debian 13 has Debian 12's Linux 6.1, from the same mirror. Broken: no kernel that both can boot."""
    mirror.suite("trixie", [mirror.package("linux-image-6.12.1+deb13-amd64", "6.12.1-1")])
    mirror.suite("trixie-security", [mirror.package("linux-image-6.12.9+deb13-amd64", "6.12.9-1")])
    mirror.system("trixie", "trixie-security")
    assert fetch(tmp_path, "6.1")[0].suite == "bookworm-security"
    assert not any("sid" in path or "forky" in path for path in mirror.asked)


@pytest.mark.slow(minutes=0.03)
def test_a_source_that_is_only_listed_is_of_another_release(mirror: Repository, tmp_path: Path) -> None:
    """Expected: Debian 12's, where the mirror does not have the file of Debian 13's. Broken: no compiler for guests."""
    there = source_package(mirror.folder / "debian" / "pool")
    mirror.suite("trixie", [mirror.package("hello")], sources=there.replace("1-1", "1-2"))
    mirror.suite("bookworm", sources=there)
    mirror.system("trixie")
    assert (suites.source("hello", tmp_path) / "hello.c").read_text() == "int two;\n"
    with pytest.raises(MissingError, match="no source of goodbye"):
        suites.source("goodbye", tmp_path)


def test_a_series_that_is_nowhere_lists_those_that_are(mirror: Repository, tmp_path: Path) -> None:
    """Expected: those of all suites and of the flavour asked for, in the order of numbers. Broken: 6.12 before 6.2."""
    names = ("linux-image-6.12.1+deb13-amd64", "linux-image-6.2.1+deb13-amd64", "linux-image-6.3.1+deb13-rt-amd64")
    mirror.suite("sid", [mirror.package(name) for name in names], kind="unstable")
    with pytest.raises(MissingError, match=r"no Linux 9\.9") as caught:
        fetch(tmp_path, "9.9")
    assert "They have 6.1, 6.2, 6.12." in caught.value.next_step
    with pytest.raises(MissingError, match=r"flavour rt") as caught:
        fetch(tmp_path, "9.9", "rt")
    assert "They have 6.3." in caught.value.next_step


def test_a_series_that_has_left_the_mirrors_is_refused_at_once(mirror: Repository, tmp_path: Path) -> None:
    """Expected: an error without a question to the mirror. Broken: minutes of package lists, and then the error."""
    with pytest.raises(MissingError, match=r"Linux 5\.4 has left the mirrors"):
        fetch(tmp_path, "5.4")
    assert mirror.asked == []


def test_a_series_older_than_the_systems_is_not_looked_for_in_later_releases(
    mirror: Repository, tmp_path: Path
) -> None:
    """Expected: earlier releases alone are asked. Broken: a dozen suites, none of which can have it."""
    with pytest.raises(MissingError, match=r"no Linux 5\.15"):
        fetch(tmp_path, "5.15")
    assert {path.split("/dists/")[1].partition("/")[0] for path in mirror.asked if "/dists/" in path} == {
        *("bookworm", "bookworm-security"),
        *("bullseye", "bullseye-updates", "bullseye-security", "bullseye-backports"),
    }


@pytest.mark.parametrize(
    ("suite", "origin", "own", "kernel"),
    [
        ("bookworm", "Debian", "linux-image-amd64", "linux-image-6.1.0-10-amd64 (= 6.1.100-1)"),
        ("trixie", "Debian", "linux-image-amd64", "linux-image-6.12.57+deb13-amd64 (= 6.12.57-1)"),
        (
            *("noble", "Ubuntu", "linux-image-generic"),
            "linux-image-6.8.0-31-generic | linux-image-unsigned-6.8.0-31-generic, linux-firmware",
        ),
    ],
)
def test_the_releases_own_series_is_known(mirror: Repository, suite: str, origin: str, own: str, kernel: str) -> None:
    """Expected: what the release installs, and not the newest that it has. Broken: the README fails on Ubuntu."""
    newer = mirror.package("linux-image-7.9.0-1-amd64", "7.9-1")
    mirror.suite(suite, [mirror.package(own, "1") | {"Depends": kernel}, newer], origin=origin)
    mirror.system(suite)
    assert kernel.startswith(f"linux-image-{suites.own_series(linux.silently)}.")


def test_without_a_kernel_of_its_own_a_series_must_be_named(mirror: Repository) -> None:
    mirror.system("bookworm")
    with pytest.raises(MissingError, match="no kernel of their own"):
        suites.own_series(linux.silently)


def test_what_the_mirror_has_not_is_not_asked_for_again_soon(mirror: Repository, tmp_path: Path) -> None:
    """Expected: lists and their absence are remembered for hours. Broken: every series asks for a dozen suites."""
    for series in ("9.4", "9.5"):
        with pytest.raises(MissingError):
            fetch(tmp_path, series)
        if series == "9.4":
            mirror.asked.clear()
    assert mirror.asked == []


def test_lists_are_fetched_again_when_they_are_old(mirror: Repository, tmp_path: Path) -> None:
    """Expected: after some hours what is new is found. Broken: yesterday's lists forever."""
    with pytest.raises(MissingError):
        fetch(tmp_path, "6.16")
    mirror.suite("trixie-backports", [mirror.package("linux-image-6.16.3+deb13-amd64")])
    for stamp in (tmp_path / "cache").rglob("absent"):
        os.utime(stamp, (0, stamp.stat().st_mtime - 3600 * apt.LISTS_HOURS - 60))
    assert fetch(tmp_path, "6.16")[0].suite == "trixie-backports"


def test_a_package_that_the_mirror_replaced_meanwhile_is_found(mirror: Repository, tmp_path: Path) -> None:
    """Expected: newer lists, then the package. Broken: 404 until the lists are old."""
    fetch(tmp_path, "6.1")
    (mirror.folder / "debian/pool/linux-image-6.1.0-10-amd64_6.1.100-1_amd64.deb").unlink()
    mirror.suite("bookworm-security", [mirror.package("linux-image-6.1.0-11-amd64", "6.1.101-1")])
    assert fetch(tmp_path, "6.1")[0].package.version == "6.1.101-1"


@pytest.mark.parametrize("setting", ["", 'Acquire::Check-Date "false"; Acquire::Check-Valid-Until "false";\n'])
def test_an_expired_release_is_accepted_of_a_rolling_suite_and_said(
    mirror: Repository, tmp_path: Path, setting: str
) -> None:
    """Expected: sid, with a remark that is kept and shown, also where the system's apt looks at no dates (containers).

    Broken: no kernel newer than a month, or nobody knows.
    """
    with (mirror.folder / "apt.conf").open("a") as file:
        file.write(setting)
    packages = [mirror.package("linux-image-7.2.13+deb14-amd64", "7.2.13-1")]
    mirror.suite("sid", packages, kind="unstable", days_valid=-3)
    mirror.suite("forky-updates", kind="testing-updates", days_valid=-3)
    for _ in range(2):  # from the mirror, then from the lists that are here
        found, said = fetch(tmp_path, "7.2")
        assert found.suite == "sid"
        assert not any("left out" in line for line in said)
        assert ["sid" in remark and "expired" in remark for remark in found.remarks] == [True]
    fetched_again = [path for path in mirror.asked if "dists/sid" in path and "Packages" in path]
    assert len(fetched_again) == 1
    assert said[-1].startswith("Downloading")


def test_an_expired_release_of_a_stable_suite_is_refused(mirror: Repository, tmp_path: Path) -> None:
    """Expected: left out, and the error says so. Broken: a mirror that was stopped passes for the archive."""
    mirror.suite("trixie", [mirror.package("linux-image-6.12.1+deb13-amd64")], days_valid=-3)
    with pytest.raises(MissingError) as caught:
        fetch(tmp_path, "6.12")
    assert "trixie is left out" in caught.value.next_step
    assert "expired" in caught.value.next_step


def test_on_a_system_of_ubuntus_the_error_says_what_debians_suites_need(mirror: Repository, tmp_path: Path) -> None:
    """Expected: the series there are, and the keyring's part in it. Broken: Debian's series are said not to exist."""
    mirror.suite("noble", [mirror.package("linux-image-6.8.0-31-generic", "6.8.0-31.31")], origin="Ubuntu")
    mirror.system("noble")
    assert fetch(tmp_path, "6.8")[0].suite == "noble"
    with pytest.raises(MissingError) as caught:
        fetch(tmp_path, "6.12")
    assert "They have 6.8." in caught.value.next_step
    assert "keyring" in caught.value.next_step
    assert not any("trixie" in path for path in mirror.asked)


def test_a_suite_that_is_not_debians_is_left_out(mirror: Repository, tmp_path: Path) -> None:
    """Expected: no kernel from it. Broken: somebody else's archive under the name of a Debian release."""
    mirror.suite("trixie", [mirror.package("linux-image-6.12.1+deb13-amd64")], origin="Somebody")
    with pytest.raises(MissingError):
        fetch(tmp_path, "6.12")


def test_a_package_that_differs_from_the_lists_is_refused(mirror: Repository, tmp_path: Path) -> None:
    """Expected: apt's word for it. Broken: whatever came is unpacked."""
    path = mirror.folder / "debian/pool/linux-image-6.1.0-10-amd64_6.1.100-1_amd64.deb"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    with pytest.raises(TargetError) as caught:
        fetch(tmp_path, "6.1")
    assert "Hash Sum mismatch" in caught.value.last_output


def test_without_a_network_the_error_says_so(mirror: Repository, tmp_path: Path) -> None:
    """Expected: one error with apt's words. Broken: a claim that the series does not exist."""
    mirror.url = "http://127.0.0.1:9"
    mirror.system("bookworm")
    with pytest.raises(apt.UnreachableError, match="mirror cannot be reached") as caught:
        fetch(tmp_path, "6.1")
    assert "127.0.0.1:9" in caught.value.last_output


def test_all_parts_of_a_kernel_are_fetched_in_its_version(mirror: Repository, tmp_path: Path) -> None:
    """Expected: image, base, binary and modules of one version. Broken: no modules, or of two versions."""
    names = ("linux-base-7.2.1+deb13-amd64", "linux-binary-7.2.1+deb13-amd64", "linux-modules-7.2.1+deb13-amd64")
    depends = {"Depends": "kmod | x, " + ", ".join(f"{name} (= 7.2.1-1)" for name in names)}
    packages = [mirror.package(name, "7.2.1-1") for name in names]
    packages.append(mirror.package("linux-image-7.2.1+deb13-amd64", "7.2.1-1") | depends)
    others = [mirror.package("linux-modules-extra-7.2.1+deb13-amd64", "7.2.1-2"), mirror.package("linux-base", "4.17")]
    mirror.suite("trixie-backports", [*packages, *others])
    found, _ = fetch(tmp_path, "7.2")
    assert tuple(part.name for part in found.parts) == names
    assert len(found.files) == 4
    assert found.remarks == ()


def test_a_part_that_the_suite_has_no_longer_is_said(mirror: Repository, tmp_path: Path) -> None:
    """Expected: the kernel, and a remark (backports lose modules of older kernels). Broken: ext4 just fails."""
    name, lost = "linux-image-7.2.1+deb13-amd64", "linux-modules-7.2.1+deb13-amd64"
    image = mirror.package(name, "7.2.1-1") | {"Depends": f"linux-base (>= 4), {lost} (= 7.2.1-1)"}
    mirror.suite("trixie-backports", [image, mirror.package(lost, "7.2.0-1")])
    found, said = fetch(tmp_path, "7.2")
    assert found.remarks == (f"No longer in trixie-backports, and so not kept: {lost}.",)
    assert found.remarks[0] in said


@pytest.mark.slow(minutes=0.03)
def test_an_unsigned_kernel_is_the_last_resort_and_said(mirror: Repository, tmp_path: Path) -> None:
    names = ("linux-image-7.2.1+deb14-amd64-unsigned", "linux-image-7.1.9+deb14-amd64-unsigned")
    signed = mirror.package("linux-image-7.1.1+deb14-amd64", "7.1.1-1")
    mirror.suite("sid", [*(mirror.package(name, "7.9") for name in names), signed], kind="unstable")
    found, said = fetch(tmp_path, "7.2")
    assert found.package.name == names[0]
    assert "not signed" in found.remarks[0]
    assert found.remarks[0] in said
    assert fetch(tmp_path, "7.1")[0].package.name == "linux-image-7.1.1+deb14-amd64"


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("linux-image-6.1.0-56-amd64", ("6.1", "", False)),
        ("linux-image-6.12.90+deb12.1-amd64", ("6.12", "", False)),
        ("linux-image-6.5.0-0.deb12.4-amd64", ("6.5", "", False)),
        ("linux-image-6.8.0-31-generic", ("6.8", "", False)),
        ("linux-image-unsigned-6.8.0-31-generic", ("6.8", "", True)),
        ("linux-image-6.8.0-1001-azure-fde", ("6.8", "azure-fde", False)),
        ("linux-image-6.1.0-56-cloud-amd64", ("6.1", "cloud", False)),
        ("linux-image-6.1.0-56-rt-amd64-unsigned", ("6.1", "rt", True)),
        ("linux-image-6.1.0-56-amd64-dbg", None),
        ("linux-image-6.1.0-56-rt-amd64-dbg", None),
        ("linux-image-amd64-signed-template", None),
        ("linux-image-amd64", None),
        ("linux-image-6.12-amd64", None),
        ("linux-image-6.12-cloud-amd64", None),
        ("linux-image-6.1.0-56-686-pae", None),
    ],
)
def test_a_packages_name_says_series_and_flavour(name: str, wanted: tuple[str, str, bool] | None) -> None:
    """Expected: as the distributions name them. Broken: a gigabyte of debug symbols, cloud for the full one."""
    found = suites.kernel_name(name)
    assert (found and (found.series, found.flavour, found.unsigned)) == wanted


def test_which_suites_are_tried_and_where() -> None:
    """Expected: Debian's own mirrors, later releases in order, then sid, then earlier ones; nothing of others. Pure."""
    sources = (
        Source("http://others/debian", "bookworm", ("main",)),
        Source("http://mirror/debian/", "bookworm", ("main", "contrib"), (("Signed-By", "/key"),)),
        Source("http://security/debian", "bookworm-security", ("main",)),
    )
    origins = (
        Origin("http://others/debian", "bookworm", "bookworm", "Others"),
        Origin("http://mirror/debian", "bookworm", "bookworm", "Debian"),
        Origin("http://security/debian", "bookworm-security", "bookworm-security", "Debian"),
    )
    found = list(suites.beyond(sources, origins, "later", "earlier"))
    assert [[one.suite for one in group] for group in found[:4]] == [
        ["bookworm-updates"],
        ["bookworm-backports"],
        ["trixie", "trixie-updates", "trixie-security"],
        ["trixie-backports"],
    ]
    assert [one.suite for group in found[-3:] for one in group if "-" not in one.suite] == ["sid", "bullseye"]
    assert {one.uri for group in found for one in group} == {"http://mirror/debian/", "http://security/debian"}
    assert list(suites.beyond(sources, origins, "earlier")) == found[-2:]
    assert found[-1][0].components == ("main",)
    assert found[-1][0].trust == (("Signed-By", "/key"),)


def test_a_system_of_ubuntus_is_asked_for_its_updates_and_no_debian() -> None:
    """Expected: the release's own updates. Broken: Debian's suites on Ubuntu's mirror, with Ubuntu's keys."""
    source = Source("http://mirror/ubuntu", "noble", ("main", "universe"))
    origin = Origin("http://mirror/ubuntu", "noble", "noble", "Ubuntu")
    found = list(suites.beyond((source,), (origin,), "later"))
    assert [[one.suite for one in group] for group in found] == [["noble-updates", "noble-security"]]
    debian = Source("http://mirror/debian", "trixie", ("main",))
    origins = (origin, Origin(debian.uri, "trixie", "trixie", "Debian"))
    assert ["sid"] in [[one.suite for one in group] for group in suites.beyond((source, debian), origins, "later")]


@pytest.fixture
def keys(mirror: Repository, tmp_path: Path) -> Iterator[tuple[Repository, Path]]:
    """Two keys of the test's own, of which the system trusts the first."""
    if shutil.which("gpg") is None:
        pytest.skip("gnupg is not installed: signatures of the test's own cannot be made")
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    for name in ("trusted", "stranger"):
        words = ["gpg", "--homedir", str(home), "--batch", "--passphrase", "", "--quick-gen-key", name, "ed25519"]
        subprocess.run(words, check=True, capture_output=True, timeout=60)
    mirror.keyring = tmp_path / "trusted.gpg"
    exported = subprocess.run(
        ["gpg", "--homedir", str(home), "--export", "trusted"], check=True, capture_output=True, timeout=60
    )
    mirror.keyring.write_bytes(exported.stdout)
    yield mirror, home
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False, timeout=60)


def sign(place: Path, home: Path, key: str) -> None:
    words = [
        "gpg",
        "--homedir",
        str(home),
        "--batch",
        "--yes",
        "-u",
        key,
        "--clearsign",
        "-o",
        str(place / "InRelease"),
    ]
    subprocess.run([*words, str(place / "Release")], check=True, capture_output=True, timeout=60)


@pytest.mark.parametrize(("signer", "found"), [("trusted", True), ("stranger", False)])
def test_further_suites_need_the_systems_keys(
    keys: tuple[Repository, Path], tmp_path: Path, signer: str, found: bool
) -> None:
    """Expected: a suite signed by another key is left out, and said. Broken: `[trusted=yes]` for what we add."""
    mirror, home = keys
    mirror.suite("trixie", [mirror.package("linux-image-6.12.1+deb13-amd64")])
    for name, signed_by in (("debian/dists/bookworm", "trusted"), ("debian/dists/trixie", signer)):
        sign(mirror.folder / name, home, signed_by)
    mirror.system("bookworm")
    if found:
        assert fetch(tmp_path, "6.12")[0].suite == "trixie"
    else:
        with pytest.raises(MissingError) as caught:
            fetch(tmp_path, "6.12")
        assert "trixie is left out" in caught.value.next_step
