"""What two boots by path must have in common."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

#: Times of the guest's clock over a whole row. QEMU does not repeat them where the guest was idle: docs/path.md, "What
#: equal counts need".
OF_THE_CLOCK = ("seconds", "meter")


def repeated(lines: Iterable[bytes]) -> list[dict[str, Any]]:
    """The records, without what the guest's clock told over a whole row."""
    records = map(json.loads, lines)
    return [{key: value for key, value in each.items() if key not in OF_THE_CLOCK} for each in records]
