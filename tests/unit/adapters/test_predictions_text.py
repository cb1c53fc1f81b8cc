import pytest

from evalkit.adapters import open_adapter
from evalkit.errors import DataError
from evalkit.requests import ClassifyRequest, GenerateRequest, LabelRequest

ROWS = [("a", {"source": "name[Inn]"}), ("b", {"source": 'name[The "Sun"]'}), ("c", {"source": "name[Moon]"})]
TEXTS = [("a", {"text": "我爱北京"}), ("b", {"text": "好"})]


def prepared(path, context):
    adapter = open_adapter("predictions", str(path))
    return adapter, adapter.prepare(context)


def texts(path, context):
    adapter, warnings = prepared(path, context)
    requests = [GenerateRequest(example_id=name) for name in context.example_ids]
    return [response.text for response in adapter.answer(requests)], warnings


@pytest.fixture
def problem(write):
    def make(content, context, name="out.txt"):
        path = write(name, content)
        with pytest.raises(DataError) as error:
            prepared(path, context)
        return str(error.value).removeprefix(str(path))

    return make


@pytest.mark.parametrize("name", ["out.txt", "out.txt.gz"])
@pytest.mark.parametrize("content", ["one\n two \nthree\n", "one\r\n two \r\nthree\r\n", "\ufeffone\n two \nthree"])
def test_each_line_answers_the_example_at_its_place(write, make_context, name, content):
    assert texts(write(name, content), make_context("mt", "generate", ROWS)) == (["one", " two ", "three"], ())


@pytest.mark.parametrize("separator", ["\u2028", "\x0b", "\x0c", "\x85", "\x1e"])
def test_only_line_feeds_separate_predictions(write, make_context, separator):
    content = f"one{separator}more\ntwo\nthree\n"
    assert texts(write("out.txt", content), make_context("mt", "generate", ROWS))[0] == [
        f"one{separator}more",
        "two",
        "three",
    ]


def test_empty_lines_are_answers_and_warned_of(write, make_context):
    path = write("out.txt", "one\n\nthree\n")
    expected = ["one", "", "three"], (f"{path}: 1 of 3 predictions are empty, first 'b'",)
    assert texts(path, make_context("summarization", "generate", ROWS)) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("one\ntwo\n", ": 2 lines for 3 examples of the split; expected one line for each, also with --limit"),
        (
            "one\ntwo\nthree\n\n",
            ": 4 lines for 3 examples of the split; expected one line for each, also with --limit;"
            " the last line is empty: remove it",
        ),
        ("", ": the file is empty; expected text"),
        (
            'one\n{"id": "b", "prediction": "two"}\nthree\n',
            ":2: this line is JSON, though the first line is not; expected the same in all lines",
        ),
        (
            '[{"id": "a", "prediction": "one"}]\n',
            ': a JSON array; expected JSON lines, each an object with "id" and "prediction" (a text)',
        ),
    ],
)
def test_text_that_does_not_fit_the_examples_is_refused(problem, make_context, content, expected):
    assert problem(content, make_context("mt", "generate", ROWS)) == expected


def test_classes_stand_on_lines_with_spaces_around_them(write, make_context):
    adapter, _ = prepared(write("out.txt", "good \n bad\n"), make_context("classification", "classify", TEXTS))
    requests = [ClassifyRequest(example_id=name, labels=("good", "bad")) for name in "ab"]
    assert [response.label for response in adapter.answer(requests)] == ["good", "bad"]


@pytest.mark.parametrize("content", ["我  爱  北京\n好\n", "我 爱\u3000北京 \r\n\r\n\r\n好\r\n\r\n"])
def test_segmented_lines_become_labels_of_characters(write, make_context, content):
    adapter, warnings = prepared(write("out.utf8", content), make_context("cws", "label", TEXTS))
    assert warnings == ()
    assert [
        "".join(r.labels) for r in adapter.answer([LabelRequest(example_id="a"), LabelRequest(example_id="b")])
    ] == [
        "SSBE",
        "S",
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            "我 爱 北京\n坏\n",
            ":2: characters of example 'b' changed: character 1 is '坏' (in '坏'), in the text it is '好' (in '好');"
            " expected the same characters, with spaces between words",
        ),
        (
            "我 爱 北京\n\n",
            ":2: characters of example 'b' changed: character 1 is missing, in the text it is '好' (in '好');"
            " expected the same characters, with spaces between words",
        ),
        ("我 爱 北京\n", ": 1 lines for 2 examples of the split; expected one line for each, also with --limit"),
    ],
)
def test_segmented_lines_must_spell_the_texts(problem, make_context, content, expected):
    assert problem(content, make_context("cws", "label", TEXTS)) == expected


