"""ab --boundaries as a user calls it, on a Trio of three services whose kernels and QEMU are scripts, so that each
price is known: kernels compiled where they are missing, measured, kept, shown again, and refused."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from kernometer.cli import kernometer
from kernometer.errors import KernometerError, TargetError, UsageError
from kernometer.guests import store as guests
from kernometer.guests.kernels import trio
from kernometer.results.store import Store
from kernometer.targets import booting
from tests.compiled.guests.test_trio import MAKEFILE
from tests.plain.cli.test_matrix import ONLY, ROW, call
from tests.support.results import make

#: `top` calls `low`, and all ask vm for pages.
SERVICES = """\
[top]
provides = "top"
calls = ["low"]
[low]
provides = "low"
calls = []
[vm]
provides = "vm"
calls = []
"""
STRUCTURES = (
    *("mono", "mono+apart=top", "mono+apart=low", "mono+apart=vm"),
    *("mono+apart=top,low", "mono+apart=top,vm", "mono+apart=low,vm"),
    *("micro", "micro+together=top,low", "micro+together=low,vm", "one-server", "hybrid"),
)
#: 100, 7 for any cut, 500 of top's own, and 60 less with both low and vm out, which cost 80 and nothing alone. Of the
#: switches of test_factorial.py 40, 5, and 3 for both.
QEMU = f"""#!{sys.executable}
import re, sys
words = sys.argv
if "--version" in words:
    sys.exit(print("QEMU emulator version 7.2.22"))
def after(option):
    return words[words.index(option) + 1]
kernel = re.search(r"structure=([^ ]*)", open(after("-kernel")).read())[1]
out = set(kernel.partition("apart=")[2].split(",")) if kernel.startswith("mono") else set(("top", "low", "vm"))
count = 100 + 7 * bool(out - set([""])) + 500 * ("top" in out) + 80 * ("low" in out) - 60 * (out >= set(("low", "vm")))
count -= 30 * ("together" in kernel)
count += 40 * ("dear" in kernel) + 5 * ("cheap" in kernel) + 3 * ("dear" in kernel and "cheap" in kernel)
if kernel == "one-server" and "no-one-server" in open(after("-kernel")).read():
    open("console", "a").write("[    1.2] Kernel panic - not syncing: none here.\\n")
    sys.exit(1)
lines = open({{records!r}}).read().replace("COUNT", str(count)).splitlines()
open("bulk", "a").write("\\n".join(["#kernometer begin 1", *lines, f"#kernometer end {{{{len(lines)}}}}", ""]))
"""
AB = ("ab", "--by", "path", "--boundaries")


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Trio's, and a QEMU that knows what each of its kernels costs."""
    folder = tmp_path / "trio"
    (folder / "config").mkdir(parents=True)
    (folder / "config" / "services.toml").write_text(SERVICES)
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "kernel").mkdir()
    (folder / "kernel" / "word").write_text("first\n")
    monkeypatch.setattr(trio, "source_folder", lambda name: tmp_path / name)
    records = tmp_path / "records"
    run = make.run(0, ROW, samples=(12_345,) * 5, batch=1, loop_batch=1, loop_cost=(0,), baseline=None, warnings=())
    lines = make.lines([make.header(by="path"), make.workload(), run])
    records.write_text("\n".join(line.decode().replace("12345", "COUNT") for line in lines))
    program = tmp_path / "bin" / "qemu-system-x86_64"
    program.parent.mkdir()
    program.write_text(QEMU.format(records=str(records)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(booting, "initrd", lambda *given: repr(given).encode())

    def no_plugin(*_given: object) -> Path:
        raise TargetError("The plugin does not build.")

    monkeypatch.setattr("kernometer.guests.plugins.build", no_plugin)
    return folder


@pytest.fixture
def store(sources: Path, tmp_path: Path) -> Store:
    assert sources.is_dir()
    return Store(tmp_path / "store")


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


def test_a_guest_that_fails_is_named_and_nothing_is_predicted_without_it(store: Store, sources: Path) -> None:
    """Expected: the others' prices, and status 1. Broken: they are lost, or a sum lacks a price without a word."""
    (sources / "kernel" / "word").write_text("no-one-server\n")
    done = call(store, *AB, ONLY)
    assert done.exit_code == 1
    assert "qemu:trio-one-server: " in done.stdout
    assert "Missing, so that what needs them is left out: one-server." in done.stdout


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
