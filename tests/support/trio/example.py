"""Writes trio/interfaces/example.md, a page that shows what is generated of two calls.

usage: PYTHONPATH=.:trio/tools .venv/bin/python -m tests.support.trio.example PAGE

It is written from trio/interfaces/ and trio/config/ as they are.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import idl
import idl_parse

TRIO = Path(__file__).parents[3] / "trio"

_HEAD = """\
# What is generated of a call

Written by `PYTHONPATH=.:trio/tools .venv/bin/python -m tests.support.trio.example trio/interfaces/example.md`;
`tests/compiled/trio/test_example.py` checks that it is what [tools/idl.py](../tools/idl.py) makes today. A read of a
file on a disk is two calls: a program's, `vfs.read`, and one between services, `fs.read`. Written by hand are these
lines of the interfaces, with the errors that each lists:
"""

#: A heading, then excerpts: the structure ("" what all have in common), the file, where in it the excerpt begins, and
#: where it ends: at a line "}", or, with False, after that line.
_PARTS: tuple[tuple[str, tuple[tuple[str, str, str, bool], ...]], ...] = (
    (
        "The program's call: `vfs.read`\n\nThe table of handlers has an entry; `vfs_read` is written by hand, in\n"
        "[services/vfs/files/io.c](../services/vfs/files/io.c).",
        (("", "vfs_table.h", r"\tverdict \(\*read\)\(", False),),
    ),
    (
        "The system call\n\nFrom the line `linux 0 read`: registers become arguments, an address with\n"
        "its length a grant.",
        (("mono", "domain_kernel.c", r"static int64_t linux_read\(", True),),
    ),
    (
        "Where vfs is in the kernel (mono)\n\nThe handler is called, and again when a parked request is unparked.",
        (("mono", "domain_kernel.c", r"static inline \S+ int64_t client_vfs_read_inline\(", True),),
    ),
    (
        "Where vfs is a thread or a process (hybrid, micro)\n\nThe kernel gives vfs an entry of its table of\n"
        "grants, and sends a message. A table tells it what a message of each call looks like: words, results, grants.",
        (
            ("micro", "domain_kernel.c", r"static inline \S+ int64_t client_vfs_read_plain\(", True),
            ("micro", "domains.c", r"static const struct shape_grant grants_vfs_read\[\]", False),
            ("micro", "domains.c", r"\t\[1\] = \{ SHAPE_CLIENT, \d+, \d+, grants_vfs_read \}", False),
        ),
    ),
    (
        "In vfs\n\nThe dispatcher's case unpacks the words.",
        (("", "vfs_dispatch.c", r"\tcase \d+:\n\t\treturn service->read\(r, \(int32_t\)words\[", False),),
    ),
    (
        "A call between services: `fs.read`\n\nIn the same domain it is a procedure call (mono).",
        (("mono", "domain_kernel.c", r"int64_t fs_read\(", True),),
    ),
    (
        "From a thread to another (hybrid)\n\nWords lie in memory, and the kernel's function is called.",
        (("hybrid", "domain_vfs.c", r"int64_t fs_read\(", True),),
    ),
    (
        "From a process to another (micro)\n\nWords go in registers. The kernel checks that vfs may call fs, and\n"
        "that the grant is vfs's to pass on.",
        (("micro", "domain_vfs.c", r"int64_t fs_read\(", True),),
    ),
    (
        "In fs\n",
        (("", "fs_dispatch.c", r"\tcase \d+:\n\t\treturn service->read\(\(", False),),
    ),
)


class MissingError(Exception):
    """The generated files no longer have such a place."""


def _excerpt(text: str, begin: str, is_function: bool) -> str:
    """The text from the line that `begin` matches: a whole function, else as many lines as `begin` has."""
    match = re.search(rf"^{begin}", text, re.MULTILINE)
    if match is None:
        raise MissingError(begin)
    rest = text[match.start() :]
    if is_function:
        return rest[: rest.index("\n}\n") + 3]
    count = begin.count(r"\n") + 1
    return "".join(rest.splitlines(keepends=True)[:count])


def _of_interface(name: str, begin: str) -> str:
    """A line of an interface, without its errors, which are many."""
    text = (TRIO / "interfaces" / f"{name}.idl").read_text()
    line = _excerpt(text, begin, False).strip()
    return re.sub(r" errors .*", " errors …;", line) + "\n"


def _block(language: str, text: str) -> str:
    return f"```{language}\n" + re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE) + "```\n"


def page() -> str:
    """Raises MissingError; idl_parse.Wrong."""
    made: dict[str, dict[str, str]] = {}
    for words in ("", "mono", "hybrid", "micro"):
        files = idl.written(Path(), TRIO / "interfaces", TRIO / "config" / "services.toml", words)
        made[words] = {path.name: text for path, text in files.items()}
    calls = [
        "// interfaces/vfs.idl\n",
        _of_interface("vfs", r" +\d+: client read\("),
        _of_interface("vfs", r" +linux 0 read = "),
        "// interfaces/fs.idl\n",
        _of_interface("fs", r" +\d+: call read\("),
    ]
    parts = [_HEAD, _block("", "".join(calls))]
    for title, excerpts in _PARTS:
        found = "\n".join(_excerpt(made[words][name], begin, whole) for words, name, begin, whole in excerpts)
        parts += [f"## {title.strip()}\n", _block("c", found)]
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        Path(arguments[0]).write_text(page())
    except (MissingError, idl_parse.Wrong, OSError) as error:
        print(f"example.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
