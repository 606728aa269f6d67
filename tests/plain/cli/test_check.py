"""`kernometer check` as a person and as a program read it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kernometer.__main__ import main
from kernometer.cli.check import lines
from kernometer.errors import Status
from kernometer.host import Finding, HostReport

if TYPE_CHECKING:
    import pytest

COMMAND = "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor /and/more"
REPORT = HostReport(
    (
        Finding("fine", "yes", "", "", "ok"),
        Finding("governor", "powersave " * 12, "It wanders. " * 12, COMMAND, "disturbs"),
        Finding("layout", "random", "Runs differ.", "A sentence " * 12 + "ends.", "note"),
        Finding("heat", "not visible", "", "", "unknown"),
    ),
    {"kernel": "6.1", "cpus_online": 1, "memory_bytes": 3 << 30},
)


def test_what_disturbs_comes_first_and_commands_stay_whole() -> None:
    """Expected: worst first, 80 columns, a command on one line. Broken: a command that no longer pastes."""
    shown = list(lines(REPORT, 80))
    assert shown[0] == "6.1, 1 CPU, 3.0 GiB"
    order = [shown.index(title) for title in ("Disturbs measuring:", "Shapes the figures:", "Not known on this host:")]
    assert order == sorted(order)
    assert f"    > {COMMAND}" in shown
    assert all(len(line) <= 80 for line in shown if COMMAND not in line)
    assert shown[-1] == "Nothing to do: fine (yes)."


def test_a_host_with_nothing_to_say_has_no_empty_sections() -> None:
    assert list(lines(HostReport((), {}), 80)) == ["This host reports nothing about itself."]


def test_json_is_the_record_that_sessions_keep(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--json"]) == Status.DONE
    record = json.loads(capsys.readouterr().out)
    assert set(record) == {"findings", "facts"}
    assert set(record["findings"][0]) == {"name", "value", "effect", "advice", "severity"}


def test_text_is_as_wide_as_the_screen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    assert main(["check"]) == Status.DONE
    title, *_ = capsys.readouterr().out.partition("\n\n")
    assert len(title.replace("\n", " ")) > 50 >= max(map(len, title.split("\n")))


def test_text_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == Status.DONE
    assert "Nothing to do: " in capsys.readouterr().out
