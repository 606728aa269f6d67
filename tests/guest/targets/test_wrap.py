"""`wrap:` with two real kernels: the wrappers of studies/uml-and-gvisor/, by themselves and as targets."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kernometer.errors import TargetError
from kernometer.targets.base import Deadline, Job
from kernometer.targets.local import LocalTarget, from_spec
from tests.support.turns import in_turn

FOLDER = Path(__file__).parents[3] / "studies" / "uml-and-gvisor"
WRAPPERS = ("uml", "gvisor")
PACKAGE = {"uml": "user-mode-linux", "gvisor": "runsc"}
VARIABLE = {"uml": "UML", "gvisor": "RUNSC"}
#: Beyond any machine: a start takes one to three seconds.
SECONDS = 120
ROWS = ("syscall/getppid", "ctx/pipe-pair", "proc/fork-exit", "fs/read", "mem/fault-cow")
#: What a container says that lets nobody trace or make namespaces, and the wrapper of a processor that UML cannot use.
FORBIDDEN = re.compile(r"(?i)operation not permitted|permission denied|more registers than this kernel saves")


def environment(folder: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder), **more}


def started(words: tuple[str, ...], env: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


def called(name: str | Path, *words: str, env: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    """A wrapper's own call, to its end."""
    command = (str(FOLDER / name), *words)
    return subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)


