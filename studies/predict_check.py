"""How far `kernometer predict` is off: six programs on many Linux guests by path, each kernel left out in turn.

    python -m studies.predict_check --rows | --store DIR --label L [--guests linux-6.1,linux-6.12] [--kept FILE]

The prices are those of the label's stored sessions (a matrix by path). Each program is counted whole in each guest; its
calls are recorded once, in the first guest. The output is the tables of docs/predict.md, and the two errors for
src/kernometer/explain/prices.toml. `--kept` names a file of counts, which are not made again.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from kernometer.explain import prediction
from kernometer.explain.prediction import Asked, Sheet
from kernometer.host.recorder import parse, recorder
from kernometer.results.rows import Row
from kernometer.results.store import Store
from kernometer.tables import packaged
from kernometer.targets import execution
from kernometer.targets.base import Deadline
from kernometer.targets.qemu import QemuTarget

#: The counts by program: its "calls" (name, kind, bytes, count), and by guest user and kernel instructions, calls,
#: faults, switches, resident pages.
Kept = dict[str, dict[str, list[Any]]]
PRICES = msgspec.convert(packaged("kernometer.explain", "prices.toml"), prediction.Prices)
SECONDS = 600.0
MUSL = "/usr/include/x86_64-linux-musl"
GUESTS = "/tmp"  # noqa: S108  # in the guest, which belongs to us
WORDS = "kernel the message server page of process a time memory is driver file queue signal pipe"
SCRIPT = """i=0
while [ $i -lt 20 ]; do
  busybox sort words >sorted.$i
  busybox grep the sorted.$i | busybox wc -l >count.$i
  test -s count.$i || exit 1
  busybox rm sorted.$i count.$i
  i=$((i + 1))
done
"""
SERVE = """busybox httpd -f -p 127.0.0.1:8080 -h tree &
i=0
until busybox wget -q -O got http://127.0.0.1:8080/part0/file0.txt; do :; done
while [ $i -lt 30 ]; do
  busybox wget -q -O got http://127.0.0.1:8080/part$((i % 15))/file$i.txt || exit 1
  i=$((i + 1))
done
kill $!
"""
SQL = """create table t(a integer primary key, b text);
begin;
with recursive n(x) as (select 1 union all select x + 1 from n where x < 500) insert into t select x, hex(x * x) from n;
commit;
create index i on t(b);
update t set b = b || 'x' where a % 3 = 0;
delete from t where a % 5 = 0;
select count(*), max(b) from t;
"""


#: The words of each command; MUSL is a directory that is brought into the guest.
PROGRAMS = {
    "shell script": ("busybox", "sh", "script"),
    "tar": ("tar", "cf", f"{GUESTS}/all.tar", "tree"),
    "git status": ("git", "-C", "tree", "status", "--short"),
    "tcc": ("tcc", "-nostdinc", "-isystem", MUSL, "-c", "all.c", "-o", f"{GUESTS}/all.o"),
    "sqlite3": ("sqlite3", "data", ".read work.sql"),
    "httpd": ("busybox", "sh", "serve"),
}


def make_work(folder: Path) -> Path:
    """The programs' files, always the same."""
    tree = folder / "tree"
    for number in range(150):
        path = tree / f"part{number % 15}" / f"file{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"line {number}\n" * (1 + 37 * number % 400))
    words = WORDS.split()
    lines = (" ".join(words[(7 * n + 3 * k) % 16] for k in range(6)) for n in range(300))
    (folder / "words").write_text("\n".join(lines) + "\n")
    (folder / "script").write_text(SCRIPT)
    (folder / "serve").write_text(SERVE)
    (folder / "work.sql").write_text(SQL)
    headers = ("stdio", "stdlib", "string", "unistd", "errno", "fcntl", "signal", "time", "math", "pthread")
    functions = "".join(
        f'int f{n}(int a) {{ return printf("%d\\n", a * {n} + (int)strlen("x")); }}\n' for n in range(200)
    )
    (folder / "all.c").write_text("".join(f"#include <{name}.h>\n" for name in headers) + functions)
    fixed = {"GIT_AUTHOR_DATE": "2025-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2025-01-01T00:00:00Z"}
    who = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "init.defaultBranch=main")
    for git in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "all")):
        done = ("git", "-C", str(tree), *who, *git)
        subprocess.run(done, check=True, timeout=120, env={"PATH": "/usr/bin:/bin", **fixed})
    (tree / "part3" / "new.txt").write_text("new\n")
    return folder


def counted(guests: Sequence[str], work: Path, kept: Kept) -> None:
    """Counts what `kept` lacks; the calls of each program in the first guest."""
    for name, (program, *rest) in PROGRAMS.items():
        brought = execution.program_files(program, *({MUSL} & {*rest}))
        words = (f"/{next(iter(brought))}", *rest)
        brought |= execution.folder_files(work)
        for guest in guests:
            counts = kept.setdefault(name, {})
            target = QemuTarget.from_spec(guest)
            if guest not in counts:
                ended = execution.count(target, words, brought, Deadline.after(SECONDS))
                if ended.status != 0:
                    raise SystemExit(f"{name} on {guest} exited with status {ended.status}")
                counts[guest] = [ended.user, ended.kernel, ended.syscalls, ended.faults, ended.switches, ended.resident]
                print(f"{name} on {guest}: {counts[guest]}", file=sys.stderr)
            if "calls" not in counts:
                by = recorder(execution.TRACE)
                with_it = {**brought, **execution.program_files(by[0])}
                made = execution.count(target, (*by, *words), with_it, Deadline.after(SECONDS), execution.TRACE)
                counts["calls"] = [[*key, n] for key, n in parse(made.trace).calls.items()]


