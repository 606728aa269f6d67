"""Made up records of faults."""

from __future__ import annotations

from kernometer.faults.kinds import Fault
from kernometer.faults.outcomes import Ended, Findings, Outcome
from kernometer.faults.records import Header, Record


def header(target: str, operations: int = 300) -> Header:
    return Header(
        kernometer="0.1.0",
        made="2026-11-26T00:00:00+00:00",
        label="",
        target=target,
        image="trio 0.1 sha256:0",
        sources="0",
        worker="0",
        qemu="7.2.22",
        seed=1,
        count=3,
        operations=operations,
        kinds=("null-write",),
        drivers=("serial",),
        services=("fs",),
        together=(target,),
        places=10,
        usual=Findings(ended="finished"),
    )


def record(number: int, outcome: Outcome = "masked", struck: int | None = 1, ended: Ended = "finished") -> Record:
    fault = Fault("fs", 16 * number, f"f+{number}", "null-write", 5, number)
    return Record(number=number, fault=fault, struck=struck, outcome=outcome, findings=Findings(ended=ended))
