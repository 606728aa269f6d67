"""Trio's unit costs: is each what its name says? The plugin counts what happened in the regions of a row, and the
kernel's own counters what happened in so many more iterations; both must be what one unit is made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from kernometer import source_folder
from kernometer.cache import sha256
from kernometer.guests.kernels import trio
from kernometer.results.model import Result
from kernometer.results.store import read_file
from kernometer.stats.counters import by_emulator, by_kernel
from kernometer.stats.figures import figures
from tests.support.cli.real import kernometer
from tests.support.trio.boot import Kernel, Machine, boot, initramfs
from tests.support.trio.counts import same_as_known
from tests.support.trio.user_programs import USER

pytestmark = pytest.mark.guest

WORDS = 8  #: bytes that one iteration of a copy moves

NONE = {"syscalls": 0, "sysrets": 0, "irets": 0, "cr3_writes": 0, "invlpg": 0, "fpu_saves": 0}
CALL = NONE | {"syscalls": 1, "sysrets": 1}
HANDED_OVER = {"syscalls": 4, "sysrets": 4, "cr3_writes": 2, "fpu_saves": 2}
#: In one region of each row, gross. A copy's iterations are one more than there are words: the last finds none left.
EVENTS: dict[str, dict[str, int]] = {
    "trio/trap": CALL | {"rep_iterations": 0},
    "trio/call@bytes=0": CALL | {"rep_iterations": 0},
    "trio/call@bytes=64": CALL | {"rep_iterations": 64 // WORDS + 1},
    "trio/call@bytes=4096": CALL | {"rep_iterations": 4096 // WORDS + 1},
    "trio/string": CALL | {"rep_iterations": 0},
    "trio/fault@cow=0": NONE | {"irets": 1, "rep_iterations": 4096 // WORDS + 1},
    "trio/fault@cow=1": NONE | {"irets": 1, "rep_iterations": 4096 // WORDS + 1, "invlpg": 1},
    "trio/turn@same-cpu": HANDED_OVER | {"cr3_writes": 0},
    "trio/switch@same-cpu": HANDED_OVER,
    "trio/copy@bytes=64,same-cpu": HANDED_OVER,
    "trio/copy@bytes=4096,same-cpu": HANDED_OVER,
    "trio/map@pages=1": CALL | {"irets": 1},
    "trio/map@pages=256": CALL | {"irets": 256},
    "trio/flush@pages=1": CALL | {"invlpg": 1},
    "trio/flush@pages=256": CALL | {"cr3_writes": 1},
}
#: Rows whose figure is all that lies in a region; of the others a baseline is subtracted.
WHOLE = [row for row in EVENTS if not row.startswith(("trio/turn", "trio/switch", "trio/copy"))]
#: Interrupts by the clock, beyond what a row does itself.
TICKS = 5
#: With a second process: faults after its fork, and turns that came before they were waited for.
STRAY = 0.05


@pytest.fixture(scope="module")
def store(kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One session, as a user measures it."""
    assert trio.add("mono").kernel.read_bytes() == kernel.file.read_bytes()
    folder = tmp_path_factory.mktemp("store")
    kernometer(folder, "run", "--by", "path", "--on", "qemu:trio-mono", "--unit-costs")
    return folder


@pytest.fixture(scope="module")
def result(store: Path) -> Result:
    (file,) = store.glob("*.ndjson")
    return read_file(file)


def test_every_unit_is_measured_and_shown(store: Path, result: Result) -> None:
    """Expected: the rows of the list, no failure, in the session and in what is shown of it."""
    assert {run.row for run in result.runs} >= set(EVENTS)
    assert result.failures == ()
    shown = json.loads(kernometer(store, "show", "@last", "--json").stdout)
    assert {row["row"] for row in shown["rows"]} >= set(EVENTS)


def test_the_header_says_what_it_was_measured_with(result: Result) -> None:
    """Expected: the digest of the engine's sources and the units', not the probe's. Broken: two programs look alike."""
    folders = (source_folder("probe"), USER / "probe-trio")
    parts = [part.read_bytes() for folder in folders for part in sorted(folder.glob("*.[ch]"))]
    assert result.header is not None
    assert result.header.probe["source_digest"] == sha256(b"".join(parts))


@pytest.mark.parametrize("row", EVENTS)
def test_a_region_holds_the_events_that_the_unit_is_made_of(result: Result, row: str) -> None:
    """Expected: of trio/trap one system call, one return, no write of CR3, and so on. Broken: a row that measures
    something else than it is called."""
    (found,) = (events for events in result.events if events.row == row)
    assert found.counts["instructions"] == found.counts["user"] + found.counts["kernel"]
    for name, times in EVENTS[row].items():
        beyond = found.counts[name] - times * found.regions
        most = TICKS if name == "irets" else 0
        assert 0 <= beyond <= (most if row in WHOLE else STRAY * found.regions), (name, found)


