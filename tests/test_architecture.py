"""The rules of docs/architecture.md, held against the sources."""

from __future__ import annotations

import ast
import functools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from kernometer.results.model import Run
from kernometer.targets import build
from tests.support.checkout import names

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/kernometer"
DOCUMENT = (ROOT / "docs/architecture.md").read_text()

#: Figures that only the front end may compute.
STATISTICS = (
    "mean",
    "median",
    "average",
    "stddev",
    "deviation",
    "variance",
    "percentile",
    "quantile",
    "interval",
    "outlier",
)
#: Ways to take a time for a figure; waits use the monotonic clock.
STOPWATCHES = ("perf_counter", "perf_counter_ns", "process_time", "process_time_ns", "thread_time", "timeit")
#: What touches the world: none of it in stats/, explain/ and results/model.py.
WORLD = {
    *("asyncio", "ctypes", "glob", "http", "io", "logging", "multiprocessing", "os", "pathlib", "random", "resource"),
    *("selectors", "shutil", "signal", "socket", "sqlite3", "subprocess", "sys", "tempfile", "threading", "time"),
    *("urllib", "click", "jinja2", "pexpect", "rich", "vl_convert"),
}
WORLD_CALLS = {"open", "print", "input", "exec", "eval", "__import__"}
#: Ours, and free for all folders: the modules beside them, which import none of them.
COMMON = {"errors", "text", "tables", "arrays", "cache", "processes"}


def modules(folder: str = "") -> list[Path]:
    return sorted((PACKAGE / folder).rglob("*.py"))


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


