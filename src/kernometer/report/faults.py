"""What faults did: the table for the terminal, the page with its bars, and the document for other programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kernometer.faults.kinds import FAIL_STOP, KINDS
from kernometer.faults.outcomes import OUTCOMES, WORDS, Outcome, told, wrong
from kernometer.faults.records import Campaign, Record
from kernometer.report.write.document import plain
from kernometer.report.write.html import fill
from kernometer.report.write.terminal import Block, Line
from kernometer.stats.intervals import wilson
from kernometer.text import printable

#: Outcomes after which the system goes on and nothing that was promised is missing.
SURVIVED = ("masked", "delayed")
#: An operation that took longer shows that a clock went back.
BACK_NS = 1 << 60
#: Kinds by what they should do, and where.
SORTS = ("fail-stop, drivers", "fail-stop, others", "wrong, drivers", "wrong, others")
NOT_STRUCK = "The faults that never struck are left out: the service did not come to their place again."


@dataclass(frozen=True, slots=True)
class Share:
    """One outcome of a group."""

    outcome: Outcome
    count: int
    total: int

    @property
    def percent(self) -> float:
        return 100 * self.count / self.total if self.total else 0.0

    @property
    def interval(self) -> str:
        """ "2.1–9.4 %", Wilson's, 95 %."""
        low, high = wilson(self.count, self.total)
        return f"{100 * low:.1f}–{100 * high:.1f} %"


@dataclass(frozen=True, slots=True)
class Group:
    """Faults of one sort in one structure."""

    name: str
    shares: tuple[Share, ...]

    @property
    def total(self) -> int:
        return self.shares[0].total


@dataclass(frozen=True, slots=True)
class Structure:
    """All faults of a structure; `kinds` and `services`: a group for each."""

    name: str
    sentence: str
    groups: tuple[Group, ...]
    kinds: tuple[Group, ...]
    services: tuple[Group, ...]

    @property
    def every_group(self) -> tuple[Group, ...]:
        return (*self.groups, *self.kinds, *self.services)


def structures(campaigns: Sequence[Campaign]) -> tuple[Structure, ...]:
    return tuple(map(_structure, campaigns))


def blocks(campaigns: Sequence[Campaign]) -> Iterator[Block]:
    """For the terminal: of each structure a sentence and the groups."""
    for number, structure in enumerate(structures(campaigns)):
        yield Line(structure.name, "bold", apart=number > 0)
        yield Line(structure.sentence)
        groups = structure.every_group
        yield from (Line(_words(group), indent=2, lead=f"{group.name}, {group.total}: ") for group in groups)
    yield Line(f"Counts, and 95 % intervals of the shares (Wilson). {NOT_STRUCK}", "dim")


def document(campaigns: Sequence[Campaign]) -> list[dict[str, Any]]:
    """For --json: docs/format.md, "Faults"."""
    return [
        {
            "header": plain(campaign.header),
            "not_struck": len(campaign.records) - len(campaign.struck),
            "wrong_answers": _wrong_answers(campaign),
            "groups": [
                {
                    "group": group.name,
                    "faults": group.total,
                    "outcomes": {
                        share.outcome: {"count": share.count, "interval": wilson(share.count, share.total)}
                        for share in group.shares
                    },
                }
                for group in structure.every_group
            ],
            "faults": plain(campaign.records),
        }
        for campaign, structure in zip(campaigns, structures(campaigns), strict=True)
    ]


def page(campaigns: Sequence[Campaign]) -> str:
    """As HTML."""
    shown = structures(campaigns)
    values = {
        "title": f"Faults in {', '.join(structure.name for structure in shown)}",
        "words": [(outcome, WORDS[outcome]) for outcome in OUTCOMES],
        "structures": shown,
        "note": NOT_STRUCK,
    }
    return fill("faults.html.j2", values, "report.css", "faults.css")


def _structure(campaign: Campaign) -> Structure:
    drivers = set(campaign.header.drivers)
    services = (*campaign.header.drivers, *campaign.header.services)

    def sort(record: Record) -> str:
        place = "drivers" if record.fault.service in drivers else "others"
        return f"{'fail-stop' if record.fault.kind in FAIL_STOP else 'wrong'}, {place}"

    return Structure(
        printable(campaign.header.target),
        _sentence(campaign),
        tuple(_groups(campaign.struck, sort, SORTS)),
        tuple(_groups(campaign.struck, lambda record: record.fault.kind, KINDS)),
        tuple(_groups(campaign.struck, lambda record: record.fault.service, services)),
    )


def _groups(records: Sequence[Record], name_of: Callable[[Record], str], names: Sequence[str]) -> Iterator[Group]:
    counted = Counter((name_of(record), record.outcome) for record in records)
    for name in names:
        if total := sum(counted[name, outcome] for outcome in OUTCOMES):
            shares = (Share(outcome, counted[name, outcome], total) for outcome in OUTCOMES)
            yield Group(printable(name), tuple(shares))


def _sentence(campaign: Campaign) -> str:
    struck = campaign.struck
    went_on = sum(record.outcome in SURVIVED for record in struck)
    low, high = wilson(went_on, len(struck))
    went = [record.findings for record in struck if record.findings.services and record.findings.ended == "finished"]
    pauses = sorted(pause for observed in went for pause in observed.pauses_ns)
    again = sorted(observed.slowest_ns for observed in went if observed.slowest_ns < BACK_NS)
    synced = sum(record.findings.lost > 0 for record in struck if record.findings.ended != "finished")
    sentences = [
        f"{len(struck)} of {len(campaign.records)} faults struck.",
        f"After {went_on} of them ({100 * low:.1f}–{100 * high:.1f} %) all went on with all data.",
        f"Of the machines that hung or died {synced} had lost synced data on a disk that could still be read.",
    ]
    for what, times in (("A service that ended began anew after", pauses), ("The longest operation then took", again)):
        if times:
            middle, last = (f"{each / 1e6:,.2f} ms" for each in (times[len(times) // 2], times[-1]))
            sentences.append(f"{what} {middle} (median of {len(times)}), at most {last}.")
    answers = _wrong_answers(campaign)
    if total := answers["faults"]:
        low, high = wilson(answers["told"], total)
        sentences.append(
            f"Wrong answers of drivers made data wrong, or were refused, {total} times; "
            f"programs met an error in {answers['told']} of them ({100 * low:.1f}–{100 * high:.1f} %)."
        )
    return " ".join(sentences)


def _wrong_answers(campaign: Campaign) -> dict[str, int]:
    """Counts the wrong answers of drivers: after the fault the system went on, and data were wrong or an answer was
    refused. "told" counts those that the system reported."""
    answered = [
        record.findings
        for record in campaign.struck
        if record.fault.service in campaign.header.drivers
        and record.fault.kind not in FAIL_STOP
        and record.findings.ended == "finished"
    ]
    answered = [observed for observed in answered if observed.refused or wrong(observed, campaign.header.usual)]
    return {"faults": len(answered), "told": sum(map(told, answered))}


def _words(group: Group) -> str:
    shown = [share for share in group.shares if share.count]
    return ", ".join(f"{WORDS[share.outcome]} {share.count} ({share.interval})" for share in shown)
