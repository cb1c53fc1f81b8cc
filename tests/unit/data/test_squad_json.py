import json

import pytest


def question(number, *answers, **more):
    spans = [{"text": text, "answer_start": start} for text, start in answers]
    return {"id": f"q{number}", "question": f"What is {number}?", "answers": spans, **more}


def article(*paragraphs, **more):
    return {"paragraphs": [{"context": f"Text {n}.", "qas": qas} for n, qas in enumerate(paragraphs, 1)], **more}


def squad(*articles):
    return json.dumps({"version": "1.1", "data": articles})


def test_each_question_is_a_row_and_each_paragraph_a_cluster(write, read):
    data = squad(
        article([question(1, ("a", 0), ("b", 2)), question(2, ("c", 1))], [question(3, ("d", 0))], title="Tea"),
        article([question(4, ("e", 0))], title="Tea"),
    )
    rows = [located.row for located in read("squad_json", write("t.json.gz", data))]
    assert rows[0] == {
        "id": "q1",
        "question": "What is 1?",
        "context": "Text 1.",
        "answers": ["a", "b"],
        "answer_starts": [0, 2],
        "title": "Tea",
        "cluster": "Tea/1",
    }
    assert [row["cluster"] for row in rows] == ["Tea/1", "Tea/1", "Tea/2", "Tea/3"]


def test_impossible_questions_have_no_answer(write, read):
    qas = [
        question(1, is_impossible=True, plausible_answers=[{"text": "x", "answer_start": 0}]),
        {"id": "q2", "question": "?", "is_impossible": True},
        question(3, ("a", 0), is_impossible=False),
    ]
    rows = read("squad_json", write("t.json", squad(article(qas, title="Tea"))))
    assert [located.row["answers"] for located in rows] == [[], [], ["a"]]


def test_articles_without_title_are_numbered(write, read):
    rows = read("squad_json", write("t.json", squad(article([question(1)]), article([question(2)]))))
    assert [located.row["cluster"] for located in rows] == ["1/1", "2/1"]
    assert "title" not in rows[0].row


def test_answers_without_offsets_have_no_starts(write, read):
    qas = [{"id": 7, "question": "?", "answers": [{"text": "a"}, {"text": "b", "answer_start": 1}]}]
    row = read("squad_json", write("t.json", squad(article(qas))))[0].row
    assert row["answers"] == ["a", "b"]
    assert "answer_starts" not in row


def test_the_trial_layout_of_cmrc_is_read(write, read):
    data = [
        {
            "context_id": "T0",
            "context_text": "茶是绿的。",
            "qas": [{"query_id": "T0_Q0", "query_text": "茶是什么颜色？", "answers": ["绿", "绿的"]}],
            "title": "茶",
        }
    ]
    rows = read("squad_json", write("t.json", json.dumps(data)))
    assert [located.row for located in rows] == [
        {
            "id": "T0_Q0",
            "question": "茶是什么颜色？",
            "context": "茶是绿的。",
            "answers": ["绿", "绿的"],
            "cluster": "T0",
        }
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            {"questions": [], "version": 2},
            "t: found an object with keys 'questions', 'version'; expected SQuAD JSON, an object whose 'data' is a list of"
            " articles with paragraphs",
        ),
        (
            [{"question": "?"}],
            "t: found list; expected SQuAD JSON, an object whose 'data' is a list of articles with paragraphs",
        ),
        ({"data": ["x"]}, "t: article 1: found 'x'; expected an object"),
        ({"data": [{"title": "Tea"}]}, "t: article 1: 'paragraphs' is missing; expected a list"),
        (
            {"data": [{"title": "Tea", "paragraphs": [{"context": 3, "qas": []}]}]},
            "t: article 1, paragraph 'Tea/1': 'context' is 3; expected a text",
        ),
        (
            {"data": [{"title": "Tea", "paragraphs": [{"context": "c", "qas": [{"question": "?"}]}]}]},
            "t: article 1, paragraph 'Tea/1': a question has no 'id'; found 'question'",
        ),
        (
            {"data": [{"paragraphs": [{"context": "c", "qas": [{"id": "q", "question": "?"}]}]}]},
            "t: question 'q': 'answers' is missing; expected a list",
        ),
        (
            {"data": [{"paragraphs": [{"context": "c", "qas": [{"id": "q", "question": "?", "answers": ["a"]}]}]}]},
            "t: question 'q': found 'a'; expected an object",
        ),
        (
            [{"context_text": "c", "qas": [{"query_id": "q", "answers": []}]}],
            "t: paragraph 1, question 'q': 'query_text' is missing; expected a text",
        ),
    ],
)
def test_complaints(write, read, complaint, value, expected):
    assert complaint(read, "squad_json", write("t", json.dumps(value))) == expected


def test_broken_json_has_a_line(write, read, complaint):
    assert complaint(read, "squad_json", write("t", '{"data":\n [}')) == (
        "t:2: broken JSON at column 3: Expecting value"
    )
