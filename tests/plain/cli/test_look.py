"""list, show and export: what is stored, as people and as programs read it."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from kernometer.__main__ import main
from kernometer.cli.list import state
from kernometer.errors import MissingError, ResultError, Status, UsageError
from kernometer.report.store.export import COLUMNS
from kernometer.report.write.terminal import broken
from kernometer.results.index import Summary
from kernometer.results.model import Baseline, Failure, RowInfo
from kernometer.results.store import Store
from tests.support.cli.looking import call, fill
from tests.support.results import make

if TYPE_CHECKING:
    from pathlib import Path


HOSTILE = "\x1b]0;gone\x07\x1b[2J\u202e[red]=cmd|' /C calc'!A0"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def test_names_are_listed_whole_on_one_line_each(store: Store) -> None:
    """Expected: what is copied from the list is a name. Broken: a label or a target is broken over lines, or cut."""
    label, target = "the label of a set of sessions that were measured before", "wrap:taskset -c 1 nice -n 5 env A=b"
    fill(store, label=label, target=target)
    (line,) = [line for line in call(store, "list").output.splitlines() if line.startswith("@last")]
    assert label in line and target in line


# show


def test_show_gives_facts_value_interval_unit_direction_runs_and_flags(store: Store) -> None:
    name = fill(store, label="before")
    shown = call(store, "show", "before").output
    for fact in (name, "before", "Linux 6.1.0 x86_64", "A CPU, 2 online", "resolution 1.00 ns", "one read 25.0 ns"):
        assert fact in shown
    row = next(line for line in shown.splitlines() if line.startswith("syscall/getppid"))
    assert re.search(r"syscall/getppid +1\d\d(\.\d+)? ns +±\d+(\.\d+)? % +call +↓ +3 ", row)
    assert "lower is better" in shown
    assert "failed: proc/execl: fork: EAGAIN" in shown
    assert "not on this platform: ctx/yield: no sched_yield" in shown
    assert "syscall/getppid: a remark" in shown


def test_show_names_what_disturbed_the_host(store: Store) -> None:
    findings = [
        {"name": "governor", "value": "powersave", "severity": "disturbs"},
        {"name": "turbo", "value": "on", "severity": "note"},
        "no finding",
    ]
    fill(store, host={"findings": findings})
    shown = call(store, "show", "@last").output
    assert "governor: powersave" in shown
    assert "turbo" not in shown
    for odd in ({"findings": 7}, {"findings": {"a": 1}}, {}):
        assert "disturbing" not in call(store, "show", fill(store, host=odd)).output


def test_show_at_80_columns_keeps_to_them_and_cuts_nothing_off(store: Store) -> None:
    long = "ctx/ring@procs=96,token=65536,ws=65536,other-cpu"
    with store.create(make.session()) as file:
        file.add(make.workload("ctx/ring", per="round trip"))
        for number in range(2):
            file.add(make.run(number, row=long))
    shown = call(store, "show", "@last").output
    assert max(map(len, shown.splitlines())) <= 80
    below_head = shown.split("\nrow ")[1].split("\n±")[0].splitlines()[1:]
    assert "".join(line.split()[0] for line in below_head if re.match(r"(  )?\S", line)) == long
    assert long in call(store, "show", "@last", width=200).output


def test_show_as_json_holds_the_same_and_nothing_else_is_printed(store: Store) -> None:
    name = fill(store)
    told = json.loads(call(store, "show", "@last", "--json").stdout)
    assert told["session"]["id"] == name
    (row,) = told["rows"]
    assert (row["row"], row["unit"], row["better"], len(row["runs"])) == ("syscall/getppid", "ns", "lower", 3)
    assert row["value_low"] <= row["value"] <= row["value_high"]
    assert {"code": "probe", "detail": "a remark"} in [{**flag, "detail": "a remark"} for flag in row["flags"]]
    assert told["failures"][0]["row"] == "proc/execl"
    assert told["damage"] == []


def test_show_takes_rows_and_says_which_it_does_not_know(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    fill(store)
    assert len(json.loads(call(store, "show", "@last", "sys*", "--json").stdout)["rows"]) == 1
    assert main(["--store", str(store.folder), "show", "@last", "syscal"]) == Status.USAGE
    assert "no figure of 'syscal'" in capsys.readouterr().err


def test_show_has_a_curve_as_one_and_its_points_where_asked_for(store: Store) -> None:
    """Expected: three rows along procs are one line group; --points, or all their names, show rows; JSON has both."""
    rows = [f"ctx/ring@procs={procs},same-cpu" for procs in (2, 4, 16)]
    with store.create(make.session()) as file:
        file.add(make.workload("ctx/ring", curve="procs", params=("procs",)))
        for row in rows:
            file.add(make.run(row=row))
    shown = call(store, "show", "@last").output
    assert "ctx/ring@procs=*,same-cpu" in shown and "3 points, 2 … 16" in shown and rows[0] not in shown
    for words in (["--points"], rows):
        assert all(row in call(store, "show", "@last", *words).output for row in rows)
    assert "procs=*" in call(store, "show", "@last", "ctx/ring").output
    (line, *_others) = csv.DictReader(io.StringIO(call(store, "export", "--csv", "@last").stdout))
    assert (line["curve"], line["x"]) == ("ctx/ring@procs=*,same-cpu", "2.0")
    told = json.loads(call(store, "show", "@last", "--json").stdout)
    assert [one["row"] for one in told["rows"]] == [point["row"] for point in told["curves"][0]["points"]] == rows


def test_figures_are_of_the_quiet_core_and_raw_ones_an_option_away(store: Store) -> None:
    """A neighbour is there for 60 of 100 samples, which take half as long again. Expected: the sentence at the top says
    so, the figure is that of the other 40, and `--raw` gives that of all, without the sentence."""
    loop = (3_000,) * 41 + (6_900,) * 60
    samples = (100_000,) * 40 + (150_000,) * 60
    runs = [make.run(number, samples=samples, loop_batch=8192, loop_every=1, loop_cost=loop) for number in range(3)]
    fill(store, *(msgspec.structs.replace(run, involuntary=(), migrated=()) for run in runs))
    shown, plain = call(store, "show", "@last").output, call(store, "show", "@last", "--raw").output
    assert "a neighbour shared the core in 60 % of the samples; figures are of" in shown.replace("\n", " ")
    assert "neighbour" not in plain
    quiet, every = (
        json.loads(call(store, "show", "@last", "--json", *words).stdout)["rows"][0]["value"]
        for words in ((), ("--raw",))
    )
    assert quiet == pytest.approx(99.5, abs=0.5)
    assert every == pytest.approx(149.2, abs=0.5)


def test_details_say_what_was_seen_at_each_row(store: Store) -> None:
    stored = fill(store, *(make.run(number, migrated=tuple(range(20))) for number in range(3)))
    brief, full = call(store, "show", "@last").output, call(store, "show", "@last", "--details").output
    assert len(full.splitlines()) > len(brief.splitlines())
    assert "Flags not shown: disturbed on 1 of 1 row. With their details:" in brief
    assert f"kernometer show {stored} --details" in brief
    assert "disturbed (1 row)" in full
    assert "moved to another CPU in 20 of 20 samples" in full


def test_details_say_what_figures_hang_on(store: Store) -> None:
    """Expected: setting, value and row, and how near its CPUs were. Broken: no word of huge pages."""
    with store.create(make.session()) as file:
        file.add(make.header(settings={"governor": "powersave", "vdso": "present"}))
        file.add(make.workload(settings=("governor", "transparent_hugepage")))
        file.add(make.run(relation="sibling"))
    shown = call(store, "show", "@last", "--details").output
    assert "governor: powersave; relation of its two CPUs: sibling (syscall/getppid)" in shown
    assert "vdso" not in shown
    assert "depend on" not in call(store, "show", "@last").output


@pytest.mark.parametrize(("less", "place"), [(False, "Beside it"), (True, "Less")])
def test_details_say_the_overhead_that_was_measured_beside_a_row(store: Store, *, less: bool, place: str) -> None:
    """Expected: its cost, where it is, and what it is. Broken: only `show --json` has it."""
    with store.create(make.session()) as file:
        file.add(make.header())
        file.add(make.workload(subtracts="two writes within one process", figure_less_baseline=less))
        file.add(make.run(baseline=Baseline(batch=10, samples=(20_000, 20_000))))
    shown = call(store, "show", "@last", "--details").output.replace("\n", " ")
    assert f"syscall/getppid: 2.00 µs. {place}: two writes within one process" in shown
    assert "two writes" not in call(store, "show", "@last").output


def test_a_damaged_result_is_shown_with_what_is_wrong(store: Store) -> None:
    fill(store)
    path = store.resolve("@last")
    path.write_bytes(path.read_bytes()[:-40])
    shown = call(store, "show", str(path)).output
    assert "The last line is missing" in shown
    assert "cut off" in shown
    assert "syscall/getppid" in shown


def test_a_row_without_a_figure_says_what_became_of_it(store: Store) -> None:
    """Expected: damaged lines, the failure, the reason. Broken: no word but that there is no figure."""
    name = fill(store)
    path = store.resolve(name)
    path.write_bytes(path.read_bytes().replace(b'"samples":[15', b'"samples":[x'))
    for row, said in (
        ("syscall/getppid", r"Line \d+ was left out"),
        ("proc/execl", "It failed: fork: EAGAIN"),
        ("ctx/*", "It is unsupported: no sched_yield"),
    ):
        with pytest.raises(UsageError, match=said):
            call(store, "show", str(path), row)


def test_a_time_that_no_calendar_has_is_damage(store: Store, tmp_path: Path) -> None:
    """Expected: the file and the field, from every command. Broken: a traceback where a date is made of it."""
    path = store.resolve(fill(store))
    path.write_bytes(path.read_bytes().replace(b'"started":1795000000.0', b'"started":1e17'))
    for words in (
        ["report", str(path), "-o", str(tmp_path / "r.html")],
        ["show", str(path)],
        ["export", "--csv", str(path)],
    ):
        with pytest.raises(ResultError, match=r"\$.started"):
            call(store, *words)


def test_nothing_from_a_machine_reaches_the_terminal_as_it_came(store: Store) -> None:
    """Expected: escapes as text. Broken: a result file of a stranger drives the terminal, or rich's markup."""
    with store.create(make.session(target=HOSTILE, machine=HOSTILE, host={HOSTILE: HOSTILE})) as file:
        file.add(make.header(uname={"sysname": HOSTILE, "release": HOSTILE}, cpu={"model": HOSTILE}, counters=HOSTILE))
        file.add(make.workload(HOSTILE, per=HOSTILE))
        file.add(make.run(row=HOSTILE, warnings=({"code": "x", "text": HOSTILE},)))
        file.add(make.records()[6].__class__(row=HOSTILE, text=HOSTILE))  # type: ignore[call-arg]  # its class is known
        file.add(make.records()[7].__class__(row=HOSTILE, reason=HOSTILE))  # type: ignore[call-arg]  # its class is known
    every = [["show", "@last"], ["show", "@last", "--details"], ["list"], ["export", "--csv", "@last"]]
    every += [["show", "@last", "--json"], ["list", "--json"], ["export", "--json", "@last"]]
    for words in every:
        output = call(store, *words, width=1000).stdout
        assert not set(output) & {"\x1b", "\x07", "\u202e"}, words
        assert "[red]" in output


