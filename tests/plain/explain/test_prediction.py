"""Predictions on made-up prices: is the arithmetic right, and does it say what it does not know?"""

from __future__ import annotations

import math

import msgspec
import pytest

from kernometer.campaign.plan import definitions
from kernometer.explain.prediction import Asked, Call, Cost, Entries, Prices, divide, predict
from kernometer.tables import packaged

LIST = """
[error]
scaled = 0.1
plain = 0.5
[[price]]
what = "read"
calls = ["read"]
kinds = ["file"]
points = [[0, { r0 = 1 }], [100, { r1 = 1 }], [1000, { r2 = 1 }]]
[[price]]
what = "exec"
calls = ["execve"]
points = [[0, { exec = 1, null = -1 }]]
[[price]]
what = "contained"
calls = ["close"]
points = [[0, {}]]
[[price]]
what = "faults"
calls = ["faults", "file-faults"]
points = [[0, { fault = 1 }]]
"""
A = {"r0": Cost(10), "r1": Cost(20), "r2": Cost(110), "null": Cost(5), "exec": Cost(105, faults=3), "fault": Cost(7, 1)}
B = {row: Cost(2 * cost.cost, *cost[1:]) for row, cost in A.items()}
ALL: Prices = msgspec.convert(packaged("kernometer.explain", "prices.toml"), Prices)
PRICED = msgspec.toml.decode(LIST, type=Prices)


def asked(calls: dict[Call, int], faults: int = 0, user: float = 1000, kernel: float = 400) -> Asked:
    return Asked(calls, faults, 0, user, kernel)


@pytest.mark.parametrize(("size", "cost"), [(0, 10), (50, 15), (100, 20), (550, 65), (1000, 110), (2000, 210)])
def test_a_price_between_two_sizes_lies_between_theirs(size: int, cost: float) -> None:
    """Expected: linear, beyond the last size too. Broken: a megabyte costs what a kilobyte does."""
    price = PRICED.find("read", "file")
    assert price is not None
    found = price.cost_on(A, size)
    assert found is not None
    assert found.cost == pytest.approx(cost)


def test_the_measured_cost_is_scaled_by_the_prices() -> None:
    """Expected: twice on B; the interval is the check's. Broken: the prices' own sum is shown as B's cost."""
    calls = {("read", "file", 100): 3, ("close", "", 0): 3}
    found = predict(asked(calls), PRICED, A, B, scaled=True)
    assert (found.a, found.b, found.priced_a, found.priced_b) == (400, 800, 60, 120)
    assert (found.low, found.high) == pytest.approx((800 * math.exp(-0.1), 800 * math.exp(0.1)))
    assert (found.unpriced, found.unpriced_share) == ((), 0)
    assert found.share(found.b) == pytest.approx(800 / 1800)


def test_without_a_measurement_the_prices_count_and_the_interval_is_wide() -> None:
    """Expected: the sum, with the larger error. Broken: the host's time is taken for A's."""
    found = predict(asked({("read", "file", 0): 3}), PRICED, A, B, scaled=False)
    assert (found.a, found.b) == (30, 60)
    assert found.high / found.b == pytest.approx(math.exp(0.5))


def test_faults_within_a_price_are_not_charged_twice() -> None:
    """Expected: 10 faults, 6 of them within two execs. Broken: 10 are charged; or less than none, if rows have more."""
    calls = {("execve", "", 0): 2}
    lines = {line.what: line for line in predict(asked(calls, 10), PRICED, A, B, scaled=True).lines}
    assert (lines["exec"].a, lines["faults"].count, lines["faults"].a) == (200, 4, 28)
    found = predict(asked(calls, 5), PRICED, A, B, scaled=True)
    assert [line.what for line in found.lines] == ["exec"]


def test_calls_without_a_price_are_listed_and_widen_the_interval() -> None:
    """Expected: by count; they may grow as the cheapest or the dearest price does. Broken: silence."""
    b = {**B, "exec": Cost(505, 3)}
    calls = {("read", "file", 0): 10, ("execve", "", 0): 1, ("ioctl", "", 0): 6, ("read", "socket", 9): 3}
    found = predict(asked(calls), PRICED, A, b, scaled=True)
    assert found.unpriced == (("ioctl", 6), ("read", 3))
    assert found.unpriced_share == pytest.approx(9 / 20)
    ratio = (200 + 495) / 200
    assert found.b == pytest.approx(400 * ratio)
    assert found.low == pytest.approx(400 * (0.55 * ratio + 0.45 * 2) * math.exp(-0.1))
    assert found.high == pytest.approx(400 * (0.55 * ratio + 0.45 * 4.95) * math.exp(0.1))


def test_a_row_that_one_side_lacks_leaves_its_calls_without_a_price() -> None:
    """Expected: on both sides. Broken: A is charged for what B gets for nothing."""
    b = {row: cost for row, cost in B.items() if row != "exec"}
    found = predict(asked({("execve", "", 0): 1, ("read", "file", 0): 1}), PRICED, A, b, scaled=True)
    assert found.unpriced == (("execve", 1),)
    assert found.priced_a == 10


def test_without_any_price_nothing_is_predicted() -> None:
    """Expected: not a number, which is shown as a dash. Broken: a division by zero, or B equals A."""
    found = predict(asked({("ioctl", "", 0): 1}), PRICED, {}, {}, scaled=True)
    assert math.isnan(found.b)


