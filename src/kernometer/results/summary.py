"""The summary of a result in the index, so that lists and names need not open every file. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from kernometer.results.model import Publication, Result


@dataclass(frozen=True, slots=True)
class Summary:
    """One result file of the store. If it cannot be read, `problem` is set and all else but the path is empty."""

    path: Path
    id: str = ""
    label: str = ""
    target: str = ""
    by: str = ""
    profile: str = ""
    started: float = 0.0  #: seconds since the epoch, UTC
    seconds: float = 0.0  #: of the session; 0: not known
    kernel: str = ""  #: name and release from the probe's uname
    host: str = ""  #: see host_key
    probe: str = ""  #: see Result.build
    machine: str = ""  #: from the session, as is board
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
    growing: bool = False  #: a process is measuring it now; never set in the index


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
        probe=result.build,
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
    """The summary of figures without samples: the suite as the target, the machine's description as the kernel."""
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

    Machines cloned from one image share an id, so the CPU is part of the key. A host without an id uses its name. The
    kernel is not part of it: a host with a new kernel stays the same host.
    """
    header = result.header
    parts = [result.session.machine]
    if header is not None:
        parts += [result.session.host_id or header.uname.get("nodename", ""), header.uname.get("machine", "")]
        parts += [str(header.cpu.get("model", "")), str(header.cpu.get("online", ""))]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]
