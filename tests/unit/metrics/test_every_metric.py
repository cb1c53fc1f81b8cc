"""What holds for every metric, whatever it measures."""

import dataclasses
import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import EvalkitError
from evalkit.metrics.base import AnyMetric, Statistics
from evalkit.metrics.registry import METRICS
from evalkit.stats import Resampling, estimate

WORDS = [
    "the",
    "cat",
    "sat",
    "on",
    "a",
    "mat",
    "while",
    "seven",
    "dogs",
    "ran",
    "past",
    "two",
    "quiet",
    "old",
    "houses",
]
CHARACTERS = "我们在北京研究生命科学的起源和意义"
TAGS = ("O", "O", "B-PER", "I-PER", "B-LOC")


def sentence(source: random.Random) -> str:
    return " ".join(source.choices(WORDS, k=source.randint(5, 12)))


def tags(source: random.Random) -> tuple[str, ...]:
    found = [source.choice(TAGS) for _ in range(source.randint(1, 8))]
    return tuple("B-PER" if tag == "I-PER" and (not i or found[i - 1] == "O") else tag for i, tag in enumerate(found))


def segmented(source: random.Random) -> str:
    text = "".join(source.choices(CHARACTERS, k=source.randint(2, 10)))
    return " ".join(cut(text, source))


def cut(text: str, source: random.Random) -> list[str]:
    edges = sorted({0, len(text), *(source.randint(0, len(text)) for _ in range(3))})
    return [text[a:b] for a, b in itertools.pairwise(edges)]


def logprobs(source: random.Random) -> list[float]:
    return [-source.random() * 5 for _ in range(source.randint(1, 6))]


def texts(source: random.Random) -> tuple[str, list[str]]:
    reference = sentence(source)
    return (reference if source.random() < 0.3 else sentence(source)), [reference]


def tagged(source: random.Random) -> tuple[Any, list[Any]]:
    gold = tags(source)
    return tuple(tag if source.random() < 0.7 else "O" for tag in gold), [gold]


def segmentations(source: random.Random) -> tuple[str, list[str]]:
    gold = segmented(source)
    return " ".join(cut(gold.replace(" ", ""), source)), [gold]


def answers(source: random.Random) -> tuple[str, list[str]]:
    return source.choice(WORDS), [source.choice(WORDS), sentence(source)]


def maybe_answers(source: random.Random) -> tuple[str, list[str]]:
    return source.choice(["", *WORDS]), [] if source.random() < 0.3 else [source.choice(WORDS)]


def classes(source: random.Random) -> tuple[str, list[str]]:
    return source.choice("abc"), [source.choice("abc")]


Draw = Callable[[random.Random], tuple[Any, list[Any]]]

SAMPLES: dict[str, tuple[AnyMetric, Draw]] = {
    "bleu": (METRICS["bleu"](), texts),
    "chrf": (METRICS["chrf"](), texts),
    "chrf++": (METRICS["chrf++"](), texts),
    "ter": (METRICS["ter"](), texts),
    "rouge": (METRICS["rouge"](), texts),
    "meteor": (METRICS["meteor"](), texts),
    "squad_v1": (METRICS["squad_v1"](), answers),
    "squad_v2": (METRICS["squad_v2"](), maybe_answers),
    "cmrc2018": (METRICS["cmrc2018"](), answers),
    "drcd": (METRICS["drcd"](), answers),
    "mlqa": (METRICS["mlqa"](lang="en"), answers),
    "seqeval": (METRICS["seqeval"](), tagged),
    "conlleval": (METRICS["conlleval"](), tagged),
    "nervaluate": (METRICS["nervaluate"](), tagged),
    "span_f1": (METRICS["span_f1"](), tagged),
    "token_accuracy": (METRICS["token_accuracy"](), tagged),
    "cws": (METRICS["cws"](train_words=frozenset(CHARACTERS)), segmentations),
    "classification": (METRICS["classification"](labels=("a", "b", "c")), classes),
    "perplexity": (METRICS["perplexity"](), lambda source: (logprobs(source), [sentence(source)])),
    "pseudo_perplexity": (METRICS["pseudo_perplexity"](), lambda source: (logprobs(source), [sentence(source)])),
}

EACH = pytest.mark.parametrize("name", METRICS)


def corpus(name: str, n: int, seed: int) -> tuple[list[Any], list[Any]]:
    source = random.Random(seed)
    rows = [SAMPLES[name][1](source) for _ in range(n)]
    return [prediction for prediction, _ in rows], [references for _, references in rows]


def measured(name: str, predictions: list[Any], references: list[Any]) -> Statistics:
    metric = SAMPLES[name][0]
    try:
        return metric.statistics(predictions, references)
    except LookupError as error:
        pytest.skip(str(error))


def values(name: str, statistics: Statistics) -> dict[str, float]:
    return {key: float(value) for key, value in SAMPLES[name][0].score(statistics.total(), statistics.columns).items()}


def same(left: dict[str, float], right: dict[str, float]) -> bool:
    shared = [key for key in left if key in right]
    return all(left[key] == pytest.approx(right[key], rel=1e-9, abs=1e-12, nan_ok=True) for key in shared)


def test_every_metric_has_a_sample_here():
    assert list(SAMPLES) == list(METRICS)


