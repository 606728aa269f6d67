"""Findings about memory (huge pages, swap, address-space layout) and the machine as a whole (virtualisation, power,
system-call filter), and its facts."""

from __future__ import annotations

import shlex
from typing import Any

from kernometer.host import Finding
from kernometer.host.processor import governors, kernel_parameters, online_cpus, vulnerabilities
from kernometer.host.tree import Tree, chosen, clean, integer

#: Kernel parameters that affect figures. Others are not recorded: a command line may contain private data.
PARAMETERS = (
    "clocksource cpuidle.off hugepages idle init_on_alloc init_on_free intel_idle.max_cstate intel_pstate isolcpus"
    " maxcpus mitigations nohz nohz_full nokaslr nopti nosmt nosmp page_poison page_table_check preempt"
    " processor.max_cstate pti rcu_nocbs retbleed slub_debug spec_store_bypass_disable spectre_v2 threadirqs"
    " transparent_hugepage tsc vdso"
)
#: /proc/self/status's Seccomp.
FILTERS = {"0": "none", "1": "strict", "2": "a filter"}


def machine_findings(tree: Tree) -> tuple[Finding, ...]:
    """Virtualisation, power, system-call filter."""
    return (virtualisation(tree), power(tree), call_filter(tree))


def hypervisor(tree: Tree) -> str:
    """The hypervisor that this machine runs on; "" for hardware, or if not known."""
    vendor, product = (tree.text(f"sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name"))
    kind = tree.text("sys/hypervisor/type")
    flagged = "hypervisor" in (tree.raw("proc/cpuinfo") or "").split()
    if not flagged and not kind:
        return ""
    return kind or " ".join(filter(None, (vendor, product))) or "a hypervisor"


def virtualisation(tree: Tree) -> Finding:
    """Virtualisation: exits to the hypervisor take time, and it decides when we run."""
    below = hypervisor(tree)
    if below:
        return Finding(
            "virtualisation",
            below,
            "Faults, timers and interrupts may exit to the hypervisor, which also decides when we run.",
            "Compare only results of this machine, or count instructions: --by path.",
            "note",
        )
    if not tree.raw("proc/cpuinfo"):
        return Finding("virtualisation", "not visible", "This host does not report virtualisation.", "", "unknown")
    return Finding("virtualisation", "none seen", "", "", "ok")


def power(tree: Tree) -> Finding:
    """Power supply: on battery, firmware may slow the processor down."""
    folder = "sys/class/power_supply"
    supplies = tree.names(folder)
    mains = [name for name in supplies if tree.text(f"{folder}/{name}/type") in ("Mains", "USB")]
    empty = [name for name in supplies if tree.text(f"{folder}/{name}/status") == "Discharging"]
    plugged = any(tree.number(f"{folder}/{name}/online") == 1 for name in mains)
    if empty and not plugged:
        effect = "Firmware lowers clock and power limits to save the battery."
        return Finding("power", "battery", effect, "Connect the power supply.", "disturbs")
    return Finding("power", "mains" if plugged else "no battery in use", "", "", "ok")


def call_filter(tree: Tree) -> Finding:
    """A seccomp filter: a program that runs before every system call, as in most containers."""
    mode = tree.fields("proc/self/status").get("Seccomp", "")
    value = FILTERS.get(mode)
    if value is None:
        return Finding("call filter", "not visible", "This host does not report call filters.", "", "unknown")
    if mode == "0":
        return Finding("call filter", value, "", "", "ok")
    return Finding(
        "call filter",
        value,
        "Every system call first runs a filter program, which adds to the cost of the call.",
        "Measure outside the container, or start it with --security-opt seccomp=unconfined.",
        "note",
    )


