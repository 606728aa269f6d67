"""One boot of a guest: the files of its directory, its output, and the causes of its failures."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kernometer.errors import TargetError
from kernometer.guests import store
from kernometer.guests.architecture import X86_64
from kernometer.guests.emulator.process import SAID, end_of
from kernometer.guests.images import initramfs, roots
from kernometer.guests.inside import programs
from kernometer.guests.kernels import mach, trio
from kernometer.guests.plugins import events, trace
from kernometer.targets import build
from kernometer.targets.base import Deadline, Job, Program
from kernometer.targets.side_by_side import Lines
from kernometer.targets.stream import BEGIN, LAST_OUTPUT, Splitter, between_markers, shown, unbroken

#: From the end marker to the end of QEMU, which only has to write its plugin's counts.
END_SECONDS = 60.0
#: From a panic's message on the console to the end of QEMU. Xen spins for five seconds of its clock before it restarts,
#: which takes minutes if each instruction is counted.
PANIC_SECONDS = 20.0
#: The end of the console, in bytes, that is searched for a panic: a trace follows its message.
PANIC_BYTES = 16 << 10
#: A guest is given up if it prints nothing new for so long before it measures, in seconds of the emulator's processor
#: time, which a busy host does not stretch. Kernels tried so far begin to measure after 5 to 20.
MUTE_SECONDS = 60.0
#: The same, in wall time, for a guest whose processor has halted for good: the emulator then computes nothing, or goes
#: from timer to timer, which takes more system time than user time.
HALTED_SECONDS = 20.0
#: The same for a guest that was restored: the program that waited in it has only to execute its command.
RESTORED_SECONDS = 20.0
MAX_CONSOLE = 8 << 20
PIECE = 1 << 20

INITRD, PROBE, CONSOLE, BULK, EVENTS, TRACE = "initrd", "probe", "console", "bulk", "events.json", "trace"
#: The command of a guest that is saved: a probe that waits for another one.
WAIT = (f"/{initramfs.PROBE}", "--wait")

#: Panic messages of Linux, Xen, and (at a line's beginning) MINIX, the BSDs, GNU Mach and Fiwix.
_PANIC_BEGINS = re.compile(
    rb"Kernel panic - not syncing: |\(XEN\) Panic on CPU \d|^\r?(?:kernel )?(?:panic|PANIC)(?: \S{1,200})?: ",
    re.MULTILINE,
)
_PANIC = re.compile(
    r"Kernel panic - not syncing: (.*)|\(XEN\) Panic on CPU \d+:\n\(XEN\) (.*)"
    r"|^(?:kernel )?(?:panic|PANIC)(?: \S{1,200})?: (.*)",
    re.MULTILINE,
)
#: The end of a console's last line if it waits for input.
_PROMPT = re.compile(r"([Ll]ogin|[Pp]assword): *\Z|[#$%>] *\Z")
#: What differs in a message that comes again: times, addresses, counters.
_NUMBER = re.compile(rb"[0-9][0-9a-f]*")
#: The most different lines that are kept, Linux prints some hundred, and the most bytes of one without an end.
MOST_LINES, MOST_LINE = 10_000, 4096
#: A guest that has printed so many lines again, and no new one, will not begin to measure.
MOST_AGAIN = 2000
#: How a record begins; its numbers alone may be new.
RECORD = b"{"
#: The last line of a command that is not the probe.
DONE = b"#kernometer done"
_INIT_FAILED = re.compile(r"#init failed (.*)")
#: A message of the probe's, which a system that then goes down prints more after.
_PROBE_SAID = re.compile(r"^probe: .*", re.MULTILINE)


class MuteError(TargetError):
    """The guest does not begin to measure, and prints nothing new."""


def initrd(
    program: Program,
    files: Mapping[str, bytes],
    guest: store.Guest | None = None,
    command: Sequence[str] = WAIT,
    before: Sequence[str] = (),
) -> bytes:
    """The archive of a guest, of any architecture, with this measuring program, these other files, init's command, and
    one that runs `before` it, if there is one; an image, where its root is ext2."""
    told = {programs.COMMAND: command, programs.BEFORE: before}
    files = {**files, **{name: programs.encoded(words) for name, words in told.items() if words}}
    busybox = programs.busybox() if guest is None or guest.architecture is X86_64 else guest.busybox()
    content = initramfs.entries(*inside(guest, program), busybox, files)
    if guest is not None and guest.manifest.root == "ext2":
        return roots.ext2(content, guest.manifest.root_mib, guest.manifest.root_block)
    return initramfs.archive(content)


def inside(guest: store.Guest | None, program: Program = "probe") -> tuple[bytes, bytes]:
    """The first process and the measuring program: the user's, where the guest has one, else ours."""
    architecture = guest.architecture if guest is not None else X86_64
    init, probe = (guest.own(name) if guest is not None else None for name in (store.INIT, store.OWN_PROBE))
    measures = probe or (trio.probe() if program == "probe-trio" else build.static_probe(architecture)).read_bytes()
    stranger = guest is not None and not guest.manifest.release
    return init or programs.init(architecture, stranger=stranger).read_bytes(), measures


