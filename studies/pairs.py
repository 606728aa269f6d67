#!/usr/bin/env python3
"""How far `kernometer explain` finds known causes: the tables of studies/explain/README.md.

usage: .venv/bin/python studies/pairs.py STORE [PAIRS.toml]

The file (studies/explain/pairs.toml) names pairs of labels or published columns, what must be said of each, and what is
true besides. Claims of the literature are not counted, for such a rule repeats what rows say.
"""

from __future__ import annotations

import io
import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernometer.cli.commands.judge import explain
from kernometer.cli.env import Env

PAIRS = Path(__file__).resolve().parents[1] / "studies/explain/pairs.toml"


def judge(pair: Mapping[str, Any], usual: Sequence[str], document: Mapping[str, Any]) -> tuple[list[str], ...]:
    """Causes found, missed, and falsely said, and all that was said, from `explain --json`."""
    sides = {system["name"]: letter for system, letter in zip(document["systems"], "AB", strict=True)}
    said = [
        f"{finding['rule']} in {sides[finding['system']]}"
        for finding in document["findings"]
        if not finding["kind"].startswith("claim") and finding["confidence"] != "refuted"
    ]
    wanted = [choice.split(" | ") for choice in pair["must"]]
    right = [name for choice in wanted for name in choice if name in said]
    missed = [" or ".join(choice) for choice in wanted if not set(choice) & set(said)]
    true = {*usual, *pair.get("true", ()), *(name for choice in wanted for name in choice)} - {*pair.get("false", ())}
    return right, missed, [name for name in said if name not in true], said


def main(store: str, pairs: str = str(PAIRS)) -> None:
    """Prints the table in Markdown, and the shares."""
    lists = tomllib.loads(Path(pairs).read_text(encoding="utf-8"))
    totals = [0, 0, 0, 0]
    print("| pair | by | found | missed | falsely said |\n|---|---|---|---|---|")
    for pair in lists["pair"]:
        out = io.StringIO()
        names = [pair[side] if "/" in pair[side] else f"label:{pair[side]}" for side in "ab"]
        env = Env(out=out, err=sys.stderr, store_folder=Path(store))
        explain.main([*names, "--json"], obj=env, standalone_mode=False)
        judged = judge(pair, lists["usual"], json.loads(out.getvalue()))
        totals = [total + len(part) for total, part in zip(totals, judged, strict=True)]
        print(f"| {pair['what']} | {pair['by']} | {' | '.join(', '.join(cell) or '–' for cell in judged[:3])} |")
    right, missed, false, said = totals
    print(f"\nFound: {right} of {right + missed}; missed: {missed}; falsely said: {false} of {said} findings.")


if __name__ == "__main__":
    main(*sys.argv[1:3])
