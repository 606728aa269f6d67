"""The description of a system: a TOML file on how to boot, log in, compile and power off.

docs/console.md explains every key. An unknown key, a wrong type or an invalid pattern is an error that names the file
and the key.
"""

from __future__ import annotations

import re
from collections.abc import Set
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from kernometer.cache import sha256
from kernometer.errors import UsageError
from kernometer.guests.architecture import MachineType
from kernometer.guests.emulator.qemu import Device, Machine

SHIPPED = Path(__file__).with_name("systems")
MAX_BYTES = 1 << 16

#: The defaults are ten times as long as any step of the systems tried so far.
Seconds = Annotated[float, Meta(gt=0, le=7200)]

NetworkCard = Literal["e1000", "ne2k_pci", "rtl8139", "pcnet", "virtio-net-pci"]

#: Names in braces in commands, but not a shell's braces (`${HOME}`, `{ list; }`).
PLACE = re.compile(r"(?<!\$)\{([a-z]+)\}")


def _check_pattern(name: str, pattern: str) -> None:
    try:
        re.compile(pattern.encode())
    except re.error as error:
        raise ValueError(f"{name}: {pattern!r} is not a regular expression: {error}") from error


def _check_places(name: str, command: str, known: Set[str], needed: Set[str] = frozenset()) -> None:
    if "\n" in command or "\r" in command:
        raise ValueError(f"{name}: a command is one line")
    names = set(PLACE.findall(command))
    if unknown := names - known:
        raise ValueError(f"{name}: {{{min(unknown)}}} is unknown here; known are {', '.join(sorted(known))}")
    if command and (lacking := needed - names):
        raise ValueError(f"{name}: {{{min(lacking)}}} is missing in {command!r}")


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file."""


class Step(Part, frozen=True, kw_only=True):
    """Waits for `expect`, a regular expression, then types `send` and Enter."""

    expect: str
    send: str = ""
    maybe: bool = False  #: it may not come: then the next step's pattern is awaited too

    def __post_init__(self) -> None:
        _check_pattern("expect", self.expect)
        _check_places("send", self.send, {"user", "password"})


class Boot(Part, frozen=True, kw_only=True):
    """The virtual machine, and the time until the first expected output."""

    machine: MachineType = "pc"
    memory: Annotated[int, Meta(ge=8, le=1 << 20)] = 2048  #: MiB
    cpu: str = Machine().cpu
    media: Literal["disk", "cdrom"] = "disk"
    bus: Literal["ide", "virtio"] = "ide"
    devices: tuple[Device, ...] = ()
    firmware: Literal["screen", "serial"] = "screen"  #: where the BIOS and the loader's menu print
    steps: tuple[Step, ...] = ()  #: before the login: a loader's prompt on the serial line
    panic: tuple[str, ...] = ()  #: a dying kernel's messages
    seconds: Seconds = 600

    def __post_init__(self) -> None:
        for pattern in self.panic:
            _check_pattern("panic", pattern)
        if self.machine == "microvm" and self.bus == "ide":
            raise ValueError("bus: a microvm has no IDE bus; it takes virtio")
        if self.machine == "microvm" and self.firmware == "serial":
            raise ValueError("firmware: a microvm has no BIOS")


class Login(Part, frozen=True, kw_only=True):
    """The login. `user` is empty if the system starts with a shell."""

    user: str = ""
    password: str = ""
    prompt: str = r"login: *$"
    password_prompt: str = r"[Pp]assword: *$"  # noqa: S105 - what is printed, no password
    refused: str = r"[Ll]ogin incorrect"
    steps: tuple[Step, ...] = ()  #: after the password: for example a question for the terminal's type
    seconds: Seconds = 120

    def __post_init__(self) -> None:
        for name in ("prompt", "password_prompt", "refused"):
            _check_pattern(name, getattr(self, name))


class Shell(Part, frozen=True, kw_only=True):
    """The shell. Its own prompt is needed once; then it gets a prompt that nothing else prints."""

    prompt: str = r"[#$%] *$"
    enter: str = ""  #: typed first: `exec /bin/sh` if the login shell is not a POSIX shell
    setup: tuple[str, ...] = ()  #: typed next: commands that keep messages off the console, and such
    seconds: Seconds = 60  #: for each command

    def __post_init__(self) -> None:
        _check_pattern("prompt", self.prompt)


class Files(Part, frozen=True, kw_only=True):
    """How the probe's source is copied into the system."""

    way: Literal["cdrom", "serial", "network", "none"] = "cdrom"
    folder: str = "/mnt"  #: the directory of the source: the mount point, or a writable directory
    commands: tuple[str, ...] = ()  #: by CD-ROM: mount it; by network: bring it up, fetch `{name}` from `{server}`
    decode: str = "uudecode -o {file} {encoded}"  #: by serial line
    encoding: Literal["uuencode", "base64"] = "uuencode"  #: of the sent lines: with or without uuencode's frame
    packed: bool = False  #: by serial line: sent as gzip, a quarter of the size; `decode` unpacks it
    card: NetworkCard = "e1000"
    checksum: str = "cksum {source}"  #: "" if the system has no POSIX cksum: then nothing is checked
    seconds: Seconds = 600  #: for each command, and for sending

    def __post_init__(self) -> None:
        for command in self.commands:
            _check_places("commands", command, {"server", "name", "source"})
        _check_places("decode", self.decode, {"file", "encoded"}, needed={"file", "encoded"})
        _check_places("checksum", self.checksum, {"source"})


