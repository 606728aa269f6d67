"""Results and comparisons for the report's tests: made up, with every case a page must show."""

from __future__ import annotations

import random
import zlib
from typing import Any

from msgspec import structs

from kernometer.results.model import End, Failure, Result, RowInfo, Run, Unsupported, Workload
from kernometer.stats.figures import figures
from kernometer.stats.model import Comparison, Difference, RowComparison, Verdict
from kernometer.tables import grouped
from tests.support.results import make

#: Everything that a string from a machine may try: markup, an attribute's end, a terminal's escape, text direction.
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;\x1b[2J\x00\u202ereverse\u2066{{ 7*7 }}"

#: The parameters of every second row: as long as the longest of the registry.
LONG = "message=65536,total=1048576,working_set=16384,other-cpu"

FAMILIES = ("syscall", "ctx", "proc", "mem", "fs", "cpu")
FINDINGS = [
    {
        "name": "governor",
        "value": "powersave",
        "effect": "the clock wanders",
        "advice": "cpupower …",
        "severity": "disturbs",
    },
    {"name": "huge pages", "value": "always", "effect": "faults get larger", "advice": "", "severity": "note"},
    {"name": "clock source", "value": "tsc", "effect": "", "advice": "", "severity": "ok"},
]


def session_id(label: str, number: int = 0) -> str:
    """An id as the store makes them, known beforehand."""
    return f"20261121T10{number:02}00Z-{zlib.crc32(label.encode()) & 0xFFFFFF:06x}"


def definition(name: str, parameters: tuple[str, ...] = ("",), place: int = 0, **given: Any) -> Workload:
    """A workload whose rows are numbered in the registry from `place` on."""
    rows = tuple(
        RowInfo(row=f"{name}@{one}" if one else name, id=2 * (place + index) + 2, profiles=("quick", "full"))
        for index, one in enumerate(parameters)
    )
    return make.workload(name, what=f"what {name} is", inside="the call alone", rows=rows, **given)


def quiet_run(row: str, number: int, samples: int, nanoseconds: float, seed: int) -> Run:
    """One run whose samples spread by about 1 %."""
    source = random.Random(f"{row} {number} {seed}")
    values = tuple(round(1000 * nanoseconds * source.lognormvariate(0, 0.01)) + 525 for _ in range(samples))
    return make.run(
        number,
        row,
        samples=values,
        baseline=None,
        involuntary=(),
        migrated=(),
        warnings=(),
        meter={"wall_ns": 1e6, "steal_ns": 0.0},
        hardware={},
        iterations=1000 * samples,
        claimed={"reads": 1.0},
        happened={"reads": 1000.0 * samples},
    )  # fmt: skip: one argument a line would be a page


def result(
    label: str = "before",
    *,
    number: int = 0,
    workloads: int = 6,
    runs: int = 5,
    samples: int = 30,
    factor: float = 1.0,
    **session: Any,
) -> Result:
    """One session: `workloads` workloads of two rows each, a failure, an unsupported row, findings.

    Costs are those of A times `factor`, and a little of each session's own. Rows stand in an order that is not the
    registry's, as the probe runs them.
    """
    given: dict[str, Any] = {
        "id": session_id(label, number),
        "label": label,
        "started": 1_795_255_200.0 + 3600 * number,
        "host": {"findings": FINDINGS, "facts": {}},
    }  # fmt: skip: as above
    names = [f"{FAMILIES[index % len(FAMILIES)]}/work-{index}" for index in range(workloads)]
    names.sort(key=lambda name: FAMILIES.index(name.split("/")[0]))
    definitions = {name: definition(name, ("", LONG), 2 * index) for index, name in enumerate(names)}
    measured = [
        quiet_run(info.row, run, samples, 100.0 * (1 + index) * factor * (1 + 0.002 * number), seed=number)
        for run in range(runs)
        for index, name in enumerate(reversed(names))
        for info in definitions[name].rows
    ]
    return Result(
        session=make.session(**given | session),
        header=make.header(counters="perf_event_open: ENOENT"),
        workloads=dict(reversed(definitions.items())),  # a file may hold them in any order
        runs=tuple(measured),
        failures=(Failure(row="proc/execl", text="the child died", call="execve", errno="EACCES"),),
        unsupported=(Unsupported(row="ctx/yield", reason="no sched_yield"),),
        end=End(complete=True, seconds=12.5),
    )


def curved(
    label: str = "before",
    *,
    number: int = 0,
    strides: tuple[int, ...] = (16, 64),
    points: int = 12,
    runs: int = 5,
    samples: int = 12,
    factor: float = 1.0,
    **given: Any,
) -> Result:
    """`result`, and mem/chase: a curve a stride, along bytes; from 64 KiB on its cost grows, and there by `factor`."""
    base = result(label, number=number, runs=runs, samples=samples, **given)
    sizes = [4096 << index for index in range(points)]
    parameters = tuple(f"bytes={size},stride={stride}" for stride in strides for size in sizes)
    chase = definition("mem/chase", parameters, 1000, curve="bytes", params=("bytes", "stride"))
    of_row = {
        f"mem/chase@bytes={size},stride={stride}": (1.5 + 0.02 * stride * max(0, size.bit_length() - 16))
        * (factor if size > 1 << 16 else 1.0)
        for stride in strides
        for size in sizes
    }
    measured = tuple(
        quiet_run(row, run, samples, cost * (1 + 0.001 * number), seed=number)
        for run in range(runs)
        for row, cost in of_row.items()
    )
    return structs.replace(base, workloads=base.workloads | {chase.name: chase}, runs=(*base.runs, *measured))


def systems(*results: Result) -> dict[str, list[Result]]:
    """Results by their label, or each alone by its id."""
    return grouped((one.session.label or one.session.id, one) for one in results)


def comparison(a: Result, b: Result, names: tuple[str, str] = ("before", "after"), **given: Any) -> Comparison:
    """Every verdict there is, over and over, on the rows that both have; the last row has failed."""
    of_a, of_b = figures(a), figures(b)
    kinds: list[dict[str, Any]] = [
        {"verdict": Verdict.SLOWER, "ratio": 1.25, "low": 1.2, "high": 1.3},
        {"verdict": Verdict.FASTER, "ratio": 0.8, "low": 0.75, "high": 0.85},
        {"verdict": Verdict.EQUIVALENT, "ratio": 1.003, "low": 0.995, "high": 1.01},
        {
            "verdict": Verdict.UNDECIDED,
            "ratio": 1.02,
            "low": 0.93,
            "high": 1.12,
            "smallest": 0.09,
            "sessions_missing": 4,
            "notes": ("spread between sessions from this host's history", "of this row alone"),
        },
        {"verdict": Verdict.UNDECIDED, "notes": ("one session on a side shows no spread",)},
    ]  # fmt: skip: a row a line
    rows = [
        RowComparison(row=row, workload=of_a[row].workload, a=of_a[row], b=of_b[row], **kinds[index % len(kinds)])
        for index, row in enumerate(of_a)
    ]
    rows.append(RowComparison("proc/execl", "proc/execl", Verdict.FAILED, notes=("failed on after: the child died",)))
    values: dict[str, Any] = {
        "method": "compare",
        "delta": 0.02,
        "rows": tuple(rows),
        "same": (Difference("probe version", "0.1.0", "0.1.0"), Difference("digest", "0" * 64, "0" * 64)),
        "differs": (Difference("cpu model", "one CPU", "another CPU"),),
        "remarks": ("intervals are 95 % each",),
    }  # fmt: skip: as above
    return Comparison(*names, **values | given)


def hostile(text: str = HOSTILE) -> Result:
    """A session in which every string that a machine, a file or a user gives is `text`."""
    row = f"{text}/{text}"
    workload = definition(row, per=text, source=text, subtracts=text)
    header = make.header(
        probe={"version": text, "source_digest": text, "compiler": text, "flags": text},
        uname={"sysname": text, "nodename": text, "release": text, "version": text, "machine": text},
        cpu={"model": text, "online": 2},
        clock=text,
        counters=text,
    )
    run = make.run(
        0,
        row,
        warnings=({"code": "probe", "text": text},),
        claimed={text: 1.0},
        happened={text: 2.0},
        hardware={text: 3.0},
        params={text: text},
    )  # fmt: skip: as above
    finding = {"name": text, "value": text, "effect": text, "advice": text, "severity": "disturbs"}
    return Result(
        session=make.session(
            id=text, label=text, target=text, machine=text, profile=text, host={"findings": [finding]}
        ),
        header=header,
        workloads={row: workload},
        runs=(run, run),
        failures=(Failure(row=text, text=text, call=text, errno=text),),
        unsupported=(Unsupported(row=text, reason=text),),
        end=End(complete=False, reason=text),
        damage=(text,),
    )
