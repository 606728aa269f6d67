"""The system's ssh: a connection that calls share, its command lines, and the causes of its failures.

All calls use one control socket in a private directory, which is ssh's working directory, so that the socket's path is
short. The first call is the master; its remote end waits for the end of its input. So when the front end ends for any
reason, the pipes close, the remote ends of all calls notice, and the master ends with the last of them.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from kernometer.errors import MissingError, TargetError, UsageError
from kernometer.processes import scratch
from kernometer.targets.base import Deadline
from kernometer.targets.stream import LAST_OUTPUT, Child, running, shown

#: Seconds from the start of ssh to the remote shell's answer, jump hosts included.
CONNECT_SECONDS = 60.0
#: The most bytes before and with that answer: messages of the day, and a dozen lines.
MAX_ANSWER = 1 << 18
#: Characters of one of its lines.
MAX_FACT = 200

SCRIPTS = Path(__file__).with_name("remote")
#: Options without which ssh asks, waits forever, or does more than run a command. All others are the user's.
OPTIONS = (
    *("-T", "-x"),
    *("-o", "BatchMode=yes"),
    *("-o", "ConnectTimeout=30"),
    *("-o", "ServerAliveInterval=15"),
    *("-o", "ServerAliveCountMax=4"),
    *("-o", "ClearAllForwardings=yes"),
    *("-o", "RemoteCommand=none"),
    *("-o", "LogLevel=INFO"),
    *("-o", "ControlPersist=no"),
    *("-o", "ControlPath=control"),
)

_IS_IT_UP = "Is it up, with an sshd? Try: ssh -o BatchMode=yes {host} true"
#: ssh's messages, and what to do about them ({host} is the user's text). The first that matches any line counts.
CAUSES = (
    (r"^ssh: Could not resolve hostname", "Check the name, which is passed to ssh unchanged."),
    (
        r"Host key verification failed|IDENTIFICATION HAS CHANGED",
        "Check the host's key, and accept it by connecting once yourself: ssh {host}",
    ),
    (
        r"Permission denied \(|Too many authentication failures",
        "It must work without a question (a key in the agent; ssh-copy-id). Try: ssh -o BatchMode=yes {host} true",
    ),
    (r"[Bb]ad configuration|terminating, \d+ bad", "Correct ssh's configuration."),
    (r"^ssh: ", _IS_IT_UP),
    (r"^(Connection (closed|reset|timed)|Timeout, |client_loop: |kex_exchange|stdio forwarding|mux_client)", _IS_IT_UP),
)
#: What to do if ssh prints nothing.
NO_SHELL = "It must run commands for a POSIX sh. Try: ssh -o BatchMode=yes {host} uname -a"


@dataclass(frozen=True, slots=True)
class Remote:
    """The remote host's facts, all of them untrusted."""

    system: str  #: as uname -s
    machine: str  #: as uname -m
    boot: str  #: identifies the boot; "" if not known
    identity: str = field(repr=False)  #: its machine-id, used only by identity.hashed
    compiler: str  #: the first C compiler there; "" for none
    version: str  #: the compiler's version message
    probe: str  #: "compiled", "dynamic" or "sent" if this session's probe is there already, else ""


def checked(host: str) -> str:
    """A destination that ssh cannot take for an option. Raises UsageError."""
    if not host or host.startswith("-") or not host.isprintable() or " " in host:
        raise UsageError(f"{host!r} is not a host.", "For example ssh:user@host, or ssh:NAME from ssh's configuration.")
    if re.fullmatch(r"[^:/]+:\d+", host):
        raise UsageError(f"{host!r} is not a host: ssh takes a port in another form.", f"ssh://{host}")
    return host


def named(host: str) -> str:
    """The target of that host, as a user writes it."""
    return host if host.startswith("ssh://") else f"ssh:{host}"


def one_line(script: str) -> str:
    """The script as one line without comments: some login shells (csh) take no newline within quotes."""
    lines = [line.strip() for line in script.splitlines()]
    line = ""
    for part in (part for part in lines if part and not part.startswith("#")):
        opens = re.search(r"(^|\b(do|then|else|in)|[{(|&;])$", line)
        line += f"{'' if not line else ' ' if opens else '; '}{part}"
    return line


