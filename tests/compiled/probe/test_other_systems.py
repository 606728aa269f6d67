"""Does the probe say or do the right thing where kernels and C libraries were met that differ from Linux's?

Linux plays them: strange.c, loaded into the probe, answers as they do. What no run of theirs has tried yet is told on
their pages, docs/systems/.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from scripts import portability
from scripts.portability import BUILDS
from tests.support.probe.running import LIMIT_SECONDS, TINY, of_type, quickly_built

HERE = Path(__file__).parent
SHORT = ("--runs", "1", "--batch", "2", "--samples", "4", "--seconds", "0.01")
#: Thousands of samples, so that a clock steps back in one of them.
STEPPING = ("--runs", "1", "--batch", "2", "--samples", "4096", "--seconds", "5")
#: What the port to Fiwix 1.7 switched on, an i386 kernel with the calls of Linux 2.0, in the order of the header.
FIWIX = ("MMAP", "MPROTECT", "GETRUSAGE", "VFORK", "SETITIMER", "SYSV_MSG", "SHARED_MAP")

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("strange") / "strange.so"
    words = ["cc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", str(made), str(HERE / "strange.c")]
    subprocess.run(words, check=True, timeout=60)
    return made


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Further flags → a probe, from its one file; each is built once."""

    @cache
    def build(*flags: str) -> Path:
        return quickly_built(tmp_path_factory.mktemp("probe"), *flags)

    return build


def measured(probe: Path, folder: Path, *words: str, preload: Path | None = None, **env: str) -> str:
    """Its output; status 1 is that of a failed row."""
    loaded = {"LD_PRELOAD": str(preload)} if preload else {}
    done = subprocess.run(
        [probe, "--dir", folder, *words],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        env={**os.environ, **loaded, **env},
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert list(folder.iterdir()) == []
    return done.stdout


def reason(text: str) -> str:
    """Why its one row is unsupported."""
    [record] = of_type(text, "unsupported")
    return str(record["reason"])


# calls -------------------------------------------------------------------------------------------------------------


def test_message_queues_are_opened_anew_where_a_child_has_none(built: Any, strange: Path, tmp_path: Path) -> None:
    """Expected: a figure, no name left. Broken: EBADF in the peer, as on FreeBSD."""
    row, before = "ipc/posix-mq@same-cpu", set(Path("/dev/mqueue").glob("kernometer-*"))
    old = measured(built(), tmp_path, *SHORT, row, preload=strange, STRANGE="mq-apart")
    if of_type(old, "unsupported"):
        pytest.skip(reason(old))
    assert "EBADF" in old
    text = measured(built("-DHAVE_MQ_FORK=0"), tmp_path, *SHORT, row, preload=strange, STRANGE="mq-apart")
    assert of_type(text, "error") == []
    assert len(of_type(text, "run")) == 1
    assert set(Path("/dev/mqueue").glob("kernometer-*")) == before


@pytest.mark.parametrize("row", ["syscall/getppid@", "syscall/getppid@cold"])
def test_markers_are_touched_where_each_page_of_code_faults(built: Any, tmp_path: Path, row: str) -> None:
    """Expected: a row as it is elsewhere. Broken: a crash, or a figure of a fault; OpenBSD's code cannot be read."""
    (run,) = of_type(measured(built("-DKM_TOUCH_CODE=1"), tmp_path, "--by", "path", row), "run")
    (other,) = of_type(measured(built(), tmp_path, "--by", "path", row), "run")
    for key in ("samples", "loop_cost"):
        assert len(run[key]) == len(other[key])


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("mapped-ahead", "cached pages are mapped with their file here: no touch makes a fault"),
        ("faults-twice", "a page's touch counts as 2 faults here: there is no figure for one"),
    ],
)
def test_why_there_is_no_figure_per_fault_of_a_file_is_said(
    how: str, said: str, built: Any, strange: Path, tmp_path: Path
) -> None:
    """Expected: the reason. Broken: faults that are counted are called not counted; an error."""
    text = measured(built(), tmp_path, *SHORT, "mem/fault-file@pages=1", preload=strange, STRANGE=how)
    assert reason(text) == said


