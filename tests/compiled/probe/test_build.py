"""Does the probe build with every compiler it is meant for, without a warning, and does each build do the same work?"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support.probe.running import built
from tests.support.turns import in_turn

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "probe"

#: As a developer builds: from the separate files. name → variables of the Makefile, the program that must be there.
SEPARATE = {
    "gcc -O0": ("gcc", "-O0 -Werror", ""),
    "gcc -O2": ("gcc", "-O2 -Werror", ""),
    "gcc -O3": ("gcc", "-O3 -Werror", ""),
    "clang -O0": ("clang", "-O0 -Werror", ""),
    "clang -O2": ("clang", "-O2 -Werror", ""),
    "musl -O2 static": ("musl-gcc", "-O2 -Werror", "-static"),
}
#: As a stranger builds: from the one file, with nothing else. name → the words before `-o probe probe.c`.
SINGLE = {
    "cc -O2, one file": ("cc", "-O2"),
    "tcc, one file": ("tcc",),
    "musl static, one file": ("musl-gcc", "-static", "-O2"),
    "gcc warnings, one file": ("gcc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O2"),
    "clang warnings, one file": ("clang", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O2"),
}
ALWAYS = {"gcc -O2", "tcc, one file", "musl static, one file"}
BUILDS = in_turn((*SEPARATE, *SINGLE), 0.15, always=ALWAYS)
#: Workloads whose readers take what has come by a stream or a pipe, in as many pieces as that takes.
PIECES = ("ipc/unix-bw", "ipc/tcp-bw", "sh/script-")
#: Every row a few times over, the same number in each build: no calibration, no stopping rule.
FIXED = ("--runs", "1", "--batch", "1", "--samples", "10", "--seconds", "300")


def run(words: list[str], folder: Path | None = None, seconds: float = 300) -> str:
    """A program's output; fails with all that it printed."""
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, f"{' '.join(words)} left with {done.returncode}\n{done.stdout}{done.stderr}"
    assert "warning" not in done.stderr, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """name → a probe; each is built once."""

    @cache
    def build(name: str) -> Path:
        folder = tmp_path_factory.mktemp("probe")
        compiler = SEPARATE[name][0] if name in SEPARATE else SINGLE[name][0]
        if not shutil.which(compiler):
            pytest.skip(f"{compiler} is not installed here")
        if name in SINGLE:
            (folder / "probe.c").write_text(run(["sh", str(SOURCE / "amalgamate.sh")]))
            run([*SINGLE[name], "-o", "probe", "probe.c"], folder)
        else:
            return built(*SEPARATE[name])
        return folder / "probe"

    return build


def records(probe: Path, *arguments: str) -> list[dict[str, Any]]:
    """What the probe prints between its markers."""
    lines = run([str(probe), *arguments]).splitlines()
    assert lines[0] == "#kernometer begin 1"
    assert lines[-1] == f"#kernometer end {len(lines) - 2}"
    return [json.loads(line) for line in lines[1:-1]]


def header(probe: Path) -> dict[str, Any]:
    [found] = [record for record in records(probe, *FIXED, "cpu/hanoi") if record["type"] == "header"]
    return found


@pytest.mark.parametrize("name", BUILDS)
def test_it_builds_without_a_warning_and_measures(builds: Any, name: str) -> None:
    """Expected: the registry, and two rows measured. Broken: a compiler or a C library is lost unnoticed."""
    probe = builds(name)
    listed = records(probe, "--list", "--json")
    assert {record["type"] for record in listed} == {"workload"}
    assert len(listed) > 40
    measured = records(probe, *FIXED, "syscall/getppid", "ctx/pipe-pair@same-cpu")
    rows = {record["row"]: record for record in measured if record["type"] == "run"}
    assert set(rows) == {"syscall/getppid", "syscall/getppid@cold", "ctx/pipe-pair@same-cpu"}
    assert rows["syscall/getppid"]["iterations"] == 10
    assert len(rows["syscall/getppid"]["samples"]) == 10
    assert not [record for record in measured if record["type"] == "error"]


@pytest.mark.parametrize("name", BUILDS)
def test_every_build_has_the_same_registry_and_digest(builds: Any, name: str) -> None:
    """Expected: definitions and source digest do not depend on how it was built."""
    reference = builds("gcc -O2")
    assert records(builds(name), "--list", "--json") == records(reference, "--list", "--json")
    digest = run(["sh", str(SOURCE / "amalgamate.sh"), "--digest"]).strip()
    assert re.fullmatch(r"[0-9a-f]{64}", digest)
    assert header(builds(name))["probe"]["source_digest"] == digest


@pytest.mark.parametrize(
    "names",
    [
        ("gcc -O2", "musl static, one file", "tcc, one file"),
        pytest.param(("gcc -O2", "gcc -O0", "clang -O2"), marks=pytest.mark.slow(minutes=0.4)),
    ],
)
def test_the_header_tells_compilers_and_flags_apart(builds: Any, names: tuple[str, ...]) -> None:
    """Expected: two builds that differ are not taken for one. Broken: -O0 is compared with -O2 without a warning."""
    told = {name: header(builds(name))["probe"] for name in names}
    assert len({(probe["compiler"], probe["flags"]) for probe in told.values()}) == len(told)
    assert all(name.split()[1] in told[name]["flags"] for name in names if name in SEPARATE)


