"""SQuAD 1.1 and 2.0 against straightforward versions of their definitions."""

import math
import re
import string
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InvalidInputError
from evalkit.metrics.squad import SquadV1, SquadV2
from evalkit.requests import Answer

PIECES = ["a", "an", "the", "The", "net", "nets", " ", "  ", "\u00a0", "\x00", "\x1e", "\n", "-", "_", ".", "'", "“", "’",
          "灯", "塔", "é", "e\u0301", "İ", "٣", "²", "7"]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=7).map("".join) | st.text(max_size=5)
QUESTIONS = st.lists(st.tuples(TEXTS, st.lists(TEXTS, max_size=3)), min_size=1, max_size=6)


def naive_words(text):
    kept = "".join(character for character in text.lower() if character not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", kept).split()


def naive_f1(left, right):
    shared = sum((Counter(left) & Counter(right)).values())
    return 2 * shared / (len(left) + len(right)) if shared else 0.0


def naive_v2(text, several, probability, threshold):
    golds = [words for words in map(naive_words, several) if words] or [[]]
    words = naive_words(text)
    if probability > threshold:
        return (0.0, 0.0) if several else (1.0, 1.0)
    return max(float(words == gold) for gold in golds), max(
        naive_f1(words, gold) if words or gold else 1.0 for gold in golds
    )


@settings(deadline=None)
@given(questions=QUESTIONS)
def test_squad_v1_equals_a_naive_version(questions):
    questions = [(text, several or [text]) for text, several in questions]
    rows = SquadV1().statistics(*zip(*questions, strict=True)).rows
    for (text, several), row in zip(questions, rows, strict=True):
        words = naive_words(text)
        assert row[0] == max(words == naive_words(reference) for reference in several)
        assert row[1] == pytest.approx(max(naive_f1(words, naive_words(reference)) for reference in several))


@settings(deadline=None)
@given(questions=QUESTIONS, threshold=st.sampled_from([0.0, 0.4, 1.0]), data=st.data())
def test_squad_v2_equals_a_naive_version(questions, threshold, data):
    count = len(questions)
    probabilities = data.draw(st.lists(st.sampled_from([0.0, 0.4, 0.5, 1.0]), min_size=count, max_size=count))
    predictions = [Answer(text, p) for (text, _), p in zip(questions, probabilities, strict=True)]
    references = [several for _, several in questions]
    got = SquadV2(no_answer_threshold=threshold).report(predictions, references)
    want = [naive_v2(text, several, p, threshold) for (text, several), p in zip(questions, probabilities, strict=True)]
    for prefix, chosen in (
        ("", want),
        ("HasAns_", [pair for pair, several in zip(want, references, strict=True) if several]),
        ("NoAns_", [pair for pair, several in zip(want, references, strict=True) if not several]),
    ):
        assert got.get(f"{prefix}total", 0) == len(chosen)
        if chosen:
            assert got[f"{prefix}exact"] == pytest.approx(100 * sum(exact for exact, _ in chosen) / len(chosen))
            assert got[f"{prefix}f1"] == pytest.approx(100 * sum(f1 for _, f1 in chosen) / len(chosen))


@settings(deadline=None)
@given(questions=QUESTIONS, data=st.data())
def test_best_threshold_is_the_best_of_all_thresholds_where_no_probabilities_tie(questions, data):
    # Empty answers to unanswerable questions cost nothing either way, so every cut can be tried by hand.
    order = data.draw(st.permutations(range(len(questions))))
    probabilities = [(place + 1) / 10 for place in order]
    predictions = [Answer(text, p) for (text, _), p in zip(questions, probabilities, strict=True)]
    references = [several for _, several in questions]
    raw = [naive_v2(text, several, 0.0, 1.0) for text, several in questions]
    got = SquadV2().report(predictions, references)
    for name, place in (("exact", 0), ("f1", 1)):
        totals = {
            cut: sum(
                (scores[place] if several else float(not text)) if p <= cut else float(not several)
                for (text, several), p, scores in zip(questions, probabilities, raw, strict=True)
            )
            for cut in (0.0, *sorted(probabilities))
        }
        assert got[f"best_{name}"] == pytest.approx(100 * max(totals.values()) / len(questions))
        assert totals[got[f"best_{name}_thresh"]] == pytest.approx(max(totals.values()))


@pytest.mark.parametrize(
    ("prediction", "reference", "exact_match", "f1"),
    [
        ("The York-based A-Team", "yorkbased ateam", 100, 100),
        ("3.14", "314", 100, 100),
        ("a cat sat", "the cat", 0, 200 / 3),
        ("the", "a", 100, 0),
        ("“cat”", "cat", 0, 0),
    ],
)
def test_squad_v1_normalisation(prediction, reference, exact_match, f1):
    assert SquadV1().report([prediction], [[reference]]) == pytest.approx({"exact_match": exact_match, "f1": f1})


def test_squad_v2_gives_nan_for_a_sort_without_questions():
    statistics = SquadV2().statistics(["net"], [["net"]])
    values = SquadV2().score(statistics.total(), statistics.columns)
    assert values["has_answer_f1"] == 100
    assert math.isnan(values["no_answer_exact_match"])
    assert math.isnan(values["no_answer_f1"])


def test_squad_v2_names_the_first_missing_predictions():
    with pytest.raises(
        InvalidInputError, match=r"7 of 8 questions have no prediction \(examples 1, 2, 3, 4, 5, \.\.\.\)"
    ):
        SquadV2().statistics(["net"] + [None] * 7, [["net"]] * 8)


def test_squad_v2_refuses_probabilities_for_some_predictions_only():
    with pytest.raises(InvalidInputError, match="1 of 2 predictions have a no-answer probability"):
        SquadV2().statistics([Answer("net", 0.5), "net"], [["net"], []])


@pytest.mark.parametrize("probability", [-0.1, 1.1, math.nan])
def test_squad_v2_refuses_what_is_no_probability(probability):
    with pytest.raises(InvalidInputError, match="is not from 0 to 1"):
        SquadV2().statistics([Answer("net", probability)], [["net"]])
    with pytest.raises(InvalidInputError, match="expected a probability from 0 to 1"):
        SquadV2(no_answer_threshold=probability)


def test_threshold_is_part_of_the_signature():
    assert SquadV2().signature() != SquadV2(no_answer_threshold=0.5).signature()
