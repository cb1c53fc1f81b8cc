import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from evalkit.metrics import porter

NLTK = PorterStemmer()
ENDS = (
    "s es ies ied sses ss ed eed ing y ll e ational tional enci anci izer bli alli entli eli ousli fulli ization ation ator"
    " alism iveness fulness ousness aliti iviti biliti logi icate ative alize iciti ical ful ness al ance ence er ic able ible"
    " ant ement ment ent ion sion tion ou ism ate iti ous ive ize at bl iz pp zz"
)
PARTS = st.sampled_from([*ENDS.split(" "), "", "*d", "ß", "'", "4"])
WORDS = st.builds(
    lambda start, *ends: start + "".join(ends), st.text(alphabet="aeiouyybcdlstz", max_size=6), PARTS, PARTS
)
# Words of Porter's paper and of nltk's departures from it.
PAPER = (
    "caresses ponies ties caress cats feed agreed plastered bled motoring sing conflated troubled sized hopping tanned falling"
    " hissing fizzed failing filing happy sky relational conditional rational valenci hesitanci digitizer conformabli radicalli"
    " differentli vileli analogousli vietnamization predication operator feudalism decisiveness hopefulness callousness"
    " formaliti sensitiviti sensibiliti triplicate formative formalize electriciti electrical hopeful goodness revival allowance"
    " inference airliner gyroscopic adjustable defensible irritant replacement adjustment dependent adoption homologou"
    " communism activate angulariti homologous effective bowdlerize probate rate cease controll roll dies died flies spied"
    " enjoy fly spy geologi theologi skies dying news innings howe proceed exceed oed aing at by a"
)


@pytest.mark.parametrize("word", PAPER.split(" "))
def test_the_words_of_the_paper_have_the_stems_of_nltk(word):
    assert porter.stem(word) == NLTK.stem(word)


@settings(max_examples=500, deadline=None)
@given(WORDS)
def test_made_up_words_have_the_stems_of_nltk(word):
    assert porter.stem(word) == NLTK.stem(word)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=8))
def test_any_text_has_the_stem_of_nltk(text):
    assert porter.stem(text) == NLTK.stem(text)


def test_every_word_of_wordnet_has_the_stem_of_nltk(nltk_wordnet):
    words = sorted(nltk_wordnet.all_lemma_names(pos="v"))
    assert [word for word in words if porter.stem(word) != NLTK.stem(word)] == []


def test_a_stem_is_never_empty_and_a_long_run_of_y_is_no_trouble():
    assert all(porter.stem(end) for end in ENDS.split(" "))
    assert porter.stem("y" * 50_000) == NLTK.stem("y" * 50_000)


def test_the_table_computes_each_stem_once_and_stays_bounded(monkeypatch):
    computed = []
    monkeypatch.setattr(porter, "_MOST_STEMS", 2)
    monkeypatch.setattr(porter, "stem", lambda word: computed.append(word) or word[:1])
    table = porter.Stems()
    assert [table[word] for word in ("ab", "ab", "cd", "ef", "ef")] == ["a", "a", "c", "e", "e"]
    assert computed == ["ab", "cd", "ef"]
    assert len(table) == 1


def test_all_metrics_share_one_table():
    assert porter.porter_stems() is porter.porter_stems()
