"""A system at its console, played by a script: does each step work, and does each that fails say so and end?"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from kernometer.cache import sha256
from kernometer.errors import MissingError, TargetError, UsageError
from kernometer.guests import store
from kernometer.guests.emulator.qemu import Machine
from kernometer.targets import console as console_module
from kernometer.targets.base import Deadline, Job
from kernometer.targets.console import ConsoleTarget
from kernometer.targets.consoles import attached, serial
from kernometer.targets.consoles.description import Description
from kernometer.targets.consoles.dialogue import Dialogue
from kernometer.targets.parse import target_of
from tests.support.probe.running import give_probe
from tests.support.targets.console_fixtures import DESCRIPTION, SOURCE, Plays
from tests.support.targets.foreign import RECORDS

WELL = "system = Foreign()\nsystem.log_in()\nsystem.serve()"
SERIAL = 'way = "serial"\nfolder = "/tmp"\nencoding = "base64"\ndecode = "base64 -d <{encoded} >{file}"'
PACKED = SERIAL.replace("decode = ", "packed = true\ndecode = ").replace(" >{file}", " | gzip -d >{file}")


def run(target: ConsoleTarget, *words: str, seconds: float = 60, max_bytes: int = 1 << 20) -> list[bytes]:
    return list(target.run(Job(words, "time", max_bytes=max_bytes), Deadline.after(seconds)))


def ended(tmp_path: Path) -> bool:
    """Whether the process that stands for QEMU is gone, and its folder."""
    gone = not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()
    return gone and list((tmp_path / "tmp").iterdir()) == []


def acting(on: dict[str, tuple[str, int]]) -> str:
    """A system that behaves but for these commands."""
    return f"system = Foreign({on!r})\nsystem.log_in()\nsystem.serve()"


def kept(tmp_path: Path) -> str:
    """Lines for a script that keep what was typed where it outlives the boot's folder."""
    return f"os.symlink({str(tmp_path / 'typed')!r}, 'typed')\n"


def test_the_whole_way(plays: Plays, tmp_path: Path) -> None:
    """Expected: the records between the markers; QEMU and its folder gone. Broken: any step."""
    assert run(plays(WELL)) == [line.encode() for line in RECORDS.splitlines()]
    assert ended(tmp_path)


def test_a_guest_whose_clock_stands_still_is_woken() -> None:
    """Expected: QEMU is woken while the console is silent, until it speaks. Broken: it sleeps with what was typed."""
    ours, theirs = socket.socketpair()
    console = serial.Console(ours, "console:x", wake=lambda: theirs.sendall(b"login: "))
    assert console.expect("boot", [re.compile(rb"login: $")], Deadline.after(20)) == 0


def test_what_is_typed_in_which_order(plays: Plays, tmp_path: Path) -> None:
    """Expected: prompt, check, setup, mount, checksum, compiler, probe, power-off. Broken: a step out of order."""
    target = plays(kept(tmp_path) + WELL, in_shell='setup = ["dmesg -n 1"]', in_files='commands = ["mount /mnt"]')
    run(target, "--by", "time", "a/b@x=1,y")
    typed = (tmp_path / "typed").read_text().splitlines()
    assert [line for line in typed if not line.startswith(("stty", "echo"))] == [
        "dmesg -n 1",
        "mount /mnt",
        "cksum /mnt/probe.c",
        "cc -O2 -o /opt/probe /mnt/probe.c -lpthread",
        "/opt/probe --by time a/b@x=1,y",
        "poweroff",
    ]


def test_what_describe_prints_is_what_is_started(plays: Plays) -> None:
    """Expected: the same words. Broken: --dry-run shows another command than was measured with."""
    target = plays("print(sys.argv[1:], file=sys.stderr)\nsys.exit(1)")
    with pytest.raises(TargetError) as caught:
        run(target)
    assert repr(list(target.describe(Job(()))[1:])) in caught.value.last_output


