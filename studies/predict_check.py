"""How far `kernometer predict` is off: eleven programs on many Linux guests by path, each kernel left out in turn.

    python -m studies.predict_check --rows | --store DIR --label L [--guests linux-6.1,linux-6.12] [--kept FILE]

The prices are those of the label's stored sessions (a matrix by path). Each program is counted whole in each guest; its
calls of some are recorded once, in the first guest. The output is the tables of docs/predict.md, and the errors for
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
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from kernometer.explain import prediction
from kernometer.explain.prediction import Asked, Entries, Prediction, Sheet
from kernometer.host.recorder import parse, recorder
from kernometer.results.rows import Row
from kernometer.results.store import Store
from kernometer.tables import packaged
from kernometer.targets import execution
from kernometer.targets.base import Deadline
from kernometer.targets.qemu import QemuTarget

#: The counts by program: its "calls" (name, kind, bytes, count), and by guest user and kernel instructions, calls,
#: faults, switches, resident pages, entries.
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
BUILD = f"""objects = $(patsubst %,part%.o,0 1 2 3 4 5 6 7)
lib.a: $(objects)
\ttcc -ar rcs $@ $(objects)
%.o: %.c
\ttcc -nostdinc -isystem {MUSL} -c $< -o $@
"""
NGINX = """daemon off; master_process off; user root; pid /tmp/pid; error_log /tmp/error;
events { }
http { access_log /tmp/access; client_body_temp_path /tmp/a; proxy_temp_path /tmp/b; fastcgi_temp_path /tmp/c;
  uwsgi_temp_path /tmp/d; scgi_temp_path /tmp/e; server { listen 8081; root tree; } }
