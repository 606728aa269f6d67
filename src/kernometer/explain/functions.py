"""The functions that a row's figure is made of, and those that make the difference of two figures. Pure.

The lines of a profile and a few named lines sum to the figure exactly: docs/profile.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kernometer.explain.cycles import SHOWN
from kernometer.results.iteration import baseline_of, bracket_of
from kernometer.results.model import KERNEL, Profile, ProfilePage, Result
from kernometer.stats.model import DECIDED, Comparison
from kernometer.tables import packaged

#: The named lines, in their order.
INTERRUPTS = "interrupts in between"
REPEATED = "attempts that faulted, counted twice"
MOVED = "the second guest counted differently"
REST = "unexplained"
OUTSIDE = "outside the clock's readings, and attempts that faulted"
BRACKET = "the empty bracket"
BASELINE = "the row's baseline"
#: What a figure counts.
INSTRUCTIONS = "instructions"


@dataclass(frozen=True, slots=True)
class Function:
    """A function by name, in the kernel or in a program."""

    name: str
    kernel: bool

    @property
    def lacks(self) -> str:
        """The feature of the processor whose lack makes the kernel run it; "" if none is known."""
        return next((lack for lack, known in features().items() if self.kernel and self.name in known["names"]), "")


def features() -> dict[str, dict[str, Any]]:
    """Functions that a missing feature explains: features.toml."""
    return packaged(__package__, "features.toml")


@dataclass(frozen=True, slots=True)
class Breakdown:
    """One row's figure. All counts are of one iteration, which is `ops` operations, or of all iterations together."""

    row: str
    view: str
    ops: float
    functions: Mapping[Function, float]  #: the largest first
    named: Mapping[str, float]  #: without those that are 0; subtracted ones are negative
    spaces: Mapping[str, float]  #: instructions by address space; a space's name is that of the program in it
    tasks: Mapping[int, int]  #: instructions by task; 0 is the one that began
    source: str  #: of the kernel's names
    stacks: Mapping[tuple[str, ...], int]  #: of calls, outermost first; empty: not known
    without_stacks: str  #: why not
    footprints: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  #: of the kernel, and of each space
    what: str = INSTRUCTIONS
    kind: str = "functions"  #: what its lines are; of "pages" `spaces` are their owners

    @property
    def paths(self) -> Mapping[tuple[str, ...], int]:
        """Its stacks; if they are not known, each function as a stack."""
        return self.stacks or {(function.name,): int(count) for function, count in self.functions.items()}

    @property
    def total(self) -> float:
        """The figure times `ops`; for all iterations the sum of their samples."""
        return sum(self.lines.values())

    @property
    def lines(self) -> Mapping[Function, float]:
        """The functions and the named lines, whose names no function of a program has."""
        return {**self.functions, **{Function(what, kernel=False): count for what, count in self.named.items()}}


def breakdowns(result: Result) -> dict[str, Breakdown]:
    """By row, of the median iteration if there is one."""
    by_row: dict[str, Breakdown] = {}
    for profile in sorted(result.profiles, key=lambda profile: profile.view == "median"):
        made = breakdown(result, profile)
        if made is not None:
            by_row[profile.row] = made
    return by_row


def breakdown(result: Result, profile: Profile) -> Breakdown | None:
    """None if the result lacks the profile's run."""
    run = next((run for run in result.runs_of(profile.row) if run.run == profile.run), None)
    if run is None:
        return None
    functions: Counter[Function] = Counter()
    tasks: Counter[int] = Counter()
    interrupts = 0
    for line in profile.lines:
        tasks[line.task] += line.count
        if line.interrupt:
            interrupts += line.count
        else:
            functions[Function(profile.names[line.function], line.kernel)] += line.count
    named = {INTERRUPTS: interrupts, REPEATED: -profile.repeated, MOVED: profile.moved}
    named[REST if profile.ordered else OUTSIDE] = profile.rest
    if profile.view == "median":
        workload = result.workloads.get(run.workload)
        named |= {BRACKET: -bracket_of(run)}
        named |= {BASELINE: -baseline_of(run)} if workload and workload.figure_less_baseline else {}
    spaces = _spaces(profile)
    names = dict(zip(map(str, sorted({line.space for line in profile.lines})), spaces, strict=True))
    return Breakdown(
        row=profile.row,
        view=profile.view,
        ops=run.ops,
        functions=dict(functions.most_common()),
        named={what: count for what, count in named.items() if count},
        spaces=spaces,
        tasks=dict(sorted(tasks.items())),
        source=profile.source,
        stacks={tuple(profile.names[at] for at in stack.frames): stack.count for stack in profile.stacks},
        without_stacks=profile.without_stacks,
        footprints={names.get(space, space): counts for space, counts in profile.footprints.items()},
    )


