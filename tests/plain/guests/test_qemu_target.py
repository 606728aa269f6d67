"""The target against a QEMU that dies, hangs, lies and floods: a script of the test's on PATH."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from kernometer.campaign.plan import EFFORTS, Plan
from kernometer.campaign.session import records
from kernometer.errors import MissingError, TargetError, UsageError
from kernometer.guests.store import Manifest
from kernometer.results.model import By
from kernometer.targets import booting
from kernometer.targets.base import Call, Deadline, Job
from kernometer.targets.parse import target_of
from kernometer.targets.qemu import QemuTarget
from kernometer.targets.saved import saving
from tests.support.cli.terminals import alive, wait_for
from tests.support.guests.boots import GOOD, RUN, WORKLOAD, Boots, left_behind, lines

JOB = Job(("--by", "path", "syscall/getppid"), "path")
BY_TIME = Job(("--by", "time", "syscall/getppid"))


def run(target: QemuTarget, seconds: float = 60, max_bytes: int = 1 << 20, silence: float = 300) -> list[bytes]:
    job = Job(JOB.arguments, "path", max_bytes=max_bytes, silence=silence)
    return list(target.run(job, Deadline.after(seconds)))


def test_lines_between_the_markers_and_then_events(boots: Boots, tmp_path: Path) -> None:
    """Expected: the records, then one events record for the row that ran. Broken: a row that never ended has one."""
    found = run(boots("bulk('SeaBIOS\\n[    0.1] noise\\n' + GOOD); events()"))
    assert found[:2] == [line.encode() for line in lines(WORKLOAD, RUN).splitlines()]
    assert [json.loads(line) for line in found[2:]] == [
        {
            "type": "events",
            "row": "syscall/getppid",
            "regions": 1,
            "counts": {"instructions": 403, "syscalls": 1},
            "empty": {"instructions": 360},
            "empty_regions": 10,
            "entries": {},
        }
    ]
    assert left_behind(tmp_path) == []


def test_what_describe_prints_is_what_is_started(boots: Boots) -> None:
    """Expected: the same words, plugin and all. Broken: --dry-run shows another command than was measured with."""
    target = boots("print(sys.argv[1:], file=sys.stderr)\nsys.exit(7)")
    with pytest.raises(TargetError) as caught:
        run(target)
    assert repr(list(target.describe(JOB)[1:])) in caught.value.last_output.replace("\n", "")


def test_crlf_and_kernel_messages_between_records_are_no_matter(boots: Boots) -> None:
    """Expected: the same records. Broken: a carriage return in a record, or a kernel message taken for one."""
    text = GOOD.replace("\n", "\r\n").replace('{"type":"run"', '[    2.5] usb 1-1: new device\r\n{"type":"run"')
    assert run(boots(f"bulk({text!r}); events()"))[:2] == run(boots("bulk(GOOD); events()"))[:2]


def test_records_come_while_the_guest_still_runs(boots: Boots) -> None:
    """Expected: by time the first record arrives before the rest is written. Broken: all is held until the end, as by
    path, where only then the plugin tells what to take off; no progress."""
    target = boots(
        "head, tail = GOOD[:60], GOOD[60:]\nbegin, first, rest = GOOD.split('\\n', 2)\n"
        "bulk(begin + '\\n' + first + '\\n')\n"
        "while not Path('seen').exists(): time.sleep(0.01)\nbulk(rest)"
    )
    stream = replace(target, accelerator="tcg").run(BY_TIME, Deadline.after(60))
    assert json.loads(next(stream))["type"] == "workload"
    (folder,) = Path(os.environ["TMPDIR"]).iterdir()
    (folder / "seen").touch()
    assert len(list(stream)) == 1


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("sys.exit(1)", "never began"),
        ("print('qemu: no such machine', file=sys.stderr); sys.exit(1)", "QEMU said: qemu: no such machine"),
        ("bulk(GOOD[:70])", "stopped in the middle"),
        ("bulk(GOOD.replace('end 2', 'end 3'))", "3 records were sent and 2 arrived"),
        ("bulk(GOOD); os.kill(os.getpid(), 11)", "plugin wrote no counts"),
        ("bulk(GOOD)", "plugin wrote no counts"),
        ("bulk(GOOD); events('{}')", "counts cannot be read"),
        ("bulk(GOOD); events(REGIONS[:-9])", "counts cannot be read"),
        ("bulk(GOOD); events(REGIONS.replace('403', '-1'))", "counts cannot be read"),
        ("bulk('#kernometer begin 1\\n#init failed /proc: No such device\\n')", "init failed: /proc: No such device"),
        ("console('[ 0.5] Kernel panic - not syncing: No init found.\\n')", "kernel panicked: No init found"),
        ("console('\\nPANIC: in init_init()\\n')", "kernel panicked: in init_init"),
        ("console('Kernel panic - not syncing: No init\\n' + 'a trace\\n' * 900)", "kernel panicked: No init"),
        (
            "console('(XEN) Panic on CPU 0:\\r\\n(XEN) Could not construct d0\\r\\n')",
            "panicked: Could not construct d0",
        ),
        ("console('minix boots\\nkernel panic: no tty\\n')", "kernel panicked: no tty"),
        (
            "console('GNU Mach\\r\\n\\rpanic ../i386/trap.c:230: kernel_trap: no\\n')",
            "kernel panicked: kernel_trap: no",
        ),
        (
            "console('probe: writing: Bad file\\r\\n' + 'a thread stops\\r\\n' * 900)",
            "Its program said: probe: writing: Bad file",
        ),
        ("bulk('x' * 3_000_000); time.sleep(60)", "more than 1,048,576 bytes"),
        ("bulk('#kernometer begin 1\\n' + '{}\\n' * 500_000); time.sleep(60)", "more than 1,048,576 bytes"),
        ("console('x' * 9_000_000); time.sleep(60)", "on its console"),
    ],
)
def test_a_guest_that_goes_wrong_is_an_error_with_its_cause(
    boots: Boots, tmp_path: Path, script: str, words: str
) -> None:
    """Expected: TargetError that names the cause; nothing left. Broken: half a result, or a folder in /tmp."""
    with pytest.raises(TargetError, match=words):
        run(boots(script))
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(
    "script",
    ["time.sleep(600)", "bulk(GOOD[:70]); time.sleep(600)", "signal.signal(15, signal.SIG_IGN); time.sleep(600)"],
)
def test_a_guest_that_hangs_ends_with_the_deadline(boots: Boots, tmp_path: Path, script: str) -> None:
    """Expected: an error at the deadline, and no process. Broken: a wait without a limit."""
    target = boots(f"Path({str(tmp_path)!r}, 'pid').write_text(str(os.getpid()))\n{script}")
    with pytest.raises(TargetError, match="when its time was up"):
        run(target, seconds=1.5)
    pid = int((tmp_path / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists()
    assert left_behind(tmp_path) == []


def test_a_guest_that_falls_silent_is_given_up(boots: Boots) -> None:
    """Expected: an error after the row's limit. Broken: a hang costs the whole campaign's time."""
    with pytest.raises(TargetError, match="after 0 s without output"):
        run(boots("bulk(GOOD[:70]); time.sleep(600)"), seconds=600, silence=0.4)


@dataclass
class Emulator:
    """An emulator whose guest appends a text to its console at each look, 0.6 s apart, and then ends its records."""

    folder: Path
    says: list[str]
    output: str = booting.BULK
    now: float = 0.0
    pid: int = 0
    returncode: int = 0

    def poll(self) -> int | None:
        self.now += 0.6
        if not self.says:
            with (self.folder / self.output).open("a") as output:
                output.write(GOOD.split("\n", 1)[1])
            return 0
        with (self.folder / booting.CONSOLE).open("a") as console:
            console.write(self.says.pop(0))
        return None

    def terminate(self) -> None:
        pass


@pytest.mark.parametrize("output", [booting.BULK, booting.CONSOLE])
@pytest.mark.parametrize(("text", "lives"), [("step %s\n", True), ("timeout %d\n", False), ("", False)])
def test_a_console_that_has_something_new_to_say_is_no_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, text: str, lives: bool
) -> None:
    """Expected: a row's records though its kernel reports on its work for longer than the limit; an error where it
    repeats itself, also where the records come by the console. Broken: the silence of the records alone counts, or one
    message for ever is waited for."""
    for name in (booting.CONSOLE, booting.BULK):
        (tmp_path / name).write_text(GOOD.split("\n")[0] + "\n" if name == output else "")
    emulator = Emulator(tmp_path, [text % (n if "d" in text else "x" * n) if text else "" for n in range(9)], output)
    monkeypatch.setattr("kernometer.targets.base.time.monotonic", lambda: emulator.now)
    job = Job(JOB.arguments, "path", silence=1.0)
    watch = booting.Watch(tmp_path, "g")
    come = booting.records(cast("subprocess.Popen[bytes]", emulator), output, job, Deadline(99.0), watch)
    if lives:
        assert [line for line in come if line is not None] == [line.encode() for line in lines(WORKLOAD, RUN).split()]
    else:
        with pytest.raises(TargetError, match="after 1 s without output"):
            list(come)


def test_the_same_message_for_ever_is_no_news(tmp_path: Path) -> None:
    """Expected: news are lines that differ in more than numbers, and one that grows; pieces of a known one are none.
    Broken: a kernel that prints one error for ever is waited for, or one that prints dots is given up."""
    (tmp_path / booting.CONSOLE).touch()
    watch = booting.Watch(tmp_path, "qemu:g")
    for text, new in (
        ("[ 0.1] boots\n", True),
        ("[ 17.3] boots\n", False),
        ("[ 18.0] bo", False),
        ("ots\n", False),
        ("", False),
        ("probing .", True),
        (".", True),
        ("\n[ 19.2] boots\nada0: timeout 0x3f\n", True),
        ("ada1: timeout 0x4", False),
        ("2\r[ 0.1] boots\r", False),
        ("." * booting.MOST_LINE, True),
        (".", False),
    ):
        with (tmp_path / booting.CONSOLE).open("a") as file:
            file.write(text)
        assert watch.news() is new, text


@pytest.mark.parametrize(
    ("emulator", "console", "step"),
    [
        ("sleep 600", "", "--device VGA"),
        ("while :; do :; done", "", "--device VGA"),
        ("while :; do :; done", "MINIX 3.4.0\r\n# ", "console: answers it"),
        ("sleep 600", "tty: no display\n", "guest boot"),
    ],
)
def test_a_mute_guest_ends_with_its_last_words_and_what_to_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, emulator: str, console: str, step: str
) -> None:
    """Expected: soon, what its console said last, and a next step. Broken: minutes, and nothing to go by."""
    monkeypatch.setattr(booting, "HALTED_SECONDS" if "sleep" in emulator else "MUTE_SECONDS", 0.3)
    for name, text in ((booting.CONSOLE, console), (booting.BULK, "")):
        (tmp_path / name).write_text(text)
    watch = booting.Watch(tmp_path, "qemu:mute")
    with subprocess.Popen(["sh", "-c", f"exec {emulator}" if "sleep" in emulator else emulator]) as process:
        with pytest.raises(booting.MuteError, match="qemu:mute does not begin to measure") as caught:
            while True:
                watch.silence(process.pid)
                time.sleep(0.01)
        process.kill()
    error = booting.explained(caught.value, tmp_path, "qemu:mute")
    assert console.replace("\r", "").strip() in error.last_output
    assert step in error.next_step


def test_a_guest_that_says_the_same_for_ever_is_given_up_with_its_words(tmp_path: Path) -> None:
    """As Fiwix does of a first process that faults. Expected: by the number of lines, however busy the host is. Broken:
    a minute of the emulator's time, which may be many of ours."""
    (tmp_path / booting.CONSOLE).write_text(
        "Page Fault at 0x0\nProcess '/sbin/init' with pid 1.\n" * booting.MOST_AGAIN
    )
    (tmp_path / booting.BULK).touch()
    watch = booting.Watch(tmp_path, "qemu:g")
    watch.silence(os.getpid())
    with (tmp_path / booting.CONSOLE).open("a") as file:
        file.write("Page Fault at 0x0\n" * (booting.MOST_AGAIN + 1))
    with pytest.raises(booting.MuteError, match="prints the same again and again") as caught:
        watch.silence(os.getpid())
    assert "Page Fault" in booting.explained(caught.value, tmp_path, "qemu:g").last_output


