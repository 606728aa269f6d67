"""The emulator's plugin: does it know what it counts, and is it built for the QEMU at hand?"""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from kernometer.errors import BuildError, MissingError
from kernometer.guests import plugins
from kernometer.guests.emulator.qemu import Boot, Machine, QemuVersion, argv, detect
from kernometer.guests.kernels import elf
from kernometer.guests.plugins import events
from tests.support.checkout import ROOT
from tests.support.guests.assembled import assembled
from tests.support.turns import some

HERE = Path(__file__).parent
UNIT = HERE / "units" / "classify.c"

#: The instruction in AT&T syntax, and what it is counted as beside "user". The assembler gives the bytes.
INSTRUCTIONS = (
    ("syscall", "syscalls"),
    ("sysenter", "syscalls"),
    ("sysretq", "sysrets"),
    ("int $0x80", "ints"),
    ("int3", "ints"),
    ("iretq", "irets"),
    ("iret", "irets"),
    ("mov %rax,%cr3", "cr3_writes"),
    ("mov %r9,%cr3", "cr3_writes"),
    ("mov %rax,%cr4", "nothing"),
    ("mov %cr3,%rax", "nothing"),
    ("swapgs", "swapgs"),
    ("fxsave (%rdi)", "fpu_saves"),
    ("fxsave64 (%rdi)", "fpu_saves"),
    ("xsave (%rdi)", "fpu_saves"),
    ("xsaveopt (%rdi)", "fpu_saves"),
    ("xsavec64 (%rdi)", "fpu_saves"),
    ("xsaves64 (%r12)", "fpu_saves"),
    ("fxrstor (%rdi)", "fpu_restores"),
    ("fxrstor64 8(%rdi)", "fpu_restores"),
    ("xrstor (%rdi)", "fpu_restores"),
    ("xrstors64 (%rdi)", "fpu_restores"),
    ("lfence", "nothing"),
    ("mfence", "nothing"),
    ("sfence", "nothing"),
    ("ldmxcsr (%rdi)", "nothing"),
    ("clflush (%rdi)", "nothing"),
    ("clflushopt (%rdi)", "nothing"),
    ("clwb (%rdi)", "nothing"),
    ("wrfsbase %rax", "nothing"),
    ("cmpxchg16b (%rdi)", "nothing"),
    ("rdrand %rax", "nothing"),
    ("cli", "cli"),
    ("sti", "sti"),
    ("rdtsc", "rdtsc"),
    ("rdtscp", "rdtsc"),
    ("rep movsb", "rep_iterations"),
    ("rep stosq", "rep_iterations"),
    ("repne scasb", "rep_iterations"),
    ("rep outsb", "rep_iterations"),
    ("rep movsl", "rep_iterations"),
    ("movsb", "nothing"),
    ("pause", "nothing"),
    ("popcnt %rax,%rbx", "nothing"),
    ("movss (%rax),%xmm0", "nothing"),
    ("wrmsr", "wrmsr"),
    ("rdmsr", "nothing"),
    ("invlpg (%rax)", "invlpg"),
    ("lgdt (%rax)", "nothing"),
    ("smsw %ax", "nothing"),
    ("stac", "nothing"),
    ("cpuid", "cpuid"),
    ("in %dx,%al", "port_io"),
    ("outb %al,$0x80", "port_io"),
    ("outsb", "port_io"),
    ("hlt", "hlt"),
    ("lock incl (%rax)", "locked"),
    ("lock cmpxchg %rcx,%gs:(%rdi)", "locked"),
    ("nop", "nothing"),
    ("nopl 0x4b4d0000(%rax)", "begin"),
    ("nopl 0x4b4d0123(%rax)", "begin"),
    ("nopl 0x4b4e0123(%rax)", "end"),
    ("nopl 0x4b4f0123(%rax)", "nothing"),
    ("nopl 0x4b4d0123(%rcx)", "nothing"),
    ("movabs $0xfafbcff4050f310f,%rax", "nothing"),
)


