"""Layout floors: how far a row's count moves when only the layout changes. docs/statistics.md, "Layout floors".

A floor is computed from stored sessions of one kernel on rotated machines (other memory, other seed), never stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernometer.results.model import Result
from kernometer.stats.figures import figures
from kernometer.stats.model import RowFigure

#: The least number of rotated machines for a floor: the difference of two may be an accident.
MIN_MACHINES = 3
#: A few machines do not show how far layout reaches. So the range of the logs is made so many times as wide: if a row's
#: counts are normal over machines, layout alone then exceeds the floor of one kernel in 5 rows of 100. From nine
#: machines on the range itself suffices. (tests/plain/stats/test_floors.py simulates it.)
REACH = {3: 2.69, 4: 1.75, 5: 1.40, 6: 1.24, 7: 1.13, 8: 1.05}


@dataclass(frozen=True, slots=True)
class RowSpread:
    """Counts of one row over rotated machines; instructions."""

    least: float
    most: float
    machines: int
    levels: bool = False  #: the iterations have levels on some machine, so these are means (stats/levels.py)

    @property
    def floor(self) -> float:
        """Relative: 0.01 is 1 %."""
        return math.expm1(REACH.get(self.machines, 1.0) * math.log(self.most / self.least))


@dataclass(frozen=True, slots=True)
class Layout:
    """One kernel's counts by one probe on rotated machines."""

    image: str
    command_line: str
    board: str
    probe: tuple[str, ...]
    machines: tuple[str, ...]
    rows: Mapping[str, RowSpread]
    path_definition: int = 0
    results: tuple[Result, ...] = ()  #: those of the sessions that counted a memory system


@dataclass(frozen=True, slots=True)
class Floors:
    """The floors for the counts of two builds; rows without a measured floor are not in `rows`."""

    rows: Mapping[str, float]  #: relative
    means: Mapping[str, float] = field(default_factory=dict)  #: the same of rows whose iterations have levels
    lacking: frozenset[str] = frozenset()  #: images that use other kernels' floors on some row
    others: int = 0  #: how many kernels these are


def layouts(results: Iterable[Result]) -> tuple[Layout, ...]:
    """Every kernel among them that was counted on `MIN_MACHINES` machines of one board by the same probe.

    Sides of an `ab`, incomplete sessions, those on other machines than our virtual ones, and old ones, whose rows
    depended on earlier rows, are ignored.
    """
    groups: dict[tuple[object, ...], list[Result]] = {}
    for result in results:
        session = result.session
        known = session.board and session.image and session.state
        if session.by != "path" or not (known and result.complete) or session.experiment:
            continue
        which = (session.image, session.command_line, session.board, session.state, result.probe, session.seed)
        groups.setdefault((*which, session.path_definition), []).append(result)
    made = (_layout(group) for group in groups.values())
    return tuple(layout for layout in made if layout is not None)


def _layout(group: Sequence[Result]) -> Layout | None:
    counted: dict[str, dict[str, list[RowFigure]]] = {}
    for result in group:
        for row, figure in figures(result).items():
            if figure.cost:
                counted.setdefault(row, {}).setdefault(result.session.machine, []).append(figure)
    rows = {row: _spread(by_machine) for row, by_machine in counted.items() if len(by_machine) >= MIN_MACHINES}
    if not rows:
        return None
    session = group[0].session
    return Layout(
        image=session.image,
        command_line=session.command_line,
        board=session.board,
        path_definition=session.path_definition,
        probe=group[0].probe,
        machines=tuple(sorted({result.session.machine for result in group})),
        rows=rows,
        results=tuple(result for result in group if result.memories),
    )


def in_measure(layout: Layout, rows_of: Callable[[Result], Mapping[str, float]]) -> Layout:
    """The same kernel's values of another measure, which `rows_of` makes of a session that counted a memory system."""
    values: dict[str, dict[str, list[float]]] = {}
    for result in layout.results:
        for row, value in rows_of(result).items():
            values.setdefault(row, {}).setdefault(result.session.machine, []).append(value)
    every = {row: [value for of_machine in of_row.values() for value in of_machine] for row, of_row in values.items()}
    return replace(
        layout,
        rows={
            row: RowSpread(min(every[row]), max(every[row]), len(of_row))
            for row, of_row in values.items()
            if len(of_row) >= MIN_MACHINES and min(every[row]) > 0
        },
    )


def _spread(machines: Mapping[str, Sequence[RowFigure]]) -> RowSpread:
    every = [figure for machine in machines.values() for figure in machine]
    levels = any(figure.levels for figure in every)
    counts = [count for figure in every if (count := figure.mean if levels else figure.cost) is not None]
    return RowSpread(min(counts), max(counts), len(machines), levels)


def floors_for(compared: Collection[Result], known: Iterable[Layout]) -> Floors:
    """A row's floor: the largest of the compared kernels' own floors, by this probe and on this board. A kernel without
    a floor for a row gets the largest of all others in `known` on this board."""
    boards = {(result.session.board, result.session.path_definition) for result in compared}
    fitting = [layout for layout in known if (layout.board, layout.path_definition) in boards]
    kernels = {(result.session.image, result.probe) for result in compared}
    rows: dict[str, float] = {}
    means: dict[str, float] = {}
    lacking: set[str] = set()
    stood_in: set[str] = set()
    for row in dict.fromkeys(row for result in compared for row in result.rows):
        of_row = [layout for layout in fitting if row in layout.rows]
        for image, probe in kernels if of_row else ():
            own = [layout for layout in of_row if (layout.image, layout.probe) == (image, probe)]
            spreads = [layout.rows[row] for layout in own or of_row]
            rows[row] = max(rows.get(row, 0.0), *(spread.floor for spread in spreads))
            with_levels = [spread.floor for spread in spreads if spread.levels]
            if with_levels:
                means[row] = max(means.get(row, 0.0), *with_levels)
            if not own:
                lacking.add(image)
                stood_in |= {layout.image for layout in of_row}
    return Floors(rows, means, frozenset(lacking), len(stood_in))


def with_floors(figures: Mapping[str, RowFigure], result: Result, known: Iterable[Layout]) -> dict[str, RowFigure]:
    """The figures of a result, with their rows' floors if those were measured for this kernel by this probe."""
    session = result.session
    which = (session.image, result.probe, session.board, session.path_definition)
    own = [layout for layout in known if (layout.image, layout.probe, layout.board, layout.path_definition) == which]
    floors = {
        row: max(layout.rows[row].floor for layout in own if row in layout.rows)
        for layout in own
        for row in layout.rows
    }
    return {row: replace(figure, floor=floors.get(row)) for row, figure in figures.items()}
