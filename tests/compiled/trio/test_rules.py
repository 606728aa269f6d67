"""Do Trio's sources keep the rules of its structure, and would a breach be noticed?"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import idl
from tests.support.trio import rules

ROOT = Path(__file__).parents[3] / "trio"


def test_no_service_includes_the_kernels_or_anothers_internals() -> None:
    """Expected: the port, interfaces that the configuration names, Linux's numbers, its own headers."""
    assert list(rules.foreign_includes(ROOT)) == []
    assert list(rules.in_no_service(ROOT)) == []


def test_a_headers_name_is_that_of_one_file(copy: Path) -> None:
    """Expected: a reader who greps for a header's name finds one. Broken: a service's own header with the name of the
    one that is generated for whoever calls it."""
    made = [path.name for path in idl.written(Path(), ROOT / "interfaces", ROOT / "config/services.toml", "")]
    assert list(rules.shadowed_headers(ROOT, made)) == []
    for name in ("services/vfs/vfs.h", "services/pm/port.h", "seam/pm.h"):
        (copy / name).write_text("")
    assert sorted(rules.shadowed_headers(copy, made)) == ["seam/pm.h", "services/pm/port.h", "services/vfs/vfs.h"]


def test_the_structure_is_asked_only_where_it_may_be_known() -> None:
    assert list(rules.ask_the_structure(ROOT)) == []


def test_the_memory_service_copies_no_clients_memory(tmp_path: Path) -> None:
    """Expected: it writes by frame. Broken: where it is a process, a copy to an absent page waits for itself."""
    assert list(rules.copies_of_vm(ROOT)) == []
    (tmp_path / "services/vm").mkdir(parents=True)
    for name in ("report.c", "futex.c"):
        (tmp_path / "services/vm" / name).write_text("/* copy_in() */\nreturn copy_out(to, 0, part, count);\n")
    assert list(rules.copies_of_vm(tmp_path)) == ["services/vm/futex.c:2: copy_out"]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Interfaces and configuration of the real one, a port, no C."""
    for name in ("interfaces", "config"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("seam", "services/vfs", "services/pm", "drivers/serial", "kernel/core", "kernel/abi"):
        (tmp_path / name).mkdir(parents=True)
    for name in rules.PORT:
        shutil.copy(ROOT / "seam" / name, tmp_path / "seam")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('#include "core/task.h"', True),
        ('#include "../pm/pm.h"', True),
        ('#include "../../pm/pm.h"', True),
        ("#include <linux/fs.h>", True),
        ("#include SOMETHING", True),
        ('#include "serial.h"', True),
        ('#include "fs_serve.h"', True),
        ('#include "vfs_client.h"', True),
        ('#include "abi/nothing.h"', True),
        ('  #  include "mono.h"', True),
        ('/* #include "core/task.h" */', False),
        ('#include "near.h"', True),
        ('#include "pipes/near.h"', False),
        ('#include "own.h"', False),
        ('#include "port.h"', False),
        ('#include "text.h"', False),
        ('#include "fs.h"', False),
        ('#include "pm.h" /* to notify it */', False),
        ('#include "vfs_serve.h"', False),
        ('#include "abi/errno.h"', False),
        ("#include <stdint.h>", False),
    ],
)
def test_an_include_that_is_not_the_services_to_see_is_found(copy: Path, line: str, found: bool) -> None:
    (copy / "services/vfs/pipes").mkdir()
    for name in ("vfs/own.h", "vfs/pipes/near.h", "pm/pm.h"):
        (copy / "services" / name).write_text("")
    for place in ("services/vfs/pipe.c", "services/vfs/pipes/pipe.c"):
        (copy / place).write_text(f"/* a\n * pipe */\n{line}\n")
        expected = [f"{place}:3: includes {line.split()[-1].strip('<>').strip(chr(34))}"] if found else []
        assert list(rules.foreign_includes(copy)) == expected
        (copy / place).unlink()


def test_a_file_of_no_service_is_found(copy: Path) -> None:
    """Expected: named. Broken: a folder that no rule is held against."""
    (copy / "services/common").mkdir()
    (copy / "services/common/list.h").write_text("")
    (copy / "services/pm/fork.c").write_text("")
    assert list(rules.in_no_service(copy)) == ["services/common/list.h"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("#if TRIO_STRUCTURE == MONO", True),
        ("#ifdef STRUCTURE_HYBRID", True),
        ("#elif defined(MICRO)", True),
        ("\tif (PROCESSES && is_process(PRESENT_DOMAIN))", True),
        ("\treturn SERVERS ? 1 : 0;", True),
        ('#include "domains.h"', True),
        ("#ifndef TRIO_SOMETHING_H", False),
        ("#ifdef COUNTERS", False),
        ("/* #ifdef MONO */", False),
    ],
)
def test_a_question_for_the_structure_is_found_where_it_must_not_be(copy: Path, line: str, found: bool) -> None:
    (copy / "build").mkdir()
    allowed = ("seam/a.c", "kernel/abi/a.c", "kernel/core/frames.h", "build/a.c")
    for name in (*allowed, "kernel/core/a.c", "services/pm/a.c"):
        (copy / name).write_text(f"\n{line}\n")
    expected = [f"{name}:2: {line.strip()}" for name in ("kernel/core/a.c", "services/pm/a.c")] if found else []
    assert sorted(rules.ask_the_structure(copy)) == expected


def test_a_symbol_that_a_service_may_not_use_is_found(copy: Path) -> None:
    """Expected: the port, its interfaces' calls and its own symbols are allowed; a kernel's or another's are not."""
    lines = (
        "long copy_in(void), fs_read(void), vm_reap(void), vm_reap_all(void), vm_fork(void);",
        "long kernel_archive(void), kernel_port_in(void), own(void); extern long current; long all(void) { return",
        "copy_in() + fs_read() + vm_reap() + vm_reap_all() + vm_fork() + kernel_archive() + kernel_port_in() + own() +",
        "current; }",
    )
    (copy / "a.c").write_text("\n".join(lines))
    (copy / "b.c").write_text("long own(void) { return 0; }")
    for name in ("a", "b"):
        words = ["gcc", "-c", "-fno-stack-protector", "-o", str(copy / f"{name}.o"), str(copy / f"{name}.c")]
        subprocess.run(words, check=True, timeout=60)
    (vfs,) = (each for each in rules.services(copy) if each.name == "vfs")
    found = rules.undefined((copy / "a.o", copy / "b.o")) - rules.allowed_symbols(copy, vfs)
    assert found == {"vm_fork", "vm_reap_all", "kernel_port_in", "current"}


