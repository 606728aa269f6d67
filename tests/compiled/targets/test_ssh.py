"""ssh:HOST against a real sshd: what is run there, and what is refused. Each test must leave nothing (`here`)."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from kernometer.errors import BuildError, MissingError, TargetError, UsageError
from kernometer.host.check import examine
from kernometer.host.tree import Told, Tree
from kernometer.targets import ssh_link
from kernometer.targets.base import Job
from kernometer.targets.local import host_id
from kernometer.targets.parse import target_of
from kernometer.targets.ssh import SshTarget
from kernometer.targets.ssh_link import quoted
from tests.support.targets.sessions import LONG, lines, whole
from tests.support.targets.sshd import Server, programs

pytestmark = pytest.mark.usefixtures("here")

#: What our scripts need of a host, beside a compiler.
TOOLS = ("uname", "tr", "head", "cat", "touch", "mkdir", "mktemp", "rm", "mv", "wc", "chmod", "find", "sleep")

#: The types of the records of one run of one row.
WHOLE = ["header", "workload", "calibration", "count", "run"]


def types(records: list[dict[str, object]]) -> list[object]:
    return [record["type"] for record in records]


def with_path(folder: Path) -> str:
    """A login shell that finds the programs of `folder` alone."""
    return f'#!/bin/sh\nPATH={folder}\nexport PATH\nexec /bin/sh "$@"\n'


# What is run -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["sh", "bash", "tcsh", "busybox"])
def test_records_come_from_any_login_shell(server: Server, shell: str) -> None:
    """tcsh has another grammar, busybox a sh of its own. Expected: a header, a workload and a run from each."""
    path = shutil.which(shell)
    assert path
    if shell == "busybox":
        folder = programs(server.root / "busybox")
        (folder / "sh").symlink_to(path)
        path = f'#!/bin/sh\nPATH={folder}:$PATH\nexport PATH\nexec {path} sh "$@"\n'
    found = whole(server.login(f"by-{shell}", path))
    assert types(found) == WHOLE


def test_words_of_a_command_arrive_as_they_are(server: Server) -> None:
    """Expected: a command that checks its own words leaves with 0, by csh too. Broken: a shell on the way eats some."""
    words = ("a b", "it's", "a!b", "\\", "$HOME", "*", "~", "", '"', "`x`", "a\\!b", "é")
    check = " && ".join(f'[ "${{{number}}}" = {quoted(word)} ]' for number, word in enumerate(words, 1))
    job = Job(("--runs", "1", "--seconds", "0.01", "--", "sh", "-c", check, "sh", *words))
    assert {*types(whole(server.login("by-csh", "/usr/bin/tcsh"), job))} == {"header", "workload", "run"}


def test_jump_hosts_of_the_configuration_are_used(server: Server) -> None:
    before = server.log.count("Accepted publickey for box")
    assert types(whole(server.host("jumped", "User box\nProxyJump box"))) == WHOLE
    assert server.log.count("Accepted publickey for box") == before + 2


def test_url_is_passed_to_ssh_as_it_is(server: Server) -> None:
    assert types(whole(f"ssh://box@127.0.0.1:{server.port}"))[-1] == "run"


def test_place_is_the_other_host(targets: list[SshTarget]) -> None:
    """Here the other host is this one: so its boot is ours, and yet it is another machine by its name."""
    targets.append(SshTarget("box"))
    place = targets[0].place("time")
    assert place.machine == f"host box: {os.uname().machine}"
    assert place.boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert place.host_id == host_id()
    assert not place.here
    assert place.notes == ()
    facts, ours = examine(Told(files=place.told)).facts, examine(Tree(Path("/"))).facts
    assert {**facts, "load": ""} == {**ours, "load": ""}


def test_host_that_tells_without_end_is_an_error(server: Server, targets: list[SshTarget]) -> None:
    """Expected: status 3 and its name. Broken: our memory is full of another machine's text."""
    shell = '#!/bin/sh\ncase $2 in *proc/cpuinfo*) exec yes proc/cpuinfo:x;; *) exec /bin/sh "$@";; esac\n'
    targets.append(SshTarget(server.login("chatty", shell)))
    with pytest.raises(TargetError, match="ssh:chatty printed more than"):
        targets[0].place("time")


def test_greetings_before_the_answer_do_no_harm(server: Server) -> None:
    shell = '#!/bin/sh\necho Welcome\necho "last login: never" >&2\nexec /bin/sh "$@"\n'
    assert types(whole(server.login("greeting", shell)))[-1] == "run"