@pytest.mark.parametrize("row", WHOLE)
def test_the_figure_is_what_the_plugin_counted(result: Result, row: str) -> None:
    """Expected: user's and kernel's instructions, less the bracket's; a faulting store is counted twice by the plugin.
    A tick makes one region longer and leaves the median. Broken: clock or baseline are part of a unit."""
    (found,) = (events for events in result.events if events.row == row)
    bracket = found.empty["instructions"] / found.empty_regions
    counted = (found.counts["instructions"] - found.counts["irets"]) / found.regions - bracket
    assert figures(result)[row].value == pytest.approx(counted, rel=0.02)


def test_a_trap_is_as_long_as_it_was(result: Result) -> None:
    """Expected: the way into the kernel and out of it, to the instruction. Broken: all system calls are longer."""
    same_as_known(result, "trio/trap")


#: Runs a row three times in the guest and shows the kernel's counters after each: the first makes the second two
#: equal, and of the last two the latter has more iterations.
SCRIPT = """\
at() {
    probe-trio --continue --only time --by time --clock cycles --runs 1 --seconds 1000 --samples $2 --batch $3 $1 >o
    grep -q '"type":"run"' o || cat o
    echo "= $1"
    cat /proc/trio/counters
}
while read row samples batch more_samples more; do
    at $row $samples $batch; at $row $samples $batch; at $row $more_samples $more
done </bin/rows
"""
SAMPLES = 20
BASELINE = SAMPLES // 2  #: samples of the baseline: half as many
MORE = 50  #: iterations a sample in the third run, beyond those of the second
TIMED, SUBTRACTED = SAMPLES * MORE, BASELINE * MORE
PAGES = 256  #: of trio/fault, all touched in each sample: so there are more samples instead
#: What the kernel counts in the iterations that the third run has more.
COUNTERS: dict[str, dict[str, int]] = {
    "trio/trap": {"traps.system_calls": TIMED, "switches.address_space": 0, "bytes.in": 0},
    "trio/call@bytes=64": {
        "traps.system_calls": TIMED + SUBTRACTED,
        "calls.clock.forget": TIMED,
        "bytes.in": 64 * TIMED,
        "switches.address_space": 0,
    },
    "trio/switch": {
        "calls.vm.futex_wake": 2 * (TIMED + SUBTRACTED),
        "switches.voluntary": 2 * (TIMED + SUBTRACTED),
        "switches.address_space": 2 * TIMED,
    },
    "trio/copy@bytes=4096,same-cpu": {
        "calls.vfs.write": 2 * (TIMED + SUBTRACTED),
        "switches.address_space": 2 * (TIMED + SUBTRACTED),
        "bytes.in": (4096 + 1) * TIMED + 2 * SUBTRACTED,
        "bytes.out": (4096 + 1) * TIMED + 2 * SUBTRACTED,
    },
    "trio/fault@cow=0": {"traps.faults": SAMPLES * PAGES, "calls.kernel.space_zero": SAMPLES * PAGES},
    "trio/map@pages=1": {"calls.vm.map_anonymous": SAMPLES * 10, "traps.faults": SAMPLES * 10},
    "trio/flush@pages=16": {"calls.vm.unmap": SAMPLES * 10, "traps.faults": SAMPLES * 16 * 10},
}
PLANS = {"trio/fault@cow=0": (SAMPLES, PAGES, 2 * SAMPLES, PAGES)}
PLANS |= dict.fromkeys(("trio/map@pages=1", "trio/flush@pages=16"), (SAMPLES, 10, SAMPLES, 20))
#: What the processes that run the row and read the counters do themselves may differ by: readings of the clock, pages
#: for samples, bytes of the output.
APART = {"bytes.in": 2000, "bytes.out": 10000}
OTHERS_APART = 30


@pytest.mark.slow(minutes=0.02)
def test_the_kernels_counters_count_each_unit_once_an_iteration(kernel: Kernel) -> None:
    """Expected: N iterations more are N traps, calls, faults or mappings more, and two switches of address spaces where
    a turn is handed over and back. Broken: counters or units are of something else."""
    rows = "".join(
        f"{row} {' '.join(map(str, PLANS.get(row, (SAMPLES, MORE, SAMPLES, 2 * MORE))))}\n" for row in COUNTERS
    )
    files = {"bin/probe-trio": trio.probe().read_bytes(), "bin/rows": rows.encode(), "bin/counting": SCRIPT.encode()}
    ended = boot(kernel, initramfs(("sh", "/bin/counting"), files), Machine(path=True), seconds=300)
    assert ended.status == 0, ended
    readings: dict[str, list[Mapping[str, int]]] = {}
    for part in ended.bulk.decode().split("= ")[1:]:
        row, *lines = part.splitlines()
        readings.setdefault(row, []).append({name: int(value) for name, value in map(str.split, lines)})
    assert set(readings) == set(COUNTERS), ended
    for row, expected in COUNTERS.items():
        one, two, three = readings[row]
        for name, times in expected.items():
            moved = three[name] - 2 * two[name] + one.get(name, 0)
            assert moved == pytest.approx(times, abs=APART.get(name, OTHERS_APART)), (row, name)


