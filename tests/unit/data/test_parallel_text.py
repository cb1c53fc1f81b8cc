import pytest


def test_first_file_is_the_source_and_further_files_are_references(write, read):
    source = write("t.en", "One.\n\nThree.\n")
    paths = source, write("a.zh.gz", "一。\r\n\r\n三。\r\n"), write("b.zh", "壹。\n贰。\n叁。")
    rows = read("parallel_text", *paths)
    assert [located.row for located in rows] == [
        {"id": "1", "source": "One.", "references": ["一。", "壹。"]},
        {"id": "2", "source": "", "references": ["", "贰。"]},
        {"id": "3", "source": "Three.", "references": ["三。", "叁。"]},
    ]
    assert [(located.path, located.line) for located in rows] == [(source, 1), (source, 2), (source, 3)]


def test_fields_rename_the_source(write, read):
    rows = read("parallel_text", write("a", "long\n"), write("b", "short\n"), fields={"document": "source"})
    assert rows[0].row["document"] == "long"


@pytest.mark.parametrize(
    ("source", "reference", "expected"),
    [
        ("a\nb\n", "x\n", "r: line count is 1; expected 2, one for each line of s"),
        ("a\nb\n", "x\ny\nz\n", "r: line count is 3; expected 2, one for each line of s"),
        ("a\nb\n", "", "r: the file is empty; expected text"),
    ],
)
def test_unequal_lengths_are_refused(write, read, complaint, source, reference, expected):
    assert complaint(read, "parallel_text", write("s", source), write("r", reference)) == expected


def test_rows_before_the_shorter_file_ends_are_given(write):
    from evalkit.data import READERS

    rows = READERS["parallel_text"].read([write("s", "a\nb\n"), write("r", "x\n")], {}, {})
    assert next(rows).row["id"] == "1"


def test_a_source_alone_is_refused(write, read, complaint):
    assert complaint(read, "parallel_text", write("s", "a\n")) == (
        "format 'parallel_text' was given s; expected a source and at least one file of references"
    )
