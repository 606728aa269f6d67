"""`ssh:HOST` and `ssh://HOST:PORT`: the probe on another host, by the system's ssh.

The probe's source is copied to that host, compiled there once, and kept in that host's cache under the source's digest.
If that fails, this host's static binary is sent, provided that the machine type is the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from subprocess import DEVNULL, PIPE

from kernometer.cache import sha256
from kernometer.errors import BuildError, KernometerError, TargetError
from kernometer.results.model import By
from kernometer.targets import build, ssh_link
from kernometer.targets.base import Deadline, Job, Place, Target
from kernometer.targets.local import hashed
from kernometer.targets.ssh_link import MAX_ANSWER, Link, Remote
from kernometer.targets.stream import LAST_OUTPUT, shown

#: Different names of the same machine type.
SAME_MACHINE = {"amd64": "x86_64", "arm64": "aarch64"}
#: The most bytes of a host's files about itself, which are 100,000 on a machine with 512 processors.
MAX_TOLD = 1 << 20
INSTALLED = b"#kernometer installed "
FAILED = b"#kernometer failed "
#: install.sh's keywords: what it could not do, and what helps. The error contains its earlier output.
FAILURES = {
    b"folder": ("its cache cannot be written", "Make room in ~/.cache there, or set XDG_CACHE_HOME there."),
    b"transfer": ("the probe did not arrive whole", "Try again."),
    b"start": ("the probe that was made there does not start", "Is ~/.cache there on a file system without programs?"),
}
TRY_AGAIN = "Look at its last output. Is it still up? Try: ssh -o BatchMode=yes {host} true"


class SshTarget(Target):
    """A probe on another host; connects on first use."""

    quick_start = True  #: a call over the control socket takes tens of milliseconds and a round trip

    def __init__(self, host: str) -> None:
        """Raises UsageError for an invalid `host`, which is passed to ssh unchanged."""
        self.host = ssh_link.checked(host)
        self._link = Link(self.host)
        self._remote: Remote | None = None  #: the host's facts when it was prepared

    @property
    def name(self) -> str:
        return ssh_link.named(self.host)

    def machine(self, by: By) -> str:  # noqa: ARG002  # it supports only times
        return f"host {self.host}"

    def place(self, by: By) -> Place:
        """Connects. The boot is the remote host's, if known. Raises TargetError."""
        remote = self._prepared()
        notes: tuple[str, ...] = ()
        if remote.probe == "sent":
            why = "cannot compile the probe" if remote.compiler else "has no C compiler"
            notes = (f"{self.name} {why}: it runs a static one that was compiled here.",)
        if remote.probe == "dynamic" and remote.system == "Linux":
            notes = (f"{self.name}: the probe is linked dynamically: {remote.compiler} links no static program there.",)
        machine = SAME_MACHINE.get(remote.machine, remote.machine)
        return Place(
            machine=f"{self.machine(by)}: {machine}",
            boot=remote.boot,
            host_id=hashed(remote.identity),
            notes=notes,
            here=False,
            told=self._told() if remote.system == "Linux" else {},
        )

    def describe(self, job: Job) -> tuple[str, ...]:
        """The command can also be typed: then ssh finds no control socket and connects for this call only."""
        return ssh_link.argv(self.host, ssh_link.command("run", self._probe, *job.arguments))

    def run(self, job: Job, until: Deadline) -> Iterator[bytes]:
        self._prepared()
        try:
            with self._link.call(self.describe(job), PIPE) as child:
                yield from child.records(job, until, self.name)
        except TargetError as error:
            raise self._link.explained(TargetError(error.text, TRY_AGAIN, error.last_output)) from error

    def close(self) -> None:
        """Ends the connection; only the probe in the remote cache is left."""
        self._remote = None
        self._link.close()

    @cached_property
    def _source(self) -> bytes:
        return build.amalgam().encode()

    @cached_property
    def _probe(self) -> str:
        """The name of the remote probe, by its source."""
        return sha256(self._source)[:24]

    def _prepared(self) -> Remote:
        """Connects and puts the probe in place, once. Raises TargetError."""
        if self._remote is None:
            try:
                remote = self._link.look(self._probe)
                self._remote = remote if remote.probe else self._install(remote)
            except BaseException:
                self.close()
                raise
        return self._remote

    def _told(self) -> dict[str, str]:
        """Linux's files about itself there, as far as they can be read."""
        told: dict[str, list[str]] = {}
        try:
            with self._link.call(ssh_link.argv(self.host, ssh_link.command("facts", "/")), DEVNULL) as child:
                for line in child.lines(Deadline.after(ssh_link.CONNECT_SECONDS), MAX_TOLD, self.name):
                    path, _, text = line.decode(errors="replace").partition(":")
                    told.setdefault(path, []).append(text)
        except TargetError as error:
            raise self._link.explained(TargetError(error.text, TRY_AGAIN, error.last_output)) from error
        return {path: "\n".join(lines) for path, lines in told.items()}

    def _install(self, remote: Remote) -> Remote:
        """Compiles the probe there, or sends one. Returns the host's facts with how the probe was made."""
        try:
            if remote.compiler:
                return self._send(remote, "compiled", self._source)
            error = TargetError(f"{self.name} has no C compiler ({', '.join(build.COMPILERS)}).")
        except BuildError as failed:
            error = failed
        here = os.uname()
        if (remote.system, remote.machine) != (here.sysname, here.machine):
            raise type(error)(
                f"{error.text} No program can be sent either: that is {remote.system or 'an unknown system'} "
                f"{remote.machine}, and this is {here.sysname} {here.machine}.",
                "Install a C compiler and its library's headers there.",
                error.last_output,
            )
        return self._send(remote, "sent", self._static(error))

    def _static(self, error: TargetError) -> bytes:
        try:
            return build.static_probe().read_bytes()
        except KernometerError as failed:
            raise type(error)(
                f"{error.text} No program can be sent either: {failed.text}",
                f"Install a C compiler there, or here: {failed.next_step}",
                error.last_output,
            ) from failed

    def _send(self, remote: Remote, how: str, content: bytes) -> Remote:
        """Raises BuildError if the probe does not compile, TargetError if anything else fails."""
        words = ("install", self._probe, str(len(content)), how, remote.compiler, remote.version)
        until = Deadline.after(build.COMPILE_SECONDS)
        said: list[bytes] = []
        try:
            with self._link.send(ssh_link.argv(self.host, ssh_link.command(*words)), content) as child:
                said.extend(child.lines(until, MAX_ANSWER, self.name))
                errors = child.said()
        except TargetError as error:
            raise self._link.explained(TargetError(error.text, TRY_AGAIN, error.last_output)) from error
        if said and said[-1].startswith(INSTALLED):
            return replace(remote, probe=shown(said[-1].removeprefix(INSTALLED)))
        failed = said.pop().removeprefix(FAILED) if said and said[-1].startswith(FAILED) else b""
        last = "\n".join((errors, shown(b"\n".join(said)[-LAST_OUTPUT:]))).strip()
        if failed == b"compile":
            raise BuildError(f"The probe does not compile on {self.name} ({remote.compiler} -O2).", "", last)
        what, step = FAILURES.get(failed, ("it ended before the probe was in place", TRY_AGAIN))
        raise self._link.explained(TargetError(f"{self.name}: {what}.", step, last))
