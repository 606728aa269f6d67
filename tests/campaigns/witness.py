"""A second witness for `kernometer faults`: bugs in the C source of drivers, and busybox's programs as observer.

usage: PYTHONPATH=.:trio/tools .venv/bin/python -m tests.campaigns.witness [STRUCTURE…] [-n N] [--seed N]

It shares nothing with the campaigns: no debugger, no saved guest, no worker, no reader of file systems. A function of a
driver does at one of its entries what it must not, both drawn; the kernel is compiled with it and booted; a shell
copies, packs, unpacks, moves and removes files on two disks, mounts them again and prints the checksum of each. The
fault is survived if all is printed as without it and fsck finds the disk sound. Prints a table.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from kernometer.guests.kernels import trio
from kernometer.stats.intervals import wilson
from tests.support.trio.boot import Kernel, Machine, boot, initramfs, virtio_disk
from tests.support.trio.minixfs import fsck, make

TRIO = Path(__file__).parents[2] / "trio"
STRUCTURES = ("micro", "hybrid", "mono")
COUNT, SEED = 100, 1
BOOT_SECONDS = 30.0

#: How often, at least, the shell's work enters functions of drivers that are not part of their start: a power of four.
ENTERED = {
    "virtio_blk/virtio_blk.c": {
        "block_notified": 64,
        "overlaps": 64,
        "slot_of": 256,
        "must_wait": 64,
        "slot_take": 64,
        "answers_forget": 16,
        "submit": 64,
        "wrote": 16,
        "ask": 256,
        "block_read": 64,
        "block_write": 64,
        "block_flush": 16,
    },
    "virtio_blk/virtio.c": {"virtio_submit": 64, "virtio_done": 256},
    "ram_block/ram_block.c": {"transfer": 4096, "block_read": 64, "block_write": 4096, "block_flush": 4},
    "serial/serial.c": {"in": 16, "console_write": 16},
    "clock/clock.c": {"clock_sleep": 16, "clock_epoch": 1024},
}
KINDS = {
    "null write": "*(volatile int *)0 = 1;",
    "wild jump": "((void (*)(void))0x123456789000UL)();",
    "endless loop": 'for (;;) __asm__ volatile("");',
    "stack overflow": "witness_deeper(&witness_entries);",
}
#: Fills the stack, so that nothing below it stays as it was.
DEEPER = """static unsigned long witness_deeper(volatile unsigned long *above)
{ volatile unsigned long here[64]; for (int i = 0; i < 64; i++) here[i] = *above;
  return *above == ~0UL ? 0 : witness_deeper(here) + here[0]; }
"""
WORK = """set -e; mkdir /mnt /ram; mount -t minix /dev/vda /mnt; cat /image >/dev/ram0; mount -t minix /dev/ram0 /ram
for d in /mnt /ram; do cd $d
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do dd if=/bin/busybox of=f$i bs=1000 count=$((i*7)) skip=$i 2>/dev/null
echo line $i >&2; sleep 0.01; date >/dev/null; done
sync; tar cf t.tar f*; mkdir x; tar xf t.tar -C x; sync; rm f3 f7 t.tar; mv x/f5 x/g; echo more >>x/f4; sync; cd /; done
umount /mnt; umount /ram; mount -t minix /dev/vda /mnt; mount -t minix /dev/ram0 /ram
find /mnt /ram -type f | sort | xargs md5sum; umount /mnt; umount /ram; echo all"""
SURVIVED, NOT_STRUCK, PANIC, HUNG, ERROR = "survived", "not struck", "panic", "hung", "error"


@dataclass(frozen=True)
class Bug:
    file: str  #: below trio/drivers
    function: str
    kind: str
    entry: int  #: 1 is the first of a process; one that began anew counts again

    def written(self, text: str) -> str:
        """The source with it."""
        found = re.search(rf"^[a-z][a-z0-9_ ]*[ *]{self.function}\([^;{{]*\)\n\{{\n", text, flags=re.MULTILINE)
        assert found, self
        strikes = f"static volatile unsigned long witness_entries;\nif (++witness_entries == {self.entry}) "
        helper = DEEPER if "deeper" in KINDS[self.kind] else ""
        begin, end = found.span()
        return f"{text[:begin]}{helper}{text[begin:end]}{strikes}{{ {KINDS[self.kind]} }}\n{text[end:]}"


def drawn(random: Random) -> Bug:
    file, function, most = random.choice([(file, *one) for file, of in ENTERED.items() for one in of.items()])
    return Bug(file, function, random.choice([*KINDS]), random.randrange(most, 2 * most))


class Witness:
    """Trio's sources in a directory of their own, and what the shell printed without a bug."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sources = folder / "trio"
        shutil.copytree(TRIO, self.sources, ignore=shutil.ignore_patterns("build", "__pycache__"))
        self.network = trio.lwip_sources(lambda text: print(text, file=sys.stderr))
        self.usual: dict[str, bytes] = {}

    def outcome(self, structure: str, bug: Bug) -> str:
        """SURVIVED, NOT_STRUCK, or what became of the machine."""
        if structure not in self.usual:
            status, printed, console = self._run(structure)
            assert status == 0 and printed.endswith(b"all\n"), console
            self.usual[structure] = printed
        source = self.sources / "drivers" / bug.file
        as_it_was = source.read_text()
        source.write_text(bug.written(as_it_was))
        try:
            status, printed, console = self._run(structure)
        finally:
            source.write_text(as_it_was)
        if "panic" in console:
            return PANIC
        if status is None:
            return HUNG
        if (status, printed) != (0, self.usual[structure]):
            return ERROR
        return SURVIVED if " ends: " in console else NOT_STRUCK

    def _run(self, structure: str) -> tuple[int | None, bytes, str]:
        """The shell's exit status (fsck's, if that has none), output, and the console."""
        built = self.folder / "built"
        trio.build(self.sources, built, structure, self.network)
        disk = self.folder / "disk"
        make(disk, 16384, 1024, 512)
        inside = initramfs(("sh", "-c", WORK), {"image": disk.read_bytes()})
        kernel = Kernel.trio(built / trio.file_name(structure))
        ended = boot(kernel, inside, Machine(more=virtio_disk(disk)), seconds=BOOT_SECONDS)
        status = ended.status if ended.status != 0 else fsck(disk).returncode
        return status, ended.bulk, ended.console.decode(errors="replace")


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("structures", metavar="STRUCTURE", nargs="*", default=STRUCTURES)
    parser.add_argument("-n", "--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args(words)
    random = Random(given.seed)
    bugs = [drawn(random) for _ in range(given.count)]
    with tempfile.TemporaryDirectory(prefix="witness-") as name:
        witness = Witness(Path(name))
        for structure in given.structures:
            found: Counter[str] = Counter()
            for number, bug in enumerate(bugs):
                outcome = witness.outcome(structure, bug)
                found[outcome] += 1
                if structure == "micro" and outcome not in (SURVIVED, NOT_STRUCK):
                    print(f"{structure}: {outcome}: {number}: {bug}")
            struck = found.total() - found[NOT_STRUCK]
            low, high = wilson(found[SURVIVED], struck)
            share = f"{found[SURVIVED]} of {struck} ({low:.1%} to {high:.1%})"
            print(f"{structure}: {share} survived; {dict(found)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
