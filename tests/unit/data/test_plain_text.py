import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.data import READERS

WIKI = (
    " \n = First = \n \n Words of it . \n \n = = Part = = \n \n More = \n = a formula = \n words . \n \n \n"
    " = A = \n \n Other words . \n"
)


def texts(rows):
    return [located.row["text"] for located in rows]


def test_a_document_is_the_whole_file(write, read):
    rows = read("plain_text", write("t", "\ufeff\na\r\n\nb"))
    assert [located.row for located in rows] == [{"text": "\na\r\n\nb"}]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"unit": "line"}, ["\na\n", "b\n\n\n", "c\n", "d\n", "e"]),
        ({"unit": "paragraph"}, ["\na\nb\n\n\n", "c\nd\ne"]),
        ({"unit": "block", "lines": 2}, ["\na\n", "b\n\n\n", "c\nd\n", "e"]),
        ({"unit": "block", "lines": 4}, ["\na\nb\n\n\n", "c\nd\ne"]),
        ({"unit": "block"}, ["\na\nb\n\n\nc\nd\ne"]),
    ],
)
def test_blank_lines_belong_to_the_unit_before(write, read, options, expected):
    assert texts(read("plain_text", write("t", "\na\nb\n\n\nc\nd\ne"), **options)) == expected


def test_wikitext_articles_begin_at_headings_of_the_first_level_between_blank_lines(write, read):
    rows = read("plain_text", write("t", WIKI), unit="wikitext")
    assert "".join(texts(rows)) == WIKI
    assert [text.split("=")[1].strip() for text in texts(rows)] == ["First", "A"]
    assert [located.line for located in rows] == [1, 13]


UNITS = [{"unit": unit} for unit in ("document", "line", "paragraph", "wikitext")] + [{"unit": "block", "lines": 3}]


@given(st.text(alphabet=" ab=\n\r\u2028字", min_size=1).filter(lambda text: not text.isspace()))
def test_units_joined_give_the_file_and_none_is_blank(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "plain.txt"
    path.write_bytes(text.encode())
    for options in UNITS:
        units = texts(READERS["plain_text"].read([path], {}, options))
        assert "".join(units) == text
        assert not any(unit.isspace() for unit in units)


def test_each_of_several_files_is_a_cluster(write, read):
    rows = read("plain_text", write("a.txt", "1\n2\n"), write("b.txt.gz", "3\n"), unit="line")
    assert [(located.row["text"], located.row["cluster"]) for located in rows] == [
        ("1\n", "a.txt"),
        ("2\n", "a.txt"),
        ("3\n", "b.txt"),
    ]


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("\n \n", {"unit": "line"}, "t: all lines are blank; expected text"),
        (
            "a\n",
            {"unit": "lines"},
            "unknown unit 'lines'; did you mean 'line'? known: document, line, paragraph, wikitext, block",
        ),
        ("a\n", {"unit": "line", "lines": 3}, "option 'lines' goes with unit 'block'; found unit 'line'"),
        ("a\n", {"unit": "block", "lines": 0}, "option 'lines' is 0; expected at least 1"),
        ("a\n", {"unit": "block", "lines": True}, "option 'lines' is True; expected a whole number"),
    ],
)
def test_complaints(write, read, complaint, content, options, expected):
    assert complaint(read, "plain_text", write("t", content), **options) == expected
