"""Are the rights that the kernel holds a domain to those that services.toml names? Read here without the generator's
own readers: the tables by tomllib, the numbers of calls from the interfaces' lines."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import domains
import idl_parse
import structures

ROOT = Path(__file__).parents[3] / "trio"
CONFIG = ROOT / "config"
NAMED: dict[str, dict[str, Any]] = tomllib.loads((CONFIG / "services.toml").read_text())


def numbers(interface: str, names: set[str]) -> set[int]:
    """Of an interface's calls."""
    text = (ROOT / "interfaces" / f"{interface}.idl").read_text()
    found = {name: int(number) for number, name in re.findall(r"^ *(\d+): call (\w+)\(", text, flags=re.MULTILINE)}
    return {found[name] for name in names}


def rows(words: str) -> dict[str, dict[str, str]]:
    """Domain to the members of its `struct domain`, of the structure `words`."""
    known = idl_parse.interfaces(ROOT / "interfaces")
    services = idl_parse.services(CONFIG / "services.toml", known)
    made = structures.structure(CONFIG / "structures", words, services)
    table = domains.written(made, known, services)["domains.c"].partition("const struct domain ")[2]
    found = [dict(re.findall(r"\.(\w+) = (.*),\n", part)) for part in table.split("] = {\n\t\t")[1:]]
    return {row["name"].strip('"'): row for row in found}


def bits(mask: str) -> set[int]:
    return {int(number) for number in re.findall(r"1UL << (\d+)", mask)}


@pytest.mark.parametrize("name", NAMED)
def test_a_process_may_call_and_touch_what_is_named_for_it(name: str) -> None:
    """Expected: each right of the table, and no other. Broken: a service that is given the calls of the others, an
    interrupt of the next line, or a device whose maker's number stands in the place of its own."""
    row, named = rows("micro")[name], NAMED[name]
    assert bits(row["kernel_calls"]) == numbers("kernel", set(named["kernel"]))
    assert bits(row["vm_calls"]) == numbers("vm", {*named.get("vm", ()), "fault"})
    assert int(row["interrupts"], 16) == sum(2**line for line in named.get("interrupts", ()))
    devices = [int("".join(reversed(text.split(":"))), 16) for text in named.get("devices", ())]
    assert [int(number, 16) for number in re.findall(r"0x\w+", row["devices"])] == devices
    assert row["policy"] == f"POLICY_{named.get('at_its_end', 'give up').upper().replace(' ', '_')}"


def test_a_domain_of_all_has_the_rights_of_each_and_the_sternest_end() -> None:
    """Expected: one process of all services may what any of them may, and gives up as pm does. Broken: it begins anew
    as its drivers do, and every request under way is made twice."""
    (row,) = rows("one-server").values()
    assert bits(row["kernel_calls"]) == numbers("kernel", {call for each in NAMED.values() for call in each["kernel"]})
    assert int(row["interrupts"], 16) == 2**4
    ends = {each.get("at_its_end", "give up") for each in NAMED.values()}
    assert ends == {"start again", "give up"}
    assert row["policy"] == "POLICY_GIVE_UP"