"""
LOAD = """nginx -p . -c nginx.conf &
until ab -q -n 1 http://127.0.0.1:8081/part0/file0.txt; do :; done
ab -q -n 100 -c 2 http://127.0.0.1:8081/part1/file31.txt || exit 1
ab -q -k -n 100 -c 2 http://127.0.0.1:8081/part2/file92.txt || exit 1
kill $!
wait
"""
SEARCH = """find tree -name '*.txt' -size +1k | sort >names
xargs grep -l 'line 3[0-9]' <names >matching
find tree -type f -size -4k -exec sha1sum {} + | sort -k 2 >sums
test -s matching && test -s sums
"""
EDIT = """for f in tree/part[0-4]/*.txt; do
  sed -e 's/line/item/' -e '/9/d' $f >edited && busybox mv edited $f || exit 1
done
gawk '{ n[$2] += length($1) } END { for (k in n) print k, n[k] | "sort -n" }' tree/part?/*.txt >table
gawk -F: '/the/ { while (("busybox wc -c " FILENAME) | getline x) y = x } END { print y }' words
"""
INSERT = "insert into t(b) values ('{}');\n"
COMMITS = "create table t(a integer primary key, b text);\n" + "".join(
    INSERT.format(str(n).zfill(20 + n % 90)) for n in range(60)
)
SQL = """create table t(a integer primary key, b text);
begin;
with recursive n(x) as (select 1 union all select x + 1 from n where x < 500) insert into t select x, hex(x * x) from n;
commit;
create index i on t(b);
update t set b = b || 'x' where a % 3 = 0;
delete from t where a % 5 = 0;
select count(*), max(b) from t;
"""


#: The words of each command. Prices were chosen after looking at these.
TRAINING = {
    "shell script": ("busybox", "sh", "script"),
    "tar": ("tar", "cf", f"{GUESTS}/all.tar", "tree"),
    "git status": ("git", "-C", "tree", "status", "--short"),
    "tcc": ("tcc", "-nostdinc", "-isystem", MUSL, "-c", "all.c", "-o", f"{GUESTS}/all.o"),
    "sqlite3": ("sqlite3", "data", ".read work.sql"),
    "httpd": ("busybox", "sh", "serve"),
}
#: No price was chosen for these, and nobody looked at what they cost before the prices were final.
NEW = {
    "build by make": ("make", "-f", "build.mk"),
    "nginx under ab": ("busybox", "sh", "load"),
    "sqlite3's commits": ("sqlite3", "commits", ".read commits.sql"),
    "find and grep": ("busybox", "sh", "search"),
    "sed and gawk": ("busybox", "sh", "edit"),
}
PROGRAMS = {**TRAINING, **NEW}
#: What is brought into the guest besides: programs with their libraries, directories.
BROUGHT = {
    "tcc": (MUSL,),
    "build by make": ("tcc", MUSL),
    "nginx under ab": ("nginx", "ab", "/etc/passwd", "/etc/group"),
    "find and grep": ("find", "xargs", "grep", "sort", "sha1sum"),
    "sed and gawk": ("sed", "gawk", "sort"),
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
    new = {"build.mk": BUILD, "nginx.conf": NGINX, "load": LOAD, "search": SEARCH, "edit": EDIT}
    for name, text in {**new, "commits.sql": COMMITS}.items():
        (folder / name).write_text(text)
    headers = ("stdio", "stdlib", "string", "unistd", "errno", "fcntl", "signal", "time", "math", "pthread")
    functions = "".join(
        f'int f{n}(int a) {{ return printf("%d\\n", a * {n} + (int)strlen("x")); }}\n' for n in range(200)
    )
    included = "".join(f"#include <{name}.h>\n" for name in headers)
    (folder / "all.c").write_text(included + functions)
    for number in range(8):
        (folder / f"part{number}.c").write_text(f"{included}int part{number}(int a) {{ return a << {number}; }}\n")
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
        brought = execution.program_files(program, *BROUGHT.get(name, ()))
        words = (f"/{next(iter(brought))}", *rest)
        brought |= execution.folder_files(work)
        for guest in guests:
            counts = kept.setdefault(name, {})
            target = QemuTarget.from_spec(guest)
            if guest not in counts:
                ended = execution.count(target, words, brought, Deadline.after(SECONDS))
                if ended.status != 0:
                    raise SystemExit(f"{name} on {guest} exited with status {ended.status}")
                numbers = [ended.user, ended.kernel, ended.syscalls, ended.faults, ended.switches, ended.resident]
                print(f"{name} on {guest}: {numbers}", file=sys.stderr)
                counts[guest] = [*numbers, ended.entries]
            if name in TRAINING and "calls" not in counts:
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
    kernel: int  #: on B, as counted
    predicted: Prediction


How = Literal["entries", "scaled", "plain"]


class Side(NamedTuple):
    """What the rows of one guest cost."""

    sheet: Sheet
    entries: dict[str, Entries]


def cases(kept: Kept, sides: Mapping[str, Side], guests: Sequence[str], how: How) -> list[Case]:
    """Every program from every guest to every other: by entries; whose calls are known by one ratio (`scaled`), or by
    B's prices alone (`plain`)."""
    made = []
    for program, counts in kept.items():
        if how != "entries" and "calls" not in counts:
            continue
        calls = {(str(name), str(kind), int(size)): int(n) for name, kind, size, n in counts.get("calls", ())}
        for a in guests:
            user, kernel, _, faults, switches, pages, own = counts[a]
            asked = Asked(calls, faults, switches, user, kernel, pages)
            for b in guests:
                if (a == b) == (how == "plain"):
                    if how == "entries":
                        predicted = prediction.divide(own, user, PRICES, sides[a].entries, sides[b].entries)
                    else:
                        sheets = sides[a].sheet, sides[b].sheet
                        predicted = prediction.predict(asked, PRICES, *sheets, scaled=how == "scaled")
                    true = counts[b][1] / (counts[b][0] + counts[b][1])
                    log = math.log(predicted.b / counts[b][1])
                    naive = kernel / (kernel + user) / true - 1
                    off = predicted.share(predicted.b) / true - 1
                    made.append(Case(program, a, b, true, off, log, naive, counts[b][1], predicted))
    return made


def quantile(made: Sequence[Case]) -> float:
    """The error that 19 of 20 cases do not exceed."""
    return sorted(abs(case.log) for case in made)[math.ceil(0.95 * len(made)) - 1]


def covered(all_cases: Sequence[Case], guests: Sequence[str]) -> float:
    """The share of cases within the interval that the other kernels' errors give."""
    hits = 0
    for left_out in guests:
        error = quantile([case for case in all_cases if left_out not in (case.a, case.b)]) - PRICES.error["entries"]
        for case in all_cases:
            if case.b == left_out:
                made = case.predicted
                hits += made.low * math.exp(-error) <= case.kernel <= made.high * math.exp(error)
    return hits / len(all_cases)


def order(name: str) -> list[int]:
    """Versions by number, programs in their order."""
    return [[*PROGRAMS].index(name)] if name in PROGRAMS else [*map(int, re.findall(r"\d+", name))]


def shown(errors: Sequence[float]) -> str:
    """The median and the greatest, for a table."""
    percent = [100 * abs(each) for each in errors]
    return f"{median(percent):.1f} % | {max(percent):.1f} %" if percent else "– | –"


def table(head: str, divided: Sequence[Case], scaled: Sequence[Case], by: Callable[[Case], str]) -> None:
    """Prints a table in Markdown, a line for each value of `by`. Errors are relative to the counted share."""
    print(f"| {head} | share, counted | median error | largest | as on A, median | largest | one ratio | largest |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name in sorted({*map(by, divided)}, key=order):
        here, simple = ([case for case in some if by(case) == name] for some in (divided, scaled))
        true = [100 * case.true for case in here]
        errors = ([case.off for case in here], [case.naive for case in here], [case.off for case in simple])
        print(f"| {name} | {min(true):.1f} to {max(true):.1f} % | {' | '.join(map(shown, errors))} |")
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
        print(",".join(dict.fromkeys(Row(row).argument for row in sorted(PRICES.all_rows))))
        return
    results = Store(given.store).load_set(f"label:{given.label}")
    sides = {
        result.session.target.removeprefix("qemu:"): Side(prediction.sheet(result), prediction.entries(result))
        for result in results
    }
    guests = given.guests.split(",") if given.guests else sorted(sides, key=order)
    kept: Kept = json.loads(given.kept.read_text()) if given.kept and given.kept.exists() else {}
    with tempfile.TemporaryDirectory() as made:
        try:
            counted(guests, make_work(Path(made)), kept)
        finally:
            if given.kept:
                given.kept.write_text(json.dumps(kept))
    divided, scaled, plain = (cases(kept, sides, guests, how) for how in get_args(How))
    table("program", divided, scaled, lambda case: case.program)
    new = [case for case in divided if case.program in NEW]
    table("new programs, to B", new, (), lambda case: case.b)
    for what, some in (("training", [case for case in divided if case.program in TRAINING]), ("new", new)):
        errors = shown([case.off for case in some]), shown([case.naive for case in some])
        print(f"{what}, {len(some)} cases: median and largest {errors[0]}; as on A {errors[1]}")
    if len(guests) > 2:  # of two, no pair remains without one of them
        print(f"within the interval, its kernel left out: {100 * covered(divided, guests):.0f} %")
    print(f"[error]\nentries = {quantile(divided):.3f}\nscaled = {quantile(scaled):.3f}\nplain = {quantile(plain):.3f}")


if __name__ == "__main__":
    main()
