"""The local targets: what they start, with which probe, and what they leave behind."""

from __future__ import annotations

import json
import platform
import shlex
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from kernometer.errors import BuildError, MissingError, TargetError, UsageError
from kernometer.targets import build, stream
from kernometer.targets.base import Deadline, Job
from kernometer.targets.build import Recipe
from kernometer.targets.local import LocalTarget, from_spec
from kernometer.targets.parse import target_of

TINY = Job(("--runs", "1", "--seconds", "0.01", "syscall/getppid"))


def lines(target: LocalTarget, job: Job = TINY) -> list[bytes]:
    return list(target.run(job, Deadline.after(120)))


@pytest.mark.parametrize(
    ("words", "recipe"),
    [
        ("", Recipe("", ("-O2",))),
        ("-O0", Recipe("", ("-O0",))),
        ("clang", Recipe("clang", ("-O2",))),
        ("clang -O3 -m32", Recipe("clang", ("-O3", "-m32"))),
        ("-DKM_HANDICAP=3", Recipe("", ("-O2", "-DKM_HANDICAP=3"))),
        ("-dynamic", Recipe("", ("-O2",), dynamic=True)),
        ("gcc -dynamic -O1", Recipe("gcc", ("-O1",), dynamic=True)),
    ],
)
def test_recipe_keeps_optimisation_unless_told_otherwise(words: str, recipe: Recipe) -> None:
    """Expected: -O2 beside a -D. Broken: a variant that is also an unoptimised build."""
    assert Recipe.parsed(words) == recipe


def test_local_probe_runs_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = lines(from_spec("local"))
    assert found[0].startswith(b'{"type":"header"')
    assert any(line.startswith(b'{"type":"run"') for line in found)
    assert list(tmp_path.iterdir()) == []


def test_wrapper_stands_before_the_probe() -> None:
    target = from_spec("wrap:env -u NOTHING")
    assert target.describe(TINY)[:3] == ("env", "-u", "NOTHING")
    assert any(line.startswith(b'{"type":"run"') for line in lines(target))


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("echo hello", "never began"),
        ("false", "never began"),
        ("sh -c 'echo \"#kernometer begin 1\"; kill -9 $$'", "stopped in the middle"),
        ("no-such-wrapper", "There is no no-such-wrapper"),
    ],
)
def test_wrapper_that_does_not_run_the_probe_is_an_error(command: str, text: str) -> None:
    with pytest.raises((TargetError, MissingError), match=text):
        lines(from_spec(f"wrap:{command}"))


@pytest.mark.parametrize(
    "script",
    [
        'printf Starting; exec "$@"',
        'printf Starting >&2; "$@"; status=$?; printf Done >&2; exit $status',
        '"$@"; status=$?; yes | head -c 1000000; exit $status',
    ],
)
def test_what_a_wrapper_says_beside_the_probe_does_no_harm(script: str) -> None:
    """Words without a newline, on either stream, and many after the end. Broken: the whole output is lost."""
    assert any(line.startswith(b'{"type":"run"') for line in lines(from_spec(f"wrap:sh -c {shlex.quote(script)} sh")))


@pytest.mark.parametrize(
    ("script", "how"), [("exit 7", "left with status 7"), ("exit 1", "status 1"), ("kill -9 $$", "died of signal 9")]
)
def test_a_wrapper_that_ends_badly_is_an_error_though_the_output_is_whole(script: str, how: str) -> None:
    """Expected: the status, also 1 where no row failed. Broken: a kernel that crashed at its end is complete."""
    found: list[bytes] = []
    with pytest.raises(TargetError, match=how):
        found.extend(from_spec(f"wrap:sh -c '\"$@\"; {script}' sh").run(TINY, Deadline.after(120)))
    assert any(line.startswith(b'{"type":"run"') for line in found)


def test_status_1_is_that_of_rows_that_failed() -> None:
    found = lines(from_spec("wrap:env"), Job(("--runs", "1", "--", "false")))
    assert found[-1].startswith(b'{"type":"error"')


def test_a_wrapper_that_does_not_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "END_SECONDS", 0.2)
    with pytest.raises(TargetError, match="did not end within"):
        lines(from_spec("wrap:sh -c '\"$@\"; sleep 600' sh"))


@pytest.mark.parametrize(
    ("spec", "status", "step"),
    [
        ("probe:/bin/true", 0, "must be a probe"),
        ("wrap:false", 1, "Try: false echo hello"),
        ("wrap:sh -c 'exit 3'", 3, ""),
    ],
)
def test_what_is_no_probe_is_said_with_its_status_and_a_next_step(spec: str, status: int, step: str) -> None:
    with pytest.raises(TargetError, match=rf"never began\. It left with status {status}\.") as caught:
        lines(from_spec(spec))
    assert step in caught.value.next_step
    assert caught.value.next_step


@pytest.mark.parametrize("spec", ["", "nothing", "wrap:", "wrap:'", "probe:/nowhere", "ssh", "local:'"])
def test_spec_that_is_no_target_names_what_would_be(spec: str) -> None:
    with pytest.raises(UsageError) as caught:
        target_of(spec)
    assert caught.value.next_step


def test_missing_compiler_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(MissingError, match="no C compiler") as caught:
        build.compiler(Recipe())
    assert "apt-get install gcc" in caught.value.next_step


