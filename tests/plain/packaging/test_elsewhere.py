"""Which other systems are tried, what is held against the promise there, and what is left behind: nothing.

Programs that need root are stand-ins, but for the last test, which makes a bare Debian."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from kernometer.targets.base import Deadline
from tests.support.checkout import ROOT
from tests.support.targets import debian

TABLES = """Linux 6.18 x86_64 on vm: 105 rows measured in 1 session.
operation                           linux    mono  hybrid   micro  linux  micro
"""
#: Root's programs; the one that makes a root notes its words.
STAND_INS = {
    "id": "echo 0",
    "mount": "",
    "setsid": 'exec "$@"',
    "unshare": 'while [[ $1 == --* ]]; do [ $1 != --propagation ] || shift; shift; done; exec "$@"',
    "mmdebstrap": """echo "$@" >"$NOTES"; cat "${@: -1}" >>"$NOTES" 2>/dev/null; [ -z "$MIRROR_FAILS" ] || {
echo 'I: trying'; echo 'E: apt-get update failed' >&2; exit 25; }
for word; do case $word in */root) root=$word ;; esac; done
mkdir -p "$root/etc/sudoers.d" "$root/proc" "$root/sys" "$root/home" "$root/usr/local/share/ca-certificates\"""",
    "chroot": """[[ $1 == --userspec=* ]] || exit 0
mkdir -p "$2/home/somebody/kernometer/build"; echo page >"$2/home/somebody/kernometer/build/report.html"
echo "$@" >>"$NOTES"
case ${@: -1} in *make\\ run) printf %s "$PRINTED"; exit $RUN_STATUS ;; *distribution) exit $TESTS_STATUS ;;
*) HOME=$2/home/somebody exec bash -c "${@: -1}" ;; esac""",
}


class Checkout:
    """A repository with the script, on a system of which a test says what it is."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.notes, self.temporary = folder / "checkout", folder / "notes", folder / "tmp"
        self.release, self.programs = folder / "os-release", folder / "bin"
        for each in (self.folder / "scripts", self.folder / ".venv/bin", self.temporary, self.programs):
            each.mkdir(parents=True)
        text = (ROOT / "scripts/elsewhere").read_text()
        assert text.count("release=/etc/os-release\n") == 1
        self.script = self.folder / "scripts/elsewhere"
        self.script.write_text(text.replace("/etc/os-release", str(self.release)))
        self.script.chmod(0o755)
        (self.folder / ".venv/bin/python").symlink_to(sys.executable)
        (self.folder / "src").symlink_to(ROOT / "src")
        self.is_system("debian", "12", "bookworm")
        sources = folder / "sources.list"
        key = "[signed-by=/usr/share/keyrings/one.gpg]"
        sources.write_text(
            f"deb {key} http://mirror.example/debian bookworm main\n"
            f"deb {key} http://mirror.example/security bookworm-security main\n"
            "deb http://other.example/ubuntu noble main universe\ndeb http://third.example stable main\n"
        )
        self.add("apt-config", f"[ $1 = dump ] || printf \"file='{sources}'\\nparts='/nowhere'\\n\"")
        for name, program in STAND_INS.items():
            self.add(name, program)
        for words in (("init", "-q"), ("add", "scripts"), ("commit", "-q", "-m", "one")):
            identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
            subprocess.run(["git", *identity, "-C", str(self.folder), *words], check=True, timeout=60)

    def add(self, name: str, script: str) -> None:
        (self.programs / name).write_text(f"#!/bin/bash\n{script}\n")
        (self.programs / name).chmod(0o755)

    def is_system(self, name: str, version: str, codename: str) -> None:
        self.release.write_text(f'ID={name}\nVERSION_ID="{version}"\nVERSION_CODENAME={codename}\n')

    def start(self, *words: str, settings: Mapping[str, str]) -> subprocess.Popen[str]:
        given = {"PRINTED": TABLES, "RUN_STATUS": "0", "TESTS_STATUS": "0", "MIRROR_FAILS": "", **settings}
        path = f"{self.programs}:{os.environ['PATH']}"
        return subprocess.Popen(
            [str(self.script), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **given, "PATH": path, "TMPDIR": str(self.temporary), "NOTES": str(self.notes)},
        )

    def run(self, *words: str, **settings: str) -> tuple[int, str]:
        """Status, and what it says; nothing is left of it."""
        with self.start(*words, settings=settings) as running:
            out, wrong = running.communicate(timeout=120)
        assert list(self.temporary.iterdir()) == []
        return running.returncode, out + wrong


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


@pytest.mark.parametrize(
    ("system", "tried"),
    [
        (("debian", "12", "bookworm"), ["debian-13"]),
        (("debian", "13", "trixie"), ["debian-12"]),
        (("ubuntu", "24.04", "noble"), ["debian-12", "debian-13"]),
        (("fedora", "41", ""), ["debian-12", "debian-13"]),
    ],
)
def test_the_promised_debians_that_this_system_is_not_are_tried(
    checkout: Checkout, system: tuple[str, str, str], tried: list[str]
) -> None:
    checkout.is_system(*system)
    status, said = checkout.run("--show")
    assert status == 0
    assert [line.split()[1].rstrip(",") for line in said.splitlines()] == tried


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (("debian-13",), "http://mirror.example/debian http://mirror.example/security"),
        (("ubuntu-24.04",), "the mirror that mmdebstrap knows"),
        (("--mirror", "http://mine.example/d", "debian-13"), "http://mine.example/d"),
    ],
)
def test_a_system_comes_from_the_mirror_that_this_one_has(
    checkout: Checkout, words: tuple[str, ...], place: str
) -> None:
    """Expected: other suites of this distribution's own mirrors. Broken: a mirror that is not within reach."""
    assert checkout.run("--show", *words) == (0, f"elsewhere: {words[-1]}, from {place}\n")


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("debian-11",), "no such system: debian-11"),
        (("--fast",), "no such option: --fast"),
        (("--minutes",), "--minutes needs a value"),
        (("--minutes", "0"), "--minutes is a whole number from 1 to 9999, not '0'"),
        (("debian-13", "--"), "-- needs a command after it"),
    ],
)
def test_wrong_words_are_refused_before_anything_is_made(
    checkout: Checkout, words: tuple[str, ...], wrong: str
) -> None:
    status, said = checkout.run(*words)
    assert status == 2
    assert said.splitlines()[0] == f"elsewhere: error: {wrong}"
    assert not checkout.notes.exists()


