"""Kernometer against other suites, pair by pair: studies/peers/tables.md, which docs/agreement.md sums up.

usage: .venv/bin/python -m studies.peers [--blocks N] [--seconds S] [--seed N] [--witness|--causes] [--write] [WORD...]

A WORD selects the pairs whose row, package or command contains it; without one all pairs are measured. With `--witness`
the other side is a program of our own that shares nothing with the probe (witness.c); with `--causes` pairs with a
large difference have its supposed cause on both sides (cause.c). `--write` puts the table into tables.md, between
its two markers; otherwise it is printed. 20 blocks of all pairs take five to ten minutes.
"""

from __future__ import annotations

import argparse
import secrets
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from studies.peers.measuring import LEAST_BLOCKS, Absent, Agreement, measure
from studies.peers.pairs import PAIRS, Pair, causes, witness
from studies.section import here, put, table_line

PAGE = Path(__file__).with_name("tables.md")
HEAD = (
    "| one operation | ours | theirs | ours (ns) | theirs (ns) | theirs / ours (95 %) | why they differ |\n"
    "|---|---|---|---:|---:|---:|---|"
)


def chosen(pairs: Sequence[Pair], words: Sequence[str]) -> tuple[Pair, ...]:
    def text(pair: Pair) -> str:
        return " ".join((pair.name, pair.package, *pair.theirs))

    return tuple(pair for pair in pairs if not words or any(word in text(pair) for word in words))


def significant(value: float) -> str:
    """Three digits; thousands apart."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def line(measured: Agreement | Absent) -> str:
    pair = measured.pair
    sides = [f"`kernometer run {row}`" if pair.command else f"`{row}`" for row in pair.rows]
    sides += [f"`{shlex.join(pair.added)}`"] if pair.added else []
    ours = " + ".join(sides) + (" (gross)" if pair.figure == "gross" and pair.rows else "")
    cells = [pair.operation, ours, f"`{shlex.join(pair.theirs)}`".replace("|", "\\|")]
    if isinstance(measured, Absent):
        cells += ["", "", "", f"not measured: {measured.why}".replace("|", "\\|").replace("\n", " ")]
    else:
        ratio = f"{measured.ratio:.3f} ({measured.low:.3f} to {measured.high:.3f})"
        cells += [significant(measured.ours), significant(measured.theirs), ratio, pair.why]
    return table_line(*cells)


def versions(measured: Sequence[Agreement | Absent]) -> str:
    """Versions of the measured packages, by dpkg; "" without dpkg."""
    packages = sorted({side.pair.package for side in measured if isinstance(side, Agreement)})
    try:
        done = subprocess.run(
            ("dpkg-query", "-W", "-f", "${Package} ${Version}, ", *packages),
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return done.stdout.rstrip(", ")


def report(measured: Sequence[Agreement | Absent], blocks: int) -> str:
    where = f"{here()}; {versions(measured)}; {blocks} blocks."
    return "\n".join((where, "", HEAD, *map(line, measured)))


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=20, help="at least 2")
    parser.add_argument("--seconds", type=float, default=0.3, help="sampling time of one run of ours")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--witness", action="store_true", help="compare with our own second program")
    parser.add_argument("--causes", action="store_true", help="put the causes of large differences on both sides")
    parser.add_argument("--write", action="store_true", help="write the table into tables.md")
    parser.add_argument("words", nargs="*", metavar="WORD")
    options = parser.parse_args(words)
    pairs = chosen(witness() if options.witness else causes() if options.causes else PAIRS, options.words)
    if options.blocks < LEAST_BLOCKS or not pairs:
        parser.error("an interval needs two blocks" if pairs else "no pair contains any of these words")
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        say = lambda text: print(text, file=sys.stderr, flush=True)  # noqa: E731  # one line, used once
        measured = list(measure(pairs, options.blocks, options.seconds, options.seed, Path(folder), say))
    which = " --witness" if options.witness else " --causes" if options.causes else ""
    put(PAGE, f"studies/peers{which}", report(measured, options.blocks), write=options.write)
    return int(any(isinstance(side, Absent) for side in measured))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
