"""Descriptions of systems: is what is wrong in one said with its file and key, and are the shipped ones whole?"""

from __future__ import annotations

from pathlib import Path

import pytest

from kernometer.errors import UsageError
from kernometer.targets.consoles import description

ROOT = Path(__file__).parents[3]


def load(folder: Path, text: str) -> description.Description:
    file = folder / "plan9.toml"
    file.write_text(text)
    return description.load(file, "plan9").description


def test_one_line_is_enough(tmp_path: Path) -> None:
    """Expected: everything else has a default: a CD-ROM, cc, poweroff."""
    found = load(tmp_path, 'system = "Plan 9"\n')
    assert (found.files.way, found.source, found.machine.type) == ("cdrom", "/mnt/probe.c", "pc")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", r"missing required field `system`"),
        ("system = 'x'\nspeed = 3\n", r"unknown field `speed`"),
        ("system = 'x'\n[boot]\nmemry = 3\n", r"unknown field `memry`.*\(at boot\)"),
        ("system = 'x'\n[boot]\nmemory = '3'\n", r"Expected `int`, got `str` \(at boot.memory\)"),
        ("system = 'x'\n[boot]\nmemory = 1\n", r">= 8.*boot.memory"),
        ("system = 'x'\n[boot]\nseconds = 0\n", r"boot.seconds"),
        ("system = 'x'\n[boot]\nmachine = 'vax'\n", r"'vax'.*boot.machine"),
        ("system = 'x'\n[boot]\nmachine = 'microvm'\n", r"no IDE bus.*boot"),
        ("system = 'x'\n[boot]\ndevices = ['vfio-pci']\n", r"vfio-pci.*boot.devices"),
        ("system = 'x'\n[boot]\npanic = ['(']\n", r"panic: '\(' is not a regular expression.*boot"),
        ("system = 'x'\n[boot]\nsteps = [{ send = 'x' }]\n", r"missing required field `expect`.*boot.steps"),
        ("system = 'x'\n[login]\nprompt = '['\n", r"prompt: .* not a regular expression.*login"),
        ("system = 'x'\n[login]\nsteps = [{ expect = 'a', send = '{name}' }]\n", r"{name} is unknown here"),
        ("system = 'x'\n[shell]\nprompt = '*'\n", r"prompt: .*shell"),
        ("system = 'x'\n[files]\nway = 'pigeon'\n", r"pigeon.*files.way"),
        ("system = 'x'\n[files]\ncommands = ['mount {disk} /mnt']\n", r"{disk} is unknown here.*files"),
        ("system = 'x'\n[files]\ndecode = 'uudecode'\n", r"decode: {encoded} is missing.*files"),
        ("system = 'x'\n[files]\nway = 'none'\n", r"go together"),
        ("system = 'x'\n[compile]\ncommand = 'cc {source}'\n", r"command: {probe} is missing.*compile"),
        ("system = 'x'\n[compile]\ncommand = \"cc\\nrm\"\n", r"one line.*compile"),
        ("system = 'x'\n[run]\ncommand = '{probe}'\n", r"{arguments} is missing.*run"),
        ("system = 'x'\n[power_off]\nseen = '?'\n", r"seen: .*power_off"),
        ("system = \n", r"Invalid value"),
        ("system = 'x'\n[compile]\ncommand = ''\n", r"go together"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_key(tmp_path: Path, text: str, words: str) -> None:
    """Expected: UsageError that names file and key. Broken: a misspelt key is ignored, and its default holds."""
    with pytest.raises(UsageError, match=words) as caught:
        load(tmp_path, text)
    assert "plan9.toml: " in caught.value.text


def test_bytes_that_are_no_text_and_a_file_without_end(tmp_path: Path) -> None:
    """Expected: errors that name the file. Broken: a traceback, or memory filled by a wrong path."""
    for data in (b"system = '\xff'", b"#" * 100_000):
        (tmp_path / "x.toml").write_bytes(data)
        with pytest.raises(UsageError, match=r"x\.toml"):
            description.load(tmp_path / "x.toml", "x")


def test_braces_that_a_shell_knows_stay(tmp_path: Path) -> None:
    found = load(tmp_path, "system = 'x'\n[compile]\ncommand = '{ ${CC} -o {probe} {source}; }'\n")
    assert description.filled(found.compile.command, {"probe": "p", "source": "s"}) == "{ ${CC} -o p s; }"


def test_the_shipped_descriptions_are_whole_and_have_a_page_each() -> None:
    """Expected: three, untried until somebody has run them, each with a page that says where its image is from."""
    assert description.shipped() == ("freebsd", "minix-3", "openbsd")
    for name in description.shipped():
        found = description.find(name).description
        page = (ROOT / "docs/systems" / f"{name.replace('-', '')}.md").read_text()
        assert (found.tried == "") == ("*untried*" in page), name
        assert f"console:{name}:" in page


def test_freebsds_probe_is_linked_with_its_message_queues() -> None:
    """Expected: librt, which has mq_open there. Broken: undefined symbols, after the minutes of a boot."""
    assert description.find("freebsd").description.compile.command.endswith(" -lpthread -lrt")
