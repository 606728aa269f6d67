"""`guest boot` as a user calls it, on a terminal and without one, with a QEMU of the test's own.

With the real one: tests/guest/guests/test_attended.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernometer.cache import sha256
from kernometer.guests import store
from kernometer.guests.inside import tools
from tests.support.checkout import share_compiled
from tests.support.cli.terminals import COMMAND, SECONDS, alive, on_terminal, settings, wait_for
from tests.support.probe.running import give_probe

#: What every fake QEMU begins with: it says how it was started, and can set the terminal as QEMU does. It knows no KVM,
#: so that by time it is not started twice.
HEAD = """\
import fcntl, os, select, signal, sys, time, tty
from pathlib import Path
if '--version' in sys.argv:
    print('QEMU emulator version 7.2.22')
    sys.exit()
if 'kvm' in sys.argv:
    sys.exit('no kvm')
STATE = Path(os.environ['FAKE_STATE'])
(STATE / 'argv').write_text('\\n'.join(sys.argv))
(STATE / 'pid').write_text(f"{os.getpid()} {os.getcwd()}")
def raw():
    tty.setraw(0)
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_NONBLOCK)
def say(text): os.write(1, text.encode())
def line():
    found = b''
    while not found.endswith(b'\\n'): found += os.read(0, 1)
    return found.decode()
"""


@pytest.fixture(scope="module")
def cache(request: pytest.FixtureRequest, frontends_probe: Path) -> Iterator[Path]:
    """With a guest linux-9.9 that no QEMU would boot, and a compiler that compiles nothing: what a real one takes to
    be made is longer than all tests. init is compiled into it once a checkout."""
    kept = request.config.cache
    assert kept is not None
    folder = Path(kept.mkdir("guest-boot")).resolve()
    give_probe(folder, frontends_probe)
    share_compiled(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        patch.setattr(tools, "build", no_compiler)
        tools.toolchain()
        with store.new_folder() as made:
            (made / "vmlinux").write_bytes(b"a kernel")
            manifest = store.Manifest(
                name="linux-9.9",
                package="linux-image-9.9.0-amd64",
                version="9.9.1-1",
                release="9.9.0-amd64",
                package_sha256="0" * 64,
                kernel_sha256=sha256(b"a kernel"),
                kernel_bytes=8,
            )
            store.keep(made, manifest)
        yield folder


def no_compiler(scratch: Path) -> Path:
    (scratch / "tcc" / "bin").mkdir(parents=True)
    (scratch / "tcc" / "bin" / "tcc").touch()
    return scratch / "tcc"


class Fake:
    """A QEMU that is a script, and what it left."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        for name in ("bin", "state", "tmp"):
            (folder / name).mkdir()
        self.environment = os.environ | {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(cache),
            "TMPDIR": str(folder / "tmp"),
            "FAKE_STATE": str(folder / "state"),
        }

    def runs(self, script: str) -> None:
        program = self.folder / "bin" / "qemu-system-x86_64"
        program.write_text(f"#!{sys.executable}\n{HEAD}{script}\n")
        program.chmod(0o755)

    @property
    def argv(self) -> list[str]:
        return (self.folder / "state" / "argv").read_text().splitlines()

    @property
    def pid(self) -> int:
        return int((self.folder / "state" / "pid").read_text().split()[0])

    def nothing_is_left(self) -> bool:
        return not alive(self.pid) and list((self.folder / "tmp").iterdir()) == []


@pytest.fixture
def fake(tmp_path: Path, cache: Path) -> Fake:
    return Fake(tmp_path, cache)


def test_dry_run_prints_the_command_and_boots_nothing(fake: Fake) -> None:
    fake.runs("")
    done = subprocess.run(
        (*COMMAND, "--dry-run", "--gdb", "--by", "path", "linux-9.9+mitigations=off"),
        capture_output=True, text=True, env=fake.environment, timeout=SECONDS, check=True,
    )  # fmt: skip  # as a command line
    assert "-serial chardev:terminal" in done.stdout
    assert "-gdb unix:gdb,server=on,wait=off -S" in done.stdout
    assert "mitigations=off'" in done.stdout
    assert "-icount shift=0,sleep=on" in done.stdout
    assert not (fake.folder / "state" / "argv").exists()


