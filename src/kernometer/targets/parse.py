"""From the user's text to a target. This module lists all kinds of targets."""

from __future__ import annotations

from kernometer.errors import UsageError
from kernometer.targets.base import Target

#: The forms of a target, for help and errors.
FORMS = (
    (
        "local",
        "this host; local:'clang -O0' names compiler and flags of the probe, -dynamic its linking",
    ),
    ("probe:PATH", "this host, with a ready-made probe"),
    ("wrap:'COMMAND…'", "this host, with the probe started by COMMAND (taskset, user-mode Linux, gVisor…)"),
    ("ssh:HOST", "another host, by the system's ssh: user@host, a name of your configuration, ssh://user@host:port"),
    ("qemu:linux-VERSION", "a guest kernel under QEMU, by path or by time (see 'kernometer guest')"),
    ("console:SYSTEM:IMAGE", "a system with a disk of its own, at its console (docs/console.md)"),
)


def target_of(spec: str) -> Target:
    """The target of that name. Raises UsageError for an unknown form, MissingError for a missing guest."""
    kind, _, rest = spec.partition(":")
    if kind in ("local", "probe", "wrap"):
        from kernometer.targets.local import from_spec

        return from_spec(spec)
    if kind == "ssh":
        from kernometer.targets.ssh import SshTarget

        return SshTarget(rest)
    if kind == "qemu":
        from kernometer.targets.qemu import QemuTarget

        return QemuTarget.from_spec(rest)
    if kind == "console":
        from kernometer.targets.console import ConsoleTarget

        return ConsoleTarget.from_spec(rest)
    raise UsageError(f"{spec!r} is no target.", "It is one of: " + ", ".join(form for form, _ in FORMS) + ".")
