"""The commands that show, write and remove stored results, and `workloads`."""

from __future__ import annotations

from pathlib import Path

import click

from kernometer.cli import completion, options
from kernometer.cli.env import done_by, json_option, raw_option


@click.command()
@click.argument("name", metavar="RESULT", shell_complete=completion.results)
@click.argument("rows", metavar="[ROW]...", nargs=-1)
@click.option("--details", is_flag=True, help="Show, for every flag, the details of each row.")
@options.everything
@options.points
@raw_option
@json_option
@done_by("show")
def show() -> None:
    """Show the figures of RESULT: an id or the beginning of one, a label (its newest session), @last, @1 (the last
    but one), a file, or published/NAME[:SYSTEM], a table of the literature ('published' lists all).

    ROW is a workload, a row, or a pattern with *. Without one, the rows that people ask for first are shown, or with
    --all every row. Rows that differ in one parameter are shown as one curve: its plot on a logarithmic scale, its
    lowest and its highest value.

    \b
    Examples:
      kernometer show @last
      kernometer show before 'ctx/*' --details
      kernometer show published/miao-2011
      kernometer show @last --json | jq '.rows[] | {row, value, unit}'
    """


@click.command()
@click.argument("rows", metavar="[ROW...]", nargs=-1, shell_complete=completion.rows)
@click.option("--label", default="", metavar="NAME", help="Only sessions of this label.")
@click.option("--target", default="", metavar="TARGET", help="Only sessions of this target: local, qemu:linux-6.1, …")
@click.option("--by", type=options.WAYS, help="Only sessions by time, or by path.")
@click.option("-n", "newest", type=click.IntRange(min=1), metavar="N", help="Only the N newest.")
@click.option("--published", is_flag=True, help="List the tables of the literature that come with Kernometer instead.")
@click.option("--history", is_flag=True, help="Show since when a row's figure is what it is; with ROW each session's.")
@click.option(
    "--tree",
    metavar="DIR",
    type=options.FOLDER,
    help="With --history: in the order of the commits of this source tree, which labels (or -gHASH in a kernel's "
    "release) name.",
)
@options.report
@click.option(
    "--benchmark-action",
    "data_file",
    metavar="FILE",
    type=options.FILE,
    callback=options.writable,
    help="With --history: also write what github-action-benchmark charts: the newest figures, or if FILE ends in .js "
    "all of them (its data.js; other suites in it stay).",
)
@json_option
@done_by("list")
def list_() -> None:
    """List the stored results, newest first. Other commands take the names in the first column.

    \b
    Examples:
      kernometer list
      kernometer list --label before -n 5
      kernometer list --history --by path 'syscall/*'
      kernometer list --history --tree ~/linux --report since.html
      kernometer list --published
      kernometer list --json | jq -r '.[] | select(.complete | not) | .path'
    """


REPORT_EPILOG = """\b
Examples:
  kernometer report @last                          one session by itself
  kernometer report @1 @last -o day.html           the last two, compared
  kernometer report label:v6.1 label:v6.6          sets of sessions, compared

RESULT: an id or its beginning, a label, @last, @1…, a file; label:NAME is the
set of all sessions of that label. The others are compared with the first; the
two sides of one 'ab' are compared by their blocks."""


@click.command(epilog=REPORT_EPILOG)
@click.argument("names", metavar="A [B...]", nargs=-1, required=True, shell_complete=completion.results)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=options.FILE,
    default=Path("kernometer-report.html"),
    show_default=True,
    help="Where to write it; an existing file is replaced.",
)
@options.delta
@raw_option
@done_by("report")
def report() -> None:
    """Write one HTML file about the results: figures, distributions, and a comparison of two or more.

    The file needs no network and contains no script.
    """


@click.command()
@click.argument("names", metavar="[WORKLOAD]...", nargs=-1, shell_complete=completion.rows)
@click.option("--profile", type=options.PROFILES, default="full", show_default=True, help="Which rows.")
@click.option("--by", type=options.WAYS, default="time", show_default=True, help="Rows for times or counts.")
@options.unit_costs
@json_option
@done_by("workloads")
def workloads() -> None:
    """List all workloads, or print the full definition of those named (or matching a pattern).

    \b
    Examples:
      kernometer workloads
      kernometer workloads ctx/pipe-pair
      kernometer workloads 'mem/*' --json
      kernometer workloads --unit-costs
    """