def test_what_is_printed_is_what_is_started(fake: Fake) -> None:
    fake.runs("(STATE / 'there').write_text(' '.join(sorted(os.listdir())))")
    with on_terminal((*COMMAND, "--by", "path", "qemu:linux-9.9"), fake.environment) as terminal:
        assert terminal.status() == 0
    done = subprocess.run(
        (*COMMAND, "--dry-run", "--by", "path", "linux-9.9"), capture_output=True, env=fake.environment, check=True,
        text=True, timeout=SECONDS,
    )  # fmt: skip  # as a command line
    assert " ".join(fake.argv[1:]) in done.stdout.replace("'", "")
    assert "initrd" in (fake.folder / "state" / "there").read_text().split()
    assert fake.nothing_is_left()


@pytest.mark.parametrize(
    ("end", "status", "said"),
    [
        ("sys.exit(0)", 0, b""),
        ("sys.exit(1)", 3, b"QEMU ended with status 1"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 3, b"QEMU ended with status -9"),
    ],
)
def test_the_terminal_is_as_it_was_however_qemu_ends(fake: Fake, end: str, status: int, said: bytes) -> None:
    """Expected: settings and blocking as before. Broken: a shell that shows nothing of what is typed."""
    fake.runs(f"raw(); say('raw'); {end}")
    with on_terminal((*COMMAND, "linux-9.9"), fake.environment) as terminal:
        before = settings(terminal)
        shown = terminal.see(b"raw")
        assert b"Ctrl-A x ends it at once" in shown
        assert terminal.status() == status
        assert settings(terminal) == before
        assert said in terminal.shown
    assert fake.nothing_is_left()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_front_end_that_is_told_to_end_takes_all_along(fake: Fake, number: signal.Signals) -> None:
    """Expected: QEMU gone, though it does not listen; folder gone; terminal as before. Broken: any of it stays."""
    fake.runs("signal.signal(15, signal.SIG_IGN); raw(); say('raw'); time.sleep(600)")
    with on_terminal((*COMMAND, "linux-9.9"), fake.environment) as terminal:
        before = settings(terminal)
        terminal.see(b"raw")
        terminal.process.send_signal(number)
        assert terminal.status() == 128 + number
        assert settings(terminal) == before
    assert fake.nothing_is_left()


def test_a_front_end_that_is_killed_asks_qemu_to_end(fake: Fake) -> None:
    """Expected: a QEMU that can put the terminal right is asked to. Broken: it runs on, or leaves the terminal raw."""
    fake.runs(
        "def leave(*_): (STATE / 'asked').touch(); sys.exit()\n"
        "signal.signal(15, leave); raw(); say(f'raw, started by {os.getppid()} '); time.sleep(600)"
    )
    shell = (
        "sh",
        "-c",
        '"$@"; while :; do sleep 1; done',
        "sh",
    )  # the terminal's session must not end with the front end
    with on_terminal((*shell, *COMMAND, "linux-9.9"), fake.environment) as terminal:
        terminal.see(b"raw, started by ")
        os.kill(int(terminal.see(b" ")), signal.SIGKILL)
        wait_for(lambda: not alive(fake.pid))
    assert (fake.folder / "state" / "asked").exists()


#: QEMU as it is where its main loop slept without a timer: it goes on once a signal wakes it.
ASLEEP = "signal.signal(signal.SIGCONT, lambda *_: say('awake'))\nsay('# ')\nsignal.pause()\nsay(' again')"


def test_a_qemu_that_sleeps_is_woken_on_a_terminal(fake: Fake) -> None:
    """Expected: it goes on, as it would with the next key. Broken: a guest whose clock stands still until then."""
    fake.runs(ASLEEP)
    with on_terminal((*COMMAND, "linux-9.9"), fake.environment) as terminal:
        assert b"awake" in terminal.see(b" again")
        assert terminal.status() == 0


@pytest.mark.parametrize(
    "before",
    ["", pytest.param("line()\nline()\n", marks=pytest.mark.slow(minutes=0.08))],
    ids=["lines to type", "all typed"],
)
def test_a_qemu_that_sleeps_is_woken_without_a_terminal(fake: Fake, before: str) -> None:
    """Expected: as on a terminal. Broken: with all lines typed, a wait for ever."""
    fake.runs(f"say('# ')\n{before}{ASLEEP}")
    assert typed(fake, b"one\n").stdout.endswith(b"awake again")


