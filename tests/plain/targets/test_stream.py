"""Whatever a target prints, however it ends: records, or an error with its last output; never a wait without end."""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernometer.errors import MissingError, TargetError
from kernometer.targets.base import Deadline
from kernometer.targets.stream import Splitter, between_markers, running

LINE = b'{"type":"end","complete":true}'
#: Seconds; far beyond what is needed, so that only a wait without end reaches it.
FAR = 60.0


def said_by(code: str, *, seconds: float = FAR, silence: float = FAR, max_bytes: int = 1 << 20) -> Iterator[bytes]:
    """The lines of a Python program."""
    with running([sys.executable, "-c", code]) as child:
        yield from child.lines(Deadline.after(seconds), max_bytes, "it", silence)


def test_lines_come_whole_whatever_the_pieces_and_the_line_ends() -> None:
    code = "import sys,time\nfor c in 'a\\r\\nb\\n\\nc': sys.stdout.write(c); sys.stdout.flush()"
    assert list(said_by(code)) == [b"a", b"b", b"", b"c"]


def test_records_between_markers_survive_a_console_full_of_other_lines() -> None:
    lines = [b"[ 0.1] boot", b"#kernometer begin 1", LINE, b"[ 0.2] oops", LINE, b"#kernometer end 2", b"bye"]
    assert list(between_markers(iter(lines), "it")) == [LINE, LINE]


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ([b"garbage", b"more"], "never began"),
        ([b"#kernometer begin 1", LINE], "stopped in the middle"),
        ([b"#kernometer begin 1", LINE, b"#kernometer end 2"], "2 records were sent and 1 arrived"),
        ([b"#kernometer begin 1", b"no folder; more is needed", b"#kernometer end 0"], "could not begin"),
        ([], "never began"),
    ],
)
def test_output_that_is_not_whole_is_an_error_with_the_last_lines(lines: list[bytes], text: str) -> None:
    with pytest.raises(TargetError, match=text) as caught:
        list(between_markers(iter(lines), "it"))
    assert ("more" in caught.value.last_output) == any(b"more" in line for line in lines)


def test_silent_process_is_given_up_and_killed() -> None:
    """Expected: an error at the deadline, and no process. Broken: a hang."""
    with pytest.raises(TargetError, match="no sign of life"):
        list(said_by("import time\nprint('x', flush=True)\ntime.sleep(600)", seconds=1.0))


def test_process_that_falls_silent_is_given_up_long_before_its_time() -> None:
    """Expected: an error after the limit of silence, though it says things on its error stream. Broken: an hour."""
    code = (
        "import sys,time\nprint('x', flush=True)\nwhile True: print('y', file=sys.stderr, flush=True); time.sleep(0.1)"
    )
    with pytest.raises(TargetError, match="no sign of life for 1 s") as caught:
        list(said_by(code, silence=1.0))
    assert "y\ny" in caught.value.last_output


def test_what_is_waiting_to_be_read_is_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """We were stopped (Ctrl-Z) for longer than the limit. Expected: what came meanwhile is read. Broken: given up."""
    with running([sys.executable, "-c", "print('a'); print('b')"]) as child:
        time.sleep(1)
        monkeypatch.setattr(Deadline, "left", lambda _self: 0.0)
        monkeypatch.setattr(Deadline, "passed", property(lambda self: self.at < 0))
        assert list(child.lines(Deadline.after(FAR), 1 << 20, "it", 0.1)) == [b"a", b"b"]


def test_markers_stand_at_the_end_of_a_line_that_another_program_began() -> None:
    """Expected: the records. Broken: a word without a newline ("Starting…") before the marker loses all output."""
    lines = [b"Starting#kernometer begin 1", LINE, b"#kernometer end 1"]
    assert list(between_markers(iter(lines), "it")) == [LINE]


def test_a_killed_front_end_takes_the_whole_group_and_its_folder_along(tmp_path: Path) -> None:
    """A wrapper's child, and SIGKILL. Expected: none is left, nor the folder. Broken: the target lives on, unseen."""
    (tmp_path / "scratch").mkdir()
    code = (
        "import sys\nfrom pathlib import Path\nfrom kernometer.targets.base import Deadline\n"
        "from kernometer.targets.stream import running\n"
        "with running(['sh', '-c', 'sleep 600 & echo $!; wait'], scratch=Path(sys.argv[1])) as child:\n"
        "    for line in child.lines(Deadline.after(600), 1000, 'it'): print(line.decode(), flush=True)"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "scratch")]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as front:
        assert front.stdout is not None
        pid = int(front.stdout.readline())
        assert alive(pid)
        front.kill()
    until = Deadline.after(FAR)
    while alive(pid) or (tmp_path / "scratch").exists():
        assert not until.passed
        time.sleep(0.05)


def test_process_that_prints_without_end_is_stopped() -> None:
    with pytest.raises(TargetError, match="printed more than"):
        list(said_by("while True: print('x' * 1000)", max_bytes=100_000))


def test_line_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernometer.targets.stream.LINE_BYTES", 1 << 20)
    with pytest.raises(TargetError, match=r"printed more than|without end"):
        list(said_by("import sys\nwhile True: sys.stdout.write('x' * 65536)", max_bytes=1 << 30))


def test_a_long_line_is_not_copied_for_each_piece_of_it() -> None:
    """Expected: a piece takes memory of its own size. Broken: all of the line that has come is copied at each piece, so
    a line of 16 MiB takes gigabytes of copying."""
    splitter, piece = Splitter("it", 64 << 20), b"x" * (1 << 16)
    tracemalloc.start()
    try:
        for _ in range(64):
            assert not list(splitter.feed(piece))
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        list(splitter.feed(piece))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most - before < 32 * len(piece)
    assert [len(line) for line in splitter.feed(b"\r\nnext")] == [65 * len(piece)]
    assert (splitter.rest(), splitter.rest(b"xt"), splitter.rest(b"$ ")) == ((b"next",), (b"ne",), ())


def test_escapes_in_the_last_output_are_shown_and_not_obeyed() -> None:
    with pytest.raises(TargetError) as caught:
        list(between_markers(said_by("print('\\x1b[31mred\\x07')"), "it"))
    assert "\x1b" not in caught.value.last_output
    assert "\\x1b[31mred" in caught.value.last_output


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def test_whole_process_group_is_gone_when_the_iterator_is_closed() -> None:
    """A wrapper's child that ignores SIGTERM. Expected: none is left. Broken: orphans that spin."""
    child = "import signal,time\nsignal.signal(15, signal.SIG_IGN)\ntime.sleep(600)"
    code = (
        "import subprocess,sys,time\n"
        f"p = subprocess.Popen([sys.executable, '-c', {child!r}])\nprint(p.pid, flush=True)\ntime.sleep(600)"
    )
    lines = said_by(code)
    pid = int(next(lines))
    assert alive(pid)
    lines.close()  # type: ignore[attr-defined]  # a generator, which is what closes
    limit = time.monotonic() + FAR
    while alive(pid) and time.monotonic() < limit:
        time.sleep(0.01)
    assert not alive(pid)


def test_command_that_is_not_there_says_so() -> None:
    with pytest.raises(MissingError, match="There is no no-such-program"), running(["no-such-program"]):
        pass


def test_command_that_may_not_be_executed_says_so(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_text("not a program")
    with pytest.raises(TargetError, match="cannot be executed") as error, running([str(file)]):
        pass
    assert "executable by you" in error.value.next_step


def test_stdin_is_empty_so_that_nothing_waits_for_a_person() -> None:
    assert list(said_by("import sys\nprint(repr(sys.stdin.read()))")) == [b"''"]