def quoted(word: str) -> str:
    """The word, quoted for sh, csh, zsh and fish alike: quotes, backslashes and bangs lie outside the quotes."""
    if re.fullmatch(r"[A-Za-z0-9_./,:@+-]+", word):
        return word
    return "'" + re.sub(r"['\\!]", lambda match: f"'\\{match[0]}'", word) + "'"


def command(script: str, *arguments: str) -> str:
    """The command for the remote login shell: sh with one of our scripts and its arguments."""
    text = one_line((SCRIPTS / f"{script}.sh").read_text())
    return " ".join(("exec", *map(quoted, ("sh", "-c", text, "kernometer", *arguments))))


def argv(host: str, remote: str, *, master: bool = False) -> tuple[str, ...]:
    """The exact ssh command, for the private directory. Without a master it makes a separate connection."""
    return ("ssh", *OPTIONS, "-o", f"ControlMaster={'yes' if master else 'no'}", "--", host, remote)


class Link:
    """A connection to `host`, made by the first `look`."""

    def __init__(self, host: str) -> None:
        self.host = host
        self._open = ExitStack()
        self._folder: Path | None = None
        self._master: Child | None = None

    def look(self, probe: str) -> Remote:
        """Connects, and reads the host's facts. Raises MissingError without ssh, TargetError with the cause."""
        self._folder = self._open.enter_context(scratch("kernometer-ssh-"))
        words = argv(self.host, command("look", probe), master=True)
        self._master = self._open.enter_context(self.call(words, subprocess.PIPE))
        return self._answer(self._master.lines(Deadline.after(CONNECT_SECONDS), MAX_ANSWER, named(self.host)))

    @contextmanager
    def send(self, words: tuple[str, ...], content: bytes) -> Iterator[Child]:
        """Like `call`, with `content` as its input: in a file, for the remote end may not read."""
        with tempfile.TemporaryFile(dir=self._folder) as file:
            file.write(content)
            file.seek(0)
            with self.call(words, file) as child:
                yield child

    @contextmanager
    def call(self, words: tuple[str, ...], stdin: int | IO[bytes]) -> Iterator[Child]:
        """One call of `words` from `argv`. The end of the block ends it, here and on the remote host. Raises
        MissingError without ssh."""
        environment = os.environ | {"SSH_ASKPASS_REQUIRE": "never"}  # a jump host's ssh is not in batch mode
        try:
            with running(words, environment, stdin=stdin, folder=self._folder, scratch=self._folder) as child:
                yield child
        except MissingError as error:
            raise MissingError(
                "There is no ssh here.", "Install OpenSSH's client (Debian, Ubuntu: apt-get install openssh-client)."
            ) from error

    def _answer(self, lines: Iterator[bytes]) -> Remote:
        facts: dict[str, str] | None = None
        other: list[bytes] = []
        failed, last = f"{named(self.host)} ended before it answered.", ""
        try:
            for line in lines:
                if line.endswith(b"#kernometer look"):
                    facts = {}
                elif facts is None:
                    other = [*other[-50:], line]
                elif line == b"#kernometer ready":
                    names = ("system", "machine", "boot", "identity", "compiler", "version", "probe")
                    return Remote(**{name: facts.get(name, "") for name in names})
                else:
                    key, _, value = shown(line).partition(" ")
                    facts.setdefault(key, value.strip()[:MAX_FACT])
        except TargetError as error:
            failed, last = error.text, error.last_output
        raise self.explained(TargetError(failed, NO_SHELL, "\n".join((*map(shown, other), last))))

    def explained(self, error: TargetError) -> TargetError:
        """The error with ssh's message, if there is one, and what to do about it."""
        said = self._master.said() if self._master is not None else ""
        last = "\n".join(filter(None, (error.last_output.rstrip("\n"), said)))[-LAST_OUTPUT:]
        for pattern, step in CAUSES:
            for line in reversed(last.splitlines()):
                if re.search(pattern, line):
                    return TargetError(f"{error.text} ssh said: {line[:300]}", step.format(host=self.host), last)
        return TargetError(error.text, error.next_step.format(host=self.host), last)

    def close(self) -> None:
        """Ends the master, and removes the folder. May be called twice."""
        self._folder = self._master = None
        self._open.close()
