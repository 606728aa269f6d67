"""The names of functions: from listings, ELF files, and programs inside a kernel."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernometer.errors import TargetError
from kernometer.guests.kernels import symbols

LISTING = """\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _text
ffffffff81000000 T startup_64
ffffffff81000100 t local.part.0
ffffffff81000100 W weak
ffffffff810001f0 t __pfx_padded
ffffffff81000200 T padded
ffffffffc0001000 t ext4_read\t[ext4]
ffffffff82000000 D data
garbage
ffffffff81000300 T <script>
"""


def test_a_listing_is_read_as_nm_writes_it() -> None:
    """Expected: code only, one name an address, a driver's with its name. Broken: a padding's name, or data."""
    table = symbols.listed(LISTING.splitlines())
    assert table is not None
    assert table.names == ("startup_64", "weak", "padded", "<script>", "ext4_read [ext4]")
    assert table.name(0xFFFFFFFF81000101) == "weak"
    assert table.name(0xFFFFFFFF80000000) == ""
    assert symbols.listed(["", "x"]) is None


def test_names_of_other_languages_are_those_of_their_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: both manglings of Rust without their hashes, C++, a driver's; a long name is cut after that. Broken: a
    profile of letters and lengths, or no line for a long one."""
    long = f"_ZN{'4core' * 80}17h0123456789abcdefE"
    mangled = ("_ZN4core3fmt5write17h0123456789abcdefE", "_RNvC6_123foo3bar", "_ZN3foo3barEi\t[foo]", long, "plain")
    lines = [f"{0xFFFFFFFF81000000 + 16 * n:x} T {name}" for n, name in enumerate(mangled)]
    table = symbols.listed(lines)
    assert table is not None
    assert table.names[:3] == ("core::fmt::write", "123foo::bar", "foo::bar(int) [foo]")
    assert table.names[3] == ("core::" * 80)[: symbols.MAX_NAME]
    assert table.names[4] == "plain"
    monkeypatch.setenv("PATH", "/nowhere")
    table = symbols.listed(lines)
    assert table is not None
    assert table.names[1] == "_RNvC6_123foo3bar"


def test_a_function_ends_where_its_size_says() -> None:
    """Expected: no name after it, but for the function around it; one without a size reaches up to the next, but not
    for ever. Broken: code of another is charged to the nearest symbol before it."""
    table = symbols.Table((100, 120, 200, 300), ("outer", "inner", "sized", "unsized"), (50, 10, 8, 0))
    places = {100: "outer", 125: "inner", 140: "outer", 150: "", 199: "", 207: "sized", 208: "", 9999: "unsized"}
    places[300 + symbols.LONGEST] = ""
    assert {at: table.name(at) for at in places} == places
    listed = symbols.Table((100, 200), ("first", "last"))
    assert [listed.name(at) for at in (99, 199, 200, 200 + symbols.LONGEST)] == ["", "first", "last", ""]


def test_a_list_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbols, "MAX_SYMBOLS", 10)
    with pytest.raises(TargetError, match="more than 10"):
        symbols.listed(f"{at:016x} t f{at}" for at in range(1, 100))


#: What a kernel lists; `same` is a name of two static functions.
KERNEL = [f"{0xFFFFFFFF81000000 + 16 * n:x} t f{n}" for n in range(200)] + [
    "ffffffff81001000 t same",
    "ffffffff81002000 t same",
    "ffffffffc0001000 t f7\t[ext4]",
    "ffffffff82000000 D data",
]


