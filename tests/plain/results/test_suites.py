"""One rule for every suite: a line that looks like a figure is read as it says, or counted and named."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kernometer.errors import MissingError, ResultError, UsageError
from kernometer.results import papers
from kernometer.results.compressed import chunks
from kernometer.results.imported import MAX_NAMED, publications
from kernometer.results.model import NAME_CHARACTERS, Paper, Publication, Published, System
from kernometer.results.store import Store
from kernometer.stats.printed import columns, in_our_unit
from tests.support.results import OUTPUTS

LMBENCH = (OUTPUTS / "lmbench.txt").read_text()
UNIXBENCH = (OUTPUTS / "unixbench.txt").read_text()
UNIXBENCH_4 = """\
  BYTE UNIX Benchmarks (Version 4.1.0)
  System -- Linux h 2.4.18-3 #1 i686 unknown
  Start Benchmark Run: Tue Oct 15 20:04:50 IST 2002
System Call Overhead                     \t443240.9 lps   (10.0 secs, 10 samples)
Arithoh                                  3901181.6lps   (10.0 secs, 3 samples)
Process Creation                         \t  6601.9 lps   (30.0 secs, 3 samples)

                     INDEX VALUES
TEST                                        BASELINE     RESULT      INDEX
Process Creation                               126.0     6601.9      524.0
     FINAL SCORE                                                     228.5
"""


def read(text: str | bytes, command: str = "", label: str = "") -> tuple[Publication, ...]:
    return publications(text if isinstance(text, bytes) else text.encode(), "x", label, command)


def one(text: str | bytes, command: str = "") -> Publication:
    [found] = read(text, command)
    return found


def rows(found: Publication) -> dict[str, str]:
    """Row to what was printed. No row may hide another."""
    by_name = {each.row: f"{each.printed} {each.unit}".strip() for each in found.figures}
    assert len(by_name) == len(found.figures)
    return by_name


def test_two_hosts_in_one_lmbench_file_are_two_results() -> None:
    """Broken: one result with both hosts' rows under one name, of the last one's conditions."""
    other = LMBENCH.replace("0.1420", "0.5000").replace("6.1.0-56-amd64", "2.6.13").replace(": bench", ": old")
    first, second = read(LMBENCH + other, label="both")
    assert (rows(first)["Simple syscall"], rows(second)["Simple syscall"]) == (
        "0.1420 microseconds",
        "0.5000 microseconds",
    )
    assert ["2.6.13" in each.paper.systems[0].name for each in (first, second)] == [False, True]
    assert [each.paper.label for each in (first, second)] == ["both-1", "both-2"]
    assert {each.ratio for each in columns(first, "measured", first, "measured")} == {1.0}


def test_two_kernels_in_one_mail_are_two_results_with_their_kernels() -> None:
    first, second = read(UNIXBENCH_4 + "\n" + UNIXBENCH_4.replace("2.4.18-3", "2.4.20").replace("6601.9", "6372.2"))
    assert [each.paper.systems[0].name.split()[2] for each in (first, second)] == ["2.4.18-3", "2.4.20"]
    assert (rows(first)["Process Creation"], rows(second)["Process Creation"]) == ("6601.9 lps", "6372.2 lps")


def test_an_end_with_a_backslash_is_text() -> None:
    """Broken, found by the fuzzer: the end of a run stood where re.sub() reads escapes: re.error."""
    found = one(UNIXBENCH_4.replace("20:04:50 IST 2002", "20:04:50 2002 - \\u1:46:12"))
    assert rows(found)["Process Creation"] == "6601.9 lps"


def test_runs_without_a_figure_are_said() -> None:
    [found] = read(UNIXBENCH_4 + "  BYTE UNIX Benchmarks (Version 4.1.0)\n  System -- Linux h 2.4.20\n")
    assert "runs in the same file that have no figure: 1" in found.paper.left_out


def test_an_appended_file_keeps_each_of_its_figures() -> None:
    """Broken: the last one is shown for both, and compared with both."""
    text = "# Running 'sched/pipe' benchmark:\n   {0}.000000 usecs/op\n"
    found = one(text.format(5) + text.format(9))
    assert rows(found) == {"sched/pipe #1": "5.000000 usecs/op", "sched/pipe #2": "9.000000 usecs/op"}
    assert [pair.ratio for pair in columns(found, "measured", found, "measured")] == [1, 1]
    assert all(each.differs.startswith("ctx/pipe-pair") for each in found.figures)


def test_parameters_are_part_of_a_commands_name() -> None:
    found = one((OUTPUTS / "hyperfine-parameters.json").read_bytes())
    assert [row for row in rows(found) if row.startswith("same") and not row.endswith("time")] == [
        "same (n=1)",
        "same (n=2)",
    ]
    twice = b'{"results":[{"command":"a","median":1,"times":[1]},{"command":"a","median":2,"times":[2]}]}'
    assert rows(one(twice)) == {"a #1": "1 s", "a #2": "2 s"}


def made(*names: str) -> Publication:
    figures = tuple(
        Published(table="t", row=name, system="s", printed=str(at), value=at, better="lower")
        for at, name in enumerate(names, 1)
    )
    paper = Paper(format=1, name="x", title="", authors=(), systems=(System(system="s", name=""),), suite="lmbench")
    return Publication(paper=paper, figures=figures)


def test_a_stored_result_with_two_rows_of_one_name_is_read_with_both(tmp_path: Path) -> None:
    """Expected: of an older version's file, or of a foreign one. Broken: identical files compare as 3."""
    longest = "x" * NAME_CHARACTERS
    stored = made("a", "a", "a #1", "b", "a", longest, longest)
    path = Store(tmp_path).keep(stored)
    again = papers.of_file(path)
    assert again is not None
    assert [*rows(again)][:5] == ["a #2", "a #3", "a #1", "b", "a #4"]
    assert max(map(len, rows(again))) <= NAME_CHARACTERS
    assert [pair.ratio for pair in columns(again, "s", again, "s")] == [1] * 7
    assert papers.told_apart(again.figures) == again.figures


