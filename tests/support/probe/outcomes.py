"""The probe with disks and displays that it is told of, and what came of it."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BY_PATH = ("--by", "path")
Record = dict[str, Any]


@dataclass
class Outcome:
    status: int
    records: list[Record]
    said: str

    def of(self, kind: str) -> list[Record]:
        return [record for record in self.records if record["type"] == kind]


def start(probe: Path, *words: str, env: dict[str, str] | None = None) -> Outcome:
    done = subprocess.run(
        (str(probe), *words),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **(env or {})},
    )
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return Outcome(done.returncode, records, done.stderr)


def listed(probe: Path, *words: str) -> dict[str, Record]:
    found = start(probe, "--list", "--json", *words).of("workload")
    return {row["row"]: row for workload in found for row in workload["rows"]}