#: The same for other processors, in their assemblers' own words.
OTHERS = {
    "aarch64": (
        ("svc #0", "syscalls"),
        ("svc #0x1234", "syscalls"),
        ("hvc #0", "nothing"),
        ("brk #1", "nothing"),
        ("eret", "erets"),
        ("ret", "nothing"),
        ("msr ttbr0_el1, x5", "ttbr_writes"),
        ("msr ttbr1_el1, x5", "ttbr_writes"),
        ("msr tcr_el1, x5", "nothing"),
        ("mrs x5, ttbr0_el1", "nothing"),
        ("tlbi vmalle1", "tlbi"),
        ("tlbi vae1is, x3", "tlbi"),
        ("dc civac, x3", "nothing"),
        ("mrs x0, cntvct_el0", "cntvct"),
        ("mrs x0, cntfrq_el0", "nothing"),
        ("wfi", "wfi"),
        ("wfe", "nothing"),
        ("ldxr x0, [x1]", "nothing"),
        ("ldaxp x0, x2, [x1]", "nothing"),
        ("stxr w3, x0, [x1]", "atomics"),
        ("stlxr w3, w0, [x1]", "atomics"),
        ("stxp w3, x0, x2, [x1]", "atomics"),
        ("stlr x0, [x1]", "nothing"),
        ("ldar x0, [x1]", "nothing"),
        (".arch armv8.1-a\ncas x0, x2, [x1]", "atomics"),
        ("casalb w0, w2, [x1]", "atomics"),
        ("casp x0, x1, x2, x3, [x4]", "atomics"),
        ("ldadd x0, x2, [x1]", "atomics"),
        ("swpal w0, w2, [x1]", "atomics"),
        ("str x0, [x1, x2]", "nothing"),
        ("str x0, [x1], #8", "nothing"),
        ("movz x0, #0x4001", "nothing"),
        ("movz xzr, #0x4000", "begin"),
        ("movz xzr, #0x4123", "begin"),
        ("movz xzr, #0x8123", "end"),
        ("movz xzr, #0xc123", "nothing"),
        ("movz xzr, #0x123", "nothing"),
        ("movz xzr, #0x4123, lsl #16", "nothing"),
        ("movz wzr, #0x4123", "nothing"),
        ("nop", "nothing"),
    ),
    "riscv64": (
        (".option norvc\necall", "syscalls"),
        ("ebreak", "nothing"),
        ("sret", "srets"),
        ("mret", "nothing"),
        ("csrw satp, a0", "satp_writes"),
        ("csrr a0, satp", "nothing"),
        ("csrw stvec, a0", "nothing"),
        ("sfence.vma", "sfences"),
        ("sfence.vma a0, a1", "sfences"),
        ("fence", "nothing"),
        ("rdtime a0", "rdtime"),
        ("rdcycle a0", "nothing"),
        ("wfi", "wfi"),
        ("lr.d a0, (a1)", "nothing"),
        ("sc.d a0, a2, (a1)", "atomics"),
        ("amoadd.w a0, a2, (a1)", "atomics"),
        ("amoswap.d.aqrl a0, a2, (a1)", "atomics"),
        ("sd a0, (a1)", "nothing"),
        ("lui a0, 0x40001", "nothing"),
        (".word 0x40000037", "begin"),
        (".word 0x40123037", "begin"),
        (".word 0x80123037", "end"),
        (".word 0xc0123037", "nothing"),
        ("nop", "nothing"),
        (".option rvc\nc.nop", "nothing"),
        ("c.addi a0, 15", "nothing"),
    ),
}


def assembled_by_zig(folder: Path, target: str) -> list[str]:
    """The bytes of each instruction of OTHERS: each ends at the next label."""
    source, made = folder / "all.s", folder / "all.o"
    source.write_text("".join(f"{text}\nkm_{n}:\n" for n, (text, _) in enumerate(OTHERS[target])))
    words = ("cc", "-target", f"{target}-linux-musl", "-c", "-o", str(made), str(source))
    subprocess.run([sys.executable, "-m", "ziglang", *words], check=True, timeout=120)
    content = made.read_bytes()
    text = next(one for one in elf.sections(content) if one.name == ".text")
    code = content[text.offset : text.offset + text.size]
    ends = {name: at for name, section, at, _ in elf.symbols(content) if section == text and name.startswith("km_")}
    cuts = [0, *(ends[f"km_{n}"] for n in range(len(OTHERS[target])))]
    return [code[a:b].hex() for a, b in pairwise(cuts)]


