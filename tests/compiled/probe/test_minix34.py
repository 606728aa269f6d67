"""A probe for MINIX 3.4, whose libc and kernel answer as MINIX was met: does it say what it cannot know or do?"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from scripts import portability
from tests.support.probe.running import LIMIT_SECONDS, of_type

SHORT = ("--runs", "1", "--batch", "2", "--samples", "4", "--seconds", "0.1")


@pytest.fixture(scope="module")
def minix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = portability.amalgam(tmp_path_factory.mktemp("minix34"))
    return portability.compiled(portability.BUILDS["minix34"], source, "-O0")


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("shim") / "minix.so"
    source = Path(__file__).with_name("minix.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", made, source], check=True, timeout=60)
    return made


def measured(probe: Path, folder: Path, *rows: str, **env: str) -> str:
    words: list[str | Path] = [probe, "--dir", folder, *SHORT, *rows]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_SECONDS, env=env, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


def test_what_a_system_does_not_count_is_not_told(minix: Path, shim: Path, tmp_path: Path) -> None:
    """Expected: no switches and no faults among what happened. Broken: 0 of each, "counts off … please report"."""
    rows = ("proc/fork-exit", "mem/touch@pages=64")
    counts = of_type(measured(minix, tmp_path, *rows, LD_PRELOAD=str(shim)), "count")
    assert {count["row"] for count in counts} == set(rows)
    for count in counts:
        assert count["claimed"].keys() & {"any_switches", "faults"}
        assert not count["happened"].keys() & {"switches", "involuntary", "any_switches", "faults", "major_faults"}


def test_what_is_counted_and_did_not_happen_is_told(minix: Path, tmp_path: Path) -> None:
    """Expected: no switch, and that it was none. Broken: a count of 0 is always taken for none at all."""
    [count] = of_type(measured(minix, tmp_path, "syscall/getppid@"), "count")
    assert count["happened"].keys() >= {"switches", "involuntary", "any_switches", "faults"}


def test_sockets_that_nobody_serves_are_unsupported(minix: Path, shim: Path, tmp_path: Path) -> None:
    """Expected: call and reason. Broken: a failed row, and a bad exit status, for want of a server."""
    rows = ("ipc/unix-lat@same-cpu", "ipc/unix-bw@total=1048576,message=65536,same-cpu")
    found = of_type(measured(minix, tmp_path, *rows, LD_PRELOAD=str(shim)), "unsupported")
    assert {record["row"]: record["reason"] for record in found} == dict.fromkeys(
        rows, "socketpair: No such file or directory"
    )


@pytest.mark.parametrize("remembers", [False, True])
def test_getpid_without_syscall_is_libc_s_unless_it_remembers(
    minix: Path, shim: Path, tmp_path: Path, remembers: bool
) -> None:
    """Expected: a figure of libc's getpid; where that asks the kernel once, none. Broken: the reverse of one."""
    env = {"LD_PRELOAD": str(shim), **({"REMEMBERS": "1"} if remembers else {})}
    text = measured(minix, tmp_path, "syscall/getpid", **env)
    runs = {run["row"] for run in of_type(text, "run")}
    reasons = {record["row"]: record["reason"] for record in of_type(text, "unsupported")}
    assert "called before" in reasons.pop("syscall/getpid@cold")
    assert runs == (set() if remembers else {"syscall/getpid"})
    assert ["libc caches" in reason for reason in reasons.values()] == ([True] * remembers)


def test_header_tells_processor_and_flags_of_a_plain_build(minix: Path, tmp_path: Path) -> None:
    """Expected: what processor and compiler say. Broken: no model and "unknown", from a `cc probe.c` without /proc."""
    [header] = of_type(measured(minix, tmp_path, "syscall/getppid@"), "header")
    assert header["probe"]["flags"] == "not told; the compiler did not optimise"
    assert header["cpu"]["model"] or not re.search(r"\bsse2\b", Path("/proc/cpuinfo").read_text())
