"""The probe's source, and a binary of it for this host: compiled on first use, kept in the cache by what it is made of.

One way for all: the sources become one C file (amalgamate.sh), which any C compiler builds with one command.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernometer.cache import cache_folder, kept, sha256, source_folder
from kernometer.errors import BuildError, MissingError

#: Seconds; the slowest compiler at hand takes about 20.
COMPILE_SECONDS = 300
#: Tried in this order where neither the user nor CC names one.
COMPILERS = ("cc", "gcc", "clang", "tcc")
FLAGS = ("-O2",)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to compile: a compiler ("" for the first that is there) and its flags."""

    compiler: str = ""
    flags: tuple[str, ...] = FLAGS

    @classmethod
    def of(cls, words: str) -> Recipe:
        """From a user's words: `clang -O0`, `-m32`, `tcc`. Without a -O among them it is -O2."""
        parts = shlex.split(words)
        named = bool(parts) and not parts[0].startswith("-")
        flags = tuple(parts[1:] if named else parts)
        optimised = any(flag.startswith("-O") for flag in flags)
        return cls(parts[0] if named else "", flags if optimised else (*FLAGS, *flags))


DEFAULT = Recipe()


def compiler(recipe: Recipe) -> str:
    """The path of the compiler to use. Raises MissingError with what to install."""
    given = recipe.compiler or os.environ.get("CC", "")
    for name in (given,) if given else COMPILERS:
        found = shutil.which(name)
        if found:
            return found
    raise MissingError(
        f"There is no C compiler{f' named {given}' if given else ''} here.",
        "Install one (Debian, Ubuntu: apt-get install gcc libc6-dev), or name one: CC=clang kernometer run.",
    )


def amalgam() -> str:
    """The probe as one C file."""
    script = source_folder("probe") / "amalgamate.sh"
    done = subprocess.run(["/bin/sh", str(script)], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise BuildError("The probe's sources cannot be put together.", "", done.stderr)
    return done.stdout


def _version(path: str) -> str:
    """The first line of what it says of itself: part of the cache's key, since a compiler is upgraded in place."""
    flag = "-v" if Path(path).name.startswith("tcc") else "--version"
    done = subprocess.run([path, flag], capture_output=True, text=True, timeout=60, check=False)
    return (done.stdout or done.stderr).partition("\n")[0]


@cache
def probe(recipe: Recipe = DEFAULT) -> Path:
    """A probe for this host, compiled if the cache has none of these sources, this compiler and these flags.

    Looked for once in a process: an `ab` asks hundreds of times.
    Raises MissingError without a compiler, BuildError (with the compiler's words) where it does not compile.
    """
    path = compiler(recipe)
    source = amalgam()
    key = sha256("\0".join((source, path, _version(path), *recipe.flags)).encode())[:24]

    def make(scratch: Path) -> Path:
        folder = scratch / "probe"
        folder.mkdir()
        _compile(source, path, recipe.flags, folder)
        return folder

    return kept(cache_folder() / "probes" / key, make) / "probe"


def _compile(source: str, path: str, flags: tuple[str, ...], folder: Path) -> None:
    """Writes `probe` there, beside its source."""
    (folder / "probe.c").write_text(source)
    shown = shlex.join([Path(path).name, *flags])
    define = f'-DKM_FLAGS="{shown}"'.replace("\\", "")
    argv = [path, *flags, define, "-o", "probe", "probe.c", "-lpthread"]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=COMPILE_SECONDS, check=False)
    if done.returncode != 0:
        raise BuildError(
            f"The probe does not compile: {shlex.join(argv)} left with {done.returncode}.",
            "A C library's headers may be missing (Debian, Ubuntu: apt-get install libc6-dev).",
            done.stderr + done.stdout,
        )
