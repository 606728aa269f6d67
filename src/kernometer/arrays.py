"""numpy and scipy, imported when something of them is used first: they take tenths of a second, which `--help` saves.

`from kernometer.arrays import np` stands at the top of a file, where `import numpy as np` would stand.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray
    from scipy import optimize, special, stats  # type: ignore[import-untyped]  # scipy carries no types

    Floats = NDArray[np.float64]
    Truths = NDArray[np.bool_]
else:

    class _Library:
        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            value = getattr(import_module(self._name), name)
            setattr(self, name, value)  # which is found the next time
            return value

    np, special, stats = _Library("numpy"), _Library("scipy.special"), _Library("scipy.stats")
    optimize = _Library("scipy.optimize")
    ArrayLike = NDArray = Floats = Truths = Any  # for annotations, which nothing evaluates

__all__ = ["ArrayLike", "Floats", "NDArray", "Truths", "np", "optimize", "special", "stats"]
