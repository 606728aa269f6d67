"""Which session is of which kernel on which machine, and what is said where a cell is missing."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from kernometer.errors import ResultError
from kernometer.explain import boundary_prices, factorial
from kernometer.explain.machines import STANDARD, factors, study
from kernometer.report.explanation.machines import document, view
from kernometer.report.words.units import NOTHING
from kernometer.results.model import Result
from tests.support.stats.simulate import header, of_costs, path_result

A, B = "syscall/getppid", "proc/fork-exit"


def host(name: str, release: str, cost: float, host_id: str, target: str = "local") -> Result:
    uname = {"sysname": "Linux", "release": release}
    return of_costs(name, {A: [cost] * 5, B: [cost] * 5}, header=header(uname=uname), host_id=host_id, target=target)


def guest(target: str, *counts: int) -> Result:
    return path_result(target, dict(zip((A, B), counts, strict=False)), target=f"qemu:{target}")


@pytest.mark.parametrize(
    ("target", "kernel", "machine"),
    [
        ("linux-6.1", "linux-6.1", STANDARD),
        ("linux-6.1+mitigations=off", "linux-6.1+mitigations=off", STANDARD),
        ("linux-6.1+cpu=max,-erms+nopti+memory=512", "linux-6.1+nopti", "cpu=max,-erms+memory=512"),
        ("linux-6.1-cloud-arm64+quiet", "linux-6.1-cloud+quiet", "arm64"),
        ("linux-6.12-riscv64+memory=512", "linux-6.12", "riscv64+memory=512"),
        ("trio-micro+with=checksums+machine=q35", "trio-micro+with=checksums", "machine=q35"),
    ],
)
def test_a_guests_target_names_both(target: str, kernel: str, machine: str) -> None:
    assert factors(guest(target, 100)) == (kernel, machine)


def test_a_guest_that_was_added_with_another_machine_is_on_that_machine() -> None:
    """FreeBSD's guest is a pc by its description. Expected: the machine that linux-6.1+machine=pc has. Broken: "not
    measured: freebsd on machine=pc", beside its figures."""
    told = "QEMU 7.2.22 tcg icount; {}; -cpu max,-erms; 1 CPU; 2048 MiB; seed 1"
    for target, board, machine in (
        ("freebsd", "pc", "machine=pc"),
        ("linux-6.1+machine=pc", "pc", "machine=pc"),
        ("linux-6.1+cpu=Nehalem", "q35 with vga", "machine=q35+cpu=Nehalem"),
        ("linux-6.1", "microvm,pcie=on", STANDARD),
    ):
        result = path_result(target, {A: 1}, target=f"qemu:{target}", machine=told.format(board))
        assert factors(result)[1] == machine


def test_a_host_is_one_machine_from_wherever_it_was_measured() -> None:
    """Expected: two hosts, each with two kernels. Broken: box by ssh and box itself are two."""
    found = study(
        [
            host("1", "6.1", 100, "aaaaaaaaaa", "ssh:box"),
            host("2", "6.12", 110, "aaaaaaaaaa"),
            host("3", "6.1", 200, "bbbbbbbbbb"),
            host("4", "6.12", 220, "bbbbbbbbbb", "wrap:kernel"),
        ]
    )
    assert found is not None
    assert (found.kernels, found.machines) == (("Linux 6.1", "Linux 6.12"), ("ssh:box", "host bbbbbbbb"))
    assert found.total is not None and found.total.shares["machine"].value > 0.9
    assert found.total.shares["interaction"].value == pytest.approx(0, abs=1e-9)
    assert "rest" not in found.total.shares
    assert any("one session a cell" in note for note in view(found).notes)


def test_sessions_of_one_cell_are_its_rest() -> None:
    made = [
        host(f"{n}{kernel}{machine}", kernel, cost * (1.1 if n else 1), machine * 10)
        for n in range(2)
        for kernel, cost in (("6.1", 100), ("6.12", 200))
        for machine in "ab"
    ]
    found = study(made)
    assert found is not None and found.total is not None
    assert found.total.shares["kernel"].value > 0.9
    assert 0 < found.total.shares["rest"].value < 0.1
    assert found.total.shares["machine"].value == 0


def test_a_missing_cell_and_a_row_without_a_figure_are_named() -> None:
    """Expected: no split without the cell, and a split of the other row with it."""
    made = [guest("a", 100, 10), guest("b", 200, 20), guest("a+cpu=Nehalem", 110, 11)]
    found = study(made)
    assert found is not None and found.total is None
    assert found.missing == (("b", "cpu=Nehalem"),)
    assert any("Not measured: b on cpu=Nehalem" in note for note in view(found).notes)
    found = study([*made, guest("b+cpu=Nehalem", 220)])
    assert found is not None and found.total is not None
    assert (found.missing, found.left_out, found.total.units) == ((), (B,), 1)
    assert any("says nothing about whether hardware" in note for note in view(found).notes)
    assert document(found)["all"]["shares"]["kernel"]["value"] > 0.9


def test_on_one_machine_by_time_the_kernels_part_stands_beside_the_rest() -> None:
    """Expected: no share of a machine or of both. Broken: the machine has 0 %, as if that had been seen."""
    made = [host("1", "6.1", 100, "a" * 9), host("2", "6.12", 200, "a" * 9)]
    assert study(made) is None
    found = study([*made, host("3", "6.12", 220, "a" * 9, "wrap:kernel")])
    assert found is not None and found.total is not None
    assert {*found.total.shares} == {"kernel", "rest"}
    assert 0 < found.total.shares["rest"].value < 0.1
    shown = view(found)
    assert shown.title.endswith("2 kernels on 1 machine")
    assert shown.rows[-1][1][3:5] == (NOTHING, NOTHING)
    assert any("On one machine" in note for note in shown.notes)


@pytest.mark.parametrize("targets", [("a", "b"), ("a", "a+cpu=Nehalem"), ("a",), ("a", "b+machine=pc")])
def test_one_kernel_or_one_machine_is_no_study(targets: tuple[str, ...]) -> None:
    assert study([guest(target, 100) for target in targets]) is None


def test_times_and_counts_are_not_mixed() -> None:
    assert study([guest("a", 100), host("1", "6.1", 5, "a" * 9)]) is None


@pytest.mark.parametrize("of", [study, boundary_prices.of_results, factorial.of_results], ids=lambda of: of.__module__)
def test_counts_of_two_definitions_make_no_study(of: Callable[[list[Result]], object]) -> None:
    """Expected: refused, with the older session. Broken: the definition's difference is a boundary's or a machine's."""
    targets = ("trio-mono", "trio-micro", "trio-mono+cpu=Nehalem", "trio-micro+cpu=Nehalem")
    older, *others = (guest(target, 100, 200) for target in targets)
    newer = [
        msgspec.structs.replace(each, session=msgspec.structs.replace(each.session, path_definition=2))
        for each in others
    ]
    of([older, *others])
    with pytest.raises(ResultError, match="in session trio-mono each iteration"):
        of([older, *newer])
