import re

import pytest

from evalkit.adapters import open_adapter
from evalkit.errors import DataError, InvalidInputError
from evalkit.requests import (
    ClassifyRequest,
    ClassifyResponse,
    GenerateRequest,
    GenerateResponse,
    LabelRequest,
    LabelResponse,
    RollingRequest,
    RollingResponse,
    SpanRequest,
    SpanResponse,
)

TRANSLATIONS = [("a", {"source": "eins"}), ("b", {"source": "zwei"})]
SENTENCES = [("a", {"tokens": ("Ann", "ran")}), ("b", {"tokens": ("Rome",)})]
TEXTS = [("a", {"text": "我爱北京"}), ("b", {"text": "好"})]
KINDS = {
    "mt": ("generate", TRANSLATIONS),
    "qa": ("span", [("a", {"question": "Who?", "context": "Ann."}), ("b", {"question": "Where?", "context": "Rome."})]),
    "ner": ("label", SENTENCES),
    "cws": ("label", TEXTS),
    "lm": ("rolling", TEXTS),
    "classification": ("classify", TEXTS),
}


def prepared(path, context):
    adapter = open_adapter("predictions", str(path))
    warnings = adapter.prepare(context)
    return adapter, warnings


@pytest.fixture
def answers(write, make_context):
    """A function that writes JSON lines for a kind and answers one request for each of its two examples."""

    def make(kind, content, request, request_kind=None):
        default, rows = KINDS[kind]
        adapter, warnings = prepared(write("out.jsonl", content), make_context(kind, request_kind or default, rows))
        assert warnings == ()
        return list(adapter.answer([request(name) for name, _ in rows]))

    return make


@pytest.fixture
def problem(write, make_context):
    """A function that writes JSON lines for a kind and gives the error after the file's name."""

    def make(kind, content):
        request_kind, rows = KINDS[kind]
        path = write("out.jsonl", content)
        with pytest.raises(DataError) as error:
            prepared(path, make_context(kind, request_kind, rows))
        message = str(error.value)
        assert message.startswith(str(path))
        assert "\n" not in message
        return message.removeprefix(str(path))

    return make


def test_text_answers_generate_requests_whatever_the_order_of_the_file(answers):
    lines = '{"id": "b", "prediction": "two", "score": 0.5}\n\n{"id": "a", "prediction": "one "}\n'
    assert answers("mt", lines, lambda name: GenerateRequest(example_id=name)) == [
        GenerateResponse(example_id="a", text="one "),
        GenerateResponse(example_id="b", text="two"),
    ]


def test_spans_carry_the_probability_of_no_answer(answers):
    lines = '{"id": "a", "prediction": "", "no_answer_probability": 0.75}\n{"id": "b", "prediction": "Rome"}\n'
    assert answers("qa", lines, lambda name: SpanRequest(example_id=name)) == [
        SpanResponse(example_id="a", text="", no_answer_probability=0.75),
        SpanResponse(example_id="b", text="Rome"),
    ]


def test_tags_answer_label_requests(answers):
    lines = '{"id": "a", "prediction": ["B-PER", "O"]}\n{"id": "b", "prediction": ["B-LOC"]}\n'
    assert answers("ner", lines, lambda name: LabelRequest(example_id=name)) == [
        LabelResponse(example_id="a", labels=("B-PER", "O")),
        LabelResponse(example_id="b", labels=("B-LOC",)),
    ]


def test_entities_as_text_answer_generate_requests(answers):
    lines = '{"id": "a", "prediction": "PER: Ann"}\n{"id": "b", "prediction": "LOC: Rome"}\n'
    responses = answers("ner", lines, lambda name: GenerateRequest(example_id=name), "generate")
    assert [response.text for response in responses] == ["PER: Ann", "LOC: Rome"]


@pytest.mark.parametrize("value", ['"我 爱  北京"', '["我", "爱", "北京"]', '"　我 爱\\t北京 "'])
def test_segmented_text_and_lists_of_words_answer_label_requests(answers, value):
    lines = f'{{"id": "a", "prediction": {value}}}\n{{"id": "b", "prediction": "好"}}\n'
    assert answers("cws", lines, lambda name: LabelRequest(example_id=name)) == [
        LabelResponse(example_id="a", labels=("S", "S", "B", "E")),
        LabelResponse(example_id="b", labels=("S",)),
    ]


def test_segmented_text_answers_generate_requests_with_two_spaces(answers):
    lines = '{"id": "a", "prediction": "我 爱 北京"}\n{"id": "b", "prediction": ["好"]}\n'
    responses = answers("cws", lines, lambda name: GenerateRequest(example_id=name), "generate")
    assert [response.text for response in responses] == ["我  爱  北京", "好"]


