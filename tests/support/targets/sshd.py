"""A real sshd on loopback, as an ordinary user, whose logins are what a test needs: shells that work, lie or hang.

libnss_wrapper gives it a passwd file of its own. So a test names its users, with home and shell, whoever runs it; where
that is root, sshd gives its rights away first. The user's ssh configuration comes from a `ssh` of the test's on PATH.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

#: Who sshd is where the tests run as root. Nobody needs to have that number.
ORDINARY = 54321
#: Seconds; it starts in a fraction of one.
PATIENCE = 60.0
SSHD = "/usr/sbin/sshd"
NSS_WRAPPER = "libnss_wrapper.so"
#: In the environment of every process that a login starts, and of no other.
MARK = "KERNOMETER_TEST_LOGIN"


def until(condition: object, seconds: float = PATIENCE) -> bool:
    """Whether `condition()` came true in time."""
    assert callable(condition)
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            return False
        time.sleep(0.02)
    return True


@dataclass(frozen=True, slots=True)
class Server:
    """The other host. `root` holds all of it: `tmp` and `home` there, `bin` and `config` here."""

    root: Path
    port: int

    @property
    def bin(self) -> Path:
        """A folder for PATH: its `ssh` reads the test's configuration as if it were the user's."""
        return self.root / "bin"

    @property
    def tmp(self) -> Path:
        return self.root / "tmp"

    @property
    def log(self) -> str:
        return (self.root / "log").read_text(errors="replace")

    def login(self, name: str, shell: str, *, home: str = "home", config: str = "") -> str:
        """A user and a host of that name. `shell` is a path, or a script after `#!`. `config`: lines for ssh."""
        if shell.startswith("#!"):
            path = self.root / f"shell-{name}"
            path.write_text(shell)
            path.chmod(0o755)
            shell = str(path)
        self.folder(home)
        with (self.root / "passwd").open("a") as file:
            file.write(f"{name}:x:{uid()}:{uid()}::{self.root / home}:{shell}\n")
        self.host(name, f"User {name}\n{config}")
        return name

    def host(self, name: str, config: str = "") -> str:
        """A host of ssh's configuration; what `config` says goes before the test's own words."""
        with (self.root / "config").open("a") as file:
            file.write(f"Host {name}\n{config}\nHostName 127.0.0.1\nPort {self.port}\n")
        return name

    def folder(self, name: str) -> Path:
        """A folder of the other host's."""
        path = self.root / name
        path.mkdir(exist_ok=True)
        if os.getuid() == 0:
            os.chown(path, uid(), uid())
        return path

    def processes(self) -> list[str]:
        """What logins have started and is alive: command lines."""
        return [line for line in map(self._command, Path("/proc").glob("[0-9]*")) if line]

    def _command(self, process: Path) -> str:
        try:
            if f"{MARK}={self.port}\0".encode() not in (process / "environ").read_bytes():
                return ""
            return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # another user's, or gone
            return ""

    def is_clean(self) -> bool:
        """Whether no login has left a process or a temporary file."""
        return not self.processes() and not list(self.tmp.iterdir())


def uid() -> int:
    """Whose sshd it is."""
    return os.getuid() or ORDINARY


@contextmanager
def sshd() -> Iterator[Server]:
    """An sshd, and `box`, a host with a plain shell. At the end it is gone, with all that it kept."""
    with TemporaryDirectory(prefix="kernometer-sshd-", ignore_cleanup_errors=True) as made:
        server = Server(Path(made), _free_port())
        _write(server)
        server.login("box", "/bin/sh")
        with (server.root / "log").open("wb") as log:
            gives_up_rights = os.getuid() == 0
            process = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", str(server.root / "sshd_config")],
                env={
                    "PATH": os.defpath,
                    "LD_PRELOAD": NSS_WRAPPER,
                    "NSS_WRAPPER_PASSWD": str(server.root / "passwd"),
                    "NSS_WRAPPER_GROUP": str(server.root / "group"),
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=ORDINARY if gives_up_rights else None,
                group=ORDINARY if gives_up_rights else None,
                extra_groups=[] if gives_up_rights else None,
            )
        try:
            assert until(lambda: process.poll() is not None or "Server listening" in server.log), "sshd does not start"
            assert process.poll() is None, server.log
            yield server
        finally:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _key(path: Path) -> str:
    """A new key at `path`; its public half."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True, timeout=PATIENCE)
    return path.with_suffix(".pub").read_text()


def _write(server: Server) -> None:
    root = server.root
    root.chmod(0o755)
    for name in ("tmp", "home"):
        server.folder(name)
    host = _key(root / "host")
    (root / "known").write_text(f"[127.0.0.1]:{server.port} {host}")
    (root / "authorized").write_text(_key(root / "id"))
    if os.getuid() == 0:
        os.chown(root / "host", uid(), uid())
    (root / "passwd").write_text("")
    (root / "group").write_text(f"ordinary:x:{uid()}:\n")
    (root / "sshd_config").write_text(
        f"Port {server.port}\nListenAddress 127.0.0.1\nHostKey {root}/host\nAuthorizedKeysFile {root}/authorized\n"
        "PidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        f"PrintMotd no\nMaxStartups 100\nSetEnv TMPDIR={server.tmp} {MARK}={server.port}\n"
    )
    (root / "config").write_text(
        f"IdentityFile {root}/id\nIdentitiesOnly yes\nUserKnownHostsFile {root}/known\nStrictHostKeyChecking yes\n"
        # What a person may have set and what must not matter:
        f"RequestTTY yes\nControlMaster auto\nControlPath {root}/control-%n\nLocalForward 1 127.0.0.1:1\n"
    )
    server.bin.mkdir()
    ssh = shutil.which("ssh")
    (server.bin / "ssh").write_text(f'#!/bin/sh\nexec {ssh} -F {root}/config "$@"\n')
    (server.bin / "ssh").chmod(0o755)


def programs(folder: Path, *names: str, **scripts: str) -> Path:
    """A folder for PATH that holds these programs of this host's, and these scripts of the test's."""
    folder.mkdir()
    for name in names:
        found = shutil.which(name, path=os.defpath)
        assert found, name
        (folder / name).symlink_to(found)
    for name, text in scripts.items():
        (folder / name).write_text(f"#!{sys.executable if text.startswith('import') else '/bin/sh'}\n{text}\n")
        (folder / name).chmod(0o755)
    return folder
