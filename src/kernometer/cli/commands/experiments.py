"""Trio's experiments: structures, faults, floors."""

from __future__ import annotations

from pathlib import Path

import click

from kernometer.cli import completion, options
from kernometer.cli.env import done_by, json_option

STRUCTURES_EPILOG = """\b
Examples:
  kernometer structures                       a dozen operations, two minutes
  kernometer structures 'syscall/*' --report structures.html
  kernometer run; kernometer structures --also @last --report all.html

RESULT: an id or its beginning, a label, @last, @1 (the last but one), a file.

Exit status: 0 all systems measured; 1 something was left out, or some row
failed; 6 QEMU or a compiler is missing. Others: see 'kernometer man'."""


@click.command(epilog=STRUCTURES_EPILOG)
@click.argument("words", metavar="[WORKLOAD]...", nargs=-1, shell_complete=completion.rows)
@click.option(
    "--also",
    metavar="RESULT",
    shell_complete=completion.results,
    help="The report also has this stored session, beside the last one of the same kind.",
)
@options.processor
@options.report
@json_option
@done_by("structures")
def structures() -> None:
    """Say how much of a microkernel's cost is its structure, and how much the way it is written.

    Adds what is missing here: the guest linux, from this system's packages, and trio-mono, trio-hybrid and trio-micro,
    compiled here. Measures Trio's unit costs, and the WORKLOADs (by default a dozen that the literature argues about)
    on all four, by path. Trio's three have one source, so micro beside mono is the structure alone; Linux and mono
    have one structure, so Linux beside mono is the way of writing. --report draws what each operation's messages,
    copies and switches add. Linux is left out, with the reason, where it cannot be fetched.
    """


FAULTS_EPILOG = """\b
Examples:
  kernometer faults --on qemu:trio-micro,qemu:trio-mono --report out.html
  kernometer faults --on qemu:trio-micro --kinds null-write -n 20
  kernometer faults --on qemu:trio-micro --services virtio_blk --checked
  kernometer faults --on qemu:linux-6.1+memory=256 --kinds wrong-data -n 20
  kernometer faults campaign.ndjson more.ndjson     show them as one

RESULT: a campaign's file. A campaign is kept in the store, in the directory
faults beside the results; an interrupted one keeps what it has.
docs/reliability.md describes kinds and outcomes."""


@click.command(epilog=FAULTS_EPILOG)
@click.argument("paths", metavar="[RESULT]...", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--on",
    "specs",
    metavar="T[,T...]",
    multiple=True,
    help="Structures of Trio: qemu:trio-micro, …; or qemu:linux-6.1.",
)
@click.option(
    "-n", "--count", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Faults in each T."
)
@click.option("--kinds", metavar="KIND[,KIND...]", default="", help="Kinds of faults [default: all].")
@click.option("--services", metavar="S[,S...]", default="", help="Services that get faults [default: all].")
@click.option("--functions", metavar="F[,F...]", default="", help="Functions of these that get faults [default: all].")
@click.option(
    "--operations",
    type=click.IntRange(2, 100_000),
    default=300,
    show_default=True,
    help="File operations of the program that works meanwhile.",
)
@click.option(
    "--checked",
    is_flag=True,
    help="Do it again with the virtio disk behind /dev/checked, which finds its wrong answers.",
)
@options.jobs
@click.option("--label", metavar="L", default="", help="Name of the campaign.")
@click.option(
    "--seed",
    type=click.IntRange(0, options.MOST_SEED),
    default=1,
    show_default=True,
    help="Seed by which the faults are drawn.",
)
@options.report
@json_option
@done_by("faults")
def faults() -> None:
    """Put faults into the services and drivers of Trio, or into Linux, and see what becomes of the system.

    A program works on three file systems; at a drawn moment a fault is put into a drawn place of a service's code, the
    same place in each structure. The outcome of each fault is observed: masked, delayed, an error returned, data lost,
    hung, dead. In Linux a kernel module makes the fault, in the task or interrupt that enters a drawn function of
    virtio_blk, brd, 8250, ext4 or minix.
    """


#: The label of sessions that differ in layout only; how many of the rows whose count moved are shown.
LABEL, SHOWN = "layout", 20

FLOORS_EPILOG = """\b
Examples:
  kernometer floors --on qemu:linux-6.1             measure, and show
  kernometer floors --on qemu:linux-6.1,qemu:linux-6.12 --rotations 9
  kernometer floors                                 show the stored floors

The machines: the guest's own, then others, each with another seed, another
memory size (1/16 less, 1/16 more, 2/16 less…) and other rows run before. Their
sessions are stored under the label as ordinary sessions by path; compare, ab,
report and matrix find them there."""


@click.command(epilog=FLOORS_EPILOG)
@click.argument("words", metavar="[WORKLOAD]...", nargs=-1, shell_complete=completion.rows)
@click.option("--on", "specs", metavar="GUEST[,GUEST...]", multiple=True, help="qemu:linux-VERSION, and variants.")
@options.profile
# With fewer than five machines the floor is too wide; with nine or more it is as wide as the counts moved:
# docs/statistics.md, "Layout floors".
@click.option("--rotations", type=click.IntRange(3, 17), default=5, show_default=True, help="Machines per guest.")
@options.jobs
@click.option("--label", metavar="L", default=LABEL, show_default=True, help="Label of the sessions.")
@click.option("--all", "every", is_flag=True, help=f"Show every row whose count moved, not only {SHOWN}.")
@click.option(
    "--processor",
    metavar="NAME",
    default="none",
    show_default=True,
    help="Also count this processor's caches and TLBs, for the floors of matrix --in cycles.",
)
@options.dry_run
@json_option
@done_by("floors")
def floors() -> None:
    """Measure layout floors: how far a row's count moves when only the layout changes.

    Each guest is measured by path on machines that differ in memory size, random seed and the rows run before. A
    difference between two builds of a kernel that is below the floor may be an accident, and stays undecided.
    """
