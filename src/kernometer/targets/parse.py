"""Names of targets: their forms, and from a name to its target. stats/differences.py, explain/machines.py, cli/many.py
and cli/predict.py compare or refuse some kinds in their own way, by the beginning of the name."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

from kernometer.errors import MissingError, UsageError

if TYPE_CHECKING:
    from kernometer.targets.base import Target

#: The forms of a target, for help and errors.
FORMS = (
    (
        "local",
        "this host; local:'clang -O0' names compiler and flags of the probe, -dynamic its linking",
    ),
    ("probe:PATH", "this host, with a ready-made probe"),
    ("wrap:'COMMAND…'", "this host, with the probe started by COMMAND (taskset, user-mode Linux, gVisor…)"),
    ("ssh:HOST", "another host, by the system's ssh: user@host or a name of your configuration; ssh://user@host:port"),
    ("qemu:linux-VERSION", "a guest kernel under QEMU, by path or by time (see 'kernometer guest')"),
    ("console:SYSTEM:IMAGE", "a system with a disk of its own, at its console (docs/console.md)"),
)

#: This process's limits that measuring needs: for a compiler's pipes, for a session's file.
LEAST = (
    (resource.RLIMIT_NOFILE, 32, "files may be open at once", "ulimit -n"),
    (resource.RLIMIT_FSIZE, 16 << 20, "bytes may be in a file", "ulimit -f"),
)


def check_limits() -> None:
    """Raises MissingError, with the remedy, if this process's limits are too low to measure."""
    for limit, least, what, how in LEAST:
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY and most < least:
            raise MissingError(f"Only {most:,} {what} here, and measuring needs {least:,}.", f"Raise the limit: {how}.")


def target_of(spec: str) -> Target:
    """The target of that name. Raises UsageError for an unknown form, MissingError for a missing guest."""
    check_limits()
    kind, _, rest = spec.partition(":")
    if kind in ("local", "probe", "wrap"):
        from kernometer.targets.local import from_spec

        return from_spec(spec)
    if kind == "ssh":
        from kernometer.targets.ssh import SshTarget

        return SshTarget(spec if rest.startswith("//") else rest)
    if kind == "qemu":
        from kernometer.targets.qemu import QemuTarget

        return QemuTarget.from_spec(rest)
    if kind == "console":
        from kernometer.targets.console import ConsoleTarget

        return ConsoleTarget.from_spec(rest)
    raise UsageError(f"{spec!r} is not a target.", "It is one of: " + ", ".join(form for form, _ in FORMS) + ".")
