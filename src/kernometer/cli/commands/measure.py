"""The commands that measure: run, ab, matrix, profile."""

from __future__ import annotations

import click

from kernometer.cli import completion, options
from kernometer.cli.env import done_by, json_option, raw_option

RUN_EPILOG = (
    """\b
Examples:
  kernometer run                              the quick profile on this machine
  kernometer run --profile full --label idle  every row, as a session of a set
  kernometer run syscall/getppid 'ctx/*'      some workloads
  kernometer run -- tar cf /dev/null /usr/include
  kernometer run --by path --on qemu:linux-6.1 proc/fork-exit
  kernometer run --again @last                a session's rows, options and seed

Exit status: 0 all rows measured; 1 some row failed, or the command after --
did (then nothing is stored); 130 interrupted (finished runs are kept).
Others: see 'kernometer man'.

"""
    + options.TARGETS
)


@click.command(cls=options.TakesCommand, epilog=RUN_EPILOG)
@click.argument("words", metavar="[WORKLOAD]... [-- COMMAND...]", nargs=-1, shell_complete=completion.rows)
@options.again
@options.profile
@click.option(
    "--on",
    "spec",
    metavar="TARGET",
    default="local",
    show_default=True,
    shell_complete=completion.targets,
    help="The system to measure; the forms of TARGET are below.",
)
@options.by
@options.unit_costs
@options.label
@click.option("--runs", type=click.IntRange(1, 10000), help="Runs of each row, each in a fresh process.")
@click.option("--budget", type=options.Real(0, 86400), help="Seconds for further runs, to narrow the intervals.")
@options.seconds
@click.option("--half-width", type=options.Real(0, 1), help="End the runs of a row once its interval is this narrow.")
@click.option("--samples", type=click.IntRange(1, 4096), help="At most so many samples in each run.")
@options.batch
@click.option(
    "--quantile",
    type=options.QUANTILES,
    help="Time every iteration alone, in runs until this quantile is known (0.99), and show the tail.",
)
@options.clock
@options.row_timeout
@options.seed
@options.report
@options.everything
@options.points
@click.option(
    "--beside-last",
    is_flag=True,
    help="Compare with the last session of the same kind, and show how far this host's sessions lie apart.",
)
@options.processor
@options.dry_run
@json_option
@done_by("run")
def run() -> None:
    """Measure a kernel: this machine's, or a guest's.

    Runs the workloads (by default those of the profile), stores the session, and prints a table: each figure with its
    95 % interval within this session, its unit, and what disturbed it. WORKLOAD is a workload (ctx/pipe-pair), a row of
    one (ctx/pipe-pair@same-cpu) or a pattern ('syscall/*'). A command after -- is timed instead.
    """


AB_EPILOG = (
    """\b
Examples:
  kernometer ab local local                          A against A: this host's noise
  kernometer ab local local:-O0 'cpu/*'              two builds of the probe
  kernometer ab local wrap:'taskset -c 0' syscall/getppid --blocks 30
  kernometer ab local wrap:'chrt -f 1' ctx/pipe-pair --quantile 0.99
  kernometer ab --by path qemu:linux-6.1 qemu:linux-6.12 'proc/*' --functions

"""
    + options.TARGETS
)


@click.command(cls=options.TakesCommand, epilog=AB_EPILOG)
@click.argument("a", metavar="TARGET-A", required=False, shell_complete=completion.targets)
@click.argument("b", metavar="TARGET-B", required=False, shell_complete=completion.targets)
@click.argument("words", metavar="[TARGET]... [WORKLOAD]... [-- COMMAND...]", nargs=-1, shell_complete=completion.rows)
@options.profile
@options.by
@options.unit_costs
# With twenty blocks a paired t has nineteen degrees of freedom and its factor is 2.09.
@click.option("--blocks", type=click.IntRange(2, 10000), default=20, show_default=True, help="Blocks of each row.")
@options.seconds
@options.batch
@click.option(
    "--quantile",
    type=options.QUANTILES,
    help="Time every iteration alone, in several runs a block, and judge this quantile (0.99), not the median.",
)
@options.clock
@options.row_timeout
@options.delta
@options.label
@options.seed
@options.report
@options.everything
@options.points
@options.counters
@options.functions
@options.processor
@options.boundaries
@options.factorial
@options.gated
@options.different_machines
@options.dry_run
@raw_option
@json_option
@done_by("ab")
def ab() -> None:
    """Measure two targets in randomised alternating blocks and judge B against A.

    Drift (heat, load, neighbours) affects both targets alike, so that the ratios within blocks show what differs
    between them. The first line is the verdict. A ratio is B's cost over A's: above 1, B is slower. By path there
    may be more targets, each judged against A.
    """


