"""What one operation is made of on each system, beside its figure: messages, switches, bytes, faults. docs/trio.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernometer.report.words.names import name, short_names
from kernometer.report.words.units import NOTHING, format_value
from kernometer.report.write.terminal import Block, Line
from kernometer.results.model import Result
from kernometer.results.rows import in_registry_order
from kernometer.stats.counters import by_emulator, by_kernel
from kernometer.stats.figures import figures
from kernometer.stats.model import RowFigure

Counts = Mapping[str, float]

#: Who answers a fault: the name of the kernel's counter, and the word in the table.
_FAULTS = {"procedure": "proc", "message": "msg", "paged": "paged", "refused": "refused", "kernel": "kernel"}
LEGEND = (
    "calls: of services, by programs and by each other. msgs: messages, and replies",
    "switches: directly to a server + by the ready queue. copied: bytes of messages",
    "spaces: switches of address spaces; of a kernel that tells none, writes of CR3",
    "granted: bytes by grant. faults: vm answered, a procedure (proc) or a server",
    "(msg); paged: vfs was asked first; refused; kernel: refused without asking",
)


@dataclass(frozen=True, slots=True)
class Tallies:
    """What operations are made of, by the counters of kernels that have them."""

    rows: tuple[tuple[str, tuple[tuple[str, tuple[str, ...]], ...]], ...]  #: a row, by system its cells
    heads: tuple[str, ...]
    legend: tuple[str, ...]


NOTHING_TOLD = Tallies((), (), ())


def _sum(*prefixes: str) -> Callable[[Counts], str]:
    return lambda counts: _text(sum(count for key, count in counts.items() if key.startswith(prefixes)))


def _switches(counts: Counts) -> str:
    direct, queued = (counts.get(f"switches.{kind}", 0.0) for kind in ("direct", "queued"))
    return f"{_text(direct, 10_000)}+{_text(queued, 10_000)}" if direct or queued else "0"


def _faults(counts: Counts) -> str:
    told = [f"{_text(counts[key])} {word}" for who, word in _FAULTS.items() if (key := f"faults.{who}") in counts]
    return ", ".join(told) or "0"


#: By head the cell's text from the kernel's counters.
_COLUMNS: Mapping[str, Callable[[Counts], str]] = {
    "calls": _sum("calls."),
    "msgs": _sum("messages."),
    "switches": _switches,
    "spaces": _sum("switches.address_space"),
    "copied": _sum("bytes.messages"),
    "granted": _sum("bytes.in", "bytes.out"),
    "faults": _faults,
}
HEADS = ("figure", *_COLUMNS)


def counters(systems: Mapping[str, Sequence[Result]]) -> Tallies:
    """The rows for which some system's kernel has counters, in the registry's order."""
    results = [result for sessions in systems.values() for result in sessions]
    told = dict.fromkeys(tally.row for result in results for tally in result.tallies)
    heads = short_names(list(systems))
    costs = [
        {row: figure for result in sessions for row, figure in figures(result).items()} for sessions in systems.values()
    ]
    rows = []
    for row in in_registry_order(results, told):
        lines = []
        for head, sessions, known in zip(heads, systems.values(), costs, strict=True):
            lines.append((head, (_figure(known.get(row)), *_cells(row, sessions))))
        rows.append((name(row), tuple(lines)))
    return Tallies(tuple(rows), HEADS, LEGEND) if rows else NOTHING_TOLD


def _figure(figure: RowFigure | None) -> str:
    if figure is None or figure.value is None:
        return NOTHING
    return _text(figure.value) if figure.unit == "instructions" else format_value(figure.value, figure.unit)


def _cells(row: str, results: Sequence[Result]) -> tuple[str, ...]:
    kernel = by_kernel(row, results)
    if kernel is not None:
        return tuple(cell(kernel) for cell in _COLUMNS.values())
    emulator = by_emulator(row, results)
    spaces = _text(emulator["cr3_writes"]) if "cr3_writes" in emulator else NOTHING
    return tuple(spaces if head == "spaces" else NOTHING for head in _COLUMNS)


def _text(count: float, most: float = 100_000) -> str:
    """The exact count below `most`; larger counts are rounded, to fit beside each other."""
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(count) >= max(most, factor):
            return f"{count / factor:.3g}{prefix}"
    is_integer = abs(count) >= 100 or abs(count - round(count)) < 0.005
    return f"{count:,.0f}" if is_integer else f"{count:,.{1 if abs(count) >= 1 else 2}f}"


def blocks(systems: Mapping[str, Sequence[Result]]) -> Iterator[Block]:
    """For the terminal, for each row: its name, then a line for each system."""
    rows = counters(systems).rows
    if not rows:
        return
    table = [("", *HEADS), *((system, *cells) for _row, lines in rows for system, cells in lines)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    yield Line("Counters of one operation", "bold", apart=True)
    yield Line(_line(table[0], widths), "dim")
    for row, lines in rows:
        yield Line(row, "bold")
        yield from (Line(_line((system, *cells), widths)) for system, cells in lines)
    yield from (Line(text, "dim") for text in LEGEND)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = cells
    figures = (cell.rjust(room) for cell, room in zip(others, widths[1:], strict=True))
    return " ".join((first.ljust(widths[0]), *figures))
