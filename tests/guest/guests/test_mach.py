"""GNU Mach as a guest: what it is made of, from packages of a mirror of the test's own; and the real one, whose units
are measured by a boot task of ours: does each hold what its name says, twice the same, and is a wrong one found?"""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from kernometer import source_folder
from kernometer.errors import MissingError, TargetError, UsageError
from kernometer.guests import store
from kernometer.guests.emulator.qemu import Machine
from kernometer.guests.kernels import linux, mach
from kernometer.results.model import Result
from kernometer.results.store import read_file
from kernometer.stats.figures import figures
from kernometer.targets.base import Call, Deadline, Job
from kernometer.targets.qemu import QemuTarget
from tests.support.checkout import alone, share_compiled
from tests.support.cli.real import kernometer
from tests.support.guests.images import HYPERVISOR
from tests.support.guests.repeated import repeated
from tests.support.guests.repository import Repository
from tests.support.turns import in_turn

needs_apt = pytest.mark.skipif(shutil.which("apt-get") is None, reason="the guests' packages come through apt")


def package(mirror: Repository, build: str, version: str) -> dict[str, str]:
    return mirror.package(f"gnumach-image-{build}", version, {f"boot/gnumach-{build}.gz": gzip.compress(HYPERVISOR)})


@pytest.fixture
def mirror(mirror: Repository) -> Repository:
    """A system of bookworm, without GNU Mach; trixie has two, one with symbols, and others of like names."""
    mirror.suite("bookworm", [mirror.package("gnumach-dev", "1-1")])
    builds = ("1.7-amd64-up", "1.8-amd64-up", "1.8-amd64-up-dbg")
    packages = [package(mirror, build, f"2:1.{8 + number}-1") for number, build in enumerate(builds)]
    packages += [mirror.package(f"gnumach-image-{name}", "9.9-1") for name in ("1-amd64", "1.8-xen-amd64")]
    mirror.suite("trixie", packages)
    mirror.system("bookworm")
    return mirror


@needs_apt
@pytest.mark.usefixtures("mirror")
def test_the_newest_of_a_later_release_is_taken_with_our_boot_task() -> None:
    """Expected: trixie's newest, on pc, its one module made for each job. Broken: a system without it finds none."""
    guest = mach.add()
    made = guest.manifest
    assert (guest.name, made.package, made.suite) == ("gnumach", "gnumach-image-1.8-amd64-up", "trixie")
    assert (made.machine, made.command_line) == (Machine(type="pc"), "console=com0")
    assert guest.kernel.read_bytes() == HYPERVISOR
    assert guest.initrd("archive", "probe", ("--by", "path", "trio/copy@bytes=64,same-cpu")) == (
        "probe ${host-port} ${device-port} $(task-create) $(task-resume) --by path trio/copy@bytes=64,,same-cpu"
    )
    guest.check()
    assert mach.add(debug=True).manifest.package == "gnumach-image-1.8-amd64-up-dbg"
    with pytest.raises(UsageError, match="a name for guests from packages"):
        linux.check_name("gnumach")


@needs_apt
def test_suites_without_it_and_packages_without_a_kernel_leave_no_guest(mirror: Repository) -> None:
    mirror.suite("trixie", [mirror.package("gnumach-image-1.8-amd64-up", "1-1")])
    with pytest.raises(TargetError, match="contains 0 kernels"):
        mach.add()
    with pytest.raises(MissingError, match="has GNU Mach"):
        mach.add(debug=True)
    assert store.listed() == ()


