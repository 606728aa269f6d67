"""A gate's result as lines for the terminal, as Markdown, and as JUnit's XML. All texts may come from a machine."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from kernometer.report.subjects import single
from kernometer.report.units import format_percent, ratio_interval, ratio_text
from kernometer.stats.gate import FAILING, Gate, GateRow, Outcome
from kernometer.stats.model import RowComparison
from kernometer.text import printable

#: Rows that a summary lists for each outcome; characters of one text.
MOST, TEXT = 100, 300
_SHOWN = (Outcome.WORSE, Outcome.LOST, Outcome.ALLOWED, Outcome.UNDECIDED, Outcome.BETTER)


def sentence(gate: Gate) -> str:
    """The first line: whether it passed, and how many rows of each kind there are."""
    counts = ", ".join(f"{len(gate.of(each))} {each.value}" for each in Outcome if gate.of(each))
    why = f" ({gate.empty})" if gate.empty else ""
    return printable(
        f"Gate {'passed' if gate.passed else 'failed'}: {gate.comparison.b} against {gate.comparison.a}: {counts}{why}"
    )


def lines(gate: Gate) -> list[str]:
    """The sentence, then each row that fails or is allowed, with its explanation."""
    found = [sentence(gate)]
    for row in gate.of(*FAILING, Outcome.ALLOWED):
        found.append(f"  {row.outcome.value}: {_shown(row.of.row)}: {_text(row)}")
        found += [f"    {_shown(line)}" for line in row.explanation]
    return found


def markdown(gates: Sequence[Gate]) -> bytes:
    """For a pull request's comment or GITHUB_STEP_SUMMARY: one table a comparison."""
    parts = []
    for gate in gates:
        parts.append(f"### {'✅' if gate.passed else '❌'} {_code(sentence(gate))}\n")
        rows = [row for each in _SHOWN for row in gate.of(each)[:MOST]]
        if rows:
            parts.append("| | row | A | B | B/A | |\n|---|---|---:|---:|---:|---|")
            parts += [_cells(row) for row in rows]
        left = sum(max(0, len(gate.of(each)) - MOST) for each in _SHOWN)
        parts.append(f"\n{left} more rows are not listed.\n" if left else "")
        parts += [f"- {_code(remark)}" for remark in gate.comparison.remarks]
        parts.append("")
    return "\n".join(parts).encode()


def _cells(row: GateRow) -> str:
    of = row.of
    told = ("; ".join(of.notes) if row.outcome not in (Outcome.WORSE, Outcome.BETTER) else "", *row.explanation)
    figures = (single(of.a).text, single(of.b).text, _ratio(of))
    cells = (row.outcome.value, _code(of.row), *figures, "<br>".join(_code(each) for each in told if each))
    return f"| {' | '.join(cells)} |"


def junit(gates: Sequence[Gate]) -> bytes:
    """The form that CI systems read: a suite for each comparison, a case for each row; undecided rows are skipped."""
    root = ET.Element("testsuites", name="kernometer")
    for gate in gates:
        name = _shown(f"{gate.comparison.b} against {gate.comparison.a}")
        counts = {"tests": gate.rows, "failures": gate.of(*FAILING)}
        numbers = {what: str(len(rows) + bool(gate.empty)) for what, rows in counts.items()}
        skipped = str(len(gate.of(Outcome.UNDECIDED)))
        suite = ET.SubElement(root, "testsuite", numbers, name=name, errors="0", skipped=skipped)
        if gate.empty:
            case = ET.SubElement(suite, "testcase", classname="gate", name="decided")
            ET.SubElement(case, "failure", message=_shown(gate.empty), type="nothing decided")
        for row in gate.rows:
            family = _shown(row.of.row.partition("/")[0])
            case = ET.SubElement(suite, "testcase", classname=family, name=_shown(row.of.row))
            if row.outcome in FAILING:
                failure = ET.SubElement(case, "failure", message=_text(row), type=row.outcome.value)
                failure.text = "\n".join(map(_shown, row.explanation))
            elif row.outcome is Outcome.UNDECIDED:
                ET.SubElement(case, "skipped", message=_text(row))
    ET.indent(root)
    made: bytes = ET.tostring(root, "utf-8", xml_declaration=True)
    return made + b"\n"


def _text(row: GateRow) -> str:
    of = row.of
    if of.ratio is None:
        return _shown("; ".join(of.notes) or "no figure")
    told = f"{single(of.a).text} to {single(of.b).text}, ratio {_ratio(of)}"
    return told if row.outcome is not Outcome.UNDECIDED else _shown("; ".join((told, *of.notes)))


def _ratio(of: RowComparison) -> str:
    if of.ratio is None:
        return ""
    floor = f"(floor {format_percent(of.floor)})" if of.floor else ""
    return f"{ratio_text(of.ratio)} {ratio_interval(of) or floor}".rstrip()


def _shown(text: str) -> str:
    return printable(text, TEXT)


def _code(text: str) -> str:
    """As a code span, in which Markdown knows no markup, no link and no @name; a table's cells end at |."""
    return "`" + _shown(text).replace("`", "'").replace("|", "\\|") + "`"