class Compile(Part, frozen=True, kw_only=True):
    """`command` is empty if the image contains the probe already, at `probe`."""

    command: str = "cc -O2 -o {probe} {source} -lpthread"
    probe: str = "/tmp/km-probe"  # noqa: S108 - the guest's folder, in which nobody else is
    seconds: Seconds = 1800

    def __post_init__(self) -> None:
        _check_places("command", self.command, {"source", "probe"}, needed={"source", "probe"})


class Run(Part, frozen=True, kw_only=True):
    """How the probe is called, and the file that keeps its output, by path, until the last row is done."""

    command: str = "{probe} {arguments}"
    output: str = "/tmp/km-output"  # noqa: S108 - the guest's folder, in which nobody else is

    def __post_init__(self) -> None:
        _check_places("command", self.command, {"probe", "arguments"}, needed={"probe", "arguments"})


class PowerOff(Part, frozen=True, kw_only=True):
    """`seen` is the last output of a system that cannot switch the machine off; QEMU is ended then."""

    command: str = "poweroff"
    seen: str = ""
    seconds: Seconds = 180

    def __post_init__(self) -> None:
        _check_pattern("seen", self.seen)


class Description(Part, frozen=True, kw_only=True):
    """A system that is driven at its console."""

    system: str  #: its name in words: "FreeBSD 14, amd64"
    tried: str = ""  #: by whom, when, with which image; "" if untried
    boot: Boot = Boot()
    login: Login = Login()
    shell: Shell = Shell()
    files: Files = Files()
    compile: Compile = Compile()
    run: Run = Run()
    power_off: PowerOff = PowerOff()

    def __post_init__(self) -> None:
        if (self.files.way == "none") != (self.compile.command == ""):
            raise ValueError('files: way = "none" and compile: command = "" go together: the image has the probe')
        if self.boot.machine == "microvm" and self.boot.media == "cdrom":
            raise ValueError("boot: a microvm cannot boot from a CD-ROM")

    @property
    def machine(self) -> Machine:
        boot = self.boot
        return Machine(type=boot.machine, cpu=boot.cpu, memory_mib=boot.memory, devices=boot.devices)

    @property
    def source(self) -> str:
        """The probe's source in the guest."""
        return f"{self.files.folder.rstrip('/')}/probe.c"


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """A description and its origin."""

    name: str  #: "freebsd", or the file's path as the user wrote it
    description: Description
    text: bytes  #: the file

    @property
    def digest(self) -> str:
        return sha256(self.text)

    @property
    def untried(self) -> str:
        """A remark for the user on a description that nobody has run; "" for the others."""
        return "" if self.description.tried else f"The description {self.name} is untried: nobody has run it yet."


def shipped() -> tuple[str, ...]:
    """The names of the descriptions that come with Kernometer."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.toml")))


def find(name: str) -> Loaded:
    """A shipped description by its name, or another by the path of its file. Raises UsageError."""
    if name in shipped():
        return load(SHIPPED / f"{name}.toml", name)
    if not name.endswith(".toml"):
        raise UsageError(
            f"There is no description {name!r} of a system.",
            f"Shipped are {', '.join(shipped())}; any other is named by the path of its .toml file.",
        )
    return load(Path(name), name)


def load(path: Path, name: str) -> Loaded:
    """Reads the file. Raises UsageError that names the file and the key."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(f"{path} is too large to be a description ({MAX_BYTES:,} bytes are the most).")
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}.", "A description is a .toml file; see docs/console.md.") from error
    try:
        described = msgspec.toml.decode(data, type=Description)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        said = re.sub(r" - at `\$\.?(.*?)`$", r" (at \1)", str(error)).removesuffix(" (at )")
        raise UsageError(f"{path}: {said}.", "docs/console.md lists the keys of a description.") from error
    return Loaded(name=name, description=described, text=data)


def filled(command: str, places: dict[str, str]) -> str:
    """`command` with the values of the names in braces; other braces are the shell's."""
    return PLACE.sub(lambda match: places.get(match[1], match[0]), command)
