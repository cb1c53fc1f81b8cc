import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nervaluate.evaluator import Evaluator

from evalkit.errors import InvalidInputError, InvalidTypeError
from evalkit.metrics.nervaluate import OUTCOMES, STRATEGIES, Nervaluate

LABELS = ["A", "B", "人名"]


@st.composite
def entities(draw):
    start = draw(st.integers(0, 12))
    return {"label": draw(st.sampled_from(LABELS)), "start": start, "end": start + draw(st.integers(0, 5))}


@st.composite
def corpora(draw):
    """Gold and predicted entities of a few examples, the predictions near the gold ones or free."""
    golds, preds = [], []
    for _ in range(draw(st.integers(1, 4))):
        gold = draw(st.lists(entities(), max_size=4))
        near = [{**entity, "end": entity["end"] + draw(st.integers(0, 2))} for entity in gold]
        kept = draw(st.lists(st.sampled_from(near), max_size=4)) if near else []
        golds.append(gold)
        preds.append(kept + draw(st.lists(entities(), max_size=2)))
    return golds, preds


def reference_report(golds, preds, labels, loader, least=1.0):
    result = Evaluator(golds, preds, tags=labels, loader=loader, min_overlap_percentage=least).evaluate()
    fields = (*OUTCOMES, "possible", "actual", "precision", "recall", "f1")

    def table(by_strategy):
        return {strategy: {field: getattr(by_strategy[strategy], field) for field in fields} for strategy in STRATEGIES}

    return {
        "overall": table(result["overall"]),
        "per_type": {label: table(by_strategy) for label, by_strategy in result["entities"].items()},
    }


def assert_same(got, want):
    assert got.keys() == want.keys()
    for name, value in want.items():
        if isinstance(value, dict):
            assert_same(got[name], value)
        else:
            assert got[name] == pytest.approx(value, abs=1e-12), name


@settings(max_examples=40, deadline=None)
@given(corpora(), st.sampled_from([1.0, 33.4, 50.0, 58.0, 100.0]))
def test_entities_equal_nervaluate(corpus, least):
    golds, preds = corpus
    got = Nervaluate(min_overlap_percentage=least).report(preds, [[gold] for gold in golds])
    assert_same(got, reference_report(golds, preds, LABELS, "dict", least))


@settings(max_examples=40, deadline=None)
@given(corpora())
def test_other_labels_are_dropped(corpus):
    golds, preds = corpus
    got = Nervaluate(labels=("A", "C")).report(preds, [[gold] for gold in golds])
    assert_same(got, reference_report(golds, preds, ["A", "C"], "dict"))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_tags_equal_nervaluate(data):
    tag = st.sampled_from(["O", "O", "B-A", "I-A", "B-B", "I-B"])
    golds = [data.draw(st.lists(tag, max_size=8)) for _ in range(data.draw(st.integers(1, 3)))]
    preds = [[data.draw(st.one_of(st.just(gold), tag)) for gold in golds_of] for golds_of in golds]
    got = Nervaluate().report(preds, [[gold] for gold in golds])
    assert_same(got, reference_report(golds, preds, ["A", "B"], "list"))


def test_gold_as_prediction_scores_one():
    gold = [{"label": "A", "start": 0, "end": 3}, {"label": "B", "start": 5, "end": 5}]
    statistics = Nervaluate().statistics([gold], [[gold]])
    values = Nervaluate().score(statistics.total(), statistics.columns)
    assert all(value == 1.0 for value in values.values())
    assert tuple(values)[:4] == ("strict_f1", "exact_f1", "partial_f1", "ent_type_f1")


@settings(max_examples=40, deadline=None)
@given(corpora())
def test_rows_do_not_depend_on_other_examples(corpus):
    golds, preds = corpus
    whole = Nervaluate().statistics(preds, [[gold] for gold in golds])
    alone = Nervaluate().statistics(preds[-1:], [[golds[-1]]])
    row = dict(zip(whole.columns, whole.rows[-1], strict=True))
    assert all(row[name] == value for name, value in zip(alone.columns, alone.rows[0], strict=True))


def test_one_gold_entity_is_used_up_once():
    gold = [{"label": "A", "start": 0, "end": 9}]
    pred = [{"label": "A", "start": 0, "end": 4}, {"label": "A", "start": 6, "end": 9}]
    overall = Nervaluate().report([pred], [[gold]])["overall"]
    assert overall["partial"]["partial"] == 1
    assert overall["partial"]["spurious"] == 1


def test_half_credit_goes_to_a_partial_overlap():
    got = Nervaluate().report([[{"label": "A", "start": 1, "end": 4}]], [[[{"label": "A", "start": 0, "end": 4}]]])
    assert got["overall"]["partial"]["f1"] == 0.5
    assert got["overall"]["strict"]["f1"] == 0.0
    assert got["overall"]["ent_type"]["f1"] == 1.0


@pytest.mark.parametrize(
    ("prediction", "error", "message"),
    [
        ([{"label": "A", "start": 4, "end": 2}], InvalidInputError, "ends at 2, before its start 4"),
        ([{"label": "A", "start": 4}], InvalidInputError, "lacks end"),
        ([{"label": "A", "start": "4", "end": 5}], InvalidTypeError, "whole numbers"),
        ([(0, 1, "A")], InvalidTypeError, "not an entity"),
        (["B-A", "E-A"], InvalidInputError, "tag 'E-A' is not an IOB tag"),
        ("B-A", InvalidTypeError, "expected a list of entities or tags"),
        (None, InvalidTypeError, "prediction 0 is None"),
    ],
)
def test_bad_predictions_are_refused(prediction, error, message):
    with pytest.raises(error, match=message):
        Nervaluate().statistics([prediction], [[[{"label": "A", "start": 2, "end": 4}]]])


def test_tag_sequences_of_different_length_are_refused():
    with pytest.raises(ValueError, match="example 1: the numbers of tags differ, 2 predicted and 1 in the reference"):
        Nervaluate().statistics([["O"], ["O", "O"]], [[["O"]], [["O"]]])


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="expected a number from 1 to 100"):
        Nervaluate(min_overlap_percentage=0.5)
    with pytest.raises(TypeError, match="bare string 'PER'"):
        Nervaluate(labels="PER")


def test_signature_names_labels_and_overlap():
    assert Nervaluate().signature() == "nervaluate|labels:all|min_overlap:1"
    assert (
        Nervaluate(labels=("B", "A"), min_overlap_percentage=50).signature() == "nervaluate|labels:A,B|min_overlap:50"
    )
