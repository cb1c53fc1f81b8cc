"""The frontier of lowest losses (approach 1): the best run of each range of compute, and how size grows along it.

References:
    Hoffmann et al. (2022), "Training Compute-Optimal Large Language Models", section 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evalkit.errors import InvalidInputError
from evalkit.scaling.arrays import FloatArray
from evalkit.scaling.points import Points

BINS_PER_DECADE = 4
"""Ranges of compute in a factor of ten."""
_FEWEST = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frontier:
    """The best runs over compute."""

    points: Points
    """The best run of each range of compute, compute rising."""
    size_exponent: float
    """Slope of ln N in ln C over them."""
    size_coefficient: float
    """N at C = 1 on that line."""
    tokens_exponent: float
    """Slope of ln D in ln C."""


def frontier(points: Points, bins_per_decade: int = BINS_PER_DECADE) -> Frontier:
    """Take the run of the lowest loss in each range of compute, and a line through their sizes.

    The choice of a minimum over noisy losses makes such runs look a little better than they are; a law fitted to them
    (``offset_c``) inherits that.

    Args:
        points: Runs with N and D.
        bins_per_decade: How finely compute is cut, from the least on.

    Raises:
        InvalidInputError: Fewer than 3 ranges hold a run, or the number of bins is below 1.
    """
    if bins_per_decade < 1:
        raise InvalidInputError(f"bins_per_decade is {bins_per_decade!r}; expected at least 1")
    compute = points.compute()
    decades = np.log10(compute / compute.min())
    bins = np.floor(decades * bins_per_decade).astype(np.int64)
    order = np.lexsort((points.loss, bins))
    best = order[np.unique(bins[order], return_index=True)[1]]
    if len(best) < _FEWEST:
        raise InvalidInputError(f"runs fall into {len(best)} ranges of compute; a frontier needs {_FEWEST}: add runs")
    kept = points.take(best)
    size, tokens = _line(kept, "N"), _line(kept, "D")
    return Frontier(
        points=kept,
        size_exponent=float(size[0]),
        size_coefficient=float(np.exp(size[1])),
        tokens_exponent=float(tokens[0]),
    )


def _line(points: Points, axis: str) -> FloatArray:
    return np.asarray(np.polyfit(np.log(points.compute()), np.log(points.axis(axis)), 1))
