"""UDP and TCP over loopback in Trio: busybox's programs, the probe's rows, and a kernel without lwIP."""

from __future__ import annotations

import json
from collections.abc import Collection
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from kernometer.errors import MissingError
from kernometer.guests.kernels import trio
from kernometer.guests.packages import apt, sourcelist, suites
from tests.support.trio.boot import Kernel, Machine, boot, initramfs
from tests.support.trio.fixtures import Program
from tests.support.trio.partitions import MONO_AND_IN_TURN

ROWS = ("ipc/tcp-lat", "ipc/udp-lat", "ipc/tcp-connect", "ipc/tcp-bw")
#: What net_witness.c calls three of them.
WITNESSED = {"ipc/tcp-lat": "tcp", "ipc/udp-lat": "udp", "ipc/tcp-connect": "connect"}
#: The probe's own functions around the calls of one operation, in instructions; the witness's are some 30.
PROBES_OWN = 200
#: Ticks, and lwIP's timer, in a mean over a hundred operations, in instructions.
TICKS = 30
#: The witness runs so often in one boot. An operation takes blocks of the heap and gives them back: what came before
#: decides whether one of them is alone in its page, and then the page comes and goes with it (slab_more, frame_take).
IN_A_ROW = 60
#: How far its runs may lie apart by that, in instructions (a connection of mono: 15,638 to 15,796).
PAGES = 200
#: Each end is a process; nc's server ends with its connection.
TALK = """
nc -l -p 5555 >/tmp/heard & sleep 1
echo by nc | nc 127.0.0.1 5555
wait
cat /tmp/heard
mkdir /tmp/site && dd if=/dev/urandom of=/tmp/site/page bs=1000 count=300 2>/dev/null
httpd -p 127.0.0.1:8080 -h /tmp/site
wget -q -O /tmp/got http://127.0.0.1:8080/page && cmp /tmp/site/page /tmp/got && echo by wget
wget -q -O - http://127.0.0.1:8081/page || echo nobody there
"""


def runs_of(kernel: Kernel, rows: Collection[str]) -> dict[str, dict[str, Any]]:
    """The probe's record of each row, by path; all rows must have one."""
    ended = boot(kernel, initramfs(("probe", "--by", "path", *rows)), Machine(path=True), seconds=180.0)
    records = [json.loads(line) for line in ended.bulk.decode().splitlines() if line.startswith("{")]
    runs = {each["workload"]: each for each in records if each["type"] == "run"}
    assert runs.keys() == set(rows), ended
    return runs


@pytest.mark.guest
@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("kernel", MONO_AND_IN_TURN, indirect=True)
def test_busyboxs_programs_talk_to_each_other(kernel: Kernel) -> None:
    """Expected: what one sends the other gets, a page to the byte. Broken: a program waits, or says why it cannot."""
    ended = boot(kernel, initramfs(("sh", "-c", TALK)), Machine(), seconds=120.0)
    assert ended.bulk.decode().split("\n") == ["by nc", "by wget", "nobody there", ""], ended


@pytest.mark.guest
@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("kernel", MONO_AND_IN_TURN, indirect=True)
def test_the_rows_that_need_a_network_are_measured(kernel: Kernel) -> None:
    """Expected: each row's samples, and of the messages all but the first alike. Broken: a row is unsupported, or its
    count depends on a clock or on what was before."""
    runs = runs_of(kernel, ROWS)
    for row in ("ipc/tcp-lat", "ipc/udp-lat"):
        assert len(set(runs[row]["samples"][1:])) == 1, runs[row]


def instructions(kernel: Kernel, program: Program) -> dict[str, tuple[float, int, int]]:
    """Of one operation of each witnessed row: by the probe; by the witness, least and most."""
    runs = runs_of(kernel, WITNESSED)
    counts = {}
    for row, word in WITNESSED.items():
        again = f"for i in $(seq {IN_A_ROW}); do net_witness {word}; done"
        inside = initramfs(("sh", "-c", again), {"bin/net_witness": program("net_witness")})
        told = [int(each) for each in boot(kernel, inside, Machine(path=True), seconds=180.0).bulk.split()]
        assert len(told) == IN_A_ROW
        counts[row] = (median(runs[row]["samples"]) - median(runs[row]["loop_cost"]), min(told), max(told))
    return counts


@pytest.mark.guest
@pytest.mark.slow(minutes=0.5)
@pytest.mark.usefixtures("network", "sources")
def test_a_second_witness_counts_as_much(program: Program) -> None:
    """Expected: net_witness.c's figures are the probe's but for the two programs' own instructions, and the same price
    of structure. Broken: the probe counts something of its own, or leaves something of the kernel's out."""
    mono, micro = (instructions(Kernel.trio(trio.built(name)), program) for name in ("mono", "micro"))
    for row in WITNESSED:
        for probe, least, most in (mono[row], micro[row]):
            assert least < probe < most + PROBES_OWN, (row, mono[row], micro[row])
            assert most - least < PAGES, (row, mono[row], micro[row])
        by_probe = micro[row][0] - mono[row][0]
        assert micro[row][1] - mono[row][2] - TICKS < by_probe < micro[row][2] - mono[row][1] + TICKS, (
            row,
            mono,
            micro,
        )


@pytest.mark.slow(minutes=0.6)
@pytest.mark.parametrize("release", ["bookworm", "trixie"])
def test_trio_is_built_with_the_lwip_of_each_debian(release: str, sources: Path, tmp_path: Path) -> None:
    """Expected: a network by each release's lwIP. Broken: 2.2.1, in Debian 13, asks for malloc()."""
    own = apt.Apt.private("system")
    own.update(apt.LISTS_HOURS)
    further = chain.from_iterable(suites.beyond(sourcelist.system(), own.origins(), "earlier", "later"))
    there = [each for each in (*sourcelist.system(), *further) if each.suite == release and "main" in each.components]
    if not there:
        pytest.skip(f"the mirror has no {release}")
    folder = apt.source("lwip", tmp_path, there[0])
    trio.build(sources, tmp_path / "build", "mono", folder)
    assert (tmp_path / "build/any/lwip/tcp.o").is_file()
    assert (tmp_path / "build" / trio.file_name("mono")).is_file()


def test_trio_is_built_without_a_network_where_there_are_no_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: None, and a line that says so, whatever the mirror lacks. Broken: no kernel without a mirror."""

    def missing(package: str, folder: Path) -> Path:
        raise MissingError(f"no source package {package} for {folder.name} here.", "None.")

    said: list[str] = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(suites, "source", missing)
    assert trio.lwip_sources(said.append) is None
    assert len(said) == 1
    assert "without network" in said[0]
    assert "no source package lwip for " in said[0]


@pytest.mark.guest
@pytest.mark.slow(minutes=0.4)
def test_a_kernel_without_lwip_says_that_there_is_no_such_family(sources: Path, tmp_path: Path) -> None:
    """Expected: EAFNOSUPPORT, by which the rows are unsupported. Broken: a call that waits, or a kernel that ends."""
    trio.build(sources, tmp_path, "mono")
    kernel = Kernel.trio(tmp_path / trio.file_name("mono"))
    ended = boot(kernel, initramfs(("probe", "--by", "path", "ipc/tcp-lat")), Machine(path=True), seconds=60.0)
    assert '"unsupported"' in ended.bulk.decode(), ended
    assert "Address family not supported" in ended.bulk.decode(), ended
