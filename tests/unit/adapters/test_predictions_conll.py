import pytest

from evalkit.adapters import open_adapter
from evalkit.errors import DataError
from evalkit.requests import LabelRequest

ROWS = [("s1", {"tokens": ("#Rome", "calls", "Ann")}), ("s2", {"tokens": ("Bo", "ran")})]
EXPECTED = [("B-LOC", "O", "B-PER"), ("B-PER", "O")]


def tags(path, context):
    adapter = open_adapter("predictions", str(path))
    assert adapter.prepare(context) == ()
    return [
        response.labels for response in adapter.answer([LabelRequest(example_id=name) for name in context.example_ids])
    ]


LAYOUTS = {
    "tabs": "#Rome\tB-LOC\ncalls\tO\nAnn\tB-PER\n\nBo\tB-PER\nran\tO\n",
    "spaces, carriage returns, blank lines": "#Rome B-LOC\r\ncalls  O\r\nAnn B-PER \r\n \r\n\r\nBo B-PER\r\nran O\r\n\r\n",
    "gold and prediction": "#Rome N O B-LOC\ncalls V O O\nAnn N B-PER B-PER\n\nBo N B-PER B-PER\nran V O O",
    "only tags": "B-LOC\nO\nB-PER\n\nB-PER\nO\n",
    "numbers and comments": (
        "# newdoc id = d1\n# text = #Rome calls Ann\n1\t#Rome\tB-LOC\n2\tcalls\tO\n3\tAnn\tB-PER\n\n"
        "# text = Bo ran\n1\tBo\tB-PER\n2\tran\tO\n"
    ),
    "comment before a token with a hash": "# x\n#Rome\tB-LOC\ncalls\tO\nAnn\tB-PER\n\n# y\nBo\tB-PER\nran\tO\n",
    "comments and document marks apart": (
        "-DOCSTART- -X- O\n\n# one\n\n#Rome B-LOC\ncalls O\nAnn B-PER\n\n-DOCSTART- -X- O\n\nBo B-PER\nran O\n\n# end\n"
    ),
}


@pytest.mark.parametrize("content", LAYOUTS.values(), ids=LAYOUTS)
def test_the_last_column_is_the_tag(write, make_context, content):
    assert tags(write("out.conll", content), make_context("ner", "label", ROWS)) == EXPECTED


def test_a_token_of_wide_space_is_a_token(write, make_context):
    rows = [("s1", {"tokens": ("北京", "\u3000", "好")})]
    path = write("out.conll", "北京\tB-LOC\n\u3000\tO\n好\tO\n")
    assert tags(path, make_context("ner", "label", rows)) == [("B-LOC", "O", "O")]


ERRORS = {
    "token": (
        "#Rome\tB-LOC\ncall\tO\nAnn\tB-PER\n\nBo\tB-PER\nran\tO\n",
        ":2: token 'call'; expected 'calls', as in the data",
    ),
    "sentence too short": (
        "#Rome\tB-LOC\ncalls\tO\n\nBo\tB-PER\nran\tO\n",
        ":1: sentence 1 has 2 lines; expected 3, one for each token of example 's1' (the file has 2 sentences, the split 2"
        " examples)",
    ),
    "sentences joined": (
        "#Rome\tB-LOC\ncalls\tO\nAnn\tB-PER\nBo\tB-PER\nran\tO\n",
        ":1: sentence 1 has 5 lines; expected 3, one for each token of example 's1' (the file has 1 sentences, the split 2"
        " examples)",
    ),
    "sentence missing": (
        "#Rome\tB-LOC\ncalls\tO\nAnn\tB-PER\n",
        ": 1 sentences for 2 examples of the split; expected one for each, in order",
    ),
    "sentence too many": (
        "#Rome\tB-LOC\ncalls\tO\nAnn\tB-PER\n\nBo\tB-PER\nran\tO\n\nBo\tO\n",
        ":8: sentence 3 of 3; expected 2 sentences, one for each example of the split",
    ),
    "no tags": (
        "#Rome\ncalls\nAnn\n\nBo\nran\n",
        ":1: last column: '#Rome' is no tag; expected O, or a prefix and a type such as B-PER",
    ),
    "empty tag": (
        "#Rome\tB-LOC\ncalls\t\nAnn\tB-PER\n\nBo\tB-PER\nran\tO\n",
        ":2: last column: 'calls' is no tag; expected O, or a prefix and a type such as B-PER",
    ),
}


@pytest.mark.parametrize(("content", "expected"), ERRORS.values(), ids=ERRORS)
def test_columns_that_do_not_fit_the_examples_are_refused(write, make_context, content, expected):
    path = write("out.conll", content)
    adapter = open_adapter("predictions", str(path))
    with pytest.raises(DataError) as error:
        adapter.prepare(make_context("ner", "label", ROWS))
    assert str(error.value).removeprefix(str(path)) == expected
