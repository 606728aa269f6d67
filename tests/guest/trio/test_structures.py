"""Structures: how the services can be divided, that each is one object in all, and that programs run in each."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import idl_parse
import structures
from idl_parse import Service, Wrong
from kernometer.errors import BuildError
from kernometer.guests.kernels import trio
from tests.support.trio.boot import Kernel, boot, initramfs
from tests.support.trio.partitions import EXPECTED_TO_FAIL, PARTITIONS
from tests.support.trio.questions import failed_questions
from tests.support.turns import in_turn

ROOT = Path(__file__).parents[3] / "trio"
NAMED = ROOT / "config" / "structures"
ALL = (
    *("pm", "vm", "vfs", "fs", "net", "ram_block", "virtio_blk", "serial", "clock", "framebuffer", "bus"),
    *("checksum", "rs"),
)
Domains = list[tuple[str, tuple[str, ...]]]


@pytest.fixture(scope="module")
def services() -> tuple[Service, ...]:
    return idl_parse.services(ROOT / "config" / "services.toml", idl_parse.interfaces(ROOT / "interfaces"))


def domains(words: str, services: tuple[Service, ...], folder: Path = NAMED) -> Domains:
    """Kinds, and names of the services; the kernel's own first."""
    made = structures.structure(folder, words, services)
    assert [each.number for each in made.domains] == list(range(len(made.domains)))
    return [(each.kind, tuple(service.name for service in each.services)) for each in made.domains]


def test_each_file_of_the_configuration_is_a_structure_that_is_a_guest() -> None:
    assert {path.stem for path in NAMED.iterdir()} == set(trio.STRUCTURES)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("mono", [("kernel", ALL)]),
        ("hybrid", [("kernel", ()), *(("thread", (each,)) for each in ALL)]),
        ("micro", [("kernel", ()), *(("process", (each,)) for each in ALL)]),
        ("one-server", [("kernel", ()), ("process", ALL)]),
    ],
)
def test_a_structure_with_a_name_has_its_domains(services: tuple[Service, ...], words: str, expected: Domains) -> None:
    assert domains(words, services) == expected


def without(*names: str) -> tuple[str, ...]:
    return tuple(each for each in ALL if each not in names)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("mono+apart=fs", [("kernel", without("fs")), ("process", ("fs",))]),
        ("mono+apart=serial,fs", [("kernel", without("fs", "serial")), ("process", ("fs",)), ("process", ("serial",))]),
        (
            "mono+apart=serial+apart=fs",
            [("kernel", without("fs", "serial")), ("process", ("fs",)), ("process", ("serial",))],
        ),
        ("one-server+apart=pm", [("kernel", ()), ("process", ("pm",)), ("process", without("pm"))]),
        (f"mono+apart={','.join(ALL)}", [("kernel", ()), *(("process", (each,)) for each in ALL)]),
        (f"micro+together={','.join(reversed(ALL))}", [("kernel", ()), ("process", ALL)]),
        (
            "hybrid+together=fs,vfs",
            [
                ("kernel", ()),
                *(("thread", each) for each in (("pm",), ("vm",), ("vfs", "fs"), *((each,) for each in ALL[4:]))),
            ],
        ),
        ("micro+together=vfs,fs+apart=fs", [("kernel", ()), *(("process", (each,)) for each in ALL)]),
    ],
)
def test_changes_of_a_structure_move_services(services: tuple[Service, ...], words: str, expected: Domains) -> None:
    """Expected: each service in one domain, domains by their first service. Broken: a service that is nowhere."""
    assert domains(words, services) == expected


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("nothing", "there is no structure 'nothing'"),
        ("", "there is no structure ''"),
        ("micro+", "'': expected together=A,B, apart=A or with=SWITCH"),
        ("micro+beside=vfs,fs", "expected together=A,B, apart=A or with=SWITCH"),
        ("micro+together=vfs,vfs", "expected together=A,B, apart=A or with=SWITCH"),
        (
            "micro+with=by-queue,none",
            "there is no switch none, but fork-copies, pages-at-once, files-uncached, by-queue, in-memory, by-mapping",
        ),
        ("micro+with=by-queue+with=by-queue", "a switch twice"),
        ("mono+with=in-memory", "it has no messages, so in-memory changes nothing"),
        ("hybrid+with=by-mapping", "it has no processes, so by-mapping changes nothing"),
        ("micro+with=parking-counted", "it has no services in the kernel, so parking-counted changes nothing"),
        ("micro+together=vfs,nobody,none", "there is no service nobody, none"),
        ("micro+apart=", "there is no service "),
        ("hybrid+apart=fs+together=vfs,fs", "their domains are not of one kind"),
        ("mono+together=vfs,fs", "they are in the kernel, together"),
        ("micro+together=pm,vm", "domains call each other in a circle: pm_vm > vfs > pm_vm"),
        ("micro+together=vfs,vm", "domains call each other in a circle: vm_vfs > fs > vm_vfs"),
        ("one-server+apart=vfs", "domains call each other in a circle: pm_vm_fs"),
        ("one-server+apart=clock", "domains call each other in a circle: pm_vm_vfs"),
    ],
)
def test_what_is_no_partition_is_refused(services: tuple[Service, ...], words: str, said: str) -> None:
    """Expected: named. Broken: two domains that wait for each other for ever, or a service that is left out."""
    with pytest.raises(Wrong) as caught:
        structures.structure(NAMED, words, services)
    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["", 'all = "threads"', 'each = "kernel"', 'all = "kernel"\neach = "thread"'])
