"""Default options, from kernometer/config.toml in the XDG config home.

The command line overrides the environment, the environment this file, and this file the default that --help shows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from kernometer.errors import UsageError
from kernometer.text import printable


def path() -> Path:
    given = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(given) if given.startswith("/") else Path("~/.config").expanduser()) / "kernometer" / "config.toml"


def read() -> dict[str, Any]:
    """The file as it is; {} without one. Raises UsageError if it cannot be read."""
    try:
        text = path().read_text("utf-8")
        import tomllib

        return tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as error:  # ValueError: TOML's errors and UTF-8's
        raise _wrong("", getattr(error, "strerror", None) or str(error)) from error
    except RuntimeError:  # there is no home
        return {}


def options(command: click.Command, given: Mapping[str, Any], section: str = "") -> dict[str, Any]:
    """Options by the names of their parameters, nested by command, as in click's default_map. Raises UsageError, naming
    file, section and option, for an unknown option or a wrong value."""
    context = click.Context(command)
    known = {flag: option for option in command.params if isinstance(option, click.Option) for flag in option.opts}
    named: dict[str, Any] = {}
    for key, value in given.items():
        below = command.get_command(context, key) if isinstance(command, click.Group) else None
        option = known.get(f"--{key}")
        if below is not None and isinstance(value, dict):
            named[key] = options(below, value, f"{section}.{key}".strip("."))
        elif option is None or option.is_eager or option.name is None:
            raise _wrong(section, f"there is no {'command' if isinstance(value, dict) else 'option'} {key!r}")
        else:
            named[option.name] = _checked(option, context, value, section, key)
    return named


def _checked(option: click.Option, context: click.Context, value: Any, section: str, key: str) -> Any:
    fits = isinstance(value, bool if option.is_flag else list if option.multiple else str | int | float)
    if not fits or isinstance(value, bool) != option.is_flag:
        meant = "true or false" if option.is_flag else "a list" if option.multiple else "a text or a number"
        raise _wrong(section, f"{key} must be {meant}")
    try:
        return option.type_cast_value(context, value)
    except click.BadParameter as error:
        raise _wrong(section, f"{key}: {error.message.rstrip('.')}") from error


def _wrong(section: str, why: str) -> UsageError:
    where = f"{path()}{f', [{section}]' if section else ''}"
    return UsageError(f"{where}: {printable(why, 300)}.", "See CONFIGURATION in 'kernometer man'.")
