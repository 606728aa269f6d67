"""studies/README.md: each study, its question and its answer, with figures taken from the study's own files.

usage: .venv/bin/python -m studies.gallery          writes the page

A figure that is not at its place is an error, and leaves no hole. A test holds the page against this script.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernometer.errors import Status
from kernometer.explain.cycles import kernel_instructions

ROOT = Path(__file__).parents[1]
STUDIES = ROOT / "studies"
#: The most seconds of a command, and the width of its tables.
SECONDS, COLUMNS = 600, 100
PAGE = STUDIES / "README.md"
#: Rows of the heat maps that the page shows.
ROWS = {
    "syscall/getppid": "null call",
    "syscall/stat": "stat",
    "ctx/pipe-pair@same-cpu": "pipe, there and back",
    "proc/fork-exit": "fork, exit, wait",
    "mem/fault-cow": "copy-on-write fault",
    "sig/catch": "signal caught",
    "fs/rename": "rename",
}
FAMILIES = {"syscall": "system calls", "ctx": "context switches", "proc": "processes", "fs": "files"}
HEAD = """\
# Results

These are the questions that were asked with Kernometer so far, and their answers: one part a study, with the command
that measures it again and a link to its directory, which has all figures and says what the study does not show. The
studies were made on different days, with different revisions of the probe: divide no figure of one study by a figure
of another. `python -m studies.gallery` writes this page, and takes every figure from those directories.
"""


@dataclass(frozen=True, slots=True)
class Study:
    """One part of the page."""

    folder: str
    title: str
    question: str
    answer: str
    shown: Sequence[str]  #: lines: a table, or a picture
    command: str


def page() -> str:
    """The whole text."""
    return "\n".join([HEAD, *(_part(make()) for make in ALL)])


def _part(study: Study) -> str:
    command = study.command.replace("\n", "\n> ")
    return f"""\
## {study.title}

{textwrap.fill(f"{study.question} {study.answer}", 120, break_long_words=False, break_on_hyphens=False)}

{chr(10).join(study.shown)}

<!-- not run: studies/{study.folder} says what it needs and how long it takes -->
```console
$ {command}
```

