"""`kernometer check`: what disturbs measuring on this host, and what to do about it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from kernometer.cli.env import WIDTH, Env
from kernometer.host import Finding, HostReport, Severity
from kernometer.host.check import check

#: In the order shown. The last line of the output names all other findings.
TITLES: dict[Severity, str] = {
    "disturbs": "Disturbs measuring",
    "note": "Shapes the figures",
    "unknown": "Not known on this host",
}
#: Facts of the first line, if the host reports them.
HEAD = ("system", "kernel", "cpu")


def command(env: Env) -> None:
    report = check()
    if env.json:
        env.print_json(report.as_record(), indent=2, ensure_ascii=False)
    else:
        env.print("\n".join(lines(report, min(env.console().width, WIDTH))))


def lines(report: HostReport, width: int) -> Iterator[str]:
    """The report as text of at most `width` columns. A command is never broken, so that it can be copied."""
    yield from _wrapped(", ".join(_head(report)) or "This host reports nothing about itself.", width)
    for severity, title in TITLES.items():
        findings = report.with_severity(severity)
        if not findings:
            continue
        yield ""
        yield f"{title}:"
        for finding in findings:
            yield from _finding(finding, width)
    fine = [f"{finding.name} ({finding.value})" for finding in report.with_severity("ok")]
    if fine:
        yield ""
        yield from _wrapped("Nothing to do: " + ", ".join(fine) + ".", width)


def _head(report: HostReport) -> list[str]:
    facts = report.facts
    words = [str(facts[name]) for name in HEAD if name in facts]
    if "cpus_online" in facts:
        words.append(f"{facts['cpus_online']} CPU" + ("s" if facts["cpus_online"] != 1 else ""))
    if "memory_bytes" in facts:
        words.append(f"{facts['memory_bytes'] / 2**30:.1f} GiB")
    return words


def _finding(finding: Finding, width: int) -> Iterator[str]:
    yield from _wrapped(f"{finding.name}: {finding.value}", width, "  ")
    if finding.effect:
        yield from _wrapped(finding.effect, width, "    ")
    if finding.advice.endswith("."):
        yield from _wrapped(f"> {finding.advice}", width, "    ")
    elif finding.advice:
        yield f"    > {finding.advice}"


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent + "  " * bool(indent))
