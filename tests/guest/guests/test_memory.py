"""The memory system that the plugin counts: exact, and right where the answer is arithmetic (spaces.s)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kernometer.guests.plugins.events import Region
from tests.support.guests.bare import booted, recorded

PAGES, OWN = 40, 0x40000000

pytestmark = pytest.mark.guest


#: Lines of the caches of known sizes, and what their misses are counted as.
SIZES = {64 << number: f"client_data_misses_{4 << number}k" for number in range(10)}


@pytest.fixture(scope="module")
def curves(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Region]:
    return booted(tmp_path_factory.mktemp("curves"), "skylake+curves")


@pytest.fixture(scope="module")
def regions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Region]:
    return booted(tmp_path_factory.mktemp("spaces"))


def settled(region: Region, *names: str) -> dict[str, int]:
    """The counts of the last execution, in which all that happens once has happened."""
    return {name: region.memory[name][-1] for name in names}


UNTAGGED, TAGGED = ("walks", "large_walks"), ("tagged_walks", "tagged_large_walks")


@pytest.mark.parametrize(
    ("number", "untagged", "tagged"),
    [
        ("2", (2 * PAGES, 2), (0, 0)),  # the code is in a large page, which each switch removes
        ("4", (PAGES, 1), (PAGES, 1)),  # a write of what CR3 has removes, with tags too
        ("6", (0, 0), (0, 0)),
        ("8", (0, 2), (0, 0)),  # global pages stay
        ("10", (3, 0), (3, 0)),  # invlpg: by register, displacement, and index
        ("12", (2 * PAGES, 2), (PAGES, 1)),  # a new space in an old root
    ],
)
def test_walks_are_those_of_arithmetic(
    regions: dict[str, Region], number: str, untagged: tuple[int, int], tagged: tuple[int, int]
) -> None:
    """Expected: PAGES for each visit of a space whose entries are gone. Broken: entries survive a switch, global ones
    do not, invlpg takes the wrong page, or a space inherits the entries of the one whose root it got."""
    assert tuple(settled(regions[number], *UNTAGGED).values()) == untagged
    assert tuple(settled(regions[number], *TAGGED).values()) == tagged


@pytest.fixture(scope="module")
def paged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Region]:
    return booted(tmp_path_factory.mktemp("paged"), source="paged.s")


@pytest.mark.parametrize(
    ("number", "untagged", "tagged"),
    [
        ("2", (2 * PAGES, 2), (0, 0)),
        ("4", (PAGES, 1), (PAGES, 1)),
        ("6", (0, 0), (0, 0)),
        ("8", (3, 0), (3, 0)),  # of four invlpg two are of one page: without a base, with an index, below a base
        ("10", (0, 3), (0, 3)),  # a page of 4 MiB has an entry for each of its halves
    ],
)
def test_walks_in_32_bits_are_those_of_arithmetic(
    paged: dict[str, Region], number: str, untagged: tuple[int, int], tagged: tuple[int, int]
) -> None:
    """Expected: as in 64 bits, by tables of two levels. Broken: no walk, or those of tables of four levels."""
    assert tuple(settled(paged[number], *UNTAGGED).values()) == untagged
    assert tuple(settled(paged[number], *TAGGED).values()) == tagged


def test_lines_in_32_bits_are_counted(paged: dict[str, Region]) -> None:
    """Expected: a line of each of the pages, and code, all the kernel's. Broken: no line of code has an address."""
    region = paged["6"]
    touched = settled(region, "kernel_data_lines", "kernel_data_pages", "user_data_lines", "l1i_misses")
    assert touched == {"kernel_data_lines": PAGES, "kernel_data_pages": PAGES, "user_data_lines": 0, "l1i_misses": 0}
    assert settled(region, "kernel_code_lines")["kernel_code_lines"] in (1, 2)


