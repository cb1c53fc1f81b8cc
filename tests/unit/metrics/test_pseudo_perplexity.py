"""Pseudo-perplexity against the formulas of its paper."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InvalidInputError, InvalidTypeError
from evalkit.metrics.base import Statistics
from evalkit.metrics.pseudo_perplexity import PseudoPerplexity
from evalkit.requests import RollingResponse

MASKED = st.lists(st.floats(-20, 0), min_size=1, max_size=6).map(lambda logprobs: [None, *logprobs, None])
CORPORA = st.lists(st.tuples(MASKED, st.text("ab 灯\n", max_size=10)), min_size=1, max_size=5)


def split(corpus):
    return [masked for masked, _ in corpus], [[text] for _, text in corpus]


@settings(deadline=None)
@given(corpus=CORPORA)
def test_equals_the_formulas(corpus):
    pll = [sum(logprob for logprob in masked if logprob is not None) for masked, _ in corpus]
    tokens = sum(len(masked) - 2 for masked, _ in corpus)
    words = sum(text.count(" ") + 1 for _, text in corpus)
    assert PseudoPerplexity().report(*split(corpus)) == {
        "pll": pytest.approx(pll),
        "tokens": tokens,
        "words": words,
        "token_pseudo_perplexity": pytest.approx(math.exp(-sum(pll) / tokens)),
        "word_pseudo_perplexity": pytest.approx(math.exp(-sum(pll) / words)),
    }


@settings(deadline=None)
@given(corpus=CORPORA, cut=st.integers(1, 4))
def test_merged_shards_equal_one_pass(corpus, cut):
    whole = PseudoPerplexity().statistics(*split(corpus))
    parts = [PseudoPerplexity().statistics(*split(part)) for part in (corpus[:cut], corpus[cut:]) if part]
    assert (Statistics.merge(parts).rows == whole.rows).all()


@settings(deadline=None)
@given(masked=MASKED)
def test_special_tokens_count_nothing_wherever_they_stand(masked):
    inside = [entry for logprob in masked for entry in (None, logprob)]
    assert PseudoPerplexity().report([inside], [["a b"]]) == PseudoPerplexity().report([masked], [["a b"]])


def test_summed_response_scores_as_its_parts():
    response = RollingResponse(example_id="1", logprob_nats=-3.5, token_count=3)
    assert PseudoPerplexity().report([response], [["a"]]) == PseudoPerplexity().report([[-1.0, -0.5, -2.0]], [["a"]])


@pytest.mark.parametrize(
    ("predictions", "error", "words"),
    [
        ([[None, None]], InvalidInputError, "no scored token"),
        ([[None, 0.5]], InvalidInputError, "log-probability 0.5"),
        ([None], InvalidTypeError, "prediction 0 is None; expected log-probabilities"),
    ],
)
def test_unusable_input_is_refused(predictions, error, words):
    with pytest.raises(error, match=words):
        PseudoPerplexity().statistics(predictions, [["a"]])


def test_values_by_words_are_not_shown_where_no_spaces_separate_them():
    assert PseudoPerplexity(language="zh").headline == ("token_pseudo_perplexity",)
    assert PseudoPerplexity(language="en").headline == ("token_pseudo_perplexity", "word_pseudo_perplexity")


def test_value_that_no_float_holds_is_nan():
    assert PseudoPerplexity().report([[-2.0] * 400], [["长" * 400]])["word_pseudo_perplexity"] is None
