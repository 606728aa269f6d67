"""The state of the core around each sample, from the empty loop. docs/statistics.md, "The state of the core"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kernometer.arrays import Floats, Truths, np
from kernometer.results.model import Result, Run

#: Readings so many times as slow as the fastest were interrupted, and form no level.
INTERRUPTED = 4.0
#: The least ratio of two levels. Frequency alone moves the loop by less; a sibling thread doubles its time.
APART = 1.25
#: A level holds at least this share of the readings …
LEAST_SHARE = 0.01
#: … and between two the readings are at most this share as dense as at the less dense of them.
VALLEY = 0.5
#: Width of a bin of the histogram for levels, on the logarithm.
BIN = 0.02
#: Empty loops of two builds count as the same if their quiet levels are within this factor.
ALIKE = 1.1
#: The least number of readings for levels.
LEAST_READINGS = 100
#: The quiet samples that a run's figure needs, and their share. Few quiet samples may contain unseen disturbances.
ENOUGH, ENOUGH_SHARE = 5, 0.2


@dataclass(frozen=True, slots=True)
class Core:
    """The core's state during a session, or during both sides of an `ab`."""

    #: ns of one iteration; readings above it are not quiet. None: there is only one level.
    edge: float | None
    shared: float  #: the share of all samples beside which a reading is above the edge


def core_of(runs: Sequence[Run]) -> Core | None:
    """The state from the readings of all these runs; None if there are no or too few readings."""
    beside = _beside(runs)
    if not beside:
        return None
    edge = edge_of_runs(runs)
    if edge is None:
        return Core(None, 0.0)
    quiet = sum(int(np.count_nonzero(quiet_samples(run, edge))) for run in beside)
    return Core(edge, 1 - quiet / sum(len(run.samples) for run in beside))


def edge_of_runs(runs: Sequence[Run]) -> float | None:
    """Its edge alone; None without one, and without a state."""
    beside = _beside(runs)
    return edge_of(np.concatenate([readings(run) for run in beside])) if beside else None


def _beside(runs: Sequence[Run]) -> list[Run]:
    """The runs with readings beside their samples; none if all together have too few."""
    beside = [run for run in runs if run.loop_every and run.loop_batch]
    return beside if sum(len(run.loop_cost) for run in beside) >= LEAST_READINGS else []


def core_of_both(a: Result, b: Result) -> Core | None:
    """The state over two sides that were measured in turn; None if their empty loops cannot be compared. Another
    compiler makes another loop. The quiet levels of probes with different builds must be within `ALIKE`."""
    together = core_of((*a.runs, *b.runs))
    if a.header is None or b.header is None or a.header.probe == b.header.probe or together is None:
        return together
    quiet = [_quiet_level(side.runs) for side in (a, b)]
    return together if max(quiet) <= ALIKE * min(quiet) else None


def _quiet_level(runs: Sequence[Run]) -> float:
    """Median ns of one iteration in the fastest level."""
    core = core_of(runs)
    times = np.concatenate([readings(run) for run in runs if run.loop_every and run.loop_batch])
    return float(np.median(times[times <= core.edge] if core and core.edge else times))


def readings(run: Run) -> Floats:
    """Readings of the empty loop, ns per iteration with the clock, shape (readings,); none in cold rows and by path."""
    return np.asarray(run.loop_cost if run.loop_batch else (), dtype=np.float64) / max(run.loop_batch, 1)


def edge_of(times: Floats) -> float | None:
    """The edge between the fastest level of these readings and slower ones; None if there is only one level.

    Shape (n,), any unit. It splits the logarithms into two classes whose means are the furthest apart for their spread
    (Otsu, IEEE Trans. SMC 9, 1979). The split counts if the classes are levels (`APART`, `LEAST_SHARE`, `VALLEY`), and
    the edge is where the readings between them are the least dense.
    """
    logs = np.log(times[times > 0])
    if len(logs) == 0:
        return None
    logs = logs[logs < np.quantile(logs, LEAST_SHARE) + math.log(INTERRUPTED)]
    counts, ends = np.histogram(logs, bins=max(2, math.ceil(np.ptp(logs) / BIN)))
    middles = (ends[:-1] + ends[1:]) / 2
    below = np.cumsum(counts)[:-1] / len(logs)
    sums = np.cumsum(counts * middles)[:-1] / len(logs)
    total = float(counts @ middles) / len(logs)
    with np.errstate(divide="ignore", invalid="ignore"):
        away = (total - sums) / (1 - below) - sums / below
    levels_apart = (away >= math.log(APART)) & (below >= LEAST_SHARE) & (below <= 1 - LEAST_SHARE)
    if not levels_apart.any():
        return None
    between = np.where(levels_apart, below * (1 - below) * away**2, -1.0)
    split = _middle_of(between > (1 - 1e-9) * between.max()) + 1
    density = np.convolve(counts, np.ones(3) / 3, "same")
    fast, slow = int(np.argmax(density[:split])), split + int(np.argmax(density[split:]))
    valley = density[fast : slow + 1]
    if valley.min() > VALLEY * min(density[fast], density[slow]):
        return None
    return math.exp(float(middles[fast + _middle_of(valley == valley.min())]))


def _middle_of(chosen: Truths) -> int:
    """The middle one of equally good splits: between two narrow levels there are many."""
    places = np.flatnonzero(chosen)
    return int(places[len(places) // 2])


def enough(quiet: Truths) -> bool:
    """Whether these samples give a figure of the quiet core."""
    return int(quiet.sum()) >= max(ENOUGH, ENOUGH_SHARE * len(quiet))


def quiet_samples(run: Run, edge: float | None) -> Truths:
    """Which samples lie between two readings of the fastest level, shape (samples,). Without an edge: all of them."""
    return _quiet(run, edge, len(run.samples), 0)


def quiet_baseline(run: Run, edge: float | None) -> Truths:
    """Which of its baseline's samples are quiet; their readings follow those of the samples."""
    of_samples = -(-len(run.samples) // run.loop_every) if run.loop_every else 0
    return _quiet(run, edge, len(run.baseline.samples) if run.baseline else 0, of_samples)


def _quiet(run: Run, edge: float | None, samples: int, first: int) -> Truths:
    """Which of `samples` samples are quiet; the first comes after reading `first`."""
    places = np.arange(samples)
    if edge is None or not run.loop_every:
        return places >= 0
    quiet = readings(run) <= edge
    before = first + places // run.loop_every
    known = before + 1 < len(quiet)  # a record from a file may have fewer
    before = np.where(known, before, 0)
    return np.asarray(known & quiet[before] & quiet[np.minimum(before + 1, len(quiet) - 1)])
