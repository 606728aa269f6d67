"""predict by path, on two kernels of the same machine: is the prediction near to what is counted in the other guest?"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kernometer.guests import store
from kernometer.guests.kernels import linux
from kernometer.results.store import Store
from kernometer.targets import execution
from kernometer.targets.base import Deadline
from kernometer.targets.qemu import QemuTarget
from tests.support.checkout import alone
from tests.support.cli.storing import call

pytestmark = pytest.mark.guest


@pytest.mark.slow(minutes=2)
def test_a_prediction_is_near_what_the_other_kernel_counts(
    linux_6_1: store.Guest, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Expected: A's counts and calls are exact, twice the same, and its entries sum to the kernel's count, with the
    page faults that the guest's kernel counted; B's cost is within the interval. Broken: an entry is lost, or charged
    with another's instructions."""
    assert linux_6_1.name == "linux-6.1"
    with alone("linux-6.12"):
        if all(each.name != "linux-6.12" for each in store.listed()):
            linux.add("6.12")
    work = tmp_path / "files"
    work.mkdir()
    for number in range(30):
        (work / f"file{number}").write_text("line\n" * 50 * number)
    words = ("tar", "cf", "all.tar", ".")
    said = call(
        Store(tmp_path / "store"),
        capsys,
        *("predict", "--by", "path", "--on", "qemu:linux-6.1", "--on", "qemu:linux-6.12"),
        *("--files", str(work), "--json", "--", *words),
    )
    found = json.loads(said)
    assert (found["status"], found["scaled"], found["missing"], found["recorder"]) == (0, True, [], "")
    assert found["priced_a"] > 0.95 * found["a"]
    brought = execution.program_files("tar")
    program = f"/{next(iter(brought))}"
    brought |= execution.folder_files(work)
    for guest in ("linux-6.1", "linux-6.12"):
        one = execution.count(QemuTarget.from_spec(guest), (program, *words[1:]), brought, Deadline.after(300))
        assert one.status == 0
        if guest == "linux-6.1":
            assert (one.user, one.kernel) == (found["user"], found["a"])
            assert one.syscalls + execution.RUNNERS_CALLS == found["calls"]
            assert sum(cost for _, cost in one.entries.values()) == one.kernel
            faults = sum(count for name, (count, _) in one.entries.items() if name.startswith("fault"))
            assert one.faults <= faults <= one.faults + 10  # those of the runner's own process
        else:
            assert found["low"] <= one.kernel <= found["high"]
            assert abs(found["b"] / one.kernel - 1) < 0.2


def test_what_a_guest_needs_of_the_host_is_brought(tmp_path: Path) -> None:
    """Expected: a program with its loader and libraries, a directory with what is below it, each under its name."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_text("text")
    found = execution.program_files("tar", str(tmp_path / "a"))
    program, *_ = found
    assert program == str(Path(shutil.which("tar") or "").absolute())[1:]
    assert any(name.startswith("lib64/ld-linux") for name in found)
    assert found[f"{tmp_path}/a/b/c"[1:]] == b"text"
    own = tmp_path / "a" / "own"
    shutil.copy(shutil.which("tar") or "", own)
    assert next(iter(execution.program_files(str(own)))) == "usr/local/bin/own"
    own.unlink()
    assert execution.folder_files(tmp_path / "a") == {"work/b/c": b"text"}
