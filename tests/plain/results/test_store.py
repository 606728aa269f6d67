"""The store: what was measured stays, whatever happens to the disk, the index or the process."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kernometer.errors import ResultError, UsageError
from kernometer.results import index
from kernometer.results.index import Summary, host_key, summarize
from kernometer.results.model import Failure, Result
from kernometer.results.reader import parse
from kernometer.results.store import Store, default_folder, read_file
from tests.support.results import make
from tests.support.results.stored import fill

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def ids(store: Store) -> list[str]:
    return [one.id for one in store.summaries()]


# What is written


def test_what_is_added_is_in_the_file_at_once(store: Store) -> None:
    """Expected: every record can be read while the file grows. Broken: a killed process loses a buffer."""
    with store.create(make.session()) as file:
        file.add(make.workload())
        for number in range(3):
            file.add(make.run(number))
            assert len(read_file(file.path).runs) == number + 1
            assert store.summaries()[0].growing
    assert read_file(file.path).damage == ()
    assert not store.summaries()[0].growing
    assert store.summaries()[0].complete


def test_a_session_that_is_being_measured_is_not_the_last_one(store: Store) -> None:
    """Expected: `show @last` beside a running session shows the one before. It can be called by its id."""
    done = fill(store, make.session(started=1.0, label="set"))
    with store.create(make.session(started=2.0, label="set")) as file:
        file.add(make.run())
        assert store.resolve("@last") == done
        assert store.resolve_set("label:set") == (done,)
        assert store.resolve(file.path.stem) == file.path
    assert store.resolve("@last") == file.path


def test_ctrl_c_keeps_what_was_measured_and_says_so(store: Store) -> None:
    with pytest.raises(KeyboardInterrupt), store.create(make.session()) as file:
        file.add(make.workload())
        file.add(make.run())
        raise KeyboardInterrupt
    end = read_file(file.path).end
    assert end is not None
    assert (end.complete, end.reason) == (False, "interrupted")
    assert len(read_file(file.path).runs) == 1


def test_an_interrupted_write_leaves_no_half_line(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: the half line is cut off again. Broken: it swallows the line that says why the session ended."""
    real = os.write

    def half(handle: int, data: memoryview) -> int:
        monkeypatch.setattr(os, "write", real)
        real(handle, data[: len(data) // 2])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), store.create(make.session()) as file:
        file.add(make.workload())
        file.add(make.run())
        monkeypatch.setattr(os, "write", half)
        file.add(make.run(1))
    result = read_file(file.path)
    assert (len(result.runs), result.damage) == (1, ())
    assert result.end is not None


def test_a_killed_process_leaves_a_result_that_reads(store: Store) -> None:
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom kernometer.results.store import Store\n"
        "from tests.support.results import make\nfile = Store(Path(sys.argv[1])).create(make.session())\n"
        "file.add(make.workload())\nfile.add(make.run())\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(store.folder)], cwd=ROOT, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = store.summaries()
    assert (left.runs, left.complete, left.growing) == (1, False, False)
    assert "last line is missing" in read_file(left.path).damage[0]


def test_a_session_that_measured_nothing_leaves_nothing(store: Store) -> None:
    with pytest.raises(RuntimeError), store.create(make.session()) as file:
        file.add(make.header())
        raise RuntimeError("the target did not start")
    assert not file.path.exists()
    assert store.summaries() == []


def test_a_record_that_no_reader_takes_is_never_written(store: Store) -> None:
    with store.create(make.session()) as file:
        file.add(make.workload())
        with pytest.raises(ValueError, match="not a valid record"):
            file.add(make.run(seconds=float("nan")))
        file.add(make.run())
    assert read_file(file.path).damage == ()


def test_an_id_is_no_way_out_of_the_store(store: Store) -> None:
    with pytest.raises(ValueError, match="new_session_id"):
        store.create(make.session(id="../../etc/passwd"))


def test_two_sessions_never_share_a_file(store: Store) -> None:
    session = make.session()
    path = fill(store, session)
    before = path.read_bytes()
    with pytest.raises(ResultError):
        store.create(session)
    assert path.read_bytes() == before


@pytest.mark.parametrize("label", ["a/b", "label:x", "@last", "-x", "x\x1b[2J", "x" * 101, "\ud800"])
def test_a_label_must_be_one_that_a_user_can_call(store: Store, label: str) -> None:
    with pytest.raises(UsageError):
        store.create(make.session(label=label))
    assert not store.folder.exists()


# A store that does not take it


def test_a_full_disk_is_found_before_measuring(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    space = os.statvfs(store.folder.parent)
    little = os.statvfs_result((*space[:2], 1000, 10, 10, *space[5:]))
    monkeypatch.setattr(os, "statvfs", lambda _path: little)
    with pytest.raises(ResultError, match="is full") as caught:
        store.create(make.session())
    assert "--store" in caught.value.next_step
    assert list(store.folder.iterdir()) == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_a_disk_that_fills_up_keeps_what_was_written_and_says_where(
    store: Store, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    real = os.write

    def full(handle: int, data: memoryview) -> int:
        if len(data) > 500:  # a run; the last record is shorter
            real(handle, data[:100])
            raise OSError(number, os.strerror(number))
        return real(handle, data)

    with pytest.raises(ResultError) as caught, store.create(make.session()) as file:
        file.add(make.workload())
        file.add(make.run())
        monkeypatch.setattr(os, "write", full)
        file.add(make.run(1))
    assert str(file.path) in caught.value.text
    result = read_file(file.path)
    assert (len(result.runs), result.damage) == (1, ())
    assert result.end is not None  # a little space was left
    assert not result.end.complete


def test_a_limit_on_file_size_ends_a_session_in_order(store: Store) -> None:
    """The real thing: the kernel refuses (RLIMIT_FSIZE, as a full disk does), in a process of its own."""
    code = (
        "import resource, sys\nfrom pathlib import Path\nfrom kernometer.results.store import Store\n"
        "from tests.support.results import make\nresource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "with Store(Path(sys.argv[1])).create(make.session()) as file:\n"
        "    file.add(make.workload())\n"
        "    for number in range(1000):\n        file.add(make.run(number))\n"
    )
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    command = [sys.executable, "-c", code, str(store.folder)]
    done = subprocess.run(command, cwd=ROOT, timeout=60, check=False, capture_output=True, text=True)
    assert "ResultError" in done.stderr
    assert "refuses a file this large" in done.stderr
    (left,) = store.summaries()
    assert left.runs > 10
    assert all(sentence.startswith("The last line") for sentence in read_file(left.path).damage)


@contextlib.contextmanager
def tmpfs(folder: Path, options: str) -> Iterator[None]:
    """A small file system of its own on that folder, where this system lets root mount one."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting a file system needs root")
    mount = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this system does not let root mount a tmpfs (a container)")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_file_system_for_real(tmp_path: Path) -> None:
    """A tmpfs of 5 MB: enough to begin, too little to end."""
    with tmpfs(tmp_path, "size=5m"):
        store = Store(tmp_path)
        samples = tuple(range(10_000_000, 10_050_000))
        with pytest.raises(ResultError, match="is full") as caught, store.create(make.session()) as file:
            file.add(make.workload())
            for number in range(100):
                file.add(make.run(number, samples=samples))
        assert str(file.path) in caught.value.text
        assert len(read_file(file.path).runs) == file.kept > 5
        assert store.load("@last").session.id == file.path.stem
        with pytest.raises(ResultError, match="is full"):
            store.create(make.session())


def test_a_read_only_file_system_for_real(tmp_path: Path) -> None:
    """Expected: what is stored can be listed and read, and a new session is refused before it measures."""
    with tmpfs(tmp_path, "size=8m"):
        path = fill(Store(tmp_path))
        subprocess.run(["mount", "-o", "remount,ro", str(tmp_path)], check=True)
        assert Store(tmp_path).resolve("@last") == path
        with pytest.raises(ResultError, match="is read-only"):
            Store(tmp_path).create(make.session())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_of_somebody_elses_is_named_before_measuring(store: Store) -> None:
    store.folder.mkdir()
    store.folder.chmod(0o500)
    with pytest.raises(ResultError, match="may not be written by you"):
        store.create(make.session())


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_read_only_store_is_found_before_measuring(
    store: Store, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_arguments: object, **_named: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ResultError) as caught:
        store.create(make.session())
    assert str(store.folder) in caught.value.text
    assert "--store" in caught.value.next_step


def test_a_store_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ResultError, match="is not a directory"):
            Store(folder).create(make.session())
        with pytest.raises(ResultError, match="is not a directory"):
            Store(folder).summaries()


# One host


def host_of(host_id: str, nodename: str = "debian", model: str = "a CPU") -> str:
    session, header = make.session(host_id=host_id), make.header(uname={"nodename": nodename}, cpu={"model": model})
    return host_key(Result(session=session, header=header, workloads={}, runs=()))


def test_one_host_is_known_by_its_id_and_cpu_and_not_by_its_name() -> None:
    """Expected: two installations of one name are two, a renamed one is one, and clones of an image on other CPUs are
    two. Broken: their spreads are taken for one host's."""
    assert host_of("1f") != host_of("2f")
    assert host_of("1f") == host_of("1f", nodename="renamed")
    assert host_of("1f") != host_of("1f", model="another CPU")
    assert host_of("") != host_of("", nodename="renamed")


# The index


def test_the_index_follows_files_that_come_change_and_go(store: Store) -> None:
    first = fill(store, make.session(started=1000.0))
    second = fill(store, make.session(started=2000.0))
    assert ids(store) == [second.stem, first.stem]
    first.unlink()
    shutil.copy(second, store.folder / "copy.ndjson")
    assert ids(store) == [second.stem, second.stem]
    second.write_bytes(second.read_bytes().replace(b'"label":""', b'"label":"new"'))
    assert {one.label for one in store.summaries()} == {"", "new"}
    assert store.resolve(second.stem) == second  # and not its copy


def test_a_file_is_read_once(store: Store) -> None:
    fill(store)
    read: list[Path] = []

    def counted(path: Path) -> Summary:
        read.append(path)
        return Summary(path=path, problem="counted")

    index.summaries(store.folder, partial(map, counted))
    index.summaries(store.folder, partial(map, counted))
    assert len(read) == 1


def test_what_is_derived_of_a_file_is_made_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: made with the first reading, kept, made again of a changed file or by other code; newest first, and
    only what the filters want. Broken: each history reads every sample, or shows figures of older code."""
    paths = [fill(store, make.session(started=1000.0 * number, label="x" * (number % 2))) for number in range(1, 4)]
    opened: list[Path] = []
    made: list[str] = []

    def read(path: Path) -> Result:
        opened.append(path)
        return read_file(path)

    def one(result: Result) -> bytes:
        made.append(result.session.id)
        return f"{result.session.id} {result.session.profile}".encode()

    def derived(what: str = "v1", **wanted: object) -> list[str]:
        made.clear()
        return [content.decode() for content in store.derived(one, what, **wanted)]

    monkeypatch.setattr("kernometer.results.store.read_file", read)
    ids = [path.stem for path in reversed(paths)]
    every = [f"{name} quick" for name in ids]
    assert (derived(), sorted(made), sorted(opened)) == (every, sorted(ids), sorted(paths))
    assert (derived(), made) == (every, [])
    assert (derived(label="x"), made) == (every[::2], [])
    paths[0].write_bytes(paths[0].read_bytes().replace(b"quick", b"other"))
    every[2] = f"{ids[2]} other"
    assert (derived(), made) == (every, ids[2:])
    assert (derived("v2"), made) == (every, ids)
    paths[1].unlink()
    assert (derived("v2"), made) == (every[::2], [])
    monkeypatch.setattr("kernometer.results.index.NAME", "no/such/place")
    assert (derived("v2"), sorted(made)) == (every[::2], sorted(ids[::2]))


@pytest.mark.parametrize(
    "ruin",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"this is not a database, but long enough for one" * 100),
        lambda path: path.write_bytes(path.read_bytes()[:5000] + b"\xff" * 3000),
        lambda path: path.write_bytes(path.read_bytes()[:1500]),
        lambda path: execute(path, "PRAGMA user_version = 99"),
        lambda path: execute(path, "DROP TABLE files"),
        lambda path: execute(path, "ALTER TABLE files DROP COLUMN label"),
    ],
)
def test_an_index_that_is_lost_or_damaged_is_made_again(store: Store, ruin: object) -> None:
    """Expected: the same list, and an index that works. Broken: an error until someone deletes the file by hand."""
    for number in range(30):
        fill(store, make.session(started=float(number), label=f"label {number}"), runs=1)
    wanted = store.summaries()
    ruin(store.folder / index.NAME)  # type: ignore[operator]  # a function, by the parameters
    assert store.summaries() == wanted
    with sqlite3.connect(store.folder / index.NAME) as database:
        assert database.execute("SELECT count(*) FROM files").fetchone() == (30,)
    database.close()


def execute(path: Path, statement: str) -> None:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute(statement)
    database.close()


def test_an_index_that_another_process_holds_is_not_waited_for_without_end(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: the list from memory, and the other's index untouched."""
    fill(store)
    store.summaries()
    path = fill(store)
    monkeypatch.setattr(index, "PATIENCE_S", 0.05)
    holder = sqlite3.connect(store.folder / index.NAME, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    before = (store.folder / index.NAME).stat().st_ino
    try:
        assert path.stem in ids(store)
        assert (store.folder / index.NAME).stat().st_ino == before
    finally:
        holder.close()


def test_a_store_without_room_for_an_index_is_listed_from_memory(store: Store) -> None:
    path = fill(store)
    (store.folder / index.NAME).mkdir()  # cannot be opened, as on a read-only disk
    assert ids(store) == [path.stem]


def test_files_that_are_no_results_are_shown_as_such_and_are_never_chosen(store: Store) -> None:
    path = fill(store, make.session(started=5.0))
    (store.folder / "noise.ndjson").write_bytes(b"\x00\x1b[2J")
    (store.folder / "folder.ndjson").mkdir()
    (store.folder / "link.ndjson").symlink_to("/nowhere")
    os.mkfifo(store.folder / "pipe.ndjson")
    (Path(os.fsdecode(os.fsencode(store.folder) + b"/\xff.ndjson"))).write_bytes(b"")
    good, bad = store.summaries()
    assert good.path == path
    assert bad.path.name == "noise.ndjson"
    assert "not a result of Kernometer" in bad.problem
    assert store.resolve("@last") == path


def test_many_processes_write_and_list_at_once(store: Store) -> None:
    """Expected: every session is there, whole, and every list is in order. Broken: a lock error or a lost row."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom kernometer.results.store import Store\n"
        "from tests.support.results import make\nstore = Store(Path(sys.argv[1]))\n"
        "for _ in range(10):\n"
        "    with store.create(make.session()) as file:\n"
        "        for record in make.records()[1:-1]:\n            file.add(record)\n"
        "            store.summaries()\n"
    )
    command = [sys.executable, "-c", code, str(store.folder)]
    children = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE) for _ in range(3)]
    for child in children:
        _, said = child.communicate(timeout=120)
        assert (child.returncode, said) == (0, b"")
    found = store.summaries()
    assert len(found) == 30
    assert all(one.complete and not one.damage and one.runs == 3 for one in found)


# History, place and size


def test_history_is_of_the_same_host_target_way_and_profile(store: Store) -> None:
    """Each other session below differs in one thing only."""
    this = read_file(fill(store, make.session(started=1.0)))
    same = read_file(fill(store, make.session(started=2.0, label="whatever")))
    for other in ({"target": "wrap:x"}, {"profile": "full"}, {"by": "path"}, {"machine": "q35"}, {"experiment": "e"}):
        fill(store, make.session(**other))
    with store.create(make.session()) as elsewhere:
        elsewhere.add(make.header(cpu={"model": "Another", "online": 2}))
        elsewhere.add(make.run())
    with pytest.raises(RuntimeError), store.create(make.session()) as unfinished:
        unfinished.add(make.header())
        unfinished.add(make.run())
        raise RuntimeError
    assert [result.session.id for result in store.history(this)] == [same.session.id]
    assert list(store.history(this, newest=0)) == []


def probed(store: Store, started: float, target: str = "local", **facts: str) -> Result:
    """A session whose probe was built as the others', but for these facts."""
    session = make.session(started=started, target=target)
    probe = {"compiler": "gcc 12.2.0", "flags": "cc -O2 -static", "libc": "glibc 2.36", "linkage": "static"}
    with store.create(session) as file:
        file.add(make.header(probe=probe | facts))
        file.add(make.run())
    return store.load(session.id)


@pytest.mark.parametrize(
    "fact",
    [{"compiler": "gcc 14.2.0"}, {"flags": "cc -O3 -static"}, {"libc": "musl 1.2.3"}, {"linkage": "dynamic"}],
    ids=str,
)
def test_history_is_of_probes_that_were_built_alike(store: Store, fact: dict[str, str]) -> None:
    """Expected: of another compiler, libc, … nothing. Broken: after musl was installed, the newest session of glibc
    stands next to the first of musl as "the session before", and thirty of them hide those that would count."""
    same = probed(store, 1.0)
    for number in range(3):
        probed(store, 2.0 + number, **fact)
    this = probed(store, 9.0)
    assert [one.session.id for one in store.history(this, newest=1)] == [same.session.id]


def test_layouts_are_told_from_sessions_of_one_probe(store: Store) -> None:
    """Expected: three machines by one probe, of each its newest. Broken: a newer one of another probe stands in."""
    guest = {"by": "path", "board": "microvm", "image": "one"}
    kept = [fill(store, make.session(machine=f"seed {seed}", started=1.0, **guest)).stem for seed in (1, 2, 3)]
    with store.create(make.session(machine="seed 1", started=2.0, **guest)) as other:
        other.add(make.header(probe={"libc": "glibc 2.36"}))
        other.add(make.run())
    assert sorted(one.session.id for one in store.rotated(3, newest=1)) == sorted(kept)


def test_a_probe_that_changed_is_told_by_the_last_session_of_the_place(store: Store) -> None:
    """Expected: told by the first session with another probe, and by none after it; other targets are no matter."""
    probed(store, 1.0)
    probed(store, 2.0, target="local:gcc", libc="glibc 9")
    first = probed(store, 3.0, libc="musl 1.2.3")
    second = probed(store, 4.0, libc="musl 1.2.3")
    told = store.earlier_probe(first)
    assert told is not None
    assert (told.started, told.probe) == (1.0, "gcc 12.2.0; cc -O2 -static; glibc 2.36; static")
    assert store.earlier_probe(second) is None


def test_history_of_a_set_is_that_of_each_kind_without_the_set(store: Store) -> None:
    """Expected: the newest of each kind besides those judged, each once. Broken: the judged ones take their places."""
    old = [read_file(fill(store, make.session(started=float(n), target="wrap:x"))) for n in range(3)]
    older = [read_file(fill(store, make.session(started=float(n)))) for n in range(5)]
    new = [read_file(fill(store, make.session(started=float(n)))) for n in range(10, 14)]
    found = [result.session.id for result in store.history(*new, old[2], newest=2)]
    assert sorted(found) == sorted(one.session.id for one in (*older[3:], *old[:2]))


def test_rotated_are_sessions_of_kernels_on_several_machines(store: Store) -> None:
    """Expected: of each machine the newest of each size, no side of an `ab`. Broken: every file is opened each time."""
    guest = {"by": "path", "board": "microvm", "image": "one"}
    kept = [
        fill(store, make.session(machine=f"seed {seed}", started=float(seed), **guest)).stem for seed in (1, 2, 3, 3)
    ]
    for other in (
        {"experiment": "e", "machine": "seed 4"},
        {"by": "time", "machine": "seed 5"},
        {"image": "two", "machine": "seed 1"},
        {"board": "pc", "machine": "seed 6"},
        {"board": "", "machine": "seed 7"},
        {"image": "", "machine": "seed 8"},
    ):
        fill(store, make.session(**guest | other))
    assert sorted(one.session.id for one in store.rotated(3)) == sorted(kept)
    assert len(list(store.rotated(3, newest=1))) == 3
    assert list(store.rotated(4)) == []


def test_where_results_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert default_folder() == Path("/data/kernometer/results")
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/me")
    assert default_folder() == Path("/home/me/.local/share/kernometer/results")


def test_a_result_of_a_real_size_is_within_the_limits() -> None:
    """The full profile: 300 rows, 20 runs each, 200 samples a run."""
    samples = tuple(range(1_000_000, 1_000_200))
    rows = [f"syscall/getppid@p={row}" for row in range(300)]
    runs = [make.run(number, row=row, samples=samples) for row in rows for number in range(20)]
    records = make.records()
    result = parse([make.data([*records[:3], *runs, records[-1]])])
    assert len(result.runs) == 6000
    assert result.damage == ()


def test_a_summary_counts_rows_that_failed_and_not_their_errors(tmp_path: Path) -> None:
    """Expected: two rows, of which one failed twice."""
    failures = tuple(Failure(row=row, text="no", run=number) for number, row in enumerate(("a/b", "a/b", "a/c")))
    result = Result(session=make.session(), header=None, workloads={}, runs=(), failures=failures)
    assert summarize(tmp_path / "x.ndjson", result).failures == 2
