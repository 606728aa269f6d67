"""Findings about the processor and its clock, which change the time of the same instructions."""

from __future__ import annotations

from kernometer.host import Finding
from kernometer.host.tree import CPU, Tree, clean, cpu_list

#: Clocks that libc reads without entering the kernel.
FAST_CLOCKS = frozenset({"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "timebase"})
#: Parameters that keep the kernel's own work away from a CPU.
ISOLATING = ("isolcpus", "nohz_full", "rcu_nocbs")


def processor_findings(tree: Tree) -> tuple[Finding, ...]:
    """Governor, turbo, SMT, mitigations, clock source, CPUs allowed, isolation."""
    return (governor(tree), turbo(tree), smt(tree), mitigations(tree), clock_source(tree), cpus(tree), isolation(tree))


def governors(tree: Tree) -> tuple[str, ...]:
    """The scaling governors in use, sorted."""
    names = {tree.text(f"{folder}/cpufreq/scaling_governor") for folder in tree.cpu_folders()}
    return tuple(sorted(names - {""}))


def vulnerabilities(tree: Tree) -> dict[str, str]:
    """The kernel's status of each hardware vulnerability."""
    folder = f"{CPU}/vulnerabilities"
    return {clean(name): tree.text(f"{folder}/{name}") for name in tree.names(folder)[:100]}


def kernel_parameters(tree: Tree) -> dict[str, str]:
    """The kernel's command line up to `--`, as name → value."""
    line = (tree.raw("proc/cmdline") or "").partition(" -- ")[0]
    pairs = (word.partition("=") for word in line.split())
    return {clean(name): clean(value) for name, _, value in pairs}


def governor(tree: Tree) -> Finding:
    """The frequency governor: anything but `performance` changes the clock with the load."""
    named = governors(tree)
    if not named:
        return Finding(
            "governor", "not visible", "The hardware or the hypervisor chooses the frequency.", "", "unknown"
        )
    value = ", ".join(named)
    if named == ("performance",):
        return Finding("governor", value, "", "", "ok")
    return Finding(
        "governor",
        value,
        "The clock follows the load: short samples run slower than long ones.",
        f"echo performance | sudo tee /{CPU}/cpu*/cpufreq/scaling_governor",
        "disturbs",
    )


def turbo(tree: Tree) -> Finding:
    """Turbo: the clock depends on temperature and on how many cores work."""
    switches = (("intel_pstate/no_turbo", 0, 1), ("cpufreq/boost", 1, 0))  # file, its value for on, its value for off
    for path, on, off in switches:
        value = tree.number(f"{CPU}/{path}")
        if value == off:
            return Finding("turbo", "off", "", "", "ok")
        if value == on:
            return Finding(
                "turbo",
                "on",
                "The clock depends on temperature and on how many cores work.",
                f"echo {off} | sudo tee /{CPU}/{path}",
                "disturbs",
            )
    return Finding("turbo", "not visible", "This host does not report whether turbo is on.", "", "unknown")


def smt(tree: Tree) -> Finding:
    """SMT: a sibling uses the same core's units and caches."""
    active, control = tree.number(f"{CPU}/smt/active"), tree.text(f"{CPU}/smt/control")
    if active is None:
        return Finding("SMT", "not visible", "This host does not report whether two CPUs share a core.", "", "unknown")
    if active == 0:
        return Finding("SMT", "off" if control in ("off", "forceoff") else "none", "", "", "ok")
    return Finding(
        "SMT",
        "on",
        "Work on the sibling CPU uses the same core's units and caches.",
        f"echo off | sudo tee /{CPU}/smt/control",
        "disturbs",
    )


def mitigations(tree: Tree) -> Finding:
    """Mitigations: they disturb nothing, but are a part of the cost of a call."""
    told = vulnerabilities(tree)
    if not told:
        return Finding("mitigations", "not visible", "This host does not report which are active.", "", "unknown")
    active = [name for name, text in told.items() if text.startswith("Mitigation")]
    exposed = [name for name, text in told.items() if text.startswith("Vulnerable")]
    value = f"{len(active)} active, {len(exposed)} left out, {len(told) - len(active) - len(exposed)} not needed"
    if not active:
        return Finding("mitigations", value, "", "", "ok")
    return Finding(
        "mitigations",
        value,
        "System calls, switches and returns cost more; the cost is part of every figure.",
        "To measure without them, boot with the kernel parameter mitigations=off.",
        "note",
    )


def clock_source(tree: Tree) -> Finding:
    """The clock source: each reading of a slow one costs a system call and a device access."""
    folder = "sys/devices/system/clocksource/clocksource0"
    current = tree.text(f"{folder}/current_clocksource")
    available = tree.text(f"{folder}/available_clocksource").split()
    if not current:
        return Finding("clock source", "not visible", "This host does not report its clock source.", "", "unknown")
    if current in FAST_CLOCKS:
        return Finding("clock source", current, "", "", "ok")
    fast = next((name for name in available if name in FAST_CLOCKS), None)
    advice = (
        f"echo {fast} | sudo tee /{folder}/current_clocksource"
        if fast
        else "The kernel has found no faster one reliable; 'dmesg | grep -i clocksource' shows why."
    )
    return Finding("clock source", current, "Each reading enters the kernel and may ask a device.", advice, "disturbs")


def allowed_cpus(tree: Tree) -> frozenset[int]:
    """The CPUs that this process may run on."""
    return cpu_list(tree.fields("proc/self/status").get("Cpus_allowed_list", ""))


def online_cpus(tree: Tree) -> frozenset[int]:
    """The CPUs that are online."""
    return cpu_list(tree.text(f"{CPU}/online"))


def cpus(tree: Tree) -> Finding:
    """The CPUs that we may use: on a single one, everything else runs between our samples."""
    allowed, online = allowed_cpus(tree), online_cpus(tree)
    if not allowed:
        return Finding("CPUs allowed", "not visible", "This host does not report the allowed CPUs.", "", "unknown")
    value = f"{len(allowed)} of {len(online)}" if online else str(len(allowed))
    if len(allowed) == 1:
        wider = len(online) > 1
        advice = f"taskset -pc 0-{max(online)} $$" if wider else "Give the machine a second CPU."
        effect = "Everything else runs on the measured CPU; rows on another CPU cannot be measured."
        return Finding("CPUs allowed", value, effect, advice, "disturbs")
    if allowed < online:
        effect = "Only these CPUs are used for measuring."
        return Finding("CPUs allowed", value, effect, f"taskset -pc 0-{max(online)} $$", "note")
    return Finding("CPUs allowed", value, "", "", "ok")


def isolation(tree: Tree) -> Finding:
    """CPUs that are kept free of other work since the boot."""
    parameters = kernel_parameters(tree)
    isolated = cpu_list(tree.text(f"{CPU}/isolated"))
    given = [f"{name}={parameters[name]}" for name in ISOLATING if parameters.get(name)]
    if given or isolated:
        return Finding("isolation", " ".join(given) or f"CPUs {tree.text(f'{CPU}/isolated')}", "", "", "ok")
    if not parameters:
        return Finding("isolation", "not visible", "This host does not show the kernel's command line.", "", "unknown")
    last = max(online_cpus(tree) | {1})
    return Finding(
        "isolation",
        "none",
        "Ticks, interrupts and other processes share the measured CPU.",
        f"Boot with the kernel parameters isolcpus={last} nohz_full={last} rcu_nocbs={last}.",
        "note",
    )
