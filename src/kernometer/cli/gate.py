"""--gate of `ab` and `compare`: an exit status and summaries for continuous integration. docs/gate.md."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from kernometer.cli.env import Env
from kernometer.errors import Status, UsageError
from kernometer.explain.functions import differences
from kernometer.report.comparison import gate as report
from kernometer.report.profile.functions import sentence_of
from kernometer.report.write.file import write
from kernometer.results.model import Result
from kernometer.results.rows import Row
from kernometer.stats.gate import Allowance, Gate, gate, looked_again
from kernometer.stats.model import Comparison
from kernometer.text import some

if TYPE_CHECKING:
    from kernometer.cli.second import Again  # imports the campaign, which stored results do not need


@dataclass(frozen=True, slots=True)
class Wanted:
    """The options of one call."""

    allowed: tuple[Allowance, ...]
    strict: bool
    markdown: Path | None
    junit: Path | None
    mail: Path | None

    def check_allowed(self, rows: Iterable[str]) -> None:
        """Raises UsageError if an allowance names none of the rows: it would allow nothing, unnoticed."""
        known = tuple(rows)
        for allowance in self.allowed:
            if not any(Row(row).is_named(allowance.rows) for row in known):
                text = f"--allow {allowance.rows!r} names no row that is compared."
                raise UsageError(text, f"They are {some(known)}.")


def wanted(
    *, gate: bool, strict: bool, allow: tuple[str, ...], markdown: Path | None, junit: Path | None, mail: Path | None
) -> Wanted | None:
    """What these options (options.GATE) ask for; None without --gate."""
    if gate:
        return Wanted(tuple(map(_allowance, allow)), strict, markdown, junit, mail)
    if strict or allow or markdown or junit or mail:
        raise UsageError("--strict, --allow, --markdown, --junit and --mail belong to a gate.", "Add --gate.")
    return None


def _allowance(word: str) -> Allowance:
    """`fs/*=1.5%`. A row's name may have an = and a number at its end, and no %."""
    if not word.endswith("%"):
        return Allowance(word)
    rows, _, percent = word[:-1].rpartition("=")
    try:
        share = float(percent) / 100
    except ValueError:
        share = math.nan
    if not rows or not 0 <= share < math.inf:
        raise UsageError(f"--allow {word}: not a row and a percentage.", "For example --allow 'fs/*=1.5%'.")
    return Allowance(rows, share)


def judged(
    wanted: Wanted | None,
    systems: Mapping[str, Sequence[Result]],
    comparisons: Sequence[Comparison],
    again: Again | None = None,
) -> list[Gate]:
    """The gate of each comparison; () without --gate. `again`: measures the rows that fail a second time. `systems`:
    the results by name, as for show_comparisons. Raises UsageError for an allowance that allows nothing."""
    if wanted is None:
        return []
    gates = []
    for comparison in comparisons:
        sides = systems[comparison.a], systems[comparison.b]
        changed = differences(*sides, (row.row for row in comparison.rows if row.ratio not in (None, 1)))
        lines_of = {row: (sentence_of(each),) for row, each in changed.items()}
        first = gate(comparison, *sides, wanted.allowed, lines_of, strict=wanted.strict)
        seconds = again.look(first) if again is not None else {}
        gates.append(looked_again(first, seconds, wanted.allowed))
    wanted.check_allowed(dict.fromkeys(row.judged.row for each in gates for row in each.rows))
    return gates


def tell(env: Env, wanted: Wanted, systems: Mapping[str, Sequence[Result]], gates: Sequence[Gate]) -> Status:
    """Prints each gate (beside --json on the error stream), and writes the summaries. `systems` as for judged. Raises
    ResultError if a summary cannot be written."""
    for line in (line for each in gates for line in report.lines(each)):
        if env.json:
            env.say(line)
        else:
            env.console().print(Text(line))
    for path, form in (
        (wanted.markdown, report.markdown),
        (wanted.junit, report.junit),
        (wanted.mail, partial(report.mail, systems=systems)),
    ):
        if path is not None:
            write(path, form(gates), "summary")
    return Status.DONE if all(each.passed for each in gates) else Status.GATE
