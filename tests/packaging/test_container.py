"""Does the Containerfile make an image in which the command works, for a user without rights?

Nothing here builds images. Its steps are made by mmdebstrap in the same release of Debian instead, and then the command
is run as the image would run it; what only a builder of images does (COPY by .dockerignore, layers) stays untested.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.checkout import ROOT, copy_to
from tests.consoles import debian
from tests.packaging.test_wheel import run

#: What pip needs to reach an index as it does here, and where the new system takes it from.
MACHINES = {
    "/etc/pip.conf": "/etc/pip.conf",
    "/etc/resolv.conf": "/etc/resolv.conf",
    "/etc/ssl/certs/ca-certificates.crt": "/usr/local/share/ca-certificates/machine.crt",
}
TAKEN = {"FROM", "COPY", "WORKDIR", "RUN", "USER", "ENV", "ENTRYPOINT"}
#: Who asks for what in it, and what must be printed.
ASKED = {
    "run --profile quick --seconds 0.05 syscall/getppid@": "syscall/getppid",
    "guest add trio micro": "trio-micro: trio ",
    "run --by path --on qemu:trio-micro syscall/getppid@": "exact",
    "faults --on qemu:trio-micro -n 2": "2 of 2 faults struck",
}


def instructions() -> list[tuple[str, str]]:
    """(instruction, arguments) in order, continued lines joined."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Containerfile").read_text(), flags=re.MULTILINE)
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def test_the_containerfile_is_small_and_names_no_registry() -> None:
    """Expected: Debian by its short name, the entry without a shell, nobody's rights at the end."""
    found = instructions()
    assert {word for word, _ in found} <= TAKEN
    [(_, base)] = [each for each in found if each[0] == "FROM"]
    assert found[0][0] == "FROM"
    assert re.fullmatch(r"debian:[a-z]+-slim", base)
    assert "://" not in (ROOT / "Containerfile").read_text()
    users = [place for place, (word, _) in enumerate(found) if word == "USER"]
    assert found[users[-1]][1] not in ("", "root", "0")
    assert users[-1] > max(place for place, (word, _) in enumerate(found) if word == "RUN")
    [entry] = [json.loads(rest) for word, rest in found if word == "ENTRYPOINT"]
    assert entry == ["kernometer"]


def script() -> str:
    """The steps as a script for the root of a system, and then, as the user of the image, what is asked of it."""
    lines, folder, user, path = ["set -eux"], "/", "root", ""
    for word, rest in instructions():
        match word:
            case "WORKDIR":
                folder = rest
            case "RUN":
                lines += [f"mkdir -p {folder}", f"(cd {folder}; {rest})"]
            case "USER":
                user = rest
            case "ENV":
                path = rest
    for asked, said in ASKED.items():
        words = shlex.quote(f"cd {folder}; test ! -w /opt/kernometer; {path} kernometer {asked}")
        here = f"su {user} --shell /bin/sh --command {words} >/tmp/said 2>&1"
        lines.append(f"{here} && grep -q {shlex.quote(said)} /tmp/said || {{ cat /tmp/said >&2; exit 1; }}")
    return "\n".join(lines) + "\n"


@pytest.mark.slow(minutes=6)
@pytest.mark.guest
@pytest.mark.skipif(debian.missing() != "", reason=debian.missing())
def test_its_steps_make_a_system_in_which_an_ordinary_user_measures(tmp_path: Path) -> None:
    """Expected: times, a guest that is compiled there, counts, faults; with no right to write to what is installed."""
    tmp_path.chmod(0o755)
    copy_to(tmp_path / "checkout")
    (tmp_path / "script").write_text(script())
    [target] = [rest.split()[1] for word, rest in instructions() if word == "COPY"]
    [suite] = re.findall(r"^FROM debian:(\w+)-slim$", (ROOT / "Containerfile").read_text(), flags=re.MULTILINE)
    hook = tmp_path / "hook"
    hook.write_text(
        f'#!/bin/sh\nset -eu\nmkdir -p "$1{target}" "$1/usr/local/share/ca-certificates"\n'
        + "".join(f'cp {name} "$1{to}"\n' for name, to in MACHINES.items() if Path(name).exists())
        + f'cp -r {tmp_path}/checkout/. "$1{target}"\ncp {tmp_path}/script "$1/tmp/script"\n'
        + 'chroot "$1" sh /tmp/script\n'
    )
    hook.chmod(0o755)
    sources = "\n".join(line.replace(f" {line.split()[2]} ", f" {suite} ") for line in debian.sources())
    (tmp_path / "sources.list").write_text(sources + "\n")
    words = ["mmdebstrap", "--quiet", "--variant=minbase", "--format=null", "--aptopt=Acquire::Languages none"]
    words += [
        "--dpkgopt=force-unsafe-io",
        f"--customize-hook={hook}",
        suite,
        "/dev/null",
        str(tmp_path / "sources.list"),
    ]
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    run([shutil.which("nice") or "nice", *words], tmp_path, {"PATH": path}, seconds=1500)
