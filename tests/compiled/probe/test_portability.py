"""Is what the probe says of other systems true? Each build of scripts/portability.py runs every row."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from kernometer.stats.flags import COARSE_STEP
from scripts import portability
from scripts.portability import BUILDS, NOT_RUN, ROOT, Outcome
from tests.support.turns import in_turn

PROBE = ROOT / "probe"
PAGE = (ROOT / "docs/portability.md").read_text()
#: Derived from HAVE_SYSCALL in platform_sys.h.
DERIVED = r"HAVE_SYS_\w+"
#: Headers that an old POSIX system does not have.
YOUNG_HEADERS = (
    *("poll.h", "sys/poll.h", "sys/mman.h", "sys/socket.h", "sys/un.h", "netinet/in.h", "netinet/tcp.h", "arpa/inet.h"),
    *("pthread.h", "sched.h", "semaphore.h", "spawn.h", "sys/resource.h", "sys/syscall.h", "sys/statvfs.h"),
    *("sys/vfs.h", "sys/ipc.h", "sys/msg.h", "sys/shm.h", "mqueue.h", "aio.h", "sys/eventfd.h", "sys/prctl.h"),
    *("malloc.h", "linux/fb.h", "linux/futex.h", "linux/perf_event.h", "sys/ioctl.h"),
)
#: Functions that a Linux has and MINIX 3.4 has not.
NOT_ON_MINIX34 = re.compile(
    r"pthread_\w+|sem_\w+|sched_\w+|mprotect|madvise|mincore|posix_fadvise|\w+at|waitid|sigaltstack|sigwait\w*|pselect|"
    r"msg(get|snd|rcv|ctl)|mq_\w+|eventfd|syscall|prctl|syncfs|statfs|mallopt|malloc_trim|sbrk"
)
#: What the probe calls the C library of a system that is not here.
LIBC = {"freebsd": b"FreeBSD libc", "netbsd": b"NetBSD libc", "openbsd": b"OpenBSD libc"}
#: ISO C and POSIX functions whose names end so, too.
NOT_AT = {"strcat", "strncat", "stat", "fstat", "lstat"}


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """name, further words → a probe; each is built once."""

    @cache
    def build(name: str, *more: str) -> Path:
        if BUILDS[name].missing:
            pytest.skip(f"not installed here: {', '.join(BUILDS[name].missing)}")
        return portability.compiled(BUILDS[name], portability.amalgam(tmp_path_factory.mktemp(name)), *more)

    return build


def run(name: str, probe: Path, folder: Path, *words: str) -> Outcome:
    return portability.outcome(BUILDS[name], probe, folder, words or portability.TINY)


def named_capabilities() -> set[str]:
    """Every HAVE_X that a source or header of the probe asks for."""
    texts = [path.read_text() for path in [*PROBE.glob("*.[ch]"), *PROBE.glob("workloads/*.[ch]")]]
    names = {name for text in texts for name in re.findall(r"\bHAVE_[A-Z0-9_]+\b", text)}
    return {name for name in names if name != "HAVE_X" and not re.fullmatch(DERIVED, name)}


def symbols(probe: Path) -> set[str]:
    """The functions that it takes from libc, by their names in the standard."""
    done = subprocess.run(
        ["nm", "-D", "--undefined-only", str(probe)], capture_output=True, text=True, timeout=60, check=True
    )
    names = {re.sub(r"@.*", "", line.split()[-1]) for line in done.stdout.splitlines()}
    names = {re.sub(r"^__isoc\d\d_|^__sysv_|(?<=[a-z])64$", "", name) for name in names}
    return {name for name in names if not name.startswith("_") or name == "_exit"}


# capabilities ------------------------------------------------------------------------------------------------------


def test_a_bare_build_has_every_capability_switched_off() -> None:
    """Expected: each HAVE_X of the probe is 0 there by itself. Broken: a new one is on where none is claimed."""
    bare, common = (PROBE / "platform_bare.h").read_text(), (PROBE / "platform_common.h").read_text()
    assert re.findall(r"^#define (\w+) 0$", bare, flags=re.MULTILINE) == ["KM_LINUX", "KM_POSIX"]
    defaults = r"^#ifndef (HAVE_\w+)\n#define \1 (?:KM_LINUX|KM_POSIX|0)\b"
    assert set(re.findall(defaults, common, flags=re.MULTILINE)) == named_capabilities()


def test_minix_says_of_every_capability_whether_it_has_it() -> None:
    """Expected: each HAVE_X is 0 or 1 there. Broken: one that nobody asked about is undefined, which counts as 0."""
    text = (PROBE / "platform_minix34.h").read_text()
    assert set(re.findall(r"^#define (HAVE_\w+) [01]", text, flags=re.MULTILINE)) == named_capabilities()


def test_no_other_file_asks_for_the_system_s_name() -> None:
    """Expected: what MINIX lacks stands in its own file. Broken: a port looks for it in a dozen places."""
    asking = [path.name for path in PROBE.rglob("*.[ch]") if "__minix" in path.read_text()]
    assert sorted(asking) == ["platform.h", "platform_minix34.h"]


# bare --------------------------------------------------------------------------------------------------------------


def test_a_bare_build_takes_no_function_from_libc_beyond_those_on_the_page(built: Any) -> None:
    """Expected: the list of docs/portability.md. Broken: poll, mmap or clock_gettime is used where there is none."""
    required = re.search(r"<!-- required -->\n(.*?)\n\n", PAGE, flags=re.DOTALL)
    assert required is not None
    allowed = set(re.findall(r"\w+", required[1]))
    assert symbols(built("bare", "-O0")) - allowed == set()


def test_a_bare_build_includes_no_header_that_an_old_system_lacks(tmp_path: Path) -> None:
    """Expected: it compiles where they are errors, and an ordinary build does not. Broken: an #include outside #if."""
    source = portability.amalgam(tmp_path)
    for name in YOUNG_HEADERS:
        header = tmp_path / "young" / name
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text(f"#error {name}\n")
    words = ["gcc", "-std=c99", "-fsyntax-only", f"-I{tmp_path}/young", str(source)]
    bare = subprocess.run([*words, "-DKM_BARE"], capture_output=True, text=True, timeout=300, check=False)
    assert (bare.stderr, bare.returncode) == ("", 0)
    assert subprocess.run(words, capture_output=True, timeout=300, check=False).returncode != 0


