"""The rate of this host's time-stamp counter, which is also that of a guest that QEMU emulates by time.

A kernel on microvm has only the interval timer to find that rate, and ticks to check it. On a loaded host the read of
an emulated port may take longer than the timed interval: the kernel then does not find the rate, and waits for its
first tick forever. If ticks come late, it rejects the counter and uses ticks of 4 ms. So its command line contains the
rate, and says that the counter is reliable.
"""

from __future__ import annotations

import platform
from statistics import median_low

import msgspec

from kernometer.errors import TargetError
from kernometer.guests.emulator.remembered import until_reboot
from kernometer.results.model import Header
from kernometer.targets.base import Deadline, Job
from kernometer.targets.local import from_spec

#: Each takes some tenths of a second; the median of five is not an interrupted one.
MEASUREMENTS = 5
SECONDS = 60.0
#: Rounded to this: 0.02 % of 2.5 GHz, on the clock of an emulator, and the same word on the kernel's command line from
#: boot to boot, where a busy host's measurements lie 0.01 % apart.
STEP_KHZ = 1000


def kernel_words() -> tuple[str, ...]:
    """Options for an emulated Linux's command line; none if this host's counter is not known. Raises TargetError or
    MissingError if the probe cannot measure it."""
    khz = host_khz()
    return ("tsc=reliable", f"tsc_early_khz={khz}") if khz else ()


def host_khz() -> int:
    """In kHz; 0 if this processor has no counter that a guest would have too. Measured once per boot of this host."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return 0
    return until_reboot("tsc", (), int, _measured)


def _measured() -> int:
    rate = median_low([_once() for _ in range(MEASUREMENTS)])
    return round(rate / STEP_KHZ) * STEP_KHZ


def _once() -> float:
    """kHz, by the probe's table of clocks, which it measures against the system's."""
    job = Job(("--runs", "1", "--seconds", "0.001", "--", "true"))  # any call: the table is in its header
    for line in from_spec("local").run(job, Deadline.after(SECONDS)):
        try:
            clocks = msgspec.json.decode(line, type=Header).clocks
        except msgspec.DecodeError:
            continue
        for clock in clocks:
            if clock.get("name") == "cycles" and not clock.get("unsupported") and clock.get("ns_per_tick", 0) > 0:
                return 1e6 / float(clock["ns_per_tick"])
    raise TargetError("The probe does not report the rate of this host's cycle counter.", "Run 'kernometer check'.")
