"""matrix and floors as a user calls them, on guests whose QEMU is a script: measured, kept, shown and refused."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import msgspec
import pytest

from kernometer.cache import sha256
from kernometer.campaign.cells import Outcome
from kernometer.cli import arguments
from kernometer.cli.many import measured
from kernometer.cli.matrix import stored
from kernometer.errors import KernometerError, ResultError, Status, UsageError
from kernometer.guests import store as guests
from kernometer.guests.emulator import kvm, remembered
from kernometer.guests.emulator.qemu import Machine
from kernometer.guests.store import Manifest
from kernometer.guests.variant import ROTATIONS, parse
from kernometer.report.matrix.measures import MEASURES
from kernometer.results.model import FORMAT, AnyRecord, End, Session
from kernometer.results.store import Store
from kernometer.stats.floors import REACH
from kernometer.targets import booting
from kernometer.targets.qemu import QemuTarget
from tests.support.cli.matrices import ONLY, ROW, call
from tests.support.cli.real import kernometer as called
from tests.support.guests import qemu_script
from tests.support.probe.running import give_probe
from tests.support.results import make
from tests.support.stats.simulate import of_costs

MATRIX = ("matrix", "--by", "path", "--workloads", ONLY)


#: The kernel 9.9 takes 10 % more than 9.8, and memory moves every count by its last digits.
QEMU = f"""#!{sys.executable}
import sys
words = sys.argv
if "--version" in words:
    sys.exit(print("QEMU emulator version 7.2.22"))
def after(option):
    return words[words.index(option) + 1]
if "rdinit=/none" in after("-append"):
    open("console", "a").write("[    1.2] Kernel panic - not syncing: No working init found.\\n")
    sys.exit(1)
count = (440 if "linux-9.9" in after("-kernel") else 400) + int(after("-m")) // 64 % 4
open("events.json", "w").write(open({{events!r}}).read())
lines = open({{records!r}}).read().replace("COUNT", str(count)).splitlines()
open("bulk", "a").write("\\n".join(["#kernometer begin 1", *lines, f"#kernometer end {{{{len(lines)}}}}", ""]))
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory, frontends_probe: Path) -> Path:
    """Two guests; and the probe of this host, which tells what can be measured."""
    folder = tmp_path_factory.mktemp("cache")
    give_probe(folder, frontends_probe)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        for version in ("9.8", "9.9"):
            kernel = version.encode()
            manifest = Manifest(
                name=f"linux-{version}", package=f"linux-image-{version}", version="1", release=version,
                package_sha256="", kernel_sha256=sha256(kernel), kernel_bytes=len(kernel),
            )  # fmt: skip  # a line a kind
            with guests.new_folder() as made:
                (made / guests.KERNEL).write_bytes(kernel)
                guests.keep(made, manifest)
    return folder


