import pytest


@pytest.fixture
def mapped(write, read):
    def _mapped(line, **fields):
        return read("jsonl", write("t", line), fields=fields)[0].row

    return _mapped


def test_columns_without_a_field_keep_their_names(mapped):
    assert mapped('{"src": "a", "title": "t"}', source="src") == {"src": "a", "title": "t", "source": "a"}


def test_fields_may_swap_names(mapped):
    assert mapped('{"a": 1, "b": 2}', a="b", b="a") == {"a": 2, "b": 1}


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [
        ('{"translation": {"en": "x"}}', "translation.en", "x"),
        ('{"a": {"b": {"c": 1}}}', "a.b.c", 1),
        ('{"answers": [{"text": "x"}, {"text": "y"}]}', "answers.text", ["x", "y"]),
        ('{"answers": {"text": ["x", "y"]}}', "answers.text", ["x", "y"]),
        ('{"answers": []}', "answers.text", []),
        ('{"a.b": 1, "a": {"b": 2}}', "a.b", 1),
    ],
)
def test_dots_reach_into_nested_objects(mapped, line, column, expected):
    assert mapped(line, field=column)["field"] == expected


def test_a_list_field_may_come_from_several_columns(mapped):
    line = '{"r1": "a", "r2": "", "r3": null, "r4": ["b", ""], "deep": {"r": "c"}}'
    assert mapped(line, references="r1, r2,r3,r4,deep.r")["references"] == ["a", "b", "", "c"]
    assert mapped('{"a,b": "x"}', references="a,b")["references"] == "x"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"source": "sorce"},
            "t:1: no column 'sorce' for field 'source'; found 'src', 'meta', 'meta.source'; did you mean 'src'?",
        ),
        (
            {"title": "meta.sauce"},
            "t:1: no column 'meta.sauce' for field 'title'; found 'src', 'meta', 'meta.source';"
            " did you mean 'meta.source'?",
        ),
        ({"x": "zzzz"}, "t:1: no column 'zzzz' for field 'x'; found 'src', 'meta', 'meta.source'"),
        (
            {"references": "src,ref2"},
            "t:1: no column 'ref2' for field 'references'; found 'src', 'meta', 'meta.source'",
        ),
        (
            {"source": "src,meta"},
            "t:1: no column 'src,meta' for field 'source'; found 'src', 'meta', 'meta.source'; did you mean 'meta'?",
        ),
    ],
)
def test_a_missing_column_names_those_found(write, read, complaint, fields, expected):
    path = write("t", '{"src": "a", "meta": {"source": "b"}}')
    assert complaint(read, "jsonl", path, fields=fields) == expected


def test_csv_columns_are_found_by_the_header(write, read, complaint):
    assert complaint(read, "csv", write("t", "mr,ref\na,b\n"), fields={"references": "reff"}) == (
        "t:2: no column 'reff' for field 'references'; found 'mr', 'ref'; did you mean 'ref'?"
    )
