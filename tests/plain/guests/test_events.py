"""From the plugin's file to records: which iterations count, and what is taken off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from kernometer.guests import plugins
from kernometer.guests.plugins.events import Region, Rows, recounted
from kernometer.results.model import Baseline, Events, Failure, Memory, Run
from tests.support.results import make


def region(each: tuple[int, ...], repeated: tuple[int, ...] = (), **memory: tuple[int, ...]) -> Region:
    return Region(len(each), 0, {"instructions": sum(each)}, each, repeated or (0,) * len(each), memory)


def test_the_middle_half_counts_and_equal_ones_with_it() -> None:
    """Expected: neither the first, the tick's nor the rare path. Broken: means that one tick moves."""
    of = region((900, 10, 10, 10, 10, 10, 11, 5), walks=(70, 1, 1, 1, 1, 1, 2, 0))
    assert of.typical() == {"instructions": [10] * 5, "walks": [1] * 5}


def test_of_few_executions_the_first_is_not_typical() -> None:
    """Expected: the later ones, of three and of two. Broken, as it was: the first one is among them, in which each
    process of a ring met its pages for the first time, and a hop of 96 processes had 12 times the cycles of one of 8;
    or it is the only one, since its instructions are the median, and a script waits for memory."""
    assert region((430, 79, 79), walks=(90, 1, 1)).typical() == {"instructions": [79, 79], "walks": [1, 1]}
    assert region((80, 79, 81), walks=(90, 1, 3)).typical() == {"instructions": [79, 81], "walks": [1, 3]}
    assert region((430, 79), walks=(90, 1)).typical() == {"instructions": [79], "walks": [1]}
    assert region((430,), walks=(90,)).typical() == {"instructions": [430], "walks": [90]}


def test_the_footprint_is_of_the_median_iteration() -> None:
    """Expected: that of the lower median. Broken: of the first, which touches more."""
    of = region((50, 10, 12, 11), user_code_lines=(9, 1, 3, 2), kernel_data_pages=(8, 4, 6, 5))
    assert of.footprint() == {"user_code_lines": 2, "kernel_data_pages": 5}
    assert "user_code_lines" not in of.typical()


def test_a_record_has_the_baseline_only_of_a_figure_that_is_less_it() -> None:
    """Expected: sums of the row's region, medians of the empty one, sums of the baseline's. Broken: a row's region is
    taken for its neighbour's."""
    rows = Rows()
    for name, net in (("sig/catch", True), ("sig/raise", False)):
        workload = make.workload(name, figure_less_baseline=net)
        info = msgspec.structs.replace(workload.rows[0], row=name, id=2 if net else 4)
        rows.see(msgspec.json.encode(msgspec.structs.replace(workload, rows=(info,))))
        rows.see(msgspec.json.encode(make.run(row=name, workload=name)))
    regions = {
        "0": region((25, 25, 99), walks=(0, 0, 7)),
        "2": region((100, 100, 100), walks=(9, 4, 4)),
        "3": region((40,), walks=(1,)),
        "4": region((60,), walks=(2,)),
        "5": region((1,), walks=(9,)),
    }
    records = list(rows.records(regions))
    assert [type(record) for record in records] == [Events, Memory, Events, Memory]
    caught, raised = records[1], records[3]
    assert isinstance(caught, Memory)
    assert isinstance(raised, Memory)
    assert (caught.iterations, caught.counts) == (2, {"instructions": 200, "walks": 8})
    assert (caught.baseline, caught.baseline_iterations) == ({"instructions": 40, "walks": 1}, 1)
    assert (raised.counts, raised.baseline) == ({"instructions": 60, "walks": 2}, {})
    assert raised.empty == {"instructions": 25, "walks": 0}


def test_without_a_geometry_there_is_no_memory_record() -> None:
    """Expected: events alone. Broken: a record of nothing, which shows cycles of 0."""
    rows = Rows()
    workload = make.workload("syscall/getppid")
    rows.see(msgspec.json.encode(workload))
    rows.see(msgspec.json.encode(make.run()))
    number = str(workload.rows[0].id)
    assert [type(record) for record in rows.records({number: region((400,))})] == [Events]


def line(row: str, samples: tuple[int, ...], **changes: Any) -> bytes:
    given = {"loop_cost": (5, 5), "baseline": None} | changes
    return msgspec.json.encode(make.run(row=row, workload=row, samples=samples, **given))