@pytest.fixture
def store(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """An empty store, and guests that boot."""
    records = tmp_path / "records"
    run = make.run(0, ROW, samples=(12_345,) * 5, batch=1, loop_batch=1, loop_cost=(0,), baseline=None, warnings=())
    lines = make.lines([make.header(by="path"), make.workload(), run])
    records.write_text("\n".join(line.decode().replace("12345", "COUNT") for line in lines))
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "qemu-system-x86_64"
    program.write_text(QEMU.format(records=str(records), events=str(tmp_path / "events")))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setattr(booting, "initrd", lambda *given: repr(given).encode())
    qemu_script.give_plugin(tmp_path, monkeypatch)
    return Store(tmp_path / "store")


def test_a_matrix_measures_each_guest_and_judges_them(store: Store, tmp_path: Path) -> None:
    report = tmp_path / "out.html"
    done = call(store, *MATRIX, "--on", "qemu:linux-9.8,qemu:linux-9.9", "--label", "k", "--report", str(report))
    assert done.exit_code == 0
    assert "qemu:linux-9.9 against qemu:linux-9.8: 1 slower" in done.output
    assert "1.100" in done.output and "9.9 1.100: +40 instr" in done.output
    assert [one.target for one in store.summaries(label="k")] == ["qemu:linux-9.9", "qemu:linux-9.8"]
    assert "1.100 slower" in report.read_text(encoding="utf-8")


def test_what_was_measured_is_shown_again_from_the_store(store: Store) -> None:
    """Expected: the same table with no guest booted. Broken: columns in the order of their ids' random digits."""
    done = call(store, *MATRIX, "--on", "qemu:linux-9.9,qemu:linux-9.8")
    (label,) = {one.label for one in store.summaries()}
    assert label.startswith("matrix-") and f"'label:{label}'" in done.output
    again = call(store, "matrix", f"label:{label}")
    table = done.output.split("Ratio of cost")[0].split("\n\n", 1)[1]
    assert table in again.output
    files = [str(one.path) for one in reversed(store.summaries())]
    assert table in call(store, "matrix", *files).output
    one = call(store, "compare", f"label:{label}@qemu:linux-9.9", f"label:{label}@qemu:linux-9.8")
    assert "0 slower, 1 faster" in one.output


def test_a_guest_that_fails_is_a_column_with_its_reason_and_status_1(store: Store) -> None:
    """Expected: the others' figures, and the panic. Broken: nine good guests are lost with the tenth."""
    on = "qemu:linux-9.8,qemu:linux-9.8+rdinit=/none,qemu:linux-9.9"
    done = call(store, *MATRIX, "--on", on, "--json")
    assert done.exit_code == 1
    given = json.loads(done.stdout)
    assert "No working init found" in given["systems"][1]["failure"]
    assert "No working init found" in done.stderr
    verdicts = [given["rows"][0]["cells"][name]["verdict"] for name in on.split(",")[1:]]
    assert verdicts == ["failed", "slower"]


def test_a_matrix_in_cycles_needs_counts_of_a_memory_system(store: Store) -> None:
    """Expected: each choice is one of the measures; without counts a reason. Broken: a table of blanks."""
    call(store, *MATRIX, "--on", "qemu:linux-9.8,qemu:linux-9.9", "--label", "k")
    for measure in MEASURES:
        with pytest.raises(UsageError, match=f"qemu:linux-9.8 has no {measure}"):
            call(store, "matrix", "label:k", "--in", measure)
    assert f"[{'|'.join(MEASURES)}]" in call(store, "matrix", "--help").output


def test_one_aside_takes_no_part_in_the_series(store: Store) -> None:
    on, aside = ("--on", "qemu:linux-9.8,qemu:linux-9.8+quiet"), ("--aside", "qemu:linux-9.9")
    given = json.loads(call(store, *MATRIX, *on, *aside, "--label", "k", "--json").stdout)
    assert [(one["name"], one["aside"]) for one in given["systems"]][2] == ("qemu:linux-9.9", True)
    assert given["changes"] == []
    assert given["rows"][0]["cells"]["qemu:linux-9.9"]["verdict"] == "slower"
    assert json.loads(call(store, "matrix", "label:k", *aside, "--json").stdout) == given
    with pytest.raises(UsageError, match="is not one of the systems"):
        call(store, "matrix", "label:k", "--aside", "qemu:linux-7")


def test_guests_on_several_machines_split_the_variance(store: Store, tmp_path: Path) -> None:
    """Expected: two kernels on two machines, the kernel's share named; the same from the store, and in the page."""
    report = tmp_path / "page.html"
    on = ("--on", "qemu:linux-9.8,qemu:linux-9.9", "--machine", "standard", "--machine", "cpu=Nehalem,-erms+memory=512")
    done = call(store, *MATRIX, *on, "--label", "k", "--report", str(report))
    assert "Kernels by machines: 2 kernels on 2 machines" in done.output
    assert "100.0 %" in done.output and "says nothing about whether hardware" in done.output
    assert [one.target for one in reversed(store.summaries(label="k"))] == [
        f"qemu:linux-{kernel}{machine}"
        for kernel in ("9.8", "9.9")
        for machine in ("", "+cpu=Nehalem,-erms+memory=512")
    ]
    assert 'id="machines-h"' in report.read_text(encoding="utf-8")
    given = json.loads(call(store, "matrix", "label:k", "--different-machines", "--json").stdout)["machines"]
    assert given["kernels"] == ["linux-9.8", "linux-9.9"]
    assert given["all"]["shares"]["kernel"]["value"] == pytest.approx(1)


def test_by_time_every_target_has_its_sessions_in_turn(tmp_path: Path) -> None:
    """The real probe. Expected: rounds, and a table. Broken: one session a target, or all of one first."""
    on = ("--on", "local,wrap:env", "--workloads", ONLY, "--boots", "2", "--label", "t")
    done = called(tmp_path, "matrix", *on)
    assert "wrap:env against local" in done.stdout
    order = [one.target for one in reversed(Store(tmp_path).summaries(label="t"))]
    assert [sorted(order[:2]), sorted(order[2:])] == [["local", "wrap:env"]] * 2
    given = json.loads(called(tmp_path, "matrix", "label:t", "--json").stdout)
    assert [len(system["sessions"]) for system in given["systems"]] == [2, 2]


def test_one_target_on_two_hosts_is_two_columns(tmp_path: Path) -> None:
    """Sessions of a campaign over many machines. Expected: a column each, both aside where their target is. Broken: the
    times of two are one system; `--aside` takes the name of a column only, which nobody knows before."""
    store = Store(tmp_path)
    for number, host in enumerate(("a" * 32, "b" * 32)):
        made = of_costs(
            f"20260101T00000{number}Z-abcdef", {ROW: [100.0] * 5}, label="k", host_id=host, started=float(number)
        )
        assert made.header is not None
        lines: list[AnyRecord] = [made.session, made.header, *made.workloads.values(), *made.runs, End(complete=True)]
        store.take(f"{made.session.id}.ndjson", b"".join(msgspec.json.encode(one) + b"\n" for one in lines))
    columns = stored(store, ["label:k"], [])
    assert [column.name for column in columns] == ["local on host aaaaaaaa", "local on host bbbbbbbb"]
    for aside, expected in ((["local"], [True, True]), (["local on host bbbbbbbb"], [False, True])):
        assert [column.aside for column in stored(store, ["label:k"], aside)] == expected
    outcomes = [Outcome("local", machine) for machine in ("a", "b")] + [Outcome("wrap:env", "a")]
    assert [one.name for one in outcomes] == ["local on a", "local on b", "wrap:env on a"]
    assert [column.aside for column in measured(outcomes, ["local"])] == [True, True, False]


@pytest.mark.parametrize(
    ("words", "kind", "said"),
    [
        (("matrix",), UsageError, "either stored results or targets"),
        (("matrix", "label:k", "--on", "local"), UsageError, "either stored results or targets"),
        ((*MATRIX, "--on", "qemu:linux-9.8"), UsageError, "at least two targets"),
        ((*MATRIX, "--on", "local,bogus"), UsageError, "'local,bogus' is not a target"),
        ((*MATRIX, "--on", "local", "--on", "bogus"), UsageError, "'bogus' is not a target"),
        ((*MATRIX, "--on", "local,qemu:linux-9.8"), UsageError, "cannot be measured by path"),
        ((*MATRIX, "--on", "qemu:linux-9.8,qemu:linux-9.8+memory=512"), UsageError, "not of one machine"),
        ((*MATRIX, "--on", "local,wrap:env", "--machine", "cpu=max"), UsageError, "has one machine, its own"),
        ((*MATRIX, "--on", "qemu:linux-9.8", "--machine", "nopti"), UsageError, "'nopti' is not a machine option"),
        (("matrix", "label:k", "--machine", "cpu=max"), UsageError, "stored results have their machines"),
        ((*MATRIX, "--on", "local", "--scheduler", "tcp://x:1", "--jobs", "2"), UsageError, "Leave --jobs|processors"),
        (
            (*MATRIX, "--on", "local", "--scheduler", "tcp://x:1", "--dry-run"),
            UsageError,
            "not asked for their commands",
        ),
        (("matrix", "--by", "time", "--on", "local,wrap:env", "--in", "cycles"), UsageError, "Add --by path|by path"),
        (("matrix", "label:none"), ResultError, "No stored session"),
        (("floors", ONLY), UsageError, "guest to measure is missing"),
        (("floors", "--on", "local"), UsageError, "Only guests have"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_measured(
    store: Store, words: tuple[str, ...], kind: type[KernometerError], said: str
) -> None:
    with pytest.raises(kind, match=said):
        call(store, *words)
    assert store.summaries() == []


def test_stored_guests_of_different_machines_are_refused_unless_asked_for(store: Store) -> None:
    """Expected: as compare does. Broken: the memory's size is taken for the kernel's doing."""
    on = ("--on", "qemu:linux-9.8,qemu:linux-9.8+memory=512")
    call(store, *MATRIX, *on, "--different-machines", "--label", "k")
    with pytest.raises(UsageError, match="not of one machine"):
        call(store, "matrix", "label:k")
    assert "machine: " in call(store, "matrix", "label:k", "--different-machines").output


def test_dry_runs_print_what_would_be_started(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: commands at once, of guests that were never saved too. Broken: a trial boots, in silence."""
    monkeypatch.setattr(QemuTarget, "_try_saving", lambda _: pytest.fail("a trial of saving"))
    monkeypatch.setattr(QemuTarget, "_try_kvm", lambda _: pytest.fail("a trial of KVM"))
    monkeypatch.setattr(kvm, "DEVICE", Path("/dev/null"))
    monkeypatch.setattr(remembered, "folder", lambda: tmp_path / "found")  # what other tests' trials have found
    guests_on = "qemu:linux-9.8,qemu:linux-9.9"
    for command, targets in (
        (("run", "--on", "qemu:linux-9.8", ONLY), 1),
        (("ab", *guests_on.split(","), ONLY), 2),
        (("ab", *guests_on.split(","), "qemu:linux-9.9+quiet", ONLY), 3),
        (("matrix", "--on", guests_on, "--workloads", ONLY), 2),
    ):
        for by in ("path", "time"):
            if by == "path" or len(command) != 5 or command[0] != "ab":
                told = call(store, *command, "--by", by, "--dry-run").stdout.splitlines()
                assert len(told) == targets
                assert all(("-incoming" in line) == (by == "path") for line in told)
    assert call(store, "profile", "--on", "qemu:linux-9.8", ONLY, "--dry-run").stdout.count("-incoming") == 1
    assert "-accel kvm" in call(store, "guest", "boot", "linux-9.8", "--dry-run").stdout
    done = call(store, "floors", "--on", "qemu:linux-9.8", "--dry-run")
    assert [line.split(" -m ")[1].split()[0:3:2] for line in done.stdout.splitlines()] == [
        ["2048", "1"], ["1920", "2"], ["2176", "3"], ["1792", "4"], ["2304", "5"],
    ]  # fmt: skip  # memory and seed
    assert store.summaries() == []


# Floors --------------------------------------------------------------------------------------------------------------


def test_floors_are_measured_kept_as_sessions_and_shown(store: Store) -> None:
    done = call(store, "floors", "--on", "qemu:linux-9.8", "--rotations", "3", ONLY)
    assert "syscall/getppid  1.4 %    400   402" in done.output
    assert "3 machines" in done.output
    kept = store.summaries(label="layout")
    assert sorted(one.target for one in kept) == [
        "qemu:linux-9.8", "qemu:linux-9.8+seed=2+memory=1920+history=1", "qemu:linux-9.8+seed=3+memory=2176+history=2",
    ]  # fmt: skip  # in order
    (layout,) = json.loads(call(store, "floors", "--json").stdout)
    assert layout["rows"][ROW] == {
        "floor": pytest.approx((402 / 400) ** REACH[3] - 1), "least": 400, "most": 402, "machines": 3, "levels": False,
    }  # fmt: skip  # as the document


def test_a_gate_by_path_measures_a_failing_row_again_in_other_layouts(store: Store) -> None:
    """Expected: 7 after four more machines of each, kept for the floors. Broken: a place in memory fails it."""
    done = call(store, "ab", "--by", "path", "--gate", "--json", "qemu:linux-9.8", "qemu:linux-9.9", ONLY)
    assert done.exit_code == Status.GATE
    assert f"The gate fails on {ROW}: measured again, on 4 machines with other layouts." in done.stderr
    assert "measured again on 4 machines with other layouts: " in done.stderr
    (found,) = json.loads(done.stdout)
    (row,) = found["gate"]["rows"]
    assert (row["outcome"], row["before"]) == ("worse", "worse")
    assert len(store.summaries(label="layout")) == 8


def test_a_store_without_floors_says_how_to_measure_them(store: Store) -> None:
    assert "kernometer floors --on" in call(store, "floors").output


@pytest.mark.parametrize("command", ["ab", "compare", "report", "matrix"])
def test_every_command_that_judges_uses_the_floors_of_the_store(store: Store, tmp_path: Path, command: str) -> None:
    """A made-up floor of 20 %. Expected: 10 % between the builds is undecided. Broken: it is slower, by default."""
    on = ("qemu:linux-9.8", "qemu:linux-9.9")
    call(store, *MATRIX, "--on", ",".join(on), "--label", "k")
    standard = store.load("label:k@qemu:linux-9.8")
    for number, count in enumerate((400, 480, 400)):
        rotated(store, standard.session, number, count)
    sides = [f"label:k@{target}" for target in on]
    words = {
        "ab": ("ab", "--by", "path", *on, ONLY),
        "compare": ("compare", *sides),
        "report": ("report", *sides, "-o", str(tmp_path / "out.html")),
        "matrix": ("matrix", "label:k"),
    }
    said = " ".join(call(store, *words[command]).output.split())
    assert "0 slower, 0 faster, 0 equivalent (±2 %), 1 undecided" in said


def rotated(store: Store, like: Session, number: int, count: int) -> None:
    """A session of the same kernel on a machine of its own."""
    kernel = ("target", "profile", "image", "board", "command_line", "seed", "state", "path_definition")
    fields = {name: getattr(like, name) for name in kernel}
    run = make.run(0, ROW, samples=(count,) * 5, batch=1, loop_batch=1, loop_cost=(0,), baseline=None, warnings=())
    with store.create(make.session(by="path", machine=f"machine {number}", label="layout", **fields)) as file:
        for record in (make.header(by="path"), make.workload(), run):
            file.add(record)


def test_rotated_machines_differ_in_memory_and_seed_and_nothing_else() -> None:
    """Expected: the guest's own first, then around it; other words stay. Broken: two machines alike."""
    usual = Machine(memory_mib=768)
    of = parse("xen+memory=1024+dom0=x")
    machines = [of.rotated(number, usual, history=False).machine(usual) for number in range(ROTATIONS)]
    assert of.rotated(0, usual, history=False) is of
    assert of.rotated(1, usual, history=False).name == "xen+dom0=x+seed=2+memory=960"
    assert [machine.memory_mib for machine in machines[:5]] == [1024, 960, 1088, 896, 1152]
    assert len({machine.memory_mib for machine in machines}) == len({machine.seed for machine in machines}) == ROTATIONS
    assert min(machine.memory_mib for machine in machines) == 512


# Lists ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("local,qemu:a",), ("local", "qemu:a")),
        (("qemu:a+cpu=max,-erms,local",), ("qemu:a+cpu=max,-erms", "local")),
        (("wrap:taskset -c 0,1,qemu:a", "local"), ("wrap:taskset -c 0,1", "qemu:a", "local")),
        (("local,local",), ("local",)),
        (("locale,x",), ("locale,x",)),
    ],
)
def test_targets_are_split_at_commas_before_a_kind(words: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert arguments.targets(words) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("a/b,c/*",), ("a/b", "c/*")),
        (("ctx/ring@procs=8,token=0,ws=0,same-cpu,a/b",), ("ctx/ring@procs=8,token=0,ws=0,same-cpu", "a/b")),
        (("*",), ("*",)),
        (("a/b", "a/b,c/d"), ("a/b", "c/d")),
    ],
)
def test_workloads_are_split_at_commas_before_a_family(words: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert arguments.workloads(words) == expected


def test_the_sessions_that_are_kept_say_on_which_board(store: Store) -> None:
    """Expected: the machine without what floors rotate. Broken: floors of one kernel are no group."""
    call(store, "floors", "--on", "qemu:linux-9.8", "--rotations", "3", ONLY)
    sessions = [store.load(one.id).session for one in store.summaries()]
    assert {one.format for one in sessions} == {FORMAT}
    assert len({one.machine for one in sessions}) == 3
    (board,) = {one.board for one in sessions}
    assert all(one.machine.startswith(f"{board}; ") for one in sessions)
    assert "MiB" not in board and "seed" not in board