def test_walks_are_those_of_the_pages_that_are_asked_for(tmp_path: Path) -> None:
    """Expected: in each of two executions a walk of each page, of two spaces that have the same addresses, whose one
    line is touched, and one of the code in each. Broken: one space's walks are the other's, or an access's the code's;
    an execution too many."""
    seen = recorded(tmp_path, 2, (3, 4))
    data = [page for page in seen.pages if page.address >= f"{OWN:#x}"]
    of_spaces = [(space, f"{OWN + 4096 * number:#x}") for space in (0, 1) for number in range(PAGES)]
    assert sorted((page.space, page.address) for page in data) == of_spaces
    assert all((page.counts["walks"], page.lines) == (2, {"user_data": "1"}) for page in data)
    assert len({page.frame for page in data}) == 2 * PAGES
    code = {page.space: page.counts["large_walks"] for page in seen.pages if "large_walks" in page.counts}
    assert code == {0: 2, 1: 2} and not any(page.stack for page in seen.pages)
    sums = Counter[str]()
    for page in seen.pages:
        sums.update(page.counts)
    for _, name, count in seen.charges:
        sums[name] -= count
    assert not any(sums.values())


def test_a_string_instruction_counts_once_and_its_bytes_are_known(regions: dict[str, Region]) -> None:
    """Expected: ten instructions, 1 + 5 + 3 + 2 + 4 × 7 + 6 × 8 bytes. Broken: neighbours, loops or an iteration count
    of 0 or 1 are told wrongly."""
    region = regions["14"]
    assert set(region.memory["reps"]) == {10}
    assert set(region.memory["rep_bytes"]) == {87}
    assert set(region.each) == {37}  # with the end marker
    assert set(region.repeated) == {0 + 1 + 5 + 3 + 2 + 4 * 7 + 6}


def test_faults_within_a_string_instruction_do_not_start_it_again(regions: dict[str, Region]) -> None:
    """Expected: one instruction, three pages of bytes. Broken: each return from a fault begins a new one."""
    region = regions["16"]
    assert (region.memory["reps"], region.memory["rep_bytes"]) == ((1,), (3 * 4096,))
    assert region.memory["irets"] == (3,)


def test_lines_and_pages_are_counted_once_an_execution(regions: dict[str, Region]) -> None:
    """Expected: PAGES lines in as many pages, of each space. Broken: a line counts at each access, or once for ever."""
    assert settled(regions["6"], "user_data_lines", "user_data_pages") == {
        "user_data_lines": PAGES,
        "user_data_pages": PAGES,
    }
    assert settled(regions["2"], "user_data_lines") == {"user_data_lines": 2 * PAGES}
    assert set(regions["6"].memory["loads"]) == {PAGES}


def test_lines_that_share_a_set_drive_each_other_out(regions: dict[str, Region]) -> None:
    """Expected: 40 lines of one set of eight ways miss L1 each time, and hit L2, where they have sixteen sets of four.
    Broken: another index, or a set that forgets the wrong line."""
    assert settled(regions["6"], "l1d_load_misses", "l2_load_misses") == {"l1d_load_misses": PAGES, "l2_load_misses": 0}


def test_loads_beside_a_line_missed_lately_are_streamed(regions: dict[str, Region]) -> None:
    """Expected: of 64 KiB upward, then downward, half is in L1 each time: 512 + 512 misses, of which the first of each
    of 16 pages is a load's own. Broken: streams cross pages, or go one way only."""
    names = ("l1d_load_misses", "l1d_stream_misses", "l2_load_misses", "l2_stream_misses")
    assert tuple(settled(regions["22"], *names).values()) == (16, 1008, 0, 0)


def test_a_regular_branch_is_learnt(regions: dict[str, Region]) -> None:
    """Expected: nothing is mispredicted any more, as the history tells the last of ten. Broken: each loop's end is."""
    assert settled(regions["18"], "mispredicted_conditional") == {"mispredicted_conditional": 0}


def test_returns_beyond_the_stack_are_mispredicted(regions: dict[str, Region]) -> None:
    """Expected: twenty calls, sixteen places: the four outermost returns miss. Broken: the stack has no end."""
    assert settled(regions["20"], "mispredicted_returns") == {"mispredicted_returns": 4}


def test_two_boots_count_the_same(regions: dict[str, Region], tmp_path: Path) -> None:
    """Expected: equal in every count. Broken: something of the host's, an address or a time, is in them."""
    assert booted(tmp_path) == regions