def test_a_file_that_is_no_structure_is_refused(services: tuple[Service, ...], tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(Wrong, match=r"mine\.toml:1: expected 'all' or 'each'"):
        structures.structure(tmp_path, "mine", services)


def test_calls_of_services_have_no_circle_and_one_would_be_found(services: tuple[Service, ...]) -> None:
    """Expected: an order in which each calls later ones, whatever the structure; a copy that may ask vm for a page is a
    call. Broken: two that wait for each other."""
    structures.structure(NAMED, "mono", services)
    for caller, called in (("fs", "pm"), ("clock", "vfs"), ("vm", "clock")):
        changed = tuple(
            replace(each, calls=(*each.calls, called)) if each.name == caller else each for each in services
        )
        for name in trio.STRUCTURES:
            with pytest.raises(Wrong, match=rf"services call each other in a circle: .*\b{caller}\b"):
                structures.structure(NAMED, name, changed)


def test_what_cannot_be_is_said_by_who_builds_it(sources: Path, tmp_path: Path) -> None:
    """Expected: an error of ours with the circle in it, and no kernel."""
    with pytest.raises(BuildError) as caught:
        trio.build(sources, tmp_path, "micro+together=pm,vm")
    assert "pm_vm > vfs > pm_vm" in caught.value.last_output
    assert not list(tmp_path.rglob("*.elf"))


@pytest.mark.slow(minutes=0.4)
def test_a_service_is_the_same_object_in_every_structure(sources: Path, tmp_path: Path) -> None:
    """Expected: what was compiled for mono serves all. Broken: a compiler that is told which structure it is, so that a
    difference between two of them may be the compiler's."""

    def services(structure: str) -> dict[str, tuple[int, bytes]]:
        words = ("make", "-s", "-j2", "-C", str(sources), f"BUILD={tmp_path}", f"STRUCTURE={structure}", "services")
        subprocess.run(words, check=True, capture_output=True, timeout=600)
        made = (*tmp_path.glob("any/services/*.o"), *tmp_path.glob("any/drivers/*.o"))
        return {path.stem: (path.stat().st_mtime_ns, path.read_bytes()) for path in made}

    of_mono = services("mono")
    assert of_mono.keys() == set(ALL)
    for structure in PARTITIONS:
        assert services(structure) == of_mono, structure


#: Processes, pipes, files, signals; its last words are its exit status.
SCRIPT = """
set -e
seq 1 1000 | sort -rn | head -n 3 | tr '\\n' ' '
cd /tmp
seq 1 20000 >numbers
wc -c <numbers
mkdir -p a/b
cp numbers a/b
cmp numbers a/b/numbers && rm -r a && ls
sleep 1000 &
sleeper=$!
kill $sleeper
wait $sleeper || echo "the sleeper ended with $?"
(exit 3) || echo "a child ended with $?"
dd if=/dev/zero bs=65536 count=32 2>/dev/null | wc -c
cat /proc/self/status | grep -c Name
exit 41
"""
PRINTED = """\
1000 999 998 108894
numbers
the sleeper ended with 143
a child ended with 3
2097152
1
"""


@pytest.mark.guest
@pytest.mark.parametrize("kernel", in_turn(PARTITIONS, 0.02, always=["micro"]), indirect=True)
def test_a_shell_runs_in_every_structure(kernel: Kernel) -> None:
    """Expected: what it prints, its status, and the machine is off. Broken: a call that one structure answers
    otherwise, or never."""
    ended = boot(kernel, initramfs(("sh", "-c", SCRIPT)), seconds=120.0, silence=60.0)
    assert ended.bulk.decode() == PRINTED, ended
    assert (ended.status, ended.qemu_status) == (41, 0), ended


@pytest.mark.guest
@pytest.mark.slow(minutes=1)
@pytest.mark.parametrize("kernel", PARTITIONS, indirect=True)
def test_every_question_is_answered_in_every_structure(
    kernel: Kernel, user_programs: Path, request: pytest.FixtureRequest
) -> None:
    """Expected: all as on Linux but those of EXPECTED_TO_FAIL, and these not. Broken: a question that one structure
    answers otherwise; or one that is answered rightly again and still in the list."""
    structure = request.node.callspec.params["kernel"]
    assert failed_questions(kernel, user_programs) == EXPECTED_TO_FAIL.get(structure, set())
