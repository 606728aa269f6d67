"""A campaign's file: what is cut off, compressed or too long."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest

from kernometer.errors import ResultError
from kernometer.faults import records
from tests.support.faults import make

LINES = [records.line(one) for one in (make.header("qemu:trio-micro"), make.record(0), make.record(1))]


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress, bz2.compress])
def test_a_file_is_read_as_it_was_written_compressed_or_not(tmp_path: Path, compress: type[bytes]) -> None:
    path = tmp_path / "campaign"
    path.write_bytes(compress(b"".join(LINES)))
    [campaign] = records.read([path])
    assert [record.number for record in campaign.records] == [0, 1]


def test_the_last_line_of_an_interrupted_campaign_is_no_line(tmp_path: Path) -> None:
    path = tmp_path / "campaign"
    path.write_bytes(b"".join(LINES)[:-1])
    [campaign] = records.read([path])
    assert [record.number for record in campaign.records] == [0]


@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_line_has_a_limit_whole_or_cut_off(tmp_path: Path, end: bytes) -> None:
    """Expected: with its end it is shorter than the limit. Broken: a file without lines fills the memory."""
    path = tmp_path / "campaign"
    padded = LINES[1][:-1].ljust(records.MOST_LINE - len(end)) + end
    path.write_bytes(LINES[0] + padded)
    with pytest.raises(ResultError, match="line 2 is too long"):
        records.read([path])
    path.write_bytes(LINES[0] + padded.replace(b"  ", b" ", 1))
    assert len(records.read([path])[0].records) == len(end)
