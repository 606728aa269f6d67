"""Which calls do programs spend their kernel time in, and which rows price them? The list of docs/predict.md.

    perf record -e cpu-clock:k -F 2000 -g -o build -- make -C probe
    python -m studies.kernel_calls build …

Each file is one program, recorded by perf. A sample belongs to the system call or page fault at the bottom of its
stack; those of interrupts and of the kernel's own threads belong to no program and are left out.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec

from kernometer.explain.prediction import Prices
from kernometer.tables import packaged

LEAST = 0.01  #: of a program's samples
_CALL = re.compile(r"(?:__x64_sys_|__do_sys_|__sys_|ksys_|do_sys_|x64_sys_|kernel_|do_|vm_)?([a-z]\w+)")
#: What the kernel's functions are called where the call's name is another.
_NAMES = {
    "mmap_pgoff": "mmap",
    "sendfile64": "sendfile",
    "newfstat": "fstat",
    "newfstatat": "fstat",
    "openat2": "openat",
    "exit_to_user_mode_loop": "",
    "syscall_64": "",
    "group_exit": "exit_group",
    "clone": "fork",
    "clone3": "fork",
}
#: How the price list calls them by kind: what these programs write to, lock or send to.
_KINDS = {"sendfile": "socket", "sendto": "socket", "recvfrom": "socket", "accept4": "socket", "writev": "socket"}


def call(frames: list[str]) -> str:
    """The call of a stack (functions, the innermost first); "" for work that no call or fault asked for."""
    for at in reversed(range(len(frames))):
        if "exc_page_fault" in frames[at]:
            return "faults"
        if "sysvec" in frames[at] or frames[at].startswith("ret_from_fork"):
            return ""
        if frames[at] == "do_syscall_64" and at and (found := _CALL.fullmatch(frames[at - 1])):
            return _NAMES.get(found[1], found[1])
    return ""


def shares(recorded: str) -> dict[str, float]:
    """Of each call in the program's samples. Raises CalledProcessError if perf does not read the file."""
    words = ("perf", "script", "-i", recorded, "-F", "comm,ip,sym")
    text = subprocess.run(words, check=True, capture_output=True, text=True, timeout=600).stdout
    stacks = (re.findall(r"^\s+[0-9a-f]+ ([^\s+]+)", stack, re.MULTILINE) for stack in text.split("\n\n"))
    found = Counter(name for stack in stacks if (name := call(stack)))
    return {name: count / found.total() for name, count in found.items()}


def main() -> None:
    files = sys.argv[1:]
    tables = [shares(each) for each in files]
    prices = msgspec.convert(packaged("kernometer.explain", "prices.toml"), Prices)
    most = {name: max(table.get(name, 0) for table in tables) for table in tables for name in table}
    print("| call |", " | ".join(Path(each).stem for each in files), "| price |")
    print("|---|", "---:|" * len(files), "---|", sep="")
    for name in sorted((name for name in most if most[name] >= LEAST), key=lambda name: -most[name]):
        price = prices.find("lock" if name == "fcntl" else name, _KINDS.get(name, "file"))
        each = " | ".join(f"{100 * table[name]:.1f} %" if table.get(name, 0) >= 0.001 else "" for table in tables)
        print(f"| `{name}` | {each} | {price.what if price else 'none'} |")


if __name__ == "__main__":
    main()