def fake_compiler(folder: Path, script: str) -> str:
    path = folder / "fake-cc"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_compiler_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for said, step in (
        ("probe.c:1:10: fatal error: stdio.h: No such file", "headers"),
        ("no option --x", "are its flags right"),
    ):
        failing = fake_compiler(tmp_path, f"echo '{said}' >&2; exit 1")
        with pytest.raises(BuildError, match="does not compile") as caught:
            build.probe(Recipe(failing))
        assert said in caught.value.last_output
        assert step in caught.value.next_step
    assert list((tmp_path / "cache" / "kernometer" / "probes").iterdir()) == []


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exec sleep 1000", r"was not done after 0 s: .*probe\.c"),
        ("case $* in *-static*) exec sleep 1000;; esac; : >probe", r"was not done after 0 s: .*-static.*probe\.c"),
        ("printf '#!/bin/sh\nexec sleep 1000\n' >probe; chmod 755 probe", "does not start"),
    ],
    ids=["every recipe", "the static one", "the probe"],
)
def test_what_is_not_done_in_time_is_an_error_and_no_reason_for_another_recipe(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, said: str
) -> None:
    """Expected: an error after the limit, with a next step. Broken: a traceback, a compiler that waits for the terminal
    for ever, or a dynamic probe because the machine was busy."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "COMPILE_SECONDS" if "0 s" in said else "START_SECONDS", 0.2)
    with pytest.raises(BuildError, match=said) as caught:
        build.probe(Recipe(fake_compiler(tmp_path, f"[ $1 = --version ] && exit; {script}")))
    assert "Try again" in caught.value.next_step


def test_probe_is_compiled_once_and_again_when_the_compiler_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "amalgam", lambda: "int main(void) { return 0; }\n")
    log = tmp_path / "log"
    real = shutil.which("cc")
    script = f'case "$1" in --version) echo one;; *) echo x >>{log}; exec {real} "$@";; esac'
    path = fake_compiler(tmp_path, script)
    made = [build.probe.__wrapped__(Recipe(path)) for _ in range(2)]
    assert made[0] == made[1]
    assert log.read_text() == "x\n"
    fake_compiler(tmp_path, script.replace("one", "two"))
    assert build.probe.__wrapped__(Recipe(path)) != made[0]
    assert log.read_text() == "x\nx\n"


def told(path: Path) -> dict[str, str]:
    """What a probe says of how it was built."""
    done = subprocess.run([path, *TINY.arguments], capture_output=True, text=True, timeout=60, check=True)
    found: dict[str, str] = json.loads(done.stdout.splitlines()[1])["probe"]
    return found


def test_one_static_file_serves_host_and_guests() -> None:
    """Expected: what a guest gets is what runs here. Broken: `local` against `qemu:` compares two linkers."""
    build.probe.cache_clear()  # of other tests in this process, which had a cache of their own
    assert build.static_probe() == build.probe(Recipe.parsed(""))
    assert from_spec("local").describe(TINY)[0] == from_spec("wrap:env").describe(TINY)[1] == str(build.static_probe())
    assert told(build.static_probe())["linkage"] == "static"
    assert build.note() == ""


def test_a_machine_without_musl_is_told_before_it_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: which libc it is, and what to install. Broken: another probe, in silence, once guests are wanted. Who
    names a compiler, or has it, is told nothing."""
    monkeypatch.delenv("CC", raising=False)
    which = shutil.which
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.36"))
    assert build.without_musl() == ""
    monkeypatch.setattr(shutil, "which", lambda name, *more: None if name == build.MUSL else which(name, *more))
    (told,) = from_spec("local").place("time").notes
    assert "linked with glibc" in told
    assert "apt-get install musl-tools" in told
    assert [build.without_musl(Recipe.parsed(words)) for words in ("gcc", "-dynamic", "gcc -static")] == [""] * 3
    monkeypatch.setenv("CC", "gcc")
    assert build.without_musl() == ""
    monkeypatch.delenv("CC")
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))  # a system whose own libc is musl
    assert build.without_musl() == ""


def test_dynamic_build_is_one_option_away() -> None:
    """Expected: it is dynamic, as asked for, so nothing is said about it. Broken: the word reaches the compiler."""
    recipe = Recipe.parsed("tcc -dynamic" if shutil.which("tcc") else "-dynamic")  # in a tenth of the time
    found = told(build.probe(recipe))
    assert found["linkage"] == "dynamic"
    assert "dynamic" not in found["flags"]
    assert build.note(recipe) == ""


@pytest.mark.slow(minutes=0.1)
@pytest.mark.parametrize("static", ["echo no libc.a >&2; exit 1", "echo 'exit 1' >probe; chmod 755 probe; exit 0"])
def test_probe_that_cannot_be_static_is_dynamic_and_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, static: str
) -> None:
    """Where no static program links, or none starts. Broken: an error, or a dynamic linker measured in silence."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = fake_compiler(tmp_path, f'case " $* " in *" -static "*) {static};; esac\nexec {shutil.which("cc")} "$@"')
    target = from_spec(f"local:{path}")
    assert told(build.probe(target.recipe))["linkage"] == "dynamic"
    assert target.place("time").notes == (build.note(target.recipe),)
    assert "linked dynamically" in build.note(target.recipe)
    monkeypatch.setenv("CC", path)
    monkeypatch.setattr(build, "probe", build.probe.__wrapped__)
    with pytest.raises(MissingError, match="links statically"):
        build.static_probe()


def test_cache_that_cannot_be_written_says_how_to_choose_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(BuildError, match="cannot be written") as caught:
        build.probe.__wrapped__(Recipe())
    assert "XDG_CACHE_HOME" in caught.value.next_step
