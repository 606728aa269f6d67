"""Is this kernel 3 % slower? Several tools answer the same question, on the same machine in the same minute.

usage: .venv/bin/python -m studies.deciders [--tries N] [--seconds S] [--write] [--lmbench DIR] [--unixbench DIR]

The kernel is this one behind a seccomp filter, whose length sets the cost of a system call. In half of the tries both
sides have the same filter; in the others B's is longer, so that getppid takes 3 % longer there (measured first, by the
program of seccomp.c). Each tool has the same seconds for a try, and its output is its answer:

- a tool that prints one number a side: "slower" if B's is more than half of 3 % above A's, else "the same";
- hyperfine: "slower" if its ratio less its error is above 1, else "the same";
- kernometer ab: its verdict; "undecided" is no answer.

`--lmbench` and `--unixbench` name the directories where these were built; without them they are left out.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from studies.agreement import judged
from studies.peers import reading
from studies.section import AGREEMENT, here, put, table_line

DIFFERENCE = 0.03
#: Instructions of A's filter: so many that B's can be 3 % of a call longer.
FILTER = 100
SECCOMP = Path(__file__).with_name("seccomp.c")
WITNESS = Path(__file__).parent / "peers" / "witness.c"
#: So many seconds a tool may exceed its time.
PATIENCE = 60.0
CALLS = 1_000_000

#: From the words before a command that put it on side A and on side B, and the seconds, to the answer.
Tool = Callable[[Sequence[str], Sequence[str], float], str]


def output(words: Sequence[str], seconds: float) -> str:
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds + PATIENCE, check=True
    )
    return done.stdout


def by_number(words: Callable[[float], Sequence[str]], read: reading.Reading) -> Tool:
    """A tool that prints one number. It runs once for each side, for half of the seconds."""

    def ask(a: Sequence[str], b: Sequence[str], seconds: float) -> str:
        of_a, of_b = (read(output((*side, *words(seconds / 2)), seconds)) for side in (a, b))
        return "slower" if of_b / of_a > 1 + DIFFERENCE / 2 else "the same"

    return ask


def lmbench(folder: Path) -> Tool:
    """Its own repetitions of 0.2 s, as many as fit, as its scripts do with the same length (ENOUGH)."""
    fixed = ("env", "ENOUGH=200000", "TIMING_O=0", "LOOP_O=0")
    return by_number(
        lambda seconds: (*fixed, f"{folder}/lat_syscall", "-W", "0", "-N", str(max(1, int(seconds / 0.3))), "null"),
        lambda text: reading.only(r"^Simple syscall: ([\d.]+) microseconds$", text) * 1e3,
    )


def unixbench(folder: Path) -> Tool:
    return by_number(
        lambda seconds: (f"{folder}/syscall", str(round(seconds)), "getpid"),
        lambda text: 1e9 / reading.only(r"^COUNT\|([\d.]+)\|", text),
    )


def perf(a: Sequence[str], b: Sequence[str], seconds: float) -> str:
    """As many loops as fit, by the time of a first call."""
    first = reading.perf_usecs(output((*a, "perf", "bench", "syscall", "basic", "-l", str(CALLS)), seconds))
    loops = str(int(seconds / 2 / (first * 1e-9)))
    return by_number(lambda _: ("perf", "bench", "syscall", "basic", "-l", loops), reading.perf_usecs)(a, b, seconds)


def hyperfine(program: str) -> Tool:
    """Two commands of some 0.1 s, as many runs as fit; the errors by its own formula."""

    def ask(a: Sequence[str], b: Sequence[str], seconds: float) -> str:
        with tempfile.TemporaryDirectory() as folder:
            told = Path(folder) / "told.json"
            commands = (" ".join((*side, program)) for side in (a, b))
            runs = str(max(2, int(seconds / 2 / 0.15)))
            words = ("hyperfine", "-N", "--warmup", "1", "--runs", runs, "--style", "none", "--export-json", str(told))
            output((*words, *commands), seconds)
            first, second = json.loads(told.read_text())["results"]
        ratio = second["mean"] / first["mean"]
        error = ratio * sum((side["stddev"] / side["mean"]) ** 2 for side in (first, second)) ** 0.5
        return "slower" if ratio - error > 1 else "the same"

    return ask


def kernometer(a: Sequence[str], b: Sequence[str], seconds: float) -> str:
    """A block of one row takes 0.1 s, and the rest of an `ab` 3 s."""
    blocks = str(max(10, int((seconds - 3) / 0.1)))
    with tempfile.TemporaryDirectory() as store:
        sides = (f"wrap:{' '.join(side)}" for side in (a, b))
        (row,) = judged(store, "ab", "--blocks", blocks, *sides, "syscall/getppid@")
    return {"slower": "slower", "equivalent": "the same"}.get(row["verdict"], f"no answer ({row['verdict']})")


LOOP = """#include <sys/syscall.h>
#include <unistd.h>
int main(void) { for (long i = 0; i < %d; i++) syscall(SYS_getppid); return 0; }
"""


def built(folder: Path) -> tuple[Path, Path, Path]:
    """The filter's program, hyperfine's loop of calls, and a program that measures a call's cost."""
    loop = folder / "loop.c"
    loop.write_text(LOOP % CALLS)
    for source in (SECCOMP, loop, WITNESS):
        subprocess.run(("cc", "-O2", "-o", folder / source.stem, source), check=True, timeout=PATIENCE)
    return folder / "seccomp", folder / "loop", folder / "witness"


