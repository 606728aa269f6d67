"""Do the completion scripts complete?"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernometer.__main__ import main
from kernometer.cli.completion import SHELLS
from kernometer.errors import Status


@pytest.fixture
def script(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", request.param]) == Status.DONE
    return capsys.readouterr().out


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH on which `kernometer` is this checkout's."""
    starter = tmp_path / "kernometer"
    starter.write_text(f'#!/bin/sh\nexec {sys.executable} -m kernometer "$@"\n')
    starter.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


@pytest.mark.parametrize("script", ["bash"], indirect=True)
@pytest.mark.parametrize(
    ("words", "completed"), [("comple", ["completion"]), ("--no", ["--no-color"]), ("completion z", ["zsh"])]
)
def test_bash_completes(script: str, path: str, words: str, completed: list[str]) -> None:
    """Expected: commands, flags and arguments, in bash itself. Broken: a script that completes file names only."""
    ask = f"""
{script}
COMP_WORDS=(kernometer {words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_kernometer_completion kernometer
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", ask],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PATH": path},
    )
    assert done.stdout.split() == completed, done.stderr


@pytest.mark.parametrize("script", list(SHELLS), indirect=True)
def test_the_shell_can_read_its_script(script: str, request: pytest.FixtureRequest) -> None:
    shell = request.node.callspec.params["script"]
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed here")
    done = subprocess.run(
        [shell, "-n", "/dev/stdin"], input=script, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_shell_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == Status.USAGE
    assert "'bash'" in capsys.readouterr().err
