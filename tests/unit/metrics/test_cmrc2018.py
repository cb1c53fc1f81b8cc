"""CMRC 2018 against a straightforward version, and what needs nltk's sentence model and what does not."""

import nltk
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.tokenize.punkt import PunktLanguageVars, PunktSentenceTokenizer

from evalkit import punkt
from evalkit.errors import MissingResourceError
from evalkit.metrics import cmrc2018
from evalkit.metrics.cmrc2018 import Cmrc2018, longest_common_run, tokenize

MARKS = list("-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』")
ENDS = [". ", "? ", "!", "?", ".", ".)", '."', "...", ".\n", "!?", ". A", ". \x1c"]
PIECES = ["灯", "塔", "龥", "龦", "net", "ab", "can't", "cannot", "3.5", "3,5", "12", "%", "‘", "…", "(", ")", '"', "'", "''",
          "--", " ", "\u3000", "\n", "\x1c", ":", "é", "𠮷", "٣", "e.g", "u.s.a", *MARKS]  # fmt: skip
CALM = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
WILD = st.lists(st.sampled_from(PIECES + ENDS * 4), max_size=8).map("".join) | st.text("ab .?!)\"'”»:;1,\n", max_size=9)


@pytest.fixture
def no_sentence_model(monkeypatch):
    def word_tokenize(text):
        raise MissingResourceError("no sentence model")

    monkeypatch.setattr(punkt, "word_tokenize", word_tokenize)


@pytest.fixture(scope="module")
def sentence_model():
    try:
        punkt.require_punkt()
    except MissingResourceError as error:
        pytest.skip(str(error))


def naive_tokens(text, words):
    tokens, pending = [], ""
    for character in text.lower().strip():
        if character in MARKS:
            continue
        if "\u4e00" <= character <= "\u9fa5":
            tokens += [*words(pending), character] if pending else [character]
            pending = ""
        else:
            pending += character
    return tokens + (words(pending) if pending else [])


def naive_score(prediction, reference, words):
    left, right = naive_tokens(prediction, words), naive_tokens(reference, words)
    runs = {tuple(left[a:b]) for a in range(len(left)) for b in range(a + 1, len(left) + 1)}
    shared = max(
        (b - a for a in range(len(right)) for b in range(a + 1, len(right) + 1) if tuple(right[a:b]) in runs), default=0
    )

    def bare(text):
        return [character for character in text.lower().strip() if character not in MARKS]

    return float(bare(prediction) == bare(reference)), 2 * shared / (len(left) + len(right)) if shared else 0.0


def one_sentence(text):
    # With an untrained sentence model, nltk's splitter keeps what no model would split; the words do not depend on it.
    return [
        word
        for part in PunktSentenceTokenizer().tokenize(text)
        for word in nltk.word_tokenize(part, preserve_line=True)
    ]


@settings(deadline=None)
@given(prediction=CALM, reference=CALM)
def test_equals_a_naive_version(prediction, reference):
    (row,) = Cmrc2018().statistics([prediction], [[reference]]).rows
    assert tuple(row[:2]) == pytest.approx(naive_score(prediction, reference, one_sentence))


@settings(deadline=None)
@given(prediction=WILD, reference=WILD)
def test_equals_a_naive_version_on_sentences(sentence_model, prediction, reference):
    (row,) = Cmrc2018().statistics([prediction], [[reference]]).rows
    assert tuple(row[:2]) == pytest.approx(naive_score(prediction, reference, nltk.word_tokenize))


@settings(deadline=None)
@given(text=WILD)
def test_words_are_those_of_word_tokenize(sentence_model, text):
    text = "".join(character for character in text if not "\u4e00" <= character <= "\u9fa5")
    assert tokenize(text) == nltk.word_tokenize(text)


@settings(deadline=None)
@given(text=WILD)
def test_text_taken_for_one_sentence_offers_no_model_a_place_to_split(text):
    if not cmrc2018._POSSIBLE_SENTENCE_END.search(text):
        assert PunktLanguageVars().period_context_re().search(text) is None


@pytest.mark.parametrize(
    "text", ["红色谷仓", "在1998年", "3.5公里", "iPhone 14手机", "U.S.A.", "“好”……", "Dr", "what?"]
)
def test_text_without_a_sentence_break_needs_no_model(no_sentence_model, text):
    assert Cmrc2018().report([text], [["灯" + text]])["f1"] > 0


def test_text_with_a_possible_sentence_break_asks_for_the_model(no_sentence_model):
    with pytest.raises(MissingResourceError):
        Cmrc2018().report(["He left. She stayed."], [["he left"]])


def test_identical_answer_needs_no_model(no_sentence_model):
    assert Cmrc2018().report(["He left. She stayed."], [["he left. she stayed.", "He. She"]])["average"] == 100


@pytest.mark.parametrize(
    ("prediction", "reference", "em", "f1"),
    [
        ("红色谷仓", "红谷仓", 0, 100 * 4 / 7),
        ("约翰·史密斯", "约翰史密斯", 100, 100),
        ("三百 米", "三百米", 0, 100),
        ("，。", "！", 100, 0),
        ("- -", "。 ；", 100, 0),
    ],
)
def test_known_values(prediction, reference, em, f1):
    got = Cmrc2018().report([prediction], [[reference]])
    assert got == pytest.approx({"average": (em + f1) / 2, "f1": f1, "em": em, "total": 1, "skip": 0})


@settings(deadline=None)
@given(left=st.text("ab", max_size=9), right=st.text("abc", max_size=9))
def test_longest_common_run_is_the_longest_shared_substring(left, right):
    substrings = {left[a:b] for a in range(len(left)) for b in range(a, len(left) + 1)}
    shared = [right[a:b] for a in range(len(right)) for b in range(a, len(right) + 1) if right[a:b] in substrings]
    assert longest_common_run(left, right) == max(map(len, shared), default=0)
