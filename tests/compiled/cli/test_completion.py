"""Do the completion scripts complete?"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from kernometer.__main__ import main
from kernometer.cache import cache_folder
from kernometer.cli.completion import SHELLS
from kernometer.errors import Status
from kernometer.guests.store import MANIFEST, Manifest
from kernometer.results.store import Store
from kernometer.targets import build
from tests.support.results import make


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
    ("words", "completed"),
    [
        ("comple", ["completion"]),
        ("--no", ["--no-color"]),
        ("completion z", ["zsh"]),
        ("run ctx/pipe-p", ["ctx/pipe-pair"]),
        ("run ctx/pipe-pair@same", ["same-cpu"]),
        ("run --on wr", ["wrap:"]),
        ("run --on qemu:linux-9", ["linux-9.9", "linux-9.9+nosmt"]),
        ("guest rm linux-9.9", ["linux-9.9", "linux-9.9+nosmt"]),
        ("show bef", ["before"]),
        ("compare label:bef", ["before"]),
        ("compare before @l", ["last"]),
        ("figure miao-3 published/mia", ["published/miao-2011"]),
        ("rm 2026", ["20261121T080154Z-e04017"]),
    ],
)
def test_bash_completes(script: str, path: str, words: str, completed: list[str], tmp_path: Path) -> None:
    """Expected: commands, flags, rows, targets, results and guests, in bash itself, which breaks words at : and @.
    Broken: file names only, or `same-cpu` put behind the row that it is the end of."""
    home = tmp_path / "home"
    with Store(home / "kernometer" / "results").create(make.session(label="before", id="20261121T080154Z-e04017")):
        pass
    guest = home / "kernometer" / "guests" / "linux-9.9"
    guest.mkdir(parents=True)
    made = Manifest(
        name="linux-9.9",
        package="linux-image",
        version="9.9",
        release="9.9",
        package_sha256="",
        kernel_sha256="",
        kernel_bytes=1,
        variants=("linux-9.9+nosmt",),
    )
    (guest / MANIFEST).write_bytes(msgspec.json.encode(made))
    compiled = cache_folder() / "probes"
    (home / "kernometer" / "probes").symlink_to(compiled)
    build.probe()
    ask = f"""
{script}
COMP_LINE='kernometer {words}'
COMP_POINT=${{#COMP_LINE}}
_kernometer_completion kernometer
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", ask],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PATH": path, "XDG_DATA_HOME": str(home), "XDG_CACHE_HOME": str(home)},
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