def test_a_command_longer_than_a_terminals_line_arrives_whole(plays: Plays, tmp_path: Path) -> None:
    """Expected: the words, quoted where they must be. Broken: cut off at 255 characters, as terminals do."""
    words = [f"fs/read@bufsize={size},blocks=2000" for size in range(1000, 1060)]
    hard = [*words[:20], 'it\'s $HOME and "more"; rm x \\', *words[20:], "ctx/*"]
    assert run(plays(kept(tmp_path) + WELL), *hard)
    [line] = [line for line in (tmp_path / "typed").read_text().splitlines() if "bufsize=1000" in line]
    assert shlex.split(line) == ["/opt/probe", *hard]


@pytest.mark.parametrize("word", ["x" * 300, "tab\there", "ü"])
def test_a_word_that_cannot_be_typed_is_refused(plays: Plays, word: str) -> None:
    """Expected: UsageError. Broken: another command runs than was meant."""
    with pytest.raises(UsageError, match="typed"):
        run(plays(WELL), word)


@pytest.mark.parametrize("described", [SERIAL, PACKED], ids=["plain", "packed"])
def test_a_file_by_the_serial_line_arrives_and_never_overflows_the_queue(
    described: str, plays: Plays, tmp_path: Path
) -> None:
    """Expected: the checksum of the source fits (the script computes it), with never more than 256 bytes under way.

    Broken: lines are lost in a terminal that holds no more, and the compiler meets half a program.
    """
    assert run(plays(kept(tmp_path) + WELL, in_files=described))
    assert "cksum /tmp/probe.c" in (tmp_path / "typed").read_text()


def test_a_question_that_may_come_is_answered_or_passed_over(plays: Plays) -> None:
    """Expected: both ways reach the shell. Broken: a wait for a question that is not asked."""
    step = "steps = [{ expect = 'Terminal type\\? *$', send = 'vt100', maybe = true }]"
    asks = "system = Foreign()\nsystem.log_in()\nsystem.say('Terminal type? ')\nassert system.hear() == 'vt100'\n"
    assert run(plays(WELL, in_login=step))
    assert run(plays(asks + "system.serve()", in_login=step))


def test_a_system_without_login_and_another_shell_first(plays: Plays) -> None:
    """Expected: no user is typed; the command that enters the shell is. Broken: a login is waited for."""
    described = 'system = "x"\n[boot]\nsteps = [{ expect = "boot> $", send = "go" }]\n[shell]\nenter = "exec /bin/sh"\n'
    described += '[compile]\nprobe = "/opt/probe"\n'
    script = (
        "system = Foreign()\nsystem.say('boot> ')\nassert system.hear() == 'go'\nsystem.say('% ')\n"
        "assert system.hear() == 'exec /bin/sh'\nsystem.serve()"
    )
    assert run(plays(script, described))


def test_records_come_while_the_system_still_runs(plays: Plays, tmp_path: Path) -> None:
    """Expected: by time the first record arrives before the rest is printed. Broken: no progress to be seen."""
    script = (
        "class Slow(Foreign):\n    def obey(self, typed):\n"
        "        if not typed.startswith('/opt/probe'): return super().obey(typed)\n"
        "        head, first, rest = GOOD.split('\\n', 2)\n        self.say(f'{head}\\n{first}\\n')\n"
        "        while not Path('seen').exists(): time.sleep(0.01)\n        self.say(rest)\n"
        "system = Slow()\nsystem.log_in()\nsystem.serve()"
    )
    stream = plays(script).run(Job((), "time"), Deadline.after(60))
    assert json.loads(next(stream))["type"] == "workload"
    (folder,) = (tmp_path / "tmp").iterdir()
    (folder / "seen").touch()
    assert len(list(stream)) == 1


def test_a_waiting_probe_keeps_its_output_in_a_file() -> None:
    """Expected: the probe waits; what it prints comes when it has ended. Broken: the serial line's interrupts fall into
    the samples of the guest that was saved so."""
    ours, theirs = socket.socketpair()
    described = msgspec.toml.decode(DESCRIPTION, type=Description)
    Dialogue(serial.Console(ours, "console:x"), described, Deadline.after(20)).wait()
    assert theirs.recv(1 << 10) == b"/opt/probe --wait >/opt/output 2>&1; cat /opt/output\r"