FIGURE_EPILOG = """\b
Examples:
  kernometer figure --list                             list all figures
  kernometer figure miao-3 published/miao-2011         the paper's own bars
  kernometer figure miao-6 label:gcc label:clang -o arithmetic.svg
  kernometer figure griffiths-2 @last -o ring.pdf

RESULT: an id or its beginning, a label, @last, @1…, a file, a published table,
an imported result."""


@click.command(epilog=FIGURE_EPILOG)
@click.argument("name", metavar="[NAME]", required=False)
@click.argument("results", metavar="[RESULT]...", nargs=-1, shell_complete=completion.results)
@click.option("--list", "listed", is_flag=True, help="List every figure, with what the original shows.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=options.FILE,
    help="Write this file: .svg, .pdf, .png or .csv [default: a table here].",
)
@done_by("figure")
def figure() -> None:
    """Draw the figure NAME of the literature from each RESULT: the same axes and series, with 95 % intervals.

    In bars the first RESULT is 100, and the others are relative to it. If a result lacks rows, the error names the
    command that measures them.
    """


@click.command()
@click.argument("names", metavar="RESULT...", nargs=-1, required=True, shell_complete=completion.results)
@click.option("--csv", "as_csv", is_flag=True, help="Comma-separated values, with a line of column names.")
@click.option("--json", "as_json", is_flag=True, help="A JSON array of objects with the same columns.")
@click.option("--parquet", "as_parquet", is_flag=True, help="An Apache Parquet file, for R and pandas; with -o.")
@click.option(
    "--per", type=click.Choice(["row", "run", "sample"]), default="row", show_default=True, help="What one line is."
)
@click.option("--samples", is_flag=True, help="The raw samples: the same as --per sample.")
@click.option("-o", "--output", type=options.FILE, help="Write this file, once complete.")
@done_by("exchange", "export")
def export() -> None:
    """Write the figures of each RESULT as one flat table. RESULT is a session's id or the beginning of one, a label,
    @last, @1, a file, or label:NAME for all sessions of a label.

    The columns are those of docs/format.md. In CSV, text that a spreadsheet would run as a formula begins with '.

    \b
    Examples:
      kernometer export --csv @last > last.csv
      kernometer export --csv --per run label:before label:after -o runs.csv
      kernometer export --json --samples @last
      kernometer export --parquet --samples label:before -o samples.parquet
    """


@click.command()
@click.argument("files", metavar="DIRECTORY|FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@options.label
@click.option(
    "--command", default="", help="The command that printed FILE, if FILE lacks it (perf bench --format=simple)."
)
@done_by("exchange", "import_")
def import_() -> None:
    """Store results from elsewhere: of other stores of Kernometer, and of other suites.

    A directory is another store, or has some in sub-directories and archives (ZIP, tar), as artifacts of a CI system
    come: its results are copied, each once. Of a result that was cut off in one store the
    whole one is kept; two different results with one id are reported, and the one that is here stays.

    Of other suites it takes lmbench's results files, UnixBench's reports, the output of perf bench, and the JSON of
    hyperfine, pyperf, pytest-benchmark and google-benchmark, also compressed by gzip. Each run in a file becomes a
    result with the conditions that it states, and a list of what it lacks; several are labelled NAME-1, NAME-2, ….
    What looks like a figure and is not read is named. 'show', 'compare' and 'figure' take a result. Its rows are
    compared with Kernometer's rows of the same definition; other rows come with a note on the difference
    (docs/published.md).

    \b
    Examples:
      kernometer import /mnt/laptop/kernometer/results
      kernometer import lmbench/results/x86_64-linux-gnu/host.0 --label before
      kernometer import pipe.txt --command 'perf bench --format=simple sched pipe'
      kernometer compare before @1
    """


@click.command()
@click.argument("names", metavar="RESULT...", nargs=-1, required=True, shell_complete=completion.results)
@click.option("--yes", is_flag=True, help="Remove all sessions of a label, also if there are several.")
@done_by("list", "remove")
def rm() -> None:
    """Remove stored results for good: every RESULT, or none if one of them cannot be removed.

    RESULT is an id or the beginning of one, a label (its newest session), @last, @1, label:NAME for all sessions of a
    label, or the name of a file of the store (for one that cannot be read).
    """