def test_log_probabilities_come_summed_or_as_a_list(answers):
    lines = '{"id": "a", "logprob_nats": -3.5, "token_count": 2}\n{"id": "b", "prediction": [-0.1, -0.2, -0.3]}\n'
    assert answers("lm", lines, lambda name: RollingRequest(example_id=name)) == [
        RollingResponse(example_id="a", logprob_nats=-3.5, token_count=2),
        RollingResponse(example_id="b", logprob_nats=pytest.approx(-0.6, abs=1e-15), token_count=3),
    ]


def test_classes_answer_classify_requests(answers):
    lines = '{"id": "a", "prediction": "good"}\n{"id": "b", "prediction": "bad"}\n'
    assert answers("classification", lines, lambda name: ClassifyRequest(example_id=name, labels=("good", "bad"))) == [
        ClassifyResponse(example_id="a", label="good"),
        ClassifyResponse(example_id="b", label="bad"),
    ]


def test_a_class_that_the_task_does_not_have_is_refused_before_the_first_answer(answers):
    lines = '{"id": "a", "prediction": "good"}\n{"id": "b", "prediction": "Bad"}\n'
    with pytest.raises(
        DataError, match=r"out\.jsonl: example 'b': unknown class 'Bad'; did you mean 'bad'\? known: good, bad"
    ):
        answers("classification", lines, lambda name: ClassifyRequest(example_id=name, labels=("good", "bad")))


def test_integer_ids_are_those_of_the_same_digits(write, make_context):
    path = write("out.jsonl", '{"id": 0, "prediction": "null"}\n{"id": 1, "prediction": "eins"}\n')
    adapter, _ = prepared(path, make_context("mt", "generate", [("0", {"source": ""}), ("1", {"source": ""})]))
    assert [r.text for r in adapter.answer([GenerateRequest(example_id="1")])] == ["eins"]


def test_only_some_of_the_examples_may_be_asked(write, make_context):
    path = write("out.jsonl", '{"id": "a", "prediction": "one"}\n{"id": "b", "prediction": "two"}\n')
    adapter, _ = prepared(path, make_context("mt", "generate", TRANSLATIONS))
    assert [r.text for r in adapter.answer([GenerateRequest(example_id="b")])] == ["two"]


def test_empty_outputs_are_counted_and_warned_of(write, make_context):
    path = write("out.jsonl", '{"id": "a", "prediction": " "}\n{"id": "b", "prediction": ""}\n')
    _, warnings = prepared(path, make_context("mt", "generate", TRANSLATIONS))
    assert warnings == (f"{path}: 2 of 2 predictions are empty, first 'a', 'b'",)


