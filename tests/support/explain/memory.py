"""Sessions by path with counts of a memory system that were made up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kernometer.results import processor
from kernometer.results.model import Memory, Result
from tests.support.stats.simulate import path_result

SKYLAKE = processor.find("skylake")


def modelled(name: str, rows: Mapping[str, Mapping[str, int]], *, of: str = "skylake", **changes: Any) -> Result:
    """A session whose rows have these counts in each of four iterations, beside an empty bracket of 25 instructions."""
    counts = {row: counted.get("instructions", 0) for row, counted in rows.items()}
    made = path_result(name, counts, processor=msgspec.to_builtins(processor.find(of)), **changes)
    memories = tuple(
        Memory(
            row=row,
            iterations=4,
            counts={kind: 4 * (count + 25 * (kind == "instructions")) for kind, count in counted.items()},
            empty={"instructions": 25},
            footprint={"user_code_lines": 8, "kernel_data_pages": 3},
        )
        for row, counted in rows.items()
    )
    return msgspec.structs.replace(made, memories=memories)
