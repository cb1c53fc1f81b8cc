import pytest

from evalkit.adapters import open_adapter
from evalkit.errors import InvalidInputError
from evalkit.requests import GenerateRequest, LabelRequest, SpanRequest

ASKED = {
    "mt": {"source": "Guten Tag."},
    "summarization": {"document": "One. Two! Three? Four."},
    "qa": {"question": "Who came?", "context": "Ann came. Bo left."},
    "ner": {"tokens": ("Ann", "met", "Bo")},
    "cws": {"text": "北京真好"},
}


def request(kind, request_kind, name="a"):
    inputs = ASKED[kind]
    if request_kind == "label":
        return LabelRequest(example_id=name, inputs=inputs, tokens=tuple(inputs.get("tokens", inputs.get("text"))))
    if request_kind == "span":
        return SpanRequest(example_id=name, inputs=inputs, question=inputs["question"], context=inputs["context"])
    return GenerateRequest(example_id=name, inputs=inputs, prompt="Translate: ")


@pytest.mark.parametrize(
    ("baseline", "kind", "request_kind", "expected"),
    [
        ("empty", "mt", "generate", ""),
        ("empty", "summarization", "generate", ""),
        ("empty", "qa", "span", ""),
        ("empty", "qa", "generate", ""),
        ("empty", "ner", "label", ("O", "O", "O")),
        ("empty", "cws", "label", ("B", "M", "M", "E")),
        ("empty", "cws", "generate", "北京真好"),
        ("copy", "mt", "generate", "Guten Tag."),
        ("copy", "summarization", "generate", "One. Two! Three? Four."),
        ("copy", "qa", "span", "Ann came. Bo left."),
        ("copy", "cws", "label", ("B", "M", "M", "E")),
        ("lead-3", "summarization", "generate", "One.\nTwo!\nThree?"),
    ],
)
def test_baselines_that_learn_nothing_answer_without_a_training_split(
    make_context, baseline, kind, request_kind, expected
):
    adapter = open_adapter("baseline", baseline)
    assert adapter.prepare(make_context(kind, request_kind, [("a", ASKED[kind])])) == ()
    (response,) = adapter.answer([request(kind, request_kind)])
    assert response.example_id == "a"
    assert (response.labels if request_kind == "label" else response.text) == expected


def test_answers_keep_the_order_and_the_ids_of_the_requests(make_context):
    adapter = open_adapter("baseline", "copy")
    adapter.prepare(make_context("mt", "generate", []))
    requests = [GenerateRequest(example_id=name, inputs={"source": f"text {name}"}) for name in ("z", "a", "m")]
    assert [(r.example_id, r.text) for r in adapter.answer(requests)] == [
        ("z", "text z"),
        ("a", "text a"),
        ("m", "text m"),
    ]


@pytest.mark.parametrize(
    ("baseline", "kind", "able"),
    [
        ("lead-3", "ner", "empty, majority, max-match"),
        ("empty", "classification", "majority, tfidf"),
        ("max-match", "mt", "empty, copy, tfidf"),
        ("copy", "lm", "ngram"),
        ("ngram", "summarization", "empty, copy, lead-3, tfidf"),
        ("tfidf", "cws", "empty, copy, majority, max-match"),
        ("majority", "mt", "empty, copy, tfidf"),
    ],
)
def test_a_baseline_that_cannot_answer_a_task_names_those_that_can(make_context, baseline, kind, able):
    with pytest.raises(InvalidInputError) as error:
        open_adapter("baseline", baseline).prepare(make_context(kind, "generate", []))
    assert str(error.value) == f"baseline {baseline!r} does not answer {kind} tasks; baselines that do: {able}"


def test_a_baseline_says_by_which_requests_it_answers(make_context):
    with pytest.raises(InvalidInputError) as error:
        open_adapter("baseline", "majority").prepare(make_context("ner", "generate", []))
    assert str(error.value) == "baseline 'majority' answers ner tasks by label requests, not by generate"


@pytest.mark.parametrize("document", ["", " \n ", "no end"])
def test_lead_3_of_a_short_document_is_all_of_it(make_context, document):
    adapter = open_adapter("baseline", "lead-3")
    adapter.prepare(make_context("summarization", "generate", []))
    (response,) = adapter.answer([GenerateRequest(example_id="a", inputs={"document": document})])
    assert response.text == document.strip()