#: A record with a kernel's message in it.
TORN = "#kernometer begin 1\n" + RECORDS.replace('"run"', '"r[ 7.1] usb 1-1: new device\nun"') + "#kernometer end 2\n"
USB = '#kernometer begin 1\n[ 7.1] usb {"type":"run"}\n'
NO_FILE = "cksum: /mnt/probe.c: No such file\n"
NEVER_OFF = WELL.replace("system.serve()", "system.on['poweroff'] = ('halted\\n', 0)\nsystem.serve()")
DIES = "system = Foreign(); system.say('panic: no root\\nrebooting\\n'); forever()"
THREE = "#kernometer begin 1\n{}\n#kernometer end 3\n"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("system = Foreign(); system.say('Loading'); sys.exit(0)", "boot: the machine stopped"),
        ("print('qemu: no such machine', file=sys.stderr); sys.exit(1)", "machine stopped. QEMU said: qemu: no such"),
        ("sys.exit(1)", "boot: the machine stopped"),
        (DIES, "boot: the kernel died: panic: no root"),
        ("system = Foreign(); system.say('\\x1b[2J' + chr(0xdcff) * 99); sys.exit(0)", "boot: the machine stopped"),
        ("system = Foreign()\nwhile True: system.say('garbage\\n' * 9999)", "boot: more than 8,388,608 bytes"),
        ("system = Foreign(password='other'); system.log_in(); system.serve()", "login: 'root' .* was refused"),
        ("system = Foreign(echo=True); system.log_in(); system.serve()", "shell: 'ab' was to be heard alone"),
        (acting({"^cc ": ("sh: cc: not found\n", 127)}), "compile: .*left with status 127"),
        (acting({"^cc ": ("/opt: No space left on device\n", 1)}), "compile: .*left with status 1"),
        (acting({"^cksum": ("123 456 /mnt/probe.c\n", 0)}), "files: probe.c arrived with another checksum"),
        (acting({"^cksum": (NO_FILE, 1)}), "files: 'cksum /mnt/probe.c' left with status 1"),
        (acting({"=\\$": ("?\n", 0)}), "files: .* instead of a status"),
        (acting({"opt/probe$": ("Segmentation fault\n", 139)}), "never began"),
        (acting({"opt/probe$": ("#kernometer begin 1\n{}\n", 0)}), "stopped in the middle"),
        (acting({"opt/probe$": (THREE, 0)}), "3 records were sent and 1 arrived"),
        (acting({"opt/probe$": (TORN, 0)}), "run: a record was broken"),
        (acting({"opt/probe$": (USB, 0)}), "run: a record was broken"),
        (acting({"opt/probe$": ("#kernometer begin 1\npanic: VM\n", 0)}), "run: the kernel died: panic: VM"),
        (acting({"opt/probe$": ("{}\n" * 600_000, 0)}), "more than 1,048,576 bytes"),
        (NEVER_OFF, "power-off: the machine did not stop"),
    ],
)  # fmt: skip  # a case a line reads as the table that it is
def test_a_system_that_goes_wrong_is_an_error_that_names_the_step(
    plays: Plays, tmp_path: Path, script: str, words: str
) -> None:
    """Expected: TargetError with step and cause; QEMU and its folder gone. Broken: a hang, or half a result."""
    target = plays(script, DESCRIPTION.replace("[power_off]\nseconds = 20", "[power_off]\nseconds = 1"))
    with pytest.raises(TargetError, match=words) as raised:
        run(target)
    assert ("--dry-run" in raised.value.next_step) == ("QEMU said" in raised.value.text)
    assert ended(tmp_path)


