"""A foreign system, played by a script in QEMU's place: it prints, it reads what is typed, it is awkward."""

from __future__ import annotations

import gzip
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

from pycdlib import PyCdlib

#: The least that a terminal's input queue holds on the systems at hand (MINIX 3).
QUEUE = 256
RECORDS = '{"type":"workload","name":"a/b"}\n{"type":"run","row":"a/b"}\n'
GOOD = f"#kernometer begin 1\n{RECORDS}#kernometer end 2\n"


class Foreign:
    """By default it is well-behaved. `on` maps a pattern of what is typed to what is printed, and the status left."""

    def __init__(self, on: dict[str, tuple[str, int]] | None = None, *, password: str = "secret", echo: bool = False):  # noqa: S107 - the fake's
        self.line = socket.socket(fileno=1)
        self.on = on or {}
        self.password = password
        self.echo = echo
        self.prompt = "# "
        self.more = "> "
        self.status = 0
        self.pending = b""
        self.files: dict[str, bytes] = {}
        if Path("job.iso").exists():
            self.files["/mnt/probe.c"] = content("job.iso", "/probe.c")

    def say(self, text: str) -> None:
        """As a terminal has it: CRLF."""
        self.line.sendall(text.encode("utf-8", "surrogateescape").replace(b"\n", b"\r\n"))

    def hear(self) -> str:
        """A line that was typed; the script ends where nobody types any more."""
        while b"\r" not in self.pending:
            piece = self.line.recv(1 << 16)
            if not piece:
                sys.exit(9)
            self.pending += piece
            if len(self.pending) > QUEUE:
                self.say("\7input overflow\n")
                sys.exit(8)
        found, _, self.pending = self.pending.partition(b"\r")
        return found.decode()

    def log_in(self) -> None:
        """From the boot to the shell's prompt."""
        self.say("Loading...\n[ 0.1] disk found\nforeign login: ")
        user = self.hear()
        self.say(f"{user}\nPassword: ")
        if (user, self.hear()) != ("root", self.password):
            self.say("\nLogin incorrect\nforeign login: ")
            self.hear()
        self.say("\nWelcome: no 100% guarantee\nand no #1\n")

    def serve(self) -> None:
        """The shell, until it powers off."""
        self.say(self.prompt)
        while True:
            typed = self.hear()
            while typed.endswith("\\"):
                self.say(self.more)
                typed = typed[:-1] + self.hear()
            with Path("typed").open("a") as log:
                log.write(f"{typed}\n")
            if self.echo:
                self.say(f"{typed}\n")
            if typed == "poweroff" and typed not in self.on:
                self.say("Bye.\n")
                sys.exit(0)
            self.obey(typed)
            self.say(self.prompt)

    def obey(self, typed: str) -> None:
        """One command."""
        for pattern, (text, status) in self.on.items():
            if re.search(pattern, typed):
                self.say(text)
                self.status = status
                return
        if found := re.match(r"stty -echo; PS1=K'(M\w+> )' PS2=K'(M\w+\+ )'", typed):
            self.prompt, self.more = f"K{found[1]}", f"K{found[2]}"
            self.status = 0
        elif typed == "echo a''b":
            self.say("ab\n")
        elif typed == 'echo "=$?="':
            self.say(f"={self.status}=\n")
        elif typed.startswith("while read -r l"):
            self.receive(typed)
        elif found := re.match(r"base64 -d <(\S+) (\| gzip -d )?>(\S+)", typed):
            decoded = base64_of(self.files[found[1]])
            self.files[found[3]] = gzip.decompress(decoded) if found[2] else decoded
        elif found := re.match(r"cksum (\S+)", typed):
            said = subprocess.run(["cksum"], input=self.files[found[1]], capture_output=True, check=True).stdout
            self.say(f"{said.decode().strip()} {found[1]}\n")
        elif re.match(r"/opt/probe\b[^>]*$|cat ", typed):
            self.say(GOOD)
        else:
            self.status = 0

    def receive(self, typed: str) -> None:
        """What the loop that is typed does: lines into a file, an answer for each comma."""
        answer = re.search(r'echo (K)"(M\w+=)"', typed)
        target = re.search(r"3>(\S+)", typed)
        assert answer and target
        lines = []
        while (line := self.hear()) != ".":
            if line == ",":
                self.say(f"{answer[1]}{answer[2]}\n")
            else:
                lines.append(line)
        self.files[target[1]] = "\n".join(lines).encode()


def content(image: str, name: str) -> bytes:
    """A file on a CD-ROM, by its Rock Ridge name."""
    reader = PyCdlib()
    reader.open(image)
    with reader.open_file_from_iso(rr_path=name) as file:
        found: bytes = file.read()
    reader.close()
    return found


def base64_of(data: bytes) -> bytes:
    """As `base64 -d` does it."""
    return subprocess.run(["base64", "-d"], input=data, capture_output=True, check=True).stdout


def forever() -> None:
    """Hangs."""
    time.sleep(600)