# export


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_table_of_rows_has_every_row_with_its_status(store: Store) -> None:
    name = fill(store)
    lines = table(call(store, "export", "--csv", "@last").stdout)
    assert tuple(lines[0]) == COLUMNS["row"]
    assert [(line["row"], line["status"], line["note"]) for line in lines] == [
        ("syscall/getppid", "measured", ""),
        ("proc/execl", "failed", "fork: EAGAIN"),
        ("ctx/yield", "unsupported", "no sched_yield"),
    ]
    assert lines[0]["result"] == name
    assert float(lines[0]["value_low"]) <= float(lines[0]["value"]) <= float(lines[0]["value_high"])
    assert (lines[0]["runs"], lines[0]["samples"], lines[1]["value"]) == ("3", "60", "")


def test_a_failed_row_is_exported_with_its_definition(store: Store) -> None:
    """Expected: unit, direction, parameters, as of a measured row. Broken: empty columns for what the file knows."""
    info = RowInfo(row="ctx/ring@procs=8", id=4, params={"procs": 8})
    with store.create(make.session()) as file:
        file.add(make.workload("ctx/ring", per="hop", rows=(info,)))
        file.add(Failure(row=info.row, text="fork: EAGAIN"))
    (line,) = table(call(store, "export", "--csv", "@last").stdout)
    assert [line[key] for key in ("per", "unit", "better", "params")] == ["hop", "ns", "lower", '{"procs":8}']
    assert (line["result"], line["target"], line["by"]) == (file.path.stem, "local", "time")


