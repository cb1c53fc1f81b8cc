"""Perplexity against a straightforward version, and the inputs it refuses."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InvalidInputError, InvalidTypeError, UnknownNameError
from evalkit.metrics.base import Statistics
from evalkit.metrics.perplexity import Perplexity
from evalkit.requests import RollingResponse

TEXTS = st.text("ab 灯\u3000\n🗼é", min_size=1, max_size=12)
LOGPROBS = st.lists(st.floats(-20, 0), min_size=1, max_size=6)
CORPORA = st.lists(st.tuples(LOGPROBS, TEXTS), min_size=1, max_size=6)


def split(corpus):
    return [logprobs for logprobs, _ in corpus], [[text] for _, text in corpus]


def values(predictions, references):
    statistics = Perplexity().statistics(predictions, references)
    return {name: float(value) for name, value in Perplexity().score(statistics.total(), statistics.columns).items()}


@settings(deadline=None)
@given(corpus=CORPORA)
def test_equals_a_naive_version(corpus):
    total = sum(sum(logprobs) for logprobs, _ in corpus)
    tokens = sum(len(logprobs) for logprobs, _ in corpus)
    words = sum(len(re.findall(r"\s+", text)) + 1 for _, text in corpus)
    size_bytes = sum(len(text.encode("utf-8")) for _, text in corpus)
    characters = sum(len(text) for _, text in corpus)
    means = [math.exp(-sum(logprobs) / len(logprobs)) for logprobs, _ in corpus]
    assert values(*split(corpus)) == pytest.approx(
        {
            "token_perplexity": math.exp(-total / tokens),
            "word_perplexity": math.exp(-total / words),
            "byte_perplexity": math.exp(-total / size_bytes),
            "bits_per_byte": -total / size_bytes / math.log(2),
            "bits_per_char": -total / characters / math.log(2),
            "mean_sequence_perplexity": sum(means) / len(means),
        }
    )


@settings(deadline=None)
@given(text=TEXTS, count=st.integers(1, 5))
def test_certain_model_has_perplexity_one_and_no_bits(text, count):
    got = values([[0.0] * count], [[text]])
    assert {name for name, value in got.items() if value == 1} == {name for name in got if name.endswith("perplexity")}
    assert got["bits_per_byte"] == got["bits_per_char"] == 0


@settings(deadline=None)
@given(corpus=CORPORA, vocab_size=st.integers(2, 1000))
def test_uniform_model_has_its_vocabulary_size_as_token_perplexity(corpus, vocab_size):
    predictions, references = split(corpus)
    uniform = [[-math.log(vocab_size)] * len(logprobs) for logprobs in predictions]
    assert values(uniform, references)["token_perplexity"] == pytest.approx(vocab_size)


@settings(deadline=None)
@given(corpus=CORPORA, cut=st.integers(1, 5), random=st.randoms(use_true_random=False))
def test_shards_merge_and_order_does_not_matter(corpus, cut, random):
    whole = values(*split(corpus))
    parts = [Perplexity().statistics(*split(part)) for part in (corpus[:cut], corpus[cut:]) if part]
    merged = Statistics.merge(parts)
    assert {k: float(v) for k, v in Perplexity().score(merged.total(), merged.columns).items()} == pytest.approx(whole)
    assert values(*split(random.sample(corpus, len(corpus)))) == pytest.approx(whole)


@settings(deadline=None)
@given(logprobs=LOGPROBS, text=TEXTS)
def test_summed_response_scores_as_its_parts(logprobs, text):
    response = RollingResponse(example_id="1", logprob_nats=math.fsum(logprobs), token_count=len(logprobs))
    assert values([response], [[text]]) == values([np.array(logprobs)], [[text]]) == values([logprobs], [[text]])


def test_pseudo_log_likelihoods_are_refused():
    response = RollingResponse(example_id="1", logprob_nats=-3.5, token_count=3, is_pseudo=True)
    with pytest.raises(
        InvalidInputError, match="not defined by pseudo-log-likelihoods; use the metric pseudo_perplexity"
    ):
        Perplexity().statistics([response], [["a"]])


def test_score_is_vectorised_over_leading_axes():
    statistics = Perplexity().statistics([[-1.0], [-2.0, -3.0]], [["a"], ["b c"]])
    got = Perplexity().score(np.stack([statistics.rows, statistics.rows[::-1]]), statistics.columns)
    assert all(value.shape == (2, 2) for value in got.values())
    assert got["token_perplexity"][1, 0] == pytest.approx(math.exp(2.5))


def test_value_that_no_float_holds_is_nan_and_the_others_stay():
    got = values([[-2.0] * 500], [["长" * 500]])
    assert math.isnan(got["word_perplexity"])
    assert got["token_perplexity"] == pytest.approx(math.exp(2))
    assert Perplexity().report([[-2.0] * 500], [["长" * 500]])["word_perplexity"] is None


def test_values_of_an_empty_text_are_nan_per_byte_and_character():
    got = values([[-1.0]], [[""]])
    assert math.isnan(got["bits_per_byte"])
    assert math.isnan(got["bits_per_char"])
    assert got["word_perplexity"] == pytest.approx(math.e)


@pytest.mark.parametrize("main", ["bits_per_byte", "token_perplexity", "bits_per_char", "mean_sequence_perplexity"])
def test_main_value_comes_first_and_changes_no_value(main):
    metric = Perplexity(main=main)
    statistics = metric.statistics([[-1.0]], [["a"]])
    names = tuple(metric.score(statistics.total(), statistics.columns))
    assert metric.headline[0] == names[0] == main
    assert names[: len(metric.headline)] == metric.headline
    assert len(set(names)) == len(names) == 6
    assert metric.signature() == Perplexity().signature()


def test_unknown_main_value_names_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean 'word_perplexity'"):
        Perplexity(main="word_ppl")


@pytest.mark.parametrize(
    ("predictions", "references", "error", "words"),
    [
        ([[]], [["a"]], InvalidInputError, "no scored token"),
        (
            [[-1.0, 0.1]],
            [["a"]],
            InvalidInputError,
            "log-probability 0.1; expected a finite number of nats, 0 or below",
        ),
        ([[-math.inf]], [["a"]], InvalidInputError, "log-probability -inf"),
        ([[math.nan]], [["a"]], InvalidInputError, "log-probability nan"),
        ([[-800.0]], [["a"]], InvalidInputError, "800 nats a token"),
        ([RollingResponse(example_id="1", logprob_nats=-1.0, token_count=0)], [["a"]], InvalidInputError, "no scored"),
        ([[-1.0]], [["a", "b"]], InvalidInputError, "2 references; expected one"),
        ([[-1.0]], [["a"], ["b"]], InvalidInputError, "1 predictions but references for 2"),
        ([], [], InvalidInputError, "empty corpus"),
        ([-1.0], [["a"]], InvalidTypeError, "prediction 0 is -1.0; expected log-probabilities"),
        (["-1"], [["a"]], InvalidTypeError, "expected log-probabilities"),
        ([[-1.0]], [[b"a"]], InvalidTypeError, "is not a string"),
        ([[-1.0]], ["a"], InvalidTypeError, "bare string"),
    ],
)
def test_unusable_input_is_refused(predictions, references, error, words):
    with pytest.raises(error, match=words):
        Perplexity().statistics(predictions, references)


@pytest.mark.parametrize("language", ["zh", "zh-Hant", "ja", "th"])
def test_texts_without_spaces_have_no_word_perplexity_in_the_headline_but_among_the_values(language):
    metric = Perplexity(language=language)
    assert metric.headline == ("bits_per_byte", "token_perplexity", "byte_perplexity", "bits_per_char")
    statistics = metric.statistics([[-1.0, -2.0]], [["灯亮了"]])
    found = metric.score(statistics.total(), statistics.columns)
    assert set(found) == set(values([[-1.0, -2.0]], [["灯亮了"]]))
    assert metric.signature() == Perplexity().signature()
    assert Perplexity(language=language, main="word_perplexity").headline[0] == "word_perplexity"
    assert Perplexity(language="ko").headline == Perplexity().headline
    with pytest.raises(InvalidInputError, match="no code"):
        Perplexity(language="Chinese")
