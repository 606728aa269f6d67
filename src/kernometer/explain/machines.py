"""Kernels by machines: each session's kernel and machine, and how the variance splits. Pure.

docs/statistics.md, "Kernels by machines".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kernometer.arrays import Floats
from kernometer.results.model import Result
from kernometer.results.rows import Row, in_registry_order
from kernometer.stats.differences import check_definition
from kernometer.stats.figures import figures
from kernometer.stats.variance import Split, parts, split
from kernometer.tables import grouped

#: The beginnings of words of a guest's variant that change its machine; all others are the kernel's.
MACHINE_WORDS = ("machine=", "cpu=", "memory=", "display=", "device=", "seed=", "history=")
#: Machines that a guest may have been added with, which its name then does not tell, but its machine's text does.
OWN_MACHINES = ("machine=pc", "machine=q35")
#: The ends of names of guests of another architecture.
ARCHITECTURES = ("i386", "arm64", "riscv64")
STANDARD = "standard machine"
_GUEST = "qemu:"


@dataclass(frozen=True, slots=True)
class Study:
    """Kernels by machines, and the variance of their costs in each family and in all."""

    kernels: tuple[str, ...]
    machines: tuple[str, ...]
    by_path: bool
    families: Mapping[str, Split]  #: by a row's family, in the registry's order
    total: Split | None  #: of all operations; None if none has a figure in every cell
    missing: tuple[tuple[str, str], ...]  #: kernel and machine without a session
    left_out: tuple[str, ...]  #: rows without a figure in some cell


def factors(result: Result) -> tuple[str, str]:
    """Its kernel and its machine, in words. A guest's target names both. Elsewhere the kernel is what it calls itself,
    and the machine is the host, by its target if that names one, else by its id."""
    session = result.session
    if session.target.startswith(_GUEST):
        first, *words = session.target.removeprefix(_GUEST).split("+")
        architecture = first.rpartition("-")[2] if first.endswith(tuple(f"-{name}" for name in ARCHITECTURES)) else ""
        kernel = first.removesuffix(f"-{architecture}")
        machine = [word for word in words if word.startswith(MACHINE_WORDS)]
        own = f"machine={''.join(session.machine.split('; ')[1:2]).partition(' ')[0]}"
        if own in OWN_MACHINES and own not in machine:  # the guest was added with that machine
            machine.insert(0, own)
        named = "+".join(filter(None, (architecture, *machine)))
        return "+".join((kernel, *(word for word in words if word not in machine))), named or STANDARD
    host = session.target if session.target.startswith("ssh:") else f"host {session.host_id[:8]}"
    return result.kernel, session.machine if session.target.startswith("console:") else host


def study(results: Iterable[Result]) -> Study | None:
    """The split over sessions that are all by time or all by path; None without two kernels and two machines, or where
    each kernel has a machine of its own. One machine is enough if a kernel has two sessions by time: the rest is then
    known beside the kernel's part. Raises ResultError for counts of two definitions."""
    ordered = sorted(results, key=lambda result: result.session.started)
    cells: dict[tuple[str, str], list[Result]] = {}
    hosts: dict[str, str] = {}  #: by id, the first name under which it was measured
    for result in ordered:
        kernel, machine = factors(result)
        if result.session.host_id and not result.session.target.startswith(_GUEST):
            machine = hosts.setdefault(result.session.host_id, machine)
        cells.setdefault((kernel, machine), []).append(result)
    kernels, machines = (tuple(dict.fromkeys(cell[n] for cell in cells)) for n in (0, 1))
    by = {result.session.by for result in ordered}
    repeated = by == {"time"} and any(len(sessions) > 1 for sessions in cells.values())
    crossed = len(machines) > 1 and len(cells) > len(kernels)
    if len(kernels) < 2 or len(by) > 1 or not (crossed or repeated):
        return None
    check_definition(ordered)
    costs = {cell: _costs(sessions) for cell, sessions in cells.items()}
    rows = in_registry_order(ordered, dict.fromkeys(row for by_row in costs.values() for row in by_row))
    every = [(kernel, machine) for kernel in kernels for machine in machines]
    complete = [row for row in rows if all(row in costs.get(cell, {}) for cell in every)]
    workloads: dict[str, list[Floats]] = {}
    for row in complete:
        variance = parts([[costs[kernel, machine][row] for machine in machines] for kernel in kernels])
        workloads.setdefault(Row(row).workload, []).append(variance)
    families = grouped((Row(workload).family, points) for workload, points in workloads.items())
    return Study(
        kernels,
        machines,
        by == {"path"},
        {family: split(operations) for family, operations in families.items()},
        split([*workloads.values()]) if workloads else None,
        tuple(cell for cell in every if cell not in cells),
        tuple(row for row in rows if row not in complete),
    )


def _costs(sessions: Sequence[Result]) -> dict[str, list[float]]:
    """The costs of each row, one for each session with one. A cost of 0, which has no logarithm, is left out."""
    rows = (pair for result in sessions for pair in figures(result).items())
    return grouped((row, figure.cost) for row, figure in rows if figure.cost is not None and figure.cost > 0)
