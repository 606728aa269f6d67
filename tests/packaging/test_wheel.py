"""Is what `pip install .` installs complete: the command, probe's, plugin's and Trio's sources, and nothing built?"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.checkout import ROOT, copy_to, names


def run(words: list[str], folder: Path, env: dict[str, str] | None = None, seconds: float = 300) -> str:
    """A program's output; fails with all that it printed."""
    done = subprocess.run(
        words,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        env={**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, **(env or {})},
    )
    assert done.returncode == 0, f"{words} left with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean copy, as git has it, of the files that are here: nothing that was built lies in it but one bait."""
    folder = tmp_path_factory.mktemp("wheel") / "checkout"
    copy_to(folder)
    (folder / "probe/build").mkdir()
    (folder / "probe/build/probe").write_text("built")
    return folder


@pytest.fixture(scope="module")
def wheel(checkout: Path) -> Path:
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel"], checkout)
    [found] = (checkout / "dist").glob("*.whl")
    return found


def expected() -> set[str]:
    """The package's own files, the C sources and the published tables, by their names in the wheel."""
    carried = {
        name + "/": f"kernometer/_{name}/" for name in ("probe", "plugin", "published", "trio", "mach", "faults")
    }
    places = {"src/kernometer/": "kernometer/", **carried}
    return {
        target + name.removeprefix(source)
        for name in names()
        for source, target in places.items()
        if name.startswith(source)
    }


def test_the_wheel_holds_the_sources_and_nothing_built(wheel: Path) -> None:
    """Expected: package, probe, plugin, Trio, Mach. Broken: a missing file, or somebody's binaries."""
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == expected()
    assert "kernometer/_probe/amalgamate.sh" in held


def test_the_wheel_carries_the_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [licence] = [name for name in archive.namelist() if name.endswith("/licenses/LICENSE")]
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()


def test_the_source_distribution_makes_the_same_wheel(checkout: Path, wheel: Path, tmp_path: Path) -> None:
    """Expected: who builds from the source distribution gets what who builds from git gets."""
    run([sys.executable, "-m", "hatchling", "build", "-t", "sdist"], checkout)
    [source] = (checkout / "dist").glob("*.tar.gz")
    run(["tar", "-xzf", str(source)], tmp_path)
    [folder] = tmp_path.iterdir()
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel"], folder)
    [again] = (folder / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(again) as second:
        assert sorted(first.namelist()) == sorted(second.namelist())


def test_an_installed_wheel_compiles_its_probe_and_its_kernel_and_measures(wheel: Path, tmp_path: Path) -> None:
    """Expected: the command works far from any checkout, with the digest of these sources.

    Dependencies come from the environment of the tests: a network is not what is tested here.
    """
    run([sys.executable, "-m", "venv", "--without-pip", "fresh"], tmp_path)
    python = tmp_path / "fresh/bin/python"
    site = Path(run([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], tmp_path).strip())
    install = ["-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    run([sys.executable, *install], tmp_path)
    borrowed = run([sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], tmp_path).strip()
    (site / "borrowed.pth").write_text(borrowed + "\n")

    command = str(tmp_path / "fresh/bin/kernometer")
    where = run([str(python), "-c", "import kernometer; print(kernometer.__file__)"], tmp_path)
    assert where.startswith(str(site))
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_DATA_HOME": str(tmp_path / "data")}
    shown = run([command, "run", "--profile", "quick", "syscall/getppid"], tmp_path, env)
    assert "syscall/getppid" in shown
    [result] = (tmp_path / "data").rglob("*.ndjson")
    assert "miao-2011" in run([command, "show", "published"], tmp_path, env)
    run([command, "figure", "miao-3", "published/miao-2011", "-o", "miao.svg"], tmp_path, env)
    assert (tmp_path / "miao.svg").read_text().startswith("<svg")
    assert run([command, "guest", "add", "trio", "micro"], tmp_path, env).startswith("trio-micro: trio ")
    assert "trio/trap" in run([command, "workloads", "--unit-costs"], tmp_path, env)
    digest = run(["sh", str(ROOT / "probe/amalgamate.sh"), "--digest"], tmp_path).strip()
    assert f'"source_digest":"{digest}"' in result.read_text()
