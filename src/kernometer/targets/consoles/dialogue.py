"""What is typed at a system's console, step by step: from its boot to a shell without other output.

The shell gets a prompt that nothing else prints, and the terminal does not echo. Typed lines stay short, for some
systems' terminals take only 255 bytes a line: longer commands continue after a backslash.
"""

from __future__ import annotations

import gzip
import itertools
import re
import secrets
import shlex
from collections.abc import Iterator, Mapping, Sequence

from kernometer.errors import TargetError, UsageError
from kernometer.targets.base import Deadline
from kernometer.targets.consoles import media
from kernometer.targets.consoles.attached import SERVER
from kernometer.targets.consoles.description import Description, Step, filled
from kernometer.targets.consoles.serial import Console
from kernometer.targets.stream import shown

#: The most bytes of a typed line without the backslash at its end: well below 255, POSIX's least for a terminal.
TYPED = 200
#: How many lines of a file are sent at once; MINIX 3's input queue of 256 bytes has room for them.
AT_ONCE = 3
#: How much of a command's output an error shows.
SAID = 2000


class Dialogue:
    """The steps in their order: `enter`, `carry`, `compile`; then `output` and `leave`, or `wait`."""

    def __init__(self, console: Console, described: Description, until: Deadline) -> None:
        self._console = console
        self._described = described
        self._until = until
        token = secrets.token_hex(4)
        self.prompt, self._more, self._taken = (f"KM{token}{end}".encode() for end in ("> ", "+ ", "="))
        #: The quotes are inside, so that an echo is not taken for the prompt.
        self._setup = f"stty -echo; PS1=K'M{token}> ' PS2=K'M{token}+ '; set +o emacs +o vi"

    def enter(self) -> None:
        """From the first message to our own prompt. Raises TargetError, naming the step."""
        login, boot, shell = self._described.login, self._described.boot, self._described.shell
        if login.user:
            self._walk("boot", boot.steps, login.prompt, boot.seconds)
            self._console.send("login", login.user)
            asked = [Step(expect=login.password_prompt, send="{password}")] if login.password else []
            self._walk("login", [*asked, *login.steps], shell.prompt, login.seconds, login.refused)
        else:
            self._walk("boot", [*boot.steps, *login.steps], shell.prompt, boot.seconds)
        if shell.enter:
            self._console.send("shell", shell.enter)
            self._walk("shell", (), shell.prompt, shell.seconds)
        self._console.send("shell", self._setup)
        self._wait_for_prompt("shell", shell.seconds)
        if (heard := self._ask("shell", "echo a''b", shell.seconds).strip()) != b"ab":
            raise self._console.error("shell", f"'ab' was to be heard alone and came as {shown(heard)[:100]!r}")
        for command in shell.setup:
            self.command("shell", command, shell.seconds)

    def command(self, step: str, line: str, seconds: float) -> bytes:
        """The command's output. Raises TargetError, with the output, if its status is not 0."""
        said = self._ask(step, line, seconds)
        status = self._ask(step, 'echo "=$?="', self._described.shell.seconds)
        match = re.search(rb"=(\d{1,3})=", status)
        if match is None:
            raise self._console.error(step, f"{line!r} printed {shown(status)[:100]!r} instead of a status")
        if match[1] != b"0":
            raise TargetError(
                f"{self._console.name}: {step}: {line!r} left with status {int(match[1])}.",
                "Its output is below.",
                shown(said[-SAID:]),
            )
        return said

    def carry(self, files: Mapping[str, bytes]) -> None:
        """Copies the job's files into the guest by the description, and checks their checksums there."""
        way = self._described.files
        for name, data in files.items():
            places = {"server": SERVER, "name": name, "source": self._described.source}
            if way.way == "serial":
                self._send(name, data)
            for command in way.commands:
                self.command("files", filled(command, places), way.seconds)
            if way.checksum:
                said = self.command("files", filled(way.checksum, places), way.seconds)
                wanted = (media.cksum(data), len(data))
                match = re.search(rb"(?m)^(\d{1,10})\s+(\d{1,12})\b", said)
                if match is None or (int(match[1]), int(match[2])) != wanted:
                    raise TargetError(
                        f"{self._console.name}: files: {name} arrived with another checksum than {wanted[0]} (of "
                        f"{wanted[1]:,} bytes).",
                        "The output of the guest's cksum is below.",
                        shown(said[-SAID:]),
                    )

    def compile(self) -> None:
        """Compiles the probe in the guest."""
        how = self._described.compile
        if how.command:
            self.command("compile", filled(how.command, self._places()), how.seconds)

    def wait(self) -> None:
        """Starts a probe that waits for its command, in the guest that is saved then. Its output is in a file until it
        ends, so that no sample contains interrupts of the serial line, which are work for the guest too."""
        kept = self._described.run.output
        self._type("wait", f"{self._run('--wait')} >{kept} 2>&1; cat {kept}")

    def output(self, arguments: Sequence[str], *, silence: float, max_bytes: int) -> Iterator[bytes]:
        """The probe's lines as they come."""
        self._type("run", self._run(shlex.join(arguments)))
        yield from self._console.lines("run", self.prompt, self._until, silence, max_bytes)

    def leave(self) -> bool:
        """Powers off. Returns whether the machine stops by itself; otherwise it has printed `seen`."""
        off = self._described.power_off
        until = self._within(off.seconds)
        self._console.send("power-off", off.command)
        if off.seen:
            self._console.expect("power-off", [re.compile(off.seen.encode())], until)
            return False
        self._console.wait_for_end("power-off", until)
        return True

    def _walk(self, step: str, steps: Sequence[Step], arrival: str, seconds: float, refused: str = "") -> None:
        """Carries out the steps in order until `arrival` comes; an optional step that does not come is left out."""
        until, login = self._within(seconds), self._described.login
        refusals = [re.compile(refused.encode())] if refused else []
        left = list(steps)
        while True:
            possible = list(itertools.takewhile(lambda each: each.maybe, left))
            wanted = [each.expect for each in left[: len(possible) + 1]]
            if len(possible) == len(left):
                wanted.append(arrival)
            index = self._console.expect(step, [*(re.compile(each.encode()) for each in wanted), *refusals], until)
            if index == len(wanted):
                raise self._console.error(step, f"{login.user!r} with that password was refused")
            if index == len(left):
                return
            self._console.send(step, filled(left[index].send, {"user": login.user, "password": login.password}))
            del left[: index + 1]

    def _send(self, name: str, data: bytes) -> None:
        """Sends a file by the serial line: the guest's shell reads line by line and confirms groups of lines."""
        way, console = self._described.files, self._console
        until = self._within(way.seconds)
        coded, file = f"{way.folder.rstrip('/')}/km-coded", f"{way.folder.rstrip('/')}/{name}"
        taken = self._taken.decode()
        reader = f'while read -r l; do case $l in .) break;; ,) echo {taken[:1]}"{taken[1:]}";; *) echo "$l" >&3;; esac'
        console.send("files", f"{reader}; done 3>{coded}")
        lines = media.lines(gzip.compress(data, mtime=0) if way.packed else data, name, way.encoding)
        acknowledged = [re.compile(re.escape(self._taken))]
        for at in range(-AT_ONCE, len(lines), AT_ONCE):  # first no lines: the shell must have started the loop
            for line in (*lines[max(0, at) : at + AT_ONCE], ","):
                console.send("files", line)
            console.expect("files", acknowledged, until)
        console.send("files", ".")
        self._wait_for_prompt("files", way.seconds)
        self.command("files", filled(way.decode, {"file": file, "encoded": coded}), way.seconds)

    def _run(self, arguments: str) -> str:
        return filled(self._described.run.command, {**self._places(), "arguments": arguments})

    def _places(self) -> dict[str, str]:
        return {"source": self._described.source, "probe": self._described.compile.probe}

    def _ask(self, step: str, line: str, seconds: float | None) -> bytes:
        """The output from this line to the next prompt. `seconds` None: the whole job's limit applies."""
        self._type(step, line)
        self._wait_for_prompt(step, seconds)
        return self._console.before

    def _type(self, step: str, line: str) -> None:
        *first, last = typed(line)
        for part in first:
            self._console.send(step, part)
            until = self._within(self._described.shell.seconds)
            self._console.expect(step, [re.compile(re.escape(self._more))], until)
        self._console.send(step, last)

    def _wait_for_prompt(self, step: str, seconds: float | None) -> None:
        until = self._until if seconds is None else self._within(seconds)
        self._console.expect(step, [re.compile(re.escape(self.prompt))], until)

    def _within(self, seconds: float) -> Deadline:
        return Deadline.after(min(seconds, self._until.left()))


def typed(line: str) -> list[str]:
    """The line in pieces that a terminal takes, cut at spaces; all but the last end with a backslash. Raises UsageError
    if a single word is too long, or would be changed on the way."""
    if not line.isascii() or not line.isprintable():
        raise UsageError(f"{line[:100]!r} cannot be typed: only ASCII characters can.")
    words = [""]
    for part in line.split(" "):  # do not cut at a space within quotes
        words[-1] += part
        if _is_whole(words[-1]):
            words.append("")
        else:
            words[-1] += " "
    pieces = [""]
    for word in filter(None, words):
        if len(word) > TYPED:
            raise UsageError(f"{word[:60]!r}… is too long to be typed.", f"At most {TYPED} characters can be typed.")
        if len(pieces[-1]) + 1 + len(word) <= TYPED:
            pieces[-1] = f"{pieces[-1]} {word}".lstrip()
        else:
            pieces[-1] += " \\"
            pieces.append(word)
    return pieces


def _is_whole(text: str) -> bool:
    """Whether every quote in it is closed."""
    try:
        shlex.split(text)
    except ValueError:
        return False
    return True