def test_what_is_counted_follows_the_geometry(regions: dict[str, Region], tmp_path: Path) -> None:
    """Expected: on Zen 3 large pages are in the same buffer, so other hits; the guest's instructions are the same."""
    other = booted(tmp_path, "zen3")
    assert {number: region.each for number, region in other.items()} == {
        number: region.each for number, region in regions.items()
    }
    assert settled(other["20"], "mispredicted_returns") == {"mispredicted_returns": 0}  # 32 places


@pytest.mark.parametrize(("number", "lines"), [(2 * at, 64 << at) for at in range(10)])
def test_a_cache_of_each_size_holds_as_many_lines_as_it_has(curves: dict[str, Region], number: int, lines: int) -> None:
    """Expected: lines used in a circle miss the smaller sizes, each time, and with one more line this size too. Broken:
    a size is a line too large or too small, or a line is lost or found after it fell out."""
    for more in (0, 1):
        used = lines + more
        assert settled(curves[str(100 + number + more)], *SIZES.values()) == {
            name: used if size < used else 0 for size, name in SIZES.items()
        }


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("6", {"client_data_l1_conflict": PAGES}),  # forty lines of one set
        ("24", {"client_code_l1_conflict": 12}),
        ("26", {"client_data_l1_conflict": 10, "client_data_l2_conflict": 10}),
        ("106", {"client_data_l1_capacity": 0}),  # 512 lines are L1's
        ("107", {"client_data_l1_capacity": 9}),  # of the set that has one line more
        ("108", {"client_data_l1_capacity": 1024}),
        ("114", {"client_data_l1_capacity": 8192, "client_data_l2_capacity": 8192}),
    ],
)
def test_a_miss_is_of_the_sets_or_of_the_size(curves: dict[str, Region], number: str, expected: dict[str, int]) -> None:
    """Expected: conflicts where the lines of one set are too many, capacity where all lines are. Broken: one is taken
    for the other, or code for data."""
    region = curves[number]
    causes = {name: each[-1] for name, each in region.memory.items() if "_l1_" in name or "_l2_" in name}
    assert {name: count for name, count in causes.items() if count} == {
        name: count for name, count in expected.items() if count
    }
    for misses, side in (("l1i", "code"), ("l1d", "data")):
        assert sum(each[-1] for name, each in region.memory.items() if name.startswith(misses)) == sum(
            count for name, count in causes.items() if f"{side}_l1_" in name
        )


def test_one_way_and_two_ways_hold_what_they_can(curves: dict[str, Region]) -> None:
    """Expected: lines 64 KiB apart are in one set, of one line, or with others of another, of two. Broken: the caches
    have other sets, or one is the other."""
    names = "client_data_one_way_64k", "client_data_two_ways_64k", "client_data_misses_64k"
    assert tuple(settled(curves["32"], *names).values()) == (2, 0, 0)
    assert tuple(settled(curves["26"], *names).values()) == (10, 10, 0)


def test_a_line_is_cold_once(curves: dict[str, Region]) -> None:
    """Expected: 32,768 lines, of which half were used before, then the one that is new. Broken: a line that fell out of
    the largest size is forgotten, and cold again."""
    assert curves["118"].memory["client_data_l1_cold"] == (16_383, 0)
    assert curves["119"].memory["client_data_l1_cold"] == (1, 0)


def test_servers_instructions_are_counted_without_curves_too(regions: dict[str, Region]) -> None:
    """Expected: those of test_servers_are_told_from_clients. Broken: without curves a microkernel's servers are taken
    for the programs that it runs."""
    assert [regions[number].memory["server_instructions"][-1] for number in ("30", "28")] == [4 * 400 + 4 + 3, 0]


def test_servers_are_told_from_clients(curves: dict[str, Region]) -> None:
    """Expected: the space in which a region begins is the client's, the other one, which was there before, a server's;
    each would fit a cache of its own. Broken: a space is taken for another, or the caches that are apart are one."""
    settled_counts = {f"{domain}_data_l1_capacity": 400 for domain in ("client", "server")}
    apart = {"client_data_misses_apart": 0, "server_data_misses_apart": 0}
    instructions = {"server_instructions": 4 * 400 + 4 + 3}  # a string instruction is one
    expected = settled_counts | apart | instructions
    assert settled(curves["30"], *expected) == expected
    made_later = {"client_data_uses": PAGES, "server_data_uses": 0, "server_instructions": 0}
    assert settled(curves["28"], *made_later) == made_later
