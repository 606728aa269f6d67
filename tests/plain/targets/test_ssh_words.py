"""What ssh: gives a remote shell: one line, words that every shell takes alike."""

from __future__ import annotations

import subprocess

import pytest

from kernometer.targets.ssh_link import SCRIPTS, one_line, quoted


def shells() -> list[tuple[str, ...]]:
    return [("dash",), ("bash",), ("busybox", "sh")]


@pytest.mark.parametrize("script", ["look", "facts", "install", "run"])
@pytest.mark.parametrize("shell", shells(), ids=lambda shell: shell[0])
def test_scripts_are_one_line_that_each_shell_parses(shell: tuple[str, ...], script: str) -> None:
    line = one_line((SCRIPTS / f"{script}.sh").read_text())
    assert "\n" not in line
    subprocess.run([*shell, "-n", "-c", line], check=True, timeout=60)


def test_one_line_keeps_what_a_line_end_means() -> None:
    text = "#!/bin/sh\n# why\nif true; then\n\ta &\n\tb ||\n\t\tc\nfi\n{\n\td\n} >e\ncase f in\ng) ;;\nesac\ndone\nh\n"
    line = one_line(text)
    assert line == "if true; then a & b || c; fi; { d; } >e; case f in g) ;; esac; done; h"


@pytest.mark.parametrize("shell", [("dash",), ("bash",), ("busybox", "sh"), ("tcsh", "-f")], ids=lambda shell: shell[0])
def test_quoted_words_are_the_same_in_every_shell(shell: tuple[str, ...]) -> None:
    words = (
        "ctx/ring@procs=8,token=0",
        "syscall/*",
        "it's",
        "a!b",
        "\\",
        "\\'",
        "$HOME",
        "`x`",
        '"',
        " ",
        "~",
        "=ls",
        "",
    )
    text = " ".join(("printf", "%s,,", *map(quoted, words)))
    done = subprocess.run([*shell, "-c", text], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split(",,")[:-1] == list(words)
