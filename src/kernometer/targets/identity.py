"""Which machine something ran on: a digest that is the same at every boot, and from which nobody finds the machine."""

from __future__ import annotations

import hashlib
import hmac
import re
from pathlib import Path

#: Where an installation keeps the number that it was given, the first that has one (machine-id(5)).
FILES = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
#: What sets our digests apart from those of other programs, which hash the same number.
PURPOSE = b"kernometer host 1"


def host_id() -> str:
    """This host's; "" where it has no number."""
    for file in FILES:
        try:
            if found := hashed(file.read_text(errors="replace")):
                return found
        except OSError:
            continue
    return ""


def hashed(machine_id: str) -> str:
    """A machine's number as results may hold it, or "" for what is none. machine-id(5) asks programs to keep the number
    itself to themselves, and to show a keyed hash of it, as sd_id128_get_machine_app_specific does."""
    found = re.fullmatch(r"\s*([0-9a-f]{32})\s*", machine_id)
    return hmac.new(bytes.fromhex(found[1]), PURPOSE, hashlib.sha256).hexdigest()[:32] if found else ""
