"""The layout of a kernel: equal while only code changes, and not known where there is nothing to go by."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernometer.guests.kernels.elf import layout, sections, symbols

SCRIPT = "SECTIONS { . = 0x100000; .text : { *(.text) } . = ALIGN(4096); .data : { *(.data) } .bss : { *(.bss) } }"


def linked(folder: Path, code: str, *words: str) -> bytes:
    source, script, made = folder / "k.c", folder / "k.ld", folder / "k"
    source.write_text(code)
    script.write_text(SCRIPT)
    gcc = (
        "gcc",
        "-O1",
        "-ffreestanding",
        "-fno-asynchronous-unwind-tables",
        "-fno-pie",
        "-nostdlib",
        "-static",
        "-no-pie",
        "-Wl,--build-id=none",
    )
    subprocess.run((*gcc, f"-Wl,-T,{script},-e,0", *words, str(source), "-o", str(made)), check=True)
    return made.read_bytes()


CODE = "int a = 1, b = 2; int f(void) { return a; } int g(void) { return b; }"


def test_code_may_change_and_move_within_its_pages(tmp_path: Path) -> None:
    """Expected: equal for a longer function, which moves the next; other for moved data, or one more page of code."""
    whole = layout(linked(tmp_path, CODE))
    longer = CODE.replace("return a;", '__asm__(".skip 99, 0x90"); return a;')
    assert layout(linked(tmp_path, longer)) == whole != ""
    moved = CODE.replace("int a = 1", "int c = 3, a = 1")
    paged = CODE.replace("return a;", '__asm__(".skip 4099, 0x90"); return a;')
    renamed = CODE.replace("a = 1", "z = 1").replace("return a", "return z")
    assert len({whole, *(layout(linked(tmp_path, code)) for code in (moved, paged, renamed))}) == 4
    assert layout(linked(tmp_path, CODE, "-s")) == ""


def test_a_program_within_the_kernel_counts_too(tmp_path: Path) -> None:
    """Expected: a server's moved data are seen, and one without symbols makes the layout unknown."""
    server, other = linked(tmp_path, CODE), linked(tmp_path, CODE.replace("int a", "int c = 3, a"))
    stripped = linked(tmp_path, CODE, "-s")
    (tmp_path / "server").write_bytes(server)
    holding = f'{CODE} __asm__(".data; .incbin \\"{tmp_path}/server\\"; .previous");'
    kernel = linked(tmp_path, holding)
    assert layout(kernel) != layout(kernel.replace(server, other.ljust(len(server), b"\0")[: len(server)]))
    (tmp_path / "server").write_bytes(stripped)
    assert layout(linked(tmp_path, holding)) == ""


def test_symbols_of_both_widths_are_read(tmp_path: Path) -> None:
    for words in ((), ("-m32",)):
        kernel = linked(tmp_path, CODE, *words)
        found = {name: (section.name, size) for name, section, _, size in symbols(kernel)}
        assert found["a"] == found["b"] == (".data", 4)
        assert found["f"][0] == ".text"


def test_damage_is_unknown_and_nothing_else(tmp_path: Path) -> None:
    """Expected: no layout, or any; never an error, at any cut and with any header's byte turned over."""
    kernel = linked(tmp_path, CODE)
    (offset,) = (one.offset for one in sections(kernel) if one.kind == 2)
    for cut in range(0, len(kernel), 97):
        layout(kernel[:cut])
    for at in (*range(0x10, 0x40), *range(offset, offset + 48), *range(len(kernel) - 500, len(kernel))):
        layout(kernel[:at] + bytes((kernel[at] ^ 0xFF,)) + kernel[at + 1 :])
    with pytest.raises(LookupError):
        sections(b"MZ" + kernel[2:])
