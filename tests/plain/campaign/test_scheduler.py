"""A campaign by a real scheduler of dask and three workers: gathered, done again where one is lost, none twice."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kernometer.errors import ResultError, TargetError
from kernometer.results.store import Store

#: Beyond any machine.
SECONDS = 300
ROW = "syscall/getppid@"
#: Writes when it begins and ends, and takes a while between: so cells that overlap are seen.
SLOW = """#!/bin/sh
case "$*" in *--list*) exec "$@";; esac
echo "begin $$ $KM_WORKER" >>{log}
sleep {seconds}
"$@"
status=$?
echo "end $$ $KM_WORKER" >>{log}
exit $status
"""


@dataclass
class Farm:
    """A scheduler and its workers, each a process of its own."""

    folder: Path
    address: str
    scheduler: subprocess.Popen[bytes]
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def target(self, seconds: float = 1.0) -> str:
        program = self.folder / f"slow-{seconds}"
        program.write_text(SLOW.format(log=self.log, seconds=seconds))
        program.chmod(0o755)
        return f"wrap:{program}"

    def said(self) -> list[list[str]]:
        return [line.split() for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def began(self) -> str:
        """The name of the worker that measures now, once one does."""
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            ended = {process for what, process, _ in self.said() if what == "end"}
            running = [worker for what, process, worker in self.said() if what == "begin" and process not in ended]
            if running:
                return running[-1]
            time.sleep(0.1)
        raise AssertionError("no cell began")


@contextmanager
def process(*words: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process with its own group, which ends with the block."""
    with subprocess.Popen(
        [sys.executable, "-m", *words],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as made:
        try:
            yield made
        finally:
            for group in (signal.SIGCONT, signal.SIGKILL):
                try:
                    os.killpg(made.pid, group)
                except ProcessLookupError:
                    break


@pytest.fixture
def farm(tmp_path: Path) -> Iterator[Farm]:
    """Three workers of one machine with one thread each; a worker that is silent for ten seconds is lost."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with ExitStack() as held:
        settings = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "10s"}
        words = ("--host", "127.0.0.1", "--no-dashboard")
        scheduler = held.enter_context(
            process("distributed.cli.dask_scheduler", "--port", str(port), *words, **settings)
        )
        made = Farm(tmp_path, f"tcp://127.0.0.1:{port}", scheduler)
        for name in ("a", "b", "c"):
            folder = ("--local-directory", str(tmp_path / name), "--name", name)
            options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", *folder)
            made.workers[name] = held.enter_context(
                process("distributed.cli.dask_worker", made.address, *options, KM_WORKER=name)
            )
        from distributed import Client

        with Client(made.address, timeout=SECONDS) as client:
            client.wait_for_workers(3, timeout=SECONDS)
        yield made


def started(farm: Farm, *words: str) -> subprocess.Popen[str]:
    given = ("--store", str(farm.folder / "store"), "matrix", "--by", "time", "--workloads", ROW, "--label", "k")
    return subprocess.Popen(
        [sys.executable, "-m", "kernometer", *given, "--scheduler", farm.address, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(command: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = command.communicate(timeout=SECONDS)
    return command.returncode, out, err


def sessions(farm: Farm) -> list[str]:
    return sorted(one.target for one in Store(farm.folder / "store").summaries(label="k"))


@pytest.mark.slow(minutes=0.23)
def test_three_workers_of_one_machine_take_turns(farm: Farm) -> None:
    """Expected: four sessions, gathered here, and never two at once. Broken: a machine with three workers has three
    rows at once."""
    on = (farm.target(0.5), farm.target(0.6))
    status, out, err = ended(started(farm, "--boots", "2", "--on", ",".join(on), "--json"))
    assert (status, sessions(farm)) == (0, sorted(on * 2)), err
    assert [what for what, _, _ in farm.said()] == ["begin", "end"] * 4
    assert [len(one["sessions"]) for one in json.loads(out)["systems"]] == [2, 2]


@pytest.mark.slow(minutes=0.5)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "cut off"])
def test_a_lost_workers_cell_is_measured_by_another_one_and_counted_once(farm: Farm, how: signal.Signals) -> None:
    """Expected: two sessions of two cells, though one began twice. Broken: the campaign waits for the lost worker, has
    no session of its cell, or two once the worker goes on."""
    on = (farm.target(5), farm.target(5.1))
    command = started(farm, "--boots", "1", "--on", ",".join(on))
    lost = farm.began()
    os.kill(farm.workers[lost].pid, how)
    if how == signal.SIGSTOP:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until and len({worker for _, _, worker in farm.said()}) < 2:
            time.sleep(0.1)
        os.kill(farm.workers[lost].pid, signal.SIGCONT)
    status, _, err = ended(command)
    assert (status, sessions(farm)) == (0, sorted(on)), err
    began = [worker for what, _, worker in farm.said() if what == "begin"]
    assert len(began) >= 3, (farm.said(), err)  # more where a busy machine's worker was silent for too long, too
    assert set(began) > {lost}


@pytest.mark.slow(minutes=0.15)
def test_a_cell_that_fails_is_reported_and_stops_nothing(farm: Farm) -> None:
    """Expected: status 1, the other's sessions, the reason. Broken: one wrong target ends the campaign."""
    bad = farm.folder / "bad"
    bad.write_text("#!/bin/sh\necho it broke >&2\nexit 9\n")
    bad.chmod(0o755)
    on = (farm.target(0.5), farm.target(0.6), f"wrap:{bad}")
    status, _, err = ended(started(farm, "--boots", "1", "--on", ",".join(on)))
    assert (status, sessions(farm)) == (1, sorted(on[:2]))
    assert f"wrap:{bad} on " in err and "it broke" in err


@pytest.mark.slow(minutes=0.09)
def test_ctrl_c_ends_the_cells_of_the_workers_too(farm: Farm) -> None:
    """Expected: status 130, and what was being measured ends long before its time."""
    command = started(farm, "--boots", "1", "--on", f"{farm.target(200)},{farm.target(201)}")
    farm.began()
    command.send_signal(signal.SIGINT)
    status, _, err = ended(command)
    assert status == 130, err
    until = time.monotonic() + 60
    while time.monotonic() < until and subprocess.run(["pgrep", "-f", "sleep 20[01]"], check=False).returncode == 0:
        time.sleep(0.2)
    assert time.monotonic() < until


@pytest.mark.slow(minutes=0.7)
def test_a_scheduler_that_dies_ends_the_campaign_with_what_came(farm: Farm) -> None:
    """Expected: status 3, a sentence, and the session that was there. Broken: a traceback, or waiting without end."""
    command = started(farm, "--boots", "1", "--on", ",".join(map(farm.target, (15, 15.1, 15.2))))  # in a drawn order
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and not sessions(farm):
        time.sleep(0.2)
    farm.scheduler.kill()
    farm.scheduler.wait()
    there = sessions(farm)
    status, _, err = ended(command)
    assert status == 3 and "was lost" in err, err
    assert len(there) == 1 and sessions(farm) == there


@pytest.mark.slow(minutes=0.22)
def test_a_campaign_goes_on_with_the_rounds_that_lack(farm: Farm) -> None:
    """Expected: one session more of each. Broken: the rounds that were stored are measured again, or none is."""
    on = (farm.target(0.5), farm.target(0.6))
    assert ended(started(farm, "--boots", "1", "--on", ",".join(on)))[0] == 0
    status, _, err = ended(started(farm, "--boots", "2", "--on", ",".join(on), "--resume"))
    assert (status, sessions(farm)) == (0, sorted(on * 2)), err
    assert len(farm.said()) == 8


def test_a_scheduler_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kernometer.campaign import scheduler

    monkeypatch.setattr(scheduler, "CONNECT_SECONDS", 1.0)
    address, store = "tcp://127.0.0.1:1", Store(tmp_path)
    with (
        pytest.raises(TargetError, match=r"tcp://127\.0\.0\.1:1 cannot be reached"),
        scheduler.workers_of(address, "path", store, "k", lambda _: None),
    ):
        pass


def test_a_session_from_elsewhere_is_stored_once(tmp_path: Path) -> None:
    """Expected: the same file again is no second one; another content, or a name that leads elsewhere, is refused."""
    store, name = Store(tmp_path / "store"), "20260101T000000Z-abcdef.ndjson"
    for _ in range(2):
        assert store.take(name, b"one") == store.folder / name
    with pytest.raises(ResultError, match="another result"):
        store.take(name, b"two")
    with pytest.raises(ResultError, match="not the name"):
        store.take("../20260101T000000Z-abcdef.ndjson", b"one")
    assert {path.name: path.read_bytes() for path in store.folder.iterdir()} == {name: b"one"}