def facts(tree: Tree) -> dict[str, Any]:
    """Facts that identify the host to a reader of a result: strings and numbers."""
    cpuinfo = tree.fields("proc/cpuinfo")
    parameters = kernel_parameters(tree)
    known: dict[str, Any] = {
        "kernel": tree.text("proc/sys/kernel/osrelease"),
        "kernel_build": tree.text("proc/sys/kernel/version"),
        "system": _system(tree),
        "cpu": cpuinfo.get("model name") or cpuinfo.get("Model") or cpuinfo.get("Hardware") or "",
        "microcode": cpuinfo.get("microcode", ""),
        "cpus_online": len(online_cpus(tree)) or None,
        "sockets": len(_values(tree, "physical_package_id")) or None,
        "cores": len(_values(tree, "core_id")) or None,
        "memory_bytes": memory_bytes(tree, "MemTotal"),
        "governor": ", ".join(governors(tree)),
        "frequency_driver": tree.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"),
        "clock_source": tree.text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "hypervisor": hypervisor(tree),
        "preemption": tree.text("sys/kernel/debug/sched/preempt"),
        "parameters": {name: parameters[name] for name in PARAMETERS.split() if name in parameters},
        "vulnerabilities": vulnerabilities(tree),
        "load": " ".join(tree.text("proc/loadavg").split()[:3]),
    }
    return {name: value for name, value in known.items() if value not in ("", None, {})}


def _system(tree: Tree) -> str:
    for line in (tree.raw("etc/os-release") or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            try:
                return clean(" ".join(shlex.split(line.removeprefix("PRETTY_NAME="))))
            except ValueError:  # a quotation that does not end
                return ""
    return ""


def _values(tree: Tree, name: str) -> set[tuple[str, str]]:
    """The different values of a CPU's topology file, by socket."""
    folders = [f"{folder}/topology" for folder in tree.cpu_folders()]
    pairs = ((tree.text(f"{folder}/physical_package_id"), tree.text(f"{folder}/{name}")) for folder in folders)
    return {pair for pair in pairs if pair[1]}


HUGE = "sys/kernel/mm/transparent_hugepage/enabled"


def memory_findings(tree: Tree) -> tuple[Finding, ...]:
    """Huge pages, swap, address-space layout."""
    return (huge_pages(tree), swap(tree), layout(tree))


def memory_bytes(tree: Tree, name: str) -> int | None:
    """A line of /proc/meminfo in bytes; None if it is missing or not a number."""
    number = integer(tree.fields("proc/meminfo").get(name, "").removesuffix("kB").strip())
    return None if number is None else number * 1024


def huge_pages(tree: Tree) -> Finding:
    """Transparent huge pages: with `always` a fault maps 1 page or 512, depending on free memory."""
    value = chosen(tree.text(HUGE))
    if not value:
        return Finding("huge pages", "not visible", "This host does not report huge pages.", "", "unknown")
    if value != "always":
        return Finding("huge pages", value, "", "", "ok")
    return Finding(
        "huge pages",
        value,
        "A fault maps one page or hundreds, depending on free memory: memory rows have two speeds.",
        f"echo madvise | sudo tee /{HUGE}",
        "disturbs",
    )


def swap(tree: Tree) -> Finding:
    """Swap: the next touch of a page on disk takes milliseconds."""
    total, free = memory_bytes(tree, "SwapTotal"), memory_bytes(tree, "SwapFree")
    if total is None or free is None:
        return Finding("swap", "not visible", "This host does not report whether pages move to disk.", "", "unknown")
    if total == 0:
        return Finding("swap", "none", "", "", "ok")
    used = max(0, total - free)
    value = f"{used >> 20} of {total >> 20} MiB used"
    if used == 0:
        return Finding("swap", value, "", "", "ok")
    return Finding("swap", value, "A page on disk is read back when touched.", "sudo swapoff -a", "note")


def layout(tree: Tree) -> Finding:
    """Address-space layout randomisation: cache and page conflicts differ between processes."""
    value = tree.number("proc/sys/kernel/randomize_va_space")
    if value is None:
        return Finding("address layout", "not visible", "This host does not report its randomisation.", "", "unknown")
    if value == 0:
        return Finding("address layout", "fixed", "All runs have the same layout, with the same conflicts.", "", "note")
    return Finding(
        "address layout",
        "random",
        "Each process has other addresses and conflicts: runs differ, and many runs average this out.",
        "To fix it: kernometer run --on 'wrap:setarch -R'",
        "note",
    )