def test_help_names_every_status_that_there_is(checkout: Checkout) -> None:
    status, said = checkout.run("--help")
    assert status == 0
    assert max(map(len, said.splitlines())) <= 80
    text = checkout.script.read_text()
    told = said.partition("Exit status: ")[2]
    given = set(re.findall(r"\b(?:fail|stop) (\d+)", text))
    assert given == {"1", "2", "3", "4", "6", "130"}
    assert given | {"0"} == set(re.findall(r"(?:^|[;\n] ?)(\d+) ", told))


def test_a_system_that_is_as_promised(checkout: Checkout) -> None:
    """Expected: a root of the other suite with the keys of this one's sources; both steps, by an ordinary user."""
    status, said = checkout.run("debian-13")
    assert status == 0, said
    assert said.splitlines()[-1].startswith("elsewhere: debian-13: all is as promised (")
    notes = checkout.notes.read_text()
    assert "--variant=minbase" in notes
    assert "URIs: http://mirror.example/debian\nSuites: trixie\nComponents: main\n" in notes
    assert "URIs: http://mirror.example/security\nSuites: trixie-security\n" in notes
    assert "Signed-By: /usr/share/keyrings/one.gpg" in notes
    assert "other.example" not in notes
    steps = [line for line in notes.splitlines() if "--userspec=somebody:somebody" in line]
    assert [step.rpartition("; ")[2] for step in steps] == ["make run", "make test-distribution"]


@pytest.mark.parametrize(
    ("settings", "status", "wrong"),
    [
        ({"RUN_STATUS": "1"}, 1, "debian-13: make run: status 1"),
        ({"TESTS_STATUS": "2"}, 1, "debian-13: make test-distribution: status 2"),
        ({"PRINTED": ""}, 1, "debian-13: make run has no first table"),
        ({"PRINTED": TABLES.splitlines()[0]}, 1, "debian-13: make run has no second table"),
        ({"PRINTED": TABLES.replace("hybrid", "")}, 1, "debian-13: make run has no second table"),
        ({"MIRROR_FAILS": "yes"}, 3, "debian-13 could not be made"),
    ],
)
def test_what_is_not_as_promised_is_a_failure(
    checkout: Checkout, settings: dict[str, str], status: int, wrong: str
) -> None:
    """Expected: its cause in a line. Broken: make run has no second table, and status 0."""
    found, said = checkout.run("debian-13", **settings)
    assert found == status, said
    assert f"elsewhere: error: {wrong}" in said
    assert "as promised" not in said


