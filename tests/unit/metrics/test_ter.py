"""TER has sacrebleu's statistics, scores and signatures."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import TER
from sacrebleu.metrics.lib_ter import translation_edit_rate

from evalkit.metrics import shift_edits
from evalkit.metrics.shift_edits import fewest_edits
from evalkit.metrics.ter import Ter

WORDS = [f"w{number}" for number in range(60)]
PIECES = [
    "a",
    "the",
    "The",
    ".",
    ",",
    "-",
    "'s",
    "5.5",
    "&quot;",
    " ",
    "  ",
    "\n",
    "\u3000",
    "好",
    "茶。",
    "，",
    "カナ",
    "\x85",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=10)
PAIRS = st.lists(st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=3)), min_size=1, max_size=4)
SENTENCE = st.lists(st.sampled_from("abcdef"), max_size=9)


def streams(references):
    most = max(map(len, references))
    return [[texts[index] if index < len(texts) else None for texts in references] for index in range(most)]


def disturbed(words, source, times):
    """The words with phrases moved, dropped, replaced and added."""
    changed = list(words)
    for _ in range(times):
        start = source.randrange(len(changed) + 1)
        phrase = changed[start : start + source.randint(1, 12)]
        action = source.random()
        if action < 0.6:
            del changed[start : start + len(phrase)]
            target = source.randrange(len(changed) + 1)
            changed[target:target] = phrase
        elif action < 0.8:
            del changed[start : start + 1]
        else:
            changed[start : start + source.randint(0, 1)] = source.choices(WORDS)
    return changed


@given(
    pairs=PAIRS,
    chosen=st.fixed_dictionaries(
        {name: st.booleans() for name in ("normalized", "no_punct", "asian_support", "case_sensitive")}
    ),
)
@settings(max_examples=100, deadline=None)
def test_any_text_has_sacrebleus_statistics_and_score(pairs, chosen):
    predictions, references = map(list, zip(*pairs, strict=True))
    metric, scorer = Ter(**chosen), TER(**chosen)
    statistics = metric.statistics(predictions, references)
    assert statistics.rows.tolist() == scorer._extract_corpus_statistics(predictions, streams(references))
    report = metric.report(predictions, references, statistics)
    score = scorer.corpus_score(predictions, streams(references))
    assert report["score"] == pytest.approx(score.score, rel=1e-14)
    assert report["num_edits"] == score.num_edits
    assert report["ref_length"] == pytest.approx(score.ref_length, rel=1e-14)
    assert report["signature"] == scorer.get_signature().format()
    sentences = [scorer.sentence_score(*pair).score for pair in zip(predictions, references, strict=True)]
    assert metric.sentence_scores(predictions, references).tolist() == sentences


def test_references_are_tokenized_twice_as_in_sacrebleu():
    text = "it's."
    rows = Ter(normalized=True).statistics([text], [[text]]).rows.tolist()
    assert rows == TER(normalized=True)._extract_corpus_statistics([text], [[text]])
    assert rows[0][0] > 0, "an identical text needs edits, since the reference falls into more tokens"


@given(hypothesis=SENTENCE, reference=SENTENCE)
@settings(max_examples=200, deadline=None)
def test_any_words_need_sacrebleus_number_of_edits(hypothesis, reference):
    assert fewest_edits(hypothesis, [reference]) == translation_edit_rate(hypothesis, reference)[0]


@pytest.mark.parametrize("seed", range(12))
def test_sentences_with_moved_phrases_need_sacrebleus_number_of_edits(seed):
    source = random.Random(seed)
    vocabulary = WORDS[: source.choice((4, 15, 60))]
    reference = source.choices(vocabulary, k=source.choice((12, 20, 28)))
    hypothesis = disturbed(reference, source, times=source.randint(1, 6))
    assert fewest_edits(hypothesis, [reference]) == translation_edit_rate(hypothesis, reference)[0]


LONG = [*WORDS, *(f"x{number}" for number in range(10))]
BEAM = [
    (["only", "three", "words"], ["only", *WORDS, "three", "words", *WORDS]),
    (LONG[60:], LONG),
    (LONG[:10], LONG),
    ([*LONG[45:50], *LONG[5:8], "x"], LONG),
]
"""Pairs whose best alignment leaves the beam around the diagonal."""


@pytest.mark.parametrize(("hypothesis", "reference"), BEAM)
def test_alignments_outside_the_beam_are_those_of_sacrebleu(hypothesis, reference, monkeypatch):
    searched = []
    search = shift_edits._beam_search
    monkeypatch.setattr(shift_edits, "_beam_search", lambda *texts: searched.append(texts) or search(*texts))
    assert fewest_edits(hypothesis, [reference]) == translation_edit_rate(hypothesis, reference)[0]
    assert searched, "the pair does not need the beam"


def test_the_search_for_moves_breaks_off_where_sacrebleus_does():
    hypothesis, reference = ["to", "and", "fro"] * 13, ["fro", "to", "and", "to"] * 10
    assert fewest_edits(hypothesis, [reference]) == translation_edit_rate(hypothesis, reference)[0]


def test_more_words_than_two_bytes_can_number_stay_apart():
    hypothesis = [f"h{number}" for number in range(56_000)]
    assert fewest_edits(hypothesis, [hypothesis[:-1], hypothesis[::2]]) == 1


def test_edits_are_to_the_nearest_reference_and_lengths_the_mean():
    statistics = Ter().statistics(["a b c"], [["a b", "a b c d e f", "x"]])
    assert statistics.columns == ("edits", "ref_length")
    assert statistics.rows.tolist() == [[1, 3]]


@pytest.mark.parametrize(
    ("prediction", "reference", "value"), [("", "", 0), ("a b", "", 100), ("", "a b", 100), ("a b c", "x", 300)]
)
def test_empty_texts_score_as_in_sacrebleu(prediction, reference, value):
    assert Ter().report([prediction], [[reference]])["score"] == value
    assert TER().corpus_score([prediction], [[reference]]).score == value


def test_lower_is_better_and_the_value_is_a_ratio():
    metric = Ter()
    assert not metric.higher_is_better
    assert metric.range == (0.0, None)
    statistics = metric.statistics(["a b", "c"], [["a c"], ["c d"]])
    ratio = metric.ratios(statistics.columns)["ter"].value(statistics.total(), statistics.columns)
    assert ratio == metric.score(statistics.total(), statistics.columns)["ter"] == 50


def test_the_signature_is_sacrebleus():
    scorer = TER(normalized=True, no_punct=True)
    scorer.corpus_score(["a", "b"], [["a", "b"], ["c", None]])
    references = [["a", "c"], ["b"]]
    assert Ter(normalized=True, no_punct=True).signature(references) == scorer.get_signature().format()
    assert Ter().signature().startswith("case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:")
