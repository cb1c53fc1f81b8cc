"""Interpolated modified Kneser-Ney smoothing over characters, in arrays.

The probability of a character after a history of ``k - 1`` characters is

    p_k(c | h) = max(n(h c) - D(n(h c)), 0) / n(h) + gamma(h) * p_(k-1)(c | h without its first character)

with ``n`` the counts of the training text at the highest order and the numbers of different characters to the left at all
others, discounts ``D(1), D(2), D(3 and more)`` from each order's counts of counts, and ``gamma(h)`` what makes the sum one.
Below the first order stands the uniform distribution over all code points, so every text has a probability.

References:
    Chen and Goodman (1999), An empirical study of smoothing techniques for language modeling:
    the interpolated form of modified Kneser-Ney.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_CODE_POINTS = sys.maxunicode + 1
_START = 0
"""Symbol before the first character of a text; never predicted."""
_USUAL_DISCOUNTS = (0.5, 1.0, 1.5)
"""Where an order's counts of counts cannot give discounts, as for the few characters of an alphabet."""


@dataclass(frozen=True, slots=True)
class _Order:
    """All sequences of ``k`` characters, and what is known about their first ``k - 1`` as histories."""

    keys: Integers
    """Sorted; number of the history times the size of the alphabet, plus the last character's symbol."""
    discounted: Floats
    """Of each sequence: its count less the discount, over the count of its history."""
    backoff: Floats
    """Of each history: the weight of the lower order; 1 where nothing was seen to follow it."""


@dataclass(frozen=True, slots=True)
class KneserNey:
    """A trained model."""

    alphabet: Integers
    """Sorted code points of the training text; the symbol of a character is its place here plus 1."""
    orders: tuple[_Order, ...]
    """From order 1 to the highest."""

    @classmethod
    def train(cls, texts: Sequence[str], order: int) -> KneserNey:
        """Count all sequences of up to ``order`` characters and smooth.

        Args:
            texts: Training texts; each begins with a history of its own.
            order: The highest order, history and character together.
        """
        points = [_code_points(text) for text in texts]
        alphabet = np.unique(np.concatenate(points))
        padding = np.full(order - 1, _START)
        stream = np.concatenate([part for each in points for part in (padding, np.searchsorted(alphabet, each) + 1)])
        return cls(
            alphabet, tuple(_smooth(*counts, len(alphabet) + 1) for counts in _count(stream, order, len(alphabet) + 1))
        )

    def logprob_nats(self, text: str) -> float:
        """Natural-log probability that a text begins with these characters."""
        return math.fsum(np.log(self.probabilities(text)))

    def probabilities(self, text: str) -> Floats:
        """Probability of each character of a text after those before it.

        Returns:
            Shape (T,).
        """
        points = _code_points(text)
        places = np.minimum(np.searchsorted(self.alphabet, points), len(self.alphabet) - 1)
        known = self.alphabet[places] == points
        symbols = np.concatenate([np.full(len(self.orders) - 1, _START), np.where(known, places + 1, -1)])
        return self._after_histories(symbols)[len(self.orders) - 1 :]

    def _after_histories(self, symbols: Integers) -> Floats:
        """Probability of each symbol after those before it; -1 stands for what is not in the alphabet."""
        size = len(self.alphabet) + 1
        probability = np.full(len(symbols), 1.0 / _CODE_POINTS)
        history = np.zeros(len(symbols), dtype=np.int64)
        for table in self.orders:
            wanted = np.where((history >= 0) & (symbols >= 0), history * size + symbols, -1)
            places = np.minimum(np.searchsorted(table.keys, wanted), len(table.keys) - 1)
            found = table.keys[places] == wanted
            weight = np.where(history >= 0, table.backoff[history], 1.0)
            probability = np.where(found, table.discounted[places], 0.0) + weight * probability
            history = np.concatenate([[-1], np.where(found, places, -1)[:-1]])
        return probability


def _count(stream: Integers, order: int, size: int) -> list[tuple[Integers, Integers, int]]:
    """Sequences of each order: their keys, the counts that the order uses, and the number of histories.

    Sequences that end in the start symbol are kept as histories, with count 0.
    """
    keys, numbers, firsts = [], [np.zeros(len(stream), dtype=np.int64)], []
    for _ in range(order):
        history = np.concatenate([[0], numbers[-1][:-1]])
        unique, first, inverse = np.unique(history * size + stream, return_index=True, return_inverse=True)
        keys.append(unique)
        firsts.append(first)
        numbers.append(inverse)
    result = []
    for k in range(1, order + 1):
        # The last characters of every different longer sequence: each is one more character to the left.
        seen = numbers[k] if k == order else numbers[k][firsts[k]]
        counts = np.bincount(seen, minlength=len(keys[k - 1]))
        counts[keys[k - 1] % size == _START] = 0
        result.append((keys[k - 1], counts, len(keys[k - 2]) if k > 1 else 1))
    return result


def _smooth(keys: Integers, counts: Integers, histories: int, size: int) -> _Order:
    discounts = np.array([0.0, *_discounts(counts)])
    capped = np.minimum(counts, 3)
    history = keys // size
    total = np.bincount(history, weights=counts, minlength=histories)
    taken = np.bincount(history, weights=discounts[capped], minlength=histories)
    seen = total > 0
    safe = np.where(seen, total, 1.0)
    return _Order(
        keys=keys,
        discounted=(counts - discounts[capped]) / safe[history],
        backoff=np.where(seen, taken / safe, 1.0),
    )


def _discounts(counts: Integers) -> tuple[float, float, float]:
    """Discounts of counts 1, 2, and 3 and more (Chen and Goodman, 1999)."""
    n1, n2, n3, n4 = (int(np.count_nonzero(counts == value)) for value in (1, 2, 3, 4))
    if not (n1 and n2 and n3):
        return _USUAL_DISCOUNTS
    share = n1 / (n1 + 2 * n2)
    found = (1 - 2 * share * n2 / n1, 2 - 3 * share * n3 / n2, 3 - 4 * share * n4 / n3)
    if all(0 < discount <= value for value, discount in enumerate(found, start=1)):
        return found
    return _USUAL_DISCOUNTS


def _code_points(text: str) -> Integers:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)