def test_the_first_failure_is_the_status_of_all(checkout: Checkout) -> None:
    assert checkout.run("debian-12", "debian-13", MIRROR_FAILS="yes")[0] == 3
    status, said = checkout.run("debian-12", "debian-13", "--", 'test "$CODE" = 5', CODE="5")
    assert status == 0, said
    assert said.count(": done in ") == 4
    assert "as promised" not in said  # nothing of that was tried


def test_what_is_missing_here_is_named(checkout: Checkout) -> None:
    (checkout.programs / "mmdebstrap").unlink()
    for name in ("bash", "dirname", "unshare", "setsid", "git", "tar", "timeout", "mkfifo"):
        if not (checkout.programs / name).exists():
            (checkout.programs / name).symlink_to(str(shutil.which(name)))
    text = checkout.script.read_text()
    checkout.script.write_text(text.replace("PATH=$PATH:/usr/sbin:/sbin", f"PATH={checkout.programs}"))
    status, said = checkout.run("debian-13")
    assert status == 6
    assert "there is no mmdebstrap here" in said


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 130), (signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_run_that_is_ended_leaves_nothing(checkout: Checkout, number: signal.Signals, status: int) -> None:
    """Expected: what runs there ends, and the folder is gone, even after SIGKILL. Broken: a system's root is left."""
    pid = checkout.temporary.with_name("pid")
    words = ("debian-13", "--", f"echo $$ >{pid}; exec sleep 1000")
    with checkout.start(*words, settings={}) as running:
        until = Deadline.after(60)
        while not (pid.exists() and pid.read_text()) and not until.passed:
            time.sleep(0.05)
        running.send_signal(number)
        assert running.wait(60) == status
    until = Deadline.after(60)
    while list(checkout.temporary.iterdir()) and not until.passed:
        time.sleep(0.05)
    os.kill(int(pid.read_text()), signal.SIGKILL)  # without namespaces it is its own
    assert list(checkout.temporary.iterdir()) == []


def test_its_time_is_limited(checkout: Checkout) -> None:
    text = checkout.script.read_text()
    assert text.count("most=$(($4 * 60))") == 1
    checkout.script.write_text(text.replace("most=$(($4 * 60))", "most=$(($4 * 3))"))
    status, said = checkout.run("--minutes", "1", "debian-13", "--", "sleep 1000")
    assert status == 4, said
    assert "its time was up" in said


def test_no_other_folder_is_removed(checkout: Checkout, tmp_path: Path) -> None:
    """Expected: the part that removes a folder takes none but its own. Broken: a home is gone."""
    (tmp_path / "home").mkdir()
    status, said = checkout.run("--supervise", str(tmp_path / "home"), "debian-13", "trixie", "1")
    assert status == 2
    assert "not a folder of this script's" in said
    assert (tmp_path / "home").is_dir()


@pytest.mark.parametrize(
    ("failing", "status"), [("", 0), ("test", 1), ("test-elsewhere", 1), ("test test-elsewhere", 1)]
)
def test_continuous_integration_tries_both_whatever_the_first_says(tmp_path: Path, failing: str, status: int) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci/run")
    make = tmp_path / "make"
    make.write_text('#!/bin/bash\necho "$1"\n[[ " $FAILING " != *" $1 "* ]]\n')
    make.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        [str(tmp_path / ".ci/run")],
        env={**os.environ, "PATH": path, "FAILING": failing},
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout.split()) == (status, ["test", "test-elsewhere"])


@pytest.mark.slow(minutes=0.6)
@pytest.mark.skipif(shutil.which("mmdebstrap") is None, reason="there is no mmdebstrap here")
@pytest.mark.skipif(os.geteuid() != 0, reason="a bare root is made by root")
@pytest.mark.skipif(debian.missing() != "", reason=debian.missing())
def test_a_bare_debian_has_a_user_with_sudo_and_nothing_of_this_systems(tmp_path: Path) -> None:
    """Expected: a clean checkout, this system's files out of reach, and nothing of it afterwards."""
    (tmp_path / "here").touch()
    look = f"id -un; sudo -n id -un; git status --short; ls {tmp_path}/here; . /etc/os-release; echo $VERSION_CODENAME"
    words = ["scripts/elsewhere", "debian-13", "--", f"{look}; cut -d ' ' -f 5 /proc/self/mountinfo"]
    done = subprocess.run(
        words,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    user, root, *rest = [line for line in done.stdout.splitlines() if not line.startswith("elsewhere: ")]
    assert (user, root) == ("somebody", "root")
    assert " ".join(rest[-5:]) == "trixie /proc /sys /dev/shm /dev/pts"
    assert "No such file" in done.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["here"]
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()
