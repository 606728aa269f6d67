"""A store whose files are compressed, and one that is an archive: the same results, and nothing is written there."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from kernometer.__main__ import main
from kernometer.errors import ResultError, Status, UsageError
from kernometer.results import archive
from kernometer.results.store import Store, merge, results_in
from tests.support.results import make

IDS = ("20261121T073012Z-aaaaaa", "20261121T073013Z-bbbbbb", "20261121T073014Z-cccccc")


def session(name: str) -> bytes:
    return make.data(make.records(1, id=name, label="kernels"))


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def archived(path: Path, files: dict[str, bytes], mode: str = "w:xz") -> Path:
    with tarfile.open(path, mode) as made:  # type: ignore[call-overload]  # each mode that the tests name
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
    return path


def test_compressed_sessions_of_a_directory_are_results(tmp_path: Path) -> None:
    """Expected: by id, label, place and path. Broken: a store that was compressed is empty."""
    folder = tmp_path / "store"
    folder.mkdir()
    (folder / f"{IDS[0]}.ndjson.gz").write_bytes(gzip.compress(session(IDS[0])))
    (folder / f"{IDS[1]}.ndjson.xz").write_bytes(lzma.compress(session(IDS[1])))
    (folder / f"{IDS[2]}.ndjson.bz2").write_bytes(bz2.compress(session(IDS[2])))
    store = Store(folder)
    assert sorted(one.id for one in store.summaries()) == [*IDS]
    assert [store.load(name).session.id for name in (IDS[0], "20261121T073013", "@last")] == [*IDS]
    assert {one.session.id for one in store.load_set("label:kernels")} == {*IDS}
    assert store.load(str(folder / f"{IDS[2]}.ndjson.bz2")).session.id == IDS[2]


def test_a_compressed_copy_beside_its_file_is_not_counted_twice(tmp_path: Path) -> None:
    (tmp_path / f"{IDS[0]}.ndjson").write_bytes(session(IDS[0]))
    (tmp_path / f"{IDS[0]}.ndjson.gz").write_bytes(gzip.compress(session(IDS[0])))
    assert len(Store(tmp_path).load_set("label:kernels")) == 1


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_an_archive_is_a_store_for_reading(tmp_path: Path, mode: str) -> None:
    path = archived(tmp_path / "store.tar", {f"store/{name}.ndjson": session(name) for name in IDS}, mode)
    store = Store(path)
    assert {one.session.id for one in store.load_set("label:kernels")} == {*IDS}
    with pytest.raises(UsageError, match="archive"):
        store.create(make.session())
    with pytest.raises(UsageError, match="archive"):
        store.remove(["@last"], sets=False)
    with pytest.raises(UsageError, match="archive"), store.measuring("path"):
        pass


def test_an_archive_writes_its_results_into_the_cache_alone(tmp_path: Path) -> None:
    """Expected: last names, of results. Broken: a stranger's archive writes where it likes."""
    hostile = {
        "../../above.ndjson": session(IDS[0]),
        "/x/absolute.ndjson.gz": b"",
        "a/evil.sh": b"",
        "b.py": b"",
    }
    path = archived(tmp_path / "store.tar.xz", hostile)
    folder = archive.unpacked(path)
    assert {each.name for each in folder.iterdir()} == {"above.ndjson", "absolute.ndjson.gz"}
    assert folder.is_relative_to(tmp_path / "cache")
    assert not (tmp_path / "above.ndjson").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"not an archive at all", "no archive"),
        (lzma.compress(b"x" * 2000), "no archive"),
        (lzma.compress(b"x" * 2000)[:-20], "cannot be expanded"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ResultError, match=said):
        Store(tmp_path / "x")


def test_an_archive_without_results_or_with_two_of_a_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="no result"):
        Store(archived(tmp_path / "a.tar.xz", {"x.txt": b""}))
    name = f"{IDS[0]}.ndjson"
    with pytest.raises(ResultError, match="two files"):
        Store(archived(tmp_path / "b.tar.xz", {f"a/{name}": session(IDS[0]), f"b/{name}": session(IDS[0])}))


