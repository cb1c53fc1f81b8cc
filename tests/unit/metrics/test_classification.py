import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from evalkit.errors import InvalidInputError, InvalidTypeError
from evalkit.metrics.classification import Classification

CLASSES = ["yes", "no", "不知道", ""]
PAIRS = st.lists(st.tuples(st.sampled_from(CLASSES), st.sampled_from(CLASSES)), min_size=1, max_size=12)


def reference(golds, preds, labels=None):
    values = {"accuracy": accuracy_score(golds, preds)}
    for kind in ("macro", "micro", "weighted"):
        precision, recall, f1, _ = precision_recall_fscore_support(
            golds, preds, labels=labels, average=kind, zero_division=0
        )
        values |= {f"{kind}_precision": precision, f"{kind}_recall": recall, f"{kind}_f1": f1}
    return values


@settings(max_examples=25, deadline=None)
@given(PAIRS)
def test_values_equal_scikit_learn(pairs):
    golds, preds = [list(side) for side in zip(*pairs, strict=True)]
    statistics = Classification().statistics(preds, [[gold] for gold in golds])
    got = Classification().score(statistics.total(), statistics.columns)
    for name, value in reference(golds, preds).items():
        assert got[name] == pytest.approx(value, abs=1e-12), name
    labels = sorted({*golds, *preds})
    by_class = precision_recall_fscore_support(golds, preds, labels=labels, zero_division=0)
    for place, label in enumerate(labels):
        for measure, values in zip(("precision", "recall", "f1"), by_class, strict=False):
            assert got[f"{measure}[{label}]"] == pytest.approx(values[place], abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(PAIRS, st.lists(st.sampled_from([*CLASSES, "never"]), min_size=1, unique=True))
def test_values_over_given_labels_equal_scikit_learn(pairs, labels):
    golds, preds = [list(side) for side in zip(*pairs, strict=True)]
    if not set(labels) & set(golds):
        labels.append(golds[0])  # scikit-learn refuses labels of which none is in the gold data
    metric = Classification(labels=tuple(labels))
    statistics = metric.statistics(preds, [[gold] for gold in golds])
    got = metric.score(statistics.total(), statistics.columns)
    for name, value in reference(golds, preds, labels).items():
        assert got[name] == pytest.approx(value, abs=1e-12), name


@settings(max_examples=25, deadline=None)
@given(PAIRS, st.data())
def test_score_of_a_resample_equals_scikit_learn_on_that_resample(pairs, data):
    draws = data.draw(st.lists(st.integers(0, len(pairs) - 1), min_size=1, max_size=len(pairs)))
    statistics = Classification().statistics([pred for _, pred in pairs], [[gold] for gold, _ in pairs])
    sums = np.bincount(draws, minlength=len(pairs)) @ statistics.rows
    got = Classification().score(sums[None, None], statistics.columns)
    want = reference([pairs[i][0] for i in draws], [pairs[i][1] for i in draws])
    assert all(got[name] == pytest.approx(np.array([[value]]), abs=1e-12) for name, value in want.items())


def test_report_has_support_of_each_class():
    got = Classification().report(["a", "b", "b"], [["a"], ["a"], ["b"]])
    assert got["accuracy"] == pytest.approx(2 / 3)
    assert got["per_class"]["a"] == {"f1": pytest.approx(2 / 3), "precision": 1.0, "recall": 0.5, "support": 2}


def test_unseen_given_class_is_in_the_report():
    got = Classification(labels=("a", "c")).report(["a", "x"], [["a"], ["a"]])
    assert got["per_class"]["c"] == {"f1": 0.0, "precision": 0.0, "recall": 0.0, "support": 0}
    assert got["accuracy"] == 0.5


def test_gold_as_prediction_scores_one():
    statistics = Classification().statistics(["a", "b"], [["a"], ["b"]])
    values = Classification().score(statistics.total(), statistics.columns)
    assert all(value == 1.0 for value in values.values())
    assert tuple(values)[:2] == Classification().headline


def test_signature_lists_classes():
    assert Classification().signature() == "classification|labels:seen"
    assert Classification(labels=("b", "a")).signature() == "classification|labels:a,b"


def test_bad_input_is_refused():
    with pytest.raises(InvalidTypeError, match="prediction 0 is None"):
        Classification().statistics([None], [["a"]])
    with pytest.raises(InvalidInputError, match="example 0 has 2 references; expected exactly one"):
        Classification().statistics(["a"], [["a", "b"]])
    with pytest.raises(TypeError, match="bare string 'ab'"):
        Classification(labels="ab")
    with pytest.raises(ValueError, match="name a class twice"):
        Classification(labels=("a", "a"))
