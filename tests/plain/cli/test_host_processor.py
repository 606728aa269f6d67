"""This host as a processor: what Linux shows of its caches, and what our rows measured. Odd machines among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kernometer.cli import host_processor
from kernometer.cli.host_processor import of_host, this_host
from kernometer.errors import MissingError, ResultError
from kernometer.explain.cycles import KINDS
from kernometer.host.tree import Tree
from kernometer.results.model import AnyRecord, End, RowInfo
from kernometer.results.processor import find
from kernometer.results.store import Store
from tests.support.host.trees import CPU, plant
from tests.support.results import make

KIB, MIB = 1 << 10, 1 << 20
AMD, INTEL = (
    {"proc/cpuinfo": f"vendor_id\t: {vendor}\nmodel name\t: X\n"} for vendor in ("AuthenticAMD", "GenuineIntel")
)
#: Nanoseconds at 4 GHz: 4 cycles in L1D; 12 in L2; 46 in L3; memory 60 ns; shares of nearer levels, and the TLB's.
ZEN3 = {4 * KIB: 1.0, 32 * KIB: 1.0, 256 * KIB: 2.75, 2 * MIB: 10.78, 8 * MIB: 11.9, 128 * MIB: 60.6}


def cache(cpu: int, index: int, kind: str, size: str, ways: int, sets: int, line: int = 64) -> dict[str, str]:
    at = f"{CPU}/cpu{cpu}/cache/index{index}"
    level, _, word = kind.partition(" ")
    files = {"level": level, "type": word, "size": size, "ways_of_associativity": ways, "number_of_sets": sets}
    return {f"{at}/{name}": f"{value}\n" for name, value in {**files, "coherency_line_size": line}.items()}


def caches(
    cpu: int = 0, l2: tuple[str, int, int] = ("512K", 8, 1024), l3: tuple[str, int, int] | None = None
) -> dict[str, str]:
    first = {**cache(cpu, 0, "1 Data", "32K", 8, 64), **cache(cpu, 1, "1 Instruction", "32K", 8, 64)}
    return {**first, **cache(cpu, 2, "2 Unified", *l2), **cache(cpu, 3, "3 Unified", *(l3 or ("32768K", 16, 32768)))}


def _session(folder: Path, name: str, host: str, workload: str) -> None:
    """A session of these latencies, by that workload if it is another."""
    rows = [f"{workload}@bytes={size},stride=64" for size in ZEN3]
    runs: list[AnyRecord] = [
        make.run(
            0, row, batch=100, ops=64, baseline=None, cpu=0, samples=tuple(round(6400 * ns) + n for n in range(20))
        )
        for row, ns in zip(rows, ZEN3.values(), strict=True)
    ]
    infos = tuple(RowInfo(row=row, id=2 + 2 * n, profiles=("full",)) for n, row in enumerate(rows))
    head: list[AnyRecord] = [make.session(id=name, host_id=host), make.header(), make.workload(workload, rows=infos)]
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.ndjson").write_bytes(make.data(head + runs + [End(complete=True, seconds=1.0)]))


@pytest.fixture
def tree(tmp_path: Path) -> Callable[..., Tree]:
    return lambda *layers: Tree(plant(tmp_path / "host", *layers))


def test_latencies_of_a_known_processor_give_its_published_costs(tree: Callable[..., Tree]) -> None:
    """Expected: on a Zen 3 of 4 GHz the costs of zen3.toml nearly, and half of a load's hidden as there. Broken: the
    share of loads that hit a nearer level, or the walks, are taken for latency."""
    made, zen3 = of_host(tree(AMD, caches()), 0, ZEN3, "S"), find("zen3")
    assert made.geometry.word == zen3.geometry.word
    for kind in ("l2_code", "l2_load", "l3_code", "l3_load"):
        assert made.costs[kind].cycles == pytest.approx(zen3.costs[kind].cycles, rel=0.05), kind
    assert made.costs["memory_load"].cycles == pytest.approx(zen3.costs["memory_load"].cycles, rel=0.12)
    assert set(made.costs) == set(KINDS)
    assert all(cost.least <= cost.cycles <= cost.most for cost in made.costs.values())


def test_every_number_says_where_it_is_from(tree: Callable[..., Tree]) -> None:
    """Expected: sysfs, the session, or the published processor. Broken: another processor's number passes as ours."""
    made = of_host(tree(AMD, caches()), 0, ZEN3, "20261129T011751Z-4d7ff3")
    assert made.geometry.l2.source == f"sysfs: /{CPU}/cpu0/cache/index2"
    assert made.geometry.dtlb.source.startswith("as Zen 3: ")
    assert made.costs["l3_load"].source.startswith("mem/latency-random at 2048 KiB in 20261129T011751Z-4d7ff3: ")
    assert made.costs["misprediction"].source.startswith("as Zen 3: ")
    assert made.name == "host:20261129T011751Z-4d7ff3"


