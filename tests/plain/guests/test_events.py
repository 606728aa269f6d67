"""From the plugin's file to records: which iterations count, and what is taken off."""

from __future__ import annotations

import msgspec

from kernometer.guests.plugins.events import Region, Rows
from kernometer.results.model import Events, Memory
from tests.support.results import make


def region(each: tuple[int, ...], repeated: tuple[int, ...] = (), **memory: tuple[int, ...]) -> Region:
    return Region(len(each), 0, {"instructions": sum(each)}, each, repeated or (0,) * len(each), memory)


def test_the_middle_half_counts_and_equal_ones_with_it() -> None:
    """Expected: neither the first, the tick's nor the rare path. Broken: means that one tick moves."""
    of = region((900, 10, 10, 10, 10, 10, 11, 5), walks=(70, 1, 1, 1, 1, 1, 2, 0))
    assert of.typical() == {"instructions": [10] * 5, "walks": [1] * 5}


def test_string_instructions_count_once() -> None:
    """Expected: instructions less what QEMU counts again. Broken: a cleared page is four thousand instructions."""
    of = region((4_110, 4_110, 4_110), (4_096,) * 3, reps=(1, 1, 1))
    assert of.retired == [14] * 3
    assert of.typical()["instructions"] == [14] * 3


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
        "2": region((100, 100), walks=(4, 4)),
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
