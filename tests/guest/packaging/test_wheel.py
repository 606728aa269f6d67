"""Is what `pip install .` installs complete: the command, probe's, plugin's and Trio's sources, and nothing built?"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kernometer import __version__
from kernometer.errors import Status
from tests.support.checkout import ROOT, copy_to, names
from tests.support.packaging.running import run


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
    """The package's own files, the C sources, the published tables and the pages, by their names in the wheel."""
    folders = ("probe", "trio", "docs")
    carried = {name + "/": f"kernometer/_{name}/" for name in folders}
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


def fresh(folder: Path) -> Path:
    """The python of a new virtual environment with nothing in it."""
    run([sys.executable, "-m", "venv", "--without-pip", "fresh"], folder)
    return folder / "fresh/bin/python"


def install(python: Path, *words: str) -> Path:
    """Installs by this environment's pip, without an index; returns the command."""
    pip = ["-m", "pip", "--python", str(python), "install", "--quiet", "--no-index", *words]
    run([sys.executable, *pip], python.parent)
    return python.with_name("kernometer")


def home(folder: Path) -> dict[str, str]:
    """An environment whose user has nothing yet."""
    return {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "XDG_DATA_HOME": str(folder / "data")}


def works(command: list[str], folder: Path) -> None:
    """By time, with tables and figures of the literature, what is compiled, and what the command says of itself."""
    env = home(folder)
    pages = Path(run([*command, "--help"], folder, env).splitlines()[-1])
    assert (pages / "install.md").is_file()
    assert ROOT not in pages.parents
    assert run([*command, "--version"], folder, env) == f"kernometer {__version__}\n"
    assert run([*command, "man"], folder, env).startswith(".TH KERNOMETER")
    for shell in ("bash", "zsh", "fish"):
        assert "_KERNOMETER_COMPLETE" in run([*command, "completion", shell], folder, env)
    assert "ctx/pipe-pair" in run([*command, "workloads"], folder, env)
    assert "syscall/getppid" in run([*command, "run", "--profile", "quick", "syscall/getppid"], folder, env)
    [result] = (folder / "data").rglob("*.ndjson")
    digest = run(["sh", str(ROOT / "probe/amalgamate.sh"), "--digest"], folder).strip()
    assert f'"source_digest":"{digest}"' in result.read_text()
    assert "getppid" in run([*command, "show", "published/minix-3.4"], folder, env)
    run([*command, "figure", "miao-3", "published/miao-2011", "-o", "miao.csv"], folder, env)
    assert (folder / "miao.csv").read_text().count("\n") > 3
    assert run([*command, "guest", "add", "trio", "micro"], folder, env).startswith("trio-micro: trio ")
    assert "trio/trap" in run([*command, "workloads", "--unit-costs"], folder, env)


def boots(command: list[str], folder: Path) -> None:
    """After `works`: the guest by path, and faults in it."""
    env = home(folder)
    counted = run([*command, "run", "--by", "path", "--on", "qemu:trio-micro", "syscall/getppid@"], folder, env)
    assert "1 of 1 counts are exact" in counted
    faulty = run([*command, "faults", "--on", "qemu:trio-micro", "-n", "2"], folder, env)
    assert " of 2 faults struck" in faulty


@pytest.mark.slow(minutes=0.5)
def test_an_installed_wheel_compiles_its_probe_and_its_kernel_and_measures(wheel: Path, tmp_path: Path) -> None:
    """Expected: the command works far from any checkout, with the digest of these sources.

    Dependencies come from the environment of the tests: a network is not what is tested here.
    """
    python = fresh(tmp_path)
    purelib = "import sysconfig; print(sysconfig.get_path('purelib'))"
    borrowed = run([sys.executable, "-c", purelib], tmp_path)
    (Path(run([str(python), "-c", purelib], tmp_path).strip()) / "borrowed.pth").write_text(borrowed)
    command = str(install(python, "--no-deps", str(wheel)))
    works([command], tmp_path)
    run([command, "figure", "miao-3", "published/miao-2011", "-o", "miao.svg"], tmp_path, home(tmp_path))
    assert (tmp_path / "miao.svg").read_text().startswith("<svg")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the locked wheels of everything that Kernometer needs; they come from where pip finds them."""
    folder = tmp_path_factory.mktemp("index")
    words = [
        "--quiet",
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--requirement",
        str(ROOT / "packaging/requirements/run.txt"),
    ]
    run([sys.executable, "-m", "pip", "download", *words, "--dest", str(folder)], folder)
    return folder


@pytest.mark.slow(minutes=1.2)
@pytest.mark.guest
def test_pip_installs_all_that_it_needs_in_a_clean_environment(wheel: Path, index: Path, tmp_path: Path) -> None:
    """Expected: nothing is missing that pyproject.toml does not name, and a missing compiler or emulator is named."""
    command = install(fresh(tmp_path), "--find-links", str(index), str(wheel))
    bare = {**home(tmp_path / "bare"), "PATH": str(command.parent)}
    for words in ("run", "workloads", "guest add trio", "guest add linux"):
        done = subprocess.run(
            [command, *words.split()], env=bare, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == Status.MISSING, done.stderr
        assert "\nnext: " in done.stderr
    picture = [str(command), "figure", "miao-3", "published/miao-2011", "-o", "miao.svg"]
    done = subprocess.run(
        picture, env=home(tmp_path), cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == Status.MISSING, done.stderr
    assert "pip install 'kernometer[figures]'" in done.stderr
    works([str(command)], tmp_path)
    boots([str(command)], tmp_path)


@pytest.mark.slow(minutes=0.9)
@pytest.mark.guest
def test_uvx_runs_it_without_installing_it(wheel: Path, index: Path, tmp_path: Path) -> None:
    """Expected: the same, from uv's own environment."""
    uv = [str(Path(sys.executable).with_name("uvx")), "--quiet", "--offline", "--no-index", "--find-links", str(index)]
    command = [
        *uv,
        "--no-config",
        "--python",
        sys.executable,
        "--cache-dir",
        str(tmp_path / "uv"),
        "--from",
        str(wheel),
    ]
    works([*command, "kernometer"], tmp_path)
    boots([*command, "kernometer"], tmp_path)
