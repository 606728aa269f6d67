"""The program that works all the while, on this host: does what it says hold, and can the front end tell its files?"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kernometer.faults.worker import MOST_LOOSE, content, program
from tests.support.turns import in_turn


def worked(folder: Path, *words: str) -> list[dict[str, Any]]:
    """Its events; it must have found nothing wrong."""
    done = subprocess.run(
        [program(), *words, str(folder)], capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.PIPE
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("seed", in_turn([1, 2, 2**64 - 1], 0.1, always=[1]))
def test_what_it_says_to_be_kept_is_there(tmp_path: Path, seed: int) -> None:
    """Expected: after its end each promise that still binds holds, by a reader that knows the rules alone. Broken: a
    version or a name that it forgot to tell."""
    events = worked(tmp_path, "--seed", str(seed), "--operations", "3000")
    kept: dict[str, dict[str, Any]] = {}
    gone, loose = set[str](), dict[int, int]()
    for event in events:
        paths = {event.get("path", ""), event.get("to", "")}
        if event["event"] == "changes":
            gone -= paths
            kept = {path: of for path, of in kept.items() if path not in paths and of["file"] != event["file"]}
        elif event["event"] == "kept":
            assert event["version"] - loose.get(event["file"], 0) <= MOST_LOOSE
            loose[event["file"]] = event["version"]
            kept[event["path"]] = event
        elif event["event"] == "gone":
            gone |= paths
    assert len(kept) > 3
    for path, of in kept.items():
        assert Path(path).read_bytes() == content(seed, of["file"], of["version"]), of
        assert of["length"] == len(content(seed, of["file"], of["version"]))
    assert [path for path in gone if Path(path).exists()] == []


def test_equal_seeds_are_equal_work(tmp_path: Path) -> None:
    """Expected: the same events, but for the times. Broken: a run that nobody can have again."""
    said = []
    for _ in range(2):
        events = worked(tmp_path, "--seed", "5", "--operations", "500")
        said.append([event for event in events if event["event"] not in ("progress", "end")])
        subprocess.run(["rm", "-r", str(tmp_path / "w5")], check=True, timeout=60)
    assert said[0] == said[1]
    assert {"start", "changes", "kept", "gone"} == {event["event"] for event in said[0]}


def test_what_cannot_be_done_is_told_and_it_goes_on(tmp_path: Path) -> None:
    """Expected: an error for each operation on a file where there is a directory, and the last operation is reached."""
    process = subprocess.Popen(
        [program(), "--seed", "1", "--operations", "300", "--acknowledge", str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip  # as a table
    with process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()
        first = json.loads(process.stdout.readline())
        assert (first["event"], first["what"]) == ("changes", "create")
        Path(first["path"]).mkdir()
        said, _ = process.communicate("\n" * 1000, timeout=60)
    events = [json.loads(line) for line in said.splitlines()]
    errors = [event for event in events if event["event"] == "error"]
    assert {event["path"] for event in errors} == {first["path"]}
    assert {(event["what"], event["errno"]) for event in errors} <= {("create", 17), ("unlink", 21), ("rename", 21)}
    assert events[-1]["event"] == "end"
    assert events[-1]["errors"] == len(errors) > 1
