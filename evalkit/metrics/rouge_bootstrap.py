"""The bootstrap of rouge-score's aggregator, draw for draw."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from evalkit.errors import InvalidInputError

FloatArray: TypeAlias = npt.NDArray[np.float64]

_DRAWS_AT_ONCE = 2**20


def resampled_percentiles(scores: FloatArray, *, seed: int, n_samples: int, confidence: float) -> FloatArray:
    """Percentiles of resampled means, for the types one after the other from one stream of random numbers.

    Args:
        scores: Measures of E examples for T types, shape (E, T, M).
        seed: Seed of numpy's legacy generator, which the aggregator uses.
        n_samples: Resamples a type.
        confidence: Share of the resampled means between the outer percentiles.

    Returns:
        Lower bound, median and upper bound, shape (T, 3, M).

    Raises:
        InvalidInputError: `n_samples` is not positive or `confidence` not in [0, 1].
    """
    if n_samples < 1:
        raise InvalidInputError(f"n_samples is {n_samples}; expected at least 1")
    if not 0 <= confidence <= 1:
        raise InvalidInputError(f"confidence is {confidence}; expected a number in [0, 1]")
    generator = np.random.RandomState(seed)
    outside = (1 - confidence) / 2
    wanted = 100 * np.array([outside, 0.5, 1 - outside])
    bounds = [
        np.percentile(_means(scores[:, index], generator, n_samples), wanted, axis=0)
        for index in range(scores.shape[1])
    ]
    return np.stack(bounds)


def _means(measures: FloatArray, generator: np.random.RandomState, n_samples: int) -> FloatArray:
    """Means of `n_samples` resamples of the rows, shape (n_samples, M)."""
    n = len(measures)
    at_once = max(1, _DRAWS_AT_ONCE // n)
    blocks = [
        measures[generator.randint(0, n, size=(min(at_once, n_samples - start), n))].mean(axis=1)
        for start in range(0, n_samples, at_once)
    ]
    return np.concatenate(blocks)
