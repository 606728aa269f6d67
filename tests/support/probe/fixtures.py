"""The probe as a developer builds it, and a run of it under way."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernometer.targets import build
from tests.support.checkout import alone
from tests.support.probe.running import BATCHED, LONG, WAITED, Running, built, children, quickly_built, switches, until


@pytest.fixture(scope="session")
def probe() -> Path:
    """Linked dynamically: some tests stand between it and libc."""
    return built("gcc", "-O2 -Werror")


@pytest.fixture(scope="session")
def frontends_probe() -> Path:
    """The folder of the front end's probe of this host, compiled once for all caches that `give_probe` gives it."""
    with alone("probe"):
        return build.probe().parent


@pytest.fixture(scope="session")
def plain_probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The probe for a kernel that does not end a child with its parent."""
    return quickly_built(tmp_path_factory.mktemp("plain-probe"), "-DHAVE_PDEATHSIG=0")


@pytest.fixture
def start(probe: Path, tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Starts a long run of a row and waits until it measures, and has `peers` processes.

    Its switches show that: a child that lives for a millisecond is gone before a search of /proc comes to it.
    """
    started: list[subprocess.Popen[str]] = []

    def begin(row: str, peers: int = 0, program: Path | None = None) -> Running:
        batch = ("--batch", "20") if row.startswith("proc/") else BATCHED
        driver = subprocess.Popen(
            [program or probe, "--dir", tmp_path, *LONG, *batch, row],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip  # as a command line
        started.append(driver)
        run = until(lambda: children(driver.pid), "no run began")[0]
        until(lambda: switches(run) > WAITED, "the run waits for nobody")
        if peers == 0:
            return Running(driver, run, [])
        seen = until(lambda: found if len(found := children(run)) >= peers else None, "the processes did not start")
        return Running(driver, run, seen)

    yield begin
    for driver in started:
        if driver.poll() is None:
            driver.kill()
            driver.communicate()