def test_commands_read_an_archive_and_say_what_they_cannot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = archived(tmp_path / "store.tar.xz", {f"{name}.ndjson": session(name) for name in IDS[:2]})
    assert main(["--store", str(path), "compare", *IDS[:2]]) in (Status.DONE, Status.ROWS_FAILED)
    assert main(["--store", str(path), "show", "@last"]) == Status.DONE
    assert IDS[1] in capsys.readouterr().out
    assert main(["--store", str(path), "rm", "@last"]) == Status.USAGE
    assert "archive" in capsys.readouterr().err


def test_the_digest_of_an_archive_is_taken_once_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: one reading of the whole archive. Broken: one at each place that asks for the store."""
    store = archived(tmp_path / "store.tar.xz", {f"{IDS[0]}.ndjson": session(IDS[0])})
    taken: list[Path] = []

    def unpacked(path: Path) -> Path:
        taken.append(path)
        return archive.unpacked(path)

    monkeypatch.setattr("kernometer.results.store.unpacked", unpacked)
    assert main(["--store", str(store), "show", "@last"]) == Status.DONE
    assert taken == [store]


def test_a_store_without_zstd_lists_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Expected: one row with the reason, which goes once zstd is there. Broken: status 6 and no list, or a reason that
    the index keeps."""
    folder, path = tmp_path / "store", os.environ["PATH"]
    folder.mkdir()
    (folder / f"{IDS[0]}.ndjson").write_bytes(session(IDS[0]))
    packed = subprocess.run(("zstd", "-qc"), input=session(IDS[1]), capture_output=True, check=True, timeout=60).stdout
    (folder / f"{IDS[1]}.ndjson.zst").write_bytes(packed)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["--store", str(folder), "list"]) == Status.DONE
    shown = capsys.readouterr().out
    assert "cannot be read: zstd is not installed" in shown and IDS[0] in shown
    assert [taken.problem != "" for taken in merge(tmp_path / "other", results_in(folder))] == [False, True]
    monkeypatch.setenv("PATH", path)
    assert main(["--store", str(folder), "list"]) == Status.DONE
    shown = capsys.readouterr().out
    assert "zstd" not in shown and IDS[1] in shown


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return path


def test_a_zip_file_is_an_archive_too(tmp_path: Path) -> None:
    """Expected: as of a tar, by last names. Broken: an artifact, as a CI system hands it out, is no store."""
    path = zipped(tmp_path / "a.zip", {f"../../{name}.ndjson": session(name) for name in IDS} | {"x/": b"", "y": b""})
    assert {one.session.id for one in Store(path).load_set("label:kernels")} == {*IDS}
    content = bytearray(zipped(tmp_path / "b.zip", {f"{IDS[0]}.ndjson": session(IDS[0])}).read_bytes())
    content[6] |= 1  # "encrypted", in the file's own header and in the list
    content[content.index(b"PK\1\2") + 8] |= 1
    (tmp_path / "b.zip").write_bytes(content)
    with pytest.raises(ResultError, match=r"no archive.*encrypted"):
        Store(tmp_path / "b.zip")


def test_a_folder_of_artifacts_is_imported_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected: results in sub-folders, ZIP files and tars, each once; a damaged archive is named, one without results
    is not. Broken: three hundred calls of import, or one bad artifact that stops all."""
    artifacts, store = tmp_path / "artifacts", tmp_path / "store"
    (artifacts / "run-1/results").mkdir(parents=True)
    (artifacts / f"run-1/results/{IDS[0]}.ndjson").write_bytes(session(IDS[0]))
    zipped(artifacts / "run-2.zip", {f"results/{name}.ndjson": session(name) for name in IDS[:2]})
    archived(artifacts / "run-1/old.tar.xz", {f"{IDS[2]}.ndjson": session(IDS[2])})
    zipped(artifacts / "logs.zip", {"log.txt": b"no result"})
    assert main(["--store", str(store), "import", str(artifacts)]) == Status.DONE
    assert "3 new, 1 there already" in capsys.readouterr().out
    assert sorted(one.id for one in Store(store).summaries()) == [*IDS]
    (artifacts / "cut.zip").write_bytes((artifacts / "run-2.zip").read_bytes()[:-30])
    assert main(["--store", str(store), "import", str(artifacts)]) == Status.RESULT
    assert "cut.zip: not taken" in capsys.readouterr().err
    assert main(["--store", str(store), "import", str(artifacts / "run-2.zip")]) == Status.DONE
