import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score

from evalkit.errors import InvalidInputError, InvalidTypeError
from evalkit.metrics.token_accuracy import TokenAccuracy


@given(st.lists(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), max_size=6), min_size=1, max_size=4))
def test_accuracy_equals_scikit_learn_on_kept_tokens(corpus):
    golds = [[gold for gold, _ in pairs] for pairs in corpus]
    preds = [[pred for _, pred in pairs] for pairs in corpus]
    got = TokenAccuracy(ignore=(-2,)).report(preds, [[gold] for gold in golds])
    kept = [pair for pairs in corpus for pair in pairs if pair[0] != -2]
    want = accuracy_score(*zip(*kept, strict=True)) if kept else 0.0
    assert got["accuracy"] == pytest.approx(want)
    assert got["total"] == len(kept)


def test_accuracy_is_over_tokens_not_over_sentences():
    got = TokenAccuracy().report([["A", "B", "B"], ["B"]], [[["A", "B", "B"]], [["A"]]])
    assert got == {"accuracy": 0.75, "sentence_accuracy": 0.5, "correct": 3, "total": 4}


def test_sentences_without_a_kept_token_do_not_count():
    got = TokenAccuracy(ignore=("O",)).report([["O", "A"], ["A"]], [[["O", "A"]], [["O"]]])
    assert got["sentence_accuracy"] == 1.0


def test_everything_ignored_scores_zero_of_zero():
    got = TokenAccuracy(ignore=(-100,)).report([[1, 2]], [[[-100, -100]]])
    assert got == {"accuracy": 0.0, "sentence_accuracy": 0.0, "correct": 0, "total": 0}


def test_gold_as_prediction_scores_one():
    assert TokenAccuracy().report([["名词", "动词"]], [[["名词", "动词"]]])["accuracy"] == 1.0


def test_signature_lists_ignored_labels():
    assert TokenAccuracy().signature() == "token_accuracy|ignore:none"
    assert TokenAccuracy(ignore=(-100, "O")).signature() == "token_accuracy|ignore:-100,O"


def test_bad_input_is_refused():
    with pytest.raises(
        InvalidInputError, match="example 0: the numbers of labels differ, 3 predicted and 2 in the reference"
    ):
        TokenAccuracy().statistics([[1, 2, 3]], [[[1, 2]]])
    with pytest.raises(InvalidTypeError, match=r"label 1\.5 is neither"):
        TokenAccuracy().statistics([[1.5]], [[[1]]])
    with pytest.raises(InvalidTypeError, match="prediction 0 is 'NN'"):
        TokenAccuracy().statistics(["NN"], [[["NN"]]])
    with pytest.raises(TypeError, match="bare string 'O'"):
        TokenAccuracy(ignore="O")