def test_a_single_copy_after_parallel_ones_is_a_single_copy() -> None:
    head, single, several = UNIXBENCH.split("-" * 72 + "\n")
    found = rows(one(head + several + "\n" + single))
    assert found["Process Creation (2 parallel copies)"] == "12000.0 lps"
    assert found["Process Creation"] == "7612.3 lps"


@pytest.mark.parametrize(("cut", "missing"), [("Process Creation                              12000.0", "2"), ("", "")])
def test_an_aborted_parallel_run_is_said(cut: str, missing: str) -> None:
    """Broken: the index of the first run stands for the second one's end."""
    found = one(UNIXBENCH[: UNIXBENCH.index(cut)] if cut else UNIXBENCH)
    assert [missing in line and "aborted" in line for line in found.paper.left_out] == ([True] if cut else [])
    assert rows(found)["Process Creation"] == "7612.3 lps"


def test_version_4_has_its_kernel_and_rows_with_tabs_and_its_score() -> None:
    found = one(UNIXBENCH_4)
    assert found.paper.systems[0].name.startswith("Linux h 2.4.18-3")
    assert rows(found) == {
        "System Call Overhead": "443240.9 lps",
        "Arithoh": "3901181.6 lps",
        "Process Creation": "6601.9 lps",
        "FINAL SCORE": "228.5",
    }
    assert found.paper.left_out == ()