def test_probe_is_compiled_once_and_again_when_the_compiler_changes(server: Server) -> None:
    """Expected: the second session finds it. Broken: ten seconds before every session, or yesterday's compiler."""
    log = server.folder("compiled") / "log"
    text = 'case "$1" in --version) echo {};; *) echo x >>{}; exec {} "$@";; esac'
    folder = programs(server.root / "counting", *TOOLS, "sh", cc=text.format("one", log, shutil.which("tcc")))
    host = server.login("counting", with_path(folder), home="home-counting")
    for _ in range(2):
        whole(host)
    once = log.read_text()
    (folder / "cc").write_text((folder / "cc").read_text().replace("echo one", "echo two"))
    whole(host)
    assert log.read_text() == 2 * once


def test_probe_that_no_compiler_there_links_statically_says_so(server: Server, targets: list[SshTarget]) -> None:
    """Expected: it runs, and a note says what is measured with it. tcc links static programs that do not start."""
    folder = programs(server.root / "tcc", *TOOLS, "sh", cc=f'exec {shutil.which("tcc")} "$@"')
    host = server.login("tcc", with_path(folder), home="home-tcc")
    for _ in range(2):
        targets.append(SshTarget(host))
        (note,) = targets[-1].place("time").notes
        assert "linked dynamically" in note
    header = json.loads(lines(targets[-1])[0])
    assert header["probe"]["linkage"] == "dynamic"


@pytest.mark.usefixtures("server")
def test_probe_is_static_and_tells_its_libc_where_it_is_compiled() -> None:
    found = whole("box")[0]["probe"]
    assert isinstance(found, dict)
    assert found["linkage"] == "static"
    assert re.fullmatch(r"(musl|glibc) \d+\.\d.*", found["libc"])


def test_static_probe_is_sent_where_nothing_compiles(server: Server, targets: list[SshTarget]) -> None:
    """Expected: it runs, and a note says what it is, in the next session too."""
    folder = programs(server.root / "bare", *TOOLS, "sh")
    host = server.login("bare", with_path(folder), home="home-bare")
    for _ in range(2):
        targets.append(SshTarget(host))
        assert any(line.startswith(b'{"type":"run"') for line in lines(targets[-1]))
        assert targets[-1].place("time").notes == (
            "ssh:bare has no C compiler: it runs a static one that was compiled here.",
        )


def test_static_probe_is_sent_where_headers_are_missing(server: Server, targets: list[SshTarget]) -> None:
    cc = 'case "$1" in --version) ;; *) echo no stdio.h >&2; exit 1;; esac'
    folder = programs(server.root / "headless", *TOOLS, "sh", cc=cc)
    targets.append(SshTarget(server.login("headless", with_path(folder), home="home-headless")))
    assert any(line.startswith(b'{"type":"run"') for line in lines(targets[0]))
    (note,) = targets[0].place("time").notes
    assert "cannot compile the probe" in note


# What is an error ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["", "-oProxyCommand=touch", "a b", "a\nb"])
def test_word_that_is_no_host_never_reaches_ssh(host: str) -> None:
    with pytest.raises(UsageError) as caught:
        target_of(f"ssh:{host}")
    assert caught.value.next_step


@pytest.mark.parametrize(
    ("name", "config", "said", "step"),
    [
        ("refused", "Port 1", "refused", "Is it up"),
        ("nowhere", "HostName nowhere.invalid", "resolve hostname", "Check the name"),
        ("unknown", "UserKnownHostsFile /dev/null", "key verification failed", "connecting once yourself: ssh unknown"),
        ("stranger", "User box\nIdentityFile none", "Permission denied", "ssh-copy-id"),
        ("behind", "ProxyJump refused", "refused", "Is it up"),
        ("odd", "NoSuchOption 1", "ad configuration", "configuration"),
    ],
)
def test_host_that_cannot_be_reached_is_said_with_the_cause(
    server: Server, name: str, config: str, said: str, step: str
) -> None:
    """Expected: ssh's own words and what to do. The tests share a configuration, so each has a file of its own."""
    own = server.root / f"config-{name}"
    shutil.copy(server.root / "config", own)
    text = own.read_text()
    identity, rest = text.split("\n", 1)
    common = f"HostName 127.0.0.1\nPort {server.port}\nUserKnownHostsFile {server.root}/known\n"
    first = f"Host refused\nPort 1\nHostName 127.0.0.1\nHost {name}\n{config}\n{common}Host *\n"
    own.write_text(first + (rest if name == "stranger" else f"{identity}\n{rest}"))
    wrapper = server.bin / "ssh"
    before = wrapper.read_text()
    wrapper.write_text(before.replace(f"{server.root}/config", str(own)))
    try:
        with pytest.raises(TargetError) as caught:
            whole(name)
    finally:
        wrapper.write_text(before)
    assert said in caught.value.text
    assert step in caught.value.next_step
    assert caught.value.status == 3


