"""What set-up says and does where something is missing, with stand-ins for apt, sudo and Python."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kernometer.targets import build

ROOT = Path(__file__).parents[3]
#: What the script itself needs; everything else is missing in these tests.
TOOLS = (
    *(
        "bash",
        "cat",
        "chmod",
        "cut",
        "dirname",
        "env",
        "flock",
        "grep",
        "mkdir",
        "rm",
        "sed",
        "sha256sum",
        "tail",
        "tr",
    ),
)
#: The programs that set-up looks for.
NEEDED = re.findall(r"\| command (\S+)", (ROOT / "packaging/requirements/system.txt").read_text())


class System:
    """A machine on which there is only what a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.checkout = folder / "checkout"
        self.programs = folder / "bin"
        self.programs.mkdir()
        for name in TOOLS:
            found = shutil.which(name)
            assert found, name
            (self.programs / name).symlink_to(found)
        for name in ("scripts", "packaging/requirements"):
            shutil.copytree(ROOT / name, self.checkout / name)
        (self.checkout / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
        script = self.checkout / "scripts/setup"
        assert script.read_text().count("/usr/bin/python3") == 1
        script.write_text(script.read_text().replace("/usr/bin/python3", str(self.programs / "distribution-python3")))
        self.add("sleep", "exit 0")

    def add(self, name: str, script: str) -> None:
        """A program: a shell script, which finds the log of calls in $CALLS."""
        (self.programs / name).write_text(f"#!/bin/bash\n{script}\n")
        (self.programs / name).chmod(0o755)

    def add_python(self, version: str = "3.12", name: str = "python3", venv: bool = True) -> None:
        """A Python that makes an environment in which pip notes what it is asked for; without `venv` it cannot."""
        new = int(version.split(".")[1]) >= 11
        inner = "#!/bin/bash\n" + (
            f'[ "$1" = -VV ] && echo "Python {version}.0"\n'
            '[ "$2" = pip ] && echo "pip $*" >>"$CALLS"\n'
            "k=.venv/bin/kernometer\n"
            '[[ "$*" != *--editable* ]] || { printf "#!/bin/sh\\n" >$k; chmod +x $k; }\n'
            "exit 0\n"
        )
        self.add(
            name,
            f"""case "$*" in *ensurepip*) {"true" if venv else "exit 1"} ;; esac
case "$1" in
-V) echo "Python {version}.0" ;;
-VV) echo "Python {version}.0" ;;
-c) [[ "$2" != *version_info* ]] || exit {0 if new else 1} ;;
-m) mkdir -p .venv/bin; cat >.venv/bin/python <<'END'
{inner}END
chmod +x .venv/bin/python; echo venv >>"$CALLS" ;;
esac""",
        )

    def add_apt(self, install: str = "true") -> None:
        """apt, which knows every package but chromium; installing one makes its command appear."""
        self.add(
            "apt-cache",
            'case "$*" in\n*chromium*) echo "  Candidate: (none)"; exit 100 ;;\n*) echo "  Candidate: 1.0" ;;\nesac',
        )
        self.add(
            "apt-get",
            f'echo "apt-get $* ($DEBIAN_FRONTEND)" >>"$CALLS"\n[[ "$*" != *install* ]] || {{ {install}; }}',
        )

    def add_all_but_python(self) -> None:
        for name in ("cc", *NEEDED):
            self.add(name, "exit 0")

    @property
    def calls(self) -> str:
        log = self.checkout.parent / "calls"
        return log.read_text() if log.exists() else ""

    def setup(self, what: str = "run", *, root: bool = True, **env: str) -> subprocess.CompletedProcess[str]:
        self.add("id", f"echo {0 if root else 1000}")
        return subprocess.run(
            [str(self.programs / "bash"), "scripts/setup", what],
            cwd=self.checkout,
            env={"PATH": str(self.programs), "CALLS": str(self.checkout.parent / "calls"), **env},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            stdin=subprocess.DEVNULL,
        )


@pytest.fixture
def system(tmp_path: Path) -> System:
    return System(tmp_path)


def test_only_what_is_missing_is_installed_and_each_has_its_reason(system: System) -> None:
    """Expected: gcc is there, so it is not asked for. Broken: apt upgrades what nobody wanted upgraded."""
    system.add("cc", "exit 0")
    system.add("gcc", "exit 0")
    system.add("musl-gcc", "exit 0")
    system.add_apt()
    system.add_python("3.9")  # too old: python3 is "missing"; what apt then brings is not modelled
    done = system.setup()
    assert "setup:   python3 (the front end)" in done.stdout
    assert "gcc" not in done.stdout
    [call] = [line for line in system.calls.splitlines() if " install " in line]
    assert call.endswith("--no-install-recommends python3 python3-venv (noninteractive)")


def test_what_guests_need_is_installed_for_them_alone(system: System) -> None:
    """Expected: QEMU and zstd, and nothing of the tests'. Broken: a newcomer meets them one error at a time."""
    system.add("cc", "exit 0")
    system.add_apt()
    system.add_python()
    assert "zstd" not in system.setup("run").stdout
    done = system.setup("guests")
    assert "setup:   zstd (unpacks a guest's kernel)" in done.stdout
    [call] = [line for line in system.calls.splitlines() if "qemu-system-x86" in line]
    assert not {"clang", "chromium", "shellcheck"} & set(call.split())


def test_nothing_is_done_twice(system: System) -> None:
    """Expected: the second call is silent and calls nothing. Broken: every `make run` waits for pip."""
    system.add_all_but_python()
    system.add_python()
    first = system.setup()
    assert first.returncode == 0, first.stderr
    assert "setup: ready" in first.stdout
    assert system.calls.count("venv\n") == 1
    assert "--require-hashes --only-binary :all: --requirement packaging/requirements/run.txt" in system.calls
    before = system.calls
    second = system.setup()
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    assert system.calls == before


def test_a_changed_lock_file_is_installed(system: System) -> None:
    system.add_all_but_python()
    system.add_python()
    assert system.setup().returncode == 0
    lock = system.checkout / "packaging/requirements/run.txt"
    lock.write_text(lock.read_text() + "# newer\n")
    before = system.calls
    assert "ready" in system.setup().stdout
    assert "packaging/requirements/run.txt" in system.calls.removeprefix(before)
    assert system.calls.count("venv\n") == 1


def test_what_the_tests_need_serves_measuring_too(system: System) -> None:
    """Expected: after `make test`, `make run` installs nothing."""
    system.add_all_but_python()
    system.add_python()
    (system.checkout / "packaging/requirements/system.txt").write_text("run | gcc | command cc | x\n")
    assert "ready" in system.setup("test").stdout
    before = system.calls
    assert system.setup("run").stdout == ""
    assert system.calls == before


def test_a_set_up_that_was_broken_off_is_taken_up_again(system: System) -> None:
    """Expected: no stamp, so pip runs again. Broken: half an environment that counts as whole."""
    system.add_all_but_python()
    system.add_python()
    assert system.setup().returncode == 0
    for stamp in (system.checkout / ".venv").glob("*.stamp"):
        stamp.unlink()
    before = system.calls
    assert "ready" in system.setup().stdout
    assert "packaging/requirements/run.txt" in system.calls.removeprefix(before)


def test_the_first_set_has_all_that_decides_which_probe_is_built() -> None:
    """Expected: the compiler that comes first, and the one without it, before anything is measured. Broken: musl comes
    with what guests need, and this machine's second session has another libc than its first."""
    needed = (ROOT / "packaging/requirements/system.txt").read_text()
    assert {build.MUSL, build.COMPILERS[0]} <= set(re.findall(r"(?m)^run .*\| command (\S+)", needed))


def test_neither_root_nor_sudo_is_told_what_to_do(system: System) -> None:
    system.add_python()
    system.add_apt()
    done = system.setup(root=False)
    assert done.returncode == 6
    assert "there is no sudo here" in done.stderr
    assert "as root: apt-get install gcc libc6-dev" in done.stderr
    assert system.calls == ""


def test_sudo_that_refuses_is_told_apart(system: System) -> None:
    system.add_python()
    system.add_apt()
    system.add("sudo", "exit 1")
    done = system.setup(root=False)
    assert done.returncode == 6
    assert "sudo was refused" in done.stderr


def test_sudo_is_used_by_an_ordinary_user(system: System) -> None:
    system.add_python()
    system.add_apt()
    system.add("sudo", '[ "$1" = -v ] || { shift; echo "sudo" >>"$CALLS"; exec "$@"; }')
    system.setup(root=False)
    assert "sudo\napt-get" in system.calls


def test_a_system_without_apt_is_told_the_packages(system: System) -> None:
    system.add_python()
    done = system.setup()
    assert done.returncode == 6
    assert "no Debian or Ubuntu" in done.stderr
    assert "install these: gcc libc6-dev" in done.stderr


def test_an_old_python_is_named_with_the_way_out(system: System) -> None:
    """Expected: which Python, and how to name another. Broken: a traceback from pip."""
    system.add_all_but_python()
    system.add_python("3.10")
    system.add_apt()
    done = system.setup()
    assert done.returncode == 6
    assert "no Python 3.11 or newer (python3 is Python 3.10.0)" in done.stderr
    assert "PYTHON=" in done.stderr


def test_the_distributions_python_goes_before_another_on_the_path(system: System) -> None:
    """Expected: /usr/bin/python3 makes .venv. Broken: what is tested depends on what else the machine has."""
    system.add_all_but_python()
    system.add_python("3.13")
    system.add_python("3.11", "distribution-python3")
    assert "creating .venv with Python 3.11.0" in system.setup().stdout


@pytest.mark.parametrize(("version", "venv"), [("3.10", True), ("3.11", False)])
def test_a_distributions_python_that_does_not_suffice_needs_no_root(system: System, version: str, venv: bool) -> None:
    """Expected: another one that can make .venv is used. Broken: apt is asked for python3-venv, or for a newer one."""
    system.add_all_but_python()
    system.add_python("3.13")
    system.add_python(version, "distribution-python3", venv=venv)
    done = system.setup(root=False)
    assert "creating .venv with Python 3.13.0" in done.stdout, done.stderr
    assert "apt-get" not in system.calls


def test_the_users_choice_of_python_is_not_passed_over(system: System) -> None:
    """Expected: an error about that one, though python3 would do."""
    system.add_all_but_python()
    system.add_python()
    system.add_apt()
    done = system.setup(PYTHON="/no/such/python")
    assert done.returncode == 6
    assert "/no/such/python" in done.stderr


def test_apt_is_tried_three_times_and_its_words_are_shown(system: System) -> None:
    """Expected: lists are read again between, the end of apt's output, a next step, and where all of it is."""
    system.add_python()
    system.add_apt("echo 'E: the mirror is gone'; exit 100")
    done = system.setup()
    assert done.returncode == 6
    assert system.calls.count(" install ") == 3
    assert system.calls.count(" update ") == 2
    assert "E: the mirror is gone" in done.stderr
    assert "build/setup.log" in done.stderr


def test_a_package_that_apt_does_not_know_is_left_out_where_it_is_a_wish(system: System) -> None:
    """Expected: a word about it, and the others installed (Ubuntu has chromium as a snap only)."""
    system.add_python()
    system.add_apt()
    done = system.setup("test")
    assert "apt has no chromium (the browser in which the report is tested) here" in done.stdout
    [call] = [line for line in system.calls.splitlines() if "apt-get" in line and " install " in line]
    assert "clang" in call
    assert "chromium" not in call


def test_a_wish_that_stays_open_does_not_stop_an_ordinary_user(system: System) -> None:
    """Expected: nothing else is missing, so root is not needed. Broken: every call reads the lists again."""
    system.add_all_but_python()
    system.add_python()
    system.add_apt()
    (system.programs / "chromium").unlink()
    requirements = system.checkout / "packaging/requirements/system.txt"
    requirements.write_text("".join(line for line in requirements.open() if "fonts" not in line))
    done = system.setup("test", root=False)
    lists = any(Path("/var/lib/apt/lists").glob("*_Packages*"))
    assert ("apt-get" in system.calls) != lists
    if lists:
        assert done.returncode == 0, done.stderr
        assert "apt has no chromium" in done.stdout


def test_pips_words_are_shown_where_it_fails(system: System) -> None:
    system.add_all_but_python()
    system.add_python()
    python = system.programs / "python3"
    python.write_text(python.read_text().replace('[ "$2" = pip ] && ', '[ "$2" = pip ] && echo "no index" && exit 1; '))
    done = system.setup()
    assert done.returncode == 6
    assert "no index" in done.stderr
    assert not list((system.checkout / ".venv").glob("*.stamp"))


@pytest.mark.parametrize("step", ['"$2" = pip', '"$1" = -m'])
def test_a_full_disk_is_not_blamed_on_the_package_index(system: System, step: str) -> None:
    """While pip installs, while .venv is made. Expected: which folders need room. Broken: a search for a proxy."""
    system.add_all_but_python()
    system.add_python()
    python = system.programs / "python3"
    full = f'[ {step} ] && echo "OSError: [Errno 28] No space left on device" && exit 1\n'
    head, bang, inner = python.read_text().rpartition("#!/bin/bash\n") if "pip" in step else ("", "#!/bin/bash\n", "")
    python.write_text(head + bang + full + (inner or python.read_text()))
    done = system.setup()
    assert done.returncode == 6
    assert "the disk is full" in done.stderr
    assert "index" not in done.stderr
    assert "python3-venv" not in done.stderr


def test_ctrl_c_in_pip_is_an_interruption(system: System) -> None:
    """pip takes the signal for itself and leaves with 1. Expected: 130. Broken: the package index is blamed."""
    system.add_all_but_python()
    system.add_python()
    python = system.programs / "python3"
    stops = '[ "$2" = pip ] && { kill -INT $PPID; echo "Operation cancelled"; exit 1; }\n'
    python.write_text(python.read_text().replace("#!/bin/bash\n[", f"#!/bin/bash\n{stops}["))
    done = system.setup()
    assert (done.returncode, "interrupted" in done.stderr, "index" in done.stderr) == (130, True, False)


def test_a_wrong_word_is_a_usage_error(system: System) -> None:
    done = system.setup("everything")
    assert (done.returncode, done.stderr) == (2, "usage: scripts/setup run|guests|test\n")
    assert not (system.checkout / "build").exists()