@pytest.mark.parametrize("mark", ["> ", ">> ", "> > ", "\ufeff"])
def test_a_quoted_mail_is_read_as_what_it_quotes(mark: str) -> None:
    quoted = "\n".join(mark + line for line in UNIXBENCH_4.splitlines())
    assert rows(one(quoted if mark != "\ufeff" else mark + UNIXBENCH_4)) == rows(one(UNIXBENCH_4))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            UNIXBENCH_4.replace("3901181.6lps   (10.0 secs, 3", "no measured results (0.0 secs, 0"),
            "no measured results",
        ),
        (UNIXBENCH_4.replace("6601.9 lps ", "6601.9 lps,"), "Process Creation 6601.9 lps,"),
        (
            LMBENCH.replace("integer add: 0.22 nano", "tlb: 32 pages\nAvg: 3.2KB in 1 ms\ninteger add: 0.22 nano"),
            "tlb: 32",
        ),
        (LMBENCH.replace('"mappings', '"mapping'), "mapping: 1.05 21"),
        ("# Running 'a/b' benchmark:\n  5.0 usecs/op\n  7 things took 3 usec each\n", "a/b: 7 things took 3 usec each"),
        ("# Running 'a/b' benchmark:\n  5.0 usecs/op\n# Running 'a/c' benchmark:\n", "a/c: it printed no figure"),
        ("# Running 'mem/memset' benchmark:\n inf GB/sec\n 1.0 GB/sec\n", "inf GB/sec"),
        ("# Running 'mem/memset' benchmark:\n 1 B/sec\n 999999999999999e99 B/sec\n", "999999999999999e99"),
        ('{"results":[{"command":"x","median":1,"memory":5}]}', "x: memory"),
        ('{"results":[{"command":"x","median":1},{"command":"y"}]}', "y: it has no figure"),
        ('{"benchmarks":[{"runs":[{"values":[1]}]},{"metadata":{"name":"z"}}]}', "z: it has no figure"),
    ],
    ids=range(11),
)
def test_what_looks_like_a_figure_and_is_not_read_is_named(text: str, line: str) -> None:
    found = one(text)
    assert [each for each in found.paper.left_out if line in each]
    assert found.figures


def test_many_such_lines_are_counted() -> None:
    found = one(LMBENCH + "".join(f"row {at}: {at} things\n" for at in range(1234)) + "[end]\n")
    assert len(found.paper.left_out) == MAX_NAMED + 1
    assert found.paper.left_out[-1] == f"and more of this kind: {1234 - MAX_NAMED:,}"


def test_a_file_whose_every_line_is_unread_is_refused_with_them() -> None:
    with pytest.raises(ResultError, match="0 figures of lmbench") as refused:
        read("[lmbench3.0 results for x]\nSimple syscall: 3 fortnights\n")
    assert "3 fortnights" in refused.value.next_step


def test_a_complaint_within_a_table_of_lmbench_does_not_end_it() -> None:
    found = one(LMBENCH.replace("1.05 21", "mmap: Cannot allocate memory\n1.05 21"))
    assert rows(found) == rows(one(LMBENCH))


def test_lmbench_figures_below_the_resolution_and_with_commas_are_as_printed() -> None:
    text = LMBENCH.replace("overhead: 0.9800", "overhead: -0.0012").replace("131.5000", "1.2e+02")
    found = one(text.replace("25000\t40000", "2,233\t4,333").replace("\n", "\r\n"))
    assert rows(found)["Signal handler overhead"] == "-0.0012 microseconds"
    assert [each.value for each in found.figures if each.row == "Process fork+exit"] == [120]
    assert [each.value for each in found.figures if each.row.startswith("File system")] == [2233, 4333]


def test_every_benchmark_of_perf_is_read() -> None:
    """Expected: what perf 6.1 printed here, each with its own unit. Broken: a benchmark less, and nobody sees it."""
    found = one((OUTPUTS / "perf-bench-many.txt").read_bytes())
    said = rows(found)
    assert {row.partition(":")[0].partition(",")[0] for row in said} == {
        *("sched/messaging", "sched/pipe", "syscall/basic", "mem/memcpy", "mem/memset", "mem/find_bit", "numa/mem"),
        *(
            "futex/hash",
            "futex/wake",
            "futex/wake-parallel",
            "futex/requeue",
            "futex/lock-pi",
            "epoll/wait",
            "epoll/ctl",
        ),
        *("internals/kallsyms-parse", "internals/inject-build-id", "internals/evlist-open-close"),
        *("breakpoint/thread", "breakpoint/enable"),
    }
    expected = {
        "mem/memcpy: x86-64-movsb, 1MB": "9.864268 GB/sec",
        "mem/find_bit, 1 bits set of 2 bits: test_bit loop": "2075.200 usec",
        "numa/mem: main, runtime/byte/thread": "2.034 nsecs",
        "futex/hash": "201728 operations/sec",
        "futex/wake: Wokeup 2 of 2 threads": "0.1352 ms",
        "epoll/ctl: ADD": "16640 operations",
        "internals/inject-build-id: time per event #2": "3.185 usec",
        "breakpoint/thread, per CPU": "95.100000 usecs/op/cpu",
        "sched/messaging": "3.894 sec",
    }
    assert expected.items() <= said.items()
    [wake] = [each for each in found.figures if each.row.startswith("futex/wake:")]
    assert in_our_unit(found.paper, wake, "ns") == pytest.approx(135_200)
    assert [len(wake.samples), len(wake.samples[0]), wake.samples[0][1], wake.note] == [1, 10, 0.156, "+-35.10%"]
    assert [each.samples for each in found.figures if each.row == "futex/hash"] == [((184320.0, 219136.0),)]
    assert len(found.paper.left_out) == 2  # of epoll/ctl: three numbers a thread
    decimal = next(each for each in found.figures if each.row == "numa/mem: main, total-speed")
    assert in_our_unit(found.paper, decimal, "B/s") == pytest.approx(0.492e9)


