"""What the index keeps of a result, so that lists and names need not open every file. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from kernometer.results.model import Publication, Result


@dataclass(frozen=True, slots=True)
class Summary:
    """One result file of the store. `problem` is set, and all else but the path is empty, where it cannot be read."""

    path: Path
    id: str = ""
    label: str = ""
    target: str = ""
    by: str = ""
    profile: str = ""
    started: float = 0.0  #: seconds since the epoch, UTC
    seconds: float = 0.0  #: that the session took; 0: not known
    kernel: str = ""  #: name and release, as the probe's uname has them
    host: str = ""  #: see host_key
    machine: str = ""  #: as the session has them
    board: str = ""
    image: str = ""
    experiment: str = ""
    side: str = ""
    rows: int = 0
    runs: int = 0
    failures: int = 0
    complete: bool = False
    damage: int = 0  #: sentences of damage
    problem: str = ""
    growing: bool = False  #: a process is measuring it now; never in the index


def summarize(path: Path, result: Result) -> Summary:
    session, end = result.session, result.end
    uname = result.header.uname if result.header else {}
    return Summary(
        path=path,
        id=session.id,
        label=session.label,
        target=session.target,
        by=session.by,
        profile=session.profile,
        started=session.started,
        seconds=end.seconds if end else 0.0,
        kernel=f"{uname.get('sysname', '')} {uname.get('release', '')}".strip(),
        host=host_key(result),
        machine=session.machine,
        board=session.board,
        image=session.image,
        experiment=session.experiment,
        side=session.side,
        rows=len(result.rows),
        runs=len(result.runs),
        failures=len({failure.row for failure in result.failures}),
        complete=end is not None and end.complete,
        damage=len(result.damage),
    )


def summarize_imported(path: Path, publication: Publication) -> Summary:
    """Of figures without samples: the suite stands for the target, the machine's own words for the kernel."""
    paper = publication.paper
    return Summary(
        path=path,
        id=paper.name,
        label=paper.label,
        target=paper.suite or "published",
        by="time",
        started=paper.imported,
        kernel=paper.systems[0].name if paper.systems else "",
        rows=len(publication.figures),
        complete=True,
    )


def host_key(result: Result) -> str:
    """Equal for results of one machine: the guest's machine, and the host's id, architecture, CPU and its number.

    Machines that were cloned from one image share an id, so the CPU stands beside it. A host without an id goes by its
    name. The kernel is no part of it: a host stays the same host when its kernel is replaced.
    """
    header = result.header
    parts = [result.session.machine]
    if header is not None:
        parts += [result.session.host_id or header.uname.get("nodename", ""), header.uname.get("machine", "")]
        parts += [str(header.cpu.get("model", "")), str(header.cpu.get("online", ""))]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]
