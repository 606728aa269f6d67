"""Do the workloads of memory and files do the work that they claim, notice when it goes wrong, and leave nothing?"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
SHORT = ("--runs", "1", "--seconds", "0.02", "--samples", "20")
#: One iteration a sample, so that a fault put in by a test meets a known number of calls.
SINGLE = ("--runs", "1", "--batch", "1", "--samples", "20", "--seconds", "2")
Record = dict[str, Any]


class Outcome:
    """What a probe printed and left behind."""

    def __init__(self, done: subprocess.CompletedProcess[bytes], folder: Path) -> None:
        self.status = done.returncode
        self.records: list[Record] = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]
        self.left = sorted(path.name for path in folder.iterdir())

    def of(self, kind: str) -> list[Record]:
        return [record for record in self.records if record["type"] == kind]

    def only_run(self) -> Record:
        assert self.of("error") == []
        (run,) = self.of("run")
        return run

    def only_count(self) -> Record:
        """What was counted of the one row, beside what its timed run says of itself."""
        (count,) = self.of("count")
        return {**self.only_run(), **count}

    def only_error(self) -> Record:
        assert self.of("run") == []
        (error,) = self.of("error")
        assert self.status != 0
        assert self.left == []
        return error


def start(
    probe: Path, folder: Path, *words: str, env: dict[str, str] | None = None, seconds: float = 120, **more: Any
) -> Outcome:
    """Runs the probe with its temporary folders in `folder`."""
    done = subprocess.run(
        (str(probe), "--dir", str(folder), *words),
        capture_output=True,
        timeout=seconds,
        check=False,
        env={**os.environ, **(env or {})},
        **more,
    )
    return Outcome(done, folder)


def near(happened: float, wanted: float) -> bool:
    """A kernel may add a few faults of its own (migration, a page table's first use); it cannot leave any out."""
    return wanted <= happened <= wanted * 1.02 + 20


@pytest.mark.parametrize(
    ("profile", "least"),
    [
        pytest.param("quick", 20, marks=pytest.mark.slow(minutes=0.3)),
        pytest.param("full", 200, marks=pytest.mark.slow(minutes=2)),
    ],
)
def test_every_row_measures_or_says_why_not(probe: Path, tmp_path: Path, profile: str, least: int) -> None:
    """Expected: a run or a reason for each row of the profile. Broken: an error, or a row that says nothing."""
    listed = subprocess.run(
        (str(probe), "--list", "--json", "--profile", profile, "mem/*", "fs/*"),
        capture_output=True,
        check=True,
        timeout=60,
    )
    workloads = [json.loads(line) for line in listed.stdout.splitlines() if line.startswith(b"{")]
    rows = {
        row["row"]
        for workload in workloads
        if workload["type"] == "workload" and workload["name"].startswith(("mem/", "fs/"))
        for row in workload["rows"]
    }
    outcome = start(probe, tmp_path, "--profile", profile, *SHORT, "mem/*", "fs/*", seconds=900)
    assert outcome.of("error") == []
    assert {record["row"] for record in (*outcome.of("run"), *outcome.of("unsupported"))} == rows
    assert len(rows) >= least
    assert outcome.status == 0
    assert outcome.left == []


@pytest.mark.parametrize(
    "row",
    [
        "mem/touch@pages=64",
        "mem/brk",
        "mem/fault-cow",
        "mem/fault-file@pages=1",
        "mem/fault-file@pages=64",
        "fs/read@bufsize=1024,blocks=2000",
        "fs/write@bufsize=1024,blocks=2000",
        "fs/copy@bufsize=1024,blocks=2000",
        "fs/create-read@files=10,reads=10",
        "fs/read-buffer@buffer=65536,file_kib=4096",
        "fs/read-64k@bytes=262144",
        "fs/read-open2close@bytes=4096",
        "fs/create-delete@bytes=10240",
        "fs/fsync@bytes=4096",
    ],
)
def test_what_is_claimed_happens(probe: Path, tmp_path: Path, row: str) -> None:
    """Expected: faults, reads and writes as claimed. Broken: a page touched twice, a call of the engine's counted."""
    run = start(probe, tmp_path, *SHORT, row).only_count()
    claimed, happened, iterations = run["claimed"], run["happened"], run["iterations"]
    assert iterations == run["batch"] * len(run["samples"])
    assert any(claimed.get(name, 0) > 0 for name in ("faults", "reads", "writes"))
    for name in ("reads", "writes"):
        if name in claimed and name in happened:
            assert happened[name] == claimed[name] * iterations, name
    if "faults" in claimed:
        assert near(happened["faults"], claimed["faults"] * iterations)


def test_mapped_blocks_of_malloc_fault_once_each(probe: Path, tmp_path: Path) -> None:
    """Expected: one mapping and one fault a block. Broken: the threshold moved, and blocks come from the heap."""
    run = start(probe, tmp_path, *SHORT, "mem/alloc@bytes=262144").only_count()
    (remark,) = (warning["text"] for warning in run["warnings"] if warning["code"] == "allocator")
    assert "262144 bytes" in remark
    if "faults" not in run["claimed"]:
        pytest.skip("this C library's threshold cannot be held")
    assert "mapping" in remark
    assert near(run["happened"]["faults"], run["claimed"]["faults"] * run["iterations"])


def test_the_figure_of_a_file_fault_is_per_fault(probe: Path, tmp_path: Path) -> None:
    """Expected: as many operations as faults, and a remark if they are fewer than pages. Broken: as many as pages."""
    run = start(probe, tmp_path, *SHORT, "mem/fault-file@pages=64").only_count()
    assert 1 <= run["ops"] <= 64
    assert near(run["happened"]["faults"], run["ops"] * run["iterations"])
    assert ("fault-around" in {warning["code"] for warning in run["warnings"]}) == (run["ops"] < 64)


def test_a_protection_fault_is_less_its_way_out(probe: Path, tmp_path: Path) -> None:
    """Expected: 16 faults that return, and a baseline of one that jumps. Broken: the baseline is a whole iteration."""
    run = start(probe, tmp_path, "--runs", "1", "--seconds", "0.1", "mem/fault-prot").only_count()
    assert run["ops"] == run["claimed"]["syscalls"] == 16

    def least(series: Record) -> float:
        return float(min(series["samples"])) / float(series["batch"])

    assert 0 < least(run["baseline"]) < least(run) / 4


def file_system_of(path: Path) -> str:
    """The type of the mount that holds it."""
    best, kind = "", ""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, where, what, *_ = line.split(" ")
        if str(path).startswith(where) and len(where) >= len(best):
            best, kind = where, what
    return kind


def test_uncached_in_memory_is_unsupported(probe: Path) -> None:
    """Expected: the reason, and what to do. Broken: a figure of the cache under the name of the disk."""
    shm = Path("/dev/shm")  # noqa: S108 (the point is a file system in memory)
    if not shm.is_dir() or file_system_of(shm) != "tmpfs":
        pytest.skip("no tmpfs at /dev/shm")
    folder = shm / f"kernometer-test-{os.getpid()}"
    folder.mkdir()
    try:
        rows = (
            "fs/read-buffer-uncached@buffer=65536,file_kib=4096",
            "fs/iotest-disk@procs=1,writes=0,random=1,other-cpu",
        )
        outcome = start(probe, folder, *SHORT, *rows)
        assert len(outcome.of("unsupported")) == 2
        for record in outcome.of("unsupported"):
            assert "stayed in memory" in record["reason"] or "one CPU" in record["reason"]
            assert "--dir" in record["reason"] or "one CPU" in record["reason"]
        assert outcome.of("run") == []
        assert outcome.left == []
    finally:
        shutil.rmtree(folder)


def test_uncached_reads_come_from_the_disk(probe: Path, tmp_path: Path) -> None:
    """Expected: the kernel read each byte from a device. Broken: the file was still in the cache."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock
    outcome = start(probe, tmp_path, *SHORT, "fs/read-buffer-uncached@buffer=65536,file_kib=4096")
    blocks = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock - before
    if outcome.of("unsupported"):
        pytest.skip(outcome.of("unsupported")[0]["reason"])
    run = outcome.only_run()
    assert run["ops"] * run["bytes"] == 4 << 20
    assert blocks * 512 >= len(run["samples"]) * (4 << 20)


@pytest.mark.parametrize("writes", [0, 50])
def test_requests_to_a_disk_go_past_the_cache(probe: Path, tmp_path: Path, writes: int) -> None:
    """Expected: the kernel read each byte that was asked for from a device. Broken: the cache, under a disk's name."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock
    outcome = start(
        probe,
        tmp_path,
        *SHORT,
        "--only",
        "time",
        "--batch",
        "1",
        f"fs/iotest-disk@procs=8,writes={writes},random=1,other-cpu",
    )
    blocks = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock - before
    if outcome.of("unsupported"):
        pytest.skip(outcome.of("unsupported")[0]["reason"])
    run = outcome.only_run()
    assert run["ops"] * run["bytes"] == 8 * 4 * (64 - 4) * 1024
    assert blocks * 512 >= run["iterations"] * run["bytes"] * (100 - writes) / 100
    assert outcome.left == []


def test_a_file_limit_is_an_error_with_the_next_step(probe: Path, tmp_path: Path) -> None:
    """Expected: row, size and limit. Broken: killed by SIGXFSZ, with no word of why."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    outcome = start(probe, tmp_path, *SHORT, "fs/read@bufsize=1024,blocks=2000", preexec_fn=limit)
    error = outcome.only_error()
    assert error["row"] == "fs/read@bufsize=1024,blocks=2000"
    assert "2000 KiB" in error["text"]
    assert "ulimit -f" in error["text"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts file systems in memory with these options: full soon."""
    mounted: list[Path] = []

    def mount(options: str) -> Path:
        folder = tmp_path / f"disk{len(mounted)}"
        folder.mkdir()
        done = subprocess.run(("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)), capture_output=True)
        if done.returncode != 0:
            pytest.skip("mounting a small file system needs root")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(("umount", str(folder)), check=True, timeout=20)


@pytest.mark.parametrize("row", ["fs/copy@bufsize=1024,blocks=2000", "fs/read-buffer@buffer=4096,file_kib=4096"])
def test_a_small_disk_is_an_error_with_the_next_step(probe: Path, small_disk: Callable[[str], Path], row: str) -> None:
    """Expected: what is needed and what is free, nothing left. Broken: ENOSPC halfway, or a file left there."""
    error = start(probe, small_disk("size=1m"), *SHORT, row).only_error()
    assert error["row"] == row
    assert "KiB are free" in error["text"]
    assert "--dir" in error["text"]


def test_a_disk_that_fills_in_the_middle_is_an_error(probe: Path, small_disk: Callable[[str], Path]) -> None:
    """Expected: the call and ENOSPC, nothing left. Broken: an iteration counts although a file was not made."""
    error = start(probe, small_disk("size=4m,nr_inodes=8"), *SHORT, "fs/create-read@files=10,reads=10").only_error()
    assert error["call"] == "open"
    assert error["errno"] == "ENOSPC"
    assert error["row"] == "fs/create-read@files=10,reads=10"


def test_a_row_after_the_failed_one_is_still_measured(probe: Path, small_disk: Callable[[str], Path]) -> None:
    """Expected: one error, one figure, a bad exit status. Broken: the rest of the session is lost."""
    outcome = start(probe, small_disk("size=1m"), *SHORT, "fs/read@bufsize=1024,blocks=2000", "mem/touch@pages=64")
    assert [error["row"] for error in outcome.of("error")] == ["fs/read@bufsize=1024,blocks=2000"]
    assert [run["row"] for run in outcome.of("run")] == ["mem/touch@pages=64"]
    assert outcome.status != 0


def test_a_terminated_probe_leaves_no_files(probe: Path, tmp_path: Path) -> None:
    """Expected: gone within seconds, with its files. Broken: a thousand files in the temporary folder."""
    words = ("--dir", str(tmp_path), "--runs", "3", "--seconds", "10", "fs/create-read@files=1000,reads=1000")
    with subprocess.Popen((str(probe), *words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        limit = time.monotonic() + 30
        while len(list(tmp_path.rglob("f*"))) < 100 and time.monotonic() < limit:
            time.sleep(0.01)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) != 0
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that breaks one read or write of the program that it is loaded into."""
    folder = tmp_path_factory.mktemp("shim")
    source = Path(__file__).with_name("accident.c")
    subprocess.run(("cc", "-shared", "-fPIC", "-o", str(folder / "accident.so"), str(source)), check=True, timeout=60)
    return folder / "accident.so"


@pytest.mark.parametrize(
    ("row", "size", "accident", "said"),
    [
        ("fs/read@bufsize=256,blocks=500", 256, "short-read", "read moved 255 bytes of 256"),
        ("fs/read@bufsize=256,blocks=500", 256, "garbled-first", "differ from the file's"),
        ("fs/read@bufsize=256,blocks=500", 256, "garbled-last", "wrong data at offset"),
        ("fs/write@bufsize=256,blocks=500", 256, "short-write", "write moved 255 bytes of 256"),
        ("fs/write@bufsize=256,blocks=500", 256, "lost-write", "does not contain its last write"),
        ("fs/copy@bufsize=256,blocks=500", 256, "lost-write", "wrong data at offset"),
        ("fs/create-read@files=10,reads=10", 1024, "garbled-first", "differ from the data written"),
        ("fs/create-read@files=10,reads=10", 1024, "garbled-all", "wrong data at offset"),
        ("fs/create-read@files=10,reads=10", 1024, "short-write", "write moved 1023 bytes of 1024"),
        ("fs/read-buffer@buffer=4096,file_kib=4096", 4096, "garbled-first", "differ from the file's"),
        ("fs/read-buffer@buffer=4096,file_kib=4096", 4096, "short-read", "read moved 4095 bytes of 4096"),
        ("fs/read-64k@bytes=65536", 65536, "garbled-first", "differ from the file's"),
        ("fs/read-64k@bytes=65536", 65536, "short-read", "read moved 65535 bytes of 65536"),
        ("fs/read-open2close@bytes=65536", 65536, "garbled-last", "wrong data at offset"),
        ("fs/create-delete@bytes=4096", 4096, "short-write", "write moved 4095 bytes of 4096"),
        ("fs/fsync@bytes=4096", 4096, "lost-write", "does not contain its last write"),
        ("fs/fsync@bytes=4096", 4096, "short-write", "write moved 4095 bytes of 4096"),
        ("fs/iotest@procs=2,writes=50,same-cpu", 4096, "garbled-first", "checksum of block"),
        ("fs/iotest@procs=2,writes=50,same-cpu", 4096, "short-read", "read moved 4095 bytes of 4096"),
        ("fs/iotest@procs=2,writes=50,same-cpu", 16384, "lost-write", "does not contain its last write"),
        ("fs/iotest-disk@procs=1,writes=50,random=1,other-cpu", 4096, "garbled-first", "checksum of block"),
        ("fs/iotest-disk@procs=1,writes=50,random=1,other-cpu", 16384, "lost-write", "does not contain its last write"),
    ],
)
def test_work_that_goes_wrong_has_no_figure(
    probe: Path, shim: Path, tmp_path: Path, row: str, size: int, accident: str, said: str
) -> None:
    """Expected: an error that says what. Broken: failure looks like speed."""
    env = {"LD_PRELOAD": str(shim), "ACCIDENT": accident, "ACCIDENT_BYTES": str(size)}
    error = start(probe, tmp_path, *SINGLE, row, env=env).only_error()
    assert error["row"] == row
    assert said in error["text"]


def test_a_sync_in_memory_is_said_to_be_none(probe: Path, tmp_path: Path) -> None:
    """Expected: a remark on tmpfs, none on a disk. Broken: a thousand times the speed of a disk, and no word of why."""
    for folder in (tmp_path, Path("/dev/shm")):  # noqa: S108  # the point is a file system in memory
        if not folder.is_dir():
            continue
        left = set(folder.iterdir())
        done = subprocess.run(
            (str(probe), "--dir", str(folder), *SHORT, "fs/fsync@bytes=4096"),
            capture_output=True,
            check=True,
            timeout=60,
        )
        assert set(folder.iterdir()) == left
        (run,) = (json.loads(line) for line in done.stdout.splitlines() if b'"type":"run"' in line)
        told = "not-durable" in {warning["code"] for warning in run["warnings"]}
        assert told == (file_system_of(folder) in ("tmpfs", "ramfs"))


def test_a_latency_follows_from_the_loads(probe: Path, tmp_path: Path) -> None:
    """Expected: no call and no fault in the timed region; as many loads as told. Broken: pages met while measuring."""
    run = start(probe, tmp_path, *SHORT, "mem/latency@bytes=16777216,stride=64").only_count()
    assert run["ops"] == 64
    assert run["happened"]["faults"] <= 20
    assert run["claimed"] == {"syscalls": 0, "faults": 0}


@pytest.mark.parametrize(
    ("row", "bytes_moved"),
    [
        ("mem/read-bw@bytes=512", 65536),
        ("mem/read-bw-wide@bytes=8192", 65536),
        ("mem/write-bw@bytes=4194304", 4194304),
        ("mem/copy-bw@bytes=4194304", 2097152),
        ("mem/zero-copy-half@bytes=1048576", 1048576),
        ("fs/mmap-read@buffer=65536,file_kib=4096", 4194304),
        ("fs/iotest@procs=2,writes=50,same-cpu", 2 * 8 * 130560),
    ],
)
def test_what_an_iteration_moves(probe: Path, tmp_path: Path, row: str, bytes_moved: int) -> None:
    """Expected: as the definition says. Broken: a copy is counted twice, or a small set once for several passes."""
    run = start(probe, tmp_path, *SHORT, row).only_run()
    assert run["ops"] * run["bytes"] == bytes_moved


def test_the_shim_alone_breaks_nothing(probe: Path, shim: Path, tmp_path: Path) -> None:
    """Expected: a figure. Broken: the tests above fail for another reason than the accident they name."""
    env = {"LD_PRELOAD": str(shim), "ACCIDENT": "none", "ACCIDENT_BYTES": "256"}
    start(probe, tmp_path, *SINGLE, "fs/copy@bufsize=256,blocks=500", env=env).only_run()


def test_a_batch_over_the_limit_is_cut_to_it(probe: Path, tmp_path: Path) -> None:
    """Expected: the workload's limit. Broken: files of two iterations meet, blocks run over the array."""
    outcome = start(probe, tmp_path, "--runs", "1", "--batch", "5000", "--samples", "6", "--seconds", "1", "mem/alloc")
    assert outcome.of("error") == []
    assert {run["batch"] for run in outcome.of("run")} == {1}
