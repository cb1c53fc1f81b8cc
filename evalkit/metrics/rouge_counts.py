"""Precision, recall and F1 of every ROUGE type for many pairs of texts at once.

All divisions are those of rouge-score, in its order, so the values are equal to the last bit.

Letters: E examples, R pairs of a prediction and one of its references, T ROUGE types.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from rapidfuzz.distance import LCSseq

from evalkit.metrics.rouge_ngrams import FloatArray, IntArray, ngram_hits, text_lengths
from evalkit.metrics.rouge_tokens import Tokenizer
from evalkit.metrics.rouge_union import union_hits

_PAIRS_AT_ONCE = 8192
_CHARACTERS_AT_ONCE = 2**22


def score_pairs(
    predictions: Sequence[str], references: Sequence[str], types: Sequence[str], tokenizer: Tokenizer
) -> FloatArray:
    """Score R pairs; returns precision, recall and F1 of each type, shape (R, T, 3)."""
    blocks = [
        _score_block(predictions[block], references[block], types, tokenizer)
        for block in _blocks(predictions, references)
    ]
    return np.concatenate(blocks)


def best_reference(scores: FloatArray, counts: Sequence[int]) -> FloatArray:
    """For each example and type keep the pair with the highest F1, the first of equals.

    Args:
        scores: Precision, recall and F1 of the pairs, references of one example together, shape (R, T, 3).
        counts: The number of references of each example: E positive integers whose sum is R.

    Returns:
        Shape (E, T, 3).
    """
    if len(counts) == len(scores):
        return scores
    starts = np.cumsum([0, *counts[:-1]])
    f1 = scores[:, :, 2]
    highest = np.repeat(np.maximum.reduceat(f1, starts, axis=0), counts, axis=0)
    place = np.where(f1 == highest, np.arange(len(scores))[:, None], len(scores))
    first = np.minimum.reduceat(place, starts, axis=0)
    return np.take_along_axis(scores, first[:, :, None], axis=0)


def _blocks(predictions: Sequence[str], references: Sequence[str]) -> Iterator[slice]:
    """Cut R pairs into runs that bound the memory of one step."""
    start = characters = 0
    for index, pair in enumerate(zip(predictions, references, strict=True)):
        if index - start == _PAIRS_AT_ONCE or characters > _CHARACTERS_AT_ONCE:
            yield slice(start, index)
            start, characters = index, 0
        characters += len(pair[0]) + len(pair[1])
    yield slice(start, len(predictions))


def _score_block(
    predictions: Sequence[str], references: Sequence[str], types: Sequence[str], tokenizer: Tokenizer
) -> FloatArray:
    predicted = [tokenizer.tokens(text) for text in predictions]
    wanted = [tokenizer.tokens(text) for text in references]
    lengths = text_lengths(predicted), text_lengths(wanted)
    orders = [ngram_order(name) for name in types]
    of_ngrams = ngram_hits(predicted, wanted, max(orders), tokenizer.vocabulary.size)
    common = _common_subsequences(predicted, wanted) if 0 in orders else np.zeros(0)
    out = np.empty((len(predictions), len(types), 3))
    for index, (name, n) in enumerate(zip(types, orders, strict=True)):
        if n:
            hits = of_ngrams[n - 1]
        elif name == "rougeL":
            hits = common
        else:
            hits = _union_of_sentences(predictions, references, common, tokenizer)
        totals = [np.maximum(length - max(n - 1, 0), 1) for length in lengths]
        out[:, index] = _precision_recall_f1(hits, *totals)
    return out


def ngram_order(rouge_type: str) -> int:
    """Read n from rouge1 ... rouge9; 0 for the types that count subsequences."""
    digit = rouge_type.removeprefix("rouge")
    return int(digit) if digit.isdigit() else 0


def _precision_recall_f1(hits: FloatArray, predicted: IntArray, wanted: IntArray) -> FloatArray:
    precision = hits / predicted
    recall = hits / wanted
    both = precision + recall
    f1 = np.divide(2 * precision * recall, both, out=np.zeros(len(hits)), where=both > 0)
    return np.stack([precision, recall, f1], axis=1)


def _common_subsequences(predicted: Sequence[list[int]], wanted: Sequence[list[int]]) -> FloatArray:
    similarity = LCSseq.similarity
    return np.array([similarity(*pair) for pair in zip(predicted, wanted, strict=True)], dtype=np.float64)


def _union_of_sentences(
    predictions: Sequence[str], references: Sequence[str], common: FloatArray, tokenizer: Tokenizer
) -> FloatArray:
    """Union hits of each pair; where both texts are one sentence that is their longest common subsequence."""
    hits = common.copy()
    for index, (prediction, reference) in enumerate(zip(predictions, references, strict=True)):
        if not (tokenizer.is_one_sentence(prediction) and tokenizer.is_one_sentence(reference)):
            hits[index] = union_hits(tokenizer.sentences(reference), tokenizer.sentences(prediction))
    return hits
