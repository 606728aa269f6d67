"""Is what trio/README.md says of the sources so: its files and functions, tables of lines, words?"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lines
from tests.support.trio import rules
from tests.support.trio.boot import Kernel
from tests.support.turns import in_turn

ROOT = Path(__file__).parents[3] / "trio"
#: A link to a file, then perhaps the names of functions in it.
_LINK = re.compile(r"\[[^\]]+\]\((?!\w+:)([^)#]+)\)((?:,? `\w+`)*)")
#: A path in code: capitals stand for any name.
_PATH = re.compile(r"`((?:kernel|seam|services|drivers|interfaces|config|tools|user)/[\w./*]*)`")


def defines(path: Path, function: str) -> bool:
    """Whether a file of C or assembly has that function's beginning, and not only its name."""
    pattern = rf"^(?!#)\S.*\b{function}\([^;]*$|^{function}:"
    return re.search(pattern, rules.without_comments(path.read_text()), re.MULTILINE) is not None


def untrue(text: str, root: Path) -> list[str]:
    """Files and functions named in `text` that are not below `root`."""
    found = []
    for path, functions in _LINK.findall(text):
        if not (root / path).exists():
            found.append(path)
            continue
        named = re.findall(r"\w+", functions)
        found += [f"{path}: {each}" for each in named if not defines(root / path, each)]
    return found + [path for path in _PATH.findall(text) if not any(root.glob(re.sub("[A-Z]+", "*", path)))]


def test_every_file_and_function_that_readme_names_is_there() -> None:
    """Expected: each path exists, each function is defined in the file that stands before it. Broken: a way of a call
    through files that were split since."""
    text = (ROOT / "README.md").read_text()
    assert len(_LINK.findall(text)) >= 10
    assert untrue(text, ROOT) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[seam/kernel_port.c](seam/kernel_port.c) `copy_out`", []),
        ("[seam/gone.c](seam/gone.c)", ["seam/gone.c"]),
        ("[seam/kernel_port.c](seam/kernel_port.c) `gone`", ["seam/kernel_port.c: gone"]),
        ("[seam/kernel_port.c](seam/kernel_port.c) `memcpy`", ["seam/kernel_port.c: memcpy"]),
        ("[kernel/x86/entry.S](kernel/x86/entry.S) `entry_return`", []),
        ("[seam/local.c](seam/local.c) `park`, `gone`", ["seam/local.c: gone"]),
        ("`services/SERVICE/main.c`, `interfaces/*.idl`", []),
        ("`kernel/abi/way_SERVICE.c`", ["kernel/abi/way_SERVICE.c"]),
    ],
)
def test_what_readme_should_not_name_is_found(text: str, found: list[str]) -> None:
    """`memcpy` is called in that file and is not its."""
    assert untrue(text, ROOT) == found


#: Words that are Trio's own, at most.
OWN_WORDS = 20


def not_words(text: str) -> list[str]:
    """What is wrong with the glossary: too many words, out of order, in no source."""
    rows = text.split("\n## Words\n")[1].split("\n## ")[0]
    words = re.findall(r"^\| `?(\w[\w ]*)`? \|", rows, re.MULTILINE)[1:]
    found = [f"{len(words)} words"] if len(words) > OWN_WORDS else []
    if words != sorted(words, key=str.lower):
        found.append("out of order")
    folders = ("seam", "kernel", "services", "drivers")
    sources = " ".join(path.read_text() for each in folders for path in ROOT.glob(f"{each}/**/*.[chS]"))
    return found + [each for each in words if not re.search(rf"\b{each.replace(' ', '[ _]')}", sources, re.IGNORECASE)]


def test_the_glossary_is_short_and_of_words_that_are_used() -> None:
    """Expected: twenty lines at most, in order, each a word of the sources."""
    text = (ROOT / "README.md").read_text()
    assert not_words(text) == []
    row = "| window |"
    assert not_words(text.replace(row, "| apple | a fruit |\n" + row)) == ["out of order", "apple"]
    more = "".join(f"| window {at} | a number |\n" for at in range(OWN_WORDS))
    assert any(each.endswith(" words") for each in not_words(text.replace(row, more + row)))


def test_the_table_of_privileged_lines_is_what_the_sources_have(tmp_path: Path) -> None:
    """Expected: tools/lines.py, given a README.md, has nothing to change. Broken: figures of an older state; then
    `python3 trio/tools/lines.py trio/README.md`."""
    copy = tmp_path / "README.md"
    shutil.copy(ROOT / "README.md", copy)
    for _ in range(2):
        words = (sys.executable, str(ROOT / "tools" / "lines.py"), str(copy))
        done = subprocess.run(words, check=False, timeout=60, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert copy.read_text() == (ROOT / "README.md").read_text()


def test_a_line_more_is_a_line_more_in_each_structure_that_has_it(tmp_path: Path) -> None:
    """Expected: comments and blank lines do not count; what only mono links counts for mono alone, a service where it
    is in the kernel. Broken: a file that is counted nowhere."""
    for name in ("seam", "kernel", "services", "drivers", "tools", "interfaces"):
        shutil.copytree(ROOT / name, tmp_path / name)
    words = (sys.executable, str(tmp_path / "tools" / "lines.py"))

    def sums() -> list[int]:
        said = subprocess.run(words, check=True, timeout=60, capture_output=True, text=True).stdout
        return [int(each.replace(",", "")) for each in re.findall(r"\*\*([\d,]+)\*\*", said)]

    before = sums()
    assert len(before) == 4
    with (tmp_path / "seam" / "local.c").open("a") as file:
        file.write("\n/* a comment\n * of two lines */\nint one;\n")
    assert sums() == [before[0] + 1, *before[1:]]
    with (tmp_path / "services" / "pm" / "pm.c").open("a") as file:
        file.write("int another;\n")
    assert sums() == [before[0] + 2, before[1] + 1, *before[2:]]
    (tmp_path / "seam" / "new.c").write_text("int new;\n")
    done = subprocess.run(words, check=False, timeout=60, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "lines.py: in no part: seam/new.c\n")


@pytest.mark.guest
@pytest.mark.parametrize("kernel", in_turn(lines.STRUCTURES, 0.2, always=["mono", "micro"]), indirect=True)
def test_the_code_is_as_large_as_the_table_says(kernel: Kernel) -> None:
    """Expected: its last line, within 2 KiB, where this compiler is the one that it names. Broken: an older figure;
    then `python3 trio/tools/lines.py trio/README.md BUILD`."""
    compiler = subprocess.run(["gcc", "-dumpversion"], capture_output=True, text=True, check=True, timeout=60).stdout
    row = re.search(r"^\| KiB of code .*, gcc (\d+) \| (.*) \|$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert row is not None
    if compiler.split(".")[0].strip() != row[1]:
        pytest.skip(f"the sizes are known for gcc {row[1]}; this is {compiler}")
    known = dict(zip((f"trio-{each}" for each in lines.STRUCTURES), map(int, row[2].split(" | ")), strict=True))
    [kib] = [kib for name, kib in known.items() if kernel.file.stem.startswith(name)]
    assert abs(lines.code_kib(kernel.file) - kib) <= 2
