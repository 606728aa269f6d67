"""Trio compiled: is it the same from any folder, and does each service keep to what the configuration allows it?"""

from __future__ import annotations

from pathlib import Path

import pytest

from idl_parse import PAGER, PAGER_CALL
from tests.support.trio import rules
from tests.support.trio.boot import Kernel
from tests.support.trio.variants import objects


def test_a_service_uses_what_the_configuration_allows_it_and_shows_its_table_of_handlers(sources: Path) -> None:
    """Expected: its object leaves to others the port's functions and allowed stubs, and shows one name. Broken: a right
    that nobody needs any more stays."""
    compiled = objects()
    for service in rules.services(sources):
        made = (compiled[service.name],)
        assert rules.undefined(made) - rules.allowed_symbols(sources, service) == set(), service.name
        # a kernel without heartbeats asks nobody
        asking = {"server_ask", "server_stop"} if service.name == "rs" else set()
        used = {f"kernel_{each}" for each in service.kernel if each not in asking}
        # whoever copies may have a fault asked for it
        used |= {f"{PAGER}_{each}" for each in service.vm if each != PAGER_CALL}
        assert used <= rules.undefined(made), f"{service.name}: unused rights"
        for interface in service.calls:
            stubs = {f"{interface}_{each}" for each in rules.calls_of(sources, interface)}
            assert stubs & rules.undefined(made), f"{service.name} does not call {interface}"
        assert rules.shown(made) == {f"{Path(service.sources).name}_service"}, service.name


@pytest.mark.slow(minutes=0.45)
def test_the_same_sources_in_another_folder_make_the_same_kernel(built_elsewhere: Path, kernel: Kernel) -> None:
    """Expected: equal to the byte. Broken: a path or a time in the kernel, and counts that depend on it."""
    assert (built_elsewhere / "trio-mono.elf").read_bytes() == kernel.file.read_bytes()
