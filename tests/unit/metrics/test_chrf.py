"""chrF and chrF++ have sacrebleu's statistics, scores and signatures."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import CHRF

from evalkit.metrics.chrf import Chrf, ChrfPlusPlus

PIECES = [
    "a", "b", "The", ".", ",", "(hi)", "?!", "'s", "10,000", " ", "  ", "\n", "\t", "\u3000", "\x1c", "\x85", "好", "茶",
    "—", "…", "。", "𠀀", "é", "e\u0301", "½", "\x01", "Σ",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text(max_size=12)
PAIRS = st.lists(st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=4)), min_size=1, max_size=5)
SETTINGS = st.fixed_dictionaries(
    {
        "char_order": st.sampled_from([6, 6, 1, 3, 9]),
        "word_order": st.integers(0, 3),
        "beta": st.sampled_from([2, 1, 3, 0.5]),
        "lowercase": st.booleans(),
        "whitespace": st.booleans(),
        "eps_smoothing": st.booleans(),
    }
)


def streams(references):
    most = max(map(len, references))
    return [[texts[index] if index < len(texts) else None for texts in references] for index in range(most)]


@given(pairs=PAIRS, chosen=SETTINGS)
@settings(max_examples=100, deadline=None)
def test_any_text_has_sacrebleus_statistics_and_scores(pairs, chosen):
    predictions, references = map(list, zip(*pairs, strict=True))
    metric, scorer = Chrf(**chosen), CHRF(**chosen)
    statistics = metric.statistics(predictions, references)
    assert statistics.rows.tolist() == scorer._extract_corpus_statistics(predictions, streams(references))
    report = metric.report(predictions, references, statistics)
    assert report["score"] == scorer.corpus_score(predictions, streams(references)).score
    assert report["signature"] == scorer.get_signature().format()
    sentences = [scorer.sentence_score(*pair).score for pair in zip(predictions, references, strict=True)]
    assert metric.sentence_scores(predictions, references).tolist() == sentences


def test_characters_beyond_unicode_text_are_counted_too():
    text = "half of a pair: \ud83d and on"
    assert Chrf().report([text], [[text]])["score"] == CHRF().corpus_score([text], [[text]]).score == 100


def test_wide_alphabets_need_more_than_one_integer_and_are_still_exact():
    source = np.random.default_rng(1)
    texts = ["".join(map(chr, source.integers(0x4E00, 0x9FA5, size=40))) for _ in range(400)]
    predictions = texts[:200]
    references = [[text[:20] + other[20:], other] for text, other in zip(predictions, texts[200:], strict=True)]
    expected = CHRF(char_order=9, word_order=2)._extract_corpus_statistics(predictions, streams(references))
    assert Chrf(char_order=9, word_order=2).statistics(predictions, references).rows.tolist() == expected


def test_the_score_is_sacrebleus_for_each_of_a_thousand_resamples():
    predictions = ["the tin cup fell", "no", "", "tea with milk", "zzz"]
    references = [["the tin mug fell"], ["nobody"], ["who"], ["tea with milk"], ["milk"]]
    for metric, scorer in (
        (Chrf(), CHRF()),
        (ChrfPlusPlus(eps_smoothing=True), CHRF(word_order=2, eps_smoothing=True)),
    ):
        statistics = metric.statistics(predictions, references)
        sums = np.random.default_rng(3).multinomial(5, [0.2] * 5, size=1000) @ statistics.rows
        scores = metric.score(sums, statistics.columns)[metric.name]
        assert scores.shape == (1000,)
        assert scores.tolist() == [scorer._compute_f_score(row.astype(int).tolist()) for row in sums]


def test_chrf_plus_plus_is_chrf_with_word_pairs():
    predictions, references = ["(yes) the tin cup"], [["the tin cup, yes"]]
    value = ChrfPlusPlus().report(predictions, references)
    assert value == Chrf(word_order=2).report(predictions, references)
    assert value["score"] == CHRF(word_order=2).corpus_score(predictions, [references[0]]).score
    assert ChrfPlusPlus().headline == ("chrf++",)


def test_of_equally_good_references_the_first_is_counted():
    (row,) = Chrf(char_order=1).statistics(["xyz"], [["abc", "defghi"]]).rows
    assert row.tolist() == [3, 3, 0]


def test_forty_five_references_are_one_example():
    references = [[f"a cup of tea number {number}" for number in range(45)]]
    metric, scorer = ChrfPlusPlus(), CHRF(word_order=2)
    rows = metric.statistics(["a cup of tea number 17 or 18"], references).rows
    expected = scorer._extract_corpus_statistics(["a cup of tea number 17 or 18"], streams(references))
    assert rows.tolist() == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"char_order": 0}, "char_order 0: expected an integer of 1 or more"),
        ({"char_order": 2.5}, "char_order 2.5"),
        ({"word_order": -1}, "word_order -1: expected an integer of 0 or more"),
        ({"beta": 0}, "beta 0: expected a number above 0"),
        ({"beta": -2}, "beta -2"),
        ({"beta": float("inf")}, "beta inf"),
        ({"beta": float("nan")}, "beta nan"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Chrf(**settings)


def test_the_signature_is_sacrebleus_and_tells_beta_too():
    scorer = CHRF(word_order=2, lowercase=True)
    scorer.corpus_score(["a"], [["a"], ["b"]])
    assert Chrf(word_order=2, lowercase=True).signature([["a", "b"]]) == scorer.get_signature().format()
    assert ChrfPlusPlus().signature([["a"]]) == Chrf(word_order=2).signature([["a"]])
    assert "|beta:3|" in Chrf(beta=3).signature([["a"]])
    assert Chrf().signature().startswith("case:mixed|eff:yes|nc:6|nw:0|space:no|version:")
