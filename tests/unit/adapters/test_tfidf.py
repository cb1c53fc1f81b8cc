import pytest

from evalkit.adapters import open_adapter
from evalkit.requests import ClassifyRequest, GenerateRequest, SpanRequest

REVIEWS = [
    ("t1", {"text": "a fine film, fine music"}, ["good"]),
    ("t2", {"text": "fine acting"}, ["good"]),
    ("t3", {"text": "a dull film, dull music"}, ["bad"]),
    ("t4", {"text": "dull acting"}, ["bad"]),
]


@pytest.fixture
def prepared(make_context):
    def make(kind, request_kind, training=None):
        adapter = open_adapter("baseline", "tfidf")
        assert adapter.prepare(make_context(kind, request_kind, [], training=training)) == ()
        return adapter

    return make


def answer(adapter, **request):
    (response,) = adapter.answer([SpanRequest(example_id="a", **request)])
    return response.text


@pytest.mark.parametrize(
    ("question", "context", "expected"),
    [
        (
            "Where was the queen born?",
            "The king ruled. The queen was born in Bath. She died.",
            "The queen was born in Bath.",
        ),
        ("女王出生在哪里？", "国王统治多年。女王出生在巴斯。她走了。", "女王出生在巴斯。"),
        ("???", "One ran. Two sat.", "One ran."),
        ("Who?", "?!", "?!"),
        ("Who?", "", ""),
    ],
)
def test_the_sentence_nearest_to_the_question_answers_it(prepared, question, context, expected):
    adapter = prepared("qa", "span")
    assert answer(adapter, inputs={"question": question, "context": context}) == expected


def test_nothing_in_common_means_no_answer_where_that_is_allowed(prepared):
    adapter = prepared("qa", "span")
    inputs = {"question": "Zebras?", "context": "One ran. Two sat."}
    assert answer(adapter, inputs=inputs, allows_no_answer=True) == ""
    assert answer(adapter, inputs=inputs) == "One ran."


def test_a_summary_is_three_central_sentences_in_their_order(prepared):
    document = "The bank cut rates. Birds sang. The bank said rates fell. Rates at the bank fell again. Tea was late."
    adapter = prepared("summarization", "generate")
    (response,) = adapter.answer([GenerateRequest(example_id="a", inputs={"document": document})])
    assert response.text == "The bank cut rates.\nThe bank said rates fell.\nRates at the bank fell again."


@pytest.mark.parametrize("document", ["", "One. Two. Three."])
def test_a_short_document_is_its_own_summary(prepared, document):
    adapter = prepared("summarization", "generate")
    (response,) = adapter.answer([GenerateRequest(example_id="a", inputs={"document": document})])
    assert response.text == "\n".join(document.split())


@pytest.mark.parametrize(
    ("training", "source", "expected"),
    [
        ([("the red house", "A"), ("a green tree", "B"), ("a green house", "C")], "one green tree", "B"),
        ([("红色的房子", "A"), ("绿色的树", "B")], "一棵绿色的树", "B"),
        ([("the red house", "A"), ("a green tree", "B")], "nothing else", ""),
        ([("one house", "A"), ("one house", "B")], "house", "A"),
    ],
)
def test_a_translation_is_that_of_the_nearest_training_source(prepared, training, source, expected):
    rows = [
        (str(place), {"source": text}, [translation, "other"]) for place, (text, translation) in enumerate(training)
    ]
    adapter = prepared("mt", "generate", rows)
    (response,) = adapter.answer([GenerateRequest(example_id="a", inputs={"source": source})])
    assert response.text == expected


def test_classes_come_with_probabilities_in_the_order_of_the_request(prepared):
    adapter = prepared("classification", "classify", REVIEWS)
    requests = [
        ClassifyRequest(example_id=name, inputs={"text": name, "text_pair": None}, labels=("good", "bad", "new"))
        for name in ("fine film", "dull film")
    ]
    good, bad = adapter.answer(requests)
    assert (good.label, bad.label) == ("good", "bad")
    assert good.probabilities[0] > good.probabilities[1]
    assert sum(good.probabilities) == pytest.approx(1, abs=1e-12)
    assert good.probabilities[2] == 0


def test_both_texts_of_a_pair_count(prepared):
    training = [("1", {"text": "x", "text_pair": "yes"}, ["a"]), ("2", {"text": "x", "text_pair": "no"}, ["b"])]
    adapter = prepared("classification", "generate", training)
    (response,) = adapter.answer([GenerateRequest(example_id="a", inputs={"text": "x", "text_pair": "no"})])
    assert response.text == "b"


def test_training_examples_of_one_class_make_that_class_certain(prepared):
    adapter = prepared("classification", "classify", REVIEWS[:2])
    (response,) = adapter.answer([ClassifyRequest(example_id="a", inputs={"text": "dull"}, labels=("bad", "good"))])
    assert (response.label, response.probabilities) == ("good", (0.0, 1.0))


def test_answers_do_not_depend_on_what_else_is_asked(prepared):
    requests = [
        SpanRequest(
            example_id=name, inputs={"question": f"Who likes {name}?", "context": "Ann likes tea. Bo likes rice."}
        )
        for name in ("tea", "rice", "wine")
    ]
    adapter = prepared("qa", "span")
    together = list(adapter.answer(requests))
    alone = [response for request in reversed(requests) for response in prepared("qa", "span").answer([request])]
    assert together == alone[::-1]
