"""Trio's memory on the host: frames, page tables and the memory service against models, without a machine."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.trio.host_programs import compiled_interfaces

ROOT = Path(__file__).parents[3]
HERE = ROOT / "tests/compiled/trio/memory"
PROGRAMS = ("model", "cases", "paged", "frames_random")
# A host has no room where the kernel maps memory.
DIRECT_MAP = "0x100000000000UL"

Run = Callable[..., None]


@pytest.fixture(
    scope="module",
    params=[pytest.param("", marks=pytest.mark.slow(minutes=0.02)), "-DSHARE_PAGES=3"],
    ids=["", "small shares"],
)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs one of PROGRAMS with arguments; it says what does not hold and fails. With small shares nearly every call
    gives way."""
    out = tmp_path_factory.mktemp("memory")
    trio = ROOT / "trio"
    outside = ("kernel/x86/spaces.c", "kernel/core/frames.c", "seam/text.c")
    parts = [*sorted((trio / "services/vm").glob("*.c")), *(trio / each for each in outside)]
    # tests/compiled/trio/memory comes first: its x86/cpu.h stands for the processor
    generated = compiled_interfaces(out)
    folders = [HERE, trio / "services/vm", trio / "seam", trio / "interfaces", trio / "kernel", generated]
    command: list[str | Path] = [
        "gcc",
        "-std=gnu11",
        "-O1",
        "-g",
        "-Wall",
        "-Wextra",
        "-Wno-unused-parameter",
        "-Werror",
        "-fsanitize=undefined",
    ]
    command += ["-fno-sanitize-recover", "-DTRIO_CHECKED", "-DTRIO_NO_COUNTERS", f"-DDIRECT_MAP={DIRECT_MAP}"]
    command += request.param.split()
    command += [f"-I{each}" for each in folders]
    subprocess.run([*command, "-c", HERE / "host.c", *parts], check=True, cwd=out)
    for name in PROGRAMS:
        subprocess.run([*command, HERE / f"{name}.c", *sorted(out.glob("*.o")), "-o", out / name], check=True)

    def program(name: str, *arguments: int) -> None:
        done = subprocess.run([out / name, *map(str, arguments)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr

    return program


@pytest.mark.parametrize(("seed", "spare"), [(1, 0), (2, 0), (3, 400), (4, 150)])
def test_what_programs_see_is_as_in_the_model_and_nothing_leaks(run: Run, seed: int, spare: int) -> None:
    """Expected: random maps, unmaps, protects, moves, forks, exits, truncations, writes in five processes, after each
    of which pages read as in an array of pages and exactly their memory is promised; then every frame is free. With few
    frames to spare calls are refused, touches never.
    Broken: a fork that shares private pages for writing, a region merged with one of another file offset."""
    run("model", seed, 20_000, spare)


def test_limits_order_and_out_of_memory(run: Run) -> None:
    """Expected: 65,530 mappings and no more; Linux's placing; a fork without memory leaves nothing; futexes' order."""
    run("cases")


def test_pages_that_another_service_brings_come_whole_or_not_at_all(run: Run) -> None:
    """Expected: who touches waits until the page has its content, its error, or is cut off. Broken: a page seen before
    it is filled, a private copy lost to the page brought, a wait that nobody ends, an object nobody is told of."""
    run("paged")


def test_frames_are_zeros_given_once_and_all_come_back(run: Run) -> None:
    """Expected: random takes of runs up to 2 MiB while memory fills and empties. Broken: a run overlaps another."""
    run("frames_random", 1, 20_000)
