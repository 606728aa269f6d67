"""`kernometer explain` of two structures: do the prices, which come from units, explain operations that gave none?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernometer.guests.kernels import trio
from tests.support.cli.real import kernometer

pytestmark = pytest.mark.guest

#: Operations made of nothing but traps, messages, copies and strings, and how much of the difference may be left over.
PLAIN = {"syscall/open-close": 0.05, "syscall/stat": 0.05, "fs/rename": 0.05, "syscall/read-zero": 0.1}
#: One with more in it: what is left over is stated.
MIXED = "proc/fork-exit"


@pytest.mark.slow(minutes=0.4)
def test_prices_of_units_explain_operations(sources: Path, guest_cache: Path, tmp_path: Path) -> None:
    """Expected: parts and rest are the difference to the instruction, and the rest is small where all events have a
    price; two stored sessions say the same, and a report has each operation. Broken: a count or a price of something
    else."""
    assert sources.is_dir()
    assert guest_cache.is_dir()
    trio.add("mono")
    trio.add("micro")
    page = tmp_path / "costs.html"
    names, rows = ("qemu:trio-mono", "qemu:trio-micro"), (*PLAIN, MIXED)
    told = json.loads(kernometer(tmp_path, "explain", *names, *rows, "--report", str(page), "--json").stdout)["costs"]
    found = {each["row"]: each for each in told["rows"]}
    assert {*PLAIN, MIXED} <= found.keys()
    for row, each in found.items():
        difference = each["servers"] - each["kernel"]
        assert sum(part["cost"] for part in each["parts"]) + each["rest"] == pytest.approx(difference)
        assert abs(each["rest"]) <= PLAIN.get(row, 0.5) * difference, (row, each)
        assert row in page.read_text().replace("<wbr>", "")
    sessions = [json.loads(file.open().readline()) for file in sorted(tmp_path.glob("*.ndjson"))]
    of_rows = {one["target"]: one["id"] for one in sorted(sessions, key=lambda one: one["started"])}
    again = json.loads(kernometer(tmp_path, "explain", *(of_rows[name] for name in names), "--json").stdout)["costs"]
    assert again["rows"] == told["rows"]
