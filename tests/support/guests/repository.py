"""A Debian mirror of the test's own, on loopback: suites with packages, and a system whose apt knows some of them.

apt, its signature and date checks and its downloads are the real ones; only /etc/apt is another, by APT_CONFIG.
"""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tarfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def deb(
    folder: Path, files: Mapping[str, bytes], name: str = "made", version: str = "1", architecture: str = "amd64"
) -> bytes:
    """A package with these files, put together by ar from archives of ours (owners need no root)."""
    control = (
        f"Package: {name}\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: test\nDescription: test\n"
    )
    parts = {"debian-binary": b"2.0\n", "control.tar": _tar({"control": control.encode()}), "data.tar": _tar(files)}
    for part, content in parts.items():
        (folder / part).write_bytes(content)
    made = folder / "made.deb"
    made.unlink(missing_ok=True)
    subprocess.run(["ar", "rcD", str(made), *parts], cwd=folder, check=True, timeout=60)
    return made.read_bytes()


def _tar(files: Mapping[str, bytes]) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return data.getvalue()


class Repository:
    """`folder/debian` and `folder/security` are mirrors, at `url`; `asked` holds the paths that were asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []
        self.url = ""
        self.written = 0  #: Release files
        self.keyring: Path | None = None  #: where there is one, suites are signed and sources say Signed-By

    def package(
        self,
        name: str,
        version: str = "1",
        files: Mapping[str, bytes] | None = None,
        architecture: str = "amd64",
    ) -> dict[str, str]:
        """A package in the pool, and its paragraph for the lists."""
        content = deb(self.folder, files or {}, name, version, architecture)
        path = self.folder / "debian" / "pool" / f"{name}_{version.replace(':', '')}_{architecture}.deb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return {
            "Package": name,
            "Version": version,
            "Architecture": architecture,
            "Filename": f"pool/{path.name}",
            "Size": str(len(content)),
            "SHA256": hashlib.sha256(content).hexdigest(),
        }

    def suite(
        self,
        codename: str,
        packages: Sequence[dict[str, str]] = (),
        *,
        kind: str = "stable",
        origin: str = "",
        days_valid: float | None = None,
        sources: str = "",
    ) -> None:
        """Writes dists/CODENAME. Security suites are on a mirror of their own, with the same pool."""
        mirror = self.folder / ("security" if codename.endswith("-security") else "debian")
        (mirror / "pool").parent.mkdir(parents=True, exist_ok=True)
        if mirror.name == "security" and not (mirror / "pool").exists():
            (mirror / "pool").symlink_to(self.folder / "debian" / "pool")
        place = mirror / "dists" / codename
        lists = {"amd64": ""}
        for one in packages:
            of = one["Architecture"]
            lists[of] = lists.get(of, "") + "".join(f"{k}: {v}\n" for k, v in one.items()) + "\n"
        files = {f"main/binary-{of}/Packages": found.encode() for of, found in lists.items()}
        files["main/source/Sources"] = sources.encode()
        origin = origin or ("Debian Backports" if codename.endswith("-backports") else "Debian")
        now = datetime.now(UTC)
        stamp = "%a, %d %b %Y %H:%M:%S UTC"
        release = [f"Origin: {origin}", f"Label: {origin}", f"Suite: {kind}", f"Codename: {codename}"]
        release += [
            f"Date: {now - timedelta(days=30):{stamp}}",
            f"Architectures: {' '.join(lists)}",
            "Components: main",
        ]
        if days_valid is not None:
            release.append(f"Valid-Until: {now + timedelta(days=days_valid):{stamp}}")
        release.append("SHA256:")
        for name, content in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(content)
            release.append(f" {hashlib.sha256(content).hexdigest()} {len(content)} {name}")
        (place / "Release").write_text("\n".join(release) + "\n")
        self.written += 1  # a second apart: HTTP's dates tell no less
        os.utime(place / "Release", (now.timestamp() - 3600 + self.written,) * 2)

    def system(self, *codenames: str, one_line: bool = False) -> str:
        """The text of the system's sources, written where `installed` has its apt look."""
        trust = ("Signed-By", str(self.keyring)) if self.keyring else ("Trusted", "yes")
        lines = []
        for name in codenames:
            uri = f"{self.url}/{'security' if name.endswith('-security') else 'debian'}"
            if one_line:
                lines.append(f"deb [arch=amd64 {trust[0].lower()}={trust[1]}] {uri} {name} main")
            else:
                lines.append(f"Types: deb\nURIs: {uri}\nSuites: {name}\nComponents: main\n{trust[0]}: {trust[1]}\n")
        parts = self.folder / "etc" / "parts"
        for old in parts.iterdir():
            old.unlink()
        text = "\n".join(lines) + "\n"
        (parts / ("test.list" if one_line else "test.sources")).write_text(text)
        return text


