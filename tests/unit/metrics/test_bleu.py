"""BLEU has sacrebleu's statistics, scores and signatures."""

import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from evalkit.errors import InvalidInputError, MissingResourceError
from evalkit.metrics.bleu import Bleu
from evalkit.metrics.sacrebleu_scorers import TOKENIZERS

PIECES = [
    "a", "the", "The", ".", ",", "-", "!", "(", "'s", "5", "3.", ".5", "10,000", "&quot;", "&amp;lt;", "<skipped>",
    "\n", "-\n", " ", "  ", "\t", "\u3000", "\u2003", "\x1c", "\x85", "\u2028", "好", "茶", "—", "…", "。", "Ａ", "𠀀",
    "€", "²", "½", "e\u0301", "é", "\x01", "x", "Σ",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=16).map("".join) | st.text(max_size=12)
PAIRS = st.lists(st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=4)), min_size=1, max_size=5)


def streams(references):
    most = max(map(len, references))
    return [[texts[index] if index < len(texts) else None for texts in references] for index in range(most)]


def official(predictions, references, **given_settings):
    """sacrebleu's rows, corpus score and signature."""
    scorer = BLEU(force=True, **given_settings)
    rows = scorer._extract_corpus_statistics(predictions, streams(references))
    return rows, scorer.corpus_score(predictions, streams(references)), scorer.get_signature().format()


def assert_official(predictions, references, **given_settings):
    metric = Bleu(**given_settings)
    rows, score, signature = official(predictions, references, **given_settings)
    statistics = metric.statistics(predictions, references)
    assert statistics.rows.tolist() == rows
    report = metric.report(predictions, references, statistics)
    assert report["score"] == pytest.approx(score.score, rel=1e-14)
    assert report["precisions"] == pytest.approx(score.precisions, rel=1e-14)
    assert report["bp"] == pytest.approx(score.bp, rel=1e-14)
    for name in ("counts", "totals", "sys_len", "ref_len"):
        assert report[name] == getattr(score, name)
    assert report["signature"] == signature


@pytest.mark.parametrize("tokenize", ["13a", "zh", "intl", "char", "none"])
@given(pairs=PAIRS, lowercase=st.booleans())
@settings(max_examples=60, deadline=None)
def test_any_text_has_sacrebleus_statistics(tokenize, pairs, lowercase):
    predictions, references = map(list, zip(*pairs, strict=True))
    assert_official(predictions, references, tokenize=tokenize, lowercase=lowercase)


