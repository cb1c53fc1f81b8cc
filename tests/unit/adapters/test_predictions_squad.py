import pytest

from evalkit.adapters import open_adapter
from evalkit.errors import DataError
from evalkit.requests import GenerateRequest, SpanRequest, SpanResponse

ROWS = [(name, {"question": "Who?", "context": "Ann and Bo."}) for name in ("q1", "q2", "q3", "q4", "q5")]


@pytest.fixture
def spans(write, make_context):
    def make(content, name="predictions.json"):
        path = write(name, content)
        adapter = open_adapter("predictions", str(path))
        warnings = adapter.prepare(make_context("qa", "span", ROWS))
        requests = [SpanRequest(example_id=name) for name, _ in ROWS]
        return list(adapter.answer(requests)), [warning.removeprefix(f"{path}: ") for warning in warnings]

    return make


@pytest.mark.parametrize("name", ["predictions.json", "predictions.json.gz"])
@pytest.mark.parametrize("space", ["", "\n", "\r\n  "])
def test_an_object_of_ids_and_texts_answers_spans(spans, name, space):
    content = f'{{{space}"q1": "Ann",{space}"q2": "",{space}"q3": "c",{space}"q4": "d",{space}"q5": "e"{space}}}'
    responses, warnings = spans(content, name)
    assert [response.text for response in responses] == ["Ann", "", "c", "d", "e"]
    assert warnings == []


def test_missing_and_unknown_ids_are_counted_and_the_missing_ones_not_answered(spans):
    responses, warnings = spans('{"x": "?", "q5": "e", "y": "?"}')
    assert [response.text for response in responses] == [None, None, None, None, "e"]
    assert warnings == [
        "2 of 3 ids are not in the split, first 'x', 'y'; left out",
        "4 of 5 ids of the split have no prediction, first 'q1', 'q2', 'q3'; counted as not answered",
    ]


@pytest.mark.parametrize(
    "content",
    [
        '{"q1": {"prediction_text": "Ann", "no_answer_probability": 0.25}}',
        '[{"id": "q1", "prediction_text": "Ann", "no_answer_probability": 0.25}]',
        '[\n {"id": "q1", "prediction_text": "Ann", "no_answer_probability": 0.25}\n]\n',
    ],
)
def test_objects_with_probabilities_are_read(spans, content):
    responses, _ = spans(content)
    assert responses[0] == SpanResponse(example_id="q1", text="Ann", no_answer_probability=0.25)


def test_json_lines_are_not_taken_for_an_object_of_answers(spans):
    lines = "".join(f'{{"id": "{name}", "prediction": "Ann"}}\n' for name, _ in ROWS)
    responses, warnings = spans(lines, "out.jsonl")
    assert [response.text for response in responses] == ["Ann"] * 5
    assert warnings == []


def test_json_lines_with_other_keys_in_front_are_json_lines(spans):
    lines = "".join(f'{{"model": "m", "id": "{name}", "prediction": "Bo"}}\n' for name, _ in ROWS)
    assert spans(lines)[0][0].text == "Bo"


def test_answers_also_answer_generate_requests(write, make_context):
    adapter = open_adapter("predictions", str(write("p.json", '{"q1": "Ann"}')))
    adapter.prepare(make_context("qa", "generate", ROWS[:1]))
    assert [response.text for response in adapter.answer([GenerateRequest(example_id="q1")])] == ["Ann"]


FORM = 'expected {id: answer text}, a list of {"id", "prediction_text"}, or JSON lines with "id" and "prediction"'
ERRORS = {
    "broken": ('{"q1": "Ann",\n "q2" "Bo"}', f":2: broken JSON: Expecting ':' delimiter at column 7; {FORM}"),
    "text": (
        "Ann\nBo\n",
        ": not JSON: the first line is 'Ann'; expected {id: answer text} or JSON lines, each an object with \"id\" and"
        ' "prediction" (the answer as text, "" for no answer)',
    ),
    "twice": ('{"q1": "Ann", "q1": "Bo"}', ": id 'q1' is there twice; expected it once"),
    "null": ('{"q1": null}', ": the prediction for 'q1' is null; expected text"),
    "list of texts": ('["Ann"]', ': item 1 of the list is \'Ann\'; expected {"id", "prediction_text"}'),
    "no text": ('{"q1": {"text": "Ann"}}', f": the prediction for 'q1' has no 'prediction_text'; {FORM}"),
    "other ids": (
        '{"x": "Ann"}',
        ": none of its 1 ids is in the split, first 'x'; expected ids of the split, e.g. 'q1'; is the file for another task"
        " or split?",
    ),
    "data file": (
        '{"version": "1.1", "data": []}',
        ": the prediction for 'data' is list []; expected text",
    ),
    "half a character": (
        '{"q1": "x \\udc00"}',
        ": half a character (a lone \\ud800 to \\udfff); expected whole characters",
    ),
    "a key of an item twice": (
        '[{"id": "q1", "prediction_text": "Ann", "prediction_text": "Bo"}]',
        ": an object has a key twice: 'id', 'prediction_text', 'prediction_text'; expected it once",
    ),
    "second object": ('{"q1": "Ann"}\n{"q2": "Bo"}', f":2: broken JSON: Extra data at column 1; {FORM}"),
}


@pytest.mark.parametrize(("content", "expected"), ERRORS.values(), ids=ERRORS)
def test_a_wrong_file_is_reported_in_one_line(write, make_context, content, expected):
    path = write("predictions.json", content)
    adapter = open_adapter("predictions", str(path))
    with pytest.raises(DataError) as error:
        adapter.prepare(make_context("qa", "span", ROWS))
    assert str(error.value).removeprefix(str(path)) == expected
