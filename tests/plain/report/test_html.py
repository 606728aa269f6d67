"""The page as a file: whole, of moderate size, free of what it must not hold, written whole or not at all."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from kernometer.errors import ResultError, Status
from kernometer.report.page import build, render
from kernometer.report.write.file import write
from kernometer.report.write.html import breakable
from kernometer.results.model import Result
from kernometer.stats.model import Difference
from tests.support.report import factory
from tests.support.report.factory import HOSTILE
from tests.support.report.html import ACTIVE, Elements
from tests.support.results import make


def pair() -> str:
    a, b = factory.result("before"), factory.result("after", number=1)
    return render(build(factory.systems(a, b), [factory.comparison(a, b)]))


def test_nothing_on_the_page_points_outside() -> None:
    page = pair()
    for tag, attributes in Elements(page).found:
        assert tag not in ACTIVE
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("href", "src", "xlink:href"):
                assert value is not None
                assert value.startswith("#") or value == "data:,"
    assert "url(" not in page
    assert "@import" not in page


def test_every_link_has_its_target_and_no_id_comes_twice() -> None:
    elements = Elements(pair()).found
    ids = [attributes["id"] for _tag, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {(value or "")[1:] for _tag, attributes in elements for key, value in attributes.items() if key == "href"}
    assert targets - {"ata:,"} <= set(ids)


def test_tables_that_turn_into_cards_name_their_roles() -> None:
    """Expected: a row that CSS lays out as a block is still a row to every browser. Broken: Safari reads loose text."""
    roles = {"table": "table", "thead": "rowgroup", "tbody": "rowgroup", "tr": "row", "td": "cell"}
    inside, seen = False, 0
    for tag, attributes in Elements(pair()).found:
        if tag == "table":
            inside = "cards" in (attributes.get("class") or "")
        if inside and tag in roles:
            assert attributes.get("role") == roles[tag]
            seen += 1
        if inside and tag == "th":
            assert attributes.get("role") in ("columnheader", "rowheader")
    assert seen > 100


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_page_of_any_number_of_systems_is_well_formed(count: int) -> None:
    results = [factory.result(f"s{number}", number=number) for number in range(count)]
    comparisons = [factory.comparison(results[0], other, ("s0", other.session.label)) for other in results[1:]]
    page = render(build(factory.systems(*results), comparisons))
    depth: list[str] = []
    for closing, tag, rest in re.findall(r"<(/?)([a-z0-9]+)([^>]*)>", page):
        if tag in ("meta", "link", "wbr", "br") or rest.endswith("/"):
            continue
        if closing:
            assert depth.pop() == tag
        else:
            depth.append(tag)
    assert depth == []


def test_a_quick_session_with_ninety_rows_stays_below_three_megabytes() -> None:
    a = factory.result("before", workloads=45, runs=5, samples=200)
    b = factory.result("after", number=1, workloads=45, runs=5, samples=200)
    page = render(build(factory.systems(a, b), [factory.comparison(a, b)]))
    assert page.count('class="samples"') == 90
    assert len(page.encode()) < 3_000_000


@pytest.mark.parametrize(
    "text", [HOSTILE, "x" * 1_000_000, "\ud800 lone", ""], ids=["markup", "long", "surrogate", "empty"]
)
def test_hostile_strings_are_text_and_short(text: str) -> None:
    """Expected: they are shown, escaped and cut. Broken: one of them becomes an element, or makes the page huge."""
    sound = factory.result("before")
    bad = factory.hostile(text)
    for results in ([bad], [sound, bad]):
        page = render(build(factory.systems(*results)))
        page.encode("utf-8")
        elements = Elements(page)
        assert not {tag for tag, _attributes in elements.found} & ACTIVE
        assert not any(name.startswith("on") for _tag, attributes in elements.found for name in attributes)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
        assert len(page) < 400_000
    if text == HOSTILE:
        assert "{{ 7*7 }}" in page
        assert any("\\u202e" in shown for shown in elements.text)


def test_a_hostile_comparison_is_text_too() -> None:
    a, b = factory.result("before"), factory.result("after", number=1)
    given = factory.comparison(
        a, b, (HOSTILE, "after"), remarks=(HOSTILE,), differs=(Difference(HOSTILE, HOSTILE, HOSTILE),)
    )
    elements = Elements(render(build({HOSTILE: [a], "after": [b]}, [given])))
    assert not {tag for tag, _attributes in elements.found} & ACTIVE


def test_a_session_without_any_run_makes_a_page() -> None:
    empty = Result(session=make.session(label="cut"), header=None, workloads={}, runs=())
    assert "0 rows measured in 1 session." in render(build(factory.systems(empty)))


def test_a_name_may_break_between_its_parameters_only() -> None:
    assert str(breakable("ctx/ring@procs=8,token=<0>")) == "ctx/ring<wbr>@procs=8,<wbr>token=&lt;0&gt;"
    assert str(breakable("+1,344 in copy, −17 in 3 others")) == "+1,344 in copy,<wbr> −17 in 3 others"


def test_the_first_table_says_what_a_figure_is_of_and_which_way_is_better() -> None:
    """Expected: `call, ↓ lower`, and an axis that says what it shows. Broken: 119 ns, of what, and is more good?"""
    alone = render(build(factory.systems(factory.result("before")))).split('id="first"')[1].split("</table>")[0]
    pairs = pair().split('class="first"')[1].split("</table>")[0]
    ratio = "Cost of B ÷ cost of A: above 1 B is slower"
    for table, axis in ((alone, "Interval, in per cent of the figure"), (pairs, ratio)):
        rows = table.count('<tr role="row">') - 1
        assert rows > 1 and table.count("Per, better if") == 1
        measured = rows - table.count("the child died")
        assert len(re.findall(r'class="per"[^>]*>call, <small>↓&nbsp;lower</small>', table)) == measured
        assert re.search(rf'class="axis">{axis}<span class="plot"', table)


def test_writing_replaces_a_file_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    write(path, "new")
    assert path.read_text() == "new"
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_place_that_cannot_be_written_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    for path in (tmp_path / "none" / "report.html", tmp_path / "file" / "report.html", tmp_path):
        with pytest.raises(ResultError, match=re.escape(str(path))) as caught:
            write(path, "new")
        assert caught.value.status is Status.RESULT
        assert "Name another file" in caught.value.next_step
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "kept"


def test_a_full_disk_leaves_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(_number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ResultError, match="No space left on device"):
        write(path, "new")
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
