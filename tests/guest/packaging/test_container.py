"""Does the Containerfile make an image in which the command works, for a user without rights?

buildah makes the image, from a Debian that mmdebstrap makes in place of the one that a registry has.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernometer import __version__
from tests.support.checkout import ROOT, copy_to
from tests.support.packaging.running import run
from tests.support.targets import debian

FILE = ROOT / "packaging/Containerfile"
#: Where the image keeps the certificates that this machine trusts: pip may reach its index by a proxy.
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
ADDED = "/usr/local/share/ca-certificates/machine.crt"
#: What a checkout may hold that no image must have.
BAIT = (".git/x", ".venv/x", "build/x", "probe/build/x", "src/__pycache__/x", "dist/x")


def test_the_containerfile_names_no_registry_and_ends_without_rights() -> None:
    """Expected: Debian by its short name, the entry without a shell, an ordinary user after the last step."""
    text = FILE.read_text()
    assert re.findall(r"^FROM (.*)$", text, flags=re.MULTILINE) == ["debian:bookworm-slim"]
    assert "://" not in text
    [user] = re.findall(r"^USER (.*)$", text, flags=re.MULTILINE)
    assert user not in ("", "root", "0")
    assert text.index("\nUSER ") > text.rindex("\nRUN ")
    [entry] = re.findall(r"^ENTRYPOINT (.*)$", text, flags=re.MULTILINE)
    assert json.loads(entry) == ["kernometer"]


Build = Callable[..., str]


@pytest.fixture
def buildah(tmp_path: Path) -> Iterator[Build]:
    """buildah with its own store of images, which is removed: a copy of a system for each."""
    policy = tmp_path / "policy.json"
    policy.write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
    store = ["--root", str(tmp_path / "images"), "--runroot", str(tmp_path / "run"), "--storage-driver", "vfs"]

    def call(command: str, *words: str) -> str:
        trusting = ["--signature-policy", str(policy)] if command in ("bud", "commit", "from") else []
        isolated = {"BUILDAH_ISOLATION": "chroot"}
        return run(["buildah", *store, command, *trusting, *words], tmp_path, isolated, seconds=1200).strip()

    yield call
    call("rm", "--all")
    call("rmi", "--all", "--force")
    shutil.rmtree(tmp_path / "images", ignore_errors=True)


@pytest.mark.slow(minutes=3.8)
@pytest.mark.guest
@pytest.mark.skipif(shutil.which("buildah") is None, reason="there is no buildah here")
@pytest.mark.skipif(os.geteuid() != 0, reason="building an image as an ordinary user is untried")
@pytest.mark.skipif(debian.missing() != "", reason=debian.missing())
def test_an_ordinary_user_measures_in_the_image(buildah: Build, tmp_path: Path) -> None:
    """Expected: times, a guest that is compiled there, counts, faults; with no right to write to what is installed."""
    base = tmp_path / "base.tar"
    sources = tmp_path / "sources.list"
    sources.write_text("".join(re.sub(r" \S+ main$", " bookworm main", each) + "\n" for each in debian.sources()))
    quick = ["--quiet", "--variant=minbase", "--aptopt=Acquire::Languages none", "--dpkgopt=force-unsafe-io"]
    run(["mmdebstrap", *quick, "bookworm", str(base), str(sources)], tmp_path)
    bare = buildah("from", "scratch")
    buildah("add", "--quiet", bare, str(base), "/")
    if CERTIFICATES.exists():
        buildah("add", "--quiet", bare, str(CERTIFICATES), ADDED)
    buildah("commit", "--quiet", bare, "localhost/debian:bookworm-slim")

    checkout = tmp_path / "checkout"
    copy_to(checkout)
    for name in BAIT:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text("bait")
    buildah(
        "bud", "--pull-never", "--tag", "kernometer", "--file", str(checkout / "packaging/Containerfile"), str(checkout)
    )
    image = buildah("from", "--pull-never", "localhost/kernometer")

    def kernometer(*words: str) -> str:
        return buildah("run", image, "--", "kernometer", *words)

    assert buildah("run", image, "--", "id", "-un") == "user"
    assert buildah("run", image, "--", "find", "/opt/kernometer", "-name", "x", "-o", "-writable", "-type", "f") == ""
    assert kernometer("--version") == f"kernometer {__version__}"
    assert "syscall/getppid" in kernometer("run", "--profile", "quick", "--seconds", "0.05", "syscall/getppid@")
    assert "trio-micro: trio " in kernometer("guest", "add", "trio", "micro")
    assert "1 of 1 counts are exact" in kernometer("run", "--by", "path", "--on", "qemu:trio-micro", "syscall/getppid@")
    assert " of 2 faults struck" in kernometer("faults", "--on", "qemu:trio-micro", "-n", "2")