def test_a_call_that_the_kernel_lacks_fails_and_kills_nobody(built: Any, strange: Path, tmp_path: Path) -> None:
    """Expected: unsupported, by the errno. Broken: "the keeper has exited": it was killed by SIGSYS."""
    probe = built("-DKM_BARE", "-DKM_ONLINE_CPUS=1", "-DHAVE_SYSV_MSG=1", "-D_GNU_SOURCE")
    for by in ("time", "path"):
        words = (*SHORT, "--by", by, "ipc/sysv-msg@same-cpu")
        text = measured(probe, tmp_path, *words, preload=strange, STRANGE="no-msg")
        assert reason(text) == f"msgget: {os.strerror(errno.ENOSYS)}"


@pytest.mark.parametrize("how", ["no-wnohang", "bad-wnohang"])
def test_a_process_s_end_is_waited_for_where_wnohang_does_not_tell_it(
    how: str, built: Any, strange: Path, tmp_path: Path
) -> None:
    """Expected: a figure, with a remark. Broken: "a peer process did not exit within 2 s"."""
    text = measured(built(), tmp_path, *SHORT, "ipc/unix-lat@same-cpu", preload=strange, STRANGE=how)
    [run] = of_type(text, "run")
    assert {"code": "wait", "text": "WNOHANG did not tell that a process had exited"} in run["warnings"]


def test_a_yield_that_does_not_switch_is_told(built: Any, strange: Path, tmp_path: Path) -> None:
    """Expected: the figure's remark says that it is a timer's. Broken: "not every yield switched"."""
    text = measured(built(), tmp_path, *SHORT, "ctx/yield", preload=strange, STRANGE="yield-stays")
    [run] = of_type(text, "run")
    assert any("no yield switches: the figure is a timer's" in warning["text"] for warning in run["warnings"])


@pytest.mark.parametrize("refused", ["0", "EPERM"])
def test_processes_are_placed_by_freebsd_s_call(refused: str, tmp_path: Path) -> None:
    """Expected: pinned; refused, it is named. Broken: no affinity there, or the name of Linux's call."""
    (tmp_path / "sys").mkdir()
    (tmp_path / "sys/cpuset.h").write_text((HERE / "cpuset.h").read_text())
    flags = ("-DHAVE_CPUSET=1", "-DHAVE_AFFINITY=1", f"-DREFUSED={refused}", f"-I{tmp_path}")
    probe, work = quickly_built(tmp_path, *flags), tmp_path / "work"
    work.mkdir()
    text = measured(probe, work, *SHORT, "syscall/getppid@", "ctx/pipe-pair@same-cpu")
    [header] = of_type(text, "header")
    allowed = os.sched_getaffinity(0)
    assert header["cpu"]["allowed"] == len(allowed)
    if refused == "0":
        assert {run["cpu"] for run in of_type(text, "run")} == {max(allowed)}
    elif len(allowed) > 1:
        assert reason(text).startswith("cpuset_setaffinity: EPERM ")
        assert [run["cpu"] for run in of_type(text, "run")] == [-1]


# clocks and numbers ------------------------------------------------------------------------------------------------


def test_a_clock_that_steps_back_costs_its_row_and_not_the_session(built: Any, strange: Path, tmp_path: Path) -> None:
    """Expected: the header's clocks are as always, one row has failed, the other has a figure. Broken: a clock's step
    of 11618 s, and samples of 584 years."""
    rows = ("syscall/getppid@", "cpu/hanoi")
    more = {"STRANGE": "clock-back", "STRANGE_ROW": "syscall/getppid"}
    text = measured(built("-DKM_BARE"), tmp_path, *STEPPING, *rows, preload=strange, **more)
    [header] = of_type(text, "header")
    assert header["clock"] == "gettimeofday"
    figures = [clock.get(key, 0) for clock in header["clocks"] for key in ("resolution_ns", "cost_ns", "ns_per_tick")]
    assert max(figures) < 1e9
    assert {error["text"] for error in of_type(text, "error")} == {"the clock gettimeofday stepped back"}
    assert {error["row"] for error in of_type(text, "error")} == {"syscall/getppid"}
    assert [run["row"] for run in of_type(text, "run")] == ["cpu/hanoi"]
    assert max(of_type(text, "run")[0]["samples"]) < 1e12


