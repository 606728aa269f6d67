"""The price of each boundary: are the boundaries those of Trio's configuration, and do its kernels pay for theirs?"""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest

import idl_parse
import structures
from idl_parse import Wrong
from kernometer import source_folder
from kernometer.cli.trio_kernels import plan_of_sources
from kernometer.explain.partitions import cut, merged
from kernometer.guests.kernels import trio
from tests.support.cli.real import kernometer
from tests.support.trio.boot import Kernel

GETPPID, READ = "syscall/getppid", "syscall/read-zero"


@functools.cache
def known_services() -> tuple[idl_parse.Service, ...]:
    root = source_folder("trio")
    return idl_parse.services(root / "config" / "services.toml", idl_parse.interfaces(root / "interfaces"))


def buildable(structure: str) -> bool:
    try:
        structures.structure(source_folder("trio") / "config" / "structures", structure, known_services())
    except Wrong:
        return False
    return True


def test_the_boundaries_are_those_of_the_configuration() -> None:
    """Expected: every service, and each pair of which one depends on the other; rs, which nobody calls and which copies
    nobody's memory, is no part of it. Broken: the front end's own list."""
    services = [each for each in known_services() if each.name != "rs"]
    found = plan_of_sources()
    assert found.services == tuple(each.name for each in services)
    assert set(found.pairs) == {(a.name, b.name) for a in services for b in services if a.depends_on(b)}


def test_what_is_refused_is_what_does_not_build_and_all_else_does() -> None:
    found = plan_of_sources()
    refused = {pair for pair, _between in found.refused}
    assert ("pm", "vm") in refused
    assert {pair for pair in found.pairs if not buildable(merged(pair))} == refused
    assert all(buildable(each) for each in found.structures)


@pytest.mark.guest
@pytest.mark.slow(minutes=0.6)
def test_an_operation_pays_where_its_service_is_cut_out(kernel: Kernel, tmp_path: Path) -> None:
    """Five kernels. Expected: getppid pays for pm alone, read for vfs alone, each more than its own call; both cut out
    are their own prices together; with pm and vfs in one process neither is cheaper. Broken: prices of other services,
    or a kernel that is not the one that its name says."""
    assert kernel.file.is_file()
    wanted = ("mono", cut("pm"), cut("vfs"), cut("pm", "vfs"), "micro")
    for each in wanted:
        trio.add(each)
    targets = [f"qemu:trio-{each}" for each in wanted]
    kernometer(tmp_path, "ab", "--by", "path", *targets, f"{GETPPID}@", READ, "--label", "b")
    shown = kernometer(tmp_path, "matrix", "label:b", "--boundaries")
    assert "Do prices add up?" in shown.stdout
    assert "are without them: mono+apart=vm" in shown.stderr
    rows = json.loads(kernometer(tmp_path, "matrix", "label:b", "--json").stdout)["boundaries"]["rows"]
    prices = {row["row"]: row for row in rows}
    for row, service, other in ((GETPPID, "pm", "vfs"), (READ, "vfs", "pm")):
        assert prices[row]["cuts"][service] > 1.5 * prices[row]["figures"]["mono"]
        assert 0 <= prices[row]["cuts"][other] < prices[row]["figures"]["mono"] / 2
        assert abs(prices[row]["rest"]) < 0.05 * prices[row]["figures"]["micro"]