@pytest.mark.parametrize(
    ("command", "row", "unit"),
    [
        ("perf bench -f simple syscall basic", "syscall/basic", "sec for 10000000 operations"),
        ("sudo perf bench -r 3 --format simple sched pipe --loop=20", "sched/pipe", "sec for 20 operations"),
        ("perf bench --format=simple sched messaging -l 100", "sched/messaging", "sec"),
        ("perf bench -f simple mem memset -f default", "mem/memset", "B/sec"),
    ],
)
def test_a_command_names_its_benchmark_wherever_the_options_stand(command: str, row: str, unit: str) -> None:
    assert rows(one("10.863\n", command)) == {row: f"10.863 {unit}"}


@pytest.mark.parametrize(
    "command", ["perf bench -f simple", "perf bench mem all", "perf bench 'sched", "perf stat x y"]
)
def test_a_command_that_names_no_benchmark_is_refused(command: str) -> None:
    with pytest.raises(UsageError, match="names no benchmark"):
        one("10.863\n", command)


@pytest.mark.parametrize(
    "text", ["1.5\n2.5\n", "# function 'default' (x)\n17\n", "Run summary [PID 1]: x\n\nAveraged 5 operations/sec\n"]
)
def test_perfs_simple_format_asks_for_its_command(text: str) -> None:
    with pytest.raises(UsageError, match="without a name"):
        one(text)
    assert one(text, "perf bench futex hash").figures


def test_failed_commands_and_their_times_are_kept_and_said() -> None:
    """Broken: `false` counts as the faster command."""
    found = one((OUTPUTS / "hyperfine-parameters.json").read_bytes())
    assert found.paper.notes == ("2 of 4 commands failed: see their notes.",)
    notes = {each.row: each.note for each in found.figures}
    assert notes["false"] == "3 runs, 3 of 3 runs failed (exit status 1)"
    assert "exit status 3" in notes['sh -c "exit 3": user time']
    by_row = {each.row: each for each in found.figures}
    assert (by_row["same (n=1): user time"].value, by_row["same (n=1): system time"].value) == (0.00119642, 0.00082955)
    assert by_row["same (n=1)"].samples == ((0.014994178759999999,), (0.02879071876,))


def test_an_old_hyperfine_without_a_median_gives_its_mean() -> None:
    found = one('{"results":[{"command":"sleep","mean":0.1,"stddev":0.01,"min":0.09,"max":0.2}]}')
    assert [(each.printed, each.note) for each in found.figures] == [
        ("0.1", "the mean, 0.09 to 0.2, standard deviation 0.01")
    ]


def test_pyperf_with_tags_is_read_and_keeps_the_values_of_each_process() -> None:
    found = one(b"".join(chunks(OUTPUTS / "pyperf.json.gz", 1 << 20)))
    [figure] = found.figures
    assert figure.note == "6 values of 2 processes, tags: loops, cpu"
    assert [len(each) for each in figure.samples] == [3, 3]


def test_pytest_benchmark_is_read_with_its_parameters() -> None:
    found = one((OUTPUTS / "pytest-benchmark.json").read_bytes())
    by_row = {each.row: each for each in found.figures}
    assert list(by_row) == ["t_b.py::test_sum[1]", "t_b.py::test_sum[2]", "t_b.py::test_x"]
    assert in_our_unit(found.paper, by_row["t_b.py::test_sum[1]"], "ns") == pytest.approx(225.4)
    assert [len(each) for each in by_row["t_b.py::test_x"].samples] == [3]
    assert by_row["t_b.py::test_sum[1]"].note.startswith("8665 rounds of 10 iterations, 1.753e-07 to")
    assert (found.paper.systems[0].name[:5], found.paper.machine[:3]) == ("Linux", "AMD")
    assert found.paper.left_out == ("t_b.py::test_x: extra_info.pages",)