def test_numbers_are_right_where_the_c_library_prints_none(built: Any, strange: Path, tmp_path: Path) -> None:
    """Expected: records that can be read, with the numbers that there are. Broken: ",5" in each, and no session."""
    text = measured(built(), tmp_path, *SHORT, "syscall/getppid@", preload=strange, STRANGE="no-double")
    [header] = of_type(text, "header")
    [run] = of_type(text, "run")
    assert all(0 < clock["ns_per_tick"] < 1e9 for clock in header["clocks"] if "unsupported" not in clock)
    assert run["ops"] == 1
    assert 0 < run["seconds"] < LIMIT_SECONDS


# what it says of itself ---------------------------------------------------------------------------------------------


def test_linkage_and_libc_are_told_without_an_auxiliary_vector(tmp_path: Path) -> None:
    """Expected: as they are, of an i386 program too. Broken: unknown, as on FreeBSD and OpenBSD."""
    source = portability.amalgam(tmp_path)
    builds = {
        ("gcc", "-O0"): ("dynamic", "glibc"),
        ("gcc", "-O0", "-static-pie"): ("static", "glibc"),
        ("musl-gcc", "-O0", "-static", "-D__dietlibc__"): ("static", "dietlibc"),
        ("i686-linux-gnu-gcc", "-O0", "-static"): ("static", "glibc"),
    }
    for words, wanted in builds.items():
        build = portability.Build(words, "")
        if not build.missing:
            probe = portability.compiled(build, source, "-DHAVE_AUXV=0")
            call = [str(probe), "--only", "define", "syscall/getppid@"]
            done = subprocess.run(call, capture_output=True, text=True, timeout=60, check=True)
            told = of_type(done.stdout, "header")[0]["probe"]
            assert (told["linkage"], told["libc"].split()[0]) == wanted, words


def test_soft_limits_are_raised_to_what_rows_need(built: Any, tmp_path: Path) -> None:
    """Expected: as many open files as rows need, or as the hard limit allows. Broken: the 64 of whoever started it, as
    OpenBSD's login classes are."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    words = [str(built()), "--dir", str(tmp_path), "--profile", "full", *TINY, "limit/files@most=8192"]
    counts = []
    for most in (1024, 100):
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=True,
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_NOFILE, (64, min(hard, most))),
        )
        counts.append(of_type(done.stdout, "run")[0]["samples"][0])
    assert min(hard, 1024) - 30 < counts[0] < 1024
    assert 70 < counts[1] < 100


# a port ------------------------------------------------------------------------------------------------------------


def test_a_port_switches_on_one_capability_after_another(tmp_path: Path) -> None:
    """Expected: an i386 program has those of Fiwix and no other, and its rows run. Broken: the bare header switches
    them off again."""
    build = BUILDS["bare-i686"]
    if build.missing:
        pytest.skip(f"not installed here: {', '.join(build.missing)}")
    switches = [f"-DHAVE_{name}=1" for name in FIWIX]
    words = ("-D_GNU_SOURCE", "-DKM_ONLINE_CPUS=1", *switches)
    probe, work = portability.compiled(build, portability.amalgam(tmp_path), *words), tmp_path / "w"
    work.mkdir()
    rows = ("syscall/getppid@", "mem/touch", "mem/fault-cow", "mem/mmap-munmap", "proc/vfork-exec", "sig/*")
    found = portability.outcome(build, probe, work, (*SHORT, "--by", "path", *rows, "ipc/sysv-msg", "ctx/pipe-pair"))
    told = json.loads(json.dumps(found.header["probe"]))
    have = ["mmap", "mprotect", "getrusage", "vfork", "msync", "setitimer", "sysv_msg", "shared_map", "cycles", "self"]
    assert told["capabilities"] == have
    assert (told["platform"], told["pointer_bits"], told["linkage"]) == ("bare", 32, "static")
    assert found.errors == {}
    assert {"mem/touch@pages=64", "proc/vfork-exec", "ipc/sysv-msg@same-cpu", "sig/catch"} <= set(found.runs)
