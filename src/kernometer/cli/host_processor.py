"""`--processor host`: this host as the processor whose memory system is counted. Its caches are those that Linux shows,
its latencies those of our own rows in a stored session, all else that of the nearest published one. docs/cycles.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from kernometer.cli.show_comparisons import figures_of
from kernometer.errors import MissingError, ResultError
from kernometer.host.tree import CPU, Tree, integer
from kernometer.results.model import Result
from kernometer.results.processor import LINE, Buffer, Cache, Cost, Processor, find
from kernometer.results.rows import Row
from kernometer.results.store import Store
from kernometer.tables import packaged
from kernometer.targets.local import host_id

HOST = "host"
_TABLE = packaged(__package__, "host_processor.toml")
#: The workload whose rows are its latencies.
ROWS: str = _TABLE["workload"]
#: By vendor: the nearest published processor, and a hit of its L1D in cycles.
NEAREST: Mapping[str, tuple[str, int]] = _TABLE["nearest"]
CACHES = {"1 Instruction": "l1i", "1 Data": "l1d", "2 Unified": "l2", "3 Unified": "l3"}
PAGE = 4096
SESSIONS = 30  #: how many are looked through for these rows
PUBLISHED = "Take a published processor, for example --processor skylake."
MEASURE = f"kernometer run --profile full {ROWS}"


def this_host(name: str, store: Store, tree: Tree | None = None) -> Processor:
    """The processor of `host` (by the newest session with ROWS), or of `host:RESULT`. Raises MissingError if this host
    shows too little of itself or has no such session, ResultError for a RESULT that is not one."""
    named = name.removeprefix(HOST).removeprefix(":")
    result = store.load(named) if named else _newest(store)
    if result.session.host_id != host_id():
        raise ResultError(f"{result.session.id} was measured on another host.", MEASURE)
    rows = {
        Row(row).values(f"{ROWS}@bytes=*,stride={_TABLE['stride']}"): figure.value
        for row, figure in figures_of(store, result).items()
    }
    latencies = {int(values[0]): value for values, value in rows.items() if values and value}
    cpus = {run.cpu for run in result.runs if run.workload == ROWS}
    return of_host(tree or Tree(Path("/")), max({0, *cpus}), latencies, result.session.id)


def _newest(store: Store) -> Result:
    for summary in store.summaries(target="local", by="time", newest=SESSIONS):
        if summary.complete and not summary.problem:
            result = store.read(summary.path)
            if result.session.host_id == host_id() and any(run.workload == ROWS for run in result.runs):
                return result
    raise MissingError(f"None of the last {SESSIONS} sessions by time of this host has {ROWS}.", MEASURE)


def of_host(tree: Tree, cpu: int, latencies: Mapping[int, float], session: str) -> Processor:
    """The processor of this CPU. `latencies`: nanoseconds of a load by bytes of its working set."""
    told = tree.fields("proc/cpuinfo")
    vendor = told.get("vendor_id", "")
    if vendor not in NEAREST:
        raise MissingError(f"No published processor is near one of {vendor or 'a vendor that is not told'}.", PUBLISHED)
    name, hit = NEAREST[vendor]
    near = find(name)
    caches = _caches(tree, cpu)
    inside = [size for size in latencies if size <= caches["l1d"].kib << 9]
    if not inside:
        raise MissingError(f"{session} has no {ROWS} within half of L1D.", MEASURE)
    cycles = {size: ns / latencies[max(inside)] * hit for size, ns in latencies.items()}
    others = {
        part: replace(value, source=f"as {near.name}: {value.source}")
        for part in near.geometry.__struct_fields__
        if isinstance(value := getattr(near.geometry, part), Buffer)
    }
    costs = {kind: replace(cost, source=f"as {near.name}: {cost.source}") for kind, cost in near.costs.items()}
    full, waits = caches["l1d"].kib << 10, float(hit)
    for level, room in (("l2", caches["l2"].kib << 10), ("l3", caches["l3"].kib << 10), ("memory", 1 << 62)):
        fitting = sorted(size for size in cycles if 2 * full <= size <= room)
        if fitting:
            size = next((size for size in fitting if size >= 4 * full), fitting[-1])
            beyond = (cycles[size] - _translation(near, size) - waits * full / size) / (1 - full / size) - waits
            if beyond <= 0:
                raise MissingError(f"In {session} a load from {level} takes no longer than one before it.", MEASURE)
            source = f"{ROWS} at {size >> 10} KiB in {session}: {waits + beyond:.1f} cycles in all, a hit of L1D {hit}"
            costs |= _scaled(near, level, beyond, source)
            waits += beyond
        else:  # no row is of its size
            waits += near.costs[f"{level}_code"].cycles
        full = room
    return Processor(
        f"{HOST}:{session}",
        f"this host, {told.get('model name', 'of no name')}, CPU {cpu}; what it does not show is as {near.name}",
        replace(near.geometry, **caches, **others),
        costs,
        near.sources,
    )


def _translation(near: Processor, size: int) -> float:
    """Cycles that a load in random order over `size` bytes waits for the TLB."""
    buffers = (near.geometry.dtlb, near.geometry.stlb)
    misses, walks = (max(0.0, 1 - buffer.entries * PAGE / size) for buffer in buffers)
    return misses * near.costs["stlb"].cycles + walks * near.costs["walk"].cycles


def _scaled(near: Processor, level: str, beyond: float, source: str) -> dict[str, Cost]:
    """The costs of a line from `level`, whose latency is so many cycles beyond that of the level before."""
    times = beyond / near.costs[f"{level}_code"].cycles  # all of the latency, as published
    scaled = {}
    for asker in ("code", "load", "store"):
        cost = near.costs[f"{level}_{asker}"]
        ends = {end: round(getattr(cost, end) * times, 1) for end in ("cycles", "least", "most")}
        scaled[f"{level}_{asker}"] = replace(cost, **ends, source=f"{source}; its share of that as {near.name}")
    return scaled


def _caches(tree: Tree, cpu: int) -> dict[str, Cache]:
    folder = f"{CPU}/cpu{cpu}/cache"
    kinds = {f"{folder}/{each}": tree.text(f"{folder}/{each}/level") for each in tree.names(folder)}
    levels = {CACHES.get(f"{level} {tree.text(f'{at}/type')}"): at for at, level in kinds.items()}
    missing = [name for name in CACHES.values() if name not in levels]
    if missing:
        raise MissingError(f"Linux shows no {', '.join(missing).upper()} of CPU {cpu} (/{folder}).", PUBLISHED)
    return {name: _cache(tree, levels[name]) for name in CACHES.values()}


def _cache(tree: Tree, at: str) -> Cache:
    numbers = (
        tree.number(f"{at}/{file}") for file in ("coherency_line_size", "ways_of_associativity", "number_of_sets")
    )
    line, ways, sets = (number or 0 for number in numbers)
    kib = integer(tree.text(f"{at}/size").removesuffix("K")) or 0
    if line != LINE:
        raise MissingError(f"/{at} has lines of {line} bytes, and the model has lines of {LINE}.", PUBLISHED)
    if not 1 <= ways <= 64 or line * ways * sets != kib * 1024:
        raise MissingError(f"/{at} does not have {kib} KiB in {sets} sets of 1 to 64 ways ({ways}).", PUBLISHED)
    return Cache(kib, ways, f"sysfs: /{at}")
