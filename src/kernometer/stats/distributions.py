"""The few distributions that the rules need, on arrays. One place for scipy, imported when the first is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


def _special() -> Any:
    from scipy import special  # type: ignore[import-untyped]  # scipy carries no types; this is its only import

    return special


def t_quantile(q: float, df: ArrayLike) -> NDArray[np.float64]:
    """Student's t at probability q; degrees of freedom need not be whole."""
    import numpy as np

    return np.asarray(_special().stdtrit(np.asarray(df, dtype=np.float64), q), dtype=np.float64)


def t_below(df: ArrayLike, t: ArrayLike) -> NDArray[np.float64]:
    """Probability that Student's t is below `t`."""
    import numpy as np

    return np.asarray(_special().stdtr(df, t), dtype=np.float64)


def noncentral_t_below(df: float, noncentrality: float, t: float) -> float:
    """Probability that a t whose mean is moved by `noncentrality` standard errors is below `t`."""
    return float(_special().nctdtr(df, noncentrality, t))


def chi2_above(df: float, x: float) -> float:
    """Probability that a chi-square exceeds x."""
    return float(_special().chdtrc(df, x))


def chi2_quantile(q: float, df: float) -> float:
    """Chi-square at probability q."""
    return float(_special().chdtri(df, 1 - q))


def normal_below(z: ArrayLike) -> NDArray[np.float64]:
    """Probability that a standard normal is below z."""
    import numpy as np

    return np.asarray(_special().ndtr(z), dtype=np.float64)


def normal_quantile(q: ArrayLike) -> NDArray[np.float64]:
    """Standard normal at probability q."""
    import numpy as np

    return np.asarray(_special().ndtri(q), dtype=np.float64)