@EACH
def test_a_metric_is_frozen_and_described(name):
    metric = SAMPLES[name][0]
    assert METRICS[name].name == name
    assert (METRICS[name].__doc__ or "").strip()
    assert metric.reference
    assert metric.signature()
    assert "\n" not in metric.signature()
    field = next((field.name for field in dataclasses.fields(metric)), None)
    if field:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(metric, field, None)


@EACH
def test_statistics_have_one_finite_row_an_example_and_a_name_a_column(name):
    statistics = measured(name, *corpus(name, 7, seed=1))
    assert statistics.rows.shape == (7, len(statistics.columns))
    assert statistics.rows.dtype == np.float64
    assert np.isfinite(statistics.rows).all()
    assert len(set(statistics.columns)) == len(statistics.columns)


@EACH
def test_the_score_is_vectorised_over_any_leading_dimensions(name):
    metric = SAMPLES[name][0]
    statistics = measured(name, *corpus(name, 12, seed=2))
    sums = statistics.rows.reshape(2, 3, 2, -1).sum(axis=2)
    together = metric.score(sums, statistics.columns)
    for i in range(2):
        for j in range(3):
            alone = metric.score(sums[i, j], statistics.columns)
            for key, value in alone.items():
                assert together[key].shape == (2, 3)
                assert float(together[key][i, j]) == pytest.approx(float(value), rel=1e-12, nan_ok=True)


@EACH
def test_headline_values_are_among_the_scores_and_within_the_range(name):
    metric = SAMPLES[name][0]
    found = values(name, measured(name, *corpus(name, 9, seed=3)))
    assert set(metric.headline) <= set(found)
    assert set(metric.ratios(measured(name, *corpus(name, 9, seed=3)).columns)) <= set(found)
    low, high = metric.range
    for key in metric.headline:
        assert found[key] >= low - 1e-9
        assert high is None or found[key] <= high + 1e-9


@EACH
@given(seed=st.integers(0, 10**6), n=st.integers(2, 8))
@settings(max_examples=15, deadline=None)
def test_permuting_the_examples_changes_nothing(name, seed, n):
    predictions, references = corpus(name, n, seed)
    order = random.Random(seed).sample(range(n), n)
    straight = values(name, measured(name, predictions, references))
    shuffled = values(name, measured(name, [predictions[i] for i in order], [references[i] for i in order]))
    assert same(straight, shuffled)


@EACH
@given(seed=st.integers(0, 10**6), left=st.integers(1, 6), right=st.integers(1, 6))
@settings(max_examples=15, deadline=None)
def test_splitting_and_merging_statistics_changes_nothing(name, seed, left, right):
    predictions, references = corpus(name, left + right, seed)
    whole = measured(name, predictions, references)
    parts = [
        measured(name, predictions[:left], references[:left]),
        measured(name, predictions[left:], references[left:]),
    ]
    merged = Statistics.merge(parts)
    assert set(merged.columns) == set(whole.columns)
    assert same(values(name, whole), values(name, merged))


@EACH
@given(seed=st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_the_reference_itself_scores_best(name, seed):
    if name in ("perplexity", "pseudo_perplexity"):
        pytest.skip("a text has no probability of its own to compare with")
    metric = SAMPLES[name][0]
    predictions, references = corpus(name, 6, seed)
    perfect = [refs[0] if refs else "" for refs in references]
    key = metric.headline[0]
    best = values(name, measured(name, perfect, references))[key]
    found = values(name, measured(name, predictions, references))[key]
    if np.isnan(best) or (name in ("seqeval", "conlleval", "nervaluate", "span_f1") and best == 0):
        return  # no entity anywhere
    assert found <= best + 1e-9 if metric.higher_is_better else found >= best - 1e-9
    if name == "meteor":
        assert best > 0.9  # even identical sentences pay for one chunk
    elif metric.higher_is_better:
        assert best == pytest.approx(metric.range[1])
    else:
        assert best == pytest.approx(metric.range[0])


@EACH
def test_the_bootstrap_of_copies_of_one_example_has_no_width(name):
    metric = SAMPLES[name][0]
    (prediction,), (reference,) = corpus(name, 1, seed=4)
    statistics = measured(name, [prediction] * 16, [reference] * 16)
    for value in estimate([(metric, statistics)], Resampling(resamples=30))[0]:
        if value.value is not None:
            assert value.low == pytest.approx(value.value, rel=1e-12, abs=1e-15)
            assert value.high == pytest.approx(value.value, rel=1e-12, abs=1e-15)


@EACH
def test_unequal_lengths_and_an_empty_corpus_are_refused(name):
    metric = SAMPLES[name][0]
    predictions, references = corpus(name, 3, seed=5)
    with pytest.raises(ValueError, match=r"2.*3|3.*2") as caught:
        metric.statistics(predictions[:2], references)
    assert isinstance(caught.value, EvalkitError)
    with pytest.raises(ValueError, match="empty corpus"):
        metric.statistics([], [])


@EACH
def test_the_report_names_what_the_score_has_not_and_is_ready_for_json(name):
    import json

    metric = SAMPLES[name][0]
    predictions, references = corpus(name, 5, seed=6)
    statistics = measured(name, predictions, references)
    report = metric.report(predictions, references, statistics)
    assert report == metric.report(predictions, references)
    json.dumps(report, allow_nan=False)
