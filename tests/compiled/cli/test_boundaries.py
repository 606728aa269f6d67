"""ab --boundaries as a user calls it, on a Trio of three services whose kernels and QEMU are scripts, so that each
price is known: kernels compiled where they are missing, measured, kept, shown again, and refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernometer.cli import kernometer
from kernometer.errors import KernometerError, UsageError
from kernometer.guests import store as guests
from kernometer.guests.kernels import trio
from kernometer.results.store import Store
from tests.support.cli.matrices import ONLY, ROW, call

#: `top` calls `low`, and all ask vm for pages.
STRUCTURES = (
    *("mono", "mono+apart=top", "mono+apart=low", "mono+apart=vm"),
    *("mono+apart=top,low", "mono+apart=top,vm", "mono+apart=low,vm"),
    *("micro", "micro+together=top,low", "micro+together=low,vm", "one-server", "hybrid"),
)
AB = ("ab", "--by", "path", "--boundaries")


def test_all_partitions_are_compiled_measured_and_priced(store: Store) -> None:
    """Expected: the prices that the scripts have, in one command. Broken: an order of kernels that nobody knows."""
    done = call(store, *AB, ONLY, "--label", "b", "--json")
    assert [f"trio-{each}: compiling, {n} of 12 …" in done.stderr for n, each in enumerate(STRUCTURES, 1)] == [
        True
    ] * 12
    assert "would wait for each other: top,vm (low)." in done.stderr
    assert {one.target for one in store.summaries(label="b")} == {f"qemu:trio-{each}" for each in STRUCTURES}
    (row,) = json.loads(done.stdout)["boundaries"]["rows"]
    assert row["cuts"] == {"top": 507, "low": 87, "vm": 7}
    assert row["pairs"] == {"top,low": -7, "top,vm": -7, "low,vm": -67}
    assert row["merges"] == {"top,low": 30, "low,vm": 30}
    assert (row["predicted"], row["rest"]) == (100 + 601 - 81, 627 - 620)
    assert row["missing"] == []


@pytest.mark.slow(minutes=0.1)
def test_what_was_measured_is_shown_again_from_the_store(store: Store, tmp_path: Path) -> None:
    """Expected: the same tables, nothing booted; the picture in both kinds of report; what is no more there is named.
    Broken: half a sum looks whole."""
    page = tmp_path / "ab.html"
    done = call(store, *AB, ONLY, "--label", "b", "--report", str(page))
    assert "lack" not in done.stderr
    table = done.stdout[: done.stdout.index("The largest")]
    assert [line.split() for line in table.splitlines()[1:3]] == [
        ["mono", "top", "low", "vm"],
        [ROW, "100", "507", "87", "7"],
    ]
    assert table in call(store, "matrix", "label:b", "--boundaries").stdout
    assert "The price of each boundary" in page.read_text(encoding="utf-8")
    call(store, "report", "label:b", "-o", str(page))
    assert "The price of each boundary" in page.read_text(encoding="utf-8")
    assert "627 instr" in call(store, "show", store.summaries(target="qemu:trio-micro")[0].id).stdout
    call(store, "rm", "label:b@qemu:trio-mono+apart=top,low")
    done = call(store, "matrix", "label:b", "--boundaries")
    assert "lack 1 partition of Trio as its sources are, and sums are without it: mono+apart=top,low." in done.stderr


@pytest.mark.slow(minutes=0.1)
def test_kernels_are_compiled_where_missing_or_of_other_sources(store: Store, sources: Path) -> None:
    """A dry run says which. Expected: those that a user removed, and all when a source changed."""

    def missing() -> list[str]:
        return call(store, *AB, ONLY, "--dry-run").stdout.splitlines()[0].split()[4:]

    assert missing() == [*STRUCTURES]
    for each in STRUCTURES:
        trio.add(each)
    assert len(call(store, *AB, ONLY, "--dry-run").stdout.splitlines()) == len(STRUCTURES)
    guests.remove("trio-mono+apart=low")
    assert missing() == ["mono+apart=low"]
    (sources / "kernel" / "word").write_text("second\n")
    assert missing() == [*STRUCTURES]
    assert store.summaries() == []


@pytest.mark.slow(minutes=0.1)
def test_a_guest_that_fails_is_named_and_nothing_is_predicted_without_it(store: Store, sources: Path) -> None:
    """Expected: the others' prices, and status 1. Broken: they are lost, or a sum lacks a price without a word."""
    (sources / "kernel" / "word").write_text("no-one-server\n")
    done = call(store, *AB, ONLY)
    assert done.exit_code == 1
    assert "qemu:trio-one-server: " in done.stdout
    assert "Missing, so that what needs them is left out: one-server." in done.stdout


@pytest.mark.slow(minutes=0.1)
def test_mono_may_have_another_machine_which_all_then_have(store: Store) -> None:
    call(store, *AB, "qemu:trio-mono+memory=64", ONLY, "--label", "b")
    assert {one.target for one in store.summaries()} == {f"qemu:trio-{each}+memory=64" for each in STRUCTURES}
    assert "rest" in call(store, "matrix", "label:b", "--boundaries").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ab", "--boundaries"), "is a count of instructions"),
        ((*AB, "local"), "name Trio's mono, or none"),
        ((*AB, "qemu:trio-micro"), "name Trio's mono, or none"),
        ((*AB, "qemu:trio-mono", "qemu:trio-micro"), "name Trio's mono, or none"),
    ],
)
def test_what_has_no_boundary_is_refused_before_anything_is_compiled(
    store: Store, words: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        call(store, *words)
    assert caught.value.next_step == "kernometer ab --by path --boundaries qemu:trio-mono"
    assert guests.listed() == ()


@pytest.mark.slow(minutes=0.05)
def test_sessions_without_a_cut_have_none_to_show(store: Store) -> None:
    for each in ("mono", "micro"):
        trio.add(each)
    call(store, "ab", "--by", "path", "qemu:trio-mono", "qemu:trio-micro", ONLY)
    sessions = [one.id for one in store.summaries()]
    with pytest.raises(KernometerError, match="There is no boundary") as caught:
        call(store, "matrix", *sessions, "--boundaries")
    assert caught.value.next_step == "kernometer ab --by path --boundaries"


def test_the_manual_teaches_it() -> None:
    from click.testing import CliRunner

    said = " ".join(CliRunner().invoke(kernometer, ["man"]).output.replace("\\-", "-").split())
    assert "--boundaries" in said and "ab then takes no target, or Trio\\[aq]s mono" in said
