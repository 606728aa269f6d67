"""What surrounds the gate in a Linux tree: scripts/bisect-linux's statuses, the Action's guests, the workflow of
docs/gate.md. make and kernometer are stand-ins that write down how they were called."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A directory for PATH whose `kernometer` and `make` append their words to `called`, and leave with what
    `STATUS_WORD` says for a word of theirs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("kernometer", "make"):
        (folder / name).write_text(
            f'#!/bin/sh\necho "{name} $*" >>"{tmp_path}/called"\n'
            'for word; do eval "status=\\${STATUS_$(echo "$word" | tr -cd a-zA-Z):-0}"; '
            '[ "$status" = 0 ] || { echo "Gate failed: $word" >&2; exit "$status"; }; done\n'
        )
        (folder / name).chmod(0o755)
    return folder


def run(path: Path, *words: str, status: int = 0, **env: str) -> str:
    env = os.environ | {"PATH": f"{path}:{os.environ['PATH']}", "KERNOMETER": str(path / "kernometer")} | env
    done = subprocess.run(words, cwd=path.parent, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("env", "status"),
    [
        ({}, 0),
        ({"STATUS_ab": "7"}, 1),
        ({"STATUS_ab": "3"}, 125),
        ({"STATUS_ab": "2"}, 255),
        ({"STATUS_bzImage": "2"}, 125),
        ({"STATUS_add": "2"}, 125),
    ],
)
def test_a_bisections_step_has_gits_statuses(path: Path, env: dict[str, str], status: int) -> None:
    """Expected: good, bad for a gate that failed, skipped if it does not build or boot, else the end. Broken: an error
    is a bad commit, or a commit that does not compile ends the search."""
    told = run(path, str(ROOT / "scripts/bisect-linux"), "proc/fork-exit@", status=status, **env)
    assert ("Gate failed" in told) is bool(env)
    called = (path.parent / "called").read_text()
    assert ("qemu:good qemu:bisect proc/fork-exit@" in called) is bool(env.keys() <= {"STATUS_ab"})


def test_a_bisections_step_without_rows_ends_it(path: Path) -> None:
    assert "ROW" in run(path, str(ROOT / "scripts/bisect-linux"), status=255)


def test_the_action_takes_a_tree_where_it_is_given_a_directory(path: Path) -> None:
    action = (ROOT / ".github/actions/gate/action.yml").read_text()
    step = next(each for each in re.findall(r"run: \|\n((?: {8}.*\n)+)", action) if "add()" in each)
    (path.parent / "bzImage").touch()
    run(path, "bash", "-eo", "pipefail", "-c", step, BEFORE="bzImage", AFTER=".")
    assert (path.parent / "called").read_text().splitlines() == [
        "kernometer guest add kernel bzImage --name before",
        "kernometer guest add linux --tree . --name after",
    ]


def test_the_workflow_builds_the_first_parent_and_the_merge(path: Path, tmp_path: Path) -> None:
    """Expected: the docs' step configures and builds both trees. Broken: a pull request is held against itself."""
    page = (ROOT / "docs/gate.md").read_text()
    step = next(each for each in re.findall(r"- run: \|\n((?: {10}.*\n)+)", page) if "worktree" in each)
    repository = tmp_path / "linux"
    repository.mkdir()
    for word in ("base", "merge"):
        (repository / "text").write_text(word)
        for words in (("init", "-q"), ("add", "."), ("-c", "user.name=t", "-c", "user.email=t", "commit", "-qm", word)):
            run(path, "git", "-C", str(repository), *words, GIT_CONFIG_GLOBAL=os.devnull)
    run(path, "bash", "-eo", "pipefail", "-c", f'cd "{repository}"\n{step}')
    assert (tmp_path / "base/text").read_text() == "base"
    called = (tmp_path / "called").read_text()
    assert re.findall(r"make -C (\S+) \S+/linux/kernometer.config allnoconfig", called) == ["../base", "."]
    assert re.findall(r"make -C (\S+) -j\d+ bzImage", called) == ["../base", "."]
