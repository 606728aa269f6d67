"""The probe's source, and its binary: compiled on first use, and kept in the cache under a digest of its ingredients.

amalgamate.sh makes one C file of the sources, which any C compiler builds with one command. On Linux the probe is
linked statically, so that one file works on this host and its guests, and no dynamic linker is measured.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernometer import source_folder
from kernometer.cache import cache_folder, kept, sha256
from kernometer.errors import BuildError, MissingError
from kernometer.guests.architecture import X86_64, Architecture
from kernometer.guests.inside import programs
from kernometer.processes import called

#: Seconds; the slowest compiler tried so far takes about 20, and a probe starts in milliseconds.
COMPILE_SECONDS, START_SECONDS = 300, 60
#: Tried in this order if neither the user nor CC names a compiler; on Linux, MUSL comes first.
COMPILERS = ("cc", "gcc", "clang", "tcc")
MUSL = "musl-gcc"
FLAGS = ("-O2",)
#: The word in a recipe for dynamic linking, which is not passed to the compiler.
DYNAMIC = "-dynamic"
_ANOTHER = "Try again if this machine is busy. Does it wait for something? local:'COMPILER FLAGS' and CC name another."
#: Compilers' messages about a missing header or library.
_LACKS = re.compile(r"\.h: No such|\.h' file not found|include file '.*' not found|cannot find (-l|crt)")
#: In a probe's directory in the cache: the command that made it.
COMMAND = "command"


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to compile: a compiler ("": the first one found), its flags, and whether to link dynamically."""

    compiler: str = ""
    flags: tuple[str, ...] = FLAGS
    dynamic: bool = False

    @classmethod
    def parsed(cls, words: str) -> Recipe:
        """From a user's text: `clang -O0`, `-m32`, `tcc`, `-dynamic`. Adds -O2 if it has no -O."""
        parts = shlex.split(words)
        named = bool(parts) and not parts[0].startswith("-")
        flags = tuple(flag for flag in (parts[1:] if named else parts) if flag != DYNAMIC)
        optimised = any(flag.startswith("-O") for flag in flags)
        return cls(parts[0] if named else "", flags if optimised else (*FLAGS, *flags), DYNAMIC in parts)

    @property
    def named(self) -> str:
        """The compiler that the user names, here or by CC; "": the first one found."""
        return self.compiler or os.environ.get("CC", "")

    def commands(self) -> tuple[tuple[str, ...], ...]:
        """The commands to try in this order, without input and output: the first one that works makes the probe. musl's
        own compiler is the first if no compiler is named. Raises MissingError without a compiler."""
        plain = (compiler(self), *self.flags)
        if self.dynamic or "-static" in self.flags or not sys.platform.startswith("linux"):
            return (plain,)
        musl = None if self.named else shutil.which(MUSL)
        first = ((musl, *self.flags, "-static", *programs.MUSL_FLAGS),) if musl else ()
        return (*first, (*plain, "-static"), plain)


DEFAULT = Recipe()


def compiler(recipe: Recipe) -> str:
    """The path of the compiler to use. Raises MissingError with what to install."""
    given = recipe.named
    for name in (given,) if given else COMPILERS:
        path = shutil.which(name)
        if path:
            return path
    raise MissingError(
        f"There is no C compiler{f' named {given}' if given else ''} on this host.",
        "Install one (Debian, Ubuntu: apt-get install gcc libc6-dev), or name one: CC=clang kernometer run.",
    )


def amalgam() -> str:
    """The probe as one C file."""
    script = source_folder("probe") / "amalgamate.sh"
    done = called(("/bin/sh", str(script)), 60, failure=BuildError)
    if done.returncode != 0:
        raise BuildError("The probe's sources cannot be joined into one file.", "", done.stderr)
    return done.stdout


def _version(path: str) -> str:
    """The first line of a compiler's version message, for the cache's key: a compiler is upgraded in place."""
    flag = "-v" if Path(path).name.startswith("tcc") else "--version"
    done = called((path, flag), 60, _ANOTHER, failure=BuildError)
    return (done.stdout or done.stderr).partition("\n")[0]


