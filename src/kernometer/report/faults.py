"""What faults did: the table for the terminal, the page with its bars, and the document for other programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kernometer import __version__
from kernometer.faults.kinds import FAIL_STOP, KINDS
from kernometer.faults.outcomes import OUTCOMES, WORDS, Outcome, told, wrong
from kernometer.faults.records import Campaign, Record
from kernometer.report.write.document import plain
from kernometer.report.write.html import fill
from kernometer.report.write.terminal import BLANK, Block, Line
from kernometer.stats.intervals import wilson
from kernometer.text import printable

#: Outcomes after which the system goes on and nothing that was promised is missing.
SURVIVED = ("masked", "delayed")
#: A longer time of an operation is that of a clock that went back.
BACK_NS = 1 << 60
#: Kinds by what they should do, and where.
SORTS = ("fail-stop, drivers", "fail-stop, others", "wrong, drivers", "wrong, others")
NOT_STRUCK = "The faults that never struck are left out: the service did not come to their place again."


@dataclass(frozen=True, slots=True)
class Share:
    """One outcome of a group."""

    outcome: Outcome
    count: int
    of: int

    @property
    def percent(self) -> float:
        return 100 * self.count / self.of if self.of else 0.0

    @property
    def interval(self) -> str:
        """ "2.1–9.4 %", Wilson's, 95 %."""
        low, high = wilson(self.count, self.of)
        return f"{100 * low:.1f}–{100 * high:.1f} %"


@dataclass(frozen=True, slots=True)
class Group:
    """Faults of one sort in one structure."""

    name: str
    shares: tuple[Share, ...]

    @property
    def of(self) -> int:
        return self.shares[0].of


@dataclass(frozen=True, slots=True)
class Structure:
    """All of a structure. `kinds` and `services`: a group for each."""

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
    for number, one in enumerate(structures(campaigns)):
        if number:
            yield BLANK
        yield Line(one.name, "bold")
        yield Line(one.sentence)
        yield from (Line(_words(group), indent=2, lead=f"{group.name}, {group.of}: ") for group in one.every_group)
    yield Line(f"Counts, and 95 % intervals of the shares (Wilson). {NOT_STRUCK}", "dim")


def document(campaigns: Sequence[Campaign]) -> list[dict[str, Any]]:
    """For --json: docs/format.md, "Faults"."""
    return [
        {
            "header": plain(of.header),
            "not_struck": len(of.records) - len(of.struck),
            "wrong_answers": _wrong_answers(of),
            "groups": [
                {
                    "group": group.name,
                    "faults": group.of,
                    "outcomes": {
                        share.outcome: {"count": share.count, "interval": wilson(share.count, share.of)}
                        for share in group.shares
                    },
                }
                for group in one.every_group
            ],
            "faults": plain(of.records),
        }
        for of, one in zip(campaigns, structures(campaigns), strict=True)
    ]


def page(campaigns: Sequence[Campaign]) -> str:
    """As HTML."""
    shown = structures(campaigns)
    values = {
        "title": f"Faults in {', '.join(one.name for one in shown)}",
        "made": f"Kernometer {__version__}",
        "words": [(outcome, WORDS[outcome]) for outcome in OUTCOMES],
        "structures": shown,
        "note": NOT_STRUCK,
    }
    return fill("faults.html.j2", values, "report.css", "faults.css")


def _structure(of: Campaign) -> Structure:
    drivers = set(of.header.drivers)

    def sort(record: Record) -> str:
        place = "drivers" if record.fault.service in drivers else "others"
        return f"{'fail-stop' if record.fault.kind in FAIL_STOP else 'wrong'}, {place}"

    return Structure(
        printable(of.header.target),
        _sentence(of),
        tuple(_groups(of.struck, sort, SORTS)),
        tuple(_groups(of.struck, lambda one: one.fault.kind, KINDS)),
        tuple(_groups(of.struck, lambda one: one.fault.service, (*of.header.drivers, *of.header.services))),
    )


def _groups(records: Sequence[Record], name_of: Callable[[Record], str], names: Sequence[str]) -> Iterator[Group]:
    counted = Counter((name_of(record), record.outcome) for record in records)
    for name in names:
        if total := sum(counted[name, outcome] for outcome in OUTCOMES):
            shares = (Share(outcome, counted[name, outcome], total) for outcome in OUTCOMES)
            yield Group(printable(name), tuple(shares))


def _sentence(of: Campaign) -> str:
    struck = of.struck
    went_on = sum(one.outcome in SURVIVED for one in struck)
    low, high = wilson(went_on, len(struck))
    went = [record.found for record in struck if record.found.services and record.found.ended == "finished"]
    pauses = sorted(pause for one in went for pause in one.pauses_ns)
    again = sorted(one.slowest_ns for one in went if one.slowest_ns < BACK_NS)
    synced = sum(one.found.lost > 0 for one in struck if one.found.ended != "finished")
    sentences = [
        f"{len(struck)} of {len(of.records)} faults struck.",
        f"After {went_on} of them ({100 * low:.1f}–{100 * high:.1f} %) all went on with all data.",
        f"Of the machines that hung or died {synced} had lost synced data on a disk that could still be read.",
    ]
    for what, times in (("A service that ended began anew after", pauses), ("The longest operation then took", again)):
        if times:
            middle, last = (f"{each / 1e6:,.2f} ms" for each in (times[len(times) // 2], times[-1]))
            sentences.append(f"{what} {middle} (median of {len(times)}), at most {last}.")
    answers = _wrong_answers(of)
    if total := answers["faults"]:
        low, high = wilson(answers["told"], total)
        sentences.append(
            f"Wrong answers of drivers made data wrong, or were refused, {total} times; "
            f"programs met an error in {answers['told']} of them ({100 * low:.1f}–{100 * high:.1f} %)."
        )
    return " ".join(sentences)


def _wrong_answers(of: Campaign) -> dict[str, int]:
    """Faults of the kinds that make a driver's answers wrong, after which the system went on and data were wrong, or
    an answer was refused; and how many of them the system told of."""
    found = [
        record.found
        for record in of.struck
        if record.fault.service in of.header.drivers
        and record.fault.kind not in FAIL_STOP
        and record.found.ended == "finished"
    ]
    found = [one for one in found if one.refused or wrong(one, of.header.usual)]
    return {"faults": len(found), "told": sum(map(told, found))}


def _words(group: Group) -> str:
    return ", ".join(f"{WORDS[one.outcome]} {one.count} ({one.interval})" for one in group.shares if one.count)
