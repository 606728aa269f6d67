"""What a row's profile needs besides the emulator: the iteration to record, and the names of the guest's functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from kernometer.cache import cache_folder, kept
from kernometer.errors import TargetError, UsageError
from kernometer.guests import store
from kernometer.guests.inside import programs
from kernometer.guests.kernels import mach, symbols
from kernometer.guests.kernels.symbols import Symbols, Table
from kernometer.guests.plugins import events, profile
from kernometer.guests.plugins.trace import Trace
from kernometer.results.iteration import Iteration, median_iteration
from kernometer.results.model import Profile, Run
from kernometer.targets import booting
from kernometer.targets.base import Profiled, Program

#: Prints a Linux guest's symbols, with those of its loaded drivers.
LIST = ("/bin/sh", "-c", f"cat /proc/kallsyms; echo '{booting.DONE.decode()}'")
LISTED = "/proc/kallsyms of the guest"
UNCONFIRMED = f"{store.SYSTEM_MAP}, which the kernel does not confirm"
#: The prefix of servers' programs in Trio's kernel.
_IMAGES = "image_"


@dataclass(frozen=True, slots=True)
class ProfiledRow:
    """A row that was measured, and the iteration that is its figure."""

    name: str
    region: int
    iteration: Iteration
    runs: tuple[Run, ...]


def iteration(row: str, come: Sequence[bytes], known: events.Rows) -> ProfiledRow | None:
    """The row, from the records of its own guest. None without a figure, or for a row that counts something else than
    instructions, which has no bracket."""
    runs = tuple(run for run in _runs(row, come) if run.loop_cost)
    region = known.region(row)
    chosen = median_iteration(runs, less_baseline=known.is_net(row))
    return ProfiledRow(row, region, chosen, runs) if chosen is not None and region is not None else None


def recorded(row: ProfiledRow, profiled: Profiled, memory: str, middle: Sequence[int]) -> str:
    """The plugin's arguments: see guests/plugins/profile.c. `memory`: the argument of the other plugin, "" for none."""
    words = f"region={row.region},execution={'all' if profiled == 'totals' else row.iteration.number}"
    charged = f"{sum(1 << at for at in middle):x}"[::-1]
    return f"{words},{memory.removesuffix('/curves')},charged={charged}" if memory else words


def record(row: ProfiledRow, come: Sequence[bytes], trace: Trace, known: Symbols, profiled: Profiled) -> Profile:
    """The profile, from the trace and the records of the recorded guest. Raises TargetError without the row's runs."""
    again = {run.run: run for run in _runs(row.name, come)}
    run, sample = row.iteration.run, row.iteration.sample
    if {run.run: len(run.samples) for run in again.values()} != {run.run: len(run.samples) for run in row.runs}:
        raise TargetError(f"{row.name} was not measured in the guest that was recorded.", "Run it again.")
    if profiled == "totals":
        gross, read = (sum(sum(each.samples) for each in runs) for runs in (row.runs, again.values()))
        return profile.totals(profile.Counted(row.name, 0, 0, gross, read - trace.repeated), trace, known)
    read = again[run.run].samples[sample]
    counted = profile.Counted(row.name, run.run, sample, row.iteration.gross, read - trace.repeated)
    return profile.profile(counted, trace, known)


def _runs(row: str, come: Sequence[bytes]) -> tuple[Run, ...]:
    runs = [msgspec.json.decode(line, type=Run) for line in come if line.startswith(b'{"type":"run"')]
    return tuple(run for run in runs if run.row == row)


def of_files(guest: store.Guest, program: Program) -> Symbols:
    """The names of functions that the guest's files and the programs in it have."""
    if guest.at_console:  # its kernel and its programs are on its disk
        return Symbols(None, "", ())
    if guest.has(store.MACH):
        files = {mach.PROBE: mach.probe().read_bytes()}
    else:
        init, measures = booting.inside(guest, program)
        files = {program: measures, "init": init, "busybox": programs.busybox()}
    stored = (module.file for module in guest.manifest.modules if not module.made and module.file != store.LOADED)
    files |= {name: (guest.folder / name).read_bytes() for name in stored}
    known = [symbols.program_of(name, content) for name, content in files.items()]
    kernel = guest.code.read_bytes()
    table, source = symbols.of_elf(kernel), f"the symbols of {guest.code.name}"
    inside = symbols.embedded(kernel, _IMAGES) if table is not None else ()
    return Symbols(table, source if table else "", (*(program for program in known if program), *inside))


def of_kernel(listing: Path | None, guest: store.Guest) -> tuple[Table | None, str]:
    """The names of the kernel's functions and their source: what the kernel printed (None: it was not asked), else its
    build's System.map, which nothing confirms."""
    for path, source in ((listing, LISTED), (guest.folder / store.SYSTEM_MAP, UNCONFIRMED)):
        if path is not None and path.is_file():
            table = symbols.of_file(path.read_bytes())
            if table is not None:
                return table, source
    return None, ""


def unlike(guest: store.Guest, listing: Sequence[str]) -> str:
    """Why the names of its System.map are not checked against the kernel's own; "" if they are, and agree. Raises
    UsageError, naming the first function that differs, if the map is another build's."""
    if symbols.listed(listing) is None:
        return "the kernel lists no functions in /proc/kallsyms"
    given = (guest.folder / store.SYSTEM_MAP).read_text(errors="replace").splitlines()
    if difference := symbols.mismatch(given, listing):
        raise UsageError(
            f"The System.map is not that of this kernel: {difference}.",
            "Give the one of the same build, or none: a profile then asks the kernel.",
        )
    return ""


def listing_of(key: str) -> Path:
    """Where the list that a guest printed is kept. `key` identifies the guest."""
    return cache_folder() / "symbols" / key


def keep_listing(final: Path, lines: Sequence[bytes]) -> None:
    def make(folder: Path) -> Path:
        (folder / "listing").write_bytes(b"\n".join(lines))
        return folder / "listing"

    kept(final, make)
