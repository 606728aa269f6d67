"""The plan of a measurement: the rows, how often, and for how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Literal

import msgspec

from kernometer.errors import TargetError, UsageError
from kernometer.results.model import By, Workload
from kernometer.results.processor import Processor
from kernometer.results.rows import Row
from kernometer.targets.base import SILENCE_SECONDS, Call, Deadline, Job, Profiled, Program, Target
from kernometer.targets.local import lister

#: The most seconds of a session by profile, if its rows permit: on two cores quick must end within a minute, full in
#: ten. The rest is for compiling the probe, and for rows that exceed their share (one iteration may take seconds).
BUDGETS = {"quick": 40.0, "full": 480.0}
#: The most seconds per row, so that a few rows do not use the whole budget.
ROW_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Effort:
    """The effort for each row, with the probe's options of the same names. docs/statistics.md, "Effort"."""

    runs: int  #: timed runs of each row; more within the budget
    seconds: float  #: of sampling in one run
    half_width: float  #: relative, between runs; no further runs below it (0.01: 1 %)
    samples: int  #: the most in one run
    budget: float = 0.0  #: seconds of the session for further runs; 0: no further runs
    batch: int = 0  #: iterations in one sample; 0: calibrated
    clock: str = ""  #: for times; "": the probe's choice for its platform
    row_timeout: float = 0.0  #: seconds without output after which a row is given up; 0: far more than any needs
    quantile: float = 0.0  #: rows are timed until this quantile is known; 0: the median, by `half_width`


#: By profile. Runs are short and many, for they differ by more than the samples within them.
EFFORTS = {"quick": Effort(5, 0.015, 0.01, 200), "full": Effort(5, 0.02, 0.005, 200)}


#: What changes where a quantile is asked for: iterations are timed alone, in more runs, which end by their number. (A
#: run that ends by the time ends with the slow iteration that took it.)
FOR_QUANTILE = {"runs": 40, "samples": 512, "seconds": 0.2, "batch": 1}


def effort_of(profile: str, **changes: float | str | None) -> Effort:
    """The profile's effort with these of its fields; None: not given."""
    given = {key: value for key, value in changes.items() if value is not None}
    known = FOR_QUANTILE if given.get("quantile") else {}
    return replace(EFFORTS[profile], **{**known, **given})  # type: ignore[arg-type]  # click has checked the types


#: A single phase of the probe by time: its option --only.
Phase = Literal["", "calibrate", "count", "time"]


@dataclass(frozen=True, slots=True)
class Plan:
    """One session, or one side of an `ab`."""

    by: By
    profile: str
    words: tuple[str, ...]  #: the user's arguments: names, rows, patterns; none: the profile
    rows: tuple[str, ...]  #: the rows of these arguments
    effort: Effort
    seed: int
    command: tuple[str, ...] = ()  #: of `run -- COMMAND`, which has no rows
    needs: Mapping[str, frozenset[str]] = field(default_factory=dict)  #: by row, what it needs of a guest
    program: Program = "probe"  #: the program of the rows
    unsupported: tuple[str, ...] = ()  #: further rows, which were not supported where the list was made
    profiled: Profiled = ""  #: by path: whether each row gets a profile, and which
    processor: Processor | None = None  #: by path: whose memory system is counted

    def arguments(self, *extra: str, runs: int | None = None) -> tuple[str, ...]:
        """The probe's arguments, with `extra` before the rows."""
        effort = self.effort
        fixed: tuple[str, ...] = ("--by", self.by, "--profile", self.profile, "--seed", str(self.seed))
        if self.by == "time":
            fixed += ("--seconds", f"{effort.seconds:.6g}", "--half-width", f"{effort.half_width:.6g}")
            fixed += ("--samples", str(effort.samples), "--runs", str(effort.runs if runs is None else runs))
            budget = 0 if runs is not None or effort.quantile else effort.budget
            fixed += ("--budget", f"{budget:.6g}", "--batch", str(effort.batch))
            fixed += ("--clock", effort.clock) if effort.clock else ()
        return (*fixed, *extra, *(("--", *self.command) if self.command else self.words))

    def job(self, *extra: str, only: Phase = "", runs: int | None = None) -> Job:
        """The job that carries out the plan, or a phase of it by time. By path a row's call is equal in all plans."""
        extra = ("--only", only, *extra) if only else extra
        needs = frozenset[str]().union(*self.needs.values())
        each = ("--by", "path", "--seed", str(self.seed), "--continue")
        calls = [Call(row, (*each, Row(row).argument), self.needs.get(row, frozenset())) for row in self.rows]
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
            profiled=self.profiled,
            geometry=self.processor.geometry.word if self.processor else "",
        )

    def part(self, runs: Mapping[str, int]) -> Plan:
        """The same for these rows alone, each with as many further runs as the row that needs most."""
        part = replace(self, effort=replace(self.effort, runs=max(runs.values())))
        if self.command:
            return part
        return replace(part, words=tuple(Row(row).argument for row in runs), rows=tuple(runs), unsupported=())

    @property
    def units(self) -> int:
        """The number of runs that are made in any case, for progress. A command's three times are one run."""
        return self.each * (3 if self.command else len(self.rows))

    @property
    def each(self) -> int:
        """The number of runs of a row that are made in any case."""
        return self.effort.runs if self.by == "time" else 1

    @property
    def silence(self) -> float:
        """Seconds without output after which the target is given up. A user's command may take as long as it needs."""
        return self.patience if self.command else self.effort.row_timeout or SILENCE_SECONDS + self._per_run

    @property
    def patience(self) -> float:
        """Seconds after which the whole job is given up: far more than any machine needs."""
        effort, rows = self.effort, len(self.rows)
        return 600 + effort.budget + (self.units + 2 * rows) * self._per_run + rows * effort.row_timeout

    @property
    def _per_run(self) -> float:
        """By path a row takes a second or two, and several where other programs compute."""
        return 12 * self.effort.seconds + 5 if self.by == "time" else 20.0


