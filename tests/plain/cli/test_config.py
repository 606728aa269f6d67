"""The configuration file: what it goes before, and what is wrong in it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from kernometer.__main__ import main
from kernometer.cli import config
from kernometer.errors import Status
from kernometer.results.store import Store
from tests.support.cli.storing import fill


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    file = tmp_path / "config.toml"
    monkeypatch.setattr(config, "path", lambda: file)
    return file


def test_the_file_goes_before_the_default_and_after_all_else(
    tmp_path: Path, configured: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "store")
    fill(store, seed=7)
    configured.write_text(f'store = "{store.folder}"\n[run]\nseed = 42\nhalf-width = 0.5\ndry-run = true\n')
    assert main(["run", "syscall/stat"]) == 0
    words = shlex.split(capsys.readouterr().out)
    assert (words[words.index("--seed") + 1], words[words.index("--half-width") + 1]) == ("42", "0.5")
    assert main(["run", "syscall/stat", "--seed", "1"]) == 0
    assert "--seed 1 " in capsys.readouterr().out
    assert main(["run", "--again", "@last"]) == 0
    assert "--seed 7 " in capsys.readouterr().out
    monkeypatch.setenv("KERNOMETER_STORE", str(store.folder / "none"))
    assert main(["show", "@last"]) == Status.RESULT
    assert main(["--store", str(store.folder), "show", "@last"]) == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = [", "Invalid value"),
        ("[rnu]", "no command 'rnu'"),
        ("rnu = 1", "no option 'rnu'"),
        ("[run]\nsed = 1", "[run]: there is no option 'sed'"),
        ("[run]\nseed = 'x'", "[run]: seed: 'x' is not a valid integer"),
        ("[run]\nseed = -1", "[run]: seed: -1 is not in the range"),
        ("[run]\nseed = 1979-05-27", "[run]: seed must be a text or a number"),
        ("[run]\nruns = true", "[run]: runs must be a text or a number"),
        ("[run]\ndry-run = 1", "[run]: dry-run must be true or false"),
        ("[run]\nagain = '@last'", "[run]: there is no option 'again'"),
        ("[matrix]\non = 'local'", "[matrix]: on must be a list"),
        ("[guest.ad]", "[guest]: there is no command 'ad'"),
        ("[run.seed]", "[run]: seed must be a text or a number"),
        ("[run]\nseed = {a = 1}", "[run]: seed must be a text or a number"),
        ("a = " + "[" * 5000, "recursion"),
    ],
)
def test_what_is_wrong_in_it_is_named(
    configured: Path, capsys: pytest.CaptureFixture[str], text: str, told: str
) -> None:
    """Expected: status 2, the file, the table, the option. Broken: a traceback, or an option in vain."""
    configured.write_text(text)
    assert main(["list"]) == Status.USAGE
    error = capsys.readouterr().err
    assert str(configured) in error and "CONFIGURATION" in error
    assert told in error