[studies/{study.folder}]({study.folder})
"""


def architectures() -> Study:
    document = _matrix("architectures", "label:architectures", "--different-machines")
    families = {**document["machines"]["families"], "all": document["machines"]["all"]}
    whole = families["all"]["shares"]

    def row(name: str, split: Mapping[str, Any]) -> list[str]:
        shares = (split["shares"][part] for part in ("kernel", "machine", "interaction"))
        return [name, str(split["operations"]), *(_interval(share) for share in shares)]

    return Study(
        "architectures",
        "One kernel on three architectures",
        "How much of an operation's path length depends on the kernel, and how much on the architecture?",
        f"Over all operations {_share(whole['machine'])} of the variance is the machine's and "
        f"{_share(whole['kernel'])} the kernel's; of context switches {_share(families['ctx']['shares']['kernel'])} is "
        "the kernel's.",
        _table(
            ("family", "operations", "kernel", "machine", "both together"),
            [row(said, families[name]) for name, said in {**FAMILIES, "all": "all"}.items()],
        ),
        _command("architectures/README.md", "kernometer matrix"),
    )


def debian_kernels() -> Study:
    aside = ("--aside", "qemu:linux-6.1+machine=pc,qemu:xen")
    document = _matrix("debian-kernels", "label:debian-kernels", *aside, "--different-machines")
    rows = {row["row"]: row for row in document["rows"]}
    kernels = [system["name"] for system in document["systems"] if not system["aside"]]
    last = [row["cells"][kernels[-1]]["verdict"] for row in document["rows"]]
    shown = ("qemu:linux-6.12", "qemu:linux-6.18", "qemu:linux-7.1", kernels[-1], "qemu:xen")

    def ratio(row: str, system: str) -> str:
        return f"{rows[row]['cells'][system]['ratio']:.2f}"

    return Study(
        "debian-kernels",
        "Ten Debian kernels, from 6.1 to 7.3, and Xen",
        "Which operations got longer between Linux 6.1 and 7.3, and when?",
        f"{last.count('slower')} of {len(last)} rows got longer, {last.count('faster')} shorter, "
        f"{last.count('equivalent')} did not move. A pipe's round trip takes "
        f"{ratio('ctx/pipe-pair@same-cpu', kernels[-1])} times the instructions, "
        f"stat {ratio('syscall/stat', kernels[-1])}; under Xen a fork takes "
        f"{ratio('proc/fork-exit', 'qemu:xen')} times as many.",
        _table(
            ("instructions", "linux-6.1", *(name.removeprefix("qemu:") for name in shown)),
            [[said, f"{rows[row]['value']:,.0f}", *(ratio(row, name) for name in shown)] for row, said in ROWS.items()],
        ),
        _command("debian-kernels/README.md", "kernometer matrix"),
    )


def seven_kernels() -> Study:
    document = _matrix("seven-kernels", "label:seven", "--different-machines")
    rows = {row["row"]: row["modelled"] for row in document["rows"]}
    first, *others = [system["name"] for system in document["systems"]]

    def of_kernel(row: str, system: str) -> float | None:
        counts = rows[row].get(system, {}).get("memory")
        return kernel_instructions(counts) if counts else None

    def line(row: str) -> list[str]:
        base = of_kernel(row, first) or 0.0
        each = (of_kernel(row, name) for name in others)
        return [f"{base:,.0f}", *("–" if value is None else f"{value / base:.2f}" for value in each)]

    [operation, kernel] = _found(
        r"(\d+) % of what distinguishes the three depends on the operation, (\d+) % on the kernel",
        _flat(_read("seven-kernels/README.md")),
    )
    return Study(
        "seven-kernels",
        "Seven kernels on one machine",
        "Which kernel has the shorter paths?",
        f"Of what distinguishes Linux 6.1, FreeBSD and OpenBSD {operation} % depends on the operation and {kernel} % "
        "on the kernel. The kernel's own instructions, as ratios to Linux 6.1's:",
        _table(
            ("instructions", *(name.removeprefix("qemu:").removesuffix("+machine=pc") for name in (first, *others))),
            [[said, *line(row)] for row, said in ROWS.items()],
        ),
        _command("seven-kernels/README.md", "kernometer matrix"),
    )


def structures() -> Study:
    document = _matrix("trio-structures", "label:structures", "--in", "cycles", "--different-machines")
    rows = {row["row"]: row for row in document["rows"]}
    less = {row["row"]: row for row in _matrix("trio-structures", "label:linux-less")["rows"]}
    costs = _flat(_read("trio-structures/costs.txt"))
    told, operations = _found(r"explain (\d+) of (\d+) operations to a tenth of the difference", costs)
    [rest] = _found(r"the median rest is ([\d.]+) %", costs)

    def ratio(name: str, system: str) -> str:
        return f"{rows[name]['cells'][f'qemu:{system}']['ratio']:.3g}"

    def of_less(name: str) -> float:
        [cell] = less[name]["cells"].values()
        return float(cell["ratio"])

    def cycles(name: str, *, tagged: bool) -> str:
        mono, micro = (rows[name]["modelled"][f"qemu:trio-{system}"]["cycles"] for system in ("mono", "micro"))
        return f"{(micro['tagged'] if tagged else micro)['value'] / mono['value']:.3g}"

    def row(name: str) -> list[str]:
        linux = rows[name]["cells"]["qemu:linux-6.1"]["ratio"]
        return [
            f"{rows[name]['value']:,.0f}",
            *(ratio(name, f"trio-{system}") for system in ("hybrid", "micro", "one-server")),
            cycles(name, tagged=False),
            cycles(name, tagged=True),
            f"{linux:.3g}",
            f"{linux * of_less(name):.3g}",
        ]

    micro = {name: ratio(name, "trio-micro") for name in ROWS}
    return Study(
        "trio-structures",
        "One operation in every structure, and in Linux",
        "What does it cost that a kernel's services are processes of their own, and how much do two monolithic kernels "
        "differ?",
        f"The same source as processes (micro) takes {micro['syscall/getppid']} times the instructions of mono in a "
        f"null call, {micro['ctx/pipe-pair@same-cpu']} in a pipe's round trip and {micro['proc/fork-exit']} in a fork; "
        f"in cycles of a modelled Skylake {cycles('syscall/getppid', tagged=False)}, "
        f"{cycles('ctx/pipe-pair@same-cpu', tagged=False)} and {cycles('proc/fork-exit', tagged=False)}. Prices of "
        f"single events explain {told} of {operations} operations to a tenth of the difference; the median rest is "
        f"{rest} %. Linux takes {ratio('syscall/getppid', 'linux-6.1')} times mono's instructions in a null call and "
        f"{ratio('proc/fork-exit', 'linux-6.1')} in a fork; without what Trio lacks (mitigations, control groups, "
        f"security modules) a fork still takes {of_less('proc/fork-exit'):.3g} of that.",
        _table(
            (
                *("instructions", "mono", "hybrid", "micro", "one-server"),
                *("micro, cycles", "cycles, tagged", "Linux 6.1", "Linux with less"),
            ),
            [[said, *row(name)] for name, said in ROWS.items()],
        ),
        _command("trio-structures/README.md", "kernometer matrix"),
    )


def uml_and_gvisor() -> Study:
    text = _read("uml-and-gvisor/README.md")
    uml, gvisor = re.findall(r"```text\n(wrap:.*?)```", text, flags=re.DOTALL)

    def ratio(row: str, block: str) -> tuple[str, str]:
        times, low, high = map(_times, _found(rf"^{re.escape(row)}\s.* ([\d.]+) \[([\d.]+), ([\d.]+)\] ", block))
        return times, f"[{low}, {high}]"

    rows = (
        "clock/monotonic",
        "syscall/getppid",
        "syscall/stat",
        "ctx/pipe-pair@same-cpu",
        "proc/fork-exec",
        "cpu/hanoi",
    )
    return Study(
        "uml-and-gvisor",
        "A system call through user-mode Linux and gVisor",
        "What does a kernel cost that runs as an ordinary process?",
        f"A null call takes {ratio('syscall/getppid', uml)[0]} times as long through user-mode Linux and "
        f"{ratio('syscall/getppid', gvisor)[0]} times through gVisor with ptrace. gVisor reads a clock without a "
        f"call, in {ratio('clock/monotonic', gvisor)[0]} times the host's time; user-mode Linux takes "
        f"{ratio('clock/monotonic', uml)[0]} times.",
        _table(
            ("time, as a multiple of this host's [95 %]", "user-mode Linux", "gVisor"),
            [[row, *(" ".join(ratio(row, block)) for block in (uml, gvisor))] for row in rows],
        ),
        'rows="…"        # fourteen rows, listed there\n' + _command("uml-and-gvisor/README.md", "kernometer ab"),
    )


def sources() -> Study:
    readme = _read("sources/README.md")
    table = [line for line in readme.splitlines() if line.startswith("|")]
    table = [re.sub(r"\]\((\S+\.md)\)", r"](sources/\1)", line) for line in table]
    return Study(
        "sources",
        "Six papers, measured again",
        "Do the findings of the literature hold today?",
        f"Each of {len(table) - 2} comparisons of kernels has its table beside ours.",
        table,
        _command("sources/README.md", "kernometer ab"),
    )


def full_profile() -> Study:
    by_time, by_path = (_flat(_read(f"full-profile/by-{by}.txt")) for by in ("time", "path"))
    [rows], [counted] = (_found(r"(\d+) rows measured", text) for text in (by_time, by_path))
    [half] = _found(r"half of the figures are known to ±([\d.]+) %", by_time)
    [most] = _found(r"nine in ten to ±([\d.]+) %", by_time)
    [drawn] = _found(r">([^<]+) \(griffiths-1\)<", _read("full-profile/griffiths-1.svg"))
    [seconds] = _found(r"UTC, (\d+) s, complete", by_time)
    return Study(
        "full-profile",
        "Every row, by time and by path",
        "How long does every row take, and how narrow are the intervals?",
        f"{rows} rows by time in {seconds} s on a shared virtual machine: half of them within ±{half} %, nine in ten "
        f"within ±{most} %. {counted} rows by path. One of the literature's plots, from this session:",
        [f"![{drawn}](full-profile/griffiths-1.svg)"],
        _command("full-profile/README.md", "kernometer run"),
    )


def explain() -> Study:
    text = _read("explain/README.md")
    share = r" \| (\d+ of \d+)"
    rows = re.findall(rf"^\| (\d+) pairs \|{3 * share} findings \|$", text, re.MULTILINE)
    first, second = rows
    pairs = _read("explain/pairs.toml").count("{ what = ")
    if pairs != sum(int(row[0]) for row in rows):
        raise ValueError(f"studies/explain has {pairs} pairs, its README judges others")
    return Study(
        "explain",
        "Causes told by figures alone, judged blind",
        "Do the rules of `kernometer explain` find a cause that is known?",
        f"Of the causes in {first[0]} pairs of systems they found {first[1]}. Then rules were changed, and in "
        f"{second[0]} other pairs they found {second[1]}; {second[3]} of what they said there was false.",
        _table(
            ("pairs", "causes found", "missed", "falsely said"),
            [[f"the first {first[0]}", *first[1:]], [f"{second[0]} others, after the change", *second[1:]]],
        ),
        "python studies/pairs.py STORE",
    )


def reliability() -> Study:
    text = _read("reliability/trio.txt") + _read("reliability/linux.txt")
    sentence = (
        r"^(\S+) (\d+) of (\d+) faults struck. After (\d+) of them \(([\d.–]+ %)\) all went on with all data\. "
        r"Of the machines that hung or died (\d+) had"
    )
    parts = re.split(r"^qemu:(?=\S+$)", text, flags=re.MULTILINE)[1:]
    systems = [_found(sentence, _flat(part)) for part in parts]
    micro = next(system for system in systems if system[0] == "trio-micro")
    mono = next(system for system in systems if system[0] == "trio-mono")
    return Study(
        "reliability",
        "Faults in drivers and services",
        "Does a system go on when one of its drivers or services fails?",
        f"All went on with all data after {micro[3]} of {micro[1]} faults with services as processes ({micro[4]}), and "
        f"after {mono[3]} of {mono[1]} with the same services in one kernel ({mono[4]}). Linux's faults are others: do "
        "not compare its line with another.",
        _table(
            (
                "system",
                "faults that struck",
                "all went on with all data",
                "95 %",
                "hung or dead, with synced data lost",
            ),
            [[name, struck, well, share, lost] for name, struck, _, well, share, lost in systems],
        ),
        _command("reliability/trio.md", "kernometer faults"),
    )


def bisect_linux() -> Study:
    log = _read("bisect-linux/log.txt")
    [commits] = _found(r"makes (\d+) commits", _read("bisect-linux/README.md"))
    row, a, b, ratio = _found(r"worse: (\S+): ([\d,]+) instr to ([\d,]+) instr, ratio ([\d.]+)", log)
    [again] = _found(r"measured again on (\d+) machines with other layouts: .* worse$", log)
    found = "found it" if "is the first bad commit" in log else "is not at its end"
    return Study(
        "bisect-linux",
        "A Linux tree under the gate",
        "Which of many commits made a path of Linux longer?",
        f"One of {commits} commits walks a list of mappings twice, and the gate sees it, also on {again} machines with "
        f"other layouts. `git bisect run` {found}.",
        _table(("instructions", "good", "bad", "ratio"), [[row, a, b, ratio]]),
        _command("bisect-linux/README.md", "git bisect run"),
    )


ALL: tuple[Callable[[], Study], ...] = (
    debian_kernels,
    seven_kernels,
    architectures,
    structures,
    reliability,
    uml_and_gvisor,
    sources,
    full_profile,
    explain,
    bisect_linux,
)


def _read(name: str) -> str:
    return (STUDIES / name).read_text()


def _flat(text: str) -> str:
    """The text without the line ends of a terminal's width."""
    return " ".join(text.split())