A = '{"id": "a", "prediction": "x"}\n'
B = '{"id": "b", "prediction": "x"}\n'
EXPECTS = 'expected one object a line, with "id" and "prediction" (a text)'
ERRORS = {
    "broken JSON": (
        "mt",
        A + '{"id": "b" "prediction": "x"}\n',
        f":2: broken JSON at column 12: Expecting ',' delimiter; {EXPECTS}",
    ),
    "endless number": ("mt", A + "1" * 5000, ":2: JSON that cannot be read: Exceeds the limit"),
    "not an object": ("mt", A + '["b", "x"]\n', f":2: a JSON list; {EXPECTS}"),
    "no id": ("mt", A + '{"ID": "b", "prediction": "x"}\n', ":2: no key 'id'; found 'ID', 'prediction'"),
    "id is a float": ("mt", '{"id": 1.0, "prediction": "x"}\n', ":1: 'id' is float 1.0; expected text"),
    "no prediction": (
        "mt",
        A + '{"id": "b", "output": "x"}\n',
        ":2: no key 'prediction'; found 'id', 'output'; expected \"prediction\" (a text)",
    ),
    "null": ("mt", A + '{"id": "b", "prediction": null}\n', ":2: 'prediction' is null; expected text"),
    "number": ("classification", A + '{"id": "b", "prediction": 1}\n', ":2: 'prediction' is int 1; expected text"),
    "unknown id": (
        "mt",
        A + B + '{"id": "bb", "prediction": "x"}\n',
        ":3: id 'bb' is not in the split (1 such ids); nearest 'b'",
    ),
    "unknown id, nothing near": (
        "mt",
        A + B + '{"id": "zzz", "prediction": "x"}\n',
        ":3: id 'zzz' is not in the split (1 such ids); expected ids of the split, e.g. 'a'",
    ),
    "another task": (
        "mt",
        '{"id": "x1", "prediction": "x"}\n{"id": "x2", "prediction": "x"}\n',
        ": none of its 2 ids is in the split, first 'x1', 'x2'; expected ids of the split, e.g. 'a'; is the file for another"
        " task or split?",
    ),
    "missing id": (
        "mt",
        B,
        ": 1 of 2 ids of the split have no prediction, first 'a'; expected all: a file holds predictions for the"
        " whole split, also with --limit or --sample-ids",
    ),
    "a key twice": (
        "mt",
        B + '{"id": "a", "prediction": "one", "prediction": "uno"}',
        ":2: JSON that cannot be read: key 'prediction' stands twice in one object; expected each key once; " + EXPECTS,
    ),
    "half a character": (
        "mt",
        B + '{"id": "a", "prediction": "x \\ud800 y"}',
        ":2: half a character (a lone \\ud800 to \\udfff); expected whole characters",
    ),
    "more tokens than can be counted": (
        "lm",
        '{"id": "a", "logprob_nats": -1.5, "token_count": 1' + "0" * 400 + "}",
        ":1: 'token_count' is int 1" + "0" * 39 + "; expected the number of tokens that were scored",
    ),
    "twice": ("mt", A + B + "\n" + A, ":4: id 'a' is there twice, first on line 1; expected it once"),
    "probability is text": (
        "qa",
        '{"id": "a", "prediction": "x", "no_answer_probability": "1"}\n',
        ":1: 'no_answer_probability' is str '1'; expected a finite number",
    ),
    "probability is not a number": (
        "qa",
        '{"id": "a", "prediction": "x", "no_answer_probability": NaN}\n',
        ":1: 'no_answer_probability' is float nan; expected a finite number",
    ),
    "too few tags": (
        "ner",
        '{"id": "a", "prediction": ["O"]}\n{"id": "b", "prediction": ["O"]}\n',
        ":1: 1 tags for example 'a'; expected 2, one for each token",
    ),
    "tags as text": (
        "ner",
        '{"id": "a", "prediction": "O O"}\n',
        ":1: 'prediction' is str 'O O'; expected a list of tags, one for each token",
    ),
    "tag is no text": (
        "ner",
        '{"id": "a", "prediction": ["O", 3]}\n',
        ":1: item 2 of 'prediction' is int 3; expected text",
    ),
    "not a tag": (
        "ner",
        '{"id": "a", "prediction": ["O", "person"]}\n',
        ":1: 'person' is no tag; expected O, or a prefix and a type such as B-PER",
    ),
    "characters changed": (
        "cws",
        '{"id": "b", "prediction": "好"}\n{"id": "a", "prediction": "我 爱 南京"}\n',
        ":2: characters of example 'a' changed: character 3 is '南' (in '我爱南京'), in the text it is '北' (in '我爱北京');"
        " expected the same characters, with spaces between words",
    ),
    "characters lost": (
        "cws",
        '{"id": "b", "prediction": "好"}\n{"id": "a", "prediction": "我 爱 北"}\n',
        ":2: characters of example 'a' changed: character 4 is missing, in the text it is '京' (in '我爱北京');"
        " expected the same characters, with spaces between words",
    ),
    "word with a space": (
        "cws",
        '{"id": "a", "prediction": ["我 爱", "北京"]}\n',
        ":1: 'prediction' holds the word '我 爱'; expected words without spaces",
    ),
    "positive": (
        "lm",
        '{"id": "a", "logprob_nats": 3.5, "token_count": 2}\n',
        ":1: 'logprob_nats' is 3.5, above zero; expected a natural logarithm of a probability",
    ),
    "infinite": (
        "lm",
        '{"id": "a", "prediction": [-1, -Infinity]}\n',
        ":1: log-probability 2 is float -inf; expected a finite number",
    ),
    "too large for a float": (
        "lm",
        '{"id": "a", "prediction": [-1' + "0" * 400 + "]}\n",
        f":1: log-probability 1 is int -1{'0' * 38}; expected a finite number",
    ),
    "no tokens": (
        "lm",
        '{"id": "a", "prediction": []}\n',
        ":1: 'prediction' is list []; expected a list of log-probabilities",
    ),
    "no count": (
        "lm",
        '{"id": "a", "logprob_nats": -3.5}\n',
        ":1: no key 'token_count'; found 'id', 'logprob_nats'; expected \"logprob_nats\" and \"token_count\", or"
        ' "prediction" (a list of log-probabilities of tokens)',
    ),
    "count of zero": (
        "lm",
        '{"id": "a", "logprob_nats": -3.5, "token_count": 0}\n',
        ":1: 'token_count' is int 0; expected the number of tokens that were scored",
    ),
}


@pytest.mark.parametrize(("kind", "content", "expected"), ERRORS.values(), ids=ERRORS)
def test_a_wrong_line_is_reported_in_one_line(problem, kind, content, expected):
    message = problem(kind, content)
    assert message.startswith(expected) if expected.endswith("limit") else message == expected


def test_a_request_that_the_answers_do_not_fit_is_an_error(write, make_context):
    adapter, _ = prepared(write("out.jsonl", A + B), make_context("mt", "generate", TRANSLATIONS))
    with pytest.raises(InvalidInputError, match=re.escape("example 'a': a text cannot answer a 'label' request")):
        list(adapter.answer([LabelRequest(example_id="a")]))