@pytest.fixture(scope="module", params=WRAPPERS)
def wrapper(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a wrapper whose kernel is here and may run here."""
    name: str = request.param
    done = called(name, "true", env=environment(tmp_path_factory.mktemp("first")))
    said = done.stderr + done.stdout
    if done.returncode == 127:
        pytest.skip(f"{PACKAGE[name]} is not installed")
    if done.returncode != 0 and FORBIDDEN.search(said.decode()):
        pytest.skip(f"this host does not let {name} run: {said.decode().strip()[-300:]}")
    assert (done.returncode, said) == (0, b"")
    return name


def processes() -> dict[int, tuple[int, str]]:
    """Process number to (its parent, its state and the time that it started)."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        found[int(folder.name)] = (int(fields[1]), fields[0] + fields[19])
    return found


def below(top: int) -> dict[int, str]:
    """`top` and all processes that it and its children started, with the time that each started."""
    every = processes()
    known = {top}
    while more := {number for number, (parent, _) in every.items() if parent in known} - known:
        known |= more
    return {number: every[number][1][1:] for number in known if number in every}


def left_of(those: dict[int, str]) -> dict[int, str]:
    """Which of them are still there; one that is dead and waits to be asked for is not."""
    now = {number: seen for number, (_, seen) in processes().items() if not seen.startswith("Z")}
    return {number: born for number, born in those.items() if now.get(number, "")[1:] == born}


def command_line(number: int) -> bytes:
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return b""


@contextmanager
def nothing_left(folder: Path, those: dict[int, str]) -> Iterator[None]:
    """After the block: no file in `folder`, no mount there, none of the processes (they have a moment to go), and none
    that was started since and names the folder."""
    yield
    until = Deadline.after(20)
    while left_of(those) and not until.passed:
        time.sleep(0.05)
    assert left_of(those) == {}
    assert [number for number in processes() if os.fsencode(folder) in command_line(number)] == []
    assert list(folder.iterdir()) == []
    assert str(folder) not in Path("/proc/self/mounts").read_text()


def records(lines: Iterator[bytes]) -> dict[str, list[dict[str, Any]]]:
    """By type."""
    types = ("run", "calibration", "count", "error", "unsupported", "header", "workload")
    found: dict[str, list[dict[str, Any]]] = {each: [] for each in types}
    for line in lines:
        record = json.loads(line)
        found[record["type"]].append(record)
    return found


@pytest.mark.guest
@pytest.mark.slow(minutes=0.12)
def test_rows_are_measured_under_the_other_kernel(
    wrapper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: the other kernel's release, a run of every row whose work was verified, and nothing left behind.
    Broken: a probe that was started beside the kernel, or output that the kernel's own words got into."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    job = Job(("--runs", "1", "--seconds", "0.005", *ROWS))
    with nothing_left(tmp_path, {}):
        found = records(from_spec(f"wrap:{FOLDER / wrapper}").run(job, Deadline.after(SECONDS)))
    assert found["error"] == []
    release = found["header"][0]["uname"]["release"]
    assert release != platform.release()
    if wrapper == "uml":
        version = subprocess.run(["linux.uml", "--version"], capture_output=True, text=True, timeout=60, check=True)
        assert release == version.stdout.strip()
        assert "there is one CPU only" in {each["reason"] for each in found["unsupported"]}
    assert {run["workload"] for run in found["run"]} == set(ROWS)


@pytest.mark.guest
def test_words_folder_environment_and_status_are_passed_on(wrapper: str, tmp_path: Path) -> None:
    """Expected: every byte. Broken: a word that a shell in between took apart, which names other rows."""
    words = ("a b", "*", "@", "it's", '"', "", "two\nlines\n", r"\n", "$HOME", "`id`", "\\", "--", "-x", "ö")
    script = r'printf "%s\0" "$@" "$PWD" "$WORD"; test -w "$TMPDIR"; echo said >&2; exit $((7 + $?))'
    env = environment(tmp_path, WORD="a 'b'\nc")
    with nothing_left(tmp_path, {}):
        done = called(wrapper, "sh", "-c", script, "sh", *words, env=env)
    out, _, rest = done.stdout.rpartition(b"\0")
    assert out.decode().split("\0") == [*words, str(Path.cwd()), env["WORD"]]
    assert rest + done.stderr == b"said\n"
    assert done.returncode == 7


@pytest.mark.guest
def test_a_temporary_folder_below_dev_is_no_obstacle(wrapper: str) -> None:
    """A guest has a /dev of its own. Expected: another folder. Broken: a kernel that finds no init, or no room."""
    made = Path(tempfile.mkdtemp(dir="/dev/shm"))
    try:
        done = called(wrapper, "sh", "-c", 'test -w "$TMPDIR"', env=environment(made))
        assert done.returncode == 0, done.stderr
        assert list(made.iterdir()) == []
    finally:
        shutil.rmtree(made)


@pytest.mark.guest
def test_output_that_nobody_takes_for_a_while_arrives_whole(wrapper: str, tmp_path: Path) -> None:
    """Expected: every line, though no pipe holds them. Broken: a console that drops what does not fit."""
    with started((str(FOLDER / wrapper), "seq", "100000"), environment(tmp_path)) as process:
        time.sleep(1.5)
        out, said = process.communicate(timeout=SECONDS)
    assert said == b""
    assert out.split() == [b"%d" % number for number in range(1, 100001)]


@pytest.mark.guest
@pytest.mark.parametrize(
    "number", in_turn([signal.SIGTERM, signal.SIGINT, signal.SIGHUP], 0.04, always=[signal.SIGTERM])
)
def test_a_wrapper_that_is_stopped_leaves_nothing(wrapper: str, number: signal.Signals, tmp_path: Path) -> None:
    """Expected: no process, file or mount. Broken: a kernel that runs on, and takes time from what is measured next."""
    command = (str(FOLDER / wrapper), "sh", "-c", "echo started; sleep 1000")
    with started(command, environment(tmp_path)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        every = below(process.pid)
        assert len(every) > 2
        with nothing_left(tmp_path, every):
            process.send_signal(number)
            assert process.wait(SECONDS) == 128 + number


@pytest.mark.guest
def test_a_program_that_hangs_is_an_error_and_nothing_is_left(
    wrapper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: TargetError when the time is up. Broken: a session that waits for ever."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    target = LocalTarget("wrap:it", path=Path("/bin/sleep"), prefix=(str(FOLDER / wrapper),))
    with nothing_left(tmp_path, {}), pytest.raises(TargetError, match="no sign of life"):
        list(target.run(Job(("1000",)), Deadline.after(2.5)))


@pytest.mark.guest
def test_a_session_that_is_let_go_early_leaves_nothing(
    wrapper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: kernel and all are gone with the iterator, as after Ctrl-C. Broken: helpers in a group of their own."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    words = ("--continue", "--only", "time", "--batch", "1", "--runs", "1000", "--seconds", "0.01")
    job = Job((*words, "proc/fork-exit"))
    before = below(os.getpid())  # with what other tests have running for all of them, such as an ssh server
    lines = from_spec(f"wrap:{FOLDER / wrapper}").run(job, Deadline.after(SECONDS))
    assert any(b'"run"' in line for line in lines)
    started = {number: born for number, born in below(os.getpid()).items() if before.get(number) != born}
    assert len(started) > 2
    with nothing_left(tmp_path, started):
        lines.close()  # type: ignore[attr-defined]  # it is a generator, which Target need not say


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_kernel_that_is_not_installed_is_said_in_one_line(name: str, tmp_path: Path) -> None:
    done = called(name, "true", env=environment(tmp_path, **{VARIABLE[name]: "/nowhere/kernel"}))
    assert done.returncode == 127
    assert done.stdout == b""
    said = done.stderr.decode()
    assert said.startswith(f"{name}: there is no /nowhere/kernel here: apt-get install {PACKAGE[name]}")
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_a_kernel_that_ends_early_is_an_error_with_its_words(tmp_path: Path) -> None:
    """Expected: 125, never the status of a program that did not run. Broken: a session without rows that is fine."""
    kernel = script(tmp_path / "kernel", 'echo "no memory" >&3')
    (tmp_path / "t").mkdir()
    done = called("uml", "true", env=environment(tmp_path / "t", UML=kernel))
    assert done.returncode == 125
    assert done.stderr == b"no memory\numl: the kernel ended before the program did\n"
    assert list((tmp_path / "t").iterdir()) == []


def test_a_processor_with_more_registers_than_the_kernel_knows_is_named(tmp_path: Path) -> None:
    """User-mode Linux 6.1 on a processor with AMX. Expected: 125, the reason and what to do. Broken: a stack trace."""
    kernel = script(tmp_path / "kernel", 'echo " [<6004b1ca>] ? put_fp_registers+0x10/0x12" >&3')
    (tmp_path / "t").mkdir()
    done = called("uml", "true", env=environment(tmp_path / "t", UML=kernel))
    assert done.returncode == 125
    assert done.stderr.startswith(b"uml: this processor has more registers than this kernel saves (AMX): ")


def test_gvisor_is_given_a_file_that_is_never_full(tmp_path: Path) -> None:
    """gVisor may tell a program whose pipe is full EAGAIN, and has a position of its own for each descriptor. Expected:
    a regular file opened for appending. Broken: under load `seq` ends with "write error", and its last lines lack."""
    flags = "sed -n 's/^flags:.*\\(.\\)...$/\\1/p' /proc/self/fdinfo"
    runsc = script(tmp_path / "runsc", f"[ -f /proc/self/fd/1 ] && echo regular; {flags}/1 /proc/self/fdinfo/2")
    (tmp_path / "t").mkdir()
    done = called("gvisor", "true", env=environment(tmp_path / "t", RUNSC=runsc))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"regular\n2\n2\n", b"")


#: A kernel's program that puts itself into a session of its own, as UML does, with a process that it does not end.
SESSION = '[ -n "$OWN" ] || OWN=1 exec setsid "$0" "$@"; sleep 1000 & echo >&2 here'


@pytest.mark.parametrize(
    "text",
    [f"trap '' TERM; {SESSION}; wait; wait; sleep 1000", f"trap 'exit 1' TERM; {SESSION}; wait; wait"],
    ids=["stays", "leaves a process behind"],
)
def test_a_kernel_that_does_not_end_properly_is_killed(text: str, tmp_path: Path) -> None:
    """Expected: nothing left of it. Broken: a wait for it without a limit, or UML's newest process, stopped for ever:
    UML does that where SIGTERM comes while it makes one."""
    kernel = script(tmp_path / "kernel", text)
    folder = tmp_path / "t"
    folder.mkdir()
    with started((str(FOLDER / "uml"), "true"), environment(folder, UML=kernel)) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == b"here\n"
        every = below(process.pid)
        assert len(every) > 2  # the wrapper, the kernel, the kernel's, and perhaps a sleep between two looks
        with nothing_left(folder, every):
            process.terminate()
            assert process.wait(SECONDS) == 128 + signal.SIGTERM


def test_a_sandbox_that_does_not_end_is_killed(tmp_path: Path) -> None:
    """Expected: gone, and the reader of its output, too. Broken: a wait for it without a limit."""
    runsc = script(tmp_path / "runsc", "trap '' TERM; echo here; exec sleep 1000")
    folder = tmp_path / "t"
    folder.mkdir()
    with started((str(FOLDER / "gvisor"), "true"), environment(folder, RUNSC=runsc)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        with nothing_left(folder, below(process.pid)):
            process.terminate()
            assert process.wait(SECONDS) == 128 + signal.SIGTERM


def test_a_kernel_ends_with_a_wrapper_that_was_killed(tmp_path: Path) -> None:
    """Expected: the kernel is told. Broken: a guest that runs on, for nobody, until its program ends."""
    kernel = script(tmp_path / "kernel", "trap 'echo >&2 told; exit 0' TERM; echo >&2 here; sleep 1000 & wait")
    folder = tmp_path / "t"
    folder.mkdir()
    with started((str(FOLDER / "uml"), "true"), environment(folder, UML=kernel)) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == b"here\n"
        every = below(process.pid)
        process.kill()
        assert process.stderr.readline() == b"told\n"
        os.killpg(process.pid, signal.SIGKILL)
        shutil.rmtree(folder)
        folder.mkdir()
        with nothing_left(folder, every):
            pass


def test_a_kernel_that_never_starts_is_given_up(tmp_path: Path) -> None:
    """Expected: the wrapper's own limit. Broken: the session's, which may be an hour."""
    impatient = tmp_path / "uml"
    impatient.write_text((FOLDER / "uml").read_text().replace("boot_seconds=60", "boot_seconds=1"))
    shutil.copymode(FOLDER / "uml", impatient)
    kernel = script(tmp_path / "kernel", "exec sleep 1000")
    folder = tmp_path / "t"
    folder.mkdir()
    done = called(impatient, "true", env=environment(folder, UML=kernel))
    assert done.returncode == 125
    assert done.stderr == b"uml: the kernel did not start in 1 s\n"
    assert list(folder.iterdir()) == []
