"""Blocks of n-grams are counted as a loop over single examples would count them."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.metrics.ngram_counts import TextBlock, clipped_matches, closest_lengths, shared_ngrams, text_blocks

TEXT = st.lists(st.integers(0, 3), max_size=8)
EXAMPLES = st.lists(st.tuples(TEXT, st.lists(TEXT, min_size=1, max_size=4)), min_size=1, max_size=6)


def block_of(examples):
    texts = [text for prediction, references in examples for text in (prediction, *references)]
    return TextBlock(
        ids=np.array([token for text in texts for token in text], dtype=np.int64),
        lengths=np.array([len(text) for text in texts], dtype=np.int64),
        reference_counts=np.array([len(references) for _, references in examples], dtype=np.int64),
    )


def ngrams(text, order):
    return Counter(tuple(text[start : start + order]) for start in range(len(text) - order + 1))


def found(examples, max_order):
    """Order, example, reference and summed count of what the block finds."""
    sums = Counter()
    for order, shared in enumerate(shared_ngrams(block_of(examples), max_order), start=1):
        for example, reference, count in zip(shared.examples, shared.references, shared.counts, strict=True):
            sums[order, int(example), int(reference)] += int(count)
    return sums


def expected(examples, max_order):
    sums = Counter()
    for order in range(1, max_order + 1):
        for index, (prediction, references) in enumerate(examples):
            for number, reference in enumerate(references, start=1):
                sums[order, index, number] += (ngrams(prediction, order) & ngrams(reference, order)).total()
    return +sums


@given(examples=EXAMPLES)
@settings(deadline=None)
def test_shared_ngrams_are_those_of_single_pairs(examples):
    assert found(examples, 5) == expected(examples, 5)


def test_ngrams_that_do_not_fit_one_integer_are_told_apart():
    source = np.random.default_rng(0)
    texts = source.integers(0, 2**40, size=(60, 30)) % 50_000
    examples = [(text.tolist(), [text[::-1].tolist(), [*text[5:], *text[:5]]]) for text in texts]
    wide = [
        (list(range(start, start + 400)), [list(range(start + 200, start + 600))]) for start in range(0, 60_000, 1000)
    ]
    assert found(examples, 7) == expected(examples, 7)
    assert found(wide, 7) == expected(wide, 7)


@given(examples=EXAMPLES)
@settings(deadline=None)
def test_matches_are_clipped_by_the_reference_that_has_an_ngram_most_often(examples):
    rows = []
    for prediction, references in examples:
        most = [Counter() for _ in range(4)]
        for order, counter in enumerate(most, start=1):
            for reference in references:
                counter |= ngrams(reference, order)
            most[order - 1] = counter & ngrams(prediction, order)
        rows.append([counter.total() for counter in most])
    assert clipped_matches(block_of(examples), 4).tolist() == rows


@given(examples=EXAMPLES)
@settings(deadline=None)
def test_the_closest_length_is_the_shorter_of_two(examples):
    nearest = [
        min((abs(len(reference) - len(prediction)), len(reference)) for reference in references)[1]
        for prediction, references in examples
    ]
    assert closest_lengths(block_of(examples)).tolist() == nearest


@given(
    examples=st.lists(st.tuples(st.text("a", max_size=9), st.lists(st.text("b", max_size=9), min_size=1)), min_size=1),
    budget=st.integers(1, 40),
)
@settings(deadline=None)
def test_blocks_hold_each_example_once_and_whole(examples, budget):
    predictions, references = map(list, zip(*examples, strict=True))
    blocks = list(text_blocks(predictions, references, budget))
    assert [text for texts, _ in blocks for text in texts] == [text for p, refs in examples for text in (p, *refs)]
    assert [count for _, counts in blocks for count in counts] == [len(refs) for refs in references]
    largest = max(len(p) + sum(map(len, refs)) for p, refs in examples)
    assert all(sum(map(len, texts)) < budget + largest or len(counts) == 1 for texts, counts in blocks)


@pytest.mark.parametrize("order", [1, 4])
def test_texts_without_tokens_share_nothing(order):
    assert clipped_matches(block_of([([], [[]]), ([], [[], []])]), order).tolist() == [[0] * order] * 2