@pytest.mark.parametrize("target", ["x86_64", *OTHERS])
def test_every_class_of_instructions_is_known_by_its_bytes(target: str, tmp_path: Path) -> None:
    """Expected: no other class. Broken: a prefix hides an opcode, lfence is an xrstor, bytes of a constant count."""
    program = tmp_path / "classify"
    subprocess.run(
        ["gcc", "-std=gnu99", "-g", "-fsanitize=address,undefined", "-o", str(program), str(UNIT)],
        check=True,
        timeout=120,
    )
    codes = assembled_by_zig(tmp_path, target) if target in OTHERS else assembled(tmp_path, INSTRUCTIONS)
    lines = "".join(f"{name} {code}\n" for (_, name), code in zip(OTHERS.get(target, INSTRUCTIONS), codes, strict=True))
    kept = {"ASAN_OPTIONS": "detect_leaks=0"}  # QEMU keeps what callbacks are given
    done = subprocess.run(
        [program, target], input=lines, capture_output=True, text=True, timeout=60, check=False, env=kept
    )
    assert done.stdout == f"{len(codes)} read\n"
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("version", "number"),
    [((7, 2, 22), 1), ((8, 2, 0), 1), ((9, 0, 0), 2), ((9, 1, 3), 3), ((9, 2, 0), 4), ((10, 0, 13), 4)],
)
def test_the_interface_follows_the_version(version: tuple[int, int, int], number: int) -> None:
    """Expected: QEMU's own numbers. Broken: versions compared as text, where 10 comes before 7."""
    assert plugins.api_of(QemuVersion(*version)) == number


def test_a_qemu_without_plugins_is_said_to_be_too_old() -> None:
    """Expected: MissingError. Broken: a plugin is built that QEMU refuses at start."""
    with pytest.raises(MissingError, match=r"3\.1\.0 has no plugin interface"):
        plugins.api_of(QemuVersion(3, 1, 0))


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("kind", ["events", "profile"])
@pytest.mark.parametrize("api", some([1, 2, 3, 4], 0.01, every=3))
def test_it_compiles_without_a_warning_for_every_interface(api: int, kind: str, compiler: str, tmp_path: Path) -> None:
    """Expected: silence. Broken: an interface's functions are declared differently in two branches."""
    source = ROOT / "src/kernometer/guests/plugins" / f"{kind}.c"
    words = [*plugins.FLAGS, "-Wall", "-Wextra", "-pedantic", f"-DKM_PLUGIN_API={api}", "-o", str(tmp_path / "e.so")]
    done = subprocess.run([compiler, *words, str(source)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.guest
@pytest.mark.parametrize("cpu", ["max", "pentium3"])
def test_user_and_kernel_of_a_kernel_of_32_bits_are_told_by_privilege(cpu: str, tmp_path: Path) -> None:
    """Expected: marker, 21 nops and int are the user's, 10 nops and iret the kernel's. Broken: all is the user's, since
    both lie in the lower half of the address space."""
    kernel = tmp_path / "rings"
    flags = ("-m32", "-nostdlib", "-static", "-no-pie", f"-Wl,-T,{HERE}/tiny.ld,--build-id=none")
    subprocess.run(["gcc", *flags, "-o", kernel, HERE / "rings.s"], check=True, timeout=60)
    (tmp_path / "console").touch()
    version = detect()
    boot = Boot(
        machine=Machine(type="pc", cpu=cpu, memory_mib=32),
        accelerator="icount",
        kernel=kernel,
        initrd="",
        command_line="",
        console=tmp_path / "console",
        bulk=tmp_path / "bulk",
        plugin=plugins.build(version, "events"),
        events=tmp_path / "events.json",
    )
    subprocess.run(argv(boot), check=True, timeout=120, stdin=subprocess.DEVNULL)
    counts = events.parse((tmp_path / "events.json").read_bytes())["2"].counts
    assert {name: counts[name] for name in ("user", "kernel", "ints", "irets")} == {
        "user": 23,
        "kernel": 11,
        "ints": 1,
        "irets": 1,
    }


def test_the_built_plugin_is_kept_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: one file, compiled once. Broken: a compiler is needed for every boot."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    first = plugins.build(QemuVersion(7, 2, 22), "events")
    stamp = first.stat().st_mtime_ns
    assert plugins.build(QemuVersion(7, 2, 22), "events") == first
    assert first.stat().st_mtime_ns == stamp
    assert plugins.build(QemuVersion(10, 0, 13), "events") != first
    assert sorted(path.suffix for path in first.parent.iterdir()) == [".so", ".so"]


def test_without_a_compiler_the_error_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: MissingError with the compiler's name. Broken: FileNotFoundError from deep inside."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    with pytest.raises(MissingError, match="no-such-compiler"):
        plugins.build(QemuVersion(7, 2, 22), "events")


def test_what_the_compiler_says_is_in_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: BuildError holding stderr, and nothing half built in the cache. Broken: an empty .so is kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CC", "gcc -Dinstrument=0")
    with pytest.raises(BuildError) as caught:
        plugins.build(QemuVersion(7, 2, 22), "events")
    assert "error:" in caught.value.last_output
    assert list((tmp_path / "kernometer" / "compiled").iterdir()) == []
