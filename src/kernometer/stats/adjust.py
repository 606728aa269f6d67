"""Many rows, one comparison: the false discovery rate. docs/statistics.md, "Many rows"."""

from __future__ import annotations

from collections.abc import Sequence


def benjamini_hochberg(p: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p values in the order given: reject those at most q, and at most a share q of rejections is false.

    Benjamini and Hochberg (1995), step-up: the i-th smallest of m becomes min over j >= i of p_j m / j. Holds for
    independent rows and for rows whose errors are positively related, as rows of one session are.
    """
    m = len(p)
    adjusted = [0.0] * m
    least = 1.0
    for rank, index in reversed(list(enumerate(sorted(range(m), key=p.__getitem__), start=1))):
        least = min(least, p[index] * m / rank)
        adjusted[index] = least
    return tuple(adjusted)
