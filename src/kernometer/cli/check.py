"""`kernometer check`: what disturbs measuring on this host, and what to do about it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from kernometer.cli.env import WIDTH, Env, json_option, pass_env

if TYPE_CHECKING:
    from kernometer.host.finding import Finding, HostReport, Severity

#: In the order shown; the rest are named in one line at the end.
TITLES: dict[Severity, str] = {
    "disturbs": "Disturbs measuring",
    "note": "Shapes the figures",
    "unknown": "Cannot be told here",
}
#: Facts of the head line, where the host tells them.
HEAD = ("system", "kernel", "cpu")


@click.command()
@json_option
@pass_env
def command(env: Env) -> None:
    """Say what disturbs measuring on this host, and what to do about each.

    It looks for a third of a second and changes nothing. Every result that is measured here records what it found.
    The commands it advises hold until the next boot.
    """
    from kernometer.host.check import check

    report = check()
    if env.json:
        click.echo(json.dumps(report.as_record(), indent=2, ensure_ascii=False), file=env.out)
        return
    click.echo("\n".join(lines(report, min(env.console().width, WIDTH))), file=env.out)


def lines(report: HostReport, width: int) -> Iterator[str]:
    """The report as text of at most `width` columns; only a command is not broken, since it is to be copied."""
    yield from _wrapped(", ".join(_head(report)) or "This host tells nothing about itself.", width)
    for severity, title in TITLES.items():
        found = report.of(severity)
        if not found:
            continue
        yield ""
        yield f"{title}:"
        for finding in found:
            yield from _finding(finding, width)
    fine = [f"{finding.name} ({finding.value})" for finding in report.of("ok")]
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
