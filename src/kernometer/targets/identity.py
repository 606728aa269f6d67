"""Identifies the machine by a digest that is the same at every boot and does not reveal the machine's own number."""

from __future__ import annotations

import hashlib
import hmac
import re
from pathlib import Path

#: The files with an installation's number; the first one that has it counts (machine-id(5)).
FILES = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
#: Makes our digests differ from those of other programs, which hash the same number.
PURPOSE = b"kernometer host 1"


def host_id() -> str:
    """This host's digest; "" if it has no number."""
    for file in FILES:
        try:
            if found := hashed(file.read_text(errors="replace")):
                return found
        except OSError:
            continue
    return ""


def hashed(machine_id: str) -> str:
    """The digest of a machine's number for results; "" for an invalid number. machine-id(5) asks programs not to reveal
    the number, but only a keyed hash of it, as sd_id128_get_machine_app_specific does."""
    found = re.fullmatch(r"\s*([0-9a-f]{32})\s*", machine_id)
    return hmac.new(bytes.fromhex(found[1]), PURPOSE, hashlib.sha256).hexdigest()[:32] if found else ""
