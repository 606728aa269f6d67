"""The frame of the command line: help, statuses, streams."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest

from kernometer import cli
from kernometer.__main__ import main
from kernometer.cli.env import Env, json_option
from kernometer.errors import MissingError, Status, TargetError
from kernometer.targets.parse import FORMS

if TYPE_CHECKING:
    from collections.abc import Callable

#: Libraries that functions import, so that commands without need of them begin at once.
DEFERRED = ("numpy", "scipy", "jinja2", "pexpect", "pycdlib", "ruptures", "vl_convert", "pyarrow", "distributed")
#: And those that no call without a command loads.
HEAVY = (*DEFERRED, "rich", "msgspec", "sqlite3", "asyncio", "importlib.metadata")
#: All of ours that such a call loads.
FRAME = {"kernometer", *(f"kernometer.{name}" for name in ("__main__", "cli", "errors", "text"))}
FRAME |= {f"kernometer.cli.{name}" for name in ("config", "env", "streams")}
#: What the help and the completion of a command's options load besides.
DECLARATIONS = {path.stem for path in (Path(cli.__file__).parent / "commands").glob("*.py")} - {"__init__"}
DECLARATIONS = {"kernometer.cli.commands", *(f"kernometer.cli.commands.{name}" for name in DECLARATIONS)}
DECLARATIONS |= {
    "kernometer.cli.completion",
    "kernometer.cli.options",
    "kernometer.targets",
    "kernometer.targets.parse",
}


def child(*arguments: str, code: str = "", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """A process of its own: `kernometer ARGUMENTS`, or Python code."""
    command = [sys.executable, *(("-c", code) if code else ("-m", "kernometer")), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=env)


def plugged(monkeypatch: pytest.MonkeyPatch, callback: Callable[..., Any], name: str = "trial") -> None:
    """Puts a command of the test's own into the table."""
    module = types.ModuleType("kernometer_trial")
    module.command = click.command(name)(callback)  # type: ignore[attr-defined]  # a module made here
    monkeypatch.setitem(sys.modules, "kernometer_trial", module)
    monkeypatch.setitem(cli.COMMANDS, name, cli.Entry("extras", "kernometer_trial.command", "A trial."))


def loaded(*arguments: str) -> set[str]:
    """The modules after a call."""
    code = f"import sys\nfrom kernometer.__main__ import main\nprint(main({[*arguments]!r}), *sys.modules)"
    done = child(code=code)
    status, *modules = done.stdout.splitlines()[-1].split()
    assert status == "0", done.stdout + done.stderr
    return set(modules)


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_imports_nothing_heavy(word: str) -> None:
    """Expected: none of the heavy modules, and of ours those of the command line alone. Broken: help takes seconds."""
    modules = loaded(word)
    assert not modules & {*HEAVY}
    assert {name for name in modules if name.partition(".")[0] == "kernometer"} <= FRAME


def test_no_command_imports_what_a_function_imports() -> None:
    """Expected: none of these libraries after every command is loaded. Broken: `list` waits for scipy."""
    assert not loaded("man") & {*DEFERRED}


def test_the_help_of_a_command_loads_its_declaration_alone() -> None:
    """Expected: click and the declarations, after the help and the completed options of every command. Broken: help
    waits for what only a measurement needs, such as rich.table, kernometer.report or kernometer.guests."""
    code = """
import sys
from kernometer.__main__ import main
from kernometer.cli import COMMANDS, completion, kernometer
for name in COMMANDS:
    assert main([name, "--help"]) == 0
    assert completion.Bash(kernometer, {}, "kernometer", "").get_completions([name], "--")
for name in ("list", "rm", "boot", "add"):
    assert main(["guest", name, "--help"]) == 0
print(*sys.modules)
"""
    done = child(code=code)
    assert done.returncode == 0, done.stderr
    modules = {*done.stdout.splitlines()[-1].split()}
    assert not modules & {*HEAVY}
    assert {name for name in modules if name.partition(".")[0] == "kernometer"} == FRAME | DECLARATIONS


def test_help_names_every_command_under_its_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == Status.DONE
    shown = capsys.readouterr().out
    for name, entry in cli.COMMANDS.items():
        section = shown.split(f"{cli.GROUPS[entry.group]}:\n", 1)[1].split("\n\n", 1)[0]
        assert f"  {name} " in section
    assert "Examples:" in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_every_command_loads_and_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == Status.DONE
    shown = capsys.readouterr().out
    assert shown.startswith(f"Usage: kernometer {name}")


