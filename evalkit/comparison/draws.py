"""Random sums of rows: the bootstrap's resamples and the randomization test's swaps, at a cost that does not grow with n.

Up to `CHUNK` units, a draw of B resamples is plain: B rows of counts times the table. Beyond, the units are dealt at random
into chunks of about `CHUNK`; within each chunk only B / chunks patterns are drawn, and resample b adds one pattern of every
chunk, matched at random. Chunks are independent, so the variance of the sums is estimated from as many independent patterns
as in a plain draw of B, at the cost of a plain draw from one chunk: 10,000 resamples of 10,000 examples take a fortieth of
the time. What is lost is the variance between the chunks' means, 1 part in `CHUNK`, and the callers put it back (`spread`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
Patterns: TypeAlias = Callable[[np.random.Generator, int, int], FloatArray]
"""Draws so many patterns over so many units: weights of shape (patterns, units)."""

CHUNK = 250
"""Units that are resampled together; a chunk has fewer than twice as many."""
BLOCK_BYTES = 2**18
"""Memory for one block of weights: what stays in a processor's cache is drawn twice as fast."""


def chunks(units: int) -> int:
    """In how many chunks so many units are drawn."""
    return max(1, units // CHUNK)


def spread(units: int) -> float:
    """How much narrower resampled values are than the values they stand for: a standard deviation times this is unbiased."""
    size = units / chunks(units)
    return math.sqrt(size / (size - 1)) if size > 1 else 1.0


def bootstrap_sums(table: FloatArray, resamples: int, seed: int) -> FloatArray:
    """Sum rows over bootstrap resamples.

    Args:
        table: Statistics of independent units, shape (units, k).
        resamples: Number of resamples.
        seed: Same seed, number of units and of resamples: same draw.

    Returns:
        Shape (resamples, k).
    """
    return _sums(table, resamples, seed, _bootstrap_counts)


def swap_sums(table: FloatArray, trials: int, seed: int) -> FloatArray:
    """Sum a random half of the rows, each unit in or out by a fair coin; arguments and result as `bootstrap_sums`."""
    return _sums(table, trials, seed, _coins)


def _sums(table: FloatArray, resamples: int, seed: int, draw: Patterns) -> FloatArray:
    generator = np.random.default_rng([seed, len(table)])
    count = chunks(len(table))
    if count == 1:
        return _pattern_sums(table, resamples, generator, draw)
    total = np.zeros((resamples, table.shape[1]))
    patterns = math.ceil(resamples / count)
    for members in np.array_split(generator.permutation(len(table)), count):
        part = _pattern_sums(table[members], patterns, generator, draw)
        picks = generator.permutation(np.arange(resamples) % patterns)
        total += part[picks]
    return total


def _pattern_sums(table: FloatArray, patterns: int, generator: np.random.Generator, draw: Patterns) -> FloatArray:
    blocks = [draw(generator, size, len(table)) @ table for size in _block_sizes(patterns, len(table))]
    return np.concatenate(blocks) if blocks else np.zeros((0, table.shape[1]))


def _block_sizes(patterns: int, units: int) -> Iterator[int]:
    size = max(1, BLOCK_BYTES // (8 * max(1, units)))
    for start in range(0, patterns, size):
        yield min(size, patterns - start)


def _bootstrap_counts(generator: np.random.Generator, patterns: int, units: int) -> FloatArray:
    drawn = generator.integers(0, units, size=(patterns, units), dtype=np.uint16)
    places = np.add(drawn, np.arange(0, patterns * units, units, dtype=np.int64)[:, None], dtype=np.int64)
    counts = np.bincount(places.ravel(), minlength=patterns * units)
    return counts.reshape(patterns, units).astype(np.float64)


def _coins(generator: np.random.Generator, patterns: int, units: int) -> FloatArray:
    bits = np.unpackbits(generator.integers(0, 256, size=(patterns, math.ceil(units / 8)), dtype=np.uint8), axis=1)
    return bits[:, :units].astype(np.float64)
