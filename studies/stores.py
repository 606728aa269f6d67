#!/usr/bin/env python3
"""What a large store costs: the curves of docs/cost.md.

usage: .venv/bin/python -m studies.stores [--write] [--results N]... [--keep DIR]

Measures some rows of this machine once, and makes stores of 1, 10, … 10,000 results of that session, a good 1,000
samples each, whose times differ as sessions do. Then it runs each command in a process of its own with at most 1 GiB of
data, on two CPUs, and prints seconds and the greatest resident memory. `--keep` leaves the stores there.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from kernometer.results.model import AnyRecord, End, Result, Run, Session
from kernometer.results.store import Store
from kernometer.results.writer import write_copy
from studies.section import here, table_line, written

PAGE = Path(__file__).parents[1] / "docs" / "cost.md"
RESULTS = (1, 10, 100, 1_000, 10_000)
SAMPLES = 1_000  #: of a result
LIMIT_BYTES, LIMIT_CPUS, LIMIT_SECONDS = 1 << 30, 2, 600
#: The hosts and targets of the sessions, and how many sessions share a label.
HOSTS, TARGETS, LABELLED = 3, ("local", "ssh:north", "ssh:south", "wrap:taskset -c 0"), 50
#: How much a session, and a row within it, differ from others: the standard deviation of the logarithm.
SPREAD = 0.01
ROWS = (
    *("syscall/getppid", "syscall/read-zero", "syscall/open-close", "ctx/pipe-pair", "ipc/pipe-throughput"),
    *("sig/catch", "proc/fork-exit", "mem/touch", "fs/read", "cpu/hanoi"),
)


@dataclass(frozen=True, slots=True)
class Timed:
    """One command on one store."""

    seconds: float
    resident_bytes: int


def template(folder: Path) -> Result:
    """A session of ROWS, measured now: the first runs of each row, SAMPLES samples in all."""
    words = (sys.executable, "-m", "kernometer", "--store", str(folder), "run", "--label", "template", *ROWS)
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True, timeout=LIMIT_SECONDS)
    whole = Store(folder).load("template")
    kept: list[Run] = []
    for run in sorted(whole.runs, key=lambda run: run.run):
        if sum(len(other.samples) for other in kept) < SAMPLES:
            kept.append(run)
    return msgspec.structs.replace(whole, runs=tuple(kept))


def session(like: Result, number: int) -> tuple[str, bytes]:
    """The name and the content of one session of a store."""
    source = random.Random(number)  # noqa: S311  # made-up sessions, not secrets
    started = like.session.started - 600.0 * number
    name = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(started))}-{number:06x}"
    head = msgspec.structs.replace(
        like.session,
        id=name,
        started=started,
        label=f"set-{number // LABELLED}",
        target=TARGETS[number // (2 * LABELLED) % len(TARGETS)],
        host_id=f"{number % HOSTS:032x}",
    )
    level = source.gauss(0, SPREAD)
    factors = {row: math.exp(level + source.gauss(0, SPREAD)) for row in like.rows}
    runs = (
        msgspec.structs.replace(run, samples=tuple(round(sample * factors[run.row]) for sample in run.samples))
        for run in like.runs
    )
    return f"{name}.ndjson", b"".join(lines(head, like, runs))


def lines(head: Session, like: Result, runs: Iterator[Run]) -> Iterator[bytes]:
    encode = msgspec.json.Encoder().encode
    records: list[AnyRecord] = [head, *([like.header] if like.header else []), *like.workloads.values()]
    for record in (*records, *like.calibrations, *like.countings, *runs, like.end or End(complete=True)):
        yield encode(record) + b"\n"


def made(folder: Path, like: Result, results: int) -> None:
    for number in range(results):
        name, content = session(like, number)
        write_copy(folder, name, content)


def commands(store: Path, results: int) -> Iterator[tuple[str, Sequence[str]]]:
    """A column's head and a command's words, none if the store lacks its results. The first one makes the index."""
    page = ("-o", str(store.parent / "report.html"))
    two = ("@1", "@last") if results > 1 else ()
    sets = ("label:set-0", "label:set-1") if results >= 2 * LABELLED else ()
    yield "`list`, index made anew", ("list",)
    yield "`list`", ("list",)
    yield "`list --label L`", ("list", "--label", "set-0")
    yield "`compare A B`", two and ("compare", *two)
    yield "`report A B`", two and ("report", *two, *page)
    yield "`compare label:L label:M`", sets and ("compare", *sets)
    yield "`report label:L label:M`", sets and ("report", *sets, *page)


def limited() -> None:
    """Limits a new process: its data, its processor time and its CPUs."""
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT_BYTES, LIMIT_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_SECONDS, LIMIT_SECONDS))
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:LIMIT_CPUS])


def timed(store: Path, words: Sequence[str]) -> Timed:
    """Raises CalledProcessError if the command fails, or is killed after LIMIT_SECONDS of processor time."""
    began = time.monotonic()
    with (store.parent / "printed").open("wb") as out:
        line = (sys.executable, "-m", "kernometer", "--store", str(store), *words)
        command = subprocess.Popen(line, stdout=out, stderr=out, preexec_fn=limited)
        _, status, used = os.wait4(command.pid, 0)
    if status:
        raise subprocess.CalledProcessError(status, words, (store.parent / "printed").read_bytes()[-2000:])
    return Timed(time.monotonic() - began, used.ru_maxrss << 10)


def row(root: Path, like: Result, results: int) -> Iterator[str]:
    """The cells of one store's row, each as soon as it is known."""
    yield f"{results * sum(len(run.samples) for run in like.runs):,}"
    yield f"{results:,}"
    store = root / str(results) / "results"
    made(store, like, results)
    for _, words in commands(store, results):
        used = timed(store, words) if words else None
        yield f"{used.seconds:.1f} s, {used.resident_bytes >> 20} MiB" if used else "–"


def main() -> None:
    usage = (__doc__ or "").partition("usage: ")[2].partition("\n")[0]
    parser = argparse.ArgumentParser(usage=usage, description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the table into docs/cost.md")
    parser.add_argument("--results", metavar="N", type=int, action="append", help="of a store; repeat it")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="where the stores are made, and left")
    given = parser.parse_args()
    heads = ["samples", "results", *(head for head, _ in commands(Path(), 0))]
    table = [table_line(*heads), "|" + "---:|" * len(heads)]
    with tempfile.TemporaryDirectory() as temporary:
        root = given.keep or Path(temporary)
        like = template(root / "template")
        for results in given.results or RESULTS:
            table.append(table_line(*row(root, like, results)))
            print(table[-1], file=sys.stderr, flush=True)
    text = f"{here()}.\n\n" + "\n".join(table)
    print(text)
    if given.write:
        PAGE.write_text(written(PAGE.read_text(), "studies/stores.py", text))


if __name__ == "__main__":
    main()
