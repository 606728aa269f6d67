"""`local[:COMPILER FLAGS]`, `probe:PATH`, `wrap:COMMAND`: the probe as a process of this host.

A wrapper may put another kernel between the probe and this one (user-mode Linux, gVisor), or change how this kernel
treats the probe (taskset, chrt, a seccomp filter).
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from kernometer.errors import UsageError
from kernometer.guests.emulator.remembered import boot_id
from kernometer.results.model import By
from kernometer.targets import build
from kernometer.targets.base import Deadline, Job, Place, Program, Target
from kernometer.targets.stream import running

#: The files with an installation's number; the first one that has it counts (machine-id(5)).
FILES = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
#: Makes our digests differ from other programs' digests of the same number.
PURPOSE = b"kernometer host 1"


def host_id() -> str:
    """This host's digest; "" if it has no number."""
    for file in FILES:
        try:
            if digest := hashed(file.read_text(errors="replace")):
                return digest
        except OSError:
            continue
    return ""


def hashed(machine_id: str) -> str:
    """The digest of a machine's number for results; "" for an invalid number. machine-id(5) asks programs not to reveal
    the number, but only a keyed hash of it, as sd_id128_get_machine_app_specific does."""
    match = re.fullmatch(r"\s*([0-9a-f]{32})\s*", machine_id)
    return hmac.new(bytes.fromhex(match[1]), PURPOSE, hashlib.sha256).hexdigest()[:32] if match else ""


@dataclass(frozen=True, slots=True)
class LocalTarget(Target):
    """A probe on this host. `prefix` is a wrapper's command, `path` a ready-made probe in place of `recipe`."""

    name: str
    recipe: build.Recipe = build.DEFAULT
    path: Path | None = None
    prefix: tuple[str, ...] = ()

    @property
    def quick_start(self) -> bool:
        return not self.prefix

    def place(self, by: By) -> Place:  # noqa: ARG002  # it supports only times
        """The place has this host's boot: sessions of one boot have more in common than those of several."""
        notes = () if self.path else (build.note(self.recipe), build.without_musl(self.recipe))
        return Place(boot=boot_id(), host_id=host_id(), notes=tuple(filter(None, notes)))

    def describe(self, job: Job) -> tuple[str, ...]:
        return (*self.prefix, str(self.path or build.probe(self.recipe)), *job.arguments)

    def run(self, job: Job, until: Deadline) -> Iterator[bytes]:
        words = self.describe(job)  # builds the probe
        with TemporaryDirectory(prefix="kernometer-", ignore_cleanup_errors=True) as folder:
            environment = os.environ | {"TMPDIR": folder}
            with running(words, environment, scratch=Path(folder), next_step=self._next_step) as child:
                yield from child.records(job, until, self.name)

    @property
    def _next_step(self) -> str:
        """The next step if the probe's output is wrong."""
        if self.prefix:
            command = shlex.join((*self.prefix, "echo", "hello"))
            return f"It must run the command after it and pass on its output and status. Try: {command}"
        return "The program must be a probe: 'make -C probe' builds build/probe there." if self.path else ""


def lister(program: Program) -> LocalTarget:
    """The target that lists the program's registry, which is the same everywhere. Raises MissingError, BuildError."""
    if program == "probe":
        return from_spec("local")
    from kernometer.guests.kernels import trio

    return LocalTarget(program, path=trio.probe())


def from_spec(spec: str) -> LocalTarget:
    """From `local`, `local:-O0`, `local:clang -O2`, `probe:PATH`, `wrap:taskset -c 1`. Raises UsageError."""
    kind, _, rest = spec.partition(":")
    try:
        words = tuple(shlex.split(rest))
    except ValueError as error:
        raise UsageError(f"{spec!r}: {error}.", "Quote it as for a shell.") from error
    if kind == "local":
        return LocalTarget(spec, build.Recipe.parsed(rest))
    if kind == "probe":
        path = Path(rest)
        if not os.access(path, os.X_OK) or path.is_dir():
            raise UsageError(f"{rest!r} is not an executable program.", "Give the path of a built probe.")
        return LocalTarget(spec, path=path.resolve())
    if kind != "wrap":
        raise ValueError(f"no target of this host: {spec!r}")
    if not words:
        raise UsageError(f"{spec!r} names no command.", "For example wrap:'taskset -c 1'.")
    return LocalTarget(spec, prefix=words)