@dataclass(frozen=True, slots=True)
class Case:
    """One program, predicted for the guest `b` from the guest `a`."""

    program: str
    a: str
    b: str
    true: float  #: the kernel's share on B, as counted
    off: float  #: the predicted share, relative to it
    log: float  #: the kernel's cost, predicted over counted, as a logarithm
    naive: float  #: A's share relative to B's true one
    asked: Asked
    kernel: int  #: on B, as counted


def cases(kept: Kept, sheets: Mapping[str, Sheet], guests: Sequence[str], *, scaled: bool) -> list[Case]:
    """Every program from every guest to every other; if not `scaled`, by B's prices alone."""
    made = []
    for program, counts in kept.items():
        calls = {(str(name), str(kind), int(size)): int(n) for name, kind, size, n in counts["calls"]}
        for a in guests:
            user, kernel, _, faults, switches, pages = counts[a]
            asked = Asked(calls, faults, switches, user, kernel, pages)
            for b in guests:
                if (a == b) != scaled:
                    predicted = prediction.predict(asked, PRICES, sheets[a], sheets[b], scaled=scaled)
                    true = counts[b][1] / (counts[b][0] + counts[b][1])
                    log = math.log(predicted.b / counts[b][1])
                    naive = kernel / (kernel + user) / true - 1
                    off = predicted.share(predicted.b) / true - 1
                    made.append(Case(program, a, b, true, off, log, naive, asked, counts[b][1]))
    return made


def quantile(made: Sequence[Case]) -> float:
    """The error that 19 of 20 cases do not exceed."""
    return sorted(abs(case.log) for case in made)[math.ceil(0.95 * len(made)) - 1]


def covered(all_cases: Sequence[Case], sheets: Mapping[str, Sheet], guests: Sequence[str]) -> float:
    """The share of cases within the interval that the other kernels' errors give."""
    hits = 0
    for left_out in guests:
        others = [case for case in all_cases if left_out not in (case.a, case.b)]
        scaled = msgspec.structs.replace(PRICES, error={"scaled": quantile(others)})
        for case in all_cases:
            if case.b == left_out:
                made = prediction.predict(case.asked, scaled, sheets[case.a], sheets[case.b], scaled=True)
                hits += made.low <= case.kernel <= made.high
    return hits / len(all_cases)


def order(name: str) -> list[int]:
    """Versions by number, programs in their order."""
    return [[*PROGRAMS].index(name)] if name in PROGRAMS else [*map(int, re.findall(r"\d+", name))]


def table(head: str, scaled: Sequence[Case], plain: Sequence[Case], by: Callable[[Case], str]) -> None:
    """Prints a table in Markdown, a line for each value of `by`. Errors are relative to the counted share."""
    print(f"| {head} | share, counted | median error | largest | median if as on A | largest | cost by prices alone |")
    print("|---|---|---:|---:|---:|---:|---|")
    for name in sorted({*map(by, scaled)}, key=order):
        true = [100 * case.true for case in scaled if by(case) == name]
        off = [100 * abs(case.off) for case in scaled if by(case) == name]
        naive = [100 * abs(case.naive) for case in scaled if by(case) == name]
        alone = [100 * math.expm1(case.log) for case in plain if by(case) == name]
        print(
            f"| {name} | {min(true):.1f} to {max(true):.1f} % | {median(off):.1f} % | {max(off):.1f} % | "
            f"{median(naive):.1f} % | {max(naive):.1f} % | "
            f"{min(alone):+.0f} to {max(alone):+.0f} % |"
        )
    print()


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    words.add_argument("--rows", action="store_true")
    words.add_argument("--store", type=Path, default=Path())
    words.add_argument("--label", default="prices")
    words.add_argument("--guests", default="")
    words.add_argument("--kept", type=Path)
    given = words.parse_args()
    if given.rows:  # for --workloads
        rows = sorted(row for price in PRICES.price for row in price.rows)
        print(",".join(dict.fromkeys(Row(row).argument for row in rows)))
        return
    results = Store(given.store).load_set(f"label:{given.label}")
    sheets = {result.session.target.removeprefix("qemu:"): prediction.sheet(result) for result in results}
    guests = given.guests.split(",") if given.guests else sorted(sheets, key=order)
    kept: Kept = json.loads(given.kept.read_text()) if given.kept and given.kept.exists() else {}
    with tempfile.TemporaryDirectory() as made:
        try:
            counted(guests, make_work(Path(made)), kept)
        finally:
            if given.kept:
                given.kept.write_text(json.dumps(kept))
    scaled, plain = (cases(kept, sheets, guests, scaled=each) for each in (True, False))
    table("program", scaled, plain, lambda case: case.program)
    table("B", scaled, plain, lambda case: case.b)
    print(f"all {len(scaled)} cases: median error of the share {100 * median(abs(case.off) for case in scaled):.1f} %,")
    print(f"{100 * median(abs(case.naive) for case in scaled):.1f} % if A's share is taken for B's")
    if len(guests) > 2:  # of two, no pair remains without one of them
        print(f"within the interval, its kernel left out: {100 * covered(scaled, sheets, guests):.0f} %")
    print(f"[error]\nscaled = {quantile(scaled):.3f}\nplain = {quantile(plain):.3f}")


if __name__ == "__main__":
    main()
