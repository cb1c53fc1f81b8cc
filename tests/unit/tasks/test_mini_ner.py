import re
from collections import Counter, defaultdict

import pytest
from seqeval.metrics import f1_score

from evalkit_tasks import mini_ner, mini_ner_zh
from evalkit_tasks.mini import entities
from evalkit_tasks.mini.templates import Span, Value, fill, tagged_tokens


def mentions(row):
    found = []
    for token, tag in zip(row["tokens"], row["tags"], strict=True):
        if tag.startswith("B-"):
            found.append([tag[2:], token])
        elif tag.startswith("I-"):
            found[-1] = [*found[-1], token]
    return [(mention[0], tuple(mention[1:])) for mention in found]


@pytest.mark.parametrize(("language", "task"), [("en", mini_ner.TASK), ("zh", mini_ner_zh.TASK)])
def test_tags_are_well_formed_iob2_of_the_known_types(language, task):
    for row in entities.rows(language, "test", 400, 0):
        assert len(row["tokens"]) == len(row["tags"])
        before = "O"
        for tag in row["tags"]:
            assert tag == "O" or tag[2:] in task.labels
            assert not tag.startswith("I-") or before[2:] == tag[2:]
            before = tag


def test_chinese_tokens_are_characters():
    assert all(len(token) == 1 for row in entities.rows("zh", "test", 200, 0) for token in row["tokens"])


def test_english_tokens_hold_no_spaces_and_split_punctuation():
    for row in entities.rows("en", "test", 200, 0):
        assert not any(re.search(r"\s", token) for token in row["tokens"])
        assert row["tokens"][-1] in (".", "?")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Xi'an's mayor paid 3.5 million.", ["Xi'an", "'s", "mayor", "paid", "3.5", "million", "."]),
        ("Passers-by saw a 3-1 win, she said.", ["Passers-by", "saw", "a", "3-1", "win", ",", "she", "said", "."]),
        ("It starts at 9:15 for 1,200 people?", ["It", "starts", "at", "9:15", "for", "1,200", "people", "?"]),
    ],
)
def test_tokens_are_words_numbers_and_marks(text, tokens):
    assert tagged_tokens(text, (), "en")[0] == tokens


def test_spans_become_tags():
    text = fill(
        "{a} met {b} in {c}.",
        {"a": Value("Ann Lee", "安", "PER"), "b": Value("Bo", "波", "PER"), "c": Value("Rome", "罗马", "LOC")},
        "en",
    )
    assert text.text == "Ann Lee met Bo in Rome."
    assert tagged_tokens(text.text, text.entities(), "en")[1] == ["B-PER", "I-PER", "O", "B-PER", "O", "B-LOC", "O"]


def test_neighbouring_entities_stay_apart():
    _, tags = tagged_tokens("张三李四", (Span("a", 0, 2, "PER"), Span("b", 2, 4, "PER")), "zh")
    assert tags == ["B-PER", "I-PER", "B-PER", "I-PER"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_many_words_name_different_things(language):
    types = defaultdict(set)
    for row in entities.rows(language, "train", 2000, 0):
        for kind, words in mentions(row):
            types[words].add(kind)
    assert sum(len(kinds) > 1 for kinds in types.values()) > 15


def test_many_names_start_sentences_as_plain_words():
    opening = defaultdict(set)
    for row in entities.rows("en", "train", 2000, 0):
        opening[row["tokens"][0]].add(row["tags"][0])
    assert {"Rose", "Bill", "Apple", "Reading"} <= {word for word, tags in opening.items() if len(tags) > 1}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_many_mentions_of_the_test_split_are_unseen(language):
    seen = {mention for row in entities.rows(language, "train", 2000, 0) for mention in mentions(row)}
    tested = [mention for row in entities.rows(language, "test", 500, 0) for mention in mentions(row)]
    assert len(tested) > 400
    assert 0.3 < sum(mention not in seen for mention in tested) / len(tested) < 0.6


@pytest.mark.parametrize(("language", "low", "high"), [("en", 0.4, 0.7), ("zh", 0.05, 0.3)])
def test_most_frequent_tag_of_each_token_is_no_solution(language, low, high):
    counts = defaultdict(Counter)
    for row in entities.rows(language, "train", 2000, 0):
        for token, tag in zip(row["tokens"], row["tags"], strict=True):
            counts[token][tag] += 1
    majority = {token: found.most_common(1)[0][0] for token, found in counts.items()}
    test = entities.rows(language, "test", 500, 0)
    predicted = [[majority.get(token, "O") for token in row["tokens"]] for row in test]
    assert low < f1_score([row["tags"] for row in test], predicted) < high
