"""Fake trees of the files in which Linux tells about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CPU = "sys/devices/system/cpu"
STAT = "cpu  100 0 100 1000 0 0 0 0 0 0\ncpu0 50 0 50 500 0 0 0 0 0 0\ncpu1 50 0 50 500 0 0 0 0 0 0\n"

#: A machine of two cores on which nothing disturbs.
TUNED = {
    "etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    "proc/cmdline": "root=/dev/sda1 secret=hunter2 isolcpus=1 nohz_full=1 mitigations=off -- isolcpus=7\n",
    "proc/cpuinfo": "processor\t: 0\nmodel name\t: Model X  @ 3 GHz\nmicrocode\t: 0x2b\nflags\t\t: fpu tsc\n",
    "proc/meminfo": "MemTotal:       16384000 kB\nSwapTotal:       0 kB\nSwapFree:        0 kB\n",
    "proc/loadavg": "0.10 0.20 0.30 1/100 4242\n",
    "proc/self/cgroup": "0::/user.slice/run\n",
    "proc/self/status": "Name:\tx\nSeccomp:\t0\nCpus_allowed_list:\t0-1\n",
    "proc/stat": STAT,
    "proc/sys/kernel/osrelease": "6.1.0-56-amd64\n",
    "proc/sys/kernel/randomize_va_space": "2\n",
    "proc/sys/kernel/version": "#1 SMP Debian\n",
    "sys/class/power_supply/AC/online": "1\n",
    "sys/class/power_supply/AC/type": "Mains\n",
    "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "sys/fs/cgroup/user.slice/cpu.max": "max 100000\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    f"{CPU}/cpu0/cpufreq/scaling_driver": "intel_pstate\n",
    f"{CPU}/cpu0/cpufreq/scaling_governor": "performance\n",
    f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "3\n",
    f"{CPU}/cpu0/topology/core_id": "0\n",
    f"{CPU}/cpu0/topology/physical_package_id": "0\n",
    f"{CPU}/cpu1/cpufreq/scaling_governor": "performance\n",
    f"{CPU}/cpu1/thermal_throttle/core_throttle_count": "0\n",
    f"{CPU}/cpu1/topology/core_id": "1\n",
    f"{CPU}/cpu1/topology/physical_package_id": "0\n",
    f"{CPU}/intel_pstate/no_turbo": "1\n",
    f"{CPU}/isolated": "1\n",
    f"{CPU}/online": "0-1\n",
    f"{CPU}/smt/active": "0\n",
    f"{CPU}/smt/control": "off\n",
    f"{CPU}/vulnerabilities/meltdown": "Not affected\n",
    f"{CPU}/vulnerabilities/spectre_v2": "Vulnerable\n",
}


def plant(root: Path, *layers: Mapping[str, str | None]) -> Path:
    """Writes files below `root`, later layers over earlier ones; None takes a file away."""
    for layer in layers:
        for name, text in layer.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            if text is not None:
                path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return root


def process(pid: int, name: str, ticks: int) -> dict[str, str]:
    """/proc/PID/stat of a process that has worked so many ticks, half of them in the kernel."""
    return {f"proc/{pid}/stat": f"{pid} ({name}) S 1 1 1 0 -1 0 0 0 0 0 {ticks - ticks // 2} {ticks // 2} 0 0 20\n"}