QUOTED = '"name[Inn]"\t"An inn."\r\n"name[The ""Sun""]"\t"It is ""The Sun""."\r\n"name[Moon]"\t"A moon."\r\n'


def test_a_table_may_quote_its_fields(write, make_context):
    path = write("out.tsv", f"MR\toutput\r\n{QUOTED}")
    assert texts(path, make_context("mt", "generate", ROWS)) == (["An inn.", 'It is "The Sun".', "A moon."], ())


def test_quotes_inside_an_unquoted_field_stay(write, make_context):
    path = write("out.tsv", 'MR\tOutput\nname[Inn]\t"Inn" is an inn\nname[The "Sun"]\t"Sun" or "Son"\nname[Moon]\t"\n')
    assert texts(path, make_context("mt", "generate", ROWS))[0] == ['"Inn" is an inn', '"Sun" or "Son"', '"']


def test_rows_in_another_order_are_matched_by_their_input(write, make_context):
    path = write("out.tsv", 'source\tprediction\nname[Moon]\tM\nname[Inn]\tI\nname[The "Sun"]\tS\n')
    expected = ["I", "S", "M"], (f"{path}: rows are in another order than the data; matched by their input",)
    assert texts(path, make_context("mt", "generate", ROWS)) == expected


def test_rows_are_matched_by_id(write, make_context):
    path = write("out.tsv", "id\thypothesis\nc\tM\na\tI\nb\tS\n")
    assert texts(path, make_context("mt", "generate", ROWS)) == (["I", "S", "M"], ())


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("ID\toutput\nc\tM\na\tI\nx\tS\n", ":4: id 'x' is not in the split (1 such ids); expected ids of the split"),
        ("id\toutput\na\tM\nb\tI\na\tS\n", ":4: id 'a' is there twice, first on line 2; expected it once"),
        ("id\toutput\na\tM\nb\tI\n", ": 1 of 3 ids of the split have no prediction, first 'c'; expected all"),
        ("id\toutput\n1\tM\n2\tI\n3\tS\n", ": none of its 3 ids is in the split, first '1', '2', '3'"),
    ],
)
def test_a_column_of_ids_never_falls_back_to_the_order_of_rows(problem, make_context, content, expected):
    assert problem(content, make_context("mt", "generate", ROWS), "out.tsv").startswith(expected)


def test_ids_may_stand_in_any_column_but_the_last(write, make_context):
    path = write("out.tsv", "n\tid\toutput\n1\tc\tM\n2\ta\tI\n3\tb\tS\n")
    assert texts(path, make_context("mt", "generate", ROWS)) == (["I", "S", "M"], ())


def test_rows_with_something_else_in_front_are_taken_in_order_with_a_warning(write, make_context):
    path = write("out.tsv", "n\toutput\n1\tI\n2\tS\n3\tM\n")
    warning = f"{path}: the first column holds neither ids nor inputs of the data; rows are taken in order"
    assert texts(path, make_context("mt", "generate", ROWS)) == (["I", "S", "M"], (warning,))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            "MR\toutput\nname[Inn]\tI\n",
            ": 1 rows for 3 examples of the split; expected one row for each, also with --limit",
        ),
        ("MR\toutput\nname[Inn]\tI\n\nonly this\nx\ty\n", ":4: 1 columns; expected 2 as in the header"),
        (
            "MR\toutput\nname[Inn]\tI\nname[Star]\tS\nname[Moon]\tM\n",
            ":3: the input is 'name[Star]'; expected that of example 'b', 'name[The \"Sun\"]' (1 of 3 rows differ)",
        ),
    ],
)
def test_a_table_that_does_not_fit_the_examples_is_refused(problem, make_context, content, expected):
    assert problem(content, make_context("mt", "generate", ROWS), "out.tsv") == expected
