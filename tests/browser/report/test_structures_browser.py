"""What a structure costs, in words and in a real browser: does the answer say what the figures say, and can it be read
on a phone, in the dark, and by everybody?"""

from __future__ import annotations

import io
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import pytest
from rich.console import Console

from kernometer.errors import MissingError
from kernometer.explain.structure_factors import ROWS, InCycles, Operation, in_cycles, of_operations
from kernometer.report.explanation.structures import StructuresView, blocks, view
from kernometer.report.page import build, render
from kernometer.report.write.terminal import show
from tests.support.explain.memory import modelled
from tests.support.explain.structures import found
from tests.support.report import factory
from tests.support.report.browser import EVERY_LOOK, NEEDS_BROWSER, no_violations, visit

pytestmark = NEEDS_BROWSER

LEFT_OUT = {"linux": MissingError("No package source has <b>it</b>.", "Mend the network.")}


def made(*, linux: bool = True) -> StructuresView:
    """The dozen, with figures of six digits; Linux left out or not."""
    operations = tuple(
        Operation(
            row.rstrip("@"),
            ({"linux": 190_000.0 + number} if linux else {})
            | {"mono": 100_000.0, "hybrid": 150_000.0, "micro": 150_000.0 + 20_000 * number},
        )
        for number, row in enumerate(ROWS)
    )
    return view(of_operations(operations, found()), priced(linux=linux), {} if linux else LEFT_OUT)


def priced(*, linux: bool = True) -> InCycles | None:
    """The dozen in cycles, of six digits."""
    instructions = {"linux": 1_900_000, "mono": 1_000_000, "hybrid": 1_500_000, "micro": 1_500_000}
    served = {"cr3_writes": 200, "walks": 19_000, "dtlb_misses": 19_000}
    systems = {
        name: [
            modelled(
                name, {row.rstrip("@"): {"instructions": count} | (served if name == "micro" else {}) for row in ROWS}
            )
        ]
        for name, count in instructions.items()
        if linux or name != "linux"
    }
    return in_cycles(systems, [row.rstrip("@") for row in ROWS])


def printed(of: StructuresView) -> str:
    out = io.StringIO()
    show(Console(file=out, width=80), blocks(of))
    return out.getvalue()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("structures") / "report.html"
    path.write_text(render(build(factory.systems(factory.result("before")), structures=made())), encoding="utf-8")
    return path


def test_the_terminal_has_the_answer_in_80_columns() -> None:
    """Expected: both factors with their ranges, which is larger where, the events' shares, what counts leave out."""
    text = printed(made())
    assert max(map(len, text.splitlines())) <= 80
    told = " ".join(text.split())
    mean = geometric_mean(1.5 + 0.2 * number for number in range(len(ROWS)))
    assert "Cycles of one operation on a Skylake, modelled, and ratios" in told
    assert "Structure: micro takes 2.98 times (geometric mean of 12 operations, 2.98 to 2.98) the cycles" in told
    assert "Of what it takes more, TLB 70 %, instructions 25 %, CR3 writes 5.2 %." in told
    assert "With tags in the TLB it would take 1.59 times." in told
    assert "Way of writing: Linux takes 1.90 times (geometric mean of 12 operations, 1.90 to 1.90)" in told
    assert f"In instructions: micro takes {mean:.2f} times (geometric mean of 12 operations, 1.50 to 3.70)" in told
    assert "And Linux takes 1.90 times (geometric mean of 12 operations, 1.90 to 1.90) the instructions" in told
    assert "larger factor in 3 of 12 operations, the structure in 9." in told
    assert "mean of 1 operation: messages" in told
    assert "Instructions are no time" not in told
    assert "Left out" not in told


def test_without_cycles_the_answer_is_in_instructions() -> None:
    """Expected: no second table, and what instructions leave out. Broken: an empty table."""
    told = " ".join(printed(view(of_operations((), found()), None, {})).split())
    assert "Cycles" not in told
    one = Operation("syscall/getppid", {"mono": 100.0, "micro": 200.0})
    told = " ".join(printed(view(of_operations((one,), None), None, {})).split())
    assert "Structure: micro takes 2.00 times" in told
    assert "Instructions are no time" in told


def test_what_is_left_out_is_said_and_nothing_of_it_is_told() -> None:
    text = " ".join(printed(made(linux=False)).split())
    assert "Left out: linux. No package source has <b>it</b>. Mend the network." in text
    assert "Structure: micro takes" in text
    assert "Way of writing" not in text and "larger factor" not in text
    empty = printed(view(None, None, LEFT_OUT))
    assert "Left out: linux" in empty and "Structure:" not in empty


def test_the_page_says_what_is_left_out_and_escapes_it() -> None:
    text = render(build(factory.systems(factory.result("before")), structures=view(None, None, LEFT_OUT)))
    assert "Left out: linux." in text
    assert "No package source has &lt;b&gt;it&lt;/b&gt;. Mend the network." in text
    plain = render(build(factory.systems(factory.result("before"))))
    assert 'id="structures"' not in plain
    assert "measured by time<" in text and "measured by time<" in plain
    whole = render(build(factory.systems(factory.result("before")), structures=made()))
    assert "measured by time and path<" in whole
    parts = [whole.index(f'<section id="{one}"') for one in ("first", "absolute", "samples", "structures")]
    assert parts == sorted(parts)  # this machine's rows come first


@EVERY_LOOK
def test_axe_finds_nothing(browser: Any, page: Path, scheme: str, width: int) -> None:
    no_violations(visit(browser, page, color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True))


@pytest.mark.parametrize("width", [1280, 400, 320])
def test_only_the_tables_scroll_sideways_and_bars_are_drawn(browser: Any, page: Path, width: int) -> None:
    """Expected: a waterfall of an operation whose bars go from mono to micro, inside a page that does not scroll."""
    shown = visit(browser, page, viewport={"width": width, "height": 900})
    scroll, client = shown.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    rows = shown.locator("#structures .scroll tbody tr").count()
    sizes = shown.evaluate(
        "[...document.querySelectorAll('#structures td')].map(one => parseFloat(getComputedStyle(one).fontSize))"
    )
    bars = shown.evaluate(
        """[...document.querySelectorAll('#structures .fall:first-child .bar i')]
           .map(one => [one.getBoundingClientRect().left, one.getBoundingClientRect().right])"""
    )
    link = shown.locator("nav a[href='#structures']").count()
    shown.context.close()
    assert scroll <= client
    assert (rows, link) == (2 * len(ROWS), 1)  # cycles, and instructions
    assert min(sizes) >= 12
    first, *steps, last = bars
    assert last[1] > first[1] > first[0] == last[0]
    assert all(first[0] <= left <= right <= client for left, right in steps)
