"""studies/observer.py: what each part of measuring changes, on judgements that were made up and on this machine."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kernometer.errors import Status
from kernometer.targets import build
from studies import observer

WORDS = ("--blocks", "2", "--seconds", "0.01", "syscall/getppid@")
BUILDS = {"the meter": "-DM", observer.COUNTERS: "-DC", "verification": "-DV"}


def judged(row: str, ratio: float | None, half: float = 0.01) -> dict[str, Any]:
    """A row of `ab --json`; without a ratio: one that a side did not give."""
    ends = (None, None) if ratio is None else (ratio / (1 + half), ratio * (1 + half))
    return {"row": row, "ratio": ratio, "low": ends[0], "high": ends[1]}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The calls of `ab` by what they answer: verification costs one row 10 %, nothing else costs anything."""
    calls: list[tuple[str, ...]] = []

    def answer(_store: str, *words: str) -> list[dict[str, Any]]:
        calls.append(words)
        slow = 1.1 if "local:-DV" in words else 1.0
        return [judged("b", 1.0), judged("a", slow), judged("c", None), judged("d", 1.025)]

    monkeypatch.setattr(observer, "judged", answer)
    return calls


def test_what_exceeds_the_limit_is_counted_and_stands_out(
    asked: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Known truth: 10 % in one row. Expected: it alone is bold, not 2.5 ± 1 %. Broken: lost in the table."""
    monkeypatch.setattr(observer, "without_counters", lambda: "")
    assert observer.main(WORDS, BUILDS) == 0
    out = capsys.readouterr().out
    caption, summary, table = out.strip().split("\n\n")
    assert caption.splitlines()[1] == "Beyond ±2 %, in bold below: 1 of 9 intervals."
    assert table.count("**") == 2 and "**1.100 (1.089 to 1.111)**" in table
    assert summary.splitlines()[-1] == "| verification | `-DV` | 3 | 1.025 | ±1.0 % | 1 | 1 |"
    assert table.splitlines()[0] == "| row | the meter | the counters | verification |"
    assert table.splitlines()[2].startswith("| `a` | 1.000 (0.990 to 1.010) |")
    assert [words[-3:] for words in asked] == [(f"local:-D{x}", "local", WORDS[-1]) for x in "MCV"]


def test_counters_that_are_not_there_are_not_said_to_cost_nothing(
    asked: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Expected: no build without them is measured, and the line says why. Broken: a ratio of 1 that means nothing."""
    monkeypatch.setattr(observer, "without_counters", lambda: "ENOENT")
    assert observer.main(WORDS, BUILDS) == 0
    out = capsys.readouterr().out
    assert "| the counters | `-DC` |  |  | no counters here, so this line says nothing: ENOENT |" in out
    assert "| row | the meter | verification |" in out
    assert len(asked) == 2


def test_effects_are_printed_for_programs_too(asked: list[tuple[str, ...]], capsys: pytest.CaptureFixture[str]) -> None:
    assert observer.main((*WORDS, "--json"), {"verification": "-DV"}) == 0
    found = json.loads(capsys.readouterr().out)
    assert found[0] == {"part": "verification", "row": "a", "beyond": True, **judged("a", 1.1)}
    assert len(asked) == 1


def test_a_build_that_fails_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        observer.main(WORDS, {"verification": "-DKM_VERIFY=)"})
    assert left.value.code == Status.BUILD
    assert "-DKM_VERIFY=)" in capfd.readouterr().err


@pytest.mark.slow(minutes=0.24)
def test_a_delay_in_the_timed_region_is_found_and_checks_can_be_left_out(capfd: pytest.CaptureFixture[str]) -> None:
    """The delay is four times what a call takes or more. Expected: found as such. Broken: hidden by the alternation."""
    builds = {"the lack of a delay": "-DKM_HANDICAP=4000", "verification": "-DKM_VERIFY=0"}
    words = ("--json", "--blocks", "12", "--seconds", "0.02", "syscall/getppid@")
    assert observer.main(words, builds) == 0
    delayed, unchecked = json.loads(capfd.readouterr().out)
    assert delayed["beyond"] and delayed["ratio"] < 0.5
    assert 0.1 < unchecked["ratio"] < 10


@pytest.mark.slow(minutes=0.11)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_without_verification_no_check_is_left(compiler: str, tmp_path: Path) -> None:
    """Expected: no call of km_fail in the code, where there were hundreds. Broken: checks that are said to be away."""
    source = tmp_path / "probe.c"
    source.write_text(build.amalgam())

    def checks(*flags: str) -> int:
        words = (compiler, "-O2", *flags, "-S", "-o", "-", str(source))
        code = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True).stdout
        return len(re.findall(r"^\s+[a-z]+\s+km_fail(?:_call)?\b", code, re.MULTILINE))

    assert checks() > 100
    assert checks("-DKM_VERIFY=0") == 0


@pytest.mark.slow(minutes=0.06)
def test_without_the_meter_nothing_is_read_beside_a_sample() -> None:
    """Expected: the wall clock alone. Broken: readings that go on in a build that is said to be without them."""
    words = ("--only", "time", "--runs", "1", "--batch", "1000", "--seconds", "0.01", "syscall/getppid@")

    def told(flags: str) -> set[str]:
        program = build.probe(build.Recipe.parsed(flags))
        out = subprocess.run((program, *words), capture_output=True, text=True, timeout=120, check=True).stdout
        (run,) = (json.loads(line) for line in out.splitlines() if line.startswith('{"type":"run"'))
        return set(run["meter"])

    assert told("") > told("-DKM_METER=0") == {"wall_ns"}