def compile_interfaces(folder: Path, *structure: str) -> subprocess.CompletedProcess[str]:
    """Into the folder out, from the interfaces and the configuration of a copy."""
    words = [sys.executable, "-B", str(ROOT / "tools/idl.py"), "out", "interfaces", "config/services.toml", *structure]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, cwd=folder)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("2: call read(", "1: call read(", "1 stands twice"),
        ("call read(", "call capacity(", "capacity stands twice"),
        ("2: call read(", "2: cal read(", "not a member"),
        ("    2: call read(", "    enum u32 { one = 1 };\n    2: call read(", "there is a type u32 already"),
        ("    2: call read(", "    enum way { one };\n    2: call read(", "not a member"),
        ("2: call read(sector: u64", "2: call read(sector: way", "not an argument"),
        ("sector: u64", "sector: u65", "not an argument: 'sector: u65'"),
        ("errors EIO EWAIT ENODEV;\n}", "waits errors EIO;\n}", "only a client's call may wait"),
        ("\n}\n", "\n", "ends in the middle"),
        ("\n}\n", "\n}\n9: notify late;\n", "something after the closing brace"),
        ("many service block {", "many services block {", "expected 'service NAME {'"),
        ("call read(sector: u64, ", "call read(sector: u64, sector: u32, ", "two arguments of one name"),
        ("call read(", f"call wide({', '.join(f'g{n}: grant read' for n in range(7))}, ", "needs more than 12 words"),
        ("\n}\n", "\n    9: call give() -> (it: grant read);\n}\n", "and no grant"),
        ("\n}\n", "\n    9: notify full(with: u32);\n}\n", "a notification carries nothing"),
    ],
)
def test_the_interface_compiler_refuses_what_is_wrong(copy: Path, old: str, new: str, said: str) -> None:
    """Expected: FILE:LINE: what, status 1, and nothing written. Broken: two calls of one number."""
    file = copy / "interfaces/block.idl"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    done = compile_interfaces(copy)
    assert done.returncode == 1
    assert done.stderr.startswith("interfaces/block.idl:")
    assert said in done.stderr
    assert not (copy / "out").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("linux 9000 wrong = forget(a6);", "from is a grant"),
        ("linux 9000 wrong = forget(a0[a6]);", "there is no register a6"),
        ("linux 9000 wrong = forget(a0);", "from is a grant"),
        ("linux 9000 wrong = forget();", "forget has 1 arguments"),
        ("linux 9000 wrong = nothing(a0);", "there is no client's call 'nothing'"),
        ("linux 9000 wrong = set(a0, a1);", "there is no client's call 'set'"),
        ("linux 9000 wrong = sleep(after(a0), after(a1));", "one time, one vector and one room at most"),
        ("linux 9000 wrong = time(a0[8]) leaving;", "what is left is of a time"),
        ("linux 9000 wrong is time(a0[8]);", "not a system call"),
    ],
)
def test_a_system_call_that_cannot_be_is_refused(copy: Path, line: str, said: str) -> None:
    """Expected: FILE:LINE: what, status 1. Broken: C that does not compile, or that means another call."""
    file = copy / "interfaces/clock.idl"
    file.write_text(file.read_text().replace("    // Linux's calls.\n", f"    // Linux's calls.\n    {line}\n", 1))
    done = compile_interfaces(copy)
    assert (done.returncode, said in done.stderr) == (1, True), done.stderr
    assert done.stderr.startswith("interfaces/clock.idl:")


