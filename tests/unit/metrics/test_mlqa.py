"""MLQA against a straightforward version, for each language."""

import re
import string
import sys
import unicodedata
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import UnknownNameError
from evalkit.metrics.mlqa import Mlqa

ARTICLES = {
    "en": "a an the",
    "es": "un una unos unas el la los las",
    "de": "ein eine einen einem eines einer der die das den dem des",
    "vi": "của là cái chiếc những",
    "hi": "",
    "zh": "",
    "ar": "",
}
WORDS = [word for words in ARTICLES.values() for word in words.split()]
PIECES = [*WORDS, "ال", "خالد", "नीला", "।", "灯", "塔", "龦", "net", "AB", "1", " ", " ", "\u00a0", "\n", "，", "¿", "$", "€",
          "-", "“", "𠮷", "ẞ"]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=7).map("".join) | st.text(max_size=4)


def naive_words(text, lang):
    kept = "".join(
        character
        for character in text.lower()
        if unicodedata.category(character)[0] != "P" and character not in string.punctuation
    )
    if lang == "ar":
        kept = kept.replace("ال", " ")
    elif ARTICLES[lang]:
        kept = re.sub(rf"\b({ARTICLES[lang].replace(' ', '|')})\b", " ", kept)
    if lang == "zh":
        kept = "".join(f" {character} " if "\u4e00" <= character <= "\u9fa5" else character for character in kept)
    return kept.split()


@pytest.mark.parametrize("lang", ARTICLES)
@settings(deadline=None)
@given(prediction=TEXTS, reference=TEXTS)
def test_equals_a_naive_version(lang, prediction, reference):
    (row,) = Mlqa(lang=lang).statistics([prediction], [[reference]]).rows
    left, right = naive_words(prediction, lang), naive_words(reference, lang)
    shared = sum((Counter(left) & Counter(right)).values())
    assert row[0] == (left == right)
    assert row[1] == pytest.approx(2 * shared / (len(left) + len(right)) if shared else 0)


def test_every_punctuation_mark_of_unicode_is_deleted_and_nothing_else():
    metric = Mlqa(lang="hi")
    for code in range(0, sys.maxunicode, 7):
        character = chr(code)
        is_mark = unicodedata.category(character)[0] == "P" or character in string.punctuation
        assert metric.normalize(f"x{character}").text == ("x" if is_mark else " ".join(f"x{character}".lower().split()))


@pytest.mark.parametrize("lang", ["fr", "EN", ""])
def test_other_languages_are_refused(lang):
    with pytest.raises(UnknownNameError, match=r"unknown MLQA language .*known: en, es, hi, vi, de, ar, zh"):
        Mlqa(lang=lang)


def test_language_has_no_default():
    with pytest.raises(TypeError, match="lang"):
        Mlqa()


def test_language_is_part_of_the_signature():
    assert Mlqa(lang="zh").signature() != Mlqa(lang="en").signature()