def moved(name: str, at: int) -> list[str]:
    return [f"{at:x} t {name}" if line.endswith(f" {name}") else line for line in KERNEL]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (KERNEL, ""),
        ([*KERNEL, "0000000000000000 A fixed_percpu_data", "ffffffff81003000 T unlisted"], ""),
        (KERNEL[:-4] + KERNEL[-3:], ""),  # one of the two of a name
        (KERNEL[1:], ""),  # a single one may be filtered
        (moved("f9", 0xFFFFFFFF81000098), "f9 is at ffffffff81000098 in it, and at ffffffff81000090 in the kernel"),
        (moved("same", 0xFFFFFFFF81001010), "same is at ffffffff81001010 in it, and at ffffffff81001000 in the kernel"),
        (moved("data", 0xFFFFFFFF82000010), ""),
        (KERNEL[:100], "it has 100 of the kernel's 201 functions"),
        (KERNEL[7:8], "it has 1 of the kernel's 201 functions"),
        ([], "it has 0 of the kernel's 201 functions"),
    ],
)
def test_a_builds_list_is_held_against_what_the_kernel_lists(given: list[str], expected: str) -> None:
    """Expected: the first function by the kernel's order that differs, or how many there are. Broken: a map of another
    build is believed, and getppid is counted to load_module; or a driver's name, or data, refuses a right one."""
    assert symbols.mismatch(given, KERNEL) == expected


def test_the_first_that_differs_is_the_kernels_first() -> None:
    wrong = [line.replace("ffffffff81", "ffffffff91") for line in reversed(KERNEL)]
    assert symbols.mismatch(wrong, KERNEL).startswith("f0 is at ffffffff91000000 in it, and at ffffffff81000000")


@pytest.fixture(params=["-m64", "-m32"])
def program(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Of 32 bits too, as MINIX's servers are: the modules of a multiboot guest."""
    source, made = tmp_path / "p.c", tmp_path / "p"
    source.write_text("int f(int x) { return 3 * x + 1; }\nvoid _start(void) { f(2); for (;;) ; }\n")
    words = ("gcc", request.param, "-O1", "-static", "-nostdlib", "-fno-pie", "-no-pie", "-o", str(made), str(source))
    subprocess.run(words, check=True, timeout=60)
    return made


def test_a_program_is_known_by_its_code(program: Path) -> None:
    """Expected: the bytes at the address decide. Broken: any code at that address is this program's."""
    found = symbols.program_of("p", program.read_bytes())
    assert found is not None
    at = found.table.addresses[found.table.names.index("f")]
    start, content = next(one for one in found.segments if one[0] <= at < one[0] + len(one[1]))
    code = content[at - start : at - start + 4]
    assert found.has(at, code)
    assert not found.has(at, code[::-1])
    assert not found.has(at + 0x10000000, code)
    subprocess.run(("strip", str(program)), check=True, timeout=60)
    stripped = symbols.program_of("p", program.read_bytes())
    assert stripped is not None
    assert stripped.table == symbols.Table((), ())


def test_the_name_of_a_section_s_beginning_is_no_function(tmp_path: Path) -> None:
    """Expected: a function that begins where a linker script's name lies has its own name, and code without any other
    name has that one. Broken: instructions of the first function are those of `begin`."""
    source, made = tmp_path / "s.S", tmp_path / "s"
    source.write_text(
        ".globl begin, a_function, lone\n.text\nbegin:\n.type a_function, @function\na_function: ret\n"
        ".size a_function, .-a_function\nlone: ret\n"
    )
    subprocess.run(("gcc", "-static", "-nostdlib", "-o", str(made), str(source), "-Wl,-e,0"), check=True, timeout=60)
    table = symbols.of_elf(made.read_bytes())
    assert table is not None
    assert table.names[:2] == ("a_function", "lone")


def test_a_program_inside_a_kernel_is_found_by_its_symbol(program: Path, tmp_path: Path) -> None:
    """Expected: the servers of Trio, each a whole ELF file. Broken: every word that begins so."""
    source, kernel = tmp_path / "k.S", tmp_path / "k"
    source.write_text(f'.globl image_p, image_none\n.data\nimage_none: .quad 1\nimage_p: .incbin "{program}"\n')
    subprocess.run(("gcc", "-static", "-nostdlib", "-o", str(kernel), str(source), "-Wl,-e,0"), check=True, timeout=60)
    found = symbols.embedded(kernel.read_bytes(), "image_")
    assert [one.name for one in found] == ["p"]
    assert "f" in found[0].table.names


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 100, b"text"])
def test_what_is_no_program_is_none(content: bytes) -> None:
    assert symbols.program_of("x", content) is None
    assert symbols.of_elf(content) is None