@pytest.mark.parametrize(
    "line",
    [
        "linux 228 clock_gettime = gettime(0, a1[16]);",
        "linux 228 clock_gettime = gettime(0, a1[16]) restarts when a0 == 7;",
        "linux 228 gettime = gettime(0, a1[16]) when a0 == 7;",
    ],
)
def test_lines_of_one_system_call_agree(copy: Path, line: str) -> None:
    """Expected: two lines without a condition, of two names, or that begin again in two ways are refused."""
    file = copy / "interfaces/clock.idl"
    file.write_text(file.read_text().replace("    // Linux's calls.\n", f"    // Linux's calls.\n    {line}\n", 1))
    done = compile_interfaces(copy, "mono")
    assert done.returncode == 1
    assert "lines of one call have its name, begin again alike, and one has no condition" in done.stderr


def test_a_system_calls_line_becomes_these_steps(copy: Path) -> None:
    """Expected: in this order the condition, what is refused, the iovec, the time, the mask; then the call, the old
    mask, and what is left of the time. Broken: a mask that is set for a call that is then refused."""
    file = copy / "interfaces/vfs.idl"
    text = file.read_text()
    line = "linux 9000 all = poll(a0[a1], a1, after_micro(a2)) resumes masked(a3, a4) leaving unless a5: EINVAL;"
    room = "linux 9001 some = receive(a0, vector a1[a2], room a4[a5], none, a3);"
    either = "linux 9002 or = eventfd(1, 0) when a0 == 1;\n    linux 9002 or = ENOSYS;"
    new = f"    uses abi/files.h;\n    {line}\n    {room}\n    {either}\n"
    file.write_text(text.replace("    uses abi/files.h;\n", new, 1))
    assert compile_interfaces(copy).returncode == 0
    assert compile_interfaces(copy, "mono").returncode == 0
    made = (copy / "out/domain_kernel.c").read_text()

    def body(name: str) -> list[str]:
        _, _, rest = made.partition(f"static int64_t linux_{name}(struct task *t, const uint64_t *a)\n{{\n")
        return [each.strip() for each in rest.partition("\n}\n")[0].splitlines() if each.strip()]

    stop = ["if (result < 0)", "return result;"]
    assert body("all") == [
        *("nanoseconds deadline;", "int64_t result;", "if (a[5])", "return -EINVAL;"),
        *("result = deadline_after(a[2], 1000, &deadline);", *stop, "result = mask_begin(t, a[3], a[4]);", *stop),
        "result = mask_end(t, result, client_vfs_poll_inline(&t->request, user_grant(a[0], a[1]), "
        "(uint32_t)(a[1]), deadline));",
        *("(void)deadline_left(a[2], 1000, deadline);", "return result;"),
    ]
    assert body("some") == [
        *("struct grant vector;", "struct grant room;", "int64_t result;"),
        *("result = user_vector(t, a[1], a[2], &vector);", *stop, "result = room_of(a[4], a[5], &room);", *stop),
        "return room_used(t, a[4], a[5], client_vfs_receive_inline(&t->request, (int32_t)(a[0]), vector, room, "
        "user_grant(0, 0), (uint32_t)(a[3])));",
    ]
    assert body("or") == ["if (a[0] == 1)", "return linux_or_0(t, a);", "return -ENOSYS;"]
    assert '\t{ 9000, RESUMES, "all", linux_all },' in made


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('provides = "fs"', 'provides = "nothing"', "fs provides 'nothing', of which there is no interface"),
        ('provides = "fs"', 'provides = "vm"', "0 services provide fs"),
        ('"task_ports", "shut_down"', '"task_ports", "shut_up"', "pm may call shut_up: no such thing"),
        ('calls = ["vfs", ', 'calls = ["nobody", ', "pm may call nobody: no such thing"),
        ("[pm]", "[pm", "Expected ']'"),
    ],
)
def test_a_configuration_that_is_wrong_is_refused(copy: Path, old: str, new: str, said: str) -> None:
    """Expected: named, status 1, and nothing written. Broken: a right to a call that there is not."""
    file = copy / "config/services.toml"
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))
    done = compile_interfaces(copy)
    assert (done.returncode, said in done.stderr) == (1, True), done.stderr
    assert not (copy / "out").exists()
