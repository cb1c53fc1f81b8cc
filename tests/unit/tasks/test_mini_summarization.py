import re

import pytest
from rouge_score import rouge_scorer

from evalkit_tasks.mini import summaries
from evalkit_tasks.mini.news import KINDS, in_summary, templates
from evalkit_tasks.mini.templates import parts_of


class Tokens:
    def __init__(self, pattern):
        self.pattern = pattern

    def tokenize(self, text):
        return re.findall(self.pattern, text.lower())


PATTERN = {"en": r"[a-z0-9]+", "zh": r"[a-z0-9]+|[\u4e00-\u9fff]"}
ENDS = {"en": r"[^.]+(?:\.\d[^.]*)*\.", "zh": "[^。]+。"}
ROWS = {language: summaries.rows(language, "test", 200, 0) for language in ("en", "zh")}


def lead(document, language, count=3):
    sentences = [sentence.strip() for sentence in re.findall(ENDS[language], document)]
    return (" " if language == "en" else "").join(sentences[:count])


def rouge_l(language, summarize):
    scorer = rouge_scorer.RougeScorer(["rougeL"], tokenizer=Tokens(PATTERN[language]))
    return sum(
        max(scorer.score(reference, summarize(row))["rougeL"].fmeasure for reference in row["references"])
        for row in ROWS[language]
    ) / len(ROWS[language])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_documents_have_six_to_twelve_sentences_and_two_references(language):
    for row in ROWS[language]:
        assert 6 <= len(re.findall(ENDS[language], row["document"])) <= 12
        assert len(set(row["references"])) == 2


@pytest.mark.parametrize("language", ["en", "zh"])
def test_numbers_of_a_summary_stand_in_the_document(language):
    for row in ROWS[language]:
        for reference in row["references"]:
            for number in re.findall(r"\d+(?:[.,]\d+)*", reference):
                assert number in row["document"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_first_sentences_are_a_weak_summary(language):
    assert 0.15 < rouge_l(language, lambda row: lead(row["document"], language)) < 0.40


@pytest.mark.parametrize("language", ["en", "zh"])
def test_whole_document_is_a_weak_summary(language):
    assert 0.15 < rouge_l(language, lambda row: row["document"]) < 0.35


def test_main_event_often_comes_late():
    late = sum(
        re.search(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b", lead(row["document"], "en")) is None
        for row in ROWS["en"]
    )
    assert 0.3 < late / len(ROWS["en"]) < 0.7


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", KINDS)
def test_summary_holds_the_facts_that_the_document_always_has(language, kind):
    for template in templates(language, kind, "summary")[0]:
        assert set(in_summary(kind)) <= set(parts_of(template)[1::2])
