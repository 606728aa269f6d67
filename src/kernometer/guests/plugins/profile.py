"""From a trace and the names of functions to a row's profile. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from msgspec import structs

from kernometer.arrays import NDArray, np
from kernometer.errors import TargetError
from kernometer.guests.kernels.symbols import Program, Symbols
from kernometer.guests.plugins.flow import DIRECT_SWITCHES, TASK_SWITCHES, Exceptions, Walk, exceptions
from kernometer.guests.plugins.trace import Flow, Trace
from kernometer.results.model import KERNEL, Profile, ProfileCharge, ProfileLine, ProfilePage, ProfileStack

#: The most different stacks that a profile keeps, a fork has a thousand: the rarest are counted at their callers.
MAX_STACKS = 5_000
SWITCHES = (DIRECT_SWITCHES, TASK_SWITCHES)
#: Why a profile has no stacks.
ONLY_COUNTS = "the iteration is too long to keep the order of its instructions"
ALL_TOGETHER = "they are of all iterations together"


@dataclass(frozen=True, slots=True)
class Named:
    """The functions of a trace's instructions. `names`: "main (probe)" for a program, a kernel's bare."""

    names: tuple[str, ...]
    indices: NDArray[np.int64]  #: of each instruction, that of its name


def named(trace: Trace, symbols: Symbols) -> Named:
    """Names each executed instruction.

    A program is recognised by its code, page by page of memory. Without a name a function is its page of code; pages
    that several programs share in memory are one.
    """
    code = trace.instructions
    index: dict[str, int] = {}
    indices = np.zeros(len(code), dtype=np.int64)
    executed = np.union1d(np.flatnonzero(code["count"]), trace.steps)
    executed = np.union1d(executed, np.array([at for at, _, _ in trace.charges], dtype=np.int64))
    pages: dict[tuple[int, int], list[int]] = {}
    for at in map(int, executed):
        pages.setdefault((int(code["page"][at]), int(code["address"][at]) >> 12), []).append(at)
    for (_, page), places in pages.items():
        naming = _naming(code, places, page, symbols)
        for at in places:
            indices[at] = index.setdefault(naming(int(code["address"][at])), len(index))
    return Named(tuple(index), indices)


def _naming(code: NDArray[np.void], places: list[int], page: int, symbols: Symbols) -> Callable[[int], str]:
    """How the functions of one page of code are named, by address."""
    if code["kernel"][places[0]]:
        table = symbols.kernel
        return lambda address: (table.name(address) if table else "") or f"[kernel code at {page << 12:#x}]"
    program = _program(code, places, symbols.programs)
    if program is None:
        return lambda _: f"[user code at {page << 12:#x}]"
    return lambda address: f"{program.table.name(address) or f'[code at {page << 12:#x}]'} ({program.name})"


def _program(code: NDArray[np.void], places: list[int], programs: tuple[Program, ...]) -> Program | None:
    """The program that has all these instructions at their addresses."""
    for program in programs:
        if all(program.has(int(code["address"][at]), code["bytes"][at][: code["size"][at]].tobytes()) for at in places):
            return program
    return None


@dataclass(frozen=True, slots=True)
class Counted:
    """The iteration that a trace is of, or the sum of all: what the guest's own clock counted."""

    row: str
    run: int
    sample: int
    gross: int  #: in the guest that gave the row's figure
    again: int  #: in the guest that was recorded


def profile(counted: Counted, trace: Trace, symbols: Symbols) -> Profile:
    """The profile of one iteration. Raises TargetError if the trace has no instruction."""
    names = named(trace, symbols)
    if not trace.ordered:
        return _made(counted, "median", _sums(trace, names, counted.row), names, symbols, ONLY_COUNTS, trace)
    first, last = _bounds(trace)
    function, (space, spaces) = names.indices[trace.steps], _spaces(trace, first)
    handled = exceptions(trace, space)
    window = first + 1 + np.flatnonzero(~trace.goes_on[first + 1 : last + 1])
    direct, others = (frozenset(at for at, name in enumerate(names.names) if name in names_of) for names_of in SWITCHES)
    stacks, task, without = Walk(trace, function, space, direct | others, direct, handled.taken).stacks(first, last)
    kernel, interrupt = trace.instructions["kernel"][trace.steps], _interrupts(handled, len(trace.steps))
    keys = np.stack([each[window] for each in (function, kernel, space, task, interrupt)])
    each, counts = np.unique(keys, axis=1, return_counts=True)
    lines = tuple(
        ProfileLine(function=int(f), kernel=bool(k), space=int(s), task=int(t), interrupt=bool(i), count=int(n))
        for (f, k, s, t, i), n in zip(each.T, counts, strict=True)
    )
    repeated = sum(first < at <= last for at in handled.repeated)
    return _made(
        counted, "median", lines, names, symbols, without, trace, repeated=repeated, stacks=stacks, spaces=spaces
    )


def totals(counted: Counted, trace: Trace, symbols: Symbols) -> Profile:
    """The profile of all iterations together, from begin marker to end marker, ticks included."""
    names = named(trace, symbols)
    return _made(counted, "totals", _sums(trace, names, counted.row), names, symbols, ALL_TOGETHER, trace)