@given(
    pairs=st.lists(
        st.tuples(st.text("ab ", max_size=14), st.lists(st.text("ab ", max_size=14), min_size=1)), min_size=1
    ),
    method=st.sampled_from(["exp", "floor", "add-k", "none"]),
    order=st.integers(1, 5),
    effective=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_any_smoothing_and_order_has_sacrebleus_score(pairs, method, order, effective):
    predictions, references = map(list, zip(*pairs, strict=True))
    assert_official(predictions, references, smooth_method=method, max_ngram_order=order, effective_order=effective)


@given(pairs=PAIRS)
@settings(max_examples=60, deadline=None)
def test_sentence_scores_are_sacrebleus_with_effective_order(pairs):
    predictions, references = map(list, zip(*pairs, strict=True))
    scorer = BLEU(effective_order=True)
    expected = [scorer.sentence_score(*pair).score for pair in zip(predictions, references, strict=True)]
    assert Bleu().sentence_scores(predictions, references).tolist() == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("value", [0.5, 2, 0])
@pytest.mark.parametrize("method", ["floor", "add-k"])
def test_a_smoothing_value_has_its_effect(method, value):
    predictions, references = ["the tin cup fell", "no"], [["the tin mug fell"], ["never"]]
    assert_official(predictions, references, smooth_method=method, smooth_value=value)


def test_the_score_is_sacrebleus_for_each_of_a_thousand_resamples():
    predictions = ["the tin cup fell", "no one saw it", "who", "a cup of tea", "the the the the the"]
    references = [["the tin mug fell"], ["nobody saw it fall"], ["who did"], ["a cup of tea"], ["the end"]]
    metric, scorer = Bleu(), BLEU()
    statistics = metric.statistics(predictions, references)
    counts = np.random.default_rng(3).multinomial(5, [0.2] * 5, size=1000)
    sums = counts @ statistics.rows
    scores = metric.score(sums, statistics.columns)["bleu"]
    assert scores.shape == (1000,)
    expected = [scorer._compute_score_from_stats(row.astype(int).tolist()).score for row in sums]
    assert scores.tolist() == pytest.approx(expected, rel=1e-14)


def test_columns_may_come_in_any_order():
    metric = Bleu()
    statistics = metric.statistics(["the tin cup fell down"], [["the tin cup fell over"]])
    order = list(reversed(range(len(statistics.columns))))
    columns = [statistics.columns[place] for place in order]
    shuffled = metric.score(statistics.total()[order], columns)
    assert shuffled["bleu"] == metric.score(statistics.total(), statistics.columns)["bleu"]


def test_a_perfect_score_is_not_clamped():
    text = "Every lamp in the narrow street was lit."
    assert Bleu().report([text], [[text]])["score"] == BLEU().corpus_score([text], [[text]]).score > 100


def test_large_corpora_in_blocks_have_the_rows_of_single_examples():
    source = np.random.default_rng(0)
    words = [f"w{number}" for number in range(3000)]
    texts = [" ".join(source.choice(words, size=source.integers(0, 40))) for _ in range(2000)]
    predictions, references = texts[:1000], [[text, text[:40]] for text in texts[1000:]]
    references[::7] = [[text[5:]] for text in predictions[::7]]
    rows = Bleu().statistics(predictions, references).rows
    scorer = BLEU()
    for index in range(0, 1000, 49):
        expected = scorer._extract_corpus_statistics([predictions[index]], [[text] for text in references[index]])
        assert rows[index].tolist() == expected[0]


@pytest.mark.parametrize(
    ("language", "tokenizer"),
    [(None, "13a"), ("de", "13a"), ("zh", "zh"), ("zh-TW", "zh"), ("ja", "ja-mecab"), ("ko", "ko-mecab")],
)
def test_the_language_picks_sacrebleus_tokenizer(language, tokenizer):
    assert Bleu(language=language).tokenizer == tokenizer
    assert Bleu(language=language, tokenize="char").tokenizer == "char"


def test_a_language_that_is_no_code_is_refused_before_any_text_is_read():
    with pytest.raises(InvalidInputError, match="did you mean 'zh'"):
        Bleu(language="Chinese")


@pytest.mark.parametrize(
    ("tokenize", "text", "is_warned"),
    [
        ("13a", "今天天气很好", True),
        ("none", "今天天气很好，我们去公园。", True),
        ("intl", "今日は天気がいい。", True),
        ("zh", "今天天气很好", False),
        ("char", "今天天气很好", False),
        ("13a", "今天 天气 很 好 ， 我们 去 公园 。", False),
        ("13a", "The word 今天天气很好 means fine weather", False),
        ("13a", "날씨가 좋습니다", False),
        ("13a", "plain text", False),
    ],
)
def test_a_tokenizer_that_leaves_sentences_whole_is_warned_about(tokenize, text, is_warned):
    warnings = Bleu(tokenize=tokenize).warnings([text, ""], [[text], [text]])
    assert [f"tokenizer {tokenize!r} leaves" in warning for warning in warnings] == [True] * is_warned


def test_the_tokenizers_are_those_that_sacrebleu_has():
    assert sorted(BLEU.TOKENIZERS) == sorted(TOKENIZERS)


def test_a_tokenizer_without_its_model_or_package_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr("sacrebleu.utils.SACREBLEU_DIR", str(tmp_path))
    for name in ("spm", "flores101", "flores200", "spBLEU-1K"):
        with pytest.raises(MissingResourceError, match=r"sentencepiece|model file") as caught:
            Bleu(tokenize=name).statistics(["a"], [["a"]])
        assert name in str(caught.value)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for language in ("ja", "ko"):
        with pytest.raises(MissingResourceError, match=rf"evalkit\[{language}\]"):
            Bleu(language=language).statistics(["a"], [["a"]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tokenize": "13b"}, "unknown tokenizer '13b'; did you mean '13a'"),
        ({"tokenize": ""}, "unknown tokenizer ''"),
        ({"smooth_method": "addk"}, "did you mean 'add-k'"),
        ({"smooth_value": 0.5}, "has no effect with smooth_method 'exp'"),
        ({"smooth_method": "floor", "smooth_value": -1}, "smooth_value -1"),
        ({"smooth_method": "floor", "smooth_value": float("nan")}, "smooth_value nan"),
        ({"max_ngram_order": 0}, "max_ngram_order 0"),
        ({"max_ngram_order": 2.5}, "max_ngram_order 2.5"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message.replace("[", r"\[")):
        Bleu(**settings)


def test_the_signature_is_sacrebleus_and_counts_references():
    references = {"nrefs:1": [["a"], ["b"]], "nrefs:2": [["a", "b"]], "nrefs:var": [["a"], ["a", "b"]]}
    for count, refs in references.items():
        signature = Bleu(smooth_method="floor", tokenize="zh").signature(refs)
        assert signature == official(["a"] * len(refs), refs, smooth_method="floor", tokenize="zh")[2]
        assert signature.startswith(count)
    assert Bleu().signature().startswith("case:mixed|eff:no|tok:13a|smooth:exp|version:")


def test_the_signature_tells_settings_apart_that_sacrebleus_does_not():
    settings = [{}, {"max_ngram_order": 2}, {"smooth_method": "floor"}]
    settings += [{"smooth_method": "floor", "smooth_value": value} for value in (0.101, 0.102)]
    assert len({Bleu(**chosen).signature([["a"]]) for chosen in settings}) == len(settings)


def test_nothing_is_logged_about_tokenized_periods(caplog):
    with caplog.at_level(logging.WARNING):
        Bleu().statistics(["done ."] * 120, [["done ."]] * 120)
    assert not caplog.records
