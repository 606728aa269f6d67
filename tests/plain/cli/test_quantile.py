"""--quantile: the tail of a row, as run, show and compare tell it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from kernometer.errors import Status
from kernometer.results.store import Store
from kernometer.stats.quantiles import LEAST_RUNS
from tests.support.cli.storing import call, keep
from tests.support.stats.simulate import ROW, of_times, run, workload

MEANS = "syscall/stat"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Four sessions a few minutes apart, of a row that was timed alone and one of means; the sides take turns."""
    made = Store(tmp_path)
    for number in range(4):
        times = np.random.default_rng(number).normal(1000 + 200 * (number % 2), 10, (LEAST_RUNS, 8))
        one = of_times(times, started=600.0 * number)
        session = structs.replace(one.session, label="AB"[number % 2])
        runs = (*one.runs, run([5000] * 8, row=MEANS, workload=MEANS, batch=100))
        keep(made, structs.replace(one, session=session, runs=runs, workloads={n: workload(n) for n in (ROW, MEANS)}))
    return made


def test_tails_are_shown_where_iterations_were_timed_alone(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected: quantiles with intervals, what is missing, how rare longer ones are, why a row has no tail; and all of
    it as JSON. Broken: the tail of means, or a p99.9 of too few samples."""
    text = call(store, capsys, "show", "A")
    lines = text[text.index("Quantiles of single iterations") :]
    assert [word for word in ("p99.9", "1.0", " more, +", "greatest") if word not in lines] == []
    assert f"no tail: {MEANS}: a sample is the mean of 100 operations" in lines
    rows = {row["row"]: row["tail"] for row in json.loads(call(store, capsys, "show", "A", "--json"))["rows"]}
    assert [each["q"] for each in rows[ROW]["quantiles"]] == [0.5, 0.9, 0.99, 0.999]
    assert [each["missing"] > 0 for each in rows[ROW]["quantiles"]] == [False, False, False, True]
    assert (rows[ROW]["samples"], rows[MEANS]["quantiles"]) == (LEAST_RUNS * 7, [])


def test_compare_judges_the_quantile_that_is_asked_for(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected: one verdict, and the row of means undecided with what to do. Broken: both by their medians."""
    (judged,) = json.loads(call(store, capsys, "compare", "label:A", "label:B", "--quantile", "0.99", "--json"))
    rows = {row["row"]: row for row in judged["rows"]}
    assert (judged["quantile"], rows[ROW]["verdict"], rows[MEANS]["verdict"]) == ("p99", "slower", "undecided")
    assert rows[ROW]["ratio"] == pytest.approx(1.2, abs=0.02)
    assert "a mean has no tail" in str(rows[MEANS]["notes"])
    assert call(store, capsys, "compare", "label:A", "label:B", "--quantile", "0.99").startswith("p99 of label:B")


def test_run_times_iterations_alone(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split(call(store, capsys, "run", "--dry-run", "--quantile", "0.99", ROW))
    given = {word: words[place + 1] for place, word in enumerate(words) if word.startswith("--")}
    assert (given["--batch"], given["--samples"], given["--budget"]) == ("1", "512", "0")


def test_both_sides_of_an_ab_time_iterations_alone(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    told = call(store, capsys, "ab", "--dry-run", "--quantile", "0.99", "local", "wrap:env", ROW)
    assert [told.count(words) for words in ("--batch 1 ", "--samples 512 ", "--seconds 0.2 ", "--runs 8 ")] == [2] * 4
    told = call(store, capsys, "ab", "--dry-run", "local", "wrap:env", ROW)
    assert [told.count(words) for words in ("--batch 0 ", "--seconds 0.02 ", "--runs 1 ")] == [2] * 3


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--by", "path", "--on", "qemu:linux"),
        ("run", "--batch", "8"),
        ("ab", "--by", "path", "qemu:linux", "qemu:other"),
        ("ab", "--batch", "8", "local", "local"),
    ],
    ids=" ".join,
)
def test_what_is_not_timed_alone_has_no_quantile(
    store: Store, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert "single iterations" in call(store, capsys, *words, "--quantile", "0.9", ROW, status=Status.USAGE)
