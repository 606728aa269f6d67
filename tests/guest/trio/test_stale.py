"""Does the processor forget what the page tables no longer grant, whatever it keeps? A plugin of the emulator has a TLB
that never forgets by itself (tests/support/trio/stale.c)."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernometer.cache import compiled
from kernometer.guests import plugins
from kernometer.guests.emulator import qemu
from kernometer.guests.kernels import elf, trio
from tests.support.trio.boot import Kernel, Machine, boot, initramfs
from tests.support.trio.variants import variant

pytestmark = pytest.mark.guest

PLUGIN = Path(__file__).parents[2] / "support/trio/stale.c"
#: The vector of page faults, and the bytes of an entry (trio/kernel/x86/entry.S).
FAULT, ENTRY = 14, 16
#: They take pages away from spaces: those of a fork, of a program that ends, of mappings, of files, of a service.
QUESTIONS = ("fork", "exec", "mmap", "mapped", "mprotect", "mremap", "pipe", "vfork")
TAGS = "SWITCHES=-DTRIO_TAGS_TOLD"
_LAST = re.compile(r"(\d+) stale, (\d+) compared, (\d+) let go")


@dataclass(frozen=True, slots=True)
class Plant:
    """A change of one source that leaves a translation in the TLB."""

    file: str
    old: str
    new: str


PLANTS = {
    "no-invlpg": ("mono", "", Plant("kernel/x86/tags.h", "cpu_forget_page(address + i * PAGE);", ";")),
    "no-cr3": ("mono", "", Plant("kernel/x86/tags.h", "cr3_write(cr3_loaded);", ";")),
    "boot-kept": ("mono", TAGS, Plant("kernel/x86/mmu.c", "cr3_write(kernel_root);", "cr3_write(kernel_cr3);")),
    "no-invpcid": ("micro", TAGS, Plant("kernel/x86/tags.c", "invalidate(ONE_PAGE, tag, address + i * PAGE);", ";")),
    "no-space": ("micro", TAGS, Plant("kernel/x86/tags.c", "invalidate(ONE_SPACE, tag, 0);", ";")),
}


def _plugin() -> Path:
    folder = Path(plugins.__file__).parent
    flags = (*plugins.FLAGS, f"-DKM_PLUGIN_API={plugins.api_of(qemu.detect())}", f"-I{folder}")
    return compiled("stale.so", ("cc", *flags), (PLUGIN, *sorted(folder.glob("*.h"))))


def _found(kernel: Path, user_programs: Path, folder: Path, *, tags: bool) -> tuple[str, ...]:
    """The plugin's lines of a boot in which QUESTIONS are asked; the last one says how much it compared."""
    names = {name: address for name, _, address, _ in elf.symbols(kernel.read_bytes())}
    words = f"out=stale,fault={names['entry_vectors'] + FAULT * ENTRY:#x},told={names['tags_told'] if tags else 0:#x}"
    machine = Machine(more=("-plugin", f"{_plugin()},{words}"))
    files = {"bin/usertests": (user_programs / "usertests").read_bytes()}
    ended = boot(Kernel.trio(kernel), initramfs(("usertests", *QUESTIONS), files), machine, seconds=1200.0, keep=folder)
    lines = tuple((folder / "stale").read_text().splitlines())
    last = _LAST.fullmatch(lines[-1]) if lines else None
    assert last, ended
    assert int(last[2]) > 1000, lines
    assert int(last[3]) > 10, lines
    assert int(last[1]) or ended.status == 0, ended
    return lines


@pytest.mark.slow(minutes=0.5)
@pytest.mark.parametrize("tags", [False, True], ids=["untagged", "tags"])
@pytest.mark.parametrize("structure", trio.STRUCTURES)
def test_nothing_that_was_taken_away_can_still_be_used(
    sources: Path, user_programs: Path, tmp_path: Path, structure: str, tags: bool
) -> None:
    """Expected: each touch of a page finds what the tables say, also in a TLB that keeps all other spaces. Broken: a
    program or a service reads or writes a page that is somebody else's by then."""
    folder = variant(sources, structure, *([TAGS] if tags else []))
    lines = _found(folder / trio.file_name(structure), user_programs, tmp_path, tags=tags)
    assert lines[-1].startswith("0 stale"), lines


@pytest.mark.slow(minutes=0.5)
@pytest.mark.parametrize("plant", PLANTS)
def test_what_is_not_forgotten_is_found(sources: Path, user_programs: Path, tmp_path: Path, plant: str) -> None:
    """Expected: a kernel that leaves out one kind of invalidation is found. Broken: the test above finds nothing."""
    structure, words, change = PLANTS[plant]
    copy = tmp_path / "trio"
    shutil.copytree(sources, copy)
    text = (copy / change.file).read_text()
    assert text.count(change.old) == 1
    (copy / change.file).write_text(text.replace(change.old, change.new))
    folder = variant(copy, structure, *([words] if words else []), "WERROR=", name=f"stale-{plant}")
    lines = _found(folder / trio.file_name(structure), user_programs, tmp_path / "boot", tags=words == TAGS)
    assert not lines[-1].startswith("0 stale"), lines