def test_a_table_of_runs_and_one_of_samples_hold_what_was_measured(store: Store) -> None:
    fill(store)
    runs = table(call(store, "export", "--csv", "--per", "run", "@last").stdout)
    assert tuple(runs[0]) == COLUMNS["run"]
    assert [line["run"] for line in runs] == ["0", "1", "2"]
    assert (runs[0]["batch"], runs[0]["involuntary"], runs[0]["migrated"]) == ("1000", "1", "1")
    assert json.loads(runs[0]["meter"]) == {"others_busy": 0.01, "steal_ns": 0.0}
    samples = table(call(store, "export", "--csv", "--samples", "@last").stdout)
    assert tuple(samples[0]) == COLUMNS["sample"]
    assert len(samples) == 60
    assert [line["raw"] for line in samples[:2]] == ["150000", "150001"]
    assert [line["sample"] for line in samples if line["involuntary"] != "0" and line["run"] == "0"] == ["3"]


def test_json_has_the_same_columns_and_is_an_array_even_when_empty(store: Store) -> None:
    fill(store)
    lines = json.loads(call(store, "export", "--json", "@last").stdout)
    assert tuple(lines[0]) == COLUMNS["row"]
    assert lines[1]["value"] is None
    with store.create(make.session(label="bare")) as file:
        file.add(make.header())
    assert json.loads(call(store, "export", "--json", "--samples", "bare").stdout) == []


