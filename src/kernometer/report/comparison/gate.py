"""A gate's result as lines for the terminal, as Markdown, as JUnit's XML, and as a mail. All texts may come from a
machine."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from email import policy
from email.message import EmailMessage
from typing import Any
from xml.etree import ElementTree as ET

from kernometer.report.session.systems import single
from kernometer.report.words.units import format_factor, format_percent, ratio_interval, ratio_text
from kernometer.results.model import Result
from kernometer.results.rows import Row
from kernometer.stats.gate import FAILING, Gate, GateRow, Outcome
from kernometer.stats.model import RowComparison
from kernometer.text import printable

#: Rows that a summary lists for each outcome; characters of one text.
MOST, TEXT = 100, 300
#: Undecided rows that the terminal lists.
MOST_UNDECIDED = 5
#: The widest line of a mail's text: four quotations of it still fit a terminal (RFC 3676, section 4.2).
WIDTH = 72
_SHOWN = (Outcome.WORSE, Outcome.LOST, Outcome.ALLOWED, Outcome.UNDECIDED, Outcome.BETTER)


def sentence(gate: Gate) -> str:
    """The first line: whether it passed, and how many rows of each kind there are."""
    counts = ", ".join(f"{len(gate.rows_with(each))} {each.value}" for each in Outcome if gate.rows_with(each))
    why = f" ({gate.empty})" if gate.empty else ""
    passed = "passed" if gate.passed else "failed"
    if gate.passed and gate.rows_with(Outcome.UNDECIDED):
        passed = "passed what it could tell"
    if gate.strict:
        passed += " (strict)"
    return printable(f"Gate {passed}: {gate.comparison.b} against {gate.comparison.a}: {counts}{why}")


def lines(gate: Gate) -> list[str]:
    """The sentence, then each row that fails, is undecided or allowed, or was measured again, with its explanation."""
    texts = [sentence(gate), *(f"  {_shown(condition)}" for condition in gate.comparison.conditions)]
    for row in _told(gate):
        texts.append(f"  {row.outcome.value}: {_shown(row.judged.row)}: {_text(row)}")
        texts += [f"    {_shown(line)}" for line in row.explanation]
    undecided = len(gate.rows_with(Outcome.UNDECIDED))
    if undecided > MOST_UNDECIDED:
        texts.append(f"  and {undecided - MOST_UNDECIDED} more undecided rows")
    return texts


def _told(gate: Gate) -> list[GateRow]:
    listed = gate.rows_with(*FAILING, Outcome.ALLOWED)
    listed += tuple(row for row in gate.rows_with(Outcome.SAME, Outcome.BETTER) if row.first is not None)
    undecided = sorted(
        gate.rows_with(Outcome.UNDECIDED), key=lambda row: (row.first is None, -(row.judged.ratio or 0.0))
    )
    return [*listed, *undecided[:MOST_UNDECIDED]]


def document(gate: Gate) -> dict[str, Any]:
    """The gate for --json, with every row."""
    return {
        "passed": gate.passed,
        "strict": gate.strict,
        "empty": gate.empty,
        "counts": {each.value: len(gate.rows_with(each)) for each in Outcome},
        "rows": [
            {
                "row": row.judged.row,
                "outcome": row.outcome.value,
                "fails": row.outcome in gate.failing,
                "before": row.first.value if row.first else None,
                "explanation": row.explanation,
            }
            for row in gate.rows
        ],
    }


def markdown(gates: Sequence[Gate]) -> bytes:
    """For a pull request's comment or GITHUB_STEP_SUMMARY: one table a comparison."""
    parts = []
    for gate in gates:
        parts.append(f"### {'✅' if gate.passed else '❌'} {_code(sentence(gate))}\n")
        rows = [row for each in _SHOWN for row in gate.rows_with(each)[:MOST]]
        if rows:
            parts.append("| | row | A | B | B/A | |\n|---|---|---:|---:|---:|---|")
            parts += [_cells(row) for row in rows]
        left = sum(max(0, len(gate.rows_with(each)) - MOST) for each in _SHOWN)
        parts.append(f"\n{left} more rows are not listed.\n" if left else "")
        parts += [f"- {_code(remark)}" for remark in (*gate.comparison.conditions, *gate.comparison.remarks)]
        parts.append("")
    return "\n".join(parts).encode()


def _cells(row: GateRow) -> str:
    judged = row.judged
    told = ("; ".join(judged.notes) if row.outcome not in (Outcome.WORSE, Outcome.BETTER) else "", *row.explanation)
    figures = (single(judged.a).text, single(judged.b).text, _ratio(judged))
    cells = (row.outcome.value, _code(judged.row), *figures, "<br>".join(_code(each) for each in told if each))
    return f"| {' | '.join(cells)} |"


