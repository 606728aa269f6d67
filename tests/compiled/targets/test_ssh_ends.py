"""However a session over ssh ends, nothing is left on either side; and the same from the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kernometer.errors import TargetError
from kernometer.results.store import Store
from kernometer.targets.base import Deadline
from kernometer.targets.ssh import SshTarget
from tests.support.cli.real import kernometer
from tests.support.targets.sessions import LONG, ROW, lines
from tests.support.targets.sshd import Server, until

pytestmark = pytest.mark.usefixtures("here")


def children() -> list[int]:
    """Our own ssh processes."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = stat.read_text().split(" (", 1)
        except OSError:
            continue
        name, _, fields = rest.rpartition(") ")
        if name == "ssh" and fields.split()[1] == str(os.getpid()):
            found.append(int(pid))
    return found


def under_way(server: Server) -> bool:
    """Whether a probe and a run of it are alive there."""
    return sum("--seconds" in command and "sh -c" not in command for command in server.processes()) >= 2


@pytest.mark.slow(minutes=0.14)
def test_broken_connection_ends_the_probe_there(server: Server, targets: list[SshTarget]) -> None:
    """Every ssh here is killed. Expected: an error here, no process and no folder there. Broken: a probe that spins."""
    targets.append(SshTarget("box"))
    found = targets[0].run(LONG, Deadline.after(300))
    next(found)
    assert until(lambda: under_way(server))
    assert list(server.tmp.iterdir()) != []
    for pid in children():
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(TargetError, match="stopped in the middle"):
        list(found)
    assert until(server.is_clean)


def test_next_call_after_a_broken_connection_makes_its_own(targets: list[SshTarget]) -> None:
    targets.append(SshTarget("box"))
    targets[0].place("time")
    for pid in children():
        os.kill(pid, signal.SIGKILL)
    assert any(line.startswith(b'{"type":"run"') for line in lines(targets[0]))


def test_closing_early_ends_the_probe_there(server: Server, targets: list[SshTarget]) -> None:
    """Expected: gone when close() returns, while the connection lives on."""
    targets.append(SshTarget("box"))
    found = targets[0].run(LONG, Deadline.after(300))
    next(found)
    assert until(lambda: under_way(server))
    found.close()  # type: ignore[attr-defined]  # a generator, which is what closes
    assert not under_way(server)
    assert list(server.tmp.iterdir()) == []
    assert any(line.startswith(b'{"type":"run"') for line in lines(targets[0]))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_front_end_that_is_stopped_leaves_nothing(
    server: Server, here: Path, tmp_path: Path, number: signal.Signals
) -> None:
    """Expected: 130 for what can be caught, and no process or folder anywhere."""
    words = ("run", "--on", "ssh:box", "--runs", "600", "--seconds", "1", "--half-width", "0", "--samples", "4096", ROW)
    process = subprocess.Popen(
        [sys.executable, "-m", "kernometer", "--store", str(tmp_path), *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert until(lambda: under_way(server) or process.poll() is not None, 300)
        assert process.poll() is None
        process.send_signal(number)
        status = process.wait(60)
    finally:
        process.kill()
        process.wait()
    assert status == (-9 if number == signal.SIGKILL else 130)
    assert until(server.is_clean)
    sockets = [path for path in here.rglob("*") if path.is_socket()]
    assert until(lambda: not any(path.exists() for path in sockets))
    assert until(lambda: not list(here.iterdir()))


# The command line ------------------------------------------------------------------------------------------------


@pytest.mark.slow(minutes=0.07)
def test_ab_of_two_hosts_alternates(tmp_path: Path) -> None:
    """One machine under one name on both sides. Expected: two runs a side, block by block, and times in between."""
    kernometer(tmp_path, "ab", "ssh:box", "ssh:box", "--blocks", "2", "--seconds", "0.005", ROW)
    results = [Store(tmp_path).load(name) for name in ("@last", "@1")]
    assert [[run.block for run in result.runs] for result in results] == [[0, 1], [0, 1]]
    assert {result.session.machine for result in results} == {f"host box: {os.uname().machine}"}
    assert {result.session.target for result in results} == {"ssh:box"}


def test_two_hosts_are_two_machines_before_any_connection(tmp_path: Path, server: Server) -> None:
    """Expected: said at once. Broken: after a probe was compiled there, which took 38 s on one host."""
    before = server.log
    done = kernometer(tmp_path, "ab", "local", "ssh:box", ROW, status=2)
    assert "A (local): this host itself; B (ssh:box): host box)" in " ".join(done.stderr.split())
    assert server.log == before


def test_facts_of_both_hosts_are_known(tmp_path: Path) -> None:
    """Expected: the other host is this one, so nothing differs. Broken: 28 facts of which one is not known."""
    words = ("local", "ssh:box", "--blocks", "2", "--seconds", "0.005", "--different-machines")
    done = kernometer(tmp_path, "ab", *words, "syscall/getppid@")
    assert "not known" not in done.stdout
    there, here = (Store(tmp_path).load(name).session.host for name in ("@last", "@1"))
    assert {**there["facts"], "load": ""} == {**here["facts"], "load": ""}


def test_error_of_the_command_line_is_status_3(tmp_path: Path) -> None:
    done = kernometer(tmp_path, "run", "--on", "ssh:nobody@nowhere.invalid", ROW, status=3)
    assert "resolve hostname" in done.stderr
    assert "next: " in done.stderr


def test_dry_run_connects_to_nobody(tmp_path: Path, server: Server) -> None:
    before = server.log
    done = kernometer(tmp_path, "run", "--on", "ssh:box", "--dry-run", ROW)
    assert done.stdout.startswith("ssh -T -x -o BatchMode=yes")
    assert ROW in done.stdout
    assert server.log == before
