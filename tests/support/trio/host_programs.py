"""Parts of Trio compiled for this host, where the sanitizers watch them, each with a program that drives it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kernometer.cache import kept, sha256
from tests.support.checkout import KEPT, ROOT

TRIO = ROOT / "trio"
HOST = Path(__file__).parent / "host"
NEEDS_GCC = pytest.mark.skipif(shutil.which("gcc") is None, reason="the service is compiled by gcc")
#: TRIO_CHECKED: the services look after their lists.
OPTIONS = (
    *("-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-DTRIO_CHECKED"),
)


def compiled_interfaces(folder: Path) -> Path:
    """Headers and functions that are made of Trio's interfaces and of the structure mono, below `folder`."""
    made = folder / "gen"
    words = [TRIO / "tools/idl.py", made, TRIO / "interfaces", TRIO / "config/services.toml"]
    for structure in ((), ("mono",)):
        subprocess.run([sys.executable, "-B", *words, *structure], check=True, timeout=60)
    return made


def built(program: Path, sources: Sequence[Path], *includes: Path) -> Path:
    """The program, made of these C files and what lies beside it; `includes` are folders beyond the seam, the
    interfaces and HOST. It is compiled once for each content of all that it is made of, and kept below build/."""
    given = (TRIO / "seam", TRIO / "interfaces", HOST, *includes)
    return kept(
        KEPT / f"{program.name}-{_digest(sources, given)}",
        lambda scratch: _compiled(scratch / program.name, sources, given),
    )


def _digest(sources: Sequence[Path], folders: Sequence[Path]) -> str:
    read = {each for folder in (*folders, TRIO / "tools", TRIO / "config") for each in folder.rglob("*.*")}
    files = sorted({path for path in (*sources, *read) if path.is_file() and path.suffix != ".pyc"})
    compiler = subprocess.run(["gcc", "--version"], capture_output=True, check=True, timeout=60).stdout
    parts = (repr((OPTIONS, *sources)).encode(), compiler, *(path.read_bytes() for path in files))
    return sha256(b"\0".join(parts))[:16]


def _compiled(program: Path, sources: Sequence[Path], given: Sequence[Path]) -> Path:
    folder = program.parent
    folders = (*given[:2], compiled_interfaces(folder), *given[2:])

    def compiled(source: Path) -> Path:
        to = folder / f"{source.stem}.o"
        subprocess.run(
            ["gcc", *OPTIONS, *(f"-I{each}" for each in folders), "-c", source, "-o", to], check=True, timeout=300
        )
        return to

    with ThreadPoolExecutor(os.cpu_count()) as several:
        objects = list(several.map(compiled, sources))
    subprocess.run(["gcc", *OPTIONS, *objects, "-o", program], check=True, timeout=300)
    return program
