"""Broken results for those who read them: a share of `make campaign-reader`, others for each day's commits."""

from __future__ import annotations

import random
from typing import get_args

import pytest

from kernometer.results.model import AnyRecord
from kernometer.results.reader import parse_record
from tests.campaigns import reader as campaign
from tests.support.results import fuzzing
from tests.support.results.fuzzing import CHUNK, MUTATIONS, Found, chunk, mutants, ours


def held(seeds: range) -> None:
    """Only documented outcomes, of each kind some."""
    found = Found()
    for seed in seeds:
        found.add(chunk(seed))
    assert found.wrong == []
    kinds = {name.partition(": ")[0] for name in found.outcomes if ": " in name}
    assert kinds == {each.__name__.strip("_") for each in MUTATIONS}
    outcomes = {name.partition(": ")[2] for name in found.outcomes if ": " in name}
    assert {"read whole", "read with damage", "refused", "published table refused", "imported"} <= outcomes


def test_broken_results_are_read_or_refused(commits_seed: int) -> None:
    """Expected: a Result, a Publication, or a documented error. Broken: the seed, and the input's number."""
    first = commits_seed * 1000
    held(range(first, first + 5))


@pytest.mark.slow(minutes=0.27)
def test_many_broken_results_are_read_or_refused(commits_seed: int) -> None:
    first = commits_seed * 1000 + 10
    held(range(first, first + 200))


def test_an_undocumented_error_is_found_and_said_by_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: a finding that repeats. Broken: a campaign that takes every exception for a refusal."""

    def parse(_chunks: object, _limits: object) -> None:
        raise KeyError("samples")

    monkeypatch.setattr(fuzzing, "parse", parse)
    [first, *_] = chunk(7, 20).wrong
    assert first.startswith("seed 7, input 0 (")
    assert "KeyError" in first
    assert chunk(7, 20).wrong[0] == first


def test_a_seed_gives_the_same_inputs_whatever_became_of_them() -> None:
    assert list(mutants(random.Random(3), 20)) == list(mutants(random.Random(3), 25))[:20]


def test_the_corpus_holds_real_records_of_every_kind() -> None:
    """Expected: what the probe and the guests write, and what is published. Broken: a kind that is never mutated."""
    kinds = {parse_record(line).__struct_config__.tag for lines in ours() for line in lines}
    assert kinds >= {one.__struct_config__.tag for one in get_args(AnyRecord)}


def test_a_processs_memory_is_limited_and_the_table_sums_up() -> None:
    """Expected: the limit is there in each worker, and the sums are of all inputs."""
    found = Found()
    for one in fuzzing.campaign(range(1, 3), 1):
        found.add(one)
    assert found.wrong == []
    assert found.peak_bytes < fuzzing.MORE_BYTES
    last = list(campaign.table(found))[-1]
    assert sum(int(cell.replace(",", "")) for cell in last.split("|")[2:-1]) == 2 * CHUNK
