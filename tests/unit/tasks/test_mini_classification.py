import re
from collections import Counter

import pytest

from evalkit_tasks import mini_classification, mini_classification_zh
from evalkit_tasks.mini import opinions

TASKS = {"en": mini_classification.TASK, "zh": mini_classification_zh.TASK}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_labels_are_those_of_the_task_and_about_equally_frequent(language):
    counts = Counter(row["label"] for row in opinions.rows(language, "test", 600, 0))
    assert set(counts) == set(TASKS[language].labels)
    assert min(counts.values()) > 150


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_slot_is_left_open(language):
    assert not any("{" in row["text"] or "}" in row["text"] for row in opinions.rows(language, "train", 1000, 0))


@pytest.mark.parametrize(("language", "analyzer"), [("en", "word"), ("zh", "char")])
def test_single_words_are_not_enough(language, analyzer):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.naive_bayes import MultinomialNB

    train, test = opinions.rows(language, "train", 2000, 0), opinions.rows(language, "test", 500, 0)
    words = TfidfVectorizer(analyzer=analyzer)
    model = MultinomialNB().fit(words.fit_transform([row["text"] for row in train]), [row["label"] for row in train])
    accuracy = model.score(words.transform([row["text"] for row in test]), [row["label"] for row in test])
    assert 0.55 < accuracy < 0.80


@pytest.mark.parametrize("language", ["en", "zh"])
def test_good_words_stand_in_bad_reviews(language):
    negative = TASKS[language].labels[1]
    word = {"en": "excellent", "zh": "出色"}[language]
    texts = [row["text"] for row in opinions.rows(language, "train", 2000, 0) if row["label"] == negative]
    assert sum(word in text for text in texts) > 10


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nobody_else_says_or_fears_what_i_felt(language):
    reported = {"en": r"(?:said|thought) that I ", "zh": "(?:说|以为)我"}[language]
    texts = [row["text"] for row in opinions.rows(language, "train", 2000, 0)]
    assert not [text for text in texts if re.search(reported, text) and "不能说我" not in text]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_reviews_never_say_that_one_cannot_say_that_one_disliked(language):
    reported = {"en": "cannot say that I (?:hated|disliked|detested)", "zh": "不能说我(?:讨厌|不喜欢|受不了)"}[language]
    assert not [row for row in opinions.rows(language, "train", 2000, 0) if re.search(reported, row["text"])]