@functools.cache
def imports(path: Path) -> tuple[str, ...]:
    """Every module that a file imports, wherever the statement stands, as a dotted name."""
    found: list[str] = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found += (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where a name comes from"
            found += (node.module or "", *(f"{node.module}.{name.name}" for name in node.names))
    return tuple(found)


def ours(path: Path) -> set[str]:
    """Folders and modules of the package that a file imports: {"results", "results.model", "errors"}."""
    found = set()
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "kernometer" and len(parts) > 1:
            found.add(parts[1])
            if len(parts) > 2:
                found.add(".".join(parts[1:3]))
    return found


def allowed() -> dict[str, set[str]]:
    """The table of docs/architecture.md: folder → what it may use of ours."""
    rows = re.findall(r"^\| `src/kernometer/(\w+)/` \|[^|]*\| ([^|]*) \|$", DOCUMENT, flags=re.MULTILINE)
    folders = {folder for folder, _ in rows}
    assert len(rows) == 10
    return {
        folder: folders if uses == "everything" else {use.replace("/", ".") for use in uses.split(", ")}
        for folder, uses in rows
    }


@pytest.fixture(scope="module")
def probe() -> Path:
    return build.probe()


# 1 -------------------------------------------------------------------------------------------------------------


def test_the_probe_ships_raw_samples_and_no_statistic(probe: Path) -> None:
    """Expected: a run's fields are those of the model, none of them a statistic. Broken: C and Python judge apart."""
    done = subprocess.run(
        [probe, "--runs", "1", "--samples", "12", "--batch", "10", "syscall/getppid", "ctx/pipe-pair@same-cpu"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    runs = [json.loads(line) for line in done.stdout.splitlines() if '"type":"run"' in line]
    assert len(runs) == 3
    for run in runs:
        assert len(run["samples"]) > 1
        assert set(run) - {"type"} <= set(Run.__struct_fields__)
        keys = {key for value in (run, *run.values()) if isinstance(value, dict) for key in value}
        assert not [key for key in keys if any(word in key.lower() for word in STATISTICS)]


def test_the_front_end_takes_no_times_itself() -> None:
    """Expected: no stopwatch in Python. Broken: an interpreter's noise stands in a result."""
    for path in modules():
        names = {node.attr for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)} | set(imports(path))
        assert not [name for name in names if name.split(".")[-1] in STOPWATCHES], path


# 2 -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", [*modules("stats"), *modules("explain"), PACKAGE / "results/model.py"], ids=lambda path: path.stem
)
def test_statistics_explanation_and_model_touch_nothing_outside(path: Path) -> None:
    """Expected: values in, values out. Broken: a figure depends on the machine that judges."""
    outside = {name for name in imports(path) if name.split(".")[0] in WORLD}
    assert not outside
    calls = {
        node.func.id for node in ast.walk(tree(path)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & WORLD_CALLS


# 3 -------------------------------------------------------------------------------------------------------------


def registry() -> set[str]:
    """The workloads' names, from their own files."""
    texts = [path.read_text() for path in (ROOT / "probe/workloads").glob("*.c")]
    names = {
        name
        for text in texts
        for name in re.findall(r'"((?:clock|syscall|ctx|ipc|proc|sig|mem|fs|cpu|sh|load|limit|fb)/[a-z0-9-]+)"', text)
    }
    assert len(names) > 40
    return names


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Strings in the code; docstrings and bare strings, which explain, are not in it."""
    parsed = tree(path)
    explaining = {id(node.value) for node in ast.walk(parsed) if isinstance(node, ast.Expr)}
    for node in ast.walk(parsed):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in explaining:
            yield node.lineno, node.value


def test_no_workload_is_named_in_the_front_end() -> None:
    """Expected: names come from the probe. Broken: a list in Python, which is right until a workload is renamed."""
    names = registry()
    for path in modules():
        for line, text in texts(path):
            assert text.partition("@")[0] not in names, f"{path}:{line}: {text}"


#: Strings' methods that take a name apart.
PARTING = {
    "partition",
    "rpartition",
    "split",
    "rsplit",
    "removesuffix",
    "removeprefix",
    "startswith",
    "endswith",
    "find",
}
#: Who else takes texts apart at an @ or a slash, and which texts.
OTHER_NAMES = {
    "results/rows.py": "the one place",
    "results/store.py": "label:NAME@TARGET",
    "report/write/html.py": "where a line may break",
    "guests/kernels/multiboot.py": "a file",
    "guests/packages/apt.py": "a URL",
    "host/quota.py": "a path",
    "host/tree.py": "a path",
}


def partings(path: Path) -> Iterator[tuple[int, str]]:
    """Lines where a text is taken apart at an @ or a slash, or matched with a shell's pattern."""
    for node in ast.walk(tree(path)):
        match node:
            case ast.Call(func=ast.Attribute(attr=method), args=[ast.Constant(value=str(text)), *_]):
                if method in PARTING and (text == "@" or (text == "/" and "partition" in method) or text == "[@,]"):
                    yield node.lineno, f"{method}({text!r})"
            case ast.Compare(left=ast.Constant(value="@"), ops=[ast.In() | ast.NotIn()]):
                yield node.lineno, "'@' in"
            case ast.ImportFrom(module="fnmatch") | ast.Import(names=[ast.alias(name="fnmatch")]):
                yield node.lineno, "fnmatch"


def test_one_module_takes_a_rows_name_apart() -> None:
    """Expected: results/rows.py alone. Broken: a name that means another row to the gate than to the table."""
    found = {path.relative_to(PACKAGE).as_posix(): [*partings(path)] for path in modules()}
    assert {file: lines for file, lines in found.items() if lines and file not in OTHER_NAMES} == {}
    assert [*partings(PACKAGE / "results/rows.py")], "the check finds what it looks for"


# 4 -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", sorted(allowed()))
def test_a_folder_imports_what_the_table_allows(folder: str) -> None:
    """Expected: as docs/architecture.md says. Broken: statistics that need a target, a store that needs a report."""
    may = allowed()[folder] | COMMON | {folder, "__version__", "source_folder"}
    for path in modules(folder):
        for name in ours(path):
            assert name in may or name.split(".")[0] in may or any(use.startswith(f"{name}.") for use in may), (
                f"{path.relative_to(ROOT)} imports kernometer.{name}; {folder}/ may use {sorted(may)}"
            )


def test_folders_import_each_other_in_no_circle() -> None:
    """Expected: an order in which each folder needs only those before it. Broken: two that only work as one."""
    needs = {folder: {name for path in modules(folder) for name in ours(path)} & set(allowed()) for folder in allowed()}
    TopologicalSorter({folder: needed - {folder} for folder, needed in needs.items()}).prepare()


def test_data_goes_down_the_list_of_the_statistics() -> None:
    """Expected: a file imports only files above its line. Broken: a verdict whose steps one follows up and down."""
    lines = re.findall(
        r"^    ([a-z, ]+): ", ast.get_docstring(tree(PACKAGE / "stats/__init__.py"), clean=False) or "", re.M
    )
    place = {name: number for number, line in enumerate(lines) for name in line.split(", ")}
    assert set(place) == {path.stem for path in modules("stats")} - {"__init__"}
    for path in modules("stats"):
        used = {name.split(".")[2] for name in imports(path) if name.startswith("kernometer.stats.")}
        assert [name for name in used if place[name] >= place[path.stem]] == [], path


def rooms() -> dict[str, set[str]]:
    """The table's rooms of guests/: room → the other rooms that it may use."""
    rows = re.findall(r"^\| `src/kernometer/guests/(\w+)/` \|[^|]*\| ([^|]*)\|$", DOCUMENT, flags=re.MULTILINE)
    return {room: set(re.findall(r"\w+", uses)) & {other for other, _ in rows} for room, uses in rows}


def test_the_rooms_of_guests_import_what_the_table_allows() -> None:
    """Expected: an order of rooms, as docs/architecture.md says. Broken: rooms that only work as one."""
    assert set(rooms()) == {path.parent.name for path in PACKAGE.glob("guests/*/__init__.py")}
    for room, may in rooms().items():
        for path in modules(f"guests/{room}"):
            named = {
                part for name in imports(path) if name.startswith("kernometer.guests.") for part in name.split(".")
            }
            assert named & set(rooms()) <= may | {room}, path
    TopologicalSorter(rooms()).prepare()


def test_every_folder_stands_in_the_table() -> None:
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(allowed())


def test_what_all_may_import_imports_nothing_of_ours() -> None:
    for name in COMMON:
        assert {part for part in ours(PACKAGE / f"{name}.py") if part.split(".")[0] not in COMMON} == set()


def test_host_uses_the_standard_library_alone() -> None:
    """Expected: `check` runs where nothing else is installed."""
    for path in modules("host"):
        outside = {name.split(".")[0] for name in imports(path)} - set(sys.stdlib_module_names) - {"kernometer"}
        assert not outside, path


# 5 -------------------------------------------------------------------------------------------------------------


def written_in(*folders: str) -> list[Path]:
    """The Python files of these folders of the checkout."""
    return [ROOT / name for name in names() if name.startswith(folders) and name.endswith(".py")]


@pytest.mark.parametrize(
    ("folders", "never"),
    [
        (("src/", "scripts/", "trio/"), {"studies", "tests"}),
        (("studies/",), {"tests", "scripts"}),
    ],
)
def test_a_wing_imports_no_other_that_stands_on_it(folders: tuple[str, ...], never: set[str]) -> None:
    """Expected: the tool knows no study, and a study uses the tool alone. Broken: a wing that cannot be left out."""
    paths = written_in(*folders)
    assert len(paths) > 5
    for path in paths:
        assert not {name.partition(".")[0] for name in imports(path)} & never, path


def test_no_test_module_is_imported_by_another() -> None:
    """Expected: what tests share is in tests/support/. Broken: a test that cannot be read, or moved, alone."""
    paths = written_in("tests/")
    assert len(paths) > 200
    for path in paths:
        assert not [name for name in imports(path) if re.search(r"^tests\..*\btest_", name)], path


def test_the_top_level_has_twelve_entries_that_a_person_opens() -> None:
    """What programs look for there (`pyproject.toml`, `CITATION.cff`, hidden files) is none of them."""
    entries = {name.partition("/")[0] for name in names()} - {"pyproject.toml", "CITATION.cff"}
    assert len({name for name in entries if not name.startswith(".")}) <= 12


# The probe -----------------------------------------------------------------------------------------------------


def test_conditional_compilation_stands_where_the_document_says() -> None:
    """Expected: exactly there. Broken: a workload that is another one on another system."""
    [sentence] = re.findall(
        r"Conditional compilation \(`#if`\) stands in (.*?), and nowhere else", DOCUMENT, flags=re.DOTALL
    )
    named = set(re.findall(r"`([\w.*]+)`", sentence))
    found = set()
    for path in [*(ROOT / "probe").glob("*.[ch]"), *(ROOT / "probe/workloads").glob("*.[ch]")]:
        lines = [line for line in path.read_text().splitlines() if re.match(r"\s*#\s*(if|ifdef|ifndef|elif)\b", line)]
        guard = path.suffix == ".h" and lines and re.match(r"\s*#\s*ifndef KM_\w*H$", lines[0])
        if lines[1:] if guard else lines:
            found.add("platform*" if path.name.startswith("platform") else path.relative_to(ROOT / "probe").as_posix())
    assert found == named


def probe_needs() -> dict[str, set[str]]:
    """Each file of the probe to the files whose functions it names; comments and strings name none."""
    files = {
        path.name: re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\])*"', "", path.read_text(), flags=re.DOTALL)
        for path in (ROOT / "probe").glob("*.c")
    }
    head = re.compile(r"^(?!static\b)\w[\w\s*]*?\b(\w+)\([^;{}]*\)\n\{", flags=re.MULTILINE)
    of_function = {name: file for file, text in files.items() for name in head.findall(text)}
    return {
        file: {of_function[word] for word in re.findall(r"\w+", text) if word in of_function} - {file}
        for file, text in files.items()
    }


def test_files_of_the_probe_call_each_other_in_no_circle() -> None:
    """Expected: what runs a row knows nothing of what orders the runs. Broken: two files that only work as one."""
    needs = probe_needs()
    assert {"run.c", "spawn.c"} <= needs["driver.c"], "the functions are found"
    TopologicalSorter(needs).prepare()


def test_a_workload_includes_km_h_and_says_why_if_more() -> None:
    """Expected: km.h, then system headers; more of ours only with a reason on the line. Broken: no seam."""
    for path in (ROOT / "probe/workloads").glob("*.c"):
        included = re.findall(r'^\s*#\s*include\s*"(?:\.\./)?([^"]+)"(.*)$', path.read_text(), flags=re.MULTILINE)
        assert included, path
        assert [name for name, reason in included if name != "km.h" and len(reason.split()) < 4] == [], path