def test_ctrl_c_is_the_guests(fake: Fake) -> None:
    """Expected: a byte that the guest reads. Broken: the front end ends, and the guest with it."""
    fake.runs("raw(); say('raw')\nselect.select([0], [], [])\nsay(f'read {os.read(0, 9)}')")
    with on_terminal((*COMMAND, "linux-9.9"), fake.environment) as terminal:
        terminal.see(b"raw")
        terminal.type(b"\x03")
        terminal.see(rb"read b'\x03'")
        assert terminal.status() == 0


def test_gdb_says_how_to_attach_before_qemu_waits(fake: Fake) -> None:
    """Expected: the socket in the boot's folder, the kernel, the package of symbols, what stops it at its beginning."""
    fake.runs("say('started')")
    with on_terminal((*COMMAND, "--gdb", "linux-9.9"), fake.environment) as terminal:
        shown = terminal.see(b"started").decode()
        assert terminal.status() == 0
    socket = f"{(fake.folder / 'state' / 'pid').read_text().split()[1]}/gdb"
    assert (
        f"gdb -ex 'target remote {socket}' {fake.environment['XDG_CACHE_HOME']}/kernometer/guests/linux-9.9/vmlinux"
        in shown
    )
    assert "linux-image-9.9.0-amd64-dbg 9.9.1-1" in shown
    assert "hbreak" in shown
    assert fake.argv[-3:] == ["-gdb", "unix:gdb,server=on,wait=off", "-S"]


def typed(fake: Fake, text: bytes, seconds: float = SECONDS) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        (*COMMAND, "linux-9.9"), input=text, capture_output=True, env=fake.environment, timeout=seconds, check=False
    )


def test_without_a_terminal_lines_are_typed_at_prompts(fake: Fake) -> None:
    """Expected: nothing before the first prompt, then a line each, the last without a newline too, then exit.
    Broken: what comes before the guest listens is lost, and a long script overruns its serial line."""
    fake.runs(
        "def early(): return bool(select.select([0], [], [], 0.3)[0])\n"
        "for each in '[    0.5] early > words\\r\\n': say(each)\n"
        "for number in range(4):\n"
        "    assert not early()\n"
        "    say('/tmp # '); say('\\x1b[6n')\n"
        "    got = line()\n"
        "    for each in got: say(each)\n"  # a serial line's bytes come one by one
        "    (STATE / 'typed').open('a').write(got)\n"
    )
    done = typed(fake, b"one\ncat > 2\nthree")
    assert (fake.folder / "state" / "typed").read_text() == "one\ncat > 2\nthree\nexit\n"
    assert done.returncode == 0
    assert done.stdout.endswith(b"exit\n")
    assert b"Ctrl-A" not in done.stderr
    assert fake.nothing_is_left()


def test_a_program_that_reads_without_a_prompt_gets_its_line(fake: Fake) -> None:
    """Expected: typed after a while without output. Broken: both wait for one another."""
    fake.runs("say('# '); first = line(); say(first); say(line())")
    assert typed(fake, b"cat > file\ntext\n").stdout == b"# cat > file\ntext\n"


@pytest.mark.parametrize(
    ("script", "status", "said"),
    [
        ("sys.exit('no such machine')", 3, b"no such machine"),
        ("say('# '); line(); sys.exit(2)", 3, b"QEMU ended with status 2"),
        ("say('# '); time.sleep(600)", 3, b"A line of more than 4000 bytes"),
    ],
)
def test_what_goes_wrong_without_a_terminal_is_said(fake: Fake, script: str, status: int, said: bytes) -> None:
    fake.runs(script)
    long = b"x" * 5000 if "600" in script else b""
    done = typed(fake, b"a\n" + long + b"\n")
    assert done.returncode == status
    assert said in done.stderr
    assert fake.nothing_is_left()


def test_an_unknown_guest_says_how_to_add_it(fake: Fake) -> None:
    fake.runs("")
    done = subprocess.run(
        (*COMMAND, "linux-6.1"), capture_output=True, env=fake.environment, timeout=SECONDS, check=False
    )
    assert done.returncode == 6
    assert b"kernometer guest add linux 6.1" in done.stderr
