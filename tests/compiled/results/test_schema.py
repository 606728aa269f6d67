"""The published schema and docs/format.md say what the model says, and what is really written fits both."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kernometer.campaign.plan import Effort
from kernometer.report.store.export import COLUMNS
from kernometer.results import schema
from kernometer.results.model import SAMPLES_PER_RUN, Record
from kernometer.results.reader import DEFAULT, parse
from tests.support.results import make

ROOT = Path(__file__).resolve().parents[3]
DOC = (ROOT / "docs" / "format.md").read_text()
PUBLISHED = json.loads(schema.text())
VALIDATOR = jsonschema.Draft202012Validator(PUBLISHED)


def errors(line: bytes) -> list[str]:
    """What the schema finds in one line, under the record that the line says it is."""
    record = json.loads(line)
    parts = [part for part in PUBLISHED["$defs"].values() if "type" in part["properties"]]
    kinds = {part["properties"]["type"]["enum"][0]: part for part in parts}
    if record.get("type") not in kinds:
        return ["no such record"]
    of_its_kind = VALIDATOR.evolve(schema={**kinds[record["type"]], "$defs": PUBLISHED["$defs"]})
    found = [error.message[:200] for error in of_its_kind.iter_errors(record)]
    assert VALIDATOR.is_valid(record) == (not found)
    return found


def test_the_command_prints_the_schema() -> None:
    """Expected: a JSON schema, as docs/format.md says. Broken: what others check their files with."""
    words = (sys.executable, "-m", "kernometer.results.schema")
    printed = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout
    assert json.loads(printed) == PUBLISHED
    jsonschema.Draft202012Validator.check_schema(PUBLISHED)


@pytest.mark.parametrize("line", make.lines(make.records(1)), ids=lambda line: str(json.loads(line)["type"]))
def test_every_record_that_is_written_fits(line: bytes) -> None:
    assert errors(line) == []


@pytest.mark.parametrize(
    ("line", "change"),
    [
        (0, {"format": 0}),
        (0, {"by": "luck"}),
        (0, {"side": "C"}),
        (1, {"clocks": {}}),
        (2, {"unit": "s"}),
        (2, {"rows": [{"row": "x"}]}),
        (3, {"batch": 0}),
        (3, {"samples": []}),
        (3, {"samples": [0.5]}),
        (3, {"involuntary": [[1]]}),
        (3, {"colour": "green"}),
        (3, {"meter": {"steal_ns": "none"}}),
        (7, {"complete": "yes"}),
    ],
)
def test_the_schema_catches_errors(line: int, change: dict[str, object]) -> None:
    record = json.loads(make.lines(make.records(1))[line])
    assert errors(json.dumps(record | change).encode())


def test_what_the_schema_takes_the_reader_takes() -> None:
    """And the other way round for limits: both come from the model."""
    record = json.loads(make.lines(make.records(1))[3])
    for change in ({"seconds": 1e19}, {"row": "x" * 301}, {"samples": [2**63]}):
        line = json.dumps(record | change).encode()
        assert errors(line)
        assert len(parse([make.lines(make.records(1))[0] + b"\n" + line]).damage) > 1


@pytest.mark.parametrize("record", Record.__subclasses__(), ids=lambda record: str(record.__struct_config__.tag))
def test_the_doc_has_every_field_of_every_record_and_no_other(record: type[Record]) -> None:
    section = re.split(rf"^### `{record.__struct_config__.tag}`.*$", DOC, flags=re.M)[1].split("\n#", 1)[0]
    named = re.findall(r"^\| `(\w+)` \|", section, flags=re.M)
    assert named == [field for field in record.__struct_fields__ if field != "type"]


def test_the_doc_names_every_part_of_the_effort() -> None:
    """Expected: the options of a session by time, as it stores them. Broken: one was added to the plan alone."""
    (told,) = re.findall(r"^\| `effort` \|.*?: (.*), as the options", DOC, flags=re.M)
    assert re.findall(r"`(\w+)`", told) == [field.name for field in fields(Effort)]


def test_the_docs_example_is_a_whole_result() -> None:
    example = DOC.split("```json\n", 1)[1].split("```", 1)[0].encode()
    assert [errors(line) for line in example.splitlines()] == [[]] * 7
    assert parse([example]).damage == ()


def test_the_doc_states_the_limits_that_hold() -> None:
    for number in (DEFAULT.records, DEFAULT.samples, SAMPLES_PER_RUN):
        assert f"{number:,}" in DOC
    assert (DEFAULT.line_bytes, DEFAULT.file_bytes) == (16 << 20, 512 << 20)
    assert "16 MiB a line, 512 MiB" in DOC


def test_the_doc_names_every_exported_column() -> None:
    exported = DOC.split("## Exported tables", 1)[1]
    for columns in COLUMNS.values():
        for column in columns:
            assert f"`{column}`" in exported


@pytest.mark.parametrize("by", ["time", "path"])
def test_what_the_real_probe_prints_fits(probe: Path, by: str, tmp_path: Path) -> None:
    """One row of each kind: hot, cold, two processes, files, one that does not exist on this machine or fails."""
    rows = ["syscall/getppid", "ctx/pipe-pair", "mem/touch", "fs/read", "proc/fork-exit"]
    limits = ["--profile", "quick", "--runs", "2", "--samples", "5", "--seconds", "0.2", "--dir", str(tmp_path)]
    done = subprocess.run([probe, "--by", by, *limits, *rows], capture_output=True, timeout=300, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith(b"{")]
    kinds = [json.loads(line)["type"] for line in lines]
    assert {"header", "workload", "run"} <= set(kinds), done.stderr
    assert [(line[:200], found) for line in lines if (found := errors(line))] == []
    session: Any = make.session(by=by)
    result = parse([make.data([session]) + b"\n".join(lines)])
    assert result.damage == ("The last line is missing: the session was cut off, or is still being measured.",)
    assert len(result.runs) == kinds.count("run")


def test_what_the_real_registry_prints_fits(probe: Path) -> None:
    done = subprocess.run([probe, "--list", "--json"], capture_output=True, timeout=60, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith(b"{")]
    assert len(lines) > 10
    assert [(line[:200], found) for line in lines if (found := errors(line))] == []