def test_a_program_that_waited_and_prints_nothing_is_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: soon, for it has booted already; what it must do, and nothing of a console, which is empty because it
    said all before. Once it says something, that is shown. Broken: five minutes, and advice about the serial line."""
    monkeypatch.setattr(booting, "RESTORED_SECONDS", 0.3)
    for name in (booting.CONSOLE, booting.BULK):
        (tmp_path / name).touch()
    watch = booting.Watch(tmp_path, "qemu:g", at_once=True)
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as process:
        with pytest.raises(booting.MuteError) as caught:
            while True:
                watch.silence(process.pid)
                time.sleep(0.01)
        process.kill()
    error = booting.explained(caught.value, tmp_path, "qemu:g", restored=True)
    assert "was given its command, and printed nothing" in error.text
    assert "serial" not in error.next_step
    assert isinstance(error, booting.MuteError)
    (tmp_path / booting.CONSOLE).write_text("sh: probe: not found\n")
    assert "not found" in booting.explained(caught.value, tmp_path, "qemu:g", restored=True).last_output


def test_a_guest_that_says_nothing_is_given_up(boots: Boots, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: the same on the whole way. Broken: five minutes."""
    monkeypatch.setattr(booting, "HALTED_SECONDS", 0.3)
    with pytest.raises(booting.MuteError):
        run(boots("time.sleep(600)"), seconds=600)


