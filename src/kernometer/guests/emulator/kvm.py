"""KVM: finds whether this host's processor executes a guest itself, by booting that guest.

/dev/kvm alone is not enough: it may belong to a hypervisor that runs no unmodified kernels, or to another user.
"""

from __future__ import annotations

import grp
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from kernometer.errors import BuildError, TargetError
from kernometer.guests.emulator.qemu import Accelerator
from kernometer.guests.emulator.remembered import known, until_reboot

DEVICE = Path("/dev/kvm")
#: The end of the note before measuring by time, after the reason, if the guest is emulated.
EMULATED = "so the guest is emulated: its times are the emulator's, not any hardware's. --by path counts instructions."
#: A guest under KVM has booted, listed a row and powered off within three or four; a host may be busy.
TRIAL_SECONDS = 20.0


class Finding(msgspec.Struct, frozen=True):
    """`why` KVM does not work, as a sentence before "…, so the guest is emulated"; "" if it works."""

    why: str = ""

    @property
    def accelerator(self) -> tuple[Accelerator, str]:
        """The accelerator by time, and a note."""
        return ("tcg", f"{self.why}, {EMULATED}") if self.why else ("kvm", "")


def find(guest: str, key: Sequence[str], trial: Callable[[], None] | None) -> Finding:
    """Whether `guest` runs under KVM here. `trial` boots it under KVM within TRIAL_SECONDS, or raises TargetError.

    The trial's result is stored until this host boots again, for the same `key` (QEMU, machine, kernel image) and the
    same device; the device is checked every time. Without a trial, what none has found yet is taken to work. Raises
    BuildError and MissingError of the trial.
    """
    obstacle = _obstacle(DEVICE)
    if obstacle:
        return Finding(obstacle)
    made = DEVICE.stat()  # a device that is removed and added again, with its driver, differs
    device = f"{made.st_ino} {made.st_ctime_ns}"
    if trial is None:
        return known("kvm", (*key, device), Finding) or Finding()
    return until_reboot("kvm", (*key, device), Finding, lambda: _tried(guest, trial))


def _tried(guest: str, trial: Callable[[], None]) -> Finding:
    try:
        trial()
    except BuildError:
        raise
    except TargetError as error:
        return Finding(f"{DEVICE} is here and does not run {guest}, as a boot of it showed ({error.text.rstrip('.')})")
    return Finding()


def _obstacle(device: Path) -> str:
    """Why the device cannot be used; "" if it can be opened."""
    try:
        os.close(os.open(device, os.O_RDWR | os.O_CLOEXEC))
    except FileNotFoundError:
        return f"There is no {device} here"
    except PermissionError:
        return f"{device} is here and this user may not open it ({_who_may(device)})"
    except OSError as error:
        return f"{device} is here and cannot be opened ({error.strerror})"
    return ""


def _who_may(device: Path) -> str:
    """How a user gets the right to open it, as a next step."""
    status = device.stat()
    if status.st_mode & stat.S_IRGRP and status.st_mode & stat.S_IWGRP:
        try:
            group = grp.getgrgid(status.st_gid).gr_name
        except KeyError:
            group = str(status.st_gid)
        return f"members of the group {group} may: 'sudo usermod -aG {group} USER', then log in again"
    return "its mode lets no group in: 'sudo chgrp kvm' and 'sudo chmod g+rw' would"
