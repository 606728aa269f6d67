"""The interval of a share. docs/reliability.md, "Shares"."""

from __future__ import annotations

import math

#: The normal distribution's quantile of 97.5 %.
_Z = 1.959963984540054


def wilson(k: int, n: int) -> tuple[float, float]:
    """The 95 % interval of the share k of n by Wilson's score (1927); of none the whole range."""
    if n == 0:
        return 0.0, 1.0
    share, z2 = k / n, _Z * _Z / n
    middle = (share + z2 / 2) / (1 + z2)
    half = _Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n)) / (1 + z2)
    return (0.0 if k == 0 else middle - half), (1.0 if k == n else middle + half)
