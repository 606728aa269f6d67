"""The commands that judge stored results: compare, explain, predict."""

from __future__ import annotations

import click

from kernometer.cli import completion, options
from kernometer.cli.env import done_by, json_option, raw_option

COMPARE_EPILOG = """\b
Examples:
  kernometer compare label:before label:after      two sets of sessions
  kernometer compare @1 @last                      the last two sessions
  kernometer compare label:v6.1 label:v6.6 label:v6.12    all against the first
  kernometer compare published/miao-2011:linux published/miao-2011:minix3

RESULT: an id or its beginning, a label, @last, @1…, a file; label:NAME is the
set of all sessions of that label. The unit is the session: if a side has only
one, the spread between sessions comes from this host's earlier sessions."""


@click.command(epilog=COMPARE_EPILOG)
@click.argument("names", metavar="A B...", nargs=-1, shell_complete=completion.results)
@click.option("--baseline", metavar="RESULT", help="Compare the others with this one [default: the first].")
@options.delta
@click.option("--quantile", type=options.QUANTILES, help="Judge this quantile of single iterations, not the median.")
@options.report
@options.everything
@options.points
@options.gated
@options.different_machines
@raw_option
@json_option
@done_by("compare")
def compare() -> None:
    """Compare stored results, B (and C…) with A: faster, slower, equivalent, undecided.

    The first line is the verdict. Below it stands every other difference between the sides (hardware, compiler,
    probe). Files of one other suite (imported; label:NAME: all with that label) are judged as sessions are. Of a
    published table (published/NAME:SYSTEM), and of an imported result beside a session, the output gives ratios alone.
    """


EXPLAIN_EPILOG = """\b
Examples:
  kernometer explain published/miao-2011:linux published/miao-2011:minix3
  kernometer explain published/griffiths-2006:ppc      what is odd in one
  kernometer explain label:before label:after
  kernometer explain by-path by-time     counts and times of one system
  kernometer explain --time label:host label:linux label:trio-micro
  kernometer explain qemu:trio-mono qemu:trio-micro proc/fork-exit syscall/stat
  kernometer explain qemu:linux-6.1 qemu:trio-mono proc/fork-exit

RESULT: as for compare; of a set of sessions given alone, the newest is taken.
Confidence: hypothesis (other causes would do the same), likely (rows that
those would have moved stayed), shown (arithmetic, or the row that could
refute it is there and does not). docs/explain.md lists the rules."""


@click.command(epilog=EXPLAIN_EPILOG)
@click.argument("name_a", metavar="A", shell_complete=completion.results)
@click.argument("name_b", metavar="[B]", required=False, shell_complete=completion.results)
@click.argument("words", metavar="[ROW]...", nargs=-1, shell_complete=completion.rows)
@options.delta
@click.option("--time", "timing", is_flag=True, help="A by time and B by path judge cycles; ROWs are results by path.")
@options.processor
@options.different_machines
@options.report
@raw_option
@json_option
@done_by("explain")
def explain() -> None:
    """Say why B differs from A, or what is odd in A alone: causes, each with its rows, a confidence, and what would
    refute it. It needs no counters and no new measurement of stored results.

    With two guests it measures the ROWs by path, and says which parts (caches, TLB, traps …) the cycles of a modelled
    processor differ by; so of stored sessions with such counts. --report draws that. For Trio without and with servers
    it computes too what messages, copies, faults and switches cost in each operation; for other guests it says which
    topics (security modules, scheduling, page tables …) make the difference. It says the same of stored sessions that
    have profiles, or unit costs of the same kernels.

    With --time the cycles of a modelled processor are judged on one kernel measured by time (A) and by path (B): rows
    in user mode tell how long a cycle is, and nothing is fitted. Of results by path in place of ROW it shows the
    cycles, and the times that follow.

    Rules (a file of the package) hold the rows' ratios against what each cause does to them. What no rule can tell is
    listed as undecided, with the rows that could.
    """


PREDICT_EPILOG = (
    """\b
Examples:
  kernometer predict --by path --on qemu:linux-6.1 --on qemu:linux-6.12 \\
      --files DIR -- sqlite3 data '.read work.sql'
  kernometer predict --on label:before --on label:after -- tar cf /dev/null .

The first --on is A, where the command runs: this host by time, a guest by
path. The second is B. Each is a target, whose rows of the price list are then
measured, or a RESULT: an id or its beginning, a label, @last, @1…, a file.

"""
    + options.TARGETS
)


@click.command(cls=options.TakesCommand, epilog=PREDICT_EPILOG)
@click.option("--on", "names", metavar="T|RESULT", multiple=True, help="A, then B: a target, or a stored result.")
@options.by
@click.option(
    "--files",
    "folder",
    metavar="DIR",
    type=options.FOLDER,
    help="The command works in a copy of this directory, a fresh one for each execution.",
)
@click.option("--bring", metavar="PATH", multiple=True, help="By path: further programs or directories for the guest.")
@click.option("--limit", type=options.Real(1, 86400), default=300, show_default=True, help="Seconds for an execution.")
@options.different_machines
@json_option
@done_by("predict")
def predict() -> None:
    """Predict what a program would cost on another kernel, from its system calls and the catalogue's prices.

    Records what the COMMAND after -- asks of the kernel (strace or perf; its cost is left out), multiplies by measured
    costs, and shows the kernel's share of its cost on A and B, with an interval, and the calls without a price.
    """