def made(**more: object) -> store.Guest:
    """A guest that is stored and never boots."""
    values: dict[str, object] = {"name": "gnumach", "package": "p", "version": "1", "release": "", "package_sha256": ""}
    module = store.Module(file=store.MACH)
    return store.add(store.Manifest(**values, modules=(module,), **more), {store.KERNEL: HYPERVISOR})  # type: ignore[arg-type]  # as above


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "--on", "qemu:gnumach", "--by", "path"), "runs no program but that of the unit costs"),
        (("floors", "--on", "qemu:gnumach"), "runs no program but that of the unit costs"),
        (("run", "--on", "qemu:gnumach", "--unit-costs"), "cannot be measured by time"),
        (("run", "--unit-costs"), "local is neither Trio nor GNU Mach"),
        (("guest", "add", "gnumach", "1.8"), "There is no gnumach '1.8'"),
    ],
)
def test_what_it_cannot_do_is_refused_before_anything_is_measured(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: one sentence. Broken: a boot per row, and silence for a minute."""
    share_compiled(tmp_path / "cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made()
    done = kernometer(tmp_path / "store", *words, status=2)
    assert said in done.stderr


#: What happens in one region of each row, gross, ticks apart: traps, returns from them, returns from exceptions, new
#: address spaces. A thread that waited in a trap returns by iret, not by sysret.
CALL = {"syscalls": 2, "irets": 2, "cr3_writes": 2}
EVENTS: dict[str, dict[str, int]] = {
    "trio/trap": {"syscalls": 1, "sysrets": 1, "irets": 0, "cr3_writes": 0, "rep_iterations": 0},
    **{f"trio/call@bytes={size}": CALL | {"sysrets": 0} for size in (0, 8, 64, 1024, 4096)},
    "trio/fault@cow=0": {"syscalls": 0, "irets": 1, "cr3_writes": 0, "rep_iterations": 4096 + 23},
    "trio/fault@cow=1": {"syscalls": 0, "irets": 1, "cr3_writes": 0, "rep_iterations": 4097},
    "trio/turn@same-cpu": {"syscalls": 4, "sysrets": 2, "irets": 2, "cr3_writes": 0},
    "trio/switch@same-cpu": {"syscalls": 4, "sysrets": 2, "irets": 2, "cr3_writes": 2},
    **{f"trio/copy@bytes={size},same-cpu": CALL for size in (64, 4096)},
    "trio/map@pages=1": {"syscalls": 1, "irets": 1},
    "trio/map@pages=256": {"syscalls": 1, "irets": 256},
    "trio/flush@pages=1": {"syscalls": 1, "cr3_writes": 1},
    "trio/flush@pages=256": {"syscalls": 1, "cr3_writes": 1},
    "trio/grant": CALL | {"cr3_writes": 3},
    "mach/self": {"syscalls": 1, "sysrets": 1, "irets": 0, "cr3_writes": 0},
    **{
        f"mach/message@bytes={size}": {"syscalls": 2, "sysrets": 2, "irets": 0, "cr3_writes": 0}
        for size in (0, 64, 4096)
    },
    **{f"mach/memory@pages={pages},access=0": {"syscalls": 3, "irets": 2, "cr3_writes": 3} for pages in (1, 16, 256)},
    **{
        f"mach/memory@pages={pages},access={access}": {"syscalls": 3, "irets": 2 + pages, "cr3_writes": 3}
        for pages in (1, 16)
        for access in (1, 2)
    },
    "mach/pager": {"syscalls": 2, "sysrets": 1, "irets": 2, "cr3_writes": 3},
}
#: Events beyond a row's own, of all regions: ticks of the clock, what only the first iterations do.
STRAY = 0.1


def faults(row: str) -> int:
    """Accesses that fault in a region: the other returns by iret are of threads that waited."""
    waited = {"mach/memory": 2, "mach/pager": 1}.get(row.partition("@")[0], 0)
    faulting = row.startswith(("trio/fault", "trio/map", "mach/memory", "mach/pager"))
    return EVENTS[row]["irets"] - waited if faulting else 0


#: Rows with a baseline that is subtracted.
NET = ("trio/switch@same-cpu", "trio/copy@bytes=64,same-cpu", "trio/copy@bytes=4096,same-cpu")
ASSEMBLY_RAN_ON = "2:1.8+git20250702-1"
ABSENT = {"trio/string", "trio/notify", "trio/irq"}


@pytest.fixture(scope="module")
def gnumach(guest_cache: Path) -> store.Guest:
    """Debian's, downloaded once a checkout."""
    assert guest_cache.is_dir()
    with alone(mach.NAME):
        return next((each for each in store.listed() if each.name == mach.NAME), None) or mach.add()


#: Rows for each commit: a trap, a call with what it copies, a fault, and one of Mach's own.
FEW = ("trio/trap", "trio/call@bytes=64", "trio/fault@cow=1", "mach/self")
#: Each row boots its guest, which looks at each page first: of 2 GiB that is most of the time.
SMALL = "+memory=64"


def measured(target: str, folder: Path, *rows: str) -> Result:
    """One session, as a user measures it."""
    kernometer(folder, "run", "--by", "path", "--on", f"qemu:{target}", "--unit-costs", *rows)
    (file,) = folder.glob("*.ndjson")
    return read_file(file)


@pytest.fixture(scope="module")
def result(gnumach: store.Guest, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Of all rows."""
    return measured(gnumach.name, tmp_path_factory.mktemp("store"))


@pytest.mark.guest
def test_a_few_units_are_measured_and_hold_their_events(gnumach: store.Guest, tmp_path: Path) -> None:
    """Expected and broken: as below."""
    found = measured(f"{gnumach.name}{SMALL}", tmp_path, *FEW)
    assert {run.row for run in found.runs} == {*FEW}
    assert found.failures == ()
    for row in FEW:
        holds_its_events(found, row)
        is_what_the_plugin_counted(found, row)


@pytest.mark.guest
@pytest.mark.slow(minutes=0.7)
def test_every_unit_is_measured_or_says_why_not(result: Result) -> None:
    """Expected: Trio's rows under Trio's names, and Mach's own; no failure. Broken: a row that is silently missing."""
    assert {run.row for run in result.runs} == set(EVENTS)
    assert {one.row for one in result.unsupported} == ABSENT
    assert result.failures == ()
    assert result.header is not None
    assert result.header.uname["version"].startswith("GNU Mach 1.")
    plans = {row.row: row.path_n for one in result.workloads.values() for row in one.rows}
    assert {run.row: len(run.samples) for run in result.runs} == {row: plans[row] for row in EVENTS}


@pytest.mark.guest
@pytest.mark.slow(minutes=0.01)
@pytest.mark.parametrize("row", EVENTS)
def test_a_region_holds_the_events_that_the_unit_is_made_of(result: Result, row: str) -> None:
    """Expected: of a call and its reply two system calls and two address spaces. Broken: a row that measures something
    else than it is called."""
    holds_its_events(result, row)


def holds_its_events(result: Result, row: str) -> None:
    (found,) = (events for events in result.events if events.row == row)
    for name, times in EVENTS[row].items():
        beyond = found.counts[name] / found.regions - times
        assert 0 <= beyond <= max(STRAY, 0.003 * times, 5 * (name == "rep_iterations")), (name, found)


@pytest.mark.guest
@pytest.mark.slow(minutes=0.01)
@pytest.mark.parametrize("row", [row for row in EVENTS if row not in NET])
def test_the_figure_is_what_the_plugin_counted(result: Result, row: str) -> None:
    """Expected: user's and kernel's instructions, less the bracket's; a faulting access is counted twice. It is the
    mean, since the plugin has sums. Broken: the plugin sees other regions than those that the guest's clock times."""
    is_what_the_plugin_counted(result, row)


def is_what_the_plugin_counted(result: Result, row: str) -> None:
    (found,) = (events for events in result.events if events.row == row)
    (run,) = (run for run in result.runs if run.row == row)
    bracket = found.empty["instructions"] / found.empty_regions
    counted = found.counts["instructions"] / found.regions - bracket
    mean = sum(run.samples) / len(run.samples) - run.loop_cost[-1]
    assert counted - mean == pytest.approx(faults(row), abs=1.5)


@pytest.mark.guest
@pytest.mark.slow(minutes=0.01)
def test_a_null_trap_is_as_long_as_a_dozen_lines_of_assembly_found(gnumach: store.Guest, result: Result) -> None:
    """66 instructions of the kernel's, and four around each in that loop (docs/systems/gnumach.md); ten in ours."""
    if gnumach.manifest.version != ASSEMBLY_RAN_ON:
        pytest.skip(f"the assembly ran on {ASSEMBLY_RAN_ON}")
    assert figures(result)["trio/trap"].value == 66 + 10


def boot(gnumach: store.Guest, *rows: str) -> list[bytes]:
    words = ("--by", "path", "--seed", "1", "--continue")
    calls = tuple(Call(row, (*words, row if "@" in row else f"{row}@")) for row in rows)
    job = Job((*words, *rows), "path", program="probe-trio", calls=calls)
    return list(QemuTarget.from_spec(f"{gnumach.name}{SMALL}").run(job, Deadline.after(300)))


@pytest.mark.guest
@pytest.mark.slow(minutes=0.15)
def test_two_boots_are_equal_to_the_last_instruction(gnumach: store.Guest) -> None:
    rows = (
        "trio/call@bytes=64",
        "trio/fault@cow=1",
        "trio/switch@same-cpu",
        "mach/memory@pages=16,access=2",
        "mach/pager",
    )
    first, second = (repeated(boot(gnumach, *rows)) for _ in range(2))
    assert [one["row"] for one in first if one["type"] == "run"] == list(rows)
    assert first == second


#: Mistakes in our program or the second task, and what finds them.
WRONG = {
    "trio/call@bytes=64": (
        "message.c",
        "value = got.size > HEADER ? size : 0;",
        "value = 0;",
        "answered by their size",
    ),
    "trio/copy@bytes=64,same-cpu": ("message.c", "value = got.body[1];", "value = 1;", "the message's ends differ"),
    "trio/fault@cow=1": ("memory.c", "value + 1;", "value;", "does not hold what was written"),
    "trio/switch@same-cpu": ("turn.c", "await(w, at, 0) + 1", "await(w, at, 0) + 3", "the turn did not come back"),
    "mach/memory@pages=16,access=1": ("message.c", "= i + 1;", "= i;", "saw other pages"),
    "mach/pager": ("pager.c", "= MARK + i;", "= i;", "is not the pager's"),
}


@pytest.mark.guest
@pytest.mark.parametrize("row", in_turn(WRONG, 0.05, always=["trio/call@bytes=64"]))
def test_a_wrong_answer_is_a_failure_and_no_figure(
    row: str, gnumach: store.Guest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: the row's error, with the words of its check. Broken: what does not happen is cheap."""
    file, right, wrong, said = WRONG[row]
    copy = Path(shutil.copytree(source_folder("probe"), tmp_path / "probe", ignore=shutil.ignore_patterns("build")))
    sources = copy / "mach"
    text = (sources / file).read_text()
    assert text.count(right) == 1
    (sources / file).write_text(text.replace(right, wrong))
    monkeypatch.setattr(mach, "source_folder", lambda name: copy if name == "probe" else source_folder(name))
    records = [json.loads(line) for line in boot(gnumach, row)]
    assert [said in one["text"] for one in records if one["type"] == "error"] == [True]
    assert not [one for one in records if one["type"] == "run"]
