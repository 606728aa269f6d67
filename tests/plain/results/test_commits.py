"""Commits that sessions name: found by what a user or a kernel calls them, in the order of the history."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from kernometer.errors import MissingError, UsageError
from kernometer.results.commits import commit_names, commits


def git(tree: Path, *words: str, when: int = 1_795_000_000) -> str:
    date = f"{when} +0000"
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {**os.environ, **who, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    done = subprocess.run(
        ("git", "-C", str(tree), *words), env=env, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Five commits: the first has the clock of a day later, the third of a day earlier, all others the same."""
    git(tmp_path, "init", "-q")
    for number, days in enumerate((1, 0, -1, 0, 0)):
        when = 1_795_000_000 + 86400 * days
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", f"step {number}", when=when)
    git(tmp_path, "tag", "-a", "-m", "it", "v1", "HEAD~3")
    return tmp_path


def test_names_are_found_in_the_order_of_the_history(tree: Path) -> None:
    """Expected: by hash, its beginning and tag, whatever the clocks said. Broken: a bisection's sessions in the order
    in which they were measured."""
    hashes = git(tree, "log", "--format=%H", "--reverse").split()
    known = commits(tree, (hashes[4], hashes[2][:9], "v1", hashes[0], "before", "two words", "-x", "a\nb", "HEAD:x"))
    assert {name: (one.id, one.subject) for name, one in known.items()} == {
        hashes[4]: (hashes[4], "step 4"),
        hashes[2][:9]: (hashes[2], "step 2"),
        "v1": (hashes[1], "step 1"),
        hashes[0]: (hashes[0], "step 0"),
    }
    assert [known[name].place for name in (hashes[0], "v1", hashes[2][:9], hashes[4])] == [1, 2, 3, 4]
    assert known["v1"].words == f"{hashes[1][:12]} step 1"
    known = commits(tree, (hashes[4], hashes[0], hashes[3]))
    assert [known[hashes[number]].place for number in (0, 3, 4)] == [1, 2, 3]
    assert commits(tree, ["nothing"]) == {}


def test_a_session_names_its_commit_by_label_or_release() -> None:
    assert commit_names("v6.1", "Linux 6.12.0-rc1-00034-g5d6e7f80a1b2 #1 SMP") == ("v6.1", "5d6e7f80a1b2")
    assert commit_names("", "Linux 6.1.0-13-generic") == ()


def test_without_git_or_a_repository_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(UsageError, match="cannot tell the commits") as refused:
        commits(tmp_path, ["x"])
    assert "--tree" in refused.value.next_step
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match="no git"):
        commits(tmp_path, ["x"])
