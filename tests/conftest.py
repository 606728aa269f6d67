"""What all tests share: which slow tests are this commit's, what seeds random inputs, in which process each test runs.

Slow tests are dealt into as many hands as `--slow-share` says, of nearly equal length by their own stated minutes; one
hand is played, by the seed (the UTC day of the commit unless given). So a commit's tests are the same whenever they
run, and the commits of as many consecutive days run every slow test once. Those of a file are in one hand, where they
are not too long for it. The same seed makes the inputs of fuzzers and of hypothesis.

With `-n`, the tests of a file stay together, since they share its fixtures; those that measure this machine do, since
they would disturb each other. What takes longest begins first.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.support.checkout import day_of_commit
from tests.support.rooms import room, table

#: Where fixtures are that tests of several folders share.
pytest_plugins = (
    "tests.support.guests.boots",
    "tests.support.guests.fixtures",
    "tests.support.probe.fixtures",
    "tests.support.targets.console_fixtures",
    "tests.support.targets.fixtures",
    "tests.support.trio.fixtures",
)

#: Files and folders of tests that take times on this machine.
MEASURING = (
    "tests/compiled/cli/test_measure.py",
    "tests/compiled/cli/test_variants.py",
    "tests/compiled/cli/test_disturbed.py",
    "tests/compiled/cli/test_known_slowdown.py",
    "tests/compiled/probe/test_engine.py",
)

#: Files and tests that touch what distributions differ in: apt and packages; compilers and C libraries; QEMU; Python;
#: Trio, compiled and booted as mono and as micro. `make test-elsewhere` runs those that are not slow, and the slow
#: ones that are named; six minutes on two cores.
DISTRIBUTION = (
    "tests/plain/guests/test_apt.py",
    "tests/guest/guests/test_plugin.py",
    "tests/guest/guests/test_memory.py",
    "tests/guest/guests/test_real_guest.py::test_plugin_and_guest_agree_to_the_instruction",
    "tests/guest/guests/test_real_guest.py::test_two_boots_count_the_same",
    "tests/plain/guests/test_suites.py",
    "tests/compiled/guests/test_tcc.py",
    "tests/compiled/guests/test_tcc.py::test_the_probe_is_compiled_there_and_measures",
    "tests/guest/packaging/test_wheel.py::test_an_installed_wheel_compiles_its_probe_and_its_kernel_and_measures",
    "tests/compiled/probe/test_build.py",
    "tests/guest/trio/test_boot.py",
    "tests/compiled/trio/test_build.py",
    "tests/guest/trio/test_checksum.py",
    "tests/guest/trio/test_network.py",
)


#: What a test may take of memory: a guest of 2 GiB, and what is around it.
GUEST_BYTES = 3 << 30

#: Byte code is kept, of the tests too, even where the environment forbids it: without it collection takes three times
#: as long, and each of the many starts of the tool half as long again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kernometer")
    group.addoption(
        "--slow-share",
        type=int,
        default=0,
        metavar="N",
        help="run one Nth of the slow tests; 1: all of them; 0 (default): none",
    )
    group.addoption(
        "--what",
        metavar="FOLDER",
        help="run what concerns this folder of the sources alone: the table of docs/development.md",
    )
    group.addoption(
        "--slow-seed",
        type=int,
        metavar="SEED",
        help="which of the N shares, and the seed of random inputs (default: the UTC day of the commit; 0 without one)",
    )


@pytest.hookimpl(tryfirst=True)  # hypothesis reads its seed in this hook
def pytest_configure(config: pytest.Config) -> None:
    """Chooses the seed. A job in the background ignores Ctrl-C, one under nohup its terminal's end; so would every
    program that a test ends that way."""
    if config.option.slow_seed is None:
        config.option.slow_seed = day_of_commit() or 0
    if config.option.what is not None and config.option.what not in table():
        raise pytest.UsageError(f"--what {config.option.what}: docs/development.md has {', '.join(sorted(table()))}")
    if config.getoption("--hypothesis-seed", None) is None:
        config.option.hypothesis_seed = str(config.option.slow_seed)  # an option that is 0 would not be read
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def commits_seed(pytestconfig: pytest.Config) -> int:
    """Of random inputs: others for each day's commits, the same for one commit."""
    return int(pytestconfig.option.slow_seed)


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.nodeid.startswith(DISTRIBUTION):
        item.add_marker("distribution")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What is not asked for is not imported: that takes half a minute."""
    name = collection_path.relative_to(config.rootpath).as_posix()
    if config.option.what is not None and (inside := room(name)) and inside not in table()[config.option.what]:
        return True
    is_one = any(each.partition("::")[0] == name for each in DISTRIBUTION)
    return True if asks_for_distribution(config) and collection_path.name.startswith("test_") and not is_one else None


def asks_for_distribution(config: pytest.Config) -> bool:
    return str(config.option.markexpr) == "distribution"


@pytest.fixture(autouse=True)
def _no_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """The options that a developer always gives are not what is tested."""
    monkeypatch.setattr("kernometer.cli.config.path", lambda: Path("/nowhere"))


def pytest_report_header(config: pytest.Config) -> str:
    share, seed = config.option.slow_share, config.option.slow_seed
    again = f"seed {seed} (by the commit's day; again: make test KM_TEST_SEED={seed})"
    if share == 0:
        return f"slow tests: none (make test: a share of them; make test-all: all), {again}"
    if share == 1:
        return f"slow tests: all, {again}"
    return f"slow tests: share {seed % share} of {share}, {again}"


def minutes(item: pytest.Item) -> float:
    """How long a slow test says that it takes."""
    marker = item.get_closest_marker("slow")
    assert marker is not None
    return float(marker.kwargs.get("minutes", 1))


def together(weights: dict[str, float], most: float) -> list[list[str]]:
    """The tests of a file, since they share its fixtures; of a function, if the file weighs more than `most`; single
    ones, if the function does too."""
    totals: defaultdict[str, float] = defaultdict(float)
    for name, weight in weights.items():
        for part in {*_parts(name)}:
            totals[part] += weight
    bundles: defaultdict[str, list[str]] = defaultdict(list)
    for name in sorted(weights):
        bundles[next((part for part in _parts(name) if totals[part] <= most), name)].append(name)
    return list(bundles.values())


def _parts(name: str) -> tuple[str, str]:
    """The file and the function of a test."""
    return name.partition("::")[0], name.partition("[")[0]


def deal(weights: dict[str, float], hands: int) -> list[set[str]]:
    """Deals names into hands of nearly equal weight: the heaviest bundle of `together` first, each to the hand that is
    lightest so far."""
    dealt: list[set[str]] = [set() for _ in range(hands)]
    held = [0.0] * hands
    bundles = [
        (sum(weights[name] for name in names), names) for names in together(weights, sum(weights.values()) / hands)
    ]
    for weight, names in sorted(bundles, key=lambda bundle: (-bundle[0], bundle[1])):
        lightest = held.index(min(held))
        dealt[lightest].update(names)
        held[lightest] += weight
    return dealt


def is_named(nodeid: str, arguments: list[str]) -> bool:
    """Whether the command line names this very test, with or without its parameters."""
    return nodeid in arguments or nodeid.partition("[")[0] in arguments


def group(nodeid: str) -> str:
    """Tests of one group run in one process, one after another."""
    return "measuring" if nodeid.startswith(MEASURING) else nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than CPUs, since a fifth of the time is waiting, if there is memory for as many guests."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min((os.cpu_count() or 1) + 1, max(1, memory // GUEST_BYTES))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # it has no types

    class ByGroup(LoadScopeScheduling):  # type: ignore[misc]  # as above
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    config.option.loadscopereorder = False  # the order of collection, see below, is kept
    return ByGroup(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects the slow tests that are not in this share, and puts the groups with most of them first.

    One that is named on the command line is always run.
    """
    share: int = config.option.slow_share
    slow = {item.nodeid: minutes(item) for item in items if item.get_closest_marker("slow") is not None}
    played = deal(slow, share)[config.option.slow_seed % share] if share else set()
    named = [*config.args, *(DISTRIBUTION if asks_for_distribution(config) else ())]
    left_out = {name for name in slow if name not in played and not is_named(name, named)}
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
        items[:] = [item for item in items if item.nodeid not in left_out]
    length: defaultdict[str, float] = defaultdict(float)
    for item in items:
        if item.nodeid in slow:
            length[group(item.nodeid)] += slow[item.nodeid]
    items.sort(key=lambda item: -length[group(item.nodeid)])
