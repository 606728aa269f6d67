#!/usr/bin/env python3
"""The rows that run on each system: builds the probe for each of docs/portability.md, runs all rows, prints the table.

usage: .venv/bin/python scripts/portability.py [--write] [BUILD...]

Without names: all builds whose tools are installed here. Every row of the full profile runs once, with tiny limits,
which shows that it works, and gives no figure. `--write` writes each build's line into the page as soon as it is known,
in place of the old one.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from kernometer.results.rows import Row

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/portability.md"
BEGIN, END = "<!-- scripts/portability.py wrote this -->\n", "<!-- to here -->\n"
HEAD = "| build | clock | rows that run | that do not | why: rows, reason |\n|---|---|---|---|---|\n"
#: Each row once, with one iteration in a sample.
TINY = ("--profile", "full", "--runs", "1", "--batch", "1", "--samples", "2", "--seconds", "0.01")
STRICT = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror")
#: Of a line of the table; the probe's list has the others.
REASONS = 6
#: For a whole profile in an emulator on a busy machine.
SECONDS = 1500

#: A process under qemu-user that executes its own file passes it to this host's kernel, which lacks that processor
#: (unless binfmt_misc is set up): the row reports it, or the status of its child or of /bin/sh shows it. qemu-user's
#: own threads count as the user's processes, so that under a limit of them it cannot start a child.
QEMU_USER: Mapping[str, str] = {
    "proc/execl": r"ENOEXEC",
    "proc/fork-exec": r"ENOEXEC",
    "proc/vfork-exec": r"ENOEXEC",
    "proc/spawn": r"ENOEXEC|exited with status 127",
    "proc/shell": r"exited with status 126",
    "load/multiuser": r"ENOEXEC",
    "limit/processes-own": r"(exited|ended) with status",
}


@dataclass(frozen=True, slots=True)
class Build:
    """One way to build the probe. `runner` executes programs for other processors."""

    compiler: tuple[str, ...]
    what: str  #: for the table
    runner: str = ""
    #: Workloads that fail because of the runner, and not because of the probe, with their error.
    excepted: Mapping[str, str] = field(default_factory=dict)

    @property
    def missing(self) -> tuple[str, ...]:
        """Its tools that are not installed here."""
        return tuple(tool for tool in (self.compiler[0], self.runner) if tool and not shutil.which(tool))


def emulated(compiler: str, runner: str, what: str) -> Build:
    return Build((compiler, "-O2", "-static", *STRICT), what, runner, QEMU_USER)


def by_zig(target: str, what: str, runner: str = "") -> Build:
    """Zig's C compiler (`ziglang`, of the requirements for tests) contains the headers and libc of its target."""
    excepted = QEMU_USER if runner else {}
    return Build((sys.executable, "-m", "ziglang", "cc", "-target", target, "-O2", *STRICT), what, runner, excepted)


BUILDS = {
    "gcc": Build(("gcc", "-O2", *STRICT), "x86-64, glibc, gcc"),
    "clang": Build(("clang", "-O2", *STRICT), "x86-64, glibc, clang"),
    "tcc": Build(("tcc",), "x86-64, glibc, tcc"),
    "musl": Build(("musl-gcc", "-O2", "-static", *STRICT), "x86-64, musl, static"),
    "i686": Build(("i686-linux-gnu-gcc", "-O2", "-static", *STRICT), "x86 of 32 bits, static"),
    "arm": emulated("arm-linux-gnueabihf-gcc", "qemu-arm-static", "Arm of 32 bits, under qemu-user"),
    "aarch64": by_zig("aarch64-linux-musl", "Arm of 64 bits, musl, under qemu-user", "qemu-aarch64-static"),
    "riscv64": by_zig("riscv64-linux-musl", "RISC-V of 64 bits, musl, under qemu-user", "qemu-riscv64-static"),
    "powerpc": emulated("powerpc-linux-gnu-gcc", "qemu-ppc-static", "PowerPC of 32 bits, big-endian, under qemu-user"),
    "minix34": Build(("gcc", "-O2", "-DKM_MINIX34", *STRICT), "what MINIX 3.4 has, played on Linux"),
    "bare": Build(("gcc", "-O2", "-DKM_BARE", *STRICT), "nothing beyond an old POSIX system"),
    "bare-i686": Build(("i686-linux-gnu-gcc", "-O2", "-static", "-DKM_BARE", *STRICT), "the same, off_t of 32 bits"),
}

