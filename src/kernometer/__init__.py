"""Kernometer: measures operating-system kernels and explains the differences between them."""

from pathlib import Path

from kernometer.errors import MissingError

__version__ = "0.1.0"


def source_folder(name: str) -> Path:
    """The files of `name` (probe, trio, docs): inside the installed package, or next to it in a checkout."""
    here = Path(__file__).resolve()
    for folder in (here.parent / f"_{name}", here.parents[2] / name):
        if folder.is_dir():
            return folder
    raise MissingError(f"The {name}'s sources are not part of this installation.", "Install Kernometer again.")
