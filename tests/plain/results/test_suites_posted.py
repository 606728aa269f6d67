"""What mails, logs and boards hold of a suite: lmbench's summaries and single commands, fio, sysbench, sel4bench."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernometer.errors import KernometerError, ResultError
from kernometer.results.imported import publications
from kernometer.results.model import Publication
from kernometer.results.suites.lmbench_summary import TABLES
from kernometer.results.suites.output import moment
from kernometer.stats.printed import in_our_unit
from tests.support.results import OUTPUTS

SUMMARY = (OUTPUTS / "lmbench-summary.txt").read_text()


def read(name: str, text: str = "", label: str = "", written: float = 0.0) -> tuple[Publication, ...]:
    data = text.encode() if text else (OUTPUTS / name).read_bytes()
    return publications(data, name, label, written=written)


def rows(found: Publication) -> dict[str, str]:
    by_name = {each.row: f"{each.printed} {each.unit}".strip() for each in found.figures}
    assert len(by_name) == len(found.figures)
    return by_name


# lmbench


def test_a_summarys_lines_are_runs_and_share_a_label_by_kernel() -> None:
    """Expected: two runs of one kernel and one of another. Broken: one result of the last line."""
    first, second, other = read("lmbench-summary.txt", label="mail")
    assert [each.paper.label for each in (first, second, other)] == ["mail-1", "mail-1", "mail-2"]
    assert [rows(each)["Simple syscall"][:4] for each in (first, second, other)] == ["0.52", "0.53", "0.61"]
    assert other.paper.systems[0].name == "Linux 6.1.0-p riscv64-linux"
    assert (first.paper.title, first.paper.started, "summary" in first.paper.notes[0]) == ("lmbench 3.0", 0, True)
    assert [line for each in (first, second, other) for line in each.paper.left_out] == []


def test_cells_are_read_by_their_place_thousands_and_names_as_in_a_results_file() -> None:
    """Expected: an empty cell moves none of the others; 3.2K is 3,200; our rows of the same definition."""
    first, _second, other = read("lmbench-summary.txt")
    said = rows(first)
    assert "select TCP" not in said and "UDP latency using localhost" not in said
    expected = {
        "Signal handler installation": "1.02 microseconds",
        "Process fork+execve": "3200 microseconds",
        "size=16k: 2 processes": "5.03 microseconds",
        "size=0k: 2 processes": "4.12 microseconds",
        "Protection fault": "0.912 microseconds",
        "Page fault": "2.0511 microseconds",
        "file reread": "801.1 MB/sec",
        "memory write": "851.2 MB/sec",
        "random memory latency": "240.1 nanoseconds",
    }
    assert expected.items() <= said.items()
    assert rows(other)["RPC/udp latency using localhost"] == "90.1 microseconds"
    ours = {each.row: each.ours for each in first.figures if each.ours}
    assert ours["Simple syscall"] == ("syscall/getppid",) and ours["Process fork+execve"] == ("proc/fork-exec",)


def test_a_quoted_summary_without_its_title_and_of_version_2_is_read() -> None:
    """Expected: the columns that lmbench 2 lacks are missing, and no other takes their place."""
    begin = SUMMARY.index("Processor, Processes")
    shorter = SUMMARY[begin:].replace("Page   100fd", "Page").replace("Fault  selct", "Fault")
    lines = (line[:73] if line.startswith("board") and line[73:80].strip() else line for line in shorter.splitlines())
    text = "\n".join(f"> {line.removesuffix(' -----')}" for line in lines)
    first, *_others = read("x", text)
    assert rows(first)["Simple syscall"] == "0.52 microseconds"
    assert rows(first)["Page fault"] == "2.0511 microseconds" and "Select on 100 fd's" not in rows(first)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("1391 3.7K", "13x1 3.7K", "Process fork+exit: 13x1"),
        ("board     Linux 6.1.0-p 1200 0.61 1.07", "a-long-board Linux 6.1.0-p  1200 0.61 1.07", "a-long-board"),
        ("---- ---- ---- ---- ---- ---- ---- ---- ---- ---- ----\n", "---- ---- ---- ----\n", "0.93 6.13"),
    ],
)
def test_a_line_that_does_not_fit_its_table_is_named(old: str, new: str, line: str) -> None:
    """Expected: counted and named. Broken: a figure under the next column's name."""
    found = read("x", SUMMARY.replace(old, new, 1))
    assert [each for one in found for each in one.paper.left_out if line in each]
    assert sum(len(one.figures) for one in found) > 80


def test_single_commands_are_read_and_their_nameless_figures_named() -> None:
    [found] = read("lmbench-alone.txt", written=5000.0)
    said = rows(found)
    assert said["Simple syscall"] == "3.1711 microseconds"
    assert said["size=32k: 8 processes"] == "39.55 microseconds" and said["Pipe bandwidth"] == "410.11 MB/sec"
    assert said["File system latency: 0k, created"] == "6512 files/sec"
    assert found.paper.left_out == ("0.524288 311",)
    assert (found.paper.started, found.paper.notes) == (
        5000.0,
        ("When it was measured follows from the time of its file.",),
    )
    [one] = read("x", "Simple syscall: 0.0345 microseconds\n")
    assert rows(one) == {"Simple syscall": "0.0345 microseconds"}


# JSON and boards


