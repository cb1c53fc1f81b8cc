"""DRCD against a straightforward version of what its authors describe."""

import re
import string
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.metrics.drcd import Drcd

PIECES = [
    "燈",
    "塔",
    "塔塔",
    "a",
    "the",
    "net",
    " ",
    "\n",
    "\u3000",
    "《",
    "》",
    "？",
    "，",
    "。",
    "、",
    "；",
    "：",
    "「",
    "！",
    "-",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


def naive_text(text):
    kept = "".join(character for character in text.lower() if character not in string.punctuation + "《》？，。、；：")
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


@settings(deadline=None)
@given(prediction=TEXTS, references=st.lists(TEXTS, min_size=1, max_size=3))
def test_equals_a_naive_version(prediction, references):
    (row,) = Drcd().statistics([prediction], [references]).rows
    left, rights = naive_text(prediction), list(map(naive_text, references))
    f1 = [
        2 * shared / (len(left) + len(right)) if (shared := sum((Counter(left) & Counter(right)).values())) else 0
        for right in rights
    ]
    assert row[0] == (left in rights)
    assert row[1] == pytest.approx(max(f1))


def test_order_of_characters_does_not_matter_to_f1():
    assert Drcd().report(["月亮和穀倉"], [["穀倉和月亮"]]) == {"exact_match": 0, "f1": 100}
