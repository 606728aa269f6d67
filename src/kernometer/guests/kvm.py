"""KVM: whether this host's processor executes a guest by itself, found by booting that guest.

/dev/kvm alone says little: it may belong to a hypervisor that does not run unmodified kernels, or be another user's.
"""

from __future__ import annotations

import grp
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from kernometer.errors import BuildError, TargetError
from kernometer.guests.qemu import Accelerator
from kernometer.guests.remembered import until_reboot

DEVICE = Path("/dev/kvm")
#: Said, after the reason, before measuring by time where the processor does not execute the guest itself.
EMULATED = "so the guest is emulated: its times are the emulator's, not any hardware's. --by path counts instructions."
#: A guest under KVM has booted, listed a row and powered off within three or four; a host may be busy.
TRIAL_SECONDS = 20.0


class Finding(msgspec.Struct, frozen=True):
    """`why` not, in words that go on "…, so the guest is emulated"; "" where it works."""

    why: str = ""

    @property
    def accelerator(self) -> tuple[Accelerator, str]:
        """What to run the guest with by time, and what there is to say about it."""
        return ("tcg", f"{self.why}, {EMULATED}") if self.why else ("kvm", "")


def find(guest: str, key: Sequence[str], trial: Callable[[], None]) -> Finding:
    """Whether `guest` runs under KVM here. `trial` boots it so, within TRIAL_SECONDS, or raises TargetError.

    What the trial showed is remembered until this host boots again, for the same `key` (QEMU, machine, kernel image)
    and the same device; the device itself is looked at every time. Raises BuildError and MissingError of the trial.
    """
    obstacle = _obstacle(DEVICE)
    if obstacle:
        return Finding(obstacle)
    made = DEVICE.stat()  # a device that was taken away and came back, with its driver, is another one
    device = f"{made.st_ino} {made.st_ctime_ns}"
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
    """Why the device cannot be used; "" where it can be opened."""
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
    """What lets a user open it, as a next step."""
    found = device.stat()
    if found.st_mode & stat.S_IRGRP and found.st_mode & stat.S_IWGRP:
        try:
            group = grp.getgrgid(found.st_gid).gr_name
        except KeyError:
            group = str(found.st_gid)
        return f"members of the group {group} may: 'sudo usermod -aG {group} USER', then log in anew"
    return "its mode lets no group in: 'sudo chgrp kvm' and 'sudo chmod g+rw' would"