#: Systems for which the probe compiles and links, but which nothing here can run.
NOT_RUN = {
    "macos-arm64": by_zig("aarch64-macos", "macOS, Arm of 64 bits"),
    "macos-x86-64": by_zig("x86_64-macos", "macOS, x86-64"),
    "freebsd": by_zig("x86_64-freebsd", "FreeBSD, x86-64"),
    "netbsd": by_zig("x86_64-netbsd", "NetBSD, x86-64"),
    "openbsd": by_zig("x86_64-openbsd", "OpenBSD, x86-64"),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of every row of a build, by its name, and the files left behind."""

    header: Mapping[str, object]
    runs: Mapping[str, Mapping[str, object]]
    unsupported: Mapping[str, str]
    errors: Mapping[str, str]
    left: tuple[str, ...]


def amalgam(folder: Path) -> Path:
    text = subprocess.run(
        ["sh", str(ROOT / "probe/amalgamate.sh")], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    (folder / "probe.c").write_text(text)
    return folder / "probe.c"


def compiled(build: Build, source: Path, *more: str) -> Path:
    """The probe, built from one file; a warning is an error."""
    probe = source.parent / "probe"
    done = subprocess.run(
        [*build.compiler, *more, "-o", str(probe), str(source)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode != 0 or "warning" in done.stderr:
        raise SystemExit(f"{' '.join(build.compiler)}: {done.stderr}")
    return probe


def records(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def outcome(build: Build, probe: Path, folder: Path, words: Sequence[str] = TINY) -> Outcome:
    """Runs it in the empty `folder`. The probe's own status only sums up the rows' results."""
    runner = (build.runner,) if build.runner else ()
    done = subprocess.run(
        [*runner, str(probe), "--dir", str(folder), *words],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS,
        check=False,
    )
    emitted = records(done.stdout)
    if done.returncode not in (0, 1) or not emitted or emitted[0]["type"] != "header":
        raise SystemExit(f"{probe} exited with status {done.returncode}: {done.stderr}")

    def by_row(kind: str) -> dict[str, dict[str, object]]:
        return {str(record["row"]): record for record in emitted if record["type"] == kind}

    return Outcome(
        emitted[0],
        by_row("run"),
        {row: str(record["reason"]) for row, record in by_row("unsupported").items()},
        {row: str(record["text"]) for row, record in by_row("error").items()},
        tuple(path.name for path in folder.iterdir()),
    )


def forgiven(build: Build, errors: Mapping[str, str]) -> dict[str, str]:
    """The errors that its runner is known to cause."""
    return {
        row: text
        for row, text in errors.items()
        if Row(row).workload in build.excepted and re.search(build.excepted[Row(row).workload], text)
    }


def grouped(reasons: Iterable[str]) -> str:
    """The most frequent reasons, each with the number of its rows, without explanations and sizes."""
    texts = (re.split(r": | \(| up to ", reason, maxsplit=1)[0] for reason in reasons)
    texts = (re.sub(r"^(?:this (?:platform|system) has|there is) no ", "no ", text) for text in texts)
    counted = Counter(re.sub(r"\d+ KiB", "some KiB", text) for text in texts).most_common()
    others = sum(n for _, n in counted[REASONS:])
    named = [f"{n} {reason}" for reason, n in counted[:REASONS]]
    return "; ".join([*named, f"{others} others"] if others else named)


def line(build: Build, result: Outcome) -> str:
    """One line of the table."""
    excepted = forgiven(build, result.errors)
    others = {row: text for row, text in result.errors.items() if row not in excepted}
    reasons = [grouped(result.unsupported.values())] if result.unsupported else []
    if excepted:
        reasons.append(f"{len(excepted)} execute their own file or limit their processes, which qemu-user cannot do")
    if others:
        reasons.append("failed: " + "; ".join(f"{row}: {text}" for row, text in others.items()))
    not_run = len(result.unsupported) + len(result.errors)
    return f"| {build.what} | {result.header['clock']} | {len(result.runs)} | {not_run} | {'; '.join(reasons)} |\n"


def lines(names: Sequence[str], words: Sequence[str] = TINY) -> Iterator[str]:
    for name in names:
        with TemporaryDirectory(prefix="portability-") as folder:
            work = Path(folder) / "work"
            work.mkdir()
            build = BUILDS[name]
            yield line(build, outcome(build, compiled(build, amalgam(Path(folder))), work, words))


def write(new: str) -> None:
    """Puts a line into the page's table in place of the build's old one, in the order of BUILDS."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    old, _, after = rest.partition(END)
    known = [*old.splitlines(keepends=True), new]
    kept = {build.what: text for build in BUILDS.values() for text in known if text.startswith(f"| {build.what} |")}
    PAGE.write_text(f"{before}{BEGIN}\n{HEAD}{''.join(kept.values())}\n{END}{after}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.relative_to(ROOT)}")
    parser.add_argument("builds", nargs="*", choices=[[], *BUILDS], metavar="BUILD", help=", ".join(BUILDS))
    arguments = parser.parse_args()
    names = arguments.builds or [name for name, build in BUILDS.items() if not build.missing]
    for name in names:
        if BUILDS[name].missing:
            parser.error(f"{name}: not installed here: {', '.join(BUILDS[name].missing)}")
    sys.stdout.write(HEAD)
    for text in lines(names):
        sys.stdout.write(text)
        sys.stdout.flush()
        if arguments.write:
            write(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
