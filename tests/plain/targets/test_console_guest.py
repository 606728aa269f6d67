"""A system on a disk as a guest, before it boots: what is kept of it, and what its rows are measured with."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernometer.errors import UsageError
from kernometer.guests import store, variant
from kernometer.targets.base import Job
from kernometer.targets.consoles import saving
from kernometer.targets.qemu import QemuTarget
from tests.support.guests import qemu_script
from tests.support.guests.stored import made
from tests.support.targets.console_fixtures import DESCRIPTION, Plays

JOB = Job(("--by", "path"), "path")
AS_IT_IS = variant.parse("guest")
IN_MEMORY = 'system = "x"\n[boot]\ndevices = ["VGA"]\n[files]\nway = "none"\n[compile]\ncommand = ""\n'


@pytest.fixture
def foreign(plays: Plays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> QemuTarget:
    """The guest of an untried description and a disk."""
    plays("", DESCRIPTION.replace("by its author", ""))
    qemu_script.give_plugin(tmp_path, monkeypatch)
    saving.add("foreign", str(tmp_path / "disk.img.toml"), str(tmp_path / "disk.img"), AS_IT_IS)
    return QemuTarget.from_spec("foreign")


def test_rows_continue_from_a_system_that_was_typed_at(foreign: QemuTarget) -> None:
    """Expected: by path alone; the disk's changes, which no row writes to; the guest's time; a state that is never
    saved twice; the remark on its description. Broken: a row that boots, or that is measured in the host's time."""
    words = " ".join(foreign.describe(JOB))
    assert "file=disk,format=qcow2,snapshot=on" in words
    assert "sleep=off" in words
    assert "-incoming defer" in words
    assert "-kernel" not in words
    place = foreign.place("path")
    assert place.state == "typed"
    assert [note for note in place.notes if "untried" in note] == list(place.notes)
    assert foreign.by == ("path",)


def test_other_images_and_descriptions_are_other_guests(foreign: QemuTarget, tmp_path: Path) -> None:
    """Expected: a changed image is refused until it is added again, as another one. Broken: two pass for one."""
    (tmp_path / "disk.img").write_bytes(b"another disk")
    with pytest.raises(UsageError, match="has changed since qemu:foreign was added"):
        foreign.describe(JOB)
    (tmp_path / "other.toml").write_text(DESCRIPTION)
    added = [
        saving.add("foreign", str(tmp_path / name), str(tmp_path / "disk.img"), AS_IT_IS).image
        for name in ("disk.img.toml", "other.toml")
    ]
    assert len({foreign.guest.image, *added}) == 3


@pytest.mark.usefixtures("foreign")
def test_a_guests_kernel_takes_the_place_of_an_image(tmp_path: Path) -> None:
    """Expected: its kernel, words and machine, with the description's devices and no drive. Broken: a disk."""
    inner = made("linux-6.1")
    (tmp_path / "memory.toml").write_text(IN_MEMORY)
    guest = saving.add("typed", str(tmp_path / "memory.toml"), "qemu:linux-6.1+quiet", AS_IT_IS)
    assert guest.kernel.read_bytes() == inner.kernel.read_bytes()
    assert guest.manifest.command_line == f"{inner.manifest.command_line} quiet"
    assert guest.manifest.machine.devices == ("VGA",)
    assert guest.at_console
    assert not guest.has_init
    assert "-drive" not in QemuTarget.of_guest(guest, variant.parse("typed")).describe(JOB)
    assert store.find("linux-6.1") == inner