def test_help_ends_with_what_few_need(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == Status.DONE
    shown = capsys.readouterr().out
    places = [shown.index(f"\n  {name} ") for name in cli.COMMANDS]
    assert places == sorted(places)
    assert [*cli.COMMANDS][-3:] == ["structures", "faults", "floors"]


@pytest.mark.parametrize("name", ["ab", "matrix", "run", "profile"])
def test_help_only_names_the_options_of_trios_experiments(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected: one sentence, and where they are told. Broken: of ab's options a sixth concern one small kernel."""
    assert main([name, "--help"]) == Status.DONE
    options, _, rest = capsys.readouterr().out.partition("\n  For experiments with Trio: ")
    assert "Trio" not in options and "--unit-costs" not in options
    assert "--unit-costs" in rest and "docs/trio.md" in rest and rest.count("Trio") <= 1


@pytest.mark.parametrize("name", ["run", "ab"])
def test_help_names_every_form_of_target(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected: those of the one table. Broken: a kind that was added later is nowhere told."""
    assert main([name, "--help"]) == Status.DONE
    text = " ".join(capsys.readouterr().out.split())
    assert [form for form, _ in FORMS if form not in text] == []


def test_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    from kernometer import __version__

    assert main(["--version"]) == Status.DONE
    assert capsys.readouterr().out == f"kernometer {__version__}\n"


def test_a_mistyped_command_is_a_usage_error_with_a_suggestion(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plugged(monkeypatch, lambda: None)
    assert main(["trail"]) == Status.USAGE
    assert "Did you mean 'trial'?" in capsys.readouterr().err


def test_an_error_prints_text_and_next_step_and_has_its_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails() -> None:
        raise MissingError("There is no compiler.", "Install gcc.")

    plugged(monkeypatch, fails)
    assert main(["trial"]) == Status.MISSING
    shown = capsys.readouterr()
    assert shown.err == "kernometer: There is no compiler.\nnext: Install gcc.\n"
    assert shown.out == ""


def test_a_dead_targets_last_output_cannot_drive_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Expected: escapes as text. Broken: a guest clears the screen or sets the window's title."""

    def dies() -> None:
        raise TargetError("died", last_output="x" * 5000 + "\npanic \x1b[2J\x9b1m\u202e\r")

    plugged(monkeypatch, dies)
    assert main(["trial"]) == Status.TARGET
    shown = capsys.readouterr().err
    assert "  | panic \\x1b[2J\\x9b1m\\u202e\\r" in shown
    assert "\x1b" not in shown
    assert len(shown) < 2300


def test_a_status_that_a_command_returns_is_the_processs(monkeypatch: pytest.MonkeyPatch) -> None:
    plugged(monkeypatch, lambda: Status.ROWS_FAILED)
    assert main(["trial"]) == Status.ROWS_FAILED


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_being_interrupted_is_130_and_lets_cleanup_run(number: signal.Signals) -> None:
    code = f"""
import os, sys, types, click
from kernometer import cli
from kernometer.__main__ import main
@click.command()
def command():
    try:
        os.kill(os.getpid(), {int(number)})
        click.pause()
    finally:
        print("cleaned")
sys.modules["trial"] = types.SimpleNamespace(command=command)
cli.COMMANDS["trial"] = cli.Entry("extras", "trial.command", "")
sys.argv[1:] = ["trial"]
sys.exit(main())
"""
    done = child(code=code)
    assert (done.returncode, done.stdout) == (Status.INTERRUPTED, "cleaned\n"), done.stderr
    assert done.stderr.endswith("kernometer: interrupted\n")
    assert "Traceback" not in done.stderr


def without_reader(command: list[str]) -> tuple[int, bytes]:
    """Status and complaints of a process that writes, buffered as usual, into a pipe that nobody reads."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    ours, theirs = os.pipe()
    os.close(ours)
    with os.fdopen(theirs, "wb") as closed:
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, timeout=60, check=False, env=environment)
    return done.returncode, done.stderr


def test_a_reader_that_leaves_is_no_error() -> None:
    """Expected: silence and 0. Broken: a traceback, or the interpreter's complaint and 120."""
    command = [sys.executable, "-m", "kernometer", "--help"]
    assert without_reader(command) == (0, b"")


def test_what_is_still_in_the_buffer_when_the_reader_has_left_is_no_error_either() -> None:
    """Expected: silence and 0. Broken: the interpreter flushes at its end, complains, and exits with 120."""
    code = """
import sys, types, click
from kernometer import cli
from kernometer.__main__ import main
@click.command()
def command():
    try:
        click.echo("one")
    finally:
        sys.stdout.write("two")
sys.modules["trial"] = types.SimpleNamespace(command=command)
cli.COMMANDS["trial"] = cli.Entry("extras", "trial.command", "")
sys.argv[1:] = ["trial"]
sys.exit(main())
"""
    assert without_reader([sys.executable, "-c", code]) == (0, b"")


@pytest.mark.parametrize("words", [["--help"], ["man"], ["workloads", "--json"]])
def test_a_full_device_is_an_error_in_words(words: list[str]) -> None:
    """Expected: what is full and what helps. Broken: a traceback, or the interpreter's complaint and 120."""
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "kernometer", *words]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == Status.RESULT
    assert done.stderr.startswith(
        "kernometer: The output (or a temporary file) cannot be written: No space left on device.\nnext: "
    )


def test_an_output_that_knows_no_plus_minus_gets_an_escape() -> None:
    done = child("--help", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert done.stderr == ""


def test_json_reaches_the_env(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    @json_option
    @click.make_pass_decorator(Env)
    def tells(env: Env) -> None:
        click.echo(f"json={env.json} store={env.store_folder} color={env.color}")

    plugged(monkeypatch, tells)
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["--store", "/nowhere", "trial", "--json"]) == Status.DONE
    assert capsys.readouterr().out == "json=True store=/nowhere color=False\n"


def test_colour_is_for_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: plain text into a pipe, even where FORCE_COLOR is set. Broken: escapes in a file."""
    import io

    monkeypatch.setenv("FORCE_COLOR", "1")
    out = io.StringIO()
    console = Env(out=out, err=out).console()
    assert not console.is_terminal
    console.print("[b]text[/b]", style="bold red")
    assert out.getvalue() == "[b]text[/b]\n"
