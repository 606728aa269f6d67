"""The interval of a share that was counted. docs/statistics.md, "Shares"."""

from __future__ import annotations

import math

#: Of the normal distribution, for both sides of 95 %.
Z = 1.959963984540054


def wilson(count: int, of: int, z: float = Z) -> tuple[float, float]:
    """Both ends of Wilson's interval (JASA 22, 1927) for the share count / of; (0, 1) of nothing."""
    if of == 0:
        return 0.0, 1.0
    share, spread = count / of, z * z / of
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt((share * (1 - share) + spread / 4) / of)
    return max(middle - half, 0.0), min(middle + half, 1.0)
