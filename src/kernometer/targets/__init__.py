"""Where a probe can run."""

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