@pytest.mark.parametrize(
    ("name", "script", "text"),
    [
        ("garbage", "echo this is not a shell", "ended before it answered"),
        pytest.param(
            "flood",
            "while :; do echo garbage without end; done",
            "printed more than",
            marks=pytest.mark.slow(minutes=0.1),
        ),
        ("mute", "echo 'one moment'; exec cat >/dev/null", "no sign of life"),
        ("liar", "echo '#kernometer look'; exec cat >/dev/null", "no sign of life"),
        ("dead", "echo going; kill -9 $$", "ended before it answered"),
    ],
)
def test_login_that_is_no_shell_is_an_error_with_its_last_words(
    server: Server, monkeypatch: pytest.MonkeyPatch, name: str, script: str, text: str
) -> None:
    if "no sign" in text:
        monkeypatch.setattr(ssh_link, "CONNECT_SECONDS", 1.5)
    with pytest.raises(TargetError, match=text) as caught:
        whole(server.login(name, f"#!/bin/sh\n{script}\n"))
    assert "uname" in caught.value.next_step
    assert caught.value.status == 3
    if name in ("garbage", "dead", "mute"):
        assert caught.value.last_output


def test_nothing_that_compiles_and_nothing_to_send_says_both(server: Server) -> None:
    folder = programs(server.root / "alien", *TOOLS[1:], "sh", uname="case $1 in -m) echo vax;; *) echo Ultrix;; esac")
    with pytest.raises(TargetError, match=r"no C compiler.*be sent either: that is Ultrix vax") as caught:
        whole(server.login("alien", with_path(folder), home="home-alien"))
    assert "Install" in caught.value.next_step
    assert caught.value.status == 3


def test_probe_that_does_not_compile_there_is_quoted(server: Server) -> None:
    cc = 'case "$1" in --version) ;; *) echo no stdio.h >&2; exit 1;; esac'
    folder = programs(server.root / "alien-cc", *TOOLS[1:], "sh", uname="echo Ultrix", cc=cc)
    with pytest.raises(BuildError, match="does not compile on ssh:alien-cc") as caught:
        whole(server.login("alien-cc", with_path(folder), home="home-alien-cc"))
    assert "no stdio.h" in caught.value.last_output


@pytest.mark.parametrize(("system", "library"), [("FreeBSD", True), ("NetBSD", True), ("OpenBSD", False)])
def test_message_queues_are_linked_where_they_have_a_library_of_their_own(
    server: Server, system: str, library: bool
) -> None:
    """Expected: -lrt. Broken: 'undefined symbol: mq_open', or a library that OpenBSD and macOS do not have."""
    cc = 'case "$1" in --version) ;; *) echo "given $*" >&2; exit 1;; esac'
    folder = programs(server.root / system, *TOOLS[1:], "sh", uname=f"echo {system}", cc=cc)
    with pytest.raises(BuildError) as caught:
        whole(server.login(system.lower(), with_path(folder), home=f"home-{system}"))
    assert ("-lpthread -lrt" in caught.value.last_output) == library


def test_cache_that_cannot_be_written_is_said(server: Server) -> None:
    with pytest.raises(TargetError, match="cache cannot be written") as caught:
        whole(server.login("full", '#!/bin/sh\nHOME=/proc/nowhere\nexport HOME\nexec /bin/sh "$@"\n'))
    assert "XDG_CACHE_HOME" in caught.value.next_step


def test_probe_that_hangs_is_given_up_and_gone(targets: list[SshTarget]) -> None:
    targets.append(SshTarget("box"))
    targets[0].place("time")
    with pytest.raises(TargetError, match="time was up"):
        lines(targets[0], LONG, seconds=1.5)


def test_without_ssh_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A path that holds what puts the probe's source together, and no ssh."""
    tools = programs(tmp_path / "bin", *TOOLS, "sh", "awk", "grep", "xargs", "dirname", "sha256sum", "cc")
    monkeypatch.setenv("PATH", str(tools))
    with pytest.raises(MissingError, match="no ssh") as caught:
        whole("box")
    assert "openssh-client" in caught.value.next_step