@contextmanager
def served(folder: Path) -> Iterator[Repository]:
    """A repository that answers, until the block is left."""
    made = Repository(folder)
    for name in ("debian", "etc/parts", "etc/none", "state/lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            made.asked.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    made.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    (folder / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "{folder}/etc/none.list"; Dir::Etc::sourceparts "{folder}/etc/parts";\n'
        f'Dir::Etc::parts "{folder}/etc/none"; Dir::Etc::preferencesparts "{folder}/etc/none";\n'
        f'Dir::State "{folder}/state"; Dir::State::Lists "{folder}/state/lists"; Dir::Cache "{folder}/cache";\n'
        'Acquire::Retries "0"; Acquire::http::Proxy "DIRECT"; APT::Architecture "amd64"; APT::Architectures "amd64";\n'
        'Acquire::Languages "none"; APT::Sandbox::User "root";\n'
    )
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def tarball(kind: str, members: Mapping[str, bytes | str]) -> bytes:
    """Files, by their content, and symbolic links, by the path to which they lead."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=f"w:{kind}") as archive:  # type: ignore[call-overload]  # a mode made of two parts
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                archive.addfile(member)
            else:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return data.getvalue()


PATCH = b"--- a/hello.c\n+++ b/hello.c\n@@ -1 +1 @@\n-int one;\n+int two;\n"
CHANGELOG = b"hello (1-1) unstable; urgency=low\n\n  * x\n\n -- A <a@b>  Sat, 01 Jan 2022 00:00:00 +0000\n"


def source_package(pool: Path, **changed: bytes) -> str:
    """hello 1-1 in format 3.0 (quilt), with a patch; its paragraph for the list of sources."""
    files = {
        "hello_1.orig.tar.gz": tarball("gz", {"hello-1/hello.c": b"int one;\n"}),
        "hello_1-1.debian.tar.xz": tarball(
            "xz",
            {
                "debian/patches/series": b"# in order\nfirst.patch\n",
                "debian/patches/first.patch": PATCH,
                "debian/source/format": b"3.0 (quilt)\n",
                "debian/changelog": CHANGELOG,
            },
        ),
    }
    sums = "".join(f" {hashlib.sha256(content).hexdigest()} {len(content)} {name}\n" for name, content in files.items())
    head = "Format: 3.0 (quilt)\nSource: hello\nBinary: hello\nArchitecture: any\nVersion: 1-1\nMaintainer: A <a@b>\n"
    head += "Files:\n" + "".join(
        f" {hashlib.md5(content, usedforsecurity=False).hexdigest()} {len(content)} {name}\n"
        for name, content in files.items()
    )
    description = f"{head}Checksums-Sha256:\n{sums}".encode()
    pool.mkdir(parents=True, exist_ok=True)
    for name, content in {**files, "hello_1-1.dsc": description, **changed}.items():
        (pool / name).write_bytes(content)
    sums += f" {hashlib.sha256(description).hexdigest()} {len(description)} hello_1-1.dsc\n"
    return f"{head.replace('Source:', 'Package:')}Directory: pool\nChecksums-Sha256:\n{sums}\n"