def junit(gates: Sequence[Gate]) -> bytes:
    """The form that CI systems read: a suite for each comparison, a case for each row; undecided rows are skipped."""
    root = ET.Element("testsuites", name="kernometer")
    for gate in gates:
        name = _shown(f"{gate.comparison.b} against {gate.comparison.a}")
        counts = {"tests": gate.rows, "failures": gate.rows_with(*gate.failing)}
        numbers = {what: str(len(rows) + bool(gate.empty)) for what, rows in counts.items()}
        skipped = "0" if gate.strict else str(len(gate.rows_with(Outcome.UNDECIDED)))
        suite = ET.SubElement(root, "testsuite", numbers, name=name, errors="0", skipped=skipped)
        if gate.empty:
            case = ET.SubElement(suite, "testcase", classname="gate", name="decided")
            ET.SubElement(case, "failure", message=_shown(gate.empty), type="nothing decided")
        for row in gate.rows:
            family = _shown(Row(row.judged.row).family)
            case = ET.SubElement(suite, "testcase", classname=family, name=_shown(row.judged.row))
            if row.outcome in gate.failing:
                failure = ET.SubElement(case, "failure", message=_text(row), type=row.outcome.value)
                failure.text = "\n".join(map(_shown, row.explanation))
            elif row.outcome is Outcome.UNDECIDED:
                ET.SubElement(case, "skipped", message=_text(row))
    ET.indent(root)
    made: bytes = ET.tostring(root, "utf-8", xml_declaration=True)
    return made + b"\n"


def mail(gates: Sequence[Gate], systems: Mapping[str, Sequence[Result]]) -> bytes:
    """For a list of kernel developers: a message with its subject, without sender and receivers. `systems`: results by
    a side's name, whose newest says what was booted, and where it is measured again."""
    message = EmailMessage(policy.SMTP.clone(linesep="\n", utf8=True, max_line_length=None))
    message["Subject"] = f"[kernometer] {'; '.join(map(_subject, gates))}"
    message.set_content("\n".join(line for gate in gates for line in _paragraphs(gate, systems)), cte="8bit")
    return message.as_bytes()


def _subject(gate: Gate) -> str:
    worst = max(gate.again or gate.rows_with(*gate.failing), key=lambda row: row.judged.ratio or 0.0, default=None)
    if worst is None:
        return sentence(gate)
    more = len(gate.rows_with(*gate.failing)) - 1
    others = f", and {more} more row{'s' if more > 1 else ''}" if more else ""
    ratio = "" if worst.judged.ratio is None else f" {ratio_text(worst.judged.ratio)}"
    return f"{_shown(gate.comparison.b)}: {_shown(worst.judged.row)} {worst.outcome.value}{ratio}{others}"


def _paragraphs(gate: Gate, systems: Mapping[str, Sequence[Result]]) -> Iterator[str]:
    compared = gate.comparison
    sessions = [max(systems[name], key=lambda each: each.session.started).session for name in (compared.a, compared.b)]
    yield from _wrapped(sentence(gate))
    for side, session in zip("AB", sessions, strict=True):
        yield from _wrapped(f"{side}: {session.image or session.target}", "  ")
    yield ""
    rows = [row for each in _SHOWN for row in gate.rows_with(each)[:MOST]]
    if rows:
        yield f"{'A':>16} {'B':>16}   B/A   row"
    for row in rows:
        ratio = "" if row.judged.ratio is None else ratio_text(row.judged.ratio)
        a, b = (single(side).text for side in (row.judged.a, row.judged.b))
        yield f"{a:>16} {b:>16} {ratio:>7}  {_shown(row.judged.row)} ({row.outcome.value})"
        for line in row.explanation:
            yield from _wrapped(line, "    ")
    yield ""
    for what in compared.differs:
        yield from _wrapped(f"{what.what}: {what.a} | {what.b}")
    for remark in (*compared.conditions, *compared.remarks):
        yield from _wrapped(remark)
    failing = [Row(row.judged.row).argument for row in gate.rows_with(*gate.failing)[:MOST]]
    how = ("--by", "path", "--functions") if sessions[0].by == "path" else ()
    words = ("kernometer", "ab", *how, "--gate", *(session.target for session in sessions), *failing)
    yield from ("", "To reproduce:", "", f"  {printable(shlex.join(words))}", "")


def _wrapped(text: str, indent: str = "") -> list[str]:
    """A path and a digest stay whole."""
    wrapper = textwrap.TextWrapper(WIDTH, indent, f"{indent}  ", break_long_words=False, break_on_hyphens=False)
    return wrapper.wrap(_shown(text))


def _text(row: GateRow) -> str:
    judged = row.judged
    if judged.ratio is None:
        return _shown("; ".join(judged.notes) or "no figure")
    ratio = f"ratio {_ratio(judged)}{' of means' if judged.by_mean else ''}"
    told = f"{single(judged.a).text} to {single(judged.b).text}, {ratio}"
    if row.outcome is not Outcome.UNDECIDED:
        return told
    sees = () if judged.smallest is None else (f"a difference below {format_factor(judged.smallest)} would not show",)
    return _shown("; ".join((told, *sees, *judged.notes)))


def _ratio(row: RowComparison) -> str:
    if row.ratio is None:
        return ""
    floor = f"(floor {format_percent(row.floor)})" if row.floor else ""
    return f"{ratio_text(row.ratio)} {ratio_interval(row) or floor}".rstrip()


def _shown(text: str) -> str:
    return printable(text, TEXT)


def _code(text: str) -> str:
    """As a code span, in which Markdown knows no markup, no link and no @name; a table's cells end at |."""
    return "`" + _shown(text).replace("`", "'").replace("|", "\\|") + "`"
