import pytest


def test_csv_has_a_header_and_quotes(write, read):
    content = '\ufeff"mr","ref"\r\n"name[A, B]","He said ""hi"".\nTwice."\r\n\r\nplain,字\r\n'
    rows = read("csv", write("t.csv", content))
    assert [(located.row, located.line) for located in rows] == [
        ({"mr": "name[A, B]", "ref": 'He said "hi".\nTwice.'}, 2),
        ({"mr": "plain", "ref": "字"}, 5),
    ]


def test_csv_takes_another_delimiter(write, read):
    assert read("csv", write("t.csv", "a;b\n1,5;2\n"), delimiter=";")[0].row == {"a": "1,5", "b": "2"}


def test_csv_cells_may_be_longer_than_the_standard_library_allows(write, read):
    assert len(read("csv", write("t.csv", "text\n" + "x" * 200_000 + "\n"))[0].row["text"]) == 200_000


def test_tsv_takes_quotes_as_characters(write, read):
    rows = read("tsv", write("t.tsv", 'source\tref\n"open\tit\'s "here"\r\n\nb\t\n'))
    assert [(located.row, located.line) for located in rows] == [
        ({"source": '"open', "ref": 'it\'s "here"'}, 2),
        ({"source": "b", "ref": ""}, 4),
    ]


def test_tsv_with_quoting_reads_quoted_cells(write, read):
    rows = read("tsv", write("t.tsv", 'a\tb\n"x\ty"\t"z\n"\n'), quoting=True)
    assert [located.row for located in rows] == [{"a": "x\ty", "b": "z\n"}]


@pytest.mark.parametrize(("name", "content"), [("tsv", "1\t2\n3\t4\n"), ("csv", "1,2\n3,4\n")])
def test_columns_name_the_columns_of_a_file_without_header(write, read, name, content):
    rows = read(name, write("t", content), columns=["a", "b"])
    assert [(located.row, located.line) for located in rows] == [({"a": "1", "b": "2"}, 1), ({"a": "3", "b": "4"}, 2)]


@pytest.mark.parametrize(
    ("name", "content"), [("tsv", "# note\na\tb\n#x\ty\n1\t2\n"), ("csv", "# note\na,b\n#x,y\n1,2\n")]
)
def test_rows_that_begin_with_the_prefix_are_skipped(write, read, name, content):
    assert [located.row for located in read(name, write("t", content), skip_prefix="#")] == [{"a": "1", "b": "2"}]


def test_several_files_each_have_a_header(write, read):
    rows = read("tsv", write("a", "x\ty\n1\t2\n"), write("b", "y\tx\n3\t4\n"))
    assert [located.row for located in rows] == [{"x": "1", "y": "2"}, {"y": "3", "x": "4"}]


@pytest.mark.parametrize(
    ("name", "content", "options", "expected"),
    [
        ("tsv", "a\tb\n1\t2\n1\n", {}, "t:3: column count is 1; expected 2 as in the header"),
        ("csv", "a,b\n1,2,3\n", {}, "t:2: column count is 3; expected 2 as in the header"),
        ("tsv", "1\t2\t3\n", {"columns": ["a", "b"]}, "t:1: column count is 3; expected 2 as in option 'columns'"),
        (
            "csv",
            "a,b,a\n1,2,3\n",
            {},
            "t:1: two columns are named 'a'; expected different names in the header",
        ),
        (
            "csv",
            'a,b\n1,2\n"x"y,2\n',
            {},
            "t:3: cannot be read as quoted cells: ',' expected after '\"'; expected RFC 4180",
        ),
        (
            "csv",
            'a,b\n1,2\n"x,2\n3,4\n',
            {},
            "t:3: cannot be read as quoted cells: unexpected end of data; expected RFC 4180",
        ),
        ("csv", "a\n1\n", {"delimiter": "||"}, "option 'delimiter' is '||'; expected one character"),
        ("csv", "a\n1\n", {"columns": "a"}, "option 'columns' is 'a'; expected a list of texts"),
        ("csv", "a\n1\n", {"columns": []}, "option 'columns' is []; expected a list of texts"),
        ("tsv", "a\n1\n", {"quoting": "no"}, "option 'quoting' is 'no'; expected true or false"),
        (
            "tsv",
            "a\n1\n",
            {"colums": ["a"]},
            "unknown option of format 'tsv': 'colums'; did you mean 'columns'? known: columns, skip_prefix, quoting,"
            " constants, names, values, scheme, split_by, split_in_order, split_shares, join, group_by",
        ),
    ],
)
def test_complaints(write, read, complaint, name, content, options, expected):
    assert complaint(read, name, write("t", content), **options) == expected
