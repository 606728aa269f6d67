"""The guests of one job: one that lists the rows, then one for each row, each in its own QEMU.

The history of a row's guest does not depend on the other rows: the guest boots, or it continues from one that was saved
when it had booted and not yet asked for its command. Which saved guest that is depends on the row's needs only.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import msgspec

from kernometer.cache import sha256
from kernometer.errors import TargetError
from kernometer.guests import store
from kernometer.guests.emulator.process import talking
from kernometer.guests.emulator.qemu import Boot, Phase, argv
from kernometer.guests.images import initramfs
from kernometer.guests.inside import programs
from kernometer.guests.inside.programs import Provided
from kernometer.guests.kernels.symbols import Symbols
from kernometer.guests.plugins import events
from kernometer.guests.plugins.events import recounted
from kernometer.processes import scratch
from kernometer.results.model import Failure, Unsupported
from kernometer.targets import booting, profiling
from kernometer.targets.base import Call, Deadline, Job
from kernometer.targets.booting import BULK, CONSOLE, INITRD, TRACE, counts_of, explained, trace_of
from kernometer.targets.consoles import attached
from kernometer.targets.consoles import saving as at_console
from kernometer.targets.consoles.attached import DISK
from kernometer.targets.consoles.description import Loaded
from kernometer.targets.consoles.images import Image
from kernometer.targets.saved import saving, states
from kernometer.targets.side_by_side import Lines

#: With these the probe lists the rows and runs none.
DEFINE = ("--only", "define")
#: What guests with another history run before they are ready: see _before.
FAMILIES = ("proc/*", "mem/*", "fs/*", "ipc/*", "ctx/*", "sig/*", "syscall/*", "cpu/*", "clock/*")
_UNSUPPORTED = b'{"type":"unsupported"'
_DEFINING = (b'{"type":"header"', b'{"type":"workload"', _UNSUPPORTED)
#: The most for a guest to boot until it is ready; one that prints nothing new is given up sooner.
BOOT_SECONDS = 1800.0


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Kit:
    """The common parts of guests for rows with the same needs."""

    initrd: bytes  #: b"" if the guest takes none
    given: Provided  #: the guest's files, and arguments for the probe: where the guest's disks are
    key: str  #: identifies what boots, and names its saved state


@dataclass(slots=True)
class Guests:
    """`held` keeps the saved guests in use; None: nothing is saved, and each call of the probe boots a guest."""

    name: str
    guest: store.Guest
    identity: str  #: QEMU's version and the kernel's image
    boot: Callable[[tuple[str, ...], Phase], Boot]  #: by the probe's arguments
    given: Callable[[frozenset[str]], Provided]  #: by the rows' needs
    job: Job
    until: Deadline
    held: ExitStack | None
    profiler: Callable[[], Path]  #: builds the plugin that records instructions
    disk: Image | None = None
    system: Loaded | None = None  #: how it is brought to a waiting probe at its console
    _kits: dict[frozenset[str], _Kit] = field(default_factory=dict)
    _saved: dict[str, TargetError | None] = field(default_factory=dict)  #: None: saved; a missing key: not yet
    _begun: set[str] = field(default_factory=set)  #: keys of guests that are saved or being saved
    _rows: events.Rows = field(default_factory=events.Rows)
    _names: dict[str, Symbols] = field(default_factory=dict)  #: by a kit's key
    _defined: bool = False
    _unsupported: set[str] = field(default_factory=set)

    def all(self) -> Iterator[Lines]:
        """The lines of each guest, in the order in which they must begin."""
        if not self.job.calls:
            yield self._guest(self.job.arguments, self.job.needs, self._rows)
            return
        for needs in dict.fromkeys(call.needs for call in self.job.calls) if self.held is not None else ():
            yield self._made_ready(needs)
        yield self._definitions()
        for call in self.job.calls:
            yield self._row(call)

    def saved(self) -> Lines:
        """Saves the guest for rows without needs. Raises TargetError."""
        yield from self._state(self._kit(frozenset()))

    def _made_ready(self, needs: frozenset[str]) -> Lines:
        """Saves the guest for these needs. If that fails, each row that uses it reports the error."""
        try:
            yield from self._state(self._kit(needs))
        except TargetError:
            return

    def _definitions(self) -> Lines:
        """Header, definitions, and unsupported rows, from a guest without needs. Other records are left out, for some
        systems measure rows even here."""
        words = self.given(self.job.needs).arguments
        for line in self._guest((*words, *DEFINE, *self.job.arguments), frozenset(), self._rows):
            if line is None or line.startswith(_DEFINING):
                yield line
            if line is not None and line.startswith(_UNSUPPORTED):
                self._unsupported.add(msgspec.json.decode(line, type=Unsupported).row)
        self._defined = True

    def _row(self, call: Call) -> Lines:
        """All records of a row or none: a guest that fails later gives no figure."""
        while not self._defined:
            yield None
        if call.row in self._unsupported:
            return
        come, rows = [], events.Rows(self._rows)
        try:
            for line in self._guest(call.arguments, call.needs, rows):
                if line is None:
                    yield None
                elif not line.startswith(_DEFINING[:2]):
                    come.append(line)
        except TargetError as error:
            if self.until.passed:
                raise
            come = [_failed(call.row, error)]
        yield from come
        if self.job.profiled:
            yield from self._profile(call, come, rows.middle.get(call.row, ()))

    @property
    def _probe(self) -> str:
        """Its path in the guest."""
        return self.system.description.compile.probe if self.system is not None else f"/{initramfs.PROBE}"

    @property
    def _phase(self) -> Phase:
        return "" if self.held is None else "restored"

    def _profile(self, call: Call, come: Sequence[bytes], middle: Sequence[int]) -> Lines:
        """The row's profile, from a second guest that begins from the same state. `middle`: the executions of its
        memory record."""
        counted = profiling.iteration(call.row, come, self._rows)
        if counted is None:
            return
        try:
            known = yield from self._symbols(call.needs)
            lines: list[bytes] = []
            boot = self.boot(call.arguments, self._phase)
            recorded = profiling.recorded(counted, self.job.profiled, boot.recorded, middle)
            boot = replace(boot, plugin=self.profiler(), events=Path(TRACE), recorded=recorded, entries=False)
            told = (*self._kit(call.needs).given.arguments, *call.arguments)
            guest = self._emulated(boot, (self._probe, *told), call.needs, booting.records, trace_of)
            trace = yield from _kept(guest, lines)
            yield msgspec.json.encode(profiling.record(counted, lines, trace, known, self.job.profiled))
        except TargetError as error:
            if self.until.passed:
                raise
            yield _failed(call.row, error)

    def _symbols(self, needs: frozenset[str]) -> Generator[None, None, Symbols]:
        """The names of this guest's functions. For a kernel without symbols Linux lists them itself."""
        kit = self._kit(needs)
        if kit.key not in self._names:
            known = profiling.of_files(self.guest, self.job.program)
            if known.kernel is None:
                asked = self.guest.has_init and programs.busybox()
                listing = (yield from self._listing(needs)) if asked else None
                table, source = profiling.of_kernel(listing, self.guest)
                known = replace(known, kernel=table, source=source)
            self._names[kit.key] = known
        return self._names[kit.key]

    def _listing(self, needs: frozenset[str]) -> Generator[None, None, Path]:
        """The file with Linux's own list of its functions, which a guest prints once."""
        listing = profiling.listing_of(self._kit(needs).key)
        if not listing.is_file():
            lines: list[bytes] = []
            boot = replace(self.boot((), self._phase), plugin=None, events=None)
            guest = self._emulated(boot, profiling.LIST, needs, booting.output, lambda _: None)
            yield from _kept(guest, lines)
            profiling.keep_listing(listing, lines)
        return listing

    def listing(self) -> Lines:
        """The lines of that file for a guest without drivers."""
        listing = yield from self._listing(frozenset())
        yield from listing.read_bytes().splitlines()

    def _guest(self, arguments: tuple[str, ...], needs: frozenset[str], rows: events.Rows) -> Lines:
        """One call of the probe, in a guest that ends after it."""
        boot = self.boot(arguments, self._phase)
        words = (self._probe, *self._kit(needs).given.arguments, *arguments)
        read = counts_of if self.job.by == "path" else lambda _: {}
        guest = self._emulated(boot, words, needs, booting.records, read)
        if self.job.by == "time":
            yield from guest
            return
        held: list[bytes] = []
        regions = yield from _kept(guest, held)
        for line in held:
            rows.see(line)
        yield from recounted(held, rows, regions, clock=self.guest.architecture.counts)
        yield from map(msgspec.json.encode, rows.records(regions))

    def _emulated(
        self,
        boot: Boot,
        words: tuple[str, ...],
        needs: frozenset[str],
        lines_of: Callable[..., Lines],
        read: Callable[[Path], _T],
    ) -> Generator[bytes | None, None, _T]:
        """The output of the command `words` in a guest that ends after it; returns what `read` finds in its folder."""
        kit = self._kit(needs)
        state = yield from self._state(kit)
        with scratch("kernometer-qemu-") as folder:
            booting.lay_out(self.guest, folder, b"" if state else self._archive(kit.given, boot, words))
            if state is not None:
                for file in state.iterdir():
                    (folder / file.name).symlink_to(file)
            with talking(argv(boot), folder, 2 if state else 0) as (process, sockets):
                try:
                    if state:
                        monitor, debugger = sockets
                        _, at = saving.restore(monitor, debugger, self.guest.architecture, words, self.until)
                        at.proceed()
                    output = BULK if self.guest.manifest.output == "debug-port" else CONSOLE
                    at_once = state is not None and self.system is None  # at a console a file has the row's output
                    watch = booting.Watch(folder, self.name, at_once=at_once)
                    yield from lines_of(process, output, self.job, self.until, watch)
                except TargetError as error:
                    raise explained(error, folder, self.name, restored=state is not None) from error
            return read(folder)

    def _kit(self, needs: frozenset[str]) -> _Kit:
        if self.system is not None:
            needs = frozenset()  # what the system lacks the probe finds
        if needs not in self._kits:
            given = self.given(needs)
            boot = self.boot((), "" if self.held is None else "saved")
            initrd = self._archive(given, boot, booting.WAIT)
            source = b"".join(attached.carried(self.system.description).values()) if self.system is not None else b""
            # independent of the cache's place
            boot = replace(boot, kernel=boot.kernel and Path("kernel"), plugin=None, events=None)
            key = sha256("\0".join((self.identity, *argv(boot), sha256(initrd + source))).encode())
            self._kits[needs] = _Kit(initrd, given, key[:32])
        return self._kits[needs]

    def _archive(self, given: Provided, boot: Boot, words: tuple[str, ...]) -> bytes:
        """The archive for this command of init's; b"" if the guest takes none."""
        if not self.guest.has_init:
            return b""
        return booting.initrd(self.job.program, given.files, self.guest, words, _before(boot))

    def _state(self, kit: _Kit) -> Generator[None, None, Path | None]:
        """Returns the directory of the saved guest, None without one; yields None while it boots."""
        if self.held is None:
            return None
        if kit.key not in self._begun:
            self._begun.add(kit.key)
            failed = None
            try:
                yield from states.obtain(kit.key, lambda into: self._save(kit, into), self.held, self.until)
            except TargetError as error:
                failed = error
            self._saved[kit.key] = failed
        while kit.key not in self._saved:
            yield None
        failure = self._saved[kit.key]
        if failure is not None:
            raise failure
        return states.folder() / kit.key

    def _attach(self, folder: Path, into: Path) -> None:
        """Makes the file with the disk's changes, which stay with the saved machine."""
        if self.disk is not None and (self.system is None or self.system.description.boot.media == "disk"):
            attached.overlay(self.disk, folder)
            shutil.move(folder / DISK, into)
        for file in into.iterdir():
            (folder / file.name).symlink_to(file)

    def _save_at_console(self, boot: Boot, folder: Path, into: Path) -> Iterator[None]:
        """Of a system on a disk, whose source of the probe stays with the saved machine too."""
        assert self.system is not None  # noqa: S101  # its only caller asks
        described = self.system.description
        carried = attached.carried(described)
        attached.lay_out(described, carried, into)
        self._attach(folder, into)
        until = Deadline.after(at_console.seconds(described))
        try:
            for _ in at_console.save(
                argv(boot), folder, described, carried, _before(boot, self._probe), into, until, self.name
            ):
                yield None
        except TargetError as error:
            raise explained(error, folder, self.name) if not error.last_output else error from error

    def _save(self, kit: _Kit, into: Path) -> Iterator[None]:
        boot = self.boot((), "saved")
        until = Deadline.after(min(BOOT_SECONDS, self.until.left()))
        with scratch("kernometer-qemu-") as folder:
            booting.lay_out(self.guest, folder, kit.initrd)
            if self.system is not None:
                yield from self._save_at_console(boot, folder, into)
                return
            self._attach(folder, into)
            (into / INITRD).write_bytes(kit.initrd)
            try:
                watch = booting.Watch(folder, self.name)
                for pid in saving.save(argv(boot), folder, into, until):
                    watch.size()
                    watch.panic()
                    if not boot.machine.history:  # the rows of a history print nothing
                        watch.silence(pid)
                    yield None
            except TargetError as error:
                raise explained(error, folder, self.name) from error


def _before(boot: Boot, probe: str = f"/{initramfs.PROBE}") -> tuple[str, ...]:
    """The rows that a guest of this history runs before it is ready: with history 3 the first three families, with 9
    all nine, with 10 all but the first, with 16 the last two."""
    number = boot.machine.history
    if not number:
        return ()
    families = FAMILIES[:number] if number <= len(FAMILIES) else FAMILIES[number - len(FAMILIES) :]
    return (probe, "--by", "path", "--continue", *families)


def _failed(row: str, error: TargetError) -> bytes:
    text = "\n".join(part for part in (error.text, error.last_output) if part)
    return msgspec.json.encode(Failure(row=row, text=text))


def _kept(guest: Generator[bytes | None, None, _T], lines: list[bytes]) -> Generator[None, None, _T]:
    """Adds the guest's lines to `lines`; yields None while it prints nothing, returns what the guest returns."""
    while True:
        try:
            line = next(guest)
        except StopIteration as end:
            result: _T = end.value
            return result
        if line is None:
            yield None
        else:
            lines.append(line)
