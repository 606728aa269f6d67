"""compare --gate and list --history on stored sessions: statuses, summaries, refusals."""

from __future__ import annotations

import json
import re
from email import message_from_bytes
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from msgspec import structs

from kernometer.errors import Status
from kernometer.report.comparison import gate as report
from kernometer.results.model import Failure
from kernometer.results.store import Store
from kernometer.stats.compare import compare
from kernometer.stats.gate import gate
from tests.support.cli.storing import call, keep
from tests.support.report.factory import HOSTILE
from tests.support.stats.simulate import ROW, header, path_result

OTHER = {"image": "linux 6.12 sha256:2"}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def kept(store: Store, label: str, count: int, number: int, **session: Any) -> None:
    """One session by path, with this count of one row."""
    keep(store, path_result(label, {ROW: count}, started=1_795_000_000.0 + 3600 * number, label=label, **session))


def test_the_gates_statuses_and_files(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected: 7 for a longer row, 0 if it is allowed or shorter, and both files each time. Broken: CI stays green."""
    kept(store, "before", 1000, 0)
    kept(store, "after", 1100, 1, **OTHER)
    files = ("--markdown", str(tmp_path / "m.md"), "--junit", str(tmp_path / "j.xml"))
    call(store, capsys, "compare", "--gate", *files, "before", "after", status=Status.GATE)
    assert (
        "| worse | `syscall/getppid` | 1,000 instr | 1,100 instr | 1.100 (floor 1.0 %) |"
        in (tmp_path / "m.md").read_text()
    )
    suite = ET.parse(tmp_path / "j.xml").getroot()[0]  # noqa: S314  # our own file
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    told = call(store, capsys, "compare", "--gate", "--allow", "syscall/*=10%", "before", "after")
    assert "allowed: syscall/getppid: 1,000 instr to 1,100 instr, ratio 1.100" in told
    call(store, capsys, "compare", "--gate", "--allow", "syscall/*=9.9%", "before", "after", status=Status.GATE)
    told = call(store, capsys, "compare", "--gate", "--json", *files, "after", "before")
    assert json.loads(told)[0]["rows"][0]["verdict"] == "faster"
    assert "better" in (tmp_path / "m.md").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("compare", "--junit", "x.xml", "before", "after"), "Add --gate"),
        (("compare", "--gate", "--allow", "fs=x%", "before", "after"), "not a row and a percentage"),
        (("compare", "--gate", "published/miao-2011:linux", "published/miao-2011:minix3"), "no verdicts"),
        (("ab", "--gate", "--by", "path", "qemu:a", "qemu:b", "qemu:c"), "takes two targets"),
        (("list", "syscall/getppid"), "--history"),
        (("list", "--history", "no/row"), "No stored session"),
        (("list", "--report", "x.html"), "--history"),
        (("list", "--history", "--benchmark-action", "there.js"), "no data.js"),
    ],
)
def test_what_is_refused(
    store: Store,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    said: str,
) -> None:
    kept(store, "before", 1000, 0)
    kept(store, "after", 1000, 1)
    monkeypatch.chdir(tmp_path)
    Path("there.js").write_text("alert(1)")
    assert said in call(store, capsys, *words, status=Status.USAGE)


def test_a_machines_words_stay_words_in_both_files() -> None:
    """Expected: no markup of theirs in Markdown or XML, and no @name that a forge would call. Broken: a failed row's
    message writes the pull request's comment."""
    text = HOSTILE + " | ` @everyone ](http://x)"
    a = path_result(text, {ROW: 100, text: 5})
    b = structs.replace(path_result("b", {ROW: 200}, **OTHER), failures=(Failure(row=text, text=text),))
    found = gate(compare([a], [b], history=None, name_a=text), [a], [b], explanations={ROW: (text, "line 2")})
    page = report.markdown([found]).decode()
    for line in page.splitlines():
        outside = "".join(line.split("`")[::2])
        assert not set("<@[\x1b") & set(outside.replace("<br>", ""))
    assert {line.replace("\\|", "").count("|") for line in page.splitlines() if line.startswith("|")} == {7}
    root = ET.fromstring(report.junit([found]))  # noqa: S314  # our own text
    assert len(root[0]) == 2
    assert root[0][0][0].text is not None
    assert root[0][0][0].text.endswith("line 2")
    assert any("line 2" in line for line in report.lines(found))


def test_a_mail_has_a_subject_the_rows_and_what_reproduces_it(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Expected: the row in the subject, both counts and kernels, and a command for a shell; a gate that passed says so.
    Broken: a developer who gets it cannot tell what to do."""
    kept(store, "before", 1000, 0)
    kept(store, "after", 1100, 1, **OTHER)
    for sides, status in ((("before", "after"), Status.GATE), (("after", "before"), Status.DONE)):
        call(store, capsys, "compare", "--gate", "--mail", str(tmp_path / "e.eml"), *sides, status=status)
        mail = message_from_bytes((tmp_path / "e.eml").read_bytes())
        text = mail.get_payload(decode=True)
        assert isinstance(text, bytes)
        assert OTHER["image"] in text.decode()
        assert "  kernometer ab --by path --functions --gate qemu:linux qemu:linux" in text.decode()
        if status is Status.GATE:
            assert mail["Subject"] == "[kernometer] after: syscall/getppid worse 1.100"
            assert re.search(r"1,000 instr +1,100 instr +1\.100  syscall/getppid \(worse\)", text.decode())
            assert text.decode().rstrip().endswith(" syscall/getppid@")
        else:
            assert mail["Subject"].startswith("[kernometer] Gate passed: before against after")


def test_a_machines_words_stay_in_a_mails_lines() -> None:
    """Expected: no further header, no escape, and quoted for a shell. Broken: a row's name adds a receiver."""
    text = HOSTILE + "\nBcc: all@example.org"
    a, b = (path_result(f"{text} {count}", {ROW: count, text: count}) for count in (100, 200))
    found = gate(compare([a], [b], history=None, name_a=text, name_b=text), [a], [b], explanations={ROW: (text,)})
    content = report.mail([found], {text: [a, b]})
    mail = message_from_bytes(content)
    assert set(mail.keys()) == {"Subject", "Content-Type", "Content-Transfer-Encoding", "MIME-Version"}
    assert b"\x1b" not in content
    assert "\nBcc" not in content.decode()


def test_the_history_names_the_kernel_that_changed_a_count(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected: the change with both images, and each session's figure if the row is named."""
    for number, count in enumerate((138, 138, 139)):
        kept(store, "ci", count, number, image=f"mine 0.1 sha256:{count:064}")
    told = call(store, capsys, "list", "--history")
    assert "1 of 1 rows changed" in told
    assert "1.007" in told
    assert call(store, capsys, "list", "--history", ROW).count("138 instr") == 2
    assert "gcc" not in told  # one probe only
    (course,) = json.loads(call(store, capsys, "list", "--history", "--json"))
    (change,) = course["changes"]
    assert [fact["what"] for fact in change["facts"]] == ["image"]
    assert change["ratio"] == pytest.approx(139 / 138)


def test_a_gate_names_the_processor_that_its_verdict_depends_on() -> None:
    """Expected: in the lines and in the summary. Broken: a failed build on a processor that nobody is told of."""
    machine = "QEMU 7.2.22 tcg icount; microvm; -cpu max,-erms; 1 CPU"
    a = path_result("a", {ROW: 100}, machine=machine)
    b = path_result("b", {ROW: 200}, machine=machine, **OTHER)
    found = gate(compare([a], [b], history=None), [a], [b])
    assert "emulated processor max,-erms" in report.lines(found)[1]
    assert "emulated processor max,-erms" in report.markdown([found]).decode()


def test_the_history_of_another_probe_is_a_table_of_its_own(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected: both probes, each with its sessions. Broken: two lines of one row, and nothing says why."""
    kept(store, "ci", 138, 1)
    kept(store, "ci", 250, 2, header=header(probe={"libc": "glibc 2.36", "flags": "cc -O2 -static"}))
    told = call(store, capsys, "list", "--history", ROW)
    assert told.count("qemu:linux by path (") == 2
    assert "glibc 2.36; not known): 0 of 1 rows changed" in " ".join(told.split())
    probes = {one["probe"] for one in json.loads(call(store, capsys, "list", "--history", "--json"))}
    assert len(probes) == 2
