import pytest


def test_jsonl_has_one_object_a_line_and_skips_blank_lines(write, read):
    rows = read("jsonl", write("t.jsonl", '\ufeff{"text": "a"}\r\n\r\n{"text": "字\\u2028"}\n'))
    assert [(located.row, located.line) for located in rows] == [({"text": "a"}, 1), ({"text": "字\u2028"}, 3)]


def test_json_is_an_array_of_objects(write, read):
    rows = read("json", write("t.json", '[{"text": "a"},\n {"text": "b"}]'))
    assert [located.row["text"] for located in rows] == ["a", "b"]


def test_several_files_follow_each_other(write, read):
    rows = read("jsonl", write("a.jsonl", '{"n": 1}\n'), write("b.jsonl.gz", '{"n": 2}\n'))
    assert [located.row["n"] for located in rows] == [1, 2]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"a": 1}\n{"a": \n', "t:2: broken JSON at column 7: Expecting value"),
        ('{"a": 1} {"a": 2}\n', "t:1: broken JSON at column 10: Extra data"),
        ("\n[1]\n", "t:2: found an array; expected one object a line; an array of objects is format 'json'"),
        ("null\n", "t:1: found null; expected one object a line"),
        ("12\n", "t:1: found a number; expected one object a line"),
        ('"x"\n', "t:1: found a text; expected one object a line"),
        ("true\n", "t:1: found true; expected one object a line"),
        (
            '{"a": 1, "b": {"c": 1, "c": 2}}\n',
            "t:1: JSON that cannot be read: key 'c' stands twice in one object; expected each key once",
        ),
        (
            '{"a": "\\ud83d"}\n',
            "t:1: half a character (a lone \\ud800 to \\udfff); expected whole characters",
        ),
    ],
)
def test_jsonl_complains_with_the_line(write, read, complaint, content, expected):
    assert complaint(read, "jsonl", write("t", content)) == expected


def test_escaped_pairs_are_whole_characters(write, read):
    assert read("jsonl", write("t", '{"a": "\\ud83d\\ude00"}\n'))[0].row == {"a": "😀"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('[{"a": 1},\n {"a" 2}]', "t:2: broken JSON at column 7: Expecting ':' delimiter"),
        (
            '{"a": 1}\n{"a": 2}\n',
            "t:2: broken JSON at column 1: Extra data; one object a line is format 'jsonl'",
        ),
        (
            '{"version": "1.1", "data": []}',
            "t: found one object; expected an array of objects; SQuAD JSON is format 'squad_json'",
        ),
        ('{"a": 1}', "t: found one object; expected an array of objects; one object a line is format 'jsonl'"),
        ("3", "t: found a number; expected an array of objects"),
        ('[{"a": 1}, "b"]', "t: item 2 is a text; expected an object"),
    ],
)
def test_json_complains(write, read, complaint, content, expected):
    assert complaint(read, "json", write("t", content)) == expected


def test_endless_nesting_is_refused(write, read, complaint):
    assert complaint(read, "jsonl", write("t", "[" * 100_000)).startswith("t:1: JSON that cannot be read: ")