def lay_out(guest: store.Guest, folder: Path, initrd: bytes = b"") -> None:
    """Makes the files in QEMU's directory: empty outputs, and those that the guest needs for each boot."""
    for name in (CONSOLE, BULK):
        (folder / name).touch()
    if guest.is_linked:
        guest.link(folder)
    if guest.has(store.PROBE) or guest.has(store.MACH):
        (folder / PROBE).write_bytes(mach.probe().read_bytes() if guest.has(store.MACH) else inside(guest)[1])
    if initrd:
        (folder / INITRD).write_bytes(initrd)


def records(process: subprocess.Popen[bytes], output: str, job: Job, until: Deadline, watch: Watch) -> Lines:
    """The lines between the markers of the file `output`. Then the session is complete, whatever the guest does: QEMU
    is asked to end, and its plugin writes its counts."""
    come, name = _lines(process, output, job, until, watch), watch.name
    yield from between_markers(unbroken(come, name) if output == CONSOLE else come, name)
    yield from _ended(process, until, name)


def output(process: subprocess.Popen[bytes], output: str, job: Job, until: Deadline, watch: Watch) -> Lines:
    """All lines of the file `output` before DONE, for a command that is not the probe. QEMU is asked to end as after
    `records`: not every kernel can switch its machine off."""
    name = watch.name
    for line in _lines(process, output, job, until, watch):
        if line == DONE:
            yield from _ended(process, until, name)
            return
        yield line
    raise TargetError(f"{name}: the guest ended before its command.")


def _ended(process: subprocess.Popen[bytes], until: Deadline, name: str) -> Iterator[None]:
    process.terminate()
    ends = Deadline.after(min(END_SECONDS, until.left()))
    while process.poll() is None:
        if ends.passed:
            raise TargetError(f"{name}: QEMU does not end.", "Run it again.")
        yield None


def _lines(process: subprocess.Popen[bytes], output: str, job: Job, until: Deadline, watch: Watch) -> Lines:
    """Follows the file of the guest's output from its beginning to QEMU's end. Lines have no LF or CRLF."""
    name = watch.name
    splitter = Splitter(name, job.max_bytes)
    quiet = Deadline.after(job.silence)
    begun = False
    with (watch.folder / output).open("rb") as file:
        while True:
            ended = process.poll() is not None  # before reading, so that the last output is read
            piece = file.read(PIECE)
            if not piece and ended:
                break
            if until.passed or quiet.passed:
                when = "when its time was up" if until.passed else f"after {job.silence:.0f} s without output"
                raise (TargetError if begun else MuteError)(f"{name} was not done {when}.", "", splitter.tail)
            if output != CONSOLE:
                watch.size()
            if watch.news():
                quiet = Deadline.after(job.silence)
            for line in splitter.feed(piece):
                if output != CONSOLE or line.startswith(RECORD):
                    quiet = Deadline.after(job.silence)
                begun = begun or BEGIN.search(line) is not None
                yield line
            watch.panic()
            if not begun:
                watch.silence(process.pid)
            if not piece:
                yield None
    yield from splitter.rest()