@pytest.mark.parametrize("compiler", in_turn(["gcc", "clang", "tcc"], 0.03, always=["gcc", "tcc"]))
def test_a_bare_build_lists_what_it_cannot_do_and_measures_the_rest(compiler: str, tmp_path: Path) -> None:
    """Expected: no warning, reasons in the list, two rows measured by gettimeofday."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed here")
    strict = () if compiler == "tcc" else portability.STRICT
    build = portability.Build((compiler, "-DKM_BARE", *strict), "")
    probe = portability.compiled(build, portability.amalgam(tmp_path))
    listed = subprocess.run(
        [probe, "--list", "--profile", "full"], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    for row in ("clock/monotonic", "syscall/mix-fixed-time", "proc/thread", "mem/touch@pages=1"):
        assert re.search(rf"^{row} +unsupported: this platform has no ", listed, flags=re.MULTILINE), row
    work = tmp_path / "work"
    work.mkdir()
    found = portability.outcome(build, probe, work, ("--runs", "1", "--seconds", "0.02", "syscall/getppid", "ctx/ring"))
    assert found.header["clock"] == "gettimeofday"
    assert set(found.runs) == {"syscall/getppid", "syscall/getppid@cold"}
    assert not found.errors
    assert not found.left


def test_the_front_end_leaves_the_clock_to_a_probe_that_has_no_monotonic_one(built: Any, tmp_path: Path) -> None:
    """Expected: a session by gettimeofday. Broken: --clock monotonic was always asked for, and refused."""
    words = ("run", "--on", f"probe:{built('bare', '-O0')}", "--runs", "2", "--seconds", "0.02")
    done = subprocess.run(
        [Path(sys.executable).with_name("kernometer"), *words, "syscall/getppid@"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"XDG_DATA_HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    [kept] = tmp_path.rglob("*.ndjson")
    assert '"clock":"gettimeofday"' in kept.read_text()


def test_a_first_call_by_a_probe_that_cannot_execute_itself_has_its_runs_folder(probe: Path) -> None:
    """As under qemu-user. Expected: its file is made below --dir. Broken: in the root of the file system, where only
    root may."""
    file = os.memfd_create("probe")
    os.write(file, probe.read_bytes())
    with tempfile.TemporaryDirectory() as work:
        Path(work).chmod(0o777)
        done = subprocess.run(
            ["nobody-finds-it", "--dir", work, *portability.TINY, "syscall/open-close@cold"],
            executable=f"/proc/self/fd/{file}",
            pass_fds=[file],
            user=65534 if os.geteuid() == 0 else None,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    os.close(file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"capabilities":' in done.stdout and '"self"' not in done.stdout


# MINIX 3.4, played -------------------------------------------------------------------------------------------------


def test_a_build_for_minix_takes_no_function_that_is_not_there(built: Any) -> None:
    found = {name for name in symbols(built("minix34", "-O0")) if NOT_ON_MINIX34.fullmatch(name)}
    assert found - NOT_AT == set()


@pytest.mark.slow(minutes=0.15)
def test_a_clock_of_a_sixtieth_of_a_second_still_gives_figures_or_says_that_it_cannot(
    built: Any, tmp_path: Path
) -> None:
    """Expected: samples of whole steps, so few that the front end calls the clock coarse (or the row below its
    resolution, where most of a run is not timed). Broken: a call whose sample is shorter than a step."""
    rows = ("syscall/getppid@", "cpu/hanoi", "mem/touch@pages=1", "ctx/ring@procs=2,token=0,ws=0,same-cpu")
    probe, step = built("minix34", "-O0"), 1e9 / 60
    found = run("minix34", probe, tmp_path, "--runs", "1", "--seconds", "0.1", *rows)
    assert not found.errors
    assert len(found.runs) == len(rows)
    for row, record in found.runs.items():
        samples: Any = record["samples"]
        assert float(str(record["resolution_ns"])) > 0.999 * step  # a busy machine may show two steps as one
        assert all(abs(sample / step - round(sample / step)) < 0.01 for sample in samples), row
        assert median(samples) < step / COARSE_STEP, row
        # a busy machine makes the first look at a call longer than its samples are
        assert median(samples) > 0.99 * step or not row.startswith(("syscall/", "cpu/")), row


@pytest.mark.slow(minutes=0.2)
def test_a_counter_s_rate_is_right_by_a_coarse_clock(built: Any, tmp_path: Path) -> None:
    """Expected: as by a fine clock, within 8 %. Broken: the span ended anywhere within a step: up to a third off.

    The median of five: a machine that is busy at the wrong moment spoils one, by either clock; a very busy one the
    median of five too, but not that of many.
    """

    def rate(name: str) -> float:
        words = ("--runs", "1", "--seconds", "0.01", "syscall/getppid@")
        header: Any = run(name, built(name, "-O0"), tmp_path, *words).header
        [cycles] = [clock for clock in header["clocks"] if clock["name"] == "cycles"]
        if "unsupported" in cycles:
            pytest.skip(cycles["unsupported"])
        return float(cycles["ns_per_tick"])

    coarse: list[float] = []
    fine: list[float] = []
    for more in (5, 15, 40):
        for _ in range(more):
            coarse.append(rate("minix34"))
            fine.append(rate("gcc"))
        if median(coarse) == pytest.approx(median(fine), rel=0.08):
            return
    pytest.fail(f"{median(coarse)} ns a tick by a coarse clock, {median(fine)} by a fine one")


def test_memory_that_is_not_shared_after_all_is_noticed(built: Any, tmp_path: Path) -> None:
    """Expected: rows that need it are not supported, at once. Broken: two processes wait for each other for ever."""
    texts = [path.read_text() for path in (PROBE / "workloads").glob("*.c")]
    names = [
        name
        for text in texts
        if "CAP_SHARED_MAP" in text
        for name in re.findall(r'\.name = "([a-z]+/[a-z0-9-]+)"', text)
    ]
    assert names
    found = run("gcc", built("gcc", "-O0", "-DKM_SHARED_ANONYMOUS=MAP_PRIVATE"), tmp_path, *portability.TINY, *names)
    assert not found.runs
    assert not found.errors
    assert all("mmap: " in reason or "one CPU only" in reason for reason in found.unsupported.values())


# systems that are not here -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", in_turn(NOT_RUN, 0.1))
def test_the_probe_compiles_and_links_for_a_system_that_is_not_here(name: str, tmp_path: Path) -> None:
    """Expected: no warning, every symbol found, its C library named. Broken: the one file holds a header's text where
    only Linux reads it; assembly names a symbol without the underscore of macOS."""
    probe = portability.compiled(NOT_RUN[name], portability.amalgam(tmp_path))
    assert probe.stat().st_mode & 0o111
    assert LIBC.get(name, b"unknown") in probe.read_bytes()


def test_the_page_names_every_system_that_is_compiled_for() -> None:
    """Expected: a line for each, as compiled and not run. Broken: a system is claimed that no test compiles for."""
    lines = re.findall(r"^\| (.+?) \| in a test, by Zig \| nowhere", PAGE, flags=re.MULTILINE)
    assert lines == [build.what for build in NOT_RUN.values()]


# every row, every build --------------------------------------------------------------------------------------------


@pytest.mark.slow(minutes=1.8)
@pytest.mark.parametrize("name", BUILDS)
def test_every_row_runs_or_says_why_not(name: str, built: Any, tmp_path: Path) -> None:
    """Expected: a run or a reason for each row, no file left. Broken: 64 bits, byte order or a call are taken as given.

    The one exception is named in scripts/portability.py: what executes its own file under qemu-user.
    """
    probe = built(name)
    found = run(name, probe, tmp_path)
    excepted = portability.forgiven(BUILDS[name], found.errors)
    assert {row: text for row, text in found.errors.items() if row not in excepted} == {}
    assert found.left == ()
    assert all(found.unsupported.values())
    assert len(found.runs) > 200


def test_the_table_is_made_of_real_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Expected: counts and grouped reasons of a real run, in the old line's place, after that of a build before it."""
    page = tmp_path / "page.md"
    old = f"| {BUILDS['bare'].what} | old |\n| {BUILDS['clang'].what} | kept |\n"
    page.write_text(f"before\n{portability.BEGIN}{old}{portability.END}after\n")
    monkeypatch.setattr(portability, "PAGE", page)
    monkeypatch.setitem(BUILDS, "bare", portability.Build(("gcc", "-DKM_BARE"), BUILDS["bare"].what))
    [line] = portability.lines(["bare"], (*portability.TINY, "syscall/getppid", "proc/thread", "clock/*"))
    assert line == (
        f"| {BUILDS['bare'].what} | gettimeofday | 6 | 3 | 1 no clock_gettime; "
        "1 no CLOCK_MONOTONIC_RAW; 1 no POSIX threads |\n"
    )
    portability.write(line)
    kept = f"| {BUILDS['clang'].what} | kept |\n"
    assert page.read_text() == (
        f"before\n{portability.BEGIN}\n{portability.HEAD}{kept}{line}\n{portability.END}after\n"
    )