def _found(pattern: str, text: str) -> tuple[str, ...]:
    """The groups of the first match. Raises ValueError without one."""
    match = re.search(pattern, text, flags=re.MULTILINE)
    if match is None:
        raise ValueError(f"not found: {pattern}")
    return match.groups()


def _times(ratio: str) -> str:
    """A printed ratio to three digits."""
    return f"{float(ratio):.3g}"


def _command(name: str, begin: str) -> str:
    """The first command of a page with this beginning, and the lines that continue it."""
    [command] = _found(rf"((?:^|^\$ |^    ){re.escape(begin)}(?:.*\\\n)*.*$)", _read(name))
    first, *others = command.splitlines()
    return "\n".join([first.lstrip("$ "), *(f"    {line.strip()}" for line in others)])


def _matrix(folder: str, *words: str) -> dict[str, Any]:
    """The output of `kernometer matrix --json` for a study's stored sessions."""
    document: dict[str, Any] = json.loads(kernometer(folder, "--store", "store.tar.xz", "matrix", *words, "--json"))
    return document


def kernometer(folder: str, *words: str) -> str:
    """The output of `kernometer WORDS` in a study's folder, also of sessions with rows that failed. Raises
    CalledProcessError."""
    done = subprocess.run(
        [sys.executable, "-m", "kernometer", *words],
        cwd=STUDIES / folder,
        env={**os.environ, "COLUMNS": str(COLUMNS), "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    if done.returncode != Status.ROWS_FAILED:
        done.check_returncode()
    return done.stdout


def _share(share: Mapping[str, float]) -> str:
    return f"{100 * share['value']:.0f} %"


def _interval(share: Mapping[str, float]) -> str:
    return f"{_share(share)} ({100 * share['low']:.0f}–{100 * share['high']:.0f})"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Text in the first column, figures in the others."""
    lines = [" | ".join(head), "|".join(["---", *["---:"] * (len(head) - 1)]), *(" | ".join(row) for row in rows)]
    return [f"|{line}|" if line.startswith("---") else f"| {line} |" for line in lines]


if __name__ == "__main__":
    PAGE.write_text(page())