@pytest.mark.parametrize("per", ["row", "run", "sample"])
def test_a_parquet_file_has_the_values_of_json_with_their_types(store: Store, tmp_path: Path, per: str) -> None:
    """Expected: the same lines from both. Broken: a number that became text, a value that was cut to 32 bits."""
    from pyarrow import parquet

    fill(store, label="set")
    with store.create(make.session(label="set")) as file:
        file.add(make.workload("mem/read-bw", unit="B/s"))
        file.add(
            make.run(
                row="mem/read-bw",
                workload="mem/read-bw",
                ops=0.5,
                samples=(2**62, 7),
                involuntary=(),
                migrated=(),
                cpu=-1,
            )
        )
    written = tmp_path / "t.parquet"
    call(store, "export", "--parquet", "--per", per, "label:set", "-o", str(written))
    expected = json.loads(call(store, "export", "--json", "--per", per, "label:set").stdout)
    table = parquet.read_table(written)
    assert table.to_pylist() == expected
    assert tuple(table.column_names) == COLUMNS[per]  # type: ignore[index]  # one of its keys
    kinds = {one.name: str(one.type) for one in table.schema}
    assert {kinds[name] for name in ("run", "raw", "samples", "batch") if name in kinds} == {"int64"}
    assert kinds["result"] == "string" and kinds.get("cost", "double") == "double"


def test_parquet_needs_a_file_and_pyarrow(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store)
    with pytest.raises(UsageError, match="cannot be printed"):
        call(store, "export", "--parquet", "@last")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingError) as caught:
        call(store, "export", "--parquet", "@last", "-o", str(tmp_path / "t"))
    assert "kernometer[parquet]" in caught.value.next_step
    assert not (tmp_path / "t").exists()


def test_sets_are_exported_whole_and_nothing_twice(store: Store) -> None:
    names = [fill(store, label="set", started=float(number)) for number in range(3)]
    lines = table(call(store, "export", "--csv", "label:set", names[0], "@last").stdout)
    assert [line["result"] for line in lines if line["status"] == "measured"] == names[::-1]