class Watch:
    """Checks what a guest prints on its console. Each check raises TargetError if the guest must be given up."""

    def __init__(self, folder: Path, name: str, *, at_once: bool = False) -> None:
        """`at_once`: it was restored, and prints as soon as it has executed its command."""
        self.folder, self.name = folder, name
        self._console, self._mute_seconds = folder / CONSOLE, RESTORED_SECONDS if at_once else MUTE_SECONDS
        self._panicked: Deadline | None = None
        self._looked_at = 0  #: bytes
        self._read = 0  #: bytes of the console that `news` has seen
        self._line, self._lines = b"", set[bytes]()  #: the last line, which is not complete, and all before it
        self._new = False  #: whether `news` has found any since `silence` asked
        self._again = 0  #: how many known lines have come since
        self._printed = 0  #: bytes of the other output
        self._at_print = 0.0  #: the emulator's processor time when the guest last printed
        self._looks: tuple[Deadline, float, float] | None = None  #: when to look again; user and system time now

    def size(self) -> None:
        """Checks the size of a console that is not the output."""
        if self._console.stat().st_size > MAX_CONSOLE:
            raise TargetError(f"{self.name} printed more than {MAX_CONSOLE:,} bytes on its console.")

    def panic(self) -> None:
        """Checks that a guest ends soon after a panic."""
        if self._panicked is not None and self._panicked.passed:
            raise TargetError(f"{self.name} did not end after a panic.")
        size = self._console.stat().st_size
        if self._panicked is None and size != self._looked_at:
            self._looked_at = size
            if _PANIC_BEGINS.search(end_of(self._console, PANIC_BYTES)):
                self._panicked = Deadline.after(PANIC_SECONDS)

    def news(self) -> bool:
        """Whether the console has a line that it had not before: the same message for ever is no sign of life."""
        if self._console.stat().st_size == self._read:
            return False
        with self._console.open("rb") as file:
            file.seek(self._read)
            piece = file.read(PIECE)
        self._read += len(piece)
        *lines, self._line = _NUMBER.sub(b"0", self._line[-MOST_LINE:] + piece).replace(b"\r", b"\n").split(b"\n")
        known = len(self._lines)
        self._lines.update(lines[: MOST_LINES - known])
        grows = len(self._line) <= MOST_LINE and not any(line.startswith(self._line) for line in self._lines)
        is_new = grows or len(self._lines) > known
        self._new |= is_new
        self._again = 0 if is_new else self._again + len(lines)
        return is_new

    def silence(self, pid: int) -> None:
        """Checks a guest that has not begun to measure; `pid` is the emulator's."""
        self.news()
        printed = self._console.with_name(BULK).stat().st_size
        try:
            words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            return
        user, system = (int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in words[11:13])  # proc(5)
        if self._new or printed != self._printed or self._looks is None:
            self._new, self._printed, self._at_print = False, printed, user + system
            self._looks = Deadline.after(HALTED_SECONDS), user, system
        until, user_then, system_then = self._looks
        halted = until.passed and user - user_then <= system - system_then
        if halted or user + system - self._at_print > self._mute_seconds:
            raise MuteError(f"{self.name} does not begin to measure, and prints nothing new.")
        if self._again > MOST_AGAIN:
            raise MuteError(f"{self.name} does not begin to measure, and prints the same again and again.")
        if until.passed:
            self._looks = Deadline.after(HALTED_SECONDS), user, system


def explained(error: TargetError, folder: Path, name: str, *, restored: bool = False) -> TargetError:
    """The error with its known cause (a kernel's panic, init's or QEMU's message) and the last output."""
    console, bulk, said = (shown(end_of(folder / part, LAST_OUTPUT // 3)) for part in (CONSOLE, BULK, SAID))
    text = error.text
    if panic := _PANIC.search(shown(end_of(folder / CONSOLE, PANIC_BYTES))):
        text = f"{name}: the guest's kernel panicked: {''.join(filter(None, panic.groups())).strip()}."
    elif failed := _INIT_FAILED.search(bulk):
        text = f"{name}: the guest's init failed: {failed[1].strip()}."
    elif said:
        text = f"{text} QEMU said: {said.strip().splitlines()[-1][:300]}"
    elif told := _PROBE_SAID.search(shown(end_of(folder / CONSOLE, PANIC_BYTES))):
        text = f"{text} Its program said: {told[0].strip()[:300]}"
    last = "\n".join(part.rstrip("\n") for part in (console, bulk, said) if part)
    step = "The guest's last output is below; --dry-run prints the command."
    if not isinstance(error, MuteError):
        return TargetError(text, step, last)
    if restored and not last:
        text = f"{name}: the program that waited was given its command, and printed nothing."
        return MuteError(text, "It has to execute that command, whose output is the probe's (docs/guests.md).")
    return MuteError(text, _to_try(console), last)


def _to_try(console: str) -> str:
    """The next step for a guest that never began, by the last output on its console."""
    if not console.strip():
        return "Its console printed nothing. It must use the serial line, or be added with a device (--device VGA)."
    if _PROMPT.search(console):
        return "It waits at a prompt, which is below: console: answers it (docs/console.md)."
    return "Its console's last output is below; 'kernometer guest boot' boots it on the terminal."


def counts_of(folder: Path) -> dict[str, events.Region]:
    """The counts that the plugin wrote when QEMU ended."""
    return events.parse(_written(folder / EVENTS, events.MAX_FILE))


def trace_of(folder: Path) -> trace.Trace:
    """The instructions that the plugin recorded."""
    return trace.parse(_written(folder / TRACE, trace.MAX_FILE))


def _written(path: Path, limit: int) -> bytes:
    if not path.is_file():
        said = shown(end_of(path.parent / SAID, LAST_OUTPUT))
        raise TargetError("The plugin wrote no counts.", "Run it again.", said)
    if path.stat().st_size > limit:
        raise TargetError(f"The plugin wrote more than {limit:,} bytes.", "Run it again.")
    return path.read_bytes()