def known(*names: str) -> Rows:
    """Of the rows' regions: 2, 4, …"""
    rows = Rows()
    for number, name in enumerate(names):
        workload = make.workload(name)
        info = msgspec.structs.replace(workload.rows[0], row=name, id=2 * number + 2)
        rows.see(msgspec.json.encode(msgspec.structs.replace(workload, rows=(info,))))
    return rows


def corrected(lines: list[bytes], rows: Rows, regions: dict[str, Region]) -> list[Run | Failure]:
    decoder = msgspec.json.Decoder(Run | Failure)
    return [decoder.decode(each) for each in recounted(lines, rows, regions, clock=True)]


def test_a_string_instruction_counts_once_in_each_part_of_a_run() -> None:
    """Expected: the guest's reading less what QEMU counts again, of the same iteration: samples, bracket, baseline.
    Broken: a cleared page is four thousand instructions, or those of another iteration are taken off."""
    regions = {
        "0": region((9, 9), (0, 2)),
        "2": region((114, 104), (4_096, 0)),
        "3": region((60, 60), (30, 31)),
    }
    baseline = Baseline(batch=1, samples=(70, 71))
    [run] = corrected([line("a/b", (4_200, 100), loop_cost=(5, 7), baseline=baseline)], known("a/b"), regions)
    assert isinstance(run, Run)
    assert (run.samples, run.loop_cost) == ((104, 100), (5, 5))
    assert run.baseline is not None and run.baseline.samples == (40, 40)


def test_without_a_string_instruction_nothing_changes() -> None:
    """Expected: the line as it came, also if regions of another kind of row were not all seen. Broken: other digits."""
    given = line("a/b", (101, 102))
    assert [*recounted([given], known("a/b"), {"0": region((9, 9)), "2": region((110, 111))}, clock=True)] == [
        msgspec.json.encode(msgspec.json.decode(given))
    ]


def test_a_program_of_ones_own_need_not_mark_its_bracket() -> None:
    """Expected: its samples corrected, its bracket as it came. Broken: a kernel that marks its one region fails."""
    [run] = corrected([line("a/b", (80, 80))], known("a/b"), {"2": region((90, 90), (7, 7))})
    assert isinstance(run, Run)
    assert (run.samples, run.loop_cost) == ((73, 73), (5, 5))


def test_rows_of_one_guest_share_the_empty_region() -> None:
    """Expected: to each its own brackets, in their order. Broken: the second row's are the first one's."""
    regions = {"0": region((9,) * 4, (0, 0, 3, 1)), "2": region((50, 50)), "4": region((60, 60))}
    runs = corrected([line("a/b", (40, 40)), line("c/d", (50, 50), loop_cost=(8, 6))], known("a/b", "c/d"), regions)
    assert [run.loop_cost for run in runs if isinstance(run, Run)] == [(5, 5), (5, 5)]


@pytest.mark.parametrize(
    "found",
    [
        region((90,), (7,)),  # one was lost
        region((90, 90, 90), (7, 7, 7)),
        region((90, 90), (7, 81)),  # of another iteration: more than its whole count
        Region(3, 0, {}, (90, 90), (7, 7)),  # more than are kept
    ],
)
def test_what_cannot_be_paired_is_a_failure(found: Region) -> None:
    """Expected: no figure, and the reason. Broken: a wrong one in silence."""
    [failure] = corrected([line("a/b", (80, 80))], known("a/b"), {"0": region((9, 9)), "2": found})
    assert isinstance(failure, Failure)
    assert "Run it again" in failure.text


def test_each_emulator_is_asked_what_it_exports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of one name, one after the other in PATH. Expected: each one's own answer. Broken, as it was: the first one's
    for both, and a run after it counted no entries and no caches."""
    for name, content in (("script", b"#!/bin/sh\n"), ("qemu", b"\0%s\0" % b"\0\0".join(plugins.EXPORTED))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "emulator").write_bytes(content)
        (tmp_path / name / "emulator").chmod(0o755)
    answers = []
    for name in ("script", "qemu"):
        monkeypatch.setenv("PATH", str(tmp_path / name))
        answers.append(plugins.reads_pages("emulator"))
    assert answers == [False, True]
