"""The checkout that these tests are part of: its files, copies of them, what is built of them, who may write to it."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: What the tests compile, kept for the next run.
KEPT = ROOT / "build/tests"
MAKE_SECONDS = 600
SECONDS_OF_A_DAY = 86_400


def names() -> list[str]:
    """Files that git has or would take, below ROOT."""
    words = ("git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def copy_to(folder: Path) -> None:
    """Nothing that was built is in it."""
    for name in names():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


def day_of_commit(root: Path = ROOT) -> int | None:
    """The UTC day of the commit that is checked out, counted from 1970; None without git or its folder here, as in what
    was unpacked from an archive. The day of the clock would make one commit's tests differ."""
    # named, so that a repository around this folder, or another owner of it, is not asked
    words = ("git", f"--git-dir={root / '.git'}", "log", "-1", "--format=%ct")
    try:
        found = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.CalledProcessError):
        return None
    return int(found.stdout) // SECONDS_OF_A_DAY


@contextmanager
def alone(what: str) -> Iterator[None]:
    """Where the tests run in several processes: one of them at a time makes `what`, the others wait for it."""
    folder = ROOT / "build"
    folder.mkdir(exist_ok=True)
    with (folder / f"{what}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def share_compiled(cache: Path) -> None:
    """The cache of this XDG_CACHE_HOME has what `kernometer.cache.compiled` made in others, by the digest of sources
    and command: the emulator's plugin alone takes a second, more than most tests that have a cache of their own."""
    shared, there = KEPT / "compiled", cache / "kernometer" / "compiled"
    with alone("compiled"):
        for folder in (shared, there.parent):
            folder.mkdir(parents=True, exist_ok=True)
        if not there.exists():
            there.symlink_to(shared)


def made(sources: Path, folder: Path, *words: str) -> Path:
    """The folder in which `make WORDS` builds: only what has changed since the last time, by the files' times."""
    with alone(f"made-{folder.name}"):
        command = ("make", "-s", "-j2", "-C", str(sources), f"BUILD={folder}", *words)
        done = subprocess.run(command, capture_output=True, text=True, timeout=MAKE_SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder
