"""Sessions of Trio's partitions that were made up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hypothesis import strategies as st

from kernometer.explain.partitions import Pair, cut, plan, target
from kernometer.results.model import Result
from tests.support.stats.simulate import path_result

ROW = "a/b"
#: a calls b and c, b calls c and d.
CALLS: tuple[Pair, ...] = (("a", "b"), ("a", "c"), ("b", "c"), ("b", "d"))
PLAN = plan("abcd", CALLS)


def costs(out: Iterable[str], prices: Mapping[str, float], interactions: Mapping[Pair, float], once: float) -> float:
    """A model: what an operation costs with these services out of the kernel; `once` if there is any."""
    gone = set(out)
    pairs = sum(more for pair, more in interactions.items() if gone >= set(pair))
    return 1000 + sum(prices[each] for each in gone) + pairs + once * bool(gone)


def systems(
    prices: Mapping[str, float], interactions: Mapping[Pair, float], beyond: float = 0.0, once: float = 0.0
) -> dict[str, dict[str, float]]:
    """Figures of that model, whose micro costs `beyond` more than all its pairs together."""
    everything = costs(prices, prices, interactions, once) + beyond
    found = {"mono": 1000.0, "micro": everything, "hybrid": 1.0, "one-server": 2.0}
    found |= {cut(*each): costs(each, prices, interactions, once) for each in (*PLAN.pairs, *PLAN.services)}
    found |= {name: everything - 5 for name in PLAN.structures if name not in found}
    return {name: {ROW: figure} for name, figure in found.items()}


prices = st.fixed_dictionaries({each: st.integers(-50, 5000).map(float) for each in "abcd"})
interactions = st.dictionaries(st.sampled_from(CALLS), st.integers(-999, 999).map(float))
once = st.integers(0, 500)


def session(structure: str, count: int, machine: str = "", **changes: object) -> Result:
    return path_result(structure, {ROW: count}, target=target(structure, machine), **changes)
