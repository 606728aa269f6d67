"""Functions on the terminal, in the files of other programs, and drawn."""

from __future__ import annotations

import gzip
import io
import json
import xml.etree.ElementTree as ET

import pytest
from msgspec import structs
from rich.console import Console

from kernometer.explain.functions import Breakdown, breakdowns, difference
from kernometer.report.chart import flames
from kernometer.report.profile import files as profile_files
from kernometer.report.profile import functions
from kernometer.report.write.terminal import show
from kernometer.results.model import ProfileStack
from tests.support.explain.profiles import ROW, A, profiled
from tests.support.report.factory import HOSTILE


def breakdown(*stacks: tuple[tuple[int, ...], int], names: dict[str, int] | None = None) -> Breakdown:
    result = profiled("a", names or A)
    of = tuple(ProfileStack(frames=frames, count=count) for frames, count in stacks)
    profile = structs.replace(result.profiles[0], stacks=of, without_stacks="" if of else "made up")
    return breakdowns(structs.replace(result, profiles=(profile,)))[ROW]


STACKS = (((3,), 30), ((3, 0), 100), ((3, 0, 1), 400), ((3, 0, 2), 50))


@pytest.mark.parametrize("whole", [True, False])
def test_a_profile_fits_80_columns_and_sums(whole: bool) -> None:
    names = {f"a_function_with_a_very_long_name_that_goes_on_and_on_and_on_{at}": 10 + at for at in range(40)}
    out = io.StringIO()
    show(Console(file=out, width=80), functions.blocks(breakdown(names=names), everything=whole))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    counts = [int(line.split()[0].replace(",", "").replace("−", "-")) for line in lines[1:]]
    assert f"{sum(counts):,} instructions" in lines[0]
    assert len(counts) == (41 if whole else functions.SHOWN + 2)


def test_folded_stacks_are_what_flamegraph_reads() -> None:
    """Expected: frames without the separator. Broken: a name with a semicolon is two functions."""
    text = profile_files.folded([breakdown(*STACKS, names={"a;b": 1} | A)]).decode()
    assert text.splitlines()[0] == f"{ROW};gone 30"
    assert sum(int(line.rpartition(" ")[2]) for line in text.splitlines()) == 580
    without = profile_files.folded([breakdown()]).decode().splitlines()
    assert f"{ROW};copy 400" in without


def test_speedscope_gets_every_stack_with_its_weight() -> None:
    read = json.loads(profile_files.speedscope([breakdown(*STACKS)]))
    (one,) = read["profiles"]
    frames = [frame["name"] for frame in read["shared"]["frames"]]
    stacks = {
        tuple(frames[at] for at in sample): weight
        for sample, weight in zip(one["samples"], one["weights"], strict=True)
    }
    assert stacks[("call (probe)", "entry", "copy")] == 400
    assert one["endValue"] == sum(one["weights"]) == 580


def decoded(data: bytes) -> list[tuple[int, int | bytes]]:
    """A protocol buffer's fields: varints and byte strings."""
    at = 0
    found: list[tuple[int, int | bytes]] = []

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            found.append((key >> 3, varint()))
        else:
            size = varint()
            found.append((key >> 3, data[at : at + size]))
            at += size
    return found


def test_pprof_gets_a_message_of_its_form() -> None:
    """Expected: samples, locations, functions and strings that refer to each other. Broken: a field's number."""
    message = decoded(gzip.decompress(profile_files.pprof([breakdown(*STACKS)])))
    strings = [value.decode() for field, value in message if field == 6 and isinstance(value, bytes)]
    of = {
        field: [dict(decoded(one)) for f, one in message if f == field and isinstance(one, bytes)]
        for field in (2, 4, 5)
    }
    assert strings[0] == ""
    names = {one[1]: strings[int(one[2])] for one in of[5]}
    assert set(names.values()) == {"call (probe)", "entry", "copy", "gone"}
    counts = {tuple(one[1]): one[2] for one in of[2] if isinstance(one[1], bytes)}
    leaf_first = next(stack for stack in counts if len(stack) == 3 and names[stack[0]] == "copy")
    assert [names[at] for at in leaf_first] == ["copy", "entry", "call (probe)"]
    assert len(of[4]) == len(of[5]) == 4


def test_a_flame_is_as_wide_as_its_share_and_as_deep_as_its_calls() -> None:
    plot = flames.flame(breakdown(*STACKS))
    assert plot is not None
    svg = ET.fromstring(plot.svg)  # noqa: S314  # our own markup
    groups = svg.findall("g")
    widths = {group[0].text.split(":")[0]: float(group[1].get("width", "0")) for group in groups if group[0].text}
    assert widths["call (probe)"] == pytest.approx(flames.WIDTH, abs=0.1)
    assert widths["copy"] == pytest.approx(flames.WIDTH * 400 / 580, abs=0.1)
    assert svg.get("height") == str(3 * flames.HEIGHT)


def test_a_name_from_a_guest_is_text() -> None:
    """Expected: escaped. Broken: a kernel's symbol becomes markup in the report."""
    plot = flames.flame(breakdown(names={HOSTILE: 100} | A))
    assert plot is not None
    ET.fromstring(plot.svg)  # noqa: S314  # as above
    assert "<script" not in plot.svg


def test_a_deep_stack_is_cut_and_not_a_recursion_without_end() -> None:
    plot = flames.flame(breakdown((tuple([0] * 150), 580)))
    assert plot is not None
    svg = ET.fromstring(plot.svg)  # noqa: S314  # as above
    assert len(svg.findall("g")) == flames.DEEPEST


def test_functions_for_want_of_a_feature_are_marked() -> None:
    """Expected: the feature beside the name and explained below, the kernel's functions alone. Broken: 14,820
    instructions of code that no newer processor runs, told as if a kernel had become slower."""
    names = A | {"memcpy_orig": 70, "clear_page_rep": 30, "memset_orig (probe)": 5}
    of = breakdown(names=names)
    out = io.StringIO()
    show(Console(file=out, width=80), functions.blocks(of, everything=True))
    assert "kernel  memcpy_orig (no FSRM)\n" in out.getvalue()
    assert "memset_orig (probe)\n" in out.getvalue()
    found = difference(breakdown(), of)
    assert found is not None
    assert "+70 in memcpy_orig (new, no FSRM), +30 in clear_page_rep (new, no ERMS)" in functions.sentence_of(found)
    assert functions.sentence_of(found).endswith("; +100 in functions for want of a feature")
    said = [line.text for line in functions.notes_of([of])]
    assert [line[:8] for line in said[:2]] == ["no FSRM:", "no ERMS:"]
    assert {one["lacks"] for one in functions.document(of)["functions"]} == {"", "FSRM", "ERMS"}