def test_a_guest_that_measures_may_be_silent_for_longer(boots: Boots, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: its records. Broken: a row that computes for a minute passes for a guest that never began."""
    monkeypatch.setattr(booting, "MUTE_SECONDS", 1.0)
    begins = "begin, rest = GOOD.split('\\n', 1)\nbulk(begin + '\\n')\n"
    slowly = f"{begins}while time.process_time() < 2: pass\nbulk(rest); events()"
    assert len(run(boots(slowly))) == 3


def test_a_mute_guest_is_not_booted_again_without_being_saved(boots: Boots, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: the first boot's error. Broken: it is told as a guest that cannot be saved, and is waited for again."""

    def save(*_: object) -> Iterator[int]:
        while True:
            yield os.getpid()

    monkeypatch.setattr(booting, "HALTED_SECONDS", 0.0)
    monkeypatch.setattr(saving, "save", save)
    with pytest.raises(booting.MuteError):
        replace(boots(""), saved=None).place("path")


def test_a_guest_with_a_root_of_its_own_gets_a_row_only_where_a_probe_waits(
    boots: Boots, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: why it does not continue. Broken: it boots for each row, which never gets the row's command."""

    def save(*_: object) -> Iterator[int]:
        yield os.getpid()
        raise TargetError("the probe's output never began.")

    monkeypatch.setattr(saving, "save", save)
    target = replace(boots(""), saved=None)
    own = msgspec.structs.replace(target.guest.manifest, root="none")
    with pytest.raises(TargetError, match="never began"):
        replace(target, guest=replace(target.guest, manifest=own)).place("path")


def test_a_guest_that_panicked_and_goes_on_is_given_up(boots: Boots, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: the panic's words after a moment of grace, said once or for ever, on a console that the records come by
    too. Broken: five minutes of silence, as Xen spins on, or as much output as is allowed."""
    monkeypatch.setattr(booting, "PANIC_SECONDS", 0.5)
    says = "console('Kernel panic - not syncing: No init\\n')"
    with pytest.raises(TargetError, match="kernel panicked: No init"):
        run(boots(f"time.sleep(0.3); {says}; time.sleep(600)"), seconds=600)
    target = boots(f"while True: {says}; time.sleep(0.001)")
    by_console = msgspec.structs.replace(target.guest.manifest, output="serial")
    with pytest.raises(TargetError, match="kernel panicked: No init") as caught:
        run(replace(target, guest=replace(target.guest, manifest=by_console)), seconds=600)
    assert "did not end after a panic" in str(caught.value.__cause__)


def test_a_guest_that_panics_before_it_is_saved_is_given_up(boots: Boots, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: the panic's words, as above. Broken: five minutes, until the boot's time is up."""

    def save(_words: tuple[str, ...], folder: Path, _into: Path, until: Deadline) -> Iterator[int]:
        (folder / booting.CONSOLE).write_text("Kernel panic - not syncing: No init\n")
        while not until.passed:
            yield os.getpid()
        pytest.fail("nobody looked at the console")

    monkeypatch.setattr(booting, "PANIC_SECONDS", 0.5)
    monkeypatch.setattr(saving, "save", save)
    monkeypatch.setattr(QemuTarget, "_why_not_saved", lambda _: "")
    with pytest.raises(TargetError, match="kernel panicked: No init"):
        run(boots(""), seconds=10)


def test_an_emulator_that_does_not_end_is_an_error(boots: Boots, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: its own, short limit. Broken: a whole output, and then a wait for ever."""
    monkeypatch.setattr(booting, "END_SECONDS", 0.5)
    with pytest.raises(TargetError, match="does not end"):
        run(boots("bulk(GOOD); time.sleep(600)"), seconds=600)


@pytest.mark.parametrize("end", ["sys.exit(3)", "console('Kernel panic - not syncing: at power-off'); sys.exit(1)"])
def test_a_session_whose_records_are_complete_is_complete(boots: Boots, end: str) -> None:
    """Expected: records and counts, however the guest ends. Broken: a power-off that fails, or takes a system five
    seconds, costs a row."""
    assert len(run(boots(f"bulk(GOOD); events(); {end}"))) == 3


def test_a_guest_that_never_powers_off_is_ended(boots: Boots) -> None:
    """Expected: QEMU is asked to end, and its counts are read. Broken: a wait for a power-off that the guest lacks."""
    ends = "signal.signal(signal.SIGTERM, lambda *_: (events(), sys.exit()))"
    assert len(run(boots(f"{ends}; bulk(GOOD); time.sleep(600)"), seconds=600)) == 3


def test_hostile_output_is_escaped_in_the_error(boots: Boots) -> None:
    """Expected: no byte that a terminal obeys. Broken: a guest moves the cursor of who reads the error."""
    with pytest.raises(TargetError) as caught:
        run(boots("bulk('\\x1b]0;title\\x07\\u202e' + chr(0)); console('\\x1b[2J'); sys.exit(1)"))
    shown = caught.value.last_output + caught.value.text
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "\\x1b[2J" in shown


def test_closing_early_ends_qemu(boots: Boots, tmp_path: Path) -> None:
    """Expected: Ctrl-C or a break leaves no process and no folder."""
    target = boots(
        f"Path({str(tmp_path)!r}, 'pid').write_text(str(os.getpid()))\n"
        "bulk('\\n'.join(GOOD.split('\\n')[:2]) + '\\n'); time.sleep(600)"
    )
    stream = replace(target, accelerator="tcg").run(BY_TIME, Deadline.after(60))
    next(stream)
    stream.close()  # type: ignore[attr-defined]  # run is a generator; the interface promises an iterator
    assert not Path(f"/proc/{int((tmp_path / 'pid').read_text())}").exists()
    assert left_behind(tmp_path) == []


def test_a_killed_front_end_takes_qemu_along(boots: Boots, tmp_path: Path) -> None:
    """Expected: SIGKILL of Python ends QEMU too, and nothing is left in TMPDIR. Broken: an emulator runs on, unseen,
    and disturbs what comes next."""
    boots(f"Path({str(tmp_path)!r}, 'pid').write_text(str(os.getpid()))\ntime.sleep(600)")
    code = (
        "from kernometer.targets import booting, qemu\nfrom kernometer.targets.base import Call, Deadline, Job\n"
        "booting.initrd = lambda *_, **__: b''\n"
        "list(qemu.QemuTarget.from_spec('linux-9.9').run(Job(()), Deadline.after(60)))"
    )
    front = subprocess.Popen([sys.executable, "-c", code])
    until = Deadline.after(60)
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert not until.passed
        time.sleep(0.05)
    pid = int((tmp_path / "pid").read_text())
    os.kill(front.pid, signal.SIGKILL)
    front.wait()
    wait_for(lambda: not alive(pid) and left_behind(tmp_path) == [])


#: What is asked of the guest that names the rows, and of a row's: the script sees it at the end of the archive.
CALLS = tuple(Call(row, ("--continue", row)) for row in ("a", "b", "c", "d"))
ROWS_JOB = Job(("--by", "path", "*"), "path", max_bytes=1 << 20, calls=CALLS)
#: A guest that does as it is asked, and notes each boot.
OBEDIENT = f"""
asked = Path('initrd').read_bytes().decode().split(chr(0))
row = asked[-1]
open(LOG, 'a').write(row + chr(10))
WORKLOAD, RUN = {lines(WORKLOAD)!r}, {lines(RUN)!r}
UNSUPPORTED = {lines({"type": "unsupported", "row": "c", "reason": "no c here"})!r}
said = [WORKLOAD, UNSUPPORTED] if 'define' in asked else [RUN.replace('syscall/getppid', row)]
"""
ANSWERS = """
bulk('#kernometer begin 1\\n' + ''.join(said) + f'#kernometer end {len(said)}\\n')
events()
"""


def obedient(tmp_path: Path, act: str = "") -> str:
    """The script, which does `act` before it answers."""
    return f"LOG = {str(tmp_path / 'log')!r}{OBEDIENT}{act}{ANSWERS}"


def of_rows(boots: Boots, tmp_path: Path, act: str = "", seconds: float = 60) -> list[dict[str, Any]]:
    """The records of four rows, whose guests do `act` first."""
    target = boots(obedient(tmp_path, act))
    return [json.loads(line) for line in target.run(ROWS_JOB, Deadline.after(seconds))]


def test_each_row_has_a_guest_of_its_own_and_they_come_in_the_order_asked_for(boots: Boots, tmp_path: Path) -> None:
    """Expected: definitions once, then the rows as they were asked for, whichever was done first; none for one that
    cannot be measured; who listens hears each when it is done. Broken: a row in the company of others, or records in
    the order of the host's load."""
    first = "while row == 'a' and not Path(LOG).with_name('seen').exists(): time.sleep(0.01)"
    heard: list[bytes] = []

    def hear(line: bytes) -> None:
        heard.append(line)
        if b'"row":"b"' in line or len(os.sched_getaffinity(0)) < 2:
            (tmp_path / "seen").touch()

    target = boots(obedient(tmp_path, first))
    come = list(target.run(replace(ROWS_JOB, hear=hear), Deadline.after(60)))
    assert [record.get("row", record["type"]) for record in map(json.loads, come)] == ["workload", "c", "a", "b", "d"]
    assert sorted(heard) == sorted(come)
    assert sorted((tmp_path / "log").read_text().split()) == ["*", "a", "b", "d"]
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        ("sys.exit(3)", "never began"),
        ("os.kill(os.getpid(), 11)", "never began"),
        ("bulk('x' * 2_000_000)", "more than 1,048,576 bytes"),
        ("console('Kernel panic - not syncing: Oops\\n'); sys.exit(0)", "kernel panicked: Oops"),
    ],
)
def test_a_row_whose_guest_fails_is_a_failure_and_the_others_go_on(
    boots: Boots, tmp_path: Path, harm: str, words: str
) -> None:
    """Expected: an error record with the cause and the last output, no run of that row. Broken: the session ends, or a
    count of a guest that crashed."""
    found = of_rows(boots, tmp_path, f"if row == 'b':\n    {harm}")
    assert [(record["type"], record["row"]) for record in found[2:]] == [("run", "a"), ("error", "b"), ("run", "d")]
    assert words in found[3]["text"]
    assert left_behind(tmp_path) == []


def test_without_definitions_nothing_is_measured(boots: Boots, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="never began"):
        of_rows(boots, tmp_path, "if 'define' in asked:\n    sys.exit(3)")
    assert left_behind(tmp_path) == []


def test_rows_that_hang_end_with_the_sessions_time(boots: Boots, tmp_path: Path) -> None:
    """Expected: an error, no process. Broken: each row waits for its own five minutes."""
    with pytest.raises(TargetError, match="when its time was up"):
        of_rows(boots, tmp_path, f"if row == 'b':\n    Path({str(tmp_path)!r}, 'pid').write_text(str(os.getpid()))\n"
                "    time.sleep(600)", seconds=3)  # fmt: skip  # a script
    assert not Path(f"/proc/{int((tmp_path / 'pid').read_text())}").exists()
    assert left_behind(tmp_path) == []


def test_a_kernel_that_pays_no_heed_is_asked_row_by_row_all_the_same(boots: Boots, tmp_path: Path) -> None:
    """Expected: definitions once and a run a row. Broken: as many headers as rows."""
    found = of_rows(boots, tmp_path, "said = [WORKLOAD, RUN.replace('syscall/getppid', row)]")
    assert [record["type"] for record in found] == ["workload", "run", "run", "run", "run"]


@pytest.mark.parametrize("by", ["path", "time"])
def test_an_image_that_always_runs_its_own_rows_is_an_error(boots: Boots, by: By) -> None:
    """An init that ignores what it is asked for. Expected: an error that names the first row nobody asked for. Broken:
    its rows are kept, and the session is complete without the one that was asked for."""
    text = f"#kernometer begin 1\n{lines(WORKLOAD, RUN)}#kernometer end 2\n"
    target = replace(boots(f"bulk({text!r}); events()"), accelerator="icount" if by == "path" else "tcg")
    plan = Plan(by, "quick", ("syscall/stat",), ("syscall/stat",), EFFORTS["quick"], 1)
    with pytest.raises(TargetError, match=r"record of syscall/getppid.* another job's results"):
        list(records(target, plan.job(), Deadline.after(60)))


def test_a_guest_that_cannot_be_saved_says_so_and_each_row_boots(
    boots: Boots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: one trial, remembered, and a note with its cause; a dry run makes none, and takes the guest to be
    saved; another init or kernel is tried again. Broken: a fallback that nobody is told of, or that stays when its
    cause is gone."""
    target, log = replace(boots(obedient(tmp_path)), saved=None), tmp_path / "log"
    assert "-incoming" in target.describe(ROWS_JOB)
    assert not log.exists()
    for _ in range(2):
        (note,) = target.place("path").notes
        assert "each row boots a guest" in note
        assert "-incoming" not in target.describe(ROWS_JOB)
    assert len(log.read_text().split()) == 1
    monkeypatch.setattr(booting, "inside", lambda *_: (b"another init", b"probe"))
    assert target.place("path").notes
    assert len(log.read_text().split()) == 2
    changed = msgspec.structs.replace(target.guest.manifest, version="9.9.2-1")
    assert replace(target, guest=replace(target.guest, manifest=changed)).place("path").notes
    assert len(log.read_text().split()) == 3
    assert left_behind(tmp_path) == []


def test_without_a_plugin_there_are_times_alone(boots: Boots, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: by path refused before anything boots; times as ever. Broken: no compiler, no measuring; or counts that
    nothing corrects."""
    monkeypatch.setenv("CC", "no-such-compiler")
    target = replace(boots("bulk(GOOD)"), accelerator="tcg")
    with pytest.raises(MissingError, match="no-such-compiler"):
        target.describe(JOB)
    assert len(list(target.run(BY_TIME, Deadline.after(60)))) == 2
    assert "-plugin" not in target.describe(BY_TIME)


def test_a_guest_that_is_not_here_says_how_to_add_it(boots: Boots) -> None:
    boots("")
    with pytest.raises(MissingError) as caught:
        target_of("qemu:linux-6.1")
    assert "kernometer guest add linux 6.1" in caught.value.next_step
    with pytest.raises(UsageError):
        target_of("qemu:")


def test_boot_and_machine_name_what_equal_counts_need(boots: Boots) -> None:
    """Expected: the kernel's digest and QEMU's version. Broken: another build of 6.1 passes for the same."""
    target = boots("")
    assert target.guest.manifest.kernel_sha256 in target.place("path").image
    assert "7.2.22" in target.place("path").machine


def test_records_that_do_not_decode_are_left_to_the_reader(boots: Boots) -> None:
    """Expected: passed on as they are, no events. Broken: a hostile line ends the boot here with a strange error."""
    bad = '{"type":"workload","rows":7}\n{"type":"run","row":[]}\n'
    text = f"#kernometer begin 1\n{bad}#kernometer end 2\n"
    assert run(boots(f"bulk({text!r}); events()")) == [line.encode() for line in bad.splitlines()]


def test_the_manifest_on_disk_is_what_was_kept(boots: Boots) -> None:
    target = boots("")
    written = (target.guest.folder / "manifest.json").read_bytes()
    assert msgspec.json.decode(written, type=Manifest) == target.guest.manifest