@pytest.mark.parametrize(("pages", "share"), [(0, 0.5), (100, 0), (160, 0.04), (1600, 1), (9000, 1)])
def test_resident_pages_tell_the_faults_of_files(pages: int, share: float) -> None:
    """Expected: 16 pages a fault are all of files, one a fault none. Broken: a share outside 0 to 1."""
    assert Asked({}, 100, 0, 0, 0, pages).of_files == pytest.approx(share)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, "") for name in ("brk", "mprotect", "epoll_wait", "epoll_ctl", "unlink", "munmap", "vfork", "fork")),
        *((name, "file") for name in ("getdents64", "lock", "statfs", "fdatasync", "pwrite64", "pread64", "fstat")),
        *((name, "socket") for name in ("sendfile", "writev", "sendto", "recvfrom", "accept4", "connect", "close")),
        *((name, "failed") for name in ("recvfrom", "accept4", "read", "connect", "openat", "readlink")),
    ],
)
def test_what_ordinary_programs_spend_their_kernel_time_in_has_a_price(name: str, kind: str) -> None:
    """Expected: a price for each call of docs/predict.md's list. Broken: a web server's are listed without one."""
    assert ALL.find(name, kind) is not None


def test_a_directory_s_price_is_that_of_its_entries() -> None:
    """Expected: of a call for 216 bytes half a small directory, for 24 KiB the large one less its end. Broken: a call
    that returns a thousand names costs what one does that finds the end."""
    price = ALL.find("getdents64", "file")
    assert price is not None
    sheet = {"fs/readdir@entries=16": Cost(130), "fs/readdir@entries=1024": Cost(2100), "syscall/lseek": Cost(10)}
    found = [price.cost_on(sheet, size) for size in (0, 216, 24408)]
    assert [cost.cost for cost in found if cost] == pytest.approx([60, 60, 2030])


def test_the_price_list_names_rows_of_the_catalogue_by_time_and_by_path() -> None:
    """Expected: each row exists. Broken: a renamed row, whose calls lose their price in silence."""
    rows = {row for price in ALL.price for row in price.rows}
    for by in ("time", "path"):
        known = {row.row for one in definitions(by, "full") for row in one.rows}
        assert rows <= known
    assert all(price.cost_on(dict.fromkeys(rows, Cost(1)), 10**9) is not None for price in ALL.price)


ENTRIES = """
price = []
programs = ["shell", "cc"]
alike = [["open", "openat"]]
[error]
entries = 0.1
"""
DIVIDED = msgspec.toml.decode(ENTRIES, type=Prices)
ON_A: dict[str, Entries] = {
    "shell": {"open": (10, 1000), "fault": (10, 1000)},
    "cc": {"fault": (10, 100_000)},
    "one": {"open": (10, 1000), "close": (10, 500)},
}
ON_B: dict[str, Entries] = {
    "shell": {"openat": (5, 1000), "fault": (10, 3000)},
    "cc": {"fault": (10, 50_000)},
    "one": {"open": (10, 9000), "close": (10, 250)},
}


def test_each_entry_is_scaled_by_its_own_ratio() -> None:
    """Expected: an open twice as dear, as in the program's row, under either name; a close, which no program's row has,
    half. Broken: one ratio for all, or a row of one operation against a program."""
    own = {"openat": (3, 600), "close": (3, 150)}
    found = divide(own, 1000, DIVIDED, ON_A, ON_B)
    assert {line.what: line.b for line in found.lines} == pytest.approx({"open": 1200, "close": 75})
    assert (found.a, found.b, found.calls) == pytest.approx((750, 1275, 6))
    assert (found.low, found.high) == pytest.approx((1275 * math.exp(-0.1), 1275 * math.exp(0.1)))
    assert (found.unpriced, found.scaled) == ((), True)


@pytest.mark.parametrize(("each", "shares"), [(100, (1.0, 0.01)), (10_000, (0.01, 1.0)), (1000, (0.1, 0.1))])
def test_rows_count_by_how_near_their_cost_is(each: int, shares: tuple[float, float]) -> None:
    """Expected: a cheap fault changes like the cheap row's, one in between by the mean. Broken: a mean of all rows."""
    found = divide({"fault": (1, each)}, 0, DIVIDED, ON_A, ON_B)
    mean = (shares[0] * math.log(3) + shares[1] * math.log(0.5)) / sum(shares)
    assert found.b / each == pytest.approx(math.exp(mean))


def test_what_no_row_has_is_scaled_like_the_rest() -> None:
    """Expected: what no row has changes by the ratio of the rest, and widens the interval; a call is listed. Broken: it
    stays as on A in silence."""
    own = {"open": (3, 600), "ioctl": (2, 100), "interrupt": (1, 200), "other tasks": (0, 100)}
    found = divide(own, 0, DIVIDED, ON_A, ON_B)
    assert (found.a, found.b, found.priced_a) == pytest.approx((1000, 2000, 600))
    assert found.unpriced == (("ioctl", 2),)
    own["close"] = (1, 1000)
    found = divide(own, 0, DIVIDED, ON_A, ON_B)
    assert found.low < found.b * math.exp(-0.1)
    assert found.high > found.b * math.exp(0.1)


def test_entries_without_any_row_are_not_predicted() -> None:
    """Expected: not a number. Broken: B equals A."""
    assert math.isnan(divide({"ioctl": (1, 100)}, 0, DIVIDED, ON_A, {}).b)


def test_the_rows_of_programs_are_in_the_catalogue() -> None:
    """Expected: each exists by path. Broken: a renamed row, whose entries lose their price in silence."""
    assert ALL.all_rows <= {row.row for one in definitions("path", "full") for row in one.rows}
