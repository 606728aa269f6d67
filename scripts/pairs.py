#!/usr/bin/env python3
"""How far `kernometer explain` finds causes that are known: the tables of docs/explain.md.

usage: .venv/bin/python scripts/pairs.py --store DIR [PAIRS.toml]

The file (examples/explain/pairs.toml) names pairs of results with the findings that must be said of each and those that
are true besides. Claims of the literature are not counted: a rule repeats what rows say.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernometer.cli import explain
from kernometer.cli.env import Env
from kernometer.errors import KernometerError

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Judged:
    """One pair: findings that had to be said, those that were not, and those that are not true."""

    what: str
    by: str
    found: tuple[str, ...]
    missed: tuple[str, ...]
    false: tuple[str, ...]
    said: int


def judge(pair: dict[str, Any], document: dict[str, Any]) -> Judged:
    """Holds `explain --json` against the pair's lists."""
    sides = {one["name"]: letter for one, letter in zip(document["systems"], "AB", strict=True)}
    said = [
        f"{one['rule']} in {sides[one['system']]}"
        for one in document["findings"]
        if not one["kind"].startswith("claim") and one["confidence"] != "refuted"
    ]
    wanted = [choice.split(" | ") for choice in pair["must"]]
    right = {*pair["true"], *(name for choice in wanted for name in choice)}
    return Judged(
        pair["what"],
        pair["by"],
        tuple(name for choice in wanted for name in choice if name in said),
        tuple(" | ".join(choice) for choice in wanted if not set(choice) & set(said)),
        tuple(name for name in said if name not in right),
        len(said),
    )


def table(judged: list[Judged]) -> str:
    """In Markdown, with the shares below."""
    lines = ["| pair | by | found | missed | falsely said |", "|---|---|---|---|---|"]
    for one in judged:
        cells = (one.found, one.missed, one.false)
        lines.append(f"| {one.what} | {one.by} | {' | '.join(', '.join(cell) or '–' for cell in cells)} |")
    found, missed = (sum(len(getattr(one, part)) for one in judged) for part in ("found", "missed"))
    false, said = sum(len(one.false) for one in judged), sum(one.said for one in judged)
    share = f"Found: {found} of {found + missed}; missed: {missed}; falsely said: {false} of {said} findings."
    return "\n".join((*lines, "", share))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("pairs", type=Path, nargs="?", default=ROOT / "examples/explain/pairs.toml")
    given = parser.parse_args()
    judged = []
    for pair in tomllib.loads(given.pairs.read_text(encoding="utf-8"))["pair"]:
        out = io.StringIO()
        env = Env(out=out, err=sys.stderr, store_folder=given.store)
        explain.command.main([pair["a"], pair["b"], "--json"], obj=env, standalone_mode=False)
        judged.append(judge(pair, json.loads(out.getvalue())))
    print(table(judged))
    return 0


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except KernometerError as error:
        print(f"pairs: {error.text}\nnext: {error.next_step}", file=sys.stderr)
        raise SystemExit(error.status) from None