def test_a_line_names_the_most_frequent_reasons_and_counts_the_others() -> None:
    """Expected: one reason for one cause, whatever its sizes. Broken: two lines of the table are half of the page."""
    reasons = [
        "this platform has no mmap: it is old",
        "there is no mmap",
        *(f"the system gave 0 of {n} KiB" for n in (4, 8)),
    ]
    reasons += [f"reason {letter}" for letter in "abcdef"]
    assert portability.grouped(reasons) == (
        "2 no mmap; 2 the system gave 0 of some KiB; 1 reason a; 1 reason b; 1 reason c; 1 reason d; 2 others"
    )


def test_the_page_s_table_is_of_these_builds() -> None:
    """Expected: lines of builds that there are, none of a failed row. Broken: a table of a probe of long ago."""
    _, _, rest = PAGE.partition(portability.BEGIN)
    lines = [line for line in rest.partition(portability.END)[0].splitlines() if line.startswith("| ")][1:]
    assert lines
    assert {line.split(" | ")[0].removeprefix("| ") for line in lines} <= {build.what for build in BUILDS.values()}
    assert not [line for line in lines if "failed: " in line]


@pytest.mark.parametrize(("error", "figure"), [("ENOEXEC", True), ("ENOMEM", False)])
def test_a_run_is_a_copy_of_the_driver_only_where_nothing_can_be_executed(
    probe: Path, tmp_path: Path, error: str, *, figure: bool
) -> None:
    """Expected: a figure where this system cannot execute the probe again, as under an emulator of another processor;
    an error where it could not this time. Broken: no row there, or a figure of another program than elsewhere."""
    source, made = tmp_path / "execv.c", tmp_path / "execv.so"
    body = f"{{ errno = {error}; return -1; }}"
    source.write_text(f"#include <errno.h>\nint execv(const char *path, char *const words[]) {body}\n")
    subprocess.run(["gcc", "-shared", "-fPIC", str(source), "-o", str(made)], check=True, timeout=60)
    row = "syscall/getppid"
    words = [str(probe), *portability.TINY, "--dir", str(tmp_path), row]
    done = subprocess.run(
        words, env={**os.environ, "LD_PRELOAD": str(made)}, capture_output=True, text=True, timeout=60, check=False
    )
    assert (f'{{"type":"run","row":"{row}"' in done.stdout) == figure, done.stdout[-500:]
    assert (f"execv: {error}" in done.stdout) != figure
