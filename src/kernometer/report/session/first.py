"""The summary of a report: what was measured, whether it can be trusted, and the rows that people ask for first."""

from __future__ import annotations

from collections.abc import Sequence

from kernometer.report.session.systems import Subject, pooled_figure, rows_of
from kernometer.report.words.flags import noisy
from kernometer.report.words.names import name, sentence
from kernometer.report.words.units import counted, format_percent
from kernometer.results.rows import Row
from kernometer.stats.flags import disturbance
from kernometer.stats.model import RowFigure
from kernometer.tables import packaged

#: The rows that people ask for first, in the order in which they ask.
FIRST: tuple[str, ...] = tuple(packaged(__package__, "first.toml")["rows"])
_TIMES = ("system", "user")
#: Up to so many lines are all shown.
FEW = 2 * len(FIRST)


def title(subjects: Sequence[Subject]) -> str:
    """For one system its kernel and host, for several their names."""
    names = [subject.system.name for subject in subjects]
    if len(names) > 1:
        return " against ".join(reversed(names)) if len(names) == 2 else ", ".join(names)
    facts = subjects[0].system.facts
    return " on ".join(facts[key] for key in ("Kernel", "Host") if key in facts) or names[0]


def lead(subjects: Sequence[Subject]) -> str:
    """What was measured: how many rows, in how many sessions, and how many failed."""
    sessions = [result for subject in subjects for result in subject.results]
    failed = len({(failure.row, result.session.id) for result in sessions for failure in result.failures})
    text = f"{counted(len(rows_of(subjects)), 'row')} measured in {counted(len(sessions), 'session')}"
    return " ".join([f"{text}, {failed} failed." if failed else f"{text}.", *_kernels_shares(subjects)])


def _kernels_shares(subjects: Sequence[Subject]) -> list[str]:
    """A sentence on each command's processor time, with the interval of its system time."""
    sentences = []
    for subject in subjects:
        for row in rows_of([subject]):
            if not Row(row).command or Row(row).point != "time=system":
                continue
            names = [row.replace("@time=system", f"@time={which}") for which in _TIMES]
            system, user = (pooled_figure(subject.figures_of(name_of_time)) for name_of_time in names)
            if system is None or user is None or (system.value is None and user.value is None):
                continue
            total = (system.value or 0.0) + (user.value or 0.0)
            ends = [end / total for end in (system.value_low, system.value_high) if end is not None]
            told = f" ({format_percent(ends[0])} to {format_percent(min(1.0, ends[1]))})" if len(ends) > 1 else ""
            if system.value is None or user.value is None:
                told = f" ({'user' if user.value is None else 'system'} time is below resolution)"
            who = f"{subject.letter}: the" if len(subjects) > 1 else "The"
            command = name(Row(row).command)
            share = format_percent((system.value or 0.0) / total)
            what = f"{who} kernel's share of {command}'s processor time"
            sentences.append(f"{what} is {share}{told}, by sums over executions.")
    return sentences


def trust(subjects: Sequence[Subject]) -> str:
    """Whether the figures can be trusted, in one sentence: incomplete sessions, disturbances, width of intervals."""
    results = [result for subject in subjects for result in subject.results]
    sessions = [session for subject in subjects for session in subject.figures]
    figures = [figure for session in sessions for figure in session.values() if figure.value is not None]
    disturbances = [disturbance(result) for result in results]
    noises = [noise for noise in map(noisy, disturbances) if noise]
    cut = [view.state for subject in subjects for view in subject.system.sessions if not view.complete]
    parts = [f"{_share_of(cut, results)}not complete: {cut[0]}"] if cut else []
    if noises:
        parts.append(_share_of(noises, results) + noises[0].rstrip("."))
    elif any(disturbances):
        parts.append("other work hardly disturbed the runs")
    text = "; ".join([*parts, *_known(figures)])
    return sentence(f"{text[:1].upper()}{text[1:]}.") if text else ""


def _share_of(some: Sequence[object], every: Sequence[object]) -> str:
    return f"{len(some)} of {len(every)} sessions: " if len(every) > 1 else ""


def _known(figures: Sequence[RowFigure]) -> list[str]:
    """The width of the figures' intervals: the median, and that of nine in ten; for counts how many are exact."""
    exact = sum(figure.exact for figure in figures)
    if exact:
        return [f"{exact} of {len(figures)} counts are exact, and independent of what else the machine does"]
    shares = sorted(
        max(figure.value_high - figure.value, figure.value - figure.value_low) / abs(figure.value)
        for figure in figures
        if figure.value and figure.value_low is not None and figure.value_high is not None
    )
    if not shares:
        return ["no figure has an interval"] if figures else []
    half, most = (format_percent(shares[round(share * (len(shares) - 1))]) for share in (0.5, 0.9))
    return [f"half of the figures are known to ±{half} within a session, nine in ten to ±{most}"]