def _made(
    counted: Counted,
    view: Literal["median", "totals"],
    lines: tuple[ProfileLine, ...],
    names: Named,
    symbols: Symbols,
    without: str,
    trace: Trace,
    *,
    repeated: int = 0,
    stacks: Mapping[tuple[int, ...], int] | None = None,
    spaces: Mapping[int, int] | None = None,
) -> Profile:
    sum_of_lines = sum(line.count for line in lines)
    return Profile(
        row=counted.row,
        view=view,
        run=counted.run,
        sample=counted.sample,
        gross=counted.gross,
        counted=sum_of_lines,
        repeated=repeated,
        moved=counted.gross - counted.again,
        rest=counted.again - (sum_of_lines - repeated),
        ordered=stacks is not None,
        source=symbols.source,
        names=names.names,
        lines=lines,
        stacks=tuple(ProfileStack(frames=path, count=count) for path, count in sorted(_folded(stacks or {}).items())),
        without_stacks=without,
        charges=tuple(_charges(trace, names)),
        pages=tuple(_pages(trace, names)),
        footprints=_footprints(trace, spaces or {}),
    )


def _footprints(trace: Trace, spaces: Mapping[int, int]) -> dict[str, dict[str, int]]:
    """By space, and of the kernel."""
    made: dict[str, dict[str, int]] = {}
    for root, what, lines, pages in trace.footprints:
        whose = KERNEL if what.startswith("kernel") else str(spaces.get(root, 0))
        made.setdefault(whose, {}).update({f"{what}_lines": lines, f"{what}_pages": pages})
    return made


def _charges(trace: Trace, names: Named) -> Iterator[ProfileCharge]:
    """By function; functions' counts sum to those of the row."""
    sums: dict[tuple[int, bool], Counter[str]] = {}
    for at, kind, count in trace.charges:
        function = (int(names.indices[at]), bool(trace.instructions["kernel"][at]))
        sums.setdefault(function, Counter())[kind] += count
    for (at, kernel), counts in sums.items():
        yield ProfileCharge(function=at, kernel=kernel, counts=dict(counts))


def _pages(trace: Trace, names: Named) -> Iterator[ProfilePage]:
    """Those that the recorded iteration touched, and by address space what only the others asked for."""
    others: dict[int, Counter[str]] = {}
    for page in trace.pages:
        if page.address:
            yield structs.replace(page, function=int(names.indices[page.function]))
        else:
            others.setdefault(page.space, Counter()).update(page.counts)
    for space, counts in others.items():
        yield ProfilePage(space=space, counts=dict(counts))


def _folded(stacks: Mapping[tuple[int, ...], int]) -> Mapping[tuple[int, ...], int]:
    """At most MAX_STACKS of them; the deepest of the rarest are counted at their callers first."""
    kept = Counter(stacks)
    while len(kept) > MAX_STACKS:
        edge = sorted(kept.values())[len(kept) - MAX_STACKS]
        depth = max(len(path) for path, count in kept.items() if count <= edge)
        if depth == 1:
            break
        for path in [path for path, count in kept.items() if count <= edge and len(path) == depth]:
            count = kept.pop(path)
            kept[path[:-1]] += count
    return kept


def _sums(trace: Trace, names: Named, row: str) -> tuple[ProfileLine, ...]:
    """The lines of a trace without order."""
    code = trace.instructions
    sums: Counter[tuple[int, bool]] = Counter()
    for at in map(int, np.flatnonzero(code["count"])):
        sums[int(names.indices[at]), bool(code["kernel"][at])] += int(code["count"][at])
    if not sums:
        raise TargetError(f"{row}: the plugin saw no such region.", "Run it again.")
    return tuple(ProfileLine(function=f, kernel=k, count=n) for (f, k), n in sorted(sums.items()))


def _bounds(trace: Trace) -> tuple[int, int]:
    """The steps that read the clock first and last; without two readings the first and last step."""
    code = trace.instructions
    reads = np.flatnonzero((code["flow"][trace.steps] == Flow.CLOCK) & (code["kernel"][trace.steps] == 0))
    return (int(reads[0]), int(reads[-1])) if len(reads) > 1 else (0, len(trace.steps) - 1)


def _spaces(trace: Trace, first: int) -> tuple[NDArray[np.int64], dict[int, int]]:
    """The number of each step's address space, 0 for that of the step `first`; the numbers by page-table base."""
    known: dict[int, int] = {}
    before = [root for at, _, root in trace.readings if at <= first]
    if before:
        known[before[-1]] = 0
    numbers = np.array([0, *(known.setdefault(root, len(known)) for _, _, root in trace.readings)], dtype=np.int64)
    since = np.array([at for at, _, _ in trace.readings], dtype=np.int64)
    return numbers[np.searchsorted(since, np.arange(len(trace.steps)), side="right")], known


def _interrupts(handled: Exceptions, steps: int) -> NDArray[np.int64]:
    """1 for each step while an interrupt was handled."""
    mark = np.zeros(steps, dtype=np.int64)
    for begin, end in handled.interrupts:
        mark[begin : end + 1] = 1
    return mark