def longer(seccomp: Path, witness: Path) -> tuple[int, float]:
    """The length of the filter that makes a call 3 % dearer than `FILTER` does, and the exact share. Both programs
    print medians of bursts shorter than a time slice, so that other programs do not disturb them."""

    def cost(length: int) -> float:
        return median(float(output((str(seccomp), str(length)), PATIENCE)) for _ in range(5))

    short = cost(FILTER)
    call = short + median(reading.witness(output((str(witness), "getppid"), PATIENCE)) for _ in range(5))
    lengths = range(FILTER, 2 * FILTER)
    length_of_b = lengths[bisect_left(lengths, DIFFERENCE * call, key=lambda length: cost(length) - short)]
    return length_of_b, (cost(length_of_b) - short) / call


def line(name: str, answers: Sequence[tuple[str, str]], seconds: float) -> str:
    """`answers`: (truth, answer) of every try."""
    counts = Counter(answers)
    cells: list[object] = []
    for truth in ("slower", "the same"):
        tries = sum(n for (is_true, _), n in counts.items() if is_true == truth)
        right = counts[truth, truth]
        wrong = sum(counts[truth, other] for other in ("slower", "the same") if other != truth)
        cells += [f"{right} of {tries}", wrong]
    return table_line(name, *cells, f"{seconds:.0f}")


HEAD = (
    "| tool | it is: said so | missed | it is not: said so | false alarms | s a try |\n|---|---:|---:|---:|---:|---:|"
)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=20, help="number of tries, half of them with a difference")
    parser.add_argument("--seconds", type=float, default=20.0, help="time of each tool in one try")
    parser.add_argument("--lmbench", type=Path, help="directory of its lat_syscall")
    parser.add_argument("--unixbench", type=Path, help="directory of its syscall")
    parser.add_argument("--write", action="store_true", help="write the table into docs/agreement.md")
    options = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        seccomp, loop, witness = built(Path(folder))
        tools: dict[str, Tool] = {"kernometer ab": kernometer, "perf bench": perf, "hyperfine": hyperfine(str(loop))}
        tools |= {"lmbench": lmbench(options.lmbench)} if options.lmbench else {}
        tools |= {"UnixBench": unixbench(options.unixbench)} if options.unixbench else {}
        length, dearer = longer(seccomp, witness)
        a, b = ((str(seccomp), str(length_of_side)) for length_of_side in (FILTER, length))
        answers: dict[str, list[tuple[str, str]]] = {name: [] for name in tools}
        for number in range(options.tries):
            truth = ("the same", "slower")[number % 2]
            for name in random.sample([*tools], len(tools)):
                said = tools[name](a, b if truth == "slower" else a, options.seconds)
                print(f"{number + 1} of {options.tries}: {truth}; {name}: {said}", file=sys.stderr)
                answers[name].append((truth, said))
    table = "\n".join((HEAD, *(line(name, given, options.seconds) for name, given in answers.items())))
    apart = f"filters of {FILTER} and {length} instructions, a call with which takes {dearer:.1%} longer"
    text = f"{here()}; {apart.replace('%', ' %')}.\n\n{table}"
    put(AGREEMENT, "studies/deciders", text, write=options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