def test_fio_is_read_by_job_and_direction() -> None:
    [found] = read("fio.json")
    said = rows(found)
    assert said["seqw, read: operations"] == "4551.72414 io/sec"
    assert said["seqw, write: completion latency, 99 %"] == "32640 ns"
    assert [each.better for each in found.figures if each.row.endswith("bandwidth")] == ["higher", "higher"]
    assert found.paper.left_out[0] == "seqw, read: completion latency, 14 other percentiles"
    assert found.paper.started == pytest.approx(1795916870.111)
    said = json.loads((OUTPUTS / "fio.json").read_text())
    said["jobs"][0] |= {"error": 5, "read": {"total_ios": 4, "iops": 2.0, "bw": 8, "lat": {"mean": 1}}}
    said["client_stats"] = [{}]
    [old] = read("x", "fio: a warning\n" + json.dumps(said))
    assert rows(old)["seqw, read: bandwidth"] == "8192 B/sec"
    assert {each.note for each in old.figures if "read" in each.row} == {"it failed: error 5"}
    assert any("fio 2" in line for line in old.paper.left_out) and "client_stats" in old.paper.left_out[0]


def test_sysbench_is_read_with_its_intervals_as_samples() -> None:
    cpu, disk = read("sysbench.txt")
    [rate] = [each for each in cpu.figures if each.row == "cpu: events per second"]
    assert (rate.printed, rate.samples) == ("39304.11", ((44396.49,),))
    assert rows(disk)["fileio: written"] == "62.57 MiB/sec"
    assert rows(disk)["fileio: latency, 95th percentile"] == "0.01 ms"
    assert "max: 19.62" in disk.paper.left_out and cpu.paper.conditions["Number of threads"] == "1"
    sql = "sysbench 0.5:\n    transactions:    4 (11.5 per sec.)\n approx.  95 percentile:  73.10ms\n"
    [old] = read("x", sql)
    assert rows(old) == {
        "test not named: transactions per second": "11.5 1/sec",
        "test not named: latency, approx. 95 percentile": "73.10 ms",
    }
    assert "cut off" in old.paper.left_out[-1]


def test_sel4bench_is_read_with_its_raw_results() -> None:
    """Expected: medians of the samples, cycles, parameters in the name; a mean where only that was computed."""
    [found] = read("sel4bench.txt")
    call, _reply, early, misses, cycles = found.figures
    assert call.row.startswith("One way IPC microbenchmarks (Function=seL4_Call, Direction=client->server, ")
    assert (call.unit, call.better, len(call.samples), len(call.samples[0])) == ("cycles", "lower", 1, 8)
    assert (early.printed, early.note) == ("1733.25", "100 samples, the mean, standard deviation 61.3")
    assert [(each.unit, each.better) for each in (misses, cycles)] == [("events", ""), ("cycles", "lower")]
    assert in_our_unit(found.paper, call, "cycles") == float(call.printed)
    assert found.paper.left_out == ("Empty: it has no figure",)
    text = (OUTPUTS / "sel4bench.txt").read_text()
    [alone] = read("x", text.partition("JSON OUTPUT")[2].partition("END")[0])
    assert rows(alone) == rows(found)
    with pytest.raises(ResultError, match="garbled"):
        read("x", text.replace('"Mean"', '"Me', 1))


# times


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("[Mon Nov 23 02:00:00 UTC 2026]", 1795399200),
        ("Tue Oct 15 20:04:50 IST 2002", 1034712290),
        ("Mon Nov 23 2026 02:00:00", 1795399200),
        ("2026-11-23T02:00:00+00:00", 1795399200),
        ("2026-11-23 04:00:00+02:00", 1795399200),
        ("2026-11-23 02:00:00.5", 1795399200.5),
        ("2026/11/23-02:00:00", 1795399200),
        ("Mon Nov 99 02:00:00 UTC 2026", None),
        ("", None),
    ],
)
def test_dates_as_suites_write_them(text: str, seconds: float | None) -> None:
    assert moment(text) == seconds


@pytest.mark.parametrize(
    ("name", "started", "seconds"),
    [
        ("lmbench.txt", 1795399200, 1200),
        ("unixbench.txt", 1795399200, 3360),
        ("google-benchmark.json", 1795861819, 0),
        ("pytest-benchmark.json", 1795861771.892736, 0),
        ("pyperf.json", 1795401850.879071, 0.144735),
        ("hyperfine.json", 7.99675873, 0.00324127),
    ],
)
def test_a_file_tells_when_it_was_measured(name: str, started: float, seconds: float) -> None:
    """Expected: by its own dates; without any, by the file's time, which is that of its end."""
    [found] = read(name, written=8.0)
    assert found.paper.started == pytest.approx(started)
    assert found.paper.seconds == pytest.approx(seconds, abs=1e-6)


# whatever the bytes


@settings(max_examples=60, deadline=None)
@given(
    st.text(st.sampled_from('board Linux 1200 0.5K.-\n\t"{}[]:')),
    st.sampled_from([*TABLES, "Basic system parameters"]),
    st.integers(0, 60),
    st.integers(1, 5),
)
def test_any_line_below_a_table_is_read_or_named(line: str, title: str, place: int, columns: int) -> None:
    """Expected: a result or a documented error. Broken: a traceback."""
    head = f"{title} - times in microseconds\nHost OS Mhz\n--------- -------------{columns * ' ----'}\n"
    text = f"Processor, Processes - times in microseconds\n\n{head}{' ' * place}{line}\n"
    try:
        found = read("x", text)
    except KernometerError as error:
        assert error.next_step
        return
    assert all(each.row for one in found for each in one.figures)
