"""The files of processors: complete, ordered, and each number with a source that is given."""

from __future__ import annotations

import re

import msgspec
import pytest

from kernometer.errors import UsageError
from kernometer.explain.cycles import KINDS
from kernometer.results import processor
from kernometer.results.processor import Buffer, Cache, Processor

FILES = pytest.mark.parametrize("name", processor.names())


def parts(of: Processor) -> dict[str, Cache | Buffer]:
    geometry = of.geometry
    each = {name: getattr(geometry, name) for name in geometry.__struct_fields__}
    return {name: part for name, part in each.items() if isinstance(part, Cache | Buffer)}


@FILES
def test_all_costs_are_there_and_lie_between_their_ends(name: str) -> None:
    """Expected: one cost for each kind. Broken: an event that costs nothing, or an interval without its value."""
    costs = processor.find(name).costs
    assert sorted(costs) == sorted(KINDS)
    for kind, cost in costs.items():
        assert cost.least <= cost.cycles <= cost.most, kind


@FILES
def test_every_number_has_a_source_that_the_file_explains(name: str) -> None:
    """Expected: each label is among the sources, and no source is for nothing. Broken: "[Foo]" that nobody finds."""
    of = processor.find(name)
    words = [cost.source for cost in of.costs.values()] + [part.source for part in parts(of).values()]
    labels = {label for text in words for label in re.findall(r"\[(\w+)\]", text)}
    assert labels == set(of.sources)
    assert all(text.strip() for text in words)


@FILES
def test_the_geometry_can_be_built(name: str) -> None:
    """Expected: whole sets. Broken: entries that no number of ways divides, which the plugin refuses at a boot."""
    numbers = [int(number) for number in processor.find(name).geometry.word.split("/")]
    assert len(numbers) == 21
    for entries, ways in zip(numbers[:-1:2], numbers[1::2], strict=True):
        assert (entries, ways) == (0, 0) or entries % ways == 0


def test_the_word_has_the_order_of_the_plugin() -> None:
    """Expected: Skylake's caches, TLBs, no second level of code, and return stack. Broken: two of them exchanged."""
    assert processor.find("skylake").geometry.word == (
        "512/8/512/8/4096/4/131072/16/128/8/8/8/64/4/32/4/1536/12/0/0/16"
    )


@FILES
def test_a_processor_is_found_by_its_name_too(name: str) -> None:
    """Expected: the same one, so that `run --again` finds a session's. Broken: a name that no file has."""
    assert processor.find(processor.find(name).name) == processor.find(name)


def test_a_processor_with_curves_is_the_same_one_otherwise() -> None:
    """Expected: its word has one more, it is found by its name, and a session keeps it. Broken: `run --again` or a
    stored session loses them, or a processor without them is stored in another form than before."""
    plain, curves = processor.find("skylake"), processor.find("skylake+curves")
    assert curves.geometry.word == f"{plain.geometry.word}/curves"
    assert curves.costs == plain.costs
    assert processor.find(curves.name) == curves
    assert msgspec.convert(msgspec.to_builtins(curves), Processor) == curves
    assert "curves" not in msgspec.to_builtins(plain)["geometry"]


def test_an_unknown_one_is_refused_with_the_known() -> None:
    """Expected: the names. Broken: a KeyError, or a file that is looked for by any path."""
    with pytest.raises(UsageError, match="no such processor") as caught:
        processor.find("../skylake")
    assert "n100, skylake, zen3, and host" in caught.value.next_step