def test_a_level_that_no_row_fits_keeps_the_published_cost(tree: Callable[..., Tree]) -> None:
    """Expected: no working set lies between an L2 of 2 MiB and an L3 of 3, so L3's cost is Skylake's, with that source.
    Broken: a latency of memory is taken for L3's."""
    told = caches(l2=("2048K", 16, 2048), l3=("3072K", 12, 4096))
    made = of_host(tree(INTEL, told), 0, ZEN3, "S")
    assert made.costs["l3_load"].cycles == find("skylake").costs["l3_load"].cycles
    assert made.costs["l3_load"].source.startswith("as Skylake: ")
    assert made.costs["memory_load"].source.startswith("mem/latency-random at 131072 KiB")


def test_a_third_level_of_three_slices_has_any_number_of_sets(tree: Callable[..., Tree]) -> None:
    """Expected: 30 MiB in 24,576 sets of 20 ways. Broken: only powers of two are caches."""
    made = of_host(tree(INTEL, caches(l3=("30720K", 20, 24576))), 0, ZEN3, "S")
    assert (made.geometry.l3.kib, made.geometry.l3.ways) == (30720, 20)


def test_of_two_kinds_of_cores_it_is_the_measured_one(tree: Callable[..., Tree]) -> None:
    """Expected: CPU 4's L2. Broken: always CPU 0, whose latencies were not measured."""
    made = of_host(tree(INTEL, caches(0), caches(4, l2=("2048K", 16, 2048))), 4, ZEN3, "S")
    assert made.geometry.l2.kib == 2048
    assert "CPU 4" in made.what


@pytest.mark.parametrize(
    ("layers", "told"),
    [
        (({"proc/cpuinfo": "CPU implementer\t: 0x41\n"}, caches()), "a vendor that is not told"),
        ((AMD,), "no L1I, L1D, L2, L3"),
        ((AMD, {name: text for name, text in caches().items() if "index3" not in name}), "no L3"),
        ((AMD, caches(), cache(0, 0, "1 Data", "32K", 8, 32, 128)), "lines of 128 bytes"),
        ((AMD, caches(), cache(0, 3, "3 Unified", "32768K", 0, 1)), r"1 to 64 ways \(0\)"),
        ((AMD, caches(), cache(0, 2, "2 Unified", "500K", 8, 1024)), "500 KiB in 1024 sets"),
    ],
)
def test_a_host_that_is_not_modelled_is_refused(
    tree: Callable[..., Tree], layers: tuple[Mapping[str, str], ...], told: str
) -> None:
    """Expected: what is missing, and that another processor may be taken. Broken: a geometry that is no one's."""
    with pytest.raises(MissingError, match=told) as caught:
        of_host(tree(*layers), 0, ZEN3, "S")
    assert "--processor skylake" in caught.value.next_step


@pytest.mark.parametrize(
    ("latencies", "told"),
    [({256 * KIB: 3.0}, "within half of L1D"), ({**ZEN3, 2 * MIB: 2.0}, "from l3 takes no longer")],
)
def test_latencies_that_cannot_be_are_refused(
    tree: Callable[..., Tree], latencies: Mapping[int, float], told: str
) -> None:
    """Expected: the command that measures them. Broken: costs below 0, or a division by a row that is not there."""
    with pytest.raises(MissingError, match=told) as caught:
        of_host(tree(AMD, caches()), 0, latencies, "S")
    assert caught.value.next_step == "kernometer run --profile full mem/latency-random"


def test_the_session_is_the_newest_of_this_host_with_these_rows(
    tree: Callable[..., Tree], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: not the newer one without them, nor another host's; named, another host's is refused. Broken: latencies
    of another machine."""
    monkeypatch.setattr(host_processor, "host_id", lambda: "here")
    folder = tmp_path / "results"
    for name, host, workload in (
        ("20260101T000000Z-aaaaaa", "here", "mem/latency-random"),
        ("20260102T000000Z-bbbbbb", "there", "mem/latency-random"),
        ("20260103T000000Z-cccccc", "here", "syscall/getppid"),
    ):
        _session(folder, name, host, workload)
    made = this_host("host", Store(folder), tree(AMD, caches()))
    assert made.name == "host:20260101T000000Z-aaaaaa"
    with pytest.raises(ResultError, match="measured on another host"):
        this_host("host:20260102T000000Z-bbbbbb", Store(folder), tree(AMD, caches()))
    with pytest.raises(MissingError, match="None of the last 30 sessions"):
        this_host("host", Store(tmp_path / "empty"), tree(AMD, caches()))
