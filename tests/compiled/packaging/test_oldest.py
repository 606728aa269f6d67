"""Do the oldest versions that pyproject.toml allows serve, on the oldest Python that it allows?"""

from __future__ import annotations

import re
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support.checkout import ROOT
from tests.support.packaging.running import run

#: What reckons, reads, draws and prints; the rest of the program is the standard library's.
TESTS = (
    *(
        "tests/plain/results",
        "tests/plain/stats",
        "tests/plain/report",
        "tests/compiled/results",
        "tests/compiled/report",
    ),
    *("tests/plain/cli/test_frame.py", "tests/plain/cli/test_look.py"),
)
#: The schema is written by the locked msgspec; the test runner of click before 8.2 has one stream for both; the locked
#: pyarrow wants a younger NumPy.
BUT = (
    "test_an_empty_list_says_what_to_do_apart_from_the_output",
    "test_a_parquet_file_has_the_values_of_json_with_their_types",
)


@pytest.mark.slow(minutes=0.4)
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="they have wheels for the oldest Python, 3.11, alone")
def test_the_oldest_versions_allowed_serve(tmp_path: Path) -> None:
    """Expected: the tests pass with them, and a session is measured and reported. Broken: a bound that nobody tried."""
    run([sys.executable, "-m", "venv", "--without-pip", "oldest"], tmp_path)
    python = str(tmp_path / "oldest/bin/python")
    install = [
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--requirement",
        str(ROOT / "packaging/requirements/oldest.txt"),
    ]
    run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", *install], tmp_path)
    [site] = (tmp_path / "oldest/lib").glob("python*/site-packages")
    borrowed = sysconfig.get_path("purelib")  # pytest and its like: it stands behind, so what is installed goes first
    (site / "borrowed.pth").write_text(f"{ROOT / 'src'}\n{borrowed}\n")
    bounds = dict(re.findall(r'^    "([a-z0-9]+)>=([\d.]+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE))
    for name in ("numpy", "scipy", "msgspec", "click", "rich"):
        version = run([python, "-c", f"import importlib.metadata as m; print(m.version('{name}'))"], tmp_path)
        assert version.startswith(f"{bounds[name]}."), name
    words = ["-m", "kernometer", "--store", str(tmp_path / "store"), "run", "--runs", "2", "--seconds", "0.005"]
    run([python, *words, "--report", str(tmp_path / "report.html"), "syscall/getppid@"], tmp_path)
    marks = "not slow and not browser and not guest"
    run(
        [
            python,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-m",
            marks,
            "-k",
            f"not {' and not '.join(BUT)}",
            *TESTS,
        ],
        ROOT,
        seconds=1200,
    )
