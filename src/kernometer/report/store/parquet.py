"""The flat tables of `export` as Parquet files, for R and pandas. Through pyarrow, which is an extra."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import IO

from kernometer.errors import LibraryError
from kernometer.report.store.export import COLUMNS, Line, Per

#: Lines in memory, and in one row group of a file.
GROUP_LINES = 1 << 17

_INTEGERS = frozenset({"run", "block", "sample", "raw", "batch", "samples", "runs", "warmup", "iterations", "cpu"})
_INTEGERS |= {"peer_cpu", "involuntary"}
_FLOATS = frozenset({"value", "value_low", "value_high", "cost", "cost_low", "cost_high", "gross", "baseline", "x"})
_FLOATS |= {"seconds", "ops", "bytes", "resolution_ns", "mean", "kernel_part"}


def write_parquet(out: IO[bytes], lines: Iterator[Line], per: Per) -> None:
    """Columns as in `export.COLUMNS`, all nullable: text, 64-bit integers and floats, truth values.

    Raises MissingError without pyarrow.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise LibraryError("--parquet", "pyarrow", "parquet") from error
    types = {"text": pa.string(), "integer": pa.int64(), "float": pa.float64(), "truth": pa.bool_()}
    schema = pa.schema([(column, types[_kind(column, per)]) for column in COLUMNS[per]])
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        while group := [*islice(lines, GROUP_LINES)]:
            writer.write_table(pa.Table.from_pylist(group, schema), row_group_size=GROUP_LINES)


def _kind(column: str, per: Per) -> str:
    if column == "exact" or (column, per) == ("migrated", "sample"):
        return "truth"
    if column in _INTEGERS or column == "migrated":
        return "integer"
    return "float" if column in _FLOATS else "text"