def test_the_header_tells_libc_and_linkage_as_they_are_at_run_time(builds: Any, tmp_path: Path) -> None:
    """Expected: what was loaded, also of a static program that can be moved in memory, and by a bare compiler call."""
    told = {name: header(builds(name))["probe"] for name in ("gcc -O2", "musl static, one file")}
    assert (told["gcc -O2"]["linkage"], told["gcc -O2"]["libc"].split()[0]) == ("dynamic", "glibc")
    assert (told["musl static, one file"]["linkage"], told["musl static, one file"]["libc"]) == ("static", "musl")
    (tmp_path / "probe.c").write_text(run(["sh", str(SOURCE / "amalgamate.sh")]))
    words = ["gcc", "-O0", "-static-pie", '-DKM_LIBC="musl 9"', "-o", "probe", "probe.c", "-lpthread"]
    run(words, tmp_path)
    found = header(tmp_path / "probe")["probe"]
    assert (found["linkage"], found["libc"]) == ("static", told["gcc -O2"]["libc"])


def counts(probe: Path) -> dict[str, dict[str, Any]]:
    """What every row of the full profile counted, row → run; each workload verified its own work on the way."""
    found = records(probe, *FIXED, "--profile", "quick")
    assert [record for record in found if record["type"] in ("error", "unsupported")] == []
    counted = {record["row"]: record for record in found if record["type"] == "count"}
    return {record["row"]: {**record, **counted.get(record["row"], {})} for record in found if record["type"] == "run"}


@pytest.mark.parametrize("compiler", in_turn(["gcc", "clang"], 0.14))
def test_the_optimiser_deleted_no_work(builds: Any, compiler: str) -> None:
    """Expected: row by row -O2 counts what -O0 counts. Broken: an operation is hoisted out of its loop, or gone.

    Calls that read and write are exact; faults and switches are within what a busy machine adds. How many instructions
    an operation takes in each build is compared by path, in tests/guest/guests.
    """
    plain, optimised = counts(builds(f"{compiler} -O0")), counts(builds(f"{compiler} -O2"))
    assert plain.keys() == optimised.keys()
    assert len(plain) > 60
    for row, a in plain.items():
        b = optimised[row]
        if "@cold" in row:  # its samples are processes, as many as the time allows
            continue
        for what in ("iterations", "batch", "ops", "bytes", "claimed"):
            assert a[what] == b[what], (row, what)
        for what in () if row.startswith(PIECES) else ("reads", "writes"):
            assert a["happened"].get(what) == b["happened"].get(what), (row, what)
        faults = sorted((a["happened"]["faults"], b["happened"]["faults"]))
        assert faults[1] <= 2 * faults[0] + 16, (row, "faults", faults)


def test_the_amalgam_holds_every_source_once() -> None:
    """Expected: each file of the folder, once, and no include of our own is left."""
    text = run(["sh", str(SOURCE / "amalgamate.sh")])
    parts = re.findall(r"^/\* ==== (\S+) ==== \*/$", text, flags=re.MULTILINE)
    sources = {path.relative_to(SOURCE).as_posix() for path in [*SOURCE.glob("*.[ch]"), *SOURCE.glob("workloads/*.c")]}
    assert sorted(parts) == sorted(sources)
    assert not re.search(r'^\s*#\s*include\s*"', text, flags=re.MULTILINE)


def test_the_digest_is_of_names_and_texts(tmp_path: Path) -> None:
    """Expected: a changed byte and a renamed file change it; the place of the folder does not."""
    folder = tmp_path / "a folder"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("build"))

    def digest() -> str:
        return run(["sh", str(folder / "amalgamate.sh"), "--digest"]).strip()

    first = digest()
    assert first == run(["sh", str(SOURCE / "amalgamate.sh"), "--digest"]).strip()
    source = folder / "workloads/cpu_hanoi.c"
    source.rename(folder / "workloads/cpu_tower.c")
    assert digest() != first
    (folder / "workloads/cpu_tower.c").rename(source)
    assert digest() == first
    source.write_text(source.read_text() + "\n")
    assert digest() != first


def test_the_amalgam_needs_nothing_but_posix_tools(tmp_path: Path) -> None:
    """Expected: the same file by other awks and shells. Broken: it is made on Linux only."""
    wanted = run(["sh", str(SOURCE / "amalgamate.sh")])
    tried = 0
    for awk in ("mawk", "gawk", "busybox", "original-awk"):
        found = shutil.which(awk)
        if found:
            (tmp_path / "awk").write_text(f'#!/bin/sh\nexec {found} {"awk" if awk == "busybox" else ""} "$@"\n')
            (tmp_path / "awk").chmod(0o755)
            done = subprocess.run(
                ["sh", str(SOURCE / "amalgamate.sh")],
                env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert (done.stdout, done.stderr) == (wanted, "")
            tried += 1
    assert tried
