"""What is to be measured: the rows, how often, and for how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Literal

import msgspec

from kernometer.errors import TargetError, UsageError
from kernometer.results.model import By, Workload
from kernometer.targets.base import SILENCE_SECONDS, Call, Deadline, Job, Program, Target
from kernometer.targets.local import lister

#: Seconds that a session of each profile takes at the most, where its rows let it: quick is to end within a minute,
#: full within ten on two cores. The rest is for rows that take longer than their share (one iteration of seconds, say).
BUDGETS = {"quick": 50.0, "full": 480.0}
#: Seconds a row beyond which few rows get no more of the budget.
ROW_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard each row is tried; the probe's options of the same names. docs/statistics.md, "Effort"."""

    runs: int  #: timed ones of each row; more within the budget
    seconds: float  #: of sampling, one run
    half_width: float  #: relative, between runs: 0.01 is 1 %; no further runs below it
    samples: int  #: at most, one run
    budget: float = 0.0  #: seconds of the session, as long as which further runs are made; 0: none are
    batch: int = 0  #: iterations in one sample; 0: calibrated
    clock: str = ""  #: to take times with; "": the probe's own choice, by what its platform has


#: By profile. Runs are short and many: they differ by more than the samples within them.
EFFORTS = {"quick": Effort(5, 0.015, 0.01, 200), "full": Effort(5, 0.02, 0.005, 200)}


#: A thing that the probe does by time, where not all of them: its option --only.
Phase = Literal["", "calibrate", "count", "time"]


@dataclass(frozen=True, slots=True)
class Plan:
    """One session, or one side of an `ab`."""

    by: By
    profile: str
    words: tuple[str, ...]  #: as the user wrote them: names, rows, patterns; none: the profile
    rows: tuple[str, ...]  #: what they mean
    effort: Effort
    seed: int
    command: tuple[str, ...] = ()  #: `run -- COMMAND`: then there are no rows
    needs: Mapping[str, frozenset[str]] = field(default_factory=dict)  #: what rows need of a guest, by row
    program: Program = "probe"  #: whose rows they are
    unsupported: tuple[str, ...] = ()  #: meant too, but not supported where the list was made

    def arguments(self, *extra: str, runs: int | None = None) -> tuple[str, ...]:
        """The probe's arguments, with `extra` before the rows."""
        effort = self.effort
        fixed: tuple[str, ...] = ("--by", self.by, "--profile", self.profile, "--seed", str(self.seed))
        if self.by == "time":
            fixed += ("--seconds", f"{effort.seconds:.6g}", "--half-width", f"{effort.half_width:.6g}")
            fixed += ("--samples", str(effort.samples), "--runs", str(effort.runs if runs is None else runs))
            fixed += ("--budget", f"{effort.budget if runs is None else 0:.6g}", "--batch", str(effort.batch))
            fixed += ("--clock", effort.clock) if effort.clock else ()
        return (*fixed, *extra, *(("--", *self.command) if self.command else self.words))

    def job(self, *extra: str, only: Phase = "", runs: int | None = None) -> Job:
        """A call of the program that carries it out, or that phase of it (by time); by path also a call for each row,
        the same in every plan.
        """
        extra = ("--only", only, *extra) if only else extra
        needs = frozenset[str]().union(*self.needs.values())
        each = ("--by", "path", "--seed", str(self.seed), "--continue")
        calls = [Call(row, (*each, exactly(row)), self.needs.get(row, frozenset())) for row in self.rows]
        by_path = tuple(calls) if self.by == "path" else ()
        arguments = self.arguments(*extra, runs=runs)
        timed = frozenset(self.rows if only in ("", "time") else ())
        allowed = frozenset((*self.rows, *self.unsupported))
        return Job(
            arguments,
            self.by,
            needs,
            silence=self.silence,
            program=self.program,
            calls=by_path,
            rows=timed,
            allowed=allowed,
        )

    @property
    def units(self) -> int:
        """Runs of rows that are made in any case: what progress counts. (A command's three times come together.)"""
        return self.effort.runs * (3 if self.command else len(self.rows)) if self.by == "time" else len(self.rows)

    @property
    def silence(self) -> float:
        """Seconds without a word after which the target is given up. A command of the user's takes what it takes."""
        return self.patience if self.command else SILENCE_SECONDS + self._per_run

    @property
    def patience(self) -> float:
        """Seconds after which the whole is given up: far beyond what any machine needs, since a wait must end."""
        return 600 + self.effort.budget + (self.units + 2 * len(self.rows)) * self._per_run

    @property
    def _per_run(self) -> float:
        return 12 * self.effort.seconds + 5 if self.by == "time" else 0.0


def definitions(
    by: By, profile: str, words: Sequence[str] = (), target: Target | None = None, program: Program = "probe"
) -> tuple[Workload, ...]:
    """What the program's registry has under these names. Raises UsageError for what it has not.

    The target's own program is asked where that costs milliseconds, else this host's, which has the same registry.
    """
    if target is None or not target.quick_start:
        target = lister(program)
    until = Deadline.after(120)

    def listed(profile: str, *names: str) -> tuple[Workload, ...]:
        job = Job(("--list", "--json", "--by", by, "--profile", profile, *names), program=program)
        try:
            return tuple(msgspec.json.decode(line, type=Workload) for line in target.run(job, until))
        except msgspec.DecodeError as error:
            raise TargetError(f"The probe's list cannot be read: {error}.") from error

    if words:
        _check_names(words, listed("full", "*"), program)
    return listed(profile, *words)


def _check_names(words: Sequence[str], known: Sequence[Workload], program: Program) -> None:
    names = {name for one in known for name in (one.name, *(row.row for row in one.rows))}
    for word in words:
        if any(fnmatchcase(name, word) for name in names) if "*" in word else word.removesuffix("@") in names:
            continue
        close = get_close_matches(word, names, n=3)
        hint = f"Did you mean {', '.join(close)}? " if close else ""
        units = program == "probe-trio" or word.startswith("trio/")
        shown = f"kernometer workloads{' --unit-costs' if units else ''}"
        raise UsageError(f"There is no workload {word!r}{_AMONG[program]}.", f"{hint}'{shown}' shows them all.")


#: What a name was looked for among, where it is not what it usually is.
_AMONG: dict[Program, str] = {"probe": "", "probe-trio": " among Trio's unit costs"}


def exactly(row: str) -> str:
    """The word that means this row and no other: one without parameters bears the name of its whole workload."""
    return row if "@" in row else f"{row}@"


def plan_of(
    target: Target | None,
    by: By,
    profile: str,
    words: Sequence[str],
    seed: int,
    program: Program = "probe",
    **changes: float | str | None,
) -> Plan:
    """The plan of a session; `changes` (fields of Effort) override the profile's effort."""
    found = definitions(by, profile, words, target, program)
    rows = tuple(row.row for one in found for row in one.rows if not row.unsupported)
    unsupported = tuple(row.row for one in found for row in one.rows if row.unsupported)
    needs = {row.row: frozenset(row.needs) for one in found for row in one.rows if row.needs and not row.unsupported}
    given = {key: value for key, value in changes.items() if value is not None}
    effort = replace(EFFORTS[profile], **given)  # type: ignore[arg-type]  # click has checked the types
    if by == "time" and "budget" not in given and "runs" not in given:
        effort = replace(effort, budget=min(BUDGETS[profile], ROW_SECONDS * len(rows)))
    return Plan(by, profile, tuple(words), rows, effort, seed, (), needs, program, unsupported)
