"""The gate at work on small Trio guests: docs/bisect.md's script on a repository of its own, the Action's steps."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kernometer.errors import Status
from kernometer.guests.kernels import trio

ROOT = Path(__file__).parents[3]
GETPPID = "verdict pm_getppid(struct request *r)\n{"


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(("git", *words), cwd=folder, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return (done.stdout + done.stderr).strip()


def copy_of_trio(folder: Path) -> None:
    shutil.copytree(ROOT / "trio", folder, ignore=shutil.ignore_patterns("build", "__pycache__", "user"))


@pytest.mark.guest
@pytest.mark.slow(minutes=1)
def test_bisection_finds_the_commit_that_added_an_instruction(
    guest_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: the third of five, which adds one instruction; the second moves all code, the fourth does not compile.
    Broken: what only moves is called bad, or a broken build is."""
    assert guest_cache.is_dir()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for key, value in {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_CONFIG_GLOBAL": os.devnull}.items():
        monkeypatch.setenv(key, value)
        monkeypatch.setenv(key.replace("AUTHOR", "COMMITTER"), value)
    folder = tmp_path / "repository"
    copy_of_trio(folder / "trio")
    pm = folder / "trio/services/pm/pm.c"
    plain = pm.read_text()
    assert GETPPID in plain
    moved = plain.replace(GETPPID, f'__asm__(".skip 99, 0x90");\n{GETPPID}')
    longer = moved.replace(GETPPID, f'{GETPPID}\n\t__asm__ volatile("nop");')
    git(folder, "init", "-q")
    commits = []
    for text in (plain, moved, longer, f"{longer}}}", f"{longer}/* */\n", f"{longer}/* the last */\n"):
        pm.write_text(text)
        git(folder, "add", "trio")
        git(folder, "commit", "-q", "-m", "a change")
        commits.append(git(folder, "rev-parse", "HEAD"))
    git(folder, "bisect", "start", commits[-1], commits[0])
    told = git(folder, "bisect", "run", str(ROOT / "scripts/bisect-trio"), commits[0], "syscall/getppid@")
    assert f"{commits[2]} is the first bad commit" in told
    assert re.search(r"worse: syscall/getppid: (\d+) instr to (\d+) instr", told)


def steps(action: Path) -> list[str]:
    """The scripts of its steps: what is indented below each `run: |`."""
    found = re.findall(r"^ +run: \|\n((?: {8}.*\n)+)", action.read_text(), re.MULTILINE)
    return [re.sub(r"^ {8}", "", step, flags=re.MULTILINE) for step in found]


@pytest.mark.guest
@pytest.mark.slow(minutes=2)
def test_the_actions_steps_fail_a_longer_kernel_and_pass_the_same(guest_cache: Path, tmp_path: Path) -> None:
    """Expected: 7 with a table for the job's summary, then 0. Broken: a step that works on nobody's machine."""
    assert guest_cache.is_dir()
    copy_of_trio(tmp_path / "trio")
    pm = tmp_path / "trio/services/pm/pm.c"
    for name in ("before", "after"):
        trio.build(tmp_path / "trio", tmp_path / name, "mono")
        pm.write_text(pm.read_text().replace(GETPPID, f'{GETPPID}\n\t__asm__ volatile("nop");'))
    action = ROOT / ".github/actions/gate"
    scripts = steps(action / "action.yml")
    assert len(scripts) == 3
    files = {"GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_PATH": "path", "RUNNER_TEMP": ".", "XDG_DATA_HOME": "data"}
    env = {name: str(tmp_path / file) for name, file in files.items()} | {"GITHUB_ACTION_PATH": str(action)}
    env |= {"ROWS": "syscall/getppid@ syscall/getpid@", "ALLOW": "", "STRICT": ""}
    env |= {"PATH": f"{ROOT}/.venv/bin:{os.environ['PATH']}", "BEFORE": str(tmp_path / "before/trio-mono.elf")}
    for after, status in (("after", Status.GATE), ("before", Status.DONE)):
        env["AFTER"] = str(tmp_path / after / "trio-mono.elf")
        for step in scripts:
            words = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step)
            done = subprocess.run(words, env=os.environ | env, capture_output=True, text=True, timeout=900, check=False)
            assert done.returncode == (status if step is scripts[-1] else 0), done.stdout + done.stderr
        summary = (tmp_path / "summary.md").read_text()
        assert ("| worse | `syscall/getppid` |" in summary) is (status is Status.GATE)
        assert "`syscall/getpid`" not in summary
    assert (tmp_path / "kernometer.xml").is_file()