def definitions(
    by: By, profile: str, words: Sequence[str] = (), target: Target | None = None, program: Program = "probe"
) -> tuple[Workload, ...]:
    """The program's definitions of these names. The target's program is asked if that takes milliseconds, else this
    host's, which has the same registry. Raises UsageError for unknown names."""
    if target is None or not target.quick_start:
        target = lister(program)
    until = Deadline.after(120)

    def listed(profile: str, *names: str) -> tuple[Workload, ...]:
        job = Job(("--list", "--json", "--by", by, "--profile", profile, *names), program=program)
        try:
            return tuple(msgspec.json.decode(line, type=Workload) for line in target.run(job, until))
        except msgspec.DecodeError as error:
            raise TargetError(f"The probe's list cannot be read: {error}.") from error

    try:
        return listed(profile, *words)
    except TargetError:  # the probe refuses unknown names, without telling which
        _check_names(words, listed("full", "*"), program)
        raise


def _check_names(words: Sequence[str], known: Sequence[Workload], program: Program) -> None:
    rows = [row.row for workload in known for row in workload.rows]
    names = {name for row in rows for name in (row, Row(row).workload)}
    for word in words:
        if any(Row(row).is_named(word) for row in rows):
            continue
        close = [f"'{word}/*'"] if any(name.startswith(f"{word}/") for name in names) else []
        close = close or get_close_matches(word, names, n=3)
        hint = f"Did you mean {', '.join(close)}? " if close else ""
        units = program == "probe-trio" or Row(word).is_unit_cost
        shown = f"kernometer workloads{' --unit-costs' if units else ''}"
        raise UsageError(f"There is no workload {word!r}{_AMONG[program]}.", f"{hint}'{shown}' shows them all.")


#: The end of the error about an unknown name, by program.
_AMONG: dict[Program, str] = {"probe": "", "probe-trio": " among the unit costs"}


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
    infos = [info for workload in definitions(by, profile, words, target, program) for info in workload.rows]
    rows = tuple(info.row for info in infos if not info.unsupported)
    unsupported = tuple(info.row for info in infos if info.unsupported)
    needs = {info.row: frozenset(info.needs) for info in infos if info.needs and not info.unsupported}
    effort = effort_of(profile, **changes)
    if by == "time" and changes.get("budget") is None and changes.get("runs") is None:
        most = BUDGETS[profile]
        effort = replace(effort, budget=most if effort.quantile else min(most, ROW_SECONDS * len(rows)))
    return Plan(by, profile, tuple(words), rows, effort, seed, (), needs, program, unsupported)
