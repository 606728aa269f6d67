"""Random messages of hostile services: a part of `make campaign` (campaign.py), and of tests with the commit's seed.

Each boot has one hostile service; its seed makes its messages again. What it says within its rights harms programs:
a boot of pm, vm or vfs often ends before all messages are made, so each has as many boots as it takes.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kernometer import source_folder
from tests.support.trio import hostility
from tests.support.trio.boot import Kernel
from tests.support.trio.hostility import RANDOM, Orders

SERVICES = ("pm", "vm", "vfs", "fs", "net", "ram_block", "serial", "clock", "framebuffer")
ALL = "server"
#: Structure and domain: each service of micro, all as one, and two of them.
DOMAINS = (*(("micro", each) for each in SERVICES), ("one-server", ALL), ("micro+together=vfs,fs", "vfs_fs"))
#: In one boot: some ten seconds.
AT_ONCE = 250_000
#: Who has made so few in so many boots on end is not asked again.
BOOTS_MOST = 40
BOOT_SECONDS = 40.0


@dataclass(frozen=True)
class Made:
    """What became of a domain's messages."""

    structure: str
    domain: str
    seeds: tuple[int, int]
    messages: int
    ended: int  #: boots in which the service ended itself, or the programs it serves
    found: Sequence[str]
    seconds: float


def of_domain(kernel: Path, structure: str, domain: str, seed: int, messages: int, mask: int) -> Made:
    """Boots until it has made so many. `mask`: what it may ask of the kernel."""
    began, made, ended, found, first = time.monotonic(), 0, 0, [], seed
    while made < messages and seed - first < BOOTS_MOST:
        orders = Orders(RANDOM, seed=seed, count=min(AT_ONCE, messages - made), kernel=mask)
        seen = hostility.run(_ordered(kernel, orders), seconds=BOOT_SECONDS)
        made += seen.made
        ended += not seen.is_alive or seen.made < orders.count
        found += [f"{structure}, {domain}, seed {seed}: {line}" for line in hostility.findings(seen, domain)]
        seed += 1
    return Made(structure, domain, (first, seed - 1), made, ended, found, time.monotonic() - began)


def _ordered(kernel: Path, orders: Orders) -> Kernel:
    return hostility.ordered(kernel, orders, kernel.with_name(f"ordered-{kernel.name}"))


def campaign(messages: int, seed: int, workers: int, masks: Mapping[str, int]) -> Iterator[Made]:
    """Each domain makes the same share of them."""
    with tempfile.TemporaryDirectory(prefix="campaign-") as name, ThreadPoolExecutor(workers) as pool:
        folder, share = Path(name), -(-messages // len(DOMAINS))
        kernels = {each: hostility.built(source_folder("trio"), folder, *each) for each in DOMAINS}
        running = [
            pool.submit(of_domain, kernels[each], *each, seed, share, hostility.mask(masks, each[1]))
            for each in DOMAINS
        ]
        for each in running:
            yield each.result()


def table(all_made: Sequence[Made]) -> Iterator[str]:
    yield "| structure | hostile | boots, seeds | messages | boots that ended early | found | boots' time |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for each in all_made:
        first, last = each.seeds
        name = "all services" if each.domain == ALL else each.domain.replace("vfs_fs", "vfs and fs")
        yield (
            f"| {each.structure} | {name} | {last - first + 1}, {first} to {last} | {each.messages:,} | {each.ended} | "
            f"{len(each.found)} | {each.seconds:.0f} s |"
        )
    yield f"| | | | {sum(each.messages for each in all_made):,} | | {sum(len(each.found) for each in all_made)} | |"