@pytest.mark.parametrize(
    ("table", "script", "words"),
    [
        ("boot", "system = Foreign(); system.say('Loading'); forever()", "boot: 'login.*' did not come in 1 s"),
        ("login", "system = Foreign(); system.say('login: '); forever()", "login: .*assword.* did not come in 1 s"),
        ("shell", "system = Foreign(); system.log_in(); system.say('# '); forever()", "shell: .* did not come in 1 s"),
    ],
)
def test_a_step_that_hangs_ends_with_its_own_limit(
    plays: Plays, tmp_path: Path, table: str, script: str, words: str
) -> None:
    """Expected: the step's seconds decide. Broken: a mute system costs the whole session's time."""
    changed = DESCRIPTION.replace(f"[{table}]\nseconds = 20", f"[{table}]\nseconds = 1")
    changed = changed.replace(
        'password = "secret"\nseconds = 20', f'password = "secret"\nseconds = {1 if table == "login" else 20}'
    )
    with pytest.raises(TargetError, match=words):
        run(plays(script, changed), seconds=600)
    assert ended(tmp_path)


def test_a_run_that_hangs_ends_with_the_deadline_or_its_silence(
    plays: Plays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: an error at the earlier of the two. Broken: a wait without a limit."""
    script = "Foreign.obey_well = Foreign.obey\ndef obey(self, typed):\n    if 'opt/probe' in typed and '-o' not in typed: forever()\n    self.obey_well(typed)\nForeign.obey = obey\n"  # noqa: E501 - a script in a script
    with pytest.raises(TargetError, match="run: it was not done when its time was up"):
        run(plays(script + WELL), seconds=4)
    monkeypatch.setattr(console_module, "SILENCE_SECONDS", 0.5)
    with pytest.raises(TargetError, match="run: it was not done after 0 s without output"):
        run(plays(script + WELL), seconds=600)
    assert ended(tmp_path)


def test_a_system_that_cannot_switch_off_is_ended_when_it_says_so(plays: Plays, tmp_path: Path) -> None:
    """Expected: QEMU is asked to end, which writes the plugin's counts. Broken: an error after a whole output."""
    end = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
    target = plays(
        end + acting({"^halt": ("The system has halted.\n", 0)}), in_power_off="command = 'halt'\nseen = 'has halted'"
    )
    assert len(run(target)) == 2
    assert ended(tmp_path)


def test_qemu_that_ends_badly_is_an_error(plays: Plays) -> None:
    """Expected: TargetError although all records came. Broken: a crash at the end passes unseen."""
    with pytest.raises(TargetError, match=r"power-off: QEMU ended with an error. QEMU said: abort"):
        run(
            plays(
                "try:\n    "
                + WELL.replace("\n", "\n    ")
                + "\nexcept SystemExit:\n    print('abort', file=sys.stderr); os._exit(6)"
            )
        )


def test_hostile_output_is_escaped_in_the_error(plays: Plays) -> None:
    """Expected: no byte that a terminal obeys. Broken: a guest moves the cursor of who reads the error."""
    with pytest.raises(TargetError) as caught:
        run(plays("system = Foreign(); system.say('\\x1b]0;title\\x07\\u202epanic: \\x1b[2J'); sys.exit(0)"))
    shown = caught.value.last_output + caught.value.text
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "\\x1b[2J" in shown


def test_an_error_holds_the_last_output_and_no_more(plays: Plays, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serial, "STEP_BYTES", 1 << 20)
    with pytest.raises(TargetError) as caught:
        run(plays("system = Foreign(); system.say('a' * 90_000 + 'the end'); sys.exit(0)"))
    assert caught.value.last_output.rstrip().endswith("the end")
    assert len(caught.value.last_output) <= 4100


def test_closing_early_ends_qemu(plays: Plays, tmp_path: Path) -> None:
    """Expected: Ctrl-C or a break leaves no process and no folder."""
    stream = plays(acting({"opt/probe$": ("#kernometer begin 1\n{}\n", 0)})).run(Job((), "time"), Deadline.after(60))
    next(stream)
    stream.close()  # type: ignore[attr-defined]  # run is a generator; the interface promises an iterator
    assert ended(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_front_end_and_qemu_at_any_step(
    frontends_probe: Path, plays: Plays, tmp_path: Path, number: int
) -> None:
    """Expected: within a silent boot too, nothing is left. Broken: an emulator runs on and disturbs what comes next."""
    give_probe(tmp_path / "cache", frontends_probe)
    plays("system = Foreign(); system.say('Loading'); forever()")
    words = ["run", "--on", f"console:{tmp_path / 'disk.img'}", "syscall/getppid"]
    front = subprocess.Popen(
        [sys.executable, "-m", "kernometer", *words],
        env={**os.environ, "XDG_DATA_HOME": str(tmp_path / "data")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = Deadline.after(300)
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert not until.passed
        assert front.poll() is None
        time.sleep(0.05)
    time.sleep(0.3)
    front.send_signal(number)
    assert front.wait(120) == 130
    assert ended(tmp_path)


def test_place_names_image_and_description(plays: Plays, tmp_path: Path) -> None:
    """Expected: another image, and another description, are other images. Broken: two systems pass for one."""
    first = plays(WELL).place("time")
    assert "pc" in first.machine
    assert "7.2.22" in first.machine
    (tmp_path / "disk.img").write_bytes(b"another disk")
    second = plays(WELL).place("time")
    third = plays(WELL, DESCRIPTION.replace("by its author", "")).place("time")
    assert len({first.image, second.image, third.image}) == 3
    assert any("untried" in note for note in third.notes)
    assert not any("untried" in note for note in first.notes)


def test_by_time_without_kvm_the_user_is_told(plays: Plays) -> None:
    notes = plays(WELL).place("time").notes
    assert any("emulated" in note for note in notes)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("console:", "needs a system and its image"),
        ("console:nothing.img", "has no system and image"),
        ("console:plan9:x.img", "no description 'plan9'"),
        ("console:freebsd:/no/such.img", "/no/such.img: No such file"),
        ("console:/no/such.toml:x.img", "/no/such.toml: No such file"),
    ],
)
def test_a_spec_that_names_nothing_says_what_is_there(spec: str, words: str) -> None:
    """Expected: UsageError that says what may be written. Broken: a traceback, or QEMU's words."""
    with pytest.raises(UsageError, match=words) as caught:
        target_of(spec)
    assert caught.value.next_step


@pytest.mark.usefixtures("plays")
def test_a_guest_at_a_console_has_its_own_devices_and_no_disk(tmp_path: Path) -> None:
    """Expected: one VGA, of the guest and of the description, and no drive. Broken: QEMU refuses two."""
    plays_with = tmp_path / "ramdisk.toml"
    plays_with.write_text('system = "x"\n[boot]\ndevices = ["VGA"]\n[files]\nway = "none"\n[compile]\ncommand = ""\n')
    with store.new_folder() as folder:
        (folder / store.KERNEL).write_bytes(b"kernel")
        digest = sha256(b"kernel")
        made = store.Manifest(
            name="minix",
            package="/minix",
            version="-",
            release="",
            package_sha256=digest,
            kernel_sha256=digest,
            kernel_bytes=6,
            machine=Machine(type="pc", devices=("VGA", "virtio-rng-pci")),
        )
        store.keep(folder, made)
    target = target_of(f"console:{plays_with}:qemu:minix")
    assert [word for word in target.describe(Job(())) if word == "VGA"] == ["VGA"]
    place = target.place("time")
    assert "pc with VGA with virtio-rng-pci;" in place.machine
    assert "-drive" not in target.describe(Job(()))


def test_a_guest_that_is_not_here_is_missing(plays: Plays) -> None:
    """Expected: `console:SYSTEM:qemu:GUEST` looks among the guests. Broken: a path of that name is looked for."""
    plays(WELL)
    with pytest.raises(MissingError, match="no guest minix"):
        target_of("console:minix-3:qemu:minix").place("time")


def test_the_source_says_how_it_is_compiled(plays: Plays) -> None:
    """Expected: the flags, before the source. Broken: a result that does not say how its probe was compiled."""
    plays(WELL)
    text = 'system = "x"\ncompile.command = "cc -O2 -o {probe} {source} -lm"'
    described = msgspec.toml.decode(text, type=Description)
    assert attached.carried(described) == {"probe.c": f'#define KM_FLAGS "cc -O2 -lm"\n{SOURCE}'.encode()}
