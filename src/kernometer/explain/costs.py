"""What servers cost an operation of Trio: its messages, copies and faults, at the price of each alone. Pure.

cost(servers) - cost(kernel) = traps × t + messages × m + requests × r + copies × g + bytes × c + faults × f +
switches × q + the rest. The counts are the kernel's counters in one operation. The prices come from Trio's own units
(rows `trio/*`) on the same two kernels, each by arithmetic and none by a fit. The rest, always stated, is what they do
not explain. All figures are instructions. docs/explain.md, "Structures of Trio".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from kernometer.results.model import Result
from kernometer.results.rows import Row, in_registry_order
from kernometer.stats.counters import by_kernel
from kernometer.stats.figures import instructions

#: The events in one operation, by the kernel's name of the counter.
Counts = Mapping[str, float]

_CALL = "trio/call@bytes="
#: A null call of a service, which is a message if services are servers.
NULL_CALL = f"{_CALL}0"
#: What no price explains.
REST = "the rest"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of event in an operation, and the row whose figure contains its price."""

    name: str  #: plural
    what: str  #: for readers
    row: str
    count: Callable[[Counts, Counts], float]  #: in an operation, from the counters in the kernel and with servers
    less: str = ""  #: the row that has the whole price except this event's


def _of(*names: str) -> Callable[[Counts, Counts], float]:
    return lambda _, servers: sum(servers.get(name, 0.0) for name in names)


def _requests(_: Counts, servers: Counts) -> float:
    """Requests of servers to the kernel, without copies and without one reply for each message."""
    others = ("messages.replies", "copies.bytes", "copies.strings")
    return max(0.0, servers.get("traps.servers", 0.0) - sum(servers.get(name, 0.0) for name in others))


def _switches(kernel: Counts, servers: Counts) -> float:
    return servers.get("switches.queued", 0.0) - kernel.get("switches.queued", 0.0)


#: In an order in which each price needs only those before it.
KINDS = (
    Kind("traps", "system calls, each of which looks for a server first", "trio/trap", _of("traps.system_calls")),
    Kind(
        "messages",
        "calls of a server and its replies, with the switches there and back",
        NULL_CALL,
        _of("messages.calls"),
    ),
    Kind(
        "bytes",
        "bytes by grant, each beyond what a copy within the kernel costs",
        f"{_CALL}4096",
        _of("bytes.in", "bytes.out"),
        f"{_CALL}64",
    ),
    Kind("copies", "copies by grant, each with its entry in the table of grants", f"{_CALL}8", _of("copies.bytes")),
    Kind("strings", "strings by grant, up to their end, as paths are", "trio/string", _of("copies.strings")),
    Kind("requests", "what else servers ask of the kernel", "trio/flush@pages=1", _requests),
    Kind("faults", "faults that a server answers, beyond their messages", "trio/fault@cow=0", _of("faults.message")),
    Kind(
        "switches",
        "further switches by the ready queue: a server that goes on, whoever waited and is replied to",
        "trio/turn@same-cpu",
        _switches,
    ),
)


@dataclass(frozen=True, slots=True)
class Side:
    """One structure: figures and counters by row, of workloads and units together."""

    name: str
    figures: Mapping[str, float]
    counters: Mapping[str, Counts]

    @property
    def has_servers(self) -> bool:
        """Whether a null call is a message."""
        return self.counters.get(NULL_CALL, {}).get("messages.calls", 0.0) > 0


@dataclass(frozen=True, slots=True)
class Part:
    """What one kind of event adds to an operation."""

    kind: str
    count: float
    price: float

    @property
    def cost(self) -> float:
        return self.count * self.price


@dataclass(frozen=True, slots=True)
class Costs:
    """One operation."""

    row: str
    kernel: float  #: its figure with the services in the kernel
    servers: float
    parts: tuple[Part, ...]

    @property
    def difference(self) -> float:
        return self.servers - self.kernel

    @property
    def rest(self) -> float:
        return self.difference - sum(part.cost for part in self.parts)


@dataclass(frozen=True, slots=True)
class Explained:
    """The prices, and all operations that both sides have, in the registry's order."""

    kernel: str  #: the name of the side with its services in the kernel
    servers: str
    prices: Mapping[str, float]  #: by kind; kinds that the units do not cause have none
    rows: tuple[Costs, ...]  #: workloads
    units: tuple[Costs, ...]  #: rows of Trio's own; some of them are exact, for prices come from them

    @property
    def median_rest(self) -> float:
        """The rest as a share of the difference, without its sign: the median over operations that differ."""
        shares = [abs(row.rest / row.difference) for row in self.rows if row.difference]
        return median(shares) if shares else 0.0


def side(name: str, results: Iterable[Result]) -> Side:
    """From sessions by path of one kernel, workloads and units; of two with one row the newer counts. Rows less a
    baseline are left out, for the kernel's counters contain the baseline."""
    values: dict[str, float] = {}
    counters: dict[str, Counts] = {}
    for result in sorted(results, key=lambda result: result.session.started):
        net = {workload.name for workload in result.workloads.values() if workload.figure_less_baseline}
        for row, count in instructions(result).items():
            told = None if Row(row).workload in net else by_kernel(row, (result,))
            if told is not None:
                values[row], counters[row] = count, told
    return Side(name, values, counters)


def explained(a: Side, b: Side, results: Iterable[Result]) -> Explained | None:
    """What the side with servers costs beyond the other; None unless exactly one has servers, or if one lacks the
    units. `results` define the order of rows."""
    if NULL_CALL not in a.figures or NULL_CALL not in b.figures or a.has_servers == b.has_servers:
        return None
    kernel, servers = (b, a) if a.has_servers else (a, b)
    prices: dict[str, float] = {}
    for kind in KINDS:
        price = _price(kind, kernel, servers, prices)
        if price is not None:
            prices[kind.name] = price
    both = [row for row in kernel.figures if row in servers.figures]
    costs = [_costs(row, kernel, servers, prices) for row in in_registry_order(list(results), both)]
    return Explained(
        kernel.name,
        servers.name,
        prices,
        tuple(cost for cost in costs if not Row(cost.row).is_unit_cost),
        tuple(cost for cost in costs if Row(cost.row).is_unit_cost),
    )


def _price(kind: Kind, kernel: Side, servers: Side, known: Mapping[str, float]) -> float | None:
    """The price of one event of that kind; None if its row is missing, or has no such event."""
    rows = [row for row in (kind.row, kind.less) if row]
    if any(row not in each_side.figures for row in rows for each_side in (kernel, servers)):
        return None
    rests, counts = [], []
    for row in rows:
        rests.append(_costs(row, kernel, servers, known).rest)
        counts.append(kind.count(kernel.counters[row], servers.counters[row]))
    count = counts[0] - sum(counts[1:])
    return (rests[0] - sum(rests[1:])) / count if count else None


def _costs(row: str, kernel: Side, servers: Side, prices: Mapping[str, float]) -> Costs:
    counts = ((kind.name, kind.count(kernel.counters[row], servers.counters[row])) for kind in KINDS)
    parts = tuple(Part(name, count, prices[name]) for name, count in counts if count and name in prices)
    return Costs(row, kernel.figures[row], servers.figures[row], parts)