def test_google_benchmark_is_read_over_its_repetitions_or_their_aggregates() -> None:
    found = one((OUTPUTS / "google-benchmark.json").read_bytes())
    by_row = {each.row: each for each in found.figures}
    assert in_our_unit(found.paper, by_row["BM_getppid"], "ns") == pytest.approx(1695.472, rel=1e-6)
    assert by_row["BM_getppid"].samples == ((1454.0541301997248, 1731.8014826352876, 1695.4721056607336),)
    assert in_our_unit(found.paper, by_row["BM_copy/4096: CPU time"], "ns") == pytest.approx(2454.91, rel=1e-5)
    assert by_row["BM_copy/4096: bytes per second"].better == "higher"
    assert set(found.paper.left_out) == {
        "BM_bad: it failed: no device",
        *(f"BM_copy/{size}: foo" for size in (64, 4096)),
    }
    entry = '{{"name":"b_{0}","run_name":"b","aggregate_name":"{0}","real_time":{1},"time_unit":"us"}}'
    some = ",".join(entry.format(*each) for each in (("mean", 3), ("median", 2), ("stddev", 0.5), ("cv", 0.2)))
    two = ",".join(f'{{"name":"b","family_index":{at},"real_time":{at + 1}}}' for at in (0, 1))
    assert rows(one(f'{{"context":{{}},"benchmarks":[{two}]}}')) == {"b #1": "1 ns", "b #2": "2 ns"}
    alone_ = one(f'{{"context":{{}},"benchmarks":[{some}]}}')
    assert [(each.row, each.printed, each.unit, each.note) for each in alone_.figures] == [
        ("b", "2", "us", "standard deviation 0.5")
    ]


def test_a_web_page_is_named_with_what_to_give() -> None:
    with pytest.raises(ResultError, match="web page") as refused:
        one("<!DOCTYPE HTML>\n<p><b>BYTE UNIX Benchmarks (Version 5.1.3)</b></p>")
    assert "text" in refused.value.next_step


def zstd(data: bytes) -> bytes:
    return subprocess.run(("zstd", "-qc"), input=data, capture_output=True, check=True, timeout=60).stdout


COMPRESSIONS = {"gzip": gzip.compress, "zstd": zstd, "xz": lzma.compress, "bzip2": bz2.compress}
#: By its first bytes: a byte of the head that must be right.
HEADS = {b"\x1f\x8b": 2, b"\x28\xb5": 4, b"\xfd7": 7, b"BZ": 3}
compressions = pytest.mark.parametrize("compress", COMPRESSIONS.values(), ids=COMPRESSIONS)


@compressions
def test_a_compressed_file_is_known_by_its_first_bytes_and_never_expands_beyond_the_limit(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "x"
    path.write_bytes(compress(bytes(1 << 24)))
    assert path.stat().st_size < 1 << 16
    for limit in (0, 1, 1000, (1 << 20) + 1):
        assert sum(map(len, chunks(path, limit))) == limit
    assert b"".join(chunks(path, 1 << 30)) == bytes(1 << 24)
    path.write_bytes(compress(b"one") + compress(b"two"))  # as cat makes them
    assert b"".join(chunks(path, 1000)) == b"onetwo"
    path.write_bytes(b"plain")
    assert b"".join(chunks(path, 1000)) == b"plain"


@compressions
@pytest.mark.parametrize("change", ["cut", "turned", "head"])
def test_a_damaged_compressed_file_is_an_error(tmp_path: Path, compress: Callable[[bytes], bytes], change: str) -> None:
    data = bytearray(compress(bytes(range(256)) * 8))
    if change == "cut":
        del data[-9:]
    else:
        data[{"turned": len(data) // 2, "head": HEADS[bytes(data[:2])]}[change]] ^= 0xFF
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(ResultError, match="cannot be expanded"):
        list(chunks(tmp_path / "x", 1 << 20))


def test_without_zstd_it_is_named_with_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").write_bytes(zstd(b"x"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError) as missing:
        list(chunks(tmp_path / "x", 1 << 20))
    assert "zstd" in missing.value.next_step
