"""The guest's first file system: do other readers of cpio find in it what we put there?"""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest

from kernometer.guests.images import initramfs
from kernometer.guests.images.initramfs import Entry, archive, entries
from kernometer.guests.inside import programs


def records(data: bytes) -> dict[str, tuple[dict[str, int], bytes]]:
    """A reader of our own: name to (header fields, data)."""
    names = (
        "ino",
        "mode",
        "uid",
        "gid",
        "nlink",
        "mtime",
        "size",
        "devmajor",
        "devminor",
        "major",
        "minor",
        "name",
        "check",
    )
    found: dict[str, tuple[dict[str, int], bytes]] = {}
    at = 0
    while True:
        assert data[at : at + 6] == b"070701"
        head = {name: int(data[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i, name in enumerate(names)}
        name = data[at + 110 : at + 110 + head["name"] - 1].decode()
        start = (at + 110 + head["name"] + 3) & ~3
        if name == "TRAILER!!!":
            assert set(data[start:]) <= {0}
            return found
        found[name] = (head, data[start : start + head["size"]])
        at = (start + head["size"] + 3) & ~3


GUEST = entries(b"init!", b"the probe", b"busy")


def test_busybox_lists_what_was_put_in() -> None:
    """Expected: every name, by a reader that is not ours. Broken: padding is off by one and all is garbage."""
    listed = subprocess.run(
        ["busybox", "cpio", "-t"], input=archive(GUEST), capture_output=True, timeout=60, check=True
    ).stdout.decode()
    assert listed.split() == sorted(entry.name for entry in GUEST)


def test_busybox_extracts_the_same_bytes(tmp_path: Path) -> None:
    """Expected: contents and modes survive. Broken: a file is cut, or not executable, and the guest panics."""
    plain = tuple(entry for entry in GUEST if not stat.S_ISCHR(entry.mode))
    subprocess.run(["busybox", "cpio", "-id"], input=archive(plain), cwd=tmp_path, timeout=60, check=True)
    assert (tmp_path / "init").read_bytes() == b"init!"
    assert (tmp_path / "init").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "bin/sh").readlink() == Path("busybox")


def test_device_nodes_are_records_and_need_no_root() -> None:
    """Expected: console 5:1, null 1:3, zero 1:5 as character devices. Broken: the kernel says it cannot open one."""
    found = records(archive(GUEST))
    nodes = {name: (head["major"], head["minor"]) for name, (head, _) in found.items() if stat.S_ISCHR(head["mode"])}
    assert nodes == {"dev/console": (5, 1), "dev/null": (1, 3), "dev/zero": (1, 5)}


def test_equal_contents_give_equal_bytes_whatever_their_order() -> None:
    """Expected: the same archive, times 0. Broken: a time or an order comes in, and counts differ between boots."""
    assert archive(tuple(reversed(GUEST))) == archive(GUEST)
    assert {head["mtime"] for head, _ in records(archive(GUEST)).values()} == {0}


@pytest.mark.parametrize("size", range(9))
def test_every_length_of_name_and_data_is_padded(size: int) -> None:
    """Expected: what follows is found at all lengths. Broken: right for multiples of four alone."""
    made = (Entry("a" * (size + 1), stat.S_IFREG | 0o644, b"x" * size), Entry("b", stat.S_IFREG | 0o644, b"end"))
    found = records(archive(made))
    assert found["a" * (size + 1)][1] == b"x" * size
    assert found["b"][1] == b"end"


def test_further_files_have_their_folders_and_programs_can_be_executed() -> None:
    """Expected: each folder once, before what is in it. Broken: the kernel drops a file whose folder is not there."""
    extra = {"bin/tcc": b"t", "usr/lib/tcc/include/a.h": b"a", "usr/lib/tcc/b.a": b"b", "disk/x": b""}
    made = entries(b"i", b"p", b"busy", extra)
    listed = list(records(archive(made)))
    assert len(listed) == len(made)
    for name in listed:
        assert "/" not in name or name.rpartition("/")[0] in listed[: listed.index(name)]
    modes = {entry.name: entry.mode for entry in made}
    assert modes["bin/tcc"] == stat.S_IFREG | 0o755
    assert modes["usr/lib/tcc/b.a"] == stat.S_IFREG | 0o644
    assert modes["usr/lib"] == stat.S_IFDIR | 0o755


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../b", "a//b", "a/", ".", "", "init", "bin/sh", "dev", "init/x"])
def test_a_further_file_that_replaces_one_or_leads_elsewhere_is_refused(name: str) -> None:
    """Expected: ValueError. Broken: two records of one name, of which the kernel takes the last."""
    with pytest.raises(ValueError, match="cannot be the name"):
        entries(b"i", b"p", b"busy", {name: b""})


def test_a_file_is_no_folder_of_another() -> None:
    """Expected: ValueError. Broken: the kernel leaves the second one out and says nothing."""
    with pytest.raises(ValueError, match="'a/b'"):
        entries(b"i", b"p", b"", {"a": b"", "a/b": b""})


def test_names_and_limits_are_those_of_init() -> None:
    """Expected: the constants of init.c and of its parts. Broken: one was changed alone."""
    folder = Path(programs.__file__).parent
    source = "".join((folder / f"init{part}").read_text() for part in (".c", ".h", "_command.c", "_devices.c"))
    assert f"#define COMMAND_BYTES {programs.MAX_BYTES}\n" in source
    assert f"#define COMMAND_WORDS {programs.MAX_WORDS}\n" in source
    waits = (Path(__file__).parents[3] / "probe/wait.c").read_text()
    assert f"#define ROOM {programs.MAX_BYTES}\n" in waits
    assert f"#define WORDS {programs.MAX_WORDS}\n" in waits
    assert f'#define COMMAND "{programs.COMMAND}"\n' in source
    assert f'#define BEFORE "{programs.BEFORE}"\n' in source
    assert f'#define DRIVERS_FILE "/{initramfs.DRIVERS}"\n' in source


def test_without_busybox_there_is_no_link_to_it() -> None:
    """Expected: neither. Broken: links that lead nowhere, and a row that runs a shell fails in a strange way."""
    assert not any("busybox" in str(entry) for entry in entries(b"i", b"p"))


def test_init_refuses_to_run_on_a_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: status 2 and a sentence. Broken: it mounts over this machine's /proc and powers it off."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    done = subprocess.run([str(programs.init())], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "first process of a guest" in done.stderr


@pytest.mark.parametrize("compiler", ["gcc", "clang", "musl-gcc", "aarch64-linux-gnu-gcc", "riscv64-linux-gnu-gcc"])
def test_init_compiles_without_a_warning(compiler: str, tmp_path: Path) -> None:
    """Expected: silence."""
    sources = [str(path) for path in Path(programs.__file__).parent.glob("init*.c")]
    words = [compiler, "-std=gnu99", "-Wall", "-Wextra", "-pedantic", "-O2", "-c", *sources]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list(tmp_path.glob("*.o"))) == len(sources) == 5
