"""Counts n-grams that predictions share with their references, for a block of examples at once and without hashing.

An n-gram of a block becomes one integer: token numbers, example and text packed into 63 bits. One sort of these integers
brings the occurrences in a prediction and in its references side by side. Where they do not fit, the prefix is replaced by
its rank among all prefixes of the block, so two different n-grams never meet in one integer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.int64]

_USABLE_BITS = 63


@dataclass(frozen=True, slots=True)
class TextBlock:
    """The tokens of some examples: for each example its prediction, then its references."""

    ids: IntArray
    """Token numbers of all texts one after another, shape (N,)."""
    lengths: IntArray
    """Number of tokens of each text, shape (T,)."""
    reference_counts: IntArray
    """Number of references of each example, shape (E,)."""

    @property
    def predictions(self) -> IntArray:
        """Index of each example's prediction among the texts, shape (E,)."""
        texts = self.reference_counts + 1
        return np.cumsum(texts) - texts


@dataclass(frozen=True, slots=True)
class SharedNgrams:
    """The distinct n-grams of one order that a prediction has in common with a reference, one entry a reference.

    Entries of one n-gram of one prediction stand together.
    """

    examples: IntArray
    """Example within the block, shape (M,)."""
    references: IntArray
    """Reference within the example from 1, shape (M,)."""
    counts: IntArray
    """The smaller of the counts in prediction and reference, shape (M,)."""
    ngrams: IntArray
    """Equal for entries of the same n-gram of the same prediction, shape (M,)."""


def text_blocks(
    predictions: Sequence[str], references: Sequence[Sequence[str]], budget: int
) -> Iterator[tuple[list[str], IntArray]]:
    """Cut a corpus into blocks of whole examples with about a budget of characters each.

    Yields:
        The texts of a block, for each example its prediction and then its references, and the number of references of
        each example, shape (E,).
    """
    counts = np.fromiter(map(len, references), np.int64, len(references))
    texts = [text for pair in zip(predictions, references, strict=True) for text in (pair[0], *pair[1])]
    sizes = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
    ends = np.cumsum(counts + 1)
    last = np.flatnonzero(np.diff(sizes[ends - 1] // budget, append=-1))
    start = 0
    for stop in (last + 1).tolist():
        yield texts[ends[start] - counts[start] - 1 : ends[stop - 1]], counts[start:stop]
        start = stop


def clipped_matches(block: TextBlock, max_order: int) -> IntArray:
    """Count the prediction's n-grams, each at most as often as in the reference that has it most often.

    Returns:
        Matches of each example and order, shape (E, max_order).
    """
    examples = len(block.reference_counts)
    matches = np.zeros((examples, max_order), dtype=np.int64)
    for index, shared in enumerate(shared_ngrams(block, max_order)):
        starts = np.flatnonzero(np.diff(shared.ngrams, prepend=-1))
        if len(starts):
            counts = np.maximum.reduceat(shared.counts, starts)
            matches[:, index] = np.bincount(shared.examples[starts], weights=counts, minlength=examples)
    return matches


def closest_lengths(block: TextBlock) -> IntArray:
    """Find the reference length closest to the prediction's, the shorter of two equally close ones; shape (E,)."""
    is_reference = np.ones(len(block.lengths), dtype=np.bool_)
    is_reference[block.predictions] = False
    lengths = block.lengths[is_reference]
    distances = np.abs(lengths - np.repeat(block.lengths[block.predictions], block.reference_counts))
    starts = np.cumsum(block.reference_counts) - block.reference_counts
    return np.minimum.reduceat((distances << 32) | lengths, starts) & 0xFFFFFFFF


def ngram_totals(lengths: IntArray, max_order: int) -> IntArray:
    """Count the n-grams of texts of the given lengths, shape (T,) -> (T, max_order)."""
    totals: IntArray = np.maximum(lengths[:, None] - np.arange(max_order), 0)
    return totals


def shared_ngrams(block: TextBlock, max_order: int) -> Iterator[SharedNgrams]:
    """Find the n-grams that predictions share with references, for the orders 1 to max_order in turn."""
    ids, id_bits = _renumber(block.ids)
    texts = block.reference_counts + 1
    side_bits = int(block.reference_counts.max()).bit_length()
    low_bits = side_bits + (len(texts) - 1).bit_length()
    sides = np.arange(len(block.lengths)) - np.repeat(block.predictions, texts)
    places = np.repeat(np.arange(len(texts)), texts) << side_bits | sides
    keys, key_bits = np.repeat(places, block.lengths), low_bits
    remaining = np.repeat(np.cumsum(block.lengths), block.lengths) - np.arange(len(ids))
    for order in range(1, max_order + 1):
        if key_bits + id_bits > _USABLE_BITS:
            distinct, ranks = np.unique(keys >> side_bits, return_inverse=True)
            keys = keys & ((1 << low_bits) - 1) | ranks << low_bits
            key_bits = low_bits + (len(distinct) - 1).bit_length()
        count = max(len(ids) - order + 1, 0)
        keys = keys[:count] | ids[order - 1 :] << key_bits
        key_bits += id_bits
        inside = keys[remaining[:count] >= order]
        if key_bits <= 32:
            inside = inside.astype(np.uint32)
        inside.sort()
        starts, in_prediction, in_reference = _pair(inside, side_bits)
        found = inside[starts[in_reference]].astype(np.int64) & ((1 << low_bits) - 1)
        counts = np.diff(starts, append=len(inside))
        yield SharedNgrams(
            examples=found >> side_bits,
            references=found & ((1 << side_bits) - 1),
            counts=np.minimum(counts[in_prediction], counts[in_reference]),
            ngrams=in_prediction,
        )


def _renumber(ids: IntArray) -> tuple[IntArray, int]:
    """Number the tokens that occur from 0; returns the new numbers and how many bits they take."""
    occurs = np.zeros(int(ids.max(initial=0)) + 1, dtype=np.bool_)
    occurs[ids] = True
    used = np.flatnonzero(occurs)
    ranks = np.empty(len(occurs), dtype=np.int64)
    ranks[used] = np.arange(len(used))
    return ranks[ids], max(len(used) - 1, 1).bit_length()


def _pair(keys: npt.NDArray[np.integer], side_bits: int) -> tuple[IntArray, IntArray, IntArray]:
    """Pair each reference's entry for an n-gram with the prediction's.

    Args:
        keys: Sorted keys, the side in the lowest bits: 0 in a prediction, else the number of the reference.
        side_bits: How many bits the side takes.

    Returns:
        Where each distinct key starts, shape (K,), and the distinct keys that belong together: those of predictions and
        those of references, both of shape (M,).
    """
    is_first = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    starts = np.flatnonzero(is_first)
    distinct = keys[starts]
    if side_bits == 1:
        pairs = np.flatnonzero((distinct[1:] ^ distinct[:-1]) == 1)
        return starts, pairs, pairs + 1
    sides = distinct & ((1 << side_bits) - 1)
    latest = np.maximum.accumulate(np.where(sides == 0, np.arange(len(distinct)), 0))
    is_shared = (distinct[latest] ^ distinct) >> side_bits == 0
    in_reference = np.flatnonzero(is_shared & (sides > 0) & (sides[latest] == 0))
    return starts, latest[in_reference], in_reference
