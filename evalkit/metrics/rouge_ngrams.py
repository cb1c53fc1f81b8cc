"""Clipped n-gram counts of many pairs of texts at once, by sorting integers.

Letters: R pairs, N tokens of all texts, S = 2 R slots (one a text).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]

_LARGEST_KEY = 2**62


def text_lengths(texts: Sequence[Sequence[int]]) -> IntArray:
    """Count the tokens of each text; shape (number of texts,)."""
    return np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))


def ngram_hits(
    predicted: Sequence[Sequence[int]], wanted: Sequence[Sequence[int]], orders: int, vocabulary: int
) -> list[FloatArray]:
    """Count the n-grams that both texts of a pair have, each as often as the text that has it less often.

    Args:
        predicted: Token numbers of R predictions.
        wanted: Token numbers of their R references.
        orders: The largest n.
        vocabulary: A number larger than every token number.

    Returns:
        For n = 1 ... orders an array of shape (R,).
    """
    pairs = len(predicted)
    texts = [*predicted, *wanted]
    tokens = np.fromiter(chain.from_iterable(texts), dtype=np.int64)
    if vocabulary > len(tokens):
        tokens, vocabulary = _renumber(tokens)
    # Slots 2 r and 2 r + 1 are the prediction and the reference of pair r.
    slots = np.arange(2 * pairs).reshape(pairs, 2).T.ravel()
    slot = np.repeat(slots, text_lengths(texts))
    hits = []
    grams, size = tokens, vocabulary
    for n in range(1, orders + 1):
        if n > 1:
            if size * vocabulary * len(slots) > _LARGEST_KEY:
                grams, size = _renumber(grams)
            grams = grams[:-1] * vocabulary + tokens[n - 1 :]
            size *= vocabulary
        # What runs from one text into the next is no n-gram.
        inside = slot[: len(grams)] == slot[n - 1 :]
        if size * len(slots) > _LARGEST_KEY:
            grams, size = _renumber(grams)
        keys = grams[inside] * len(slots) + slot[: len(grams)][inside]
        hits.append(_clipped(keys, pairs))
    return hits


def _clipped(keys: IntArray, pairs: int) -> FloatArray:
    """Sum over n-grams of the smaller count; keys are (n-gram, pair, side) with the side in the lowest bit."""
    ordered = np.sort(keys)
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else ordered
    distinct = ordered[starts]
    counts = np.diff(starts, append=len(ordered))
    shared = np.flatnonzero((distinct[:-1] & 1 == 0) & (distinct[1:] == distinct[:-1] + 1))
    smaller = np.minimum(counts[shared], counts[shared + 1])
    return np.bincount((distinct[shared] >> 1) % pairs, weights=smaller, minlength=pairs).astype(np.float64)


def _renumber(values: IntArray) -> tuple[IntArray, int]:
    """Replace values by their ranks; returns the ranks and how many there are."""
    distinct, ranks = np.unique(values, return_inverse=True)
    return ranks, max(len(distinct), 1)
