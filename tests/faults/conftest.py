"""Fixtures of Trio's tests, by which a guest is booted."""

from __future__ import annotations

from tests.guests.conftest import guest_cache  # noqa: F401  # a fixture: pytest finds it by name here
from tests.trio.conftest import kernel, sources  # noqa: F401  # fixtures: pytest finds them by name here
