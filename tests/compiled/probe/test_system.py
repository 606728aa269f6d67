"""What the probe tells of the system: settings, how near two CPUs are, in which pages memory lies."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.probe.running import TINY, measure, of_type, quickly_built
from tests.support.turns import some

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.probe.running import Running

HUGE = "kernel/mm/transparent_hugepage"


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A probe that takes a folder for /sys, and the folder."""
    folder = tmp_path_factory.mktemp("system")
    return quickly_built(folder, f'-DKM_SYS="{folder}/sys"'), folder / "sys"


def put(tree: Path, files: dict[str, str]) -> None:
    """Lays out these files and no others."""
    for old in sorted(tree.rglob("*"), reverse=True):
        old.rmdir() if old.is_dir() and not old.is_symlink() else old.unlink()
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(f"{text}\n")


def test_header_tells_the_settings_that_figures_hang_on(system: tuple[Path, Path], tmp_path: Path) -> None:
    """Expected: the word in brackets; a mount by type and options; nothing where there is no file."""
    probe, tree = system
    put(tree, {f"{HUGE}/enabled": "always [madvise] never"})
    [header] = of_type(measure(probe, tmp_path, *TINY, "syscall/getppid@"), "header")
    told = header["settings"]
    assert told["transparent_hugepage"] == "madvise"
    assert "governor" not in told
    assert told["vdso"] in ("present", "absent")
    assert told["overcommit_memory"] == Path("/proc/sys/vm/overcommit_memory").read_text().strip()
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    # the root of a chroot need not be a mount
    on = max((m for m in mounts if tmp_path.is_relative_to(m[1])), key=lambda m: len(m[1]), default=None)
    assert told.get("folder") == (on and f"{on[2]} {on[3]}")


def test_header_names_the_disk_and_its_queue(system: tuple[Path, Path], tmp_path: Path) -> None:
    """Expected: of a partition its disk's queue. Broken: figures of two disks compared unseen."""
    probe, tree = system
    queue = {"scheduler": "none [mq-deadline]", "nr_requests": "256", "rotational": "1", "write_cache": "write back"}
    put(tree, {f"devices/sdz/queue/{name}": text for name, text in queue.items()} | {"devices/sdz/sdz1/partition": "1"})
    (tree / "dev/block").mkdir(parents=True)
    number = tmp_path.stat().st_dev
    (tree / f"dev/block/{os.major(number)}:{os.minor(number)}").symlink_to(tree / "devices/sdz/sdz1")
    [header] = of_type(measure(probe, tmp_path, *TINY, "syscall/getppid@"), "header")
    assert header["settings"]["device"] == (
        "sdz1, scheduler mq-deadline, nr_requests 256, rotational 1, write_cache write back"
    )
    put(tree, {})
    [header] = of_type(measure(probe, tmp_path, *TINY, "syscall/getppid@"), "header")
    assert "device" not in header["settings"]


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "no transparent huge pages"),
        ({f"{HUGE}/enabled": "always madvise [never]"}, "transparent_hugepage is set to never"),
        ({f"{HUGE}/enabled": "[always] madvise never", f"{HUGE}/hpage_pmd_size": str(512 << 20)}, "has 524288 KiB"),
    ],
)
def test_row_of_huge_pages_is_unsupported_without_them(
    system: tuple[Path, Path], tmp_path: Path, files: dict[str, str], reason: str
) -> None:
    """Expected: the reason, which names the setting. Broken: ordinary pages measured under the name of huge ones."""
    probe, tree = system
    put(tree, files)
    output = measure(probe, tmp_path, *TINY, "proc/fork-rss-huge@rss_kib=4096")
    assert of_type(output, "run") == []
    [found] = of_type(output, "unsupported")
    assert reason in found["reason"]


RELATIONS = {
    "sibling": {"topology/thread_siblings_list": "0-1", "topology/physical_package_id": "0"},
    "same-cache": {"topology/thread_siblings_list": "{cpu}", "cache/index2/shared_cpu_list": "0-3,9"},
    "same-package": {"cache/index3/shared_cpu_list": "{cpu}", "topology/physical_package_id": "4"},
    "other-package": {"cache/index3/shared_cpu_list": "{cpu}", "topology/physical_package_id": "{cpu}"},
    "unknown": {"online": "1"},
}


@pytest.mark.parametrize("relation", some(RELATIONS, 0.02, every=2))
def test_run_tells_how_near_its_two_cpus_are(system: tuple[Path, Path], tmp_path: Path, relation: str) -> None:
    """Expected: by topology and caches of a tree laid out here. Broken: hyperthreads compared with sockets unseen."""
    probe, tree = system
    row = "ctx/pipe-pair@other-cpu"
    first = measure(probe, tmp_path, *TINY, row)
    if of_type(first, "unsupported"):
        pytest.skip("one CPU only")
    [run] = of_type(first, "run")
    cpus = [run["cpu"], run["peer_cpu"]]
    if not {0, 1} >= set(cpus):
        pytest.skip("the tree is laid out for CPUs 0 and 1")
    given = RELATIONS[relation].items()
    put(tree, {f"devices/system/cpu/cpu{cpu}/{name}": text.format(cpu=cpu) for cpu in cpus for name, text in given})
    [run] = of_type(measure(probe, tmp_path, *TINY, row), "run")
    assert run["relation"] == relation
    [alone] = of_type(measure(probe, tmp_path, *TINY, "ctx/pipe-pair@same-cpu"), "run")
    assert "relation" not in alone


def smaps(process: int) -> dict[int, str]:
    """The sizes of its mappings, KiB, and what the kernel says of each; of two of one size the last."""
    parts = re.split(r"^[0-9a-f]+-[0-9a-f]+ ", Path(f"/proc/{process}/smaps").read_text(), flags=re.MULTILINE)
    return {int(size[1]): part for part in parts if (size := re.search(r"^Size: +(\d+) kB", part, re.MULTILINE))}


@pytest.mark.parametrize(("row", "flag"), [("proc/fork-rss", " nh "), ("proc/fork-rss-huge", " hg ")])
def test_pages_of_fork_rss_are_what_its_name_says(start: Callable[..., Running], row: str, flag: str) -> None:
    """Expected: huge pages refused, or asked for, whatever the system gives by itself. Broken: a curve of another kind
    where transparent_hugepage is always."""
    if flag == " hg " and not Path("/sys", HUGE, "enabled").is_file():
        pytest.skip("this system has no transparent huge pages")
    running = start(f"{row}@rss_kib=65536")
    mapping = smaps(running.run)[65536]
    flags = re.search(r"^VmFlags:(.*)$", mapping, re.MULTILINE)
    if flags is None:
        pytest.skip("this kernel does not tell a mapping's flags")
    assert flag in f"{flags[1]} "