#: What one unit is made of where services are servers, threads or processes: of each message a direct switch there, and
#: one back, and no queue.
ROUND_TRIP = {"messages.calls": 1, "messages.replies": 1, "switches.direct": 1, "switches.queued": 0}
UNITS: dict[str, dict[str, int]] = {
    "trio/trap": dict.fromkeys(ROUND_TRIP, 0) | {"traps.system_calls": 1, "traps.servers": 0},
    "trio/call@bytes=0": ROUND_TRIP | {"traps.system_calls": 1, "traps.servers": 1, "bytes.in": 0},
    "trio/call@bytes=4096": ROUND_TRIP
    | {"traps.system_calls": 1, "traps.servers": 2, "bytes.in": 4096, "copies.bytes": 1, "copies.strings": 0},
    "trio/string": ROUND_TRIP | {"traps.servers": 2, "bytes.in": 8, "copies.bytes": 0, "copies.strings": 1},
    "trio/fault@cow=0": ROUND_TRIP | {"traps.faults": 1, "faults.message": 1, "calls.kernel.space_zero": 1},
    "trio/fault@cow=1": ROUND_TRIP | {"traps.faults": 1, "faults.message": 1, "calls.kernel.space_private": 1},
    "trio/flush@pages=1": ROUND_TRIP | {"traps.system_calls": 1, "calls.vm.unmap": 1},
}
NOWHERE = {"trio/notify", "trio/grant", "trio/irq"}


@pytest.mark.slow(minutes=0.1)
@pytest.mark.parametrize("structure", ["hybrid", "micro", "one-server"])
def test_a_unit_between_two_domains_is_a_message_there_and_back(kernel: Kernel, tmp_path: Path, structure: str) -> None:
    """Expected: of trio/call one message to the server's loop and one back, as the kernel counts it and as the emulator
    saw it; a fault likewise. Broken: a call that does not leave the program's domain, or does more on its way."""
    assert kernel.file.exists()
    trio.add(structure)
    kernometer(tmp_path, "run", "--by", "path", "--on", f"qemu:trio-{structure}", "--unit-costs")
    (file,) = tmp_path.glob("*.ndjson")
    result = read_file(file)
    for row, expected in UNITS.items():
        counts, seen = by_kernel(row, (result,)), by_emulator(row, (result,))
        assert counts is not None, row
        assert {name: counts.get(name, 0) for name in expected} == expected, row
        spaces = 0 if structure == "hybrid" else 2 * expected["messages.calls"]
        assert counts.get("switches.address_space", 0) == spaces, row
        assert seen["cr3_writes"] == pytest.approx(spaces, abs=STRAY), row
        traps = counts.get("traps.system_calls", 0) + (0 if structure == "hybrid" else counts.get("traps.servers", 0))
        assert seen["syscalls"] == pytest.approx(traps, abs=STRAY), row
    assert result.failures == ()
    absent = {one.row for one in result.unsupported}
    of_mach = {row.row for one in result.workloads.values() for row in one.rows if row.row.startswith("mach/")}
    assert of_mach
    assert absent == NOWHERE | of_mach | ({"trio/switch@same-cpu"} if structure != "hybrid" else set())


#: One of each, whatever else a process takes that is created, executes a program, ends and is waited for.
ONCE = ("pm.clone", "pm.execute", "pm.exit", "pm.wait4", "vm.fork", "vm.renew", "vm.leave", "kernel.space_destroy")


def test_a_script_tells_what_one_fork_and_exec_is_made_of(kernel: Kernel) -> None:
    """Expected: whole numbers, one process in each iteration, and of the probe's own work between two nothing. Broken:
    set-up is among them, or the counters miss some."""
    files = {"bin/made-of": (USER / "made-of.sh").read_bytes()}
    ended = boot(kernel, initramfs(("made-of", "proc/fork-exec"), files), Machine(path=True), seconds=120)
    assert ended.status == 0, ended
    each = {name: float(value) for name, value in map(str.split, ended.bulk.decode().splitlines())}
    assert {name: each[f"calls.{name}"] for name in ONCE} == pytest.approx(dict.fromkeys(ONCE, 1), abs=0.1)
    assert each["switches.address_space"] == pytest.approx(3, abs=0.1), "to the child, into its program, back"
    assert each["traps.faults"] >= 5
    assert "calls.clock.gettime" not in each
