import re
from itertools import pairwise

import pytest

from evalkit_tasks.mini import segmentation
from evalkit_tasks.mini.lexicon import lexicon
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


TEMPLATES = [row[0].split() for row in sections("mini_cws.tsv")[""]]
LITERAL = [
    *TEMPLATES,
    *(row[2].split() for rows in sections("mini_news_zh.tsv").values() for row in rows if row[0] != "question"),
    *(row[1].split() for rows in sections("mini_slots.tsv").values() for row in rows),
    *(row[1].split() for row in sections("mini_times.tsv")[""]),
]
RESULTS = "完好到破成错动下进走去满慢"
ONE_CHARACTER_VERBS = "卖修学运建猜搬做排住送买签坐变跑看吃写切关偷打"
MEASURES = "个位名件条只本台座辆张把家种次场项笔届封部支间"


def test_demonstratives_numerals_and_each_stand_apart_from_measure_words():
    glued = re.compile(f"[这那每两几三四五六七八九][{MEASURES}天周年].*|[上下]个.*")
    assert not [word for words in TRAIN + TEST + LITERAL for word in words if glued.fullmatch(word)]


def test_times_that_follow_one_another_are_words_of_their_own():
    glued = re.compile("(?:今天|昨天|明天|去年|明年|每天).+|.+(?:天|班|年)[前后]")
    assert not [word for words in TRAIN + TEST + LITERAL for word in words if glued.fullmatch(word)]


def test_results_of_one_character_belong_to_verbs_of_one_character():
    pairs = [pair for words in LITERAL for pair in pairwise(words)]
    assert not [pair for pair in pairs if pair[0] in ONE_CHARACTER_VERBS and pair[1] in RESULTS]


def test_results_in_the_lexicon_follow_the_standard():
    for verb in lexicon(True).verbs:
        root, _, result = verb.result.partition(" ")
        assert not (result and len(root) == len(result) == 1), verb.result
        assert len(root) <= 2, verb.result


def test_words_cut_in_two_ways_are_the_ambiguous_ones():
    words = {word for row in TRAIN + TEST for word in row}
    cut = {one + two for row in TRAIN + TEST for one, two in pairwise(row) if one + two in words}
    meant = "正在 马上 个人 把手 一起 都会 将来 还有 才能 很多 学生会 从小 学会 研究生 人参 花生 地面 天地 大学生"
    assert cut <= set(meant.split())