def charged(result: Result, counted: Breakdown, what: str, *, by_page: bool = False) -> Breakdown | None:
    """The same row's counts of SHOWN in place of instructions, mean of the iterations that its memory record is of, to
    which the lines sum, by function or by page; None if they were not charged to any."""
    memory = next((memory for memory in result.memories if memory.row == counted.row), None)
    profile = next((each for each in result.profiles if (each.row, each.view) == (counted.row, counted.view)), None)
    if memory is None or profile is None or not (profile.pages if by_page else profile.charges):
        return None

    def count(counts: Mapping[str, int], times: int = memory.iterations) -> float:
        return sum(counts.get(name, 0) for name in SHOWN[what]) / times

    sums = {Function(profile.names[each.function], each.kernel): count(each.counts) for each in profile.charges}
    spaces: dict[str, float] = {}
    if by_page:
        sums = {}
        for whose, line, page in _pages(profile, counted):
            sums[line] = count(page.counts)
            spaces[whose] = spaces.get(whose, 0) + sums[line]
    less = {BRACKET: count(memory.empty, 1)}
    if memory.baseline_iterations:
        less = {BASELINE: count(memory.baseline, memory.baseline_iterations)}
    moved = count(memory.counts) - sum(sums.values())
    named = {MOVED: moved if abs(moved) > 1e-6 else 0, **{line: -number for line, number in less.items()}}
    return replace(
        counted,
        functions={line: n for line, n in sorted(sums.items(), key=lambda pair: -pair[1]) if n or by_page},
        named={line: number for line, number in named.items() if number},
        spaces={whose: n for whose, n in sorted(spaces.items(), key=lambda pair: -pair[1]) if n},
        tasks={},
        stacks={},
        footprints={},
        what=what,
        kind="pages" if by_page else counted.kind,
    )


def _pages(profile: Profile, counted: Breakdown) -> Iterator[tuple[str, Function, ProfilePage]]:
    """Each page as a line of a breakdown, after whose it is: what is in it, its lines that are touched, and whose page
    too it is in memory, or which function touched it first."""
    names = dict(zip(sorted({line.space for line in profile.lines}), counted.spaces, strict=True)) | {-1: KERNEL}
    owners = {page.frame: f"{names.get(page.space)} {page.address}" for page in profile.pages if page.space >= 0}
    for page in profile.pages:
        function, whose = profile.names[page.function], names.get(page.space, f"space {page.space}")
        if page.space < 0 and any(what.startswith("user") for what in page.lines):
            whose = function[function.rfind("(") + 1 : -1]  # a program's text may be in all spaces
        what = "stack" if page.stack else " and ".join(sorted({each.partition("_")[2] for each in page.lines}))
        whose_what, kernel = f"{whose} {what or 'pages of other iterations'}", whose == KERNEL
        lines = sum(int(mask, 16).bit_count() for mask in page.lines.values())
        also = owners.get(page.frame) if kernel else None
        told = f"{page.address} {what if kernel else whose_what}, {lines} line{'s' if lines > 1 else ''}, "
        told += also or (function if kernel else function.rpartition(" (")[0] or function)
        yield whose_what, Function(told if page.address else whose_what, kernel), page


def _spaces(profile: Profile) -> dict[str, int]:
    """Address spaces, named by the program that executed most in each, with a number from the second of a name on."""
    counts: dict[int, int] = Counter()
    programs: dict[int, Counter[str]] = {}
    for line in profile.lines:
        counts[line.space] += line.count
        name = profile.names[line.function]
        if not line.kernel and name.endswith(")"):
            programs.setdefault(line.space, Counter())[name[name.rindex("(") + 1 : -1]] += line.count
    named: dict[str, int] = {}
    for space, count in sorted(counts.items()):
        most = programs.get(space, Counter()).most_common(1)
        name = most[0][0] if most else "no program"
        number = sum(taken.rpartition(" ")[0] == name or taken == name for taken in named) + 1
        named[f"{name} {number}" if number > 1 else name] = count
    return named


@dataclass(frozen=True, slots=True)
class Change(Function):
    """The share of one function or named line in a difference: instructions of an operation."""

    a: float
    b: float

    @property
    def more(self) -> float:
        return self.b - self.a

    @property
    def state(self) -> str:
        """Whether only one side has it. A function that was renamed, or is now inlined, is one gone and one new."""
        return "new" if not self.a else "gone" if not self.b else ""


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of B's figure and A's, by function: the changes sum to it. The largest first."""

    row: str
    more: float  #: instructions of an operation
    changes: tuple[Change, ...]


def difference(a: Breakdown | None, b: Breakdown | None) -> Difference | None:
    """None unless both are there, of one iteration each, with equally many operations."""
    if a is None or b is None or (a.view, b.view) != ("median", "median") or a.ops != b.ops:
        return None
    of_a, of_b = a.lines, b.lines
    changes = [
        Change(key.name, key.kernel, of_a.get(key, 0) / a.ops, of_b.get(key, 0) / b.ops)
        for key in dict.fromkeys((*of_a, *of_b))
        if of_a.get(key, 0) != of_b.get(key, 0)
    ]
    changes.sort(key=lambda change: (-abs(change.more), change.name))
    return Difference(a.row, (b.total - a.total) / a.ops, tuple(changes))


def decided(comparison: Comparison) -> tuple[str, ...]:
    """The rows that cost more on one side."""
    return tuple(row.row for row in comparison.rows if row.verdict in DECIDED)


def differences(a: Sequence[Result], b: Sequence[Result], rows: Iterable[str]) -> dict[str, Difference]:
    """By row, from the newest session of each side that has its profile."""
    by_row = {}
    of_a, of_b = newest(a), newest(b)
    for row in rows:
        if (changed := difference(of_a.get(row), of_b.get(row))) is not None:
            by_row[row] = changed
    return by_row


def newest(results: Sequence[Result]) -> dict[str, Breakdown]:
    """By row, from the newest session that has its profile."""
    by_row: dict[str, Breakdown] = {}
    for result in sorted(results, key=lambda result: result.session.started):
        by_row |= breakdowns(result)
    return by_row
