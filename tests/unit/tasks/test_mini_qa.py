import math
from collections import Counter, defaultdict
from random import Random

import pytest

from evalkit_tasks import mini_qa, mini_qa_zh
from evalkit_tasks.mini import questions
from evalkit_tasks.mini.news import KINDS, ReportMaker, answer_type, facts_of, templates
from evalkit_tasks.mini.templates import parts_of

ENGLISH = questions.rows("en", True, "test", 600, 0)
CHINESE = questions.rows("zh", False, "test", 600, 0)


@pytest.mark.parametrize("rows", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_answers_stand_where_they_are_said_to(rows):
    for row in rows:
        assert len(row["answers"]) == len(row["answer_starts"])
        for answer, start in zip(row["answers"], row["answer_starts"], strict=True):
            assert row["context"][start : start + len(answer)] == answer


def test_a_third_of_the_english_questions_has_no_answer():
    assert sum(not row["answers"] for row in ENGLISH) == 200
    assert mini_qa.TASK.options["unanswerable"] is True


def test_each_chinese_question_has_an_answer():
    assert all(row["answers"] for row in CHINESE)
    assert not mini_qa_zh.TASK.options


@pytest.mark.parametrize("rows", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_paragraph_is_a_cluster_of_three_questions(rows):
    clusters = defaultdict(list)
    for row in rows:
        clusters[row["cluster"]].append(row)
    for group in clusters.values():
        assert len({row["context"] for row in group}) == 1
        assert len({row["question"] for row in group}) == len(group) == 3


def test_some_answers_have_an_alternative():
    counts = Counter(len(row["answers"]) for row in ENGLISH)
    assert counts[2] > 50


def test_answers_of_a_paragraph_are_of_different_types_unless_it_tells_two_events_of_one_kind():
    rng = Random(5)
    for _ in range(200):
        maker = ReportMaker(rng, True)
        main = maker.draw(rng.choice(questions.KINDS))
        other = None if rng.random() < 0.5 else maker.draw("storm" if main.kind == "match" else "match")
        told = questions.paragraph(rng, main, other, 2, "en")
        types = [answer_type(slot) for _, slot in told.answers]
        assert len(set(types)) == len(types)


@pytest.mark.parametrize("kind", questions.KINDS)
def test_a_kind_that_is_told_has_facts_of_three_types_and_only_numbers_begin_with_a_digit(kind):
    report = ReportMaker(Random(1), True).draw(kind)
    assert len({answer_type(slot) for slot in facts_of(kind)}) >= 3
    for slot in facts_of(kind):
        assert report.main[slot].of("en")[0].isdigit() == (answer_type(slot) == "number")


def test_four_paragraphs_of_five_tell_one_event():
    """Of two events, one is told as an earlier one, with its year."""
    told = {row["cluster"]: row["context"] for row in questions.rows("en", True, "train", 3000, 0)}
    years = [any(f" {year}" in text for year in range(1990, 2020)) for text in told.values()]
    assert sum(years) / len(years) == pytest.approx(0.2, abs=4 * math.sqrt(0.16 / len(years)))


@pytest.mark.parametrize("second", ["none", "one kind", "two kinds"])
@pytest.mark.parametrize("seed", range(8))
def test_no_unanswerable_question_is_one_that_the_paragraph_answers(seed, second):
    rng = Random(seed)
    maker = ReportMaker(rng, True)
    main = maker.draw(questions.KINDS[seed % 6])
    others = {
        "none": None,
        "one kind": main,
        "two kinds": maker.draw(next(kind for kind in KINDS if kind != main.kind)),
    }
    other = others[second]
    told = questions.paragraph(rng, main, other, 2, "en")
    stranger = maker.draw((other or main).kind)
    answered = {told.question(rng, which, slot, "en") for which, slot in told.answers for _ in range(20)}
    for _ in range(20):
        rows = questions.asked(rng, told, stranger, "en", True)
        (unanswerable,) = (row["question"] for row in rows if not row["answers"])
        assert unanswerable not in answered
        assert {row["question"] for row in rows if row["answers"]} <= answered


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_fact_has_sentences_and_questions(language, kind):
    for slot in facts_of(kind):
        assert templates(language, kind, "question", slot)
        for (template,) in templates(language, kind, "fact", slot):
            assert slot in parts_of(template)[1::2]
            assert "it" in parts_of(template)[1::2]


@pytest.mark.parametrize("kind", KINDS)
def test_each_sentence_that_tells_an_event_names_the_same_things(kind):
    told = [
        set(parts_of(template)[1::2])
        for language in ("en", "zh")
        for (template,) in templates(language, kind, "told", "main")
    ]
    assert all(slots == told[0] for slots in told)


@pytest.mark.parametrize("seed", range(30))
def test_sums_are_written_in_the_largest_unit_that_fits(seed):
    value = ReportMaker(Random(seed), True).money(900.0)
    million = float(value.english.split()[0])
    number, unit = value.chinese.split()[0][:-1], value.chinese.split()[0][-1]
    assert unit == ("亿" if million >= 100 else "万")
    assert float(number) * {"亿": 100, "万": 0.01}[unit] == pytest.approx(million)
    assert value.chinese_aliases == (number + unit,)
    assert unit == "亿" or "." not in number
