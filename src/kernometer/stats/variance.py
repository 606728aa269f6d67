"""How much of a figure's variation is the kernel's, how much the machine's. docs/statistics.md, "Kernels by machines".

Two crossed factors with sessions in each cell, on the logarithm of the cost. The shares are those of these kernels and
machines (fixed effects); the interval is for other operations of the same kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernometer.arrays import Floats, np
from kernometer.stats.intervals import LEVEL, t_quantile

#: The parts of the variance: main effects; what a kernel does on one machine and not on another; sessions of one kernel
#: on one machine.
PARTS = ("kernel", "machine", "interaction", "rest")
#: With fewer operations the shares have no interval.
LEAST_UNITS = 3


@dataclass(frozen=True, slots=True)
class Share:
    """A share of the variance, from 0 to 1. It has no interval with fewer than LEAST_UNITS operations."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Split:
    """The variance of the logarithm of some operations' costs over kernels and machines."""

    units: int  #: operations; the points of a curve are one
    deviation: float  #: the root of the whole variance, so that exp(deviation) is a factor
    shares: Mapping[str, Share]  #: by part, without parts that are not known


def parts(cells: Sequence[Sequence[Sequence[float]]]) -> Floats:
    """The variance of one row by PARTS, shape (4,). `cells`: costs by kernel, machine and session, at least 2 x 1 x 1.

    The noise of sessions adds to each effect, and is subtracted, so that a part may come out below 0. The last part is
    NaN if no cell has two sessions: the noise is then within the interaction. With one machine its part and the
    interaction are NaN.
    """
    logs = [[np.log(np.asarray(cell, dtype=np.float64)) for cell in row] for row in cells]
    means = np.array([[cell.mean() for cell in row] for row in logs])
    degrees = sum(cell.size - 1 for row in logs for cell in row)
    squares = sum(float(((cell - cell.mean()) ** 2).sum()) for row in logs for cell in row)
    rest = squares / degrees if degrees else np.nan
    kernels, machines = means.shape
    noise = rest / means.size * np.mean([[1 / cell.size for cell in row] for row in logs]) if degrees else 0.0
    of_kernel = means.mean(axis=1) - means.mean()
    of_machine = means.mean(axis=0) - means.mean()
    both = means - means.mean() - of_kernel[:, None] - of_machine[None, :]
    made = np.array(
        (
            np.mean(of_kernel**2) - (kernels - 1) * noise,
            np.mean(of_machine**2) - (machines - 1) * noise,
            np.mean(both**2) - (kernels - 1) * (machines - 1) * noise,
            rest,
        )
    )
    if machines == 1:
        made[1:3] = np.nan
    return made


def split(operations: Sequence[Sequence[Floats]]) -> Split:
    """The split over operations, each given by the `parts` of its points. Operations have equal weights, and so have
    the points of an operation.

    The interval is the jackknife's over operations with Student's t, cut at 0 and 1 (Miller, Biometrika 61, 1974).
    """
    units = np.array([np.mean(points, axis=0) for points in operations])
    known = ~np.isnan(units).any(axis=0)
    filled = np.where(known, units, 0.0)
    count = len(filled)
    value = _shares(filled.sum(axis=0))
    ends: list[tuple[float | None, float | None]] = [(None, None)] * len(PARTS)
    if count >= LEAST_UNITS:
        without = np.array([_shares(filled.sum(axis=0) - unit) for unit in filled])
        pseudo = count * value - (count - 1) * without
        half = t_quantile(0.5 + LEVEL / 2, count - 1) * pseudo.std(axis=0, ddof=1) / np.sqrt(count)
        low, high = (np.clip(value + sign * half, 0.0, 1.0) for sign in (-1, 1))
        ends = [(float(a), float(b)) for a, b in zip(low, high, strict=True)]
    shares = {part: Share(float(value[n]), *ends[n]) for n, part in enumerate(PARTS) if known[n]}
    return Split(count, float(np.sqrt(np.clip(filled.mean(axis=0), 0, None).sum())), shares)


def _shares(sums: Floats) -> Floats:
    """Parts below 0 become 0. All are 0 if nothing varies."""
    kept = np.clip(sums, 0.0, None)
    total = kept.sum()
    return np.asarray(kept / total if total > 0 else kept, dtype=np.float64)