@cache
def probe(recipe: Recipe = DEFAULT) -> Path:
    """A probe, compiled unless the cache has one of these sources, compilers and flags. It is searched once per
    process, for an `ab` calls this hundreds of times. Raises MissingError without a compiler, BuildError (with the
    compiler's messages) if no command compiles it, or one is not done in time."""
    commands, source = recipe.commands(), amalgam()
    made_of = (source, _musl(), *(word for command in commands for word in (_version(command[0]), *command)))
    key = sha256("\0".join(made_of).encode())[:24]

    def make(scratch: Path) -> Path:
        folder = scratch / "probe"
        folder.mkdir()
        (folder / "probe.c").write_text(source)
        for command in commands:
            try:
                _compile(command, folder)
                if command != commands[-1]:
                    _start(folder)
            except BuildError as error:
                if isinstance(error.__cause__, subprocess.TimeoutExpired):
                    raise  # not refused: a busy machine is no reason for a dynamic probe
                failed = error
            else:
                (folder / COMMAND).write_text(shlex.join(command))
                return folder
        raise failed

    return kept(cache_folder() / "probes" / key, make) / "probe"


def without_musl(recipe: Recipe = DEFAULT) -> str:
    """A note if the probe has glibc because musl is not installed: installing musl would then change the probe."""
    if recipe.named or len(recipe.commands()) == 1 or shutil.which(MUSL) or platform.libc_ver()[0] != "glibc":
        return ""
    return (
        "The probe is linked with glibc, as there is no musl-gcc: exec and spawn cost more, and once it is installed a "
        "new history begins. Install it now (Debian, Ubuntu: apt-get install musl-tools), or name a compiler."
    )


def note(recipe: Recipe = DEFAULT) -> str:
    """Builds the probe. Returns a note if it had to be linked dynamically."""
    commands = recipe.commands()
    if len(commands) == 1 or probe(recipe).with_name(COMMAND).read_text() != shlex.join(commands[-1]):
        return ""
    return (
        f"The probe is linked dynamically: {Path(commands[-1][0]).name} links no static program here. exec, fork and "
        "first calls include the dynamic linker, which no guest has (Debian, Ubuntu: apt-get install musl-tools)."
    )


def static_probe(architecture: Architecture = X86_64) -> Path:
    """The probe for this host and its guests. Raises MissingError if no compiler here links statically for them."""
    if architecture.compiler:
        compiler, *flags = programs.static_compiler(architecture)
        return probe(Recipe(compiler, tuple(flags)))
    if said := note():
        raise MissingError("A guest's programs need a compiler that links statically.", said)
    return probe()


@cache
def _musl() -> str:
    """`musl 1.2.3`, from its loader, since its headers have no such macro; "" without musl."""
    for loader in Path("/lib").glob(f"ld-musl-{os.uname().machine}.so.1"):
        said = called((str(loader),), 60, failure=BuildError).stderr
        if match := re.search(r"^Version ([0-9][\w.+-]{0,30})$", said, re.MULTILINE):
            return f"musl {match[1]}"
    return ""


def _start(folder: Path) -> None:
    """Raises BuildError if it does not run: tcc links static programs that die in glibc's first function."""
    try:
        subprocess.run([folder / "probe", "--list"], stdout=subprocess.DEVNULL, timeout=START_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise BuildError(f"The static probe does not start: {error}.", _ANOTHER) from error


def _compile(command: tuple[str, ...], folder: Path) -> None:
    """Makes `probe` of the file `probe.c` in `folder`. Raises BuildError."""
    shown = shlex.join([Path(command[0]).name, *command[1:]])
    defines = [f'-DKM_FLAGS="{shown}"'.replace("\\", ""), *([f'-DKM_LIBC="{_musl()}"'] if _musl() else [])]
    argv = [*command, *defines, "-o", "probe", "probe.c", "-lpthread"]
    done = called(argv, COMPILE_SECONDS, _ANOTHER, folder=folder, failure=BuildError)
    if done.returncode != 0:
        said = done.stderr + done.stdout
        lacks = _LACKS.search(said)
        raise BuildError(
            f"The probe does not compile: {shlex.join(argv)} ended with status {done.returncode}.",
            "A C library's headers may be missing (Debian, Ubuntu: apt-get install libc6-dev)."
            if lacks
            else "Read the compiler's messages: are its flags right? local:'COMPILER FLAGS' and CC name others.",
            said,
        )
