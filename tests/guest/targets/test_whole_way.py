"""A real system with a disk of its own, a Debian that we treat as foreign: from its loader to records and off."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kernometer.errors import TargetError
from kernometer.targets.base import Deadline, Job
from kernometer.targets.console import ConsoleTarget
from tests.support.targets import debian

#: Beyond any machine: a boot takes 40 seconds on an idle one.
LIMIT = 1500
#: Of a test, with the image's making before the first.
pytestmark = pytest.mark.timeout(2400)

DESCRIPTION = f"""
system = "Debian, as if it were foreign"
tried = "by this test"
[boot]
bus = "virtio"
memory = 1024
panic = ['Kernel panic - not syncing: ']
seconds = 500
[login]
user = "root"
password = "{debian.PASSWORD}"
[shell]
setup = ["dmesg -n 1"]
[files]
commands = ["mount /mnt"]
[compile]
command = "tcc -o {{probe}} {{source}} -lpthread"
probe = "/opt/probe"
[run]
output = "/opt/output"
"""
SERIAL = """way = "serial"
folder = "/opt"
encoding = "base64"
packed = true
decode = "base64 -d <{encoded} | gzip -d >{file}"
"""
NETWORK = """way = "network"
folder = "/opt"
card = "virtio-net-pci"
commands = [
    "modprobe virtio_net; card=$(ls /sys/class/net | grep -v lo)",
    "busybox ip link set $card up; busybox ip addr add 10.0.2.15/24 dev $card",
    "busybox tftp -g -r {name} -l {source} {server}",
]"""


@pytest.fixture(scope="module")
def image(guest_cache: Path) -> Path:
    """Built once for each state of debian.py."""
    if why := debian.missing():
        pytest.skip(f"the image cannot be built: {why}")
    made = guest_cache / f"debian-{hashlib.sha256(Path(debian.__file__).read_bytes()).hexdigest()[:16]}.img"
    if not made.is_file():
        for old in guest_cache.glob("debian-*.img"):
            old.unlink()
        debian.build(made)
    return made


def target(folder: Path, image: Path, described: str) -> ConsoleTarget:
    (folder / "debian.toml").write_text(described)
    return ConsoleTarget.from_spec(f"{folder / 'debian.toml'}:{image}")


def records(lines: list[bytes], kind: str) -> dict[str, dict[str, object]]:
    found = [json.loads(line) for line in lines]
    return {record["row"]: record for record in found if record["type"] == kind}


@pytest.mark.guest
@pytest.mark.slow(minutes=1.3)
def test_run_measures_it_by_time_and_the_image_stays_as_it_was(image: Path, tmp_path: Path) -> None:
    """Expected: `kernometer run` keeps a session: source off the CD, compiled there, run. The guest writes to its disk;
    the file's bytes stay. Broken: any step, or a disk that remembers."""
    before = hashlib.file_digest(image.open("rb"), "sha256").hexdigest()
    made = target(tmp_path, image, DESCRIPTION)
    words = ["run", "--on", made.name, "--runs", "1", "--seconds", "0.1", "--json", "syscall/getppid", "proc/fork-exit"]
    done = subprocess.run(
        [sys.executable, "-m", "kernometer", *words],
        env={**os.environ, "XDG_DATA_HOME": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "emulated" in done.stderr or "kvm" in done.stdout
    [result] = (tmp_path / "data").rglob("*.ndjson")
    kept = [json.loads(line) for line in result.read_text().splitlines()]
    header = next(record for record in kept if record["type"] == "header")
    assert header["uname"]["nodename"] in ("foreign", "(none)")
    assert header["probe"]["flags"] == "tcc -lpthread"
    assert {record["row"] for record in kept if record["type"] == "run"} >= {"syscall/getppid", "proc/fork-exit"}
    assert hashlib.file_digest(image.open("rb"), "sha256").hexdigest() == before


@pytest.mark.guest
@pytest.mark.slow(minutes=1.5)
def test_by_path_it_is_a_guest_whose_rows_begin_from_one_state(image: Path, tmp_path: Path) -> None:
    """Expected: booted and saved once, the source by the serial line; two sessions are equal to the last sample and
    event, fork among them. Broken: a source that lost a byte on its way; a state that is made anew for each session;
    a disk, or the console, that the samples contain."""
    described = DESCRIPTION.replace('[files]\ncommands = ["mount /mnt"]', f"[files]\n{SERIAL}")
    (tmp_path / "debian.toml").write_text(described)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_DATA_HOME": str(tmp_path / "data")}

    def kernometer(*words: str) -> None:
        command = (sys.executable, "-m", "kernometer", *words)
        subprocess.run(command, env=environment, capture_output=True, timeout=LIMIT, check=True)

    kernometer("guest", "add", str(tmp_path / "debian.toml"), str(image), "--name", "foreign")
    [memory] = (tmp_path / "cache/kernometer/states").glob("*/memory")
    saved = memory.stat().st_mtime_ns
    for _ in range(2):
        kernometer("run", "--by", "path", "--on", "qemu:foreign", "syscall/getppid@", "proc/fork-exit@")
    assert memory.stat().st_mtime_ns == saved
    first, second = (path.read_bytes().splitlines() for path in (tmp_path / "data").rglob("*.ndjson"))
    assert records(first, "events") == records(second, "events")
    runs = [{row: run["samples"] for row, run in records(lines, "run").items()} for lines in (first, second)]
    assert runs[0] == runs[1]
    assert {"syscall/getppid", "proc/fork-exit"} == set(runs[0])


@pytest.mark.guest
@pytest.mark.slow(minutes=0.24)
def test_with_the_source_by_the_network(image: Path, tmp_path: Path) -> None:
    """Expected: QEMU's own TFTP serves it; a server of the host's own is not reached. Broken: a foreign system with
    the host's network."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        knock = f'    "busybox nc -w 2 {{server}} {server.getsockname()[1]} </dev/null || true",\n'
        network = NETWORK.replace('    "busybox tftp', f'{knock}    "busybox tftp')
        described = DESCRIPTION.replace('[files]\ncommands = ["mount /mnt"]', f"[files]\n{network}")
        job = Job(("--list", "--json", "syscall/getppid"))
        lines = list(target(tmp_path, image, described).run(job, Deadline.after(LIMIT)))
        with pytest.raises(BlockingIOError):
            server.accept()
    assert json.loads(lines[0])["name"] == "syscall/getppid"


@pytest.mark.guest
@pytest.mark.slow(minutes=0.3)
def test_a_real_login_refuses_a_wrong_password(image: Path, tmp_path: Path) -> None:
    """Expected: an error that names the step, in seconds after the prompt. Broken: the password is typed for ever."""
    made = target(tmp_path, image, DESCRIPTION.replace(debian.PASSWORD, "5 horses"))
    with pytest.raises(TargetError, match="login: 'root' with that password was refused"):
        list(made.run(Job(()), Deadline.after(LIMIT)))