@pytest.mark.parametrize("sign", ["=", "+", "-", "@"])
def test_text_that_a_spreadsheet_would_run_is_defused(store: Store, sign: str) -> None:
    """Expected: a quote before it. Broken: opening the table runs a command. A negative number stays a number."""
    name = f'{sign}HYPERLINK("x")'
    with store.create(make.session()) as file:
        file.add(make.workload(name))
        file.add(make.run(row=name, workload=name, cpu=-1, peer_cpu=-1))
    (line,) = table(call(store, "export", "--csv", "--per", "run", "@last").stdout)
    assert line["row"] == "'" + name
    assert line["peer_cpu"] == "-1"


def test_a_file_appears_only_when_it_is_whole(store: Store, tmp_path: Path) -> None:
    fill(store)
    out = tmp_path / "out" / "all.csv"
    with pytest.raises(ResultError, match="cannot be written"):
        call(store, "export", "--csv", "@last", "-o", str(out))
    out.parent.mkdir()
    call(store, "export", "--csv", "@last", "-o", str(out))
    before = out.read_text()
    assert table(before)[0]["row"] == "syscall/getppid"
    bad = store.folder / "bad.ndjson"
    bad.write_text("{}")
    with pytest.raises(ResultError):
        call(store, "export", "--csv", "@last", str(bad), "-o", str(out))
    assert out.read_text() == before
    assert [path.name for path in out.parent.iterdir()] == ["all.csv"]


def test_a_form_must_be_named(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    fill(store)
    for words in ([], ["--csv", "--json"]):
        assert main(["--store", str(store.folder), "export", "@last", *words]) == Status.USAGE
        assert "--csv, --json or --parquet" in capsys.readouterr().err


# list


def test_the_list_names_each_result_as_others_may_call_it(store: Store) -> None:
    old, new = (fill(store, started=float(number), label=f"set{number}") for number in range(2))
    lines = call(store, "list").output.splitlines()
    assert re.search(rf"^@last +{new} +set1 +local +time +1 +1 failed", lines[1])
    assert re.search(rf"^@1 +{old} ", lines[2])
    assert max(map(len, lines)) <= 80
    assert "local   Linux 6.1.0  time" in call(store, "list", width=100).output


def test_the_list_cuts_no_word_at_80_columns(store: Store) -> None:
    """Expected: a line for each result. Broken: `qemu:linu` above `x-6.1`, since a kernel's release takes the room."""
    fill(store, label="before", target="qemu:linux-6.12")
    (line,) = call(store, "list").output.splitlines()[1:]
    assert " before  qemu:linux-6.12  time " in line


def test_filters_do_not_change_what_a_place_means(store: Store) -> None:
    old = fill(store, started=1.0, label="old")
    fill(store, started=2.0)
    (line,) = call(store, "list", "--label", "old").output.splitlines()[1:]
    assert line.startswith(f"@1  {old} ")


def test_the_list_as_json(store: Store) -> None:
    name = fill(store)
    (told,) = json.loads(call(store, "list", "--json").stdout)
    assert (told["id"], told["runs"], told["rows"], told["complete"]) == (name, 3, 1, True)
    assert told["path"] == str(store.resolve(name))


def test_an_empty_list_says_what_to_do_apart_from_the_output(store: Store) -> None:
    done = call(store, "list")
    assert done.stdout == ""
    assert "kernometer run" in done.stderr
    assert json.loads(call(store, "list", "--json").stdout) == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"complete": True}, ""),
        ({"complete": True, "failures": 2}, "2 failed"),
        ({"complete": True, "damage": 1}, "damaged"),
        ({"damage": 1}, "not complete"),
        ({"growing": True}, "measuring"),
        ({"problem": "no"}, "unreadable"),
    ],
)
def test_states(given: dict[str, Any], told: str, tmp_path: Path) -> None:
    assert state(Summary(path=tmp_path, **given)) == told


@pytest.mark.parametrize("width", [8, 20, 60])
def test_a_rows_name_is_broken_but_not_changed(width: int) -> None:
    for name in ("ctx/ring@procs=8,token=0,ws=0,same-cpu", "x" * 70, "", ",,@@//"):
        lines = broken(name, width)
        assert all(len(line) <= width for line in lines)
        assert "".join([lines[0], *(line[2:] for line in lines[1:])]) == name
