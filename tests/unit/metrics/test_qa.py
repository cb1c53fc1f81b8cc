"""What all question-answering metrics promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InvalidInputError, InvalidTypeError
from evalkit.metrics.base import Statistics
from evalkit.metrics.cmrc2018 import Cmrc2018
from evalkit.metrics.drcd import Drcd
from evalkit.metrics.mlqa import Mlqa
from evalkit.metrics.qa import f1_score
from evalkit.metrics.squad import SquadV1, SquadV2
from evalkit.requests import Answer

METRICS = [SquadV1(), SquadV2(), Cmrc2018(), Drcd(), Mlqa(lang="en"), Mlqa(lang="zh")]
EACH = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.signature())

# No sentence ends: CMRC 2018 must not need nltk's sentence model here.
TEXTS = st.text("ab 的灯塔1\u3000_-“’（é\n", max_size=12) | st.sampled_from(
    ["the net", "a a b", "an-the", "灯 塔", "塔塔"]
)
QUESTIONS = st.lists(st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=3)), min_size=1, max_size=8)


def values(metric, predictions, references):
    statistics = metric.statistics(predictions, references)
    return {name: float(value) for name, value in metric.score(statistics.total(), statistics.columns).items()}


@EACH
@settings(deadline=None)
@given(text=TEXTS, other=TEXTS)
def test_identical_answer_reaches_the_maximum(metric, text, other):
    text = f"net {text} 塔"
    got = values(metric, [text], [[other, text]])
    assert (got["exact_match"], got["f1"]) == (100, 100)


@EACH
@settings(deadline=None)
@given(questions=QUESTIONS)
def test_values_lie_between_0_and_100(metric, questions):
    predictions, references = zip(*questions, strict=True)
    got = values(metric, predictions, references)
    assert 0 <= got["exact_match"] <= 100
    assert 0 <= got["f1"] <= 100


@EACH
@settings(deadline=None)
@given(questions=QUESTIONS, random=st.randoms(use_true_random=False))
def test_order_of_questions_and_references_does_not_matter(metric, questions, random):
    shuffled = [(text, random.sample(several, len(several))) for text, several in questions]
    random.shuffle(shuffled)
    first, second = (values(metric, *zip(*some, strict=True)) for some in (questions, shuffled))
    assert first == pytest.approx(second, nan_ok=True)


@EACH
@settings(deadline=None)
@given(questions=QUESTIONS, cut=st.integers(1, 7))
def test_merged_shards_equal_one_pass(metric, questions, cut):
    predictions, references = zip(*questions, strict=True)
    whole = metric.statistics(predictions, references)
    parts = [
        metric.statistics(predictions[part], references[part])
        for part in (slice(None, cut), slice(cut, None))
        if predictions[part]
    ]
    merged = Statistics.merge(parts)
    assert merged.columns == whole.columns
    assert np.array_equal(merged.rows, whole.rows)


@EACH
def test_further_references_never_lower_a_value(metric):
    predictions = ["grey seal 灯塔"] * 2
    few = metric.statistics(predictions, [["seal"], ["灯塔"]]).total()
    many = metric.statistics(predictions, [["seal", "grey seal 灯塔"], ["灯塔", "码头"]]).total()
    assert (many >= few).all()


@EACH
def test_score_is_vectorised_over_leading_axes(metric):
    statistics = metric.statistics(["net", "buoy", "a net"], [["net"], ["net"], ["the net"]])
    sums = np.stack([statistics.rows, statistics.rows * 2])
    got = metric.score(sums, statistics.columns)
    one = metric.score(statistics.rows[1], statistics.columns)
    for name, value in got.items():
        assert value.shape == (2, 3)
        assert value[1, 1] == pytest.approx(float(one[name]), nan_ok=True)


@EACH
def test_headline_values_come_first_and_all_have_a_closed_form(metric):
    statistics = metric.statistics(["net"], [["net"]])
    names = tuple(metric.score(statistics.total(), statistics.columns))
    assert names[: len(metric.headline)] == metric.headline
    assert names == tuple(metric.ratios(statistics.columns))


@EACH
def test_answer_objects_score_as_their_text(metric):
    plain = metric.statistics(["a net", "塔"], [["net"], ["灯塔"]]).rows
    assert np.array_equal(metric.statistics([Answer("a net"), Answer("塔")], [["net"], ["灯塔"]]).rows, plain)


@pytest.mark.parametrize("metric", [SquadV1(), Cmrc2018(), Drcd(), Mlqa(lang="zh")], ids=lambda metric: metric.name)
def test_missing_prediction_counts_as_wrong(metric):
    got = values(metric, ["灯塔", None, Answer(None)], [["灯塔"], ["net"], ["net"]])
    assert (got["exact_match"], got["f1"]) == pytest.approx((100 / 3, 100 / 3))


@EACH
@pytest.mark.parametrize(
    ("predictions", "references", "error", "words"),
    [
        (["a", "b"], [["a"]], InvalidInputError, "2 predictions but references for 1 examples"),
        ([], [], InvalidInputError, "empty corpus"),
        (["a"], ["a"], InvalidTypeError, "bare string"),
        ([1], [["1"]], InvalidTypeError, "prediction 0 is 1; expected a string"),
        (["a"], [[None]], InvalidTypeError, "reference None is not a string"),
    ],
)
def test_unusable_input_is_refused_in_one_line(metric, predictions, references, error, words):
    with pytest.raises(error, match=words) as caught:
        metric.statistics(predictions, references)
    assert "\n" not in str(caught.value)


def test_f1_is_the_harmonic_mean_of_precision_and_recall():
    assert f1_score(2, 4, 3) == pytest.approx(2 / (4 / 2 + 3 / 2))