MATRIX_EPILOG = """\b
Examples:
  kernometer matrix --by path --on qemu:linux-6.1,qemu:linux-6.12
  kernometer matrix --by path --on qemu:linux-6.1,qemu:linux-6.12 \\
      --aside qemu:xen --workloads 'syscall/*,proc/*' --report out.html
  kernometer matrix --by time --boots 5 --on local,wrap:'taskset -c 0'
  kernometer matrix --by path --on qemu:linux-6.1,qemu:linux-6.12 \\
      --machine standard --machine cpu=Nehalem            kernels by machines
  kernometer matrix label:kernels --report out.html    from the store

RESULT: an id or its beginning, a label, @last, @1…, a file; label:NAME is the
set of all sessions of that label. Sessions of one label and target are one
system, in the order in which they were measured."""


@click.command(cls=options.BriefHelp, epilog=MATRIX_EPILOG)
@click.argument("names", metavar="[RESULT]...", nargs=-1, shell_complete=completion.results)
@click.option(
    "--on",
    "specs",
    metavar="T[,T...]",
    multiple=True,
    shell_complete=completion.targets,
    help="Targets to measure, in the order of the series.",
)
@click.option(
    "--machine",
    "machines",
    metavar="M",
    multiple=True,
    help="Each guest on this machine too: cpu=Nehalem, machine=q35, both joined by +, or standard. Repeat it.",
)
@click.option("--aside", metavar="T[,T...]", multiple=True, help="Further targets, compared with the baseline only.")
@click.option(
    "--workloads", metavar="W[,W...]", multiple=True, help="Workloads, rows, patterns [default: the profile]."
)
@options.profile
@options.by
@options.unit_costs
# Five per side show a difference of 2 % if sessions spread by 1 %: docs/statistics.md, "Undecided".
@click.option(
    "--boots", type=click.IntRange(1, 1000), default=5, show_default=True, help="Sessions per target, by time."
)
@click.option("--jobs", type=click.IntRange(1, 1024), help="Guests in parallel, by path [default: one per CPU].")
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    default="",
    help="Measure by the workers of this scheduler of dask.distributed: tcp://HOST:8786.",
)
@click.option("--resume", is_flag=True, help="Measure only what the complete sessions of --label lack.")
@click.option("--baseline", metavar="T", default="", help="Compare all with this one [default: the first].")
@options.label
@options.seed
@options.delta
@options.report
@options.points
@options.counters
@options.functions
@click.option(
    "--in",
    "measure",
    type=click.Choice(("cycles", "cycles-tagged", "lines", "kernel")),
    help="By path: show, instead of instructions, cycles of the processor, without or with tags in its TLB, lines "
    "that are touched, or the kernel's instructions alone (docs/cycles.md).",
)
@options.processor
@options.boundaries
@options.factorial
@options.different_machines
@options.dry_run
@json_option
@done_by("matrix")
def matrix() -> None:
    """Compare many systems with one: operation by system, and which operations got longer, and when.

    With --on it measures: counts on several guests in parallel; times in rounds, each in random order, with one
    session per target and round. A target that fails becomes a column with the reason, and the others continue. With
    RESULTs it reads stored sessions instead.
    """


PROFILE_EPILOG = """\b
Examples:
  kernometer profile --on qemu:linux-6.1 proc/fork-exit
  kernometer profile --on qemu:trio-micro syscall/getppid --all
  kernometer profile --on qemu:linux-6.1 'ctx/*' --report out.html
  kernometer profile --of @last proc/fork-exit --format folded > out.folded
  kernometer profile --of @last proc/fork-exit --in l1i-misses

The guest needs nothing: its emulator counts. docs/profile.md explains the
named lines, and where the names of functions come from."""


@click.command(cls=options.BriefHelp, epilog=PROFILE_EPILOG)
@click.argument("words", metavar="ROW...", nargs=-1, shell_complete=completion.rows)
@click.option("--on", "spec", metavar="qemu:GUEST", shell_complete=completion.targets, help="The guest to measure.")
@click.option("--of", "name", metavar="RESULT", shell_complete=completion.results, help="A stored session instead.")
@click.option("--totals", is_flag=True, help="All iterations together, ticks included, instead of a median one.")
@click.option("--all", "everything", is_flag=True, help="Show every function.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "folded", "speedscope", "pprof"]),
    default="table",
    show_default=True,
    help="A file for other programs instead: flamegraph.pl, speedscope, pprof.",
)
@click.option("-o", "--output", type=options.FILE, help="Write it to this file.")
@click.option(
    "--in",
    "measure",
    type=click.Choice(options.COUNTS),
    metavar="COUNT",
    help=f"Show, instead of instructions, what the processor counts: {', '.join(options.COUNTS)}.",
)
@click.option(
    "--pages",
    "by_page",
    is_flag=True,
    help="By the pages that are asked for instead of by function: page walks, or --in COUNT.",
)
@options.processor
@options.unit_costs
@options.label
@options.seed
@options.report
@options.dry_run
@json_option
@done_by("profile")
def profile() -> None:
    """Show which functions a row's instructions go to, of any guest, exactly.

    It is the profile of one iteration: that whose count is the row's figure. The functions' counts and the named lines
    (interrupts, what faulted and was repeated, the empty bracket) sum to the figure. The session is stored, so that
    'compare' shows differences by function.
    """
