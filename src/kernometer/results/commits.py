"""Commits of a source tree under git that names of sessions mean, in the order of its history."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kernometer.errors import UsageError
from kernometer.processes import called
from kernometer.text import printable

#: The abbreviated commit at the end of a kernel's release: 6.12.0-rc1-00034-g5d6e7f80a1b2.
_OF_RELEASE = re.compile(r"-g([0-9a-f]{7,40})\b")
_HASH = re.compile(r"[0-9a-f]{40,64} commit ")  #: and its size; else: "NAME missing", "NAME ambiguous"
#: Seconds for one of git's answers, in the largest trees.
SECONDS = 300.0
#: Characters of a commit's name and of its subject, as shown.
SHORT, SUBJECT = 12, 80
_FORMAT = "%H%x00%ct%x00%an%x00%s"


@dataclass(frozen=True, slots=True)
class Commit:
    id: str
    place: int  #: among those that were asked for, 1, 2, …: none comes before a commit that it descends from
    when: float  #: seconds since the epoch, of the committer
    author: str
    subject: str

    @property
    def words(self) -> str:
        return printable(f"{self.id[:SHORT]} {self.subject}", SHORT + SUBJECT)


def commit_names(label: str, release: str) -> tuple[str, ...]:
    """The words of a session that may name the commit of its kernel: its label, and what its release ends with."""
    return (*([label] if label else []), *_OF_RELEASE.findall(release))


def commits(tree: Path, names: Iterable[str]) -> dict[str, Commit]:
    """The commits among these names (hashes, their beginnings, tags). Raises UsageError if `tree` is not under git."""
    asked = [*dict.fromkeys(name for name in names if "\n" not in name)]
    told = _git(tree, ("cat-file", "--batch-check"), [f"{name}^{{commit}}" for name in asked])
    known = {name: line.split()[0] for name, line in zip(asked, told, strict=True) if _HASH.match(line)}
    if not known:
        return {}
    shown = ("log", "--no-walk=unsorted", f"--format={_FORMAT}", "--stdin")
    facts = {line.split("\0")[0]: line.split("\0") for line in _git(tree, shown, dict.fromkeys(known.values()))}
    walk = ("rev-list", "--topo-order", "--reverse", "--stdin")
    oldest = min(int(fact[1]) for fact in facts.values())  # no need to look further back
    order = [name for name in _git(tree, (*walk, f"--max-age={oldest}"), facts) if name in facts]
    if len(order) < len(facts):  # but where a clock went back
        order = [name for name in _git(tree, walk, facts) if name in facts]
    made = {
        name: Commit(name, place, float(when), author, subject)
        for place, (name, when, author, subject) in enumerate((facts[name] for name in order), 1)
    }
    return {name: made[commit] for name, commit in known.items()}


def _git(tree: Path, words: Iterable[str], lines: Iterable[str]) -> list[str]:
    """The lines that git prints for these lines on its standard input."""
    given = "".join(f"{line}\n" for line in lines)
    done = called(("git", "-C", str(tree), *words), SECONDS, "Install git (apt-get install git).", given=given)
    if done.returncode != 0:
        text = f"git cannot tell the commits of {tree}: {printable(done.stderr.strip(), 300)}."
        raise UsageError(text, "Give --tree the directory of a source tree under git.")
    return done.stdout.splitlines()
