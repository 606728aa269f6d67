"""Tables: the TOML files that come with the package, and values by a key of theirs."""

from __future__ import annotations

import tomllib
from collections.abc import Hashable, Iterable
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


@cache
def packaged(package: str, name: str) -> dict[str, Any]:
    """The contents of `name`, a TOML file beside the modules of that package."""
    return tomllib.loads(files(package).joinpath(name).read_text(encoding="utf-8"))


def grouped(pairs: Iterable[tuple[_Key, _Value]]) -> dict[_Key, list[_Value]]:
    """The values of each key, in the order in which keys and values come."""
    groups: dict[_Key, list[_Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups
