from itertools import pairwise

import pytest

from evalkit_tasks.mini import segmentation
from evalkit_tasks.mini.tables import sections

TRAIN = [row["words"] for row in segmentation.rows("train", 2000, 0)]
TEST = [row["words"] for row in segmentation.rows("test", 500, 0)]


def longest_first(text, lexicon):
    longest = max(map(len, lexicon))
    words, start = [], 0
    while start < len(text):
        for length in range(min(longest, len(text) - start), 0, -1):
            if length == 1 or text[start : start + length] in lexicon:
                words.append(text[start : start + length])
                start += length
                break
    return words


def borders(words):
    ends, start = set(), 0
    for word in words:
        ends.add((start, start + len(word)))
        start += len(word)
    return ends


def f1(gold, predicted):
    right = sum(len(borders(one) & borders(two)) for one, two in zip(gold, predicted, strict=True))
    return 2 * right / (sum(map(len, gold)) + sum(map(len, predicted)))


def test_words_are_not_empty_and_hold_no_spaces():
    assert all(word and not word.isspace() and " " not in word for words in TEST for word in words)


def test_each_sentence_ends_with_its_mark():
    assert all(words[-1] in "。？" for words in TEST)


def test_some_test_words_are_unseen():
    seen = {word for words in TRAIN for word in words}
    tested = [word for words in TEST for word in words]
    assert len(seen) > 2000
    assert 0.05 < sum(word not in seen for word in tested) / len(tested) < 0.12


def test_longest_match_with_training_words_is_far_from_perfect():
    lexicon = {word for words in TRAIN for word in words}
    assert 0.78 < f1(TEST, [longest_first("".join(words), lexicon) for words in TEST]) < 0.93


def test_longest_match_fails_even_if_it_knows_all_words():
    lexicon = {word for words in (*TRAIN, *TEST) for word in words}
    assert 0.94 < f1(TEST, [longest_first("".join(words), lexicon) for words in TEST]) < 0.99


@pytest.mark.parametrize(
    ("together", "apart"),
    [
        ("研究生", ("研究", "生命")),
        ("和服", ("和", "服装")),
        ("从小", ("从", "小学")),
        ("学会", ("数学", "会议")),
        ("把手", ("把", "手")),
    ],
)
def test_both_readings_of_an_ambiguous_place_occur(together, apart):
    sentences = [row[0].split() for row in sections("mini_cws.tsv")[""]]
    assert any(together in words for words in sentences)
    assert any(apart in pairwise(words) for words in sentences)
