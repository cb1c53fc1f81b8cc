import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import f1_score, precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities

from evalkit.errors import InvalidInputError, InvalidTypeError
from evalkit.metrics.span_f1 import SpanF1

TAGS = ["O", "O", "B-A", "I-A", "S-A", "E-A", "B-B", "I-B"]


@st.composite
def tag_corpora(draw):
    lengths = draw(st.lists(st.integers(0, 8), min_size=1, max_size=4))
    tag = st.sampled_from(TAGS)
    golds = [draw(st.lists(tag, min_size=n, max_size=n)) for n in lengths]
    return golds, [[draw(st.one_of(st.just(gold), tag)) for gold in golds_of] for golds_of in golds]


def spans_of(tags):
    return [[start, end + 1, label] for label, start, end in get_entities(list(tags))]


def report(golds, preds, **settings):
    return SpanF1(**settings).report(preds, [[gold] for gold in golds])


@settings(max_examples=40, deadline=None)
@given(tag_corpora())
def test_tags_equal_seqeval_micro(corpus):
    got = report(*corpus)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = [score(*corpus, zero_division=0) for score in (f1_score, precision_score, recall_score)]
    assert [got["f1"], got["precision"], got["recall"]] == pytest.approx(want)


@settings(max_examples=40, deadline=None)
@given(tag_corpora(), st.booleans())
def test_spans_and_tags_give_the_same_values(corpus, labelled):
    golds, preds = corpus
    from_spans = report([spans_of(tags) for tags in golds], [spans_of(tags) for tags in preds], labelled=labelled)
    assert report(golds, preds, labelled=labelled) == from_spans


def test_spans_may_nest_and_duplicates_count_once():
    got = report([[[0, 5, "A"], [2, 4, "B"]]], [[[0, 5, "A"], [0, 5, "A"], [2, 4, "A"]]])
    assert (got["tp"], got["gold"], got["pred"]) == (1, 2, 2)


def test_labels_can_be_left_out():
    got = report([[[0, 2, "A"], [0, 2, "B"]]], [[[0, 2, "C"]]], labelled=False)
    assert got == {"tp": 1, "gold": 1, "pred": 1, "f1": 1.0, "precision": 1.0, "recall": 1.0}


def test_spans_belong_to_their_example():
    assert report([[[0, 2, "A"]], []], [[], [[0, 2, "A"]]])["tp"] == 0


def test_nothing_to_find_and_nothing_found_scores_zero():
    assert report([[]], [[]]) == {
        "tp": 0,
        "gold": 0,
        "pred": 0,
        "f1": 0.0,
        "precision": 0.0,
        "recall": 0.0,
        "per_type": {},
    }


def test_headline_values_come_first():
    statistics = SpanF1().statistics([[[0, 1, "A"]]], [[[[0, 1, "A"]]]])
    assert tuple(SpanF1().score(statistics.total(), statistics.columns))[:3] == SpanF1().headline


def test_signature_says_whether_labels_count():
    assert SpanF1().signature() == "span_f1|labelled:yes"
    assert SpanF1(labelled=False).signature() == "span_f1|labelled:no"


@pytest.mark.parametrize(
    ("prediction", "error", "message"),
    [
        ([[5, 2, "A"]], InvalidInputError, "goes from 5 to 2"),
        ([[2, 2, "A"]], InvalidInputError, "ends are exclusive"),
        ([[2, 3]], InvalidTypeError, "expected \\[start, end, label\\]"),
        ([[2, "3", "A"]], InvalidTypeError, "whole numbers"),
        (["O", "B-A"], InvalidTypeError, "expected one form throughout"),
        (None, InvalidTypeError, "prediction 0 is None"),
    ],
)
def test_bad_predictions_are_refused(prediction, error, message):
    with pytest.raises(error, match=message):
        SpanF1().statistics([prediction], [[[[2, 5, "A"]]]])


def test_tag_sequences_of_different_length_are_refused():
    with pytest.raises(ValueError, match="example 0: the numbers of tags differ, 1 predicted and 2 in the reference"):
        SpanF1().statistics([["O"]], [[["O", "B-A"]]])
