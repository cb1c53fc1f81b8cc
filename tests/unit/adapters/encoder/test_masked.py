"""The adapter of BERTs: answers that depend on nothing but the request, and errors before any work."""

import random

import pytest
import torch

from evalkit.errors import EvalkitError, InvalidInputError, InvalidTypeError, UnknownNameError
from evalkit.requests import ClassifyRequest, GenerateRequest, LabelRequest, RollingRequest, SpanRequest
from evalkit.tokenization import train_wordpiece
from evalkit_models.bert import Bert, BertConfig
from evalkit_models.bert_heads import BertForClasses, BertForSpans

KINDS = {"labels": "label", "spans": "span", "classes": "classify", "masked_lm": "rolling"}


@pytest.fixture(scope="module")
def requests_for(write_text):
    """A function that makes requests of many lengths for a head, some of them equal."""

    def make(head, count=30):
        made = []
        for place in range(count):
            words, text = write_text(1 + place * 7 % 5, place % 9), write_text(1 + place % 3, place % 9)
            if head == "labels":
                made.append(LabelRequest(example_id=str(place), tokens=tuple(words.split())))
            elif head == "spans":
                made.append(SpanRequest(example_id=str(place), question="桥", context=words, allows_no_answer=True))
            elif head == "classes":
                pair = None if place % 2 else text
                made.append(ClassifyRequest(example_id=str(place), text=text, text_pair=pair, labels=("arts", "world")))
            else:
                made.append(RollingRequest(example_id=str(place), text=text))
        return made

    return make


@pytest.fixture
def no_collection(monkeypatch):
    """Leave the garbage of the whole test process alone, which takes a second to look through."""
    monkeypatch.setattr("evalkit.adapters.engine.batching.release_memory", lambda: None)


def numbers(answer):
    found = (
        getattr(answer, "no_answer_probability", None),
        getattr(answer, "logprob_nats", None),
        *(getattr(answer, "probabilities", None) or ()),
    )
    return [number for number in found if number is not None]


def words(answer):
    return (
        answer.example_id,
        getattr(answer, "labels", None),
        getattr(answer, "text", None),
        getattr(answer, "start", None),
        getattr(answer, "label", None),
        getattr(answer, "token_count", None),
        answer.truncated,
        answer.error,
    )


def assert_same(answers, expected):
    for got, wanted in zip(answers, expected, strict=True):
        assert words(got) == words(wanted)
        assert numbers(got) == pytest.approx(numbers(wanted), abs=1e-5)


@pytest.mark.parametrize("head", KINDS)
@pytest.mark.parametrize("batch_size", [1, 3, 16, None])
def test_answers_do_not_depend_on_batch_size_order_or_neighbours(
    make_adapter, wordpiece, requests_for, head, batch_size
):
    policy = "truncate" if head == "classes" else "window"
    requests = requests_for(head)
    alone = make_adapter(head, wordpiece, on_overflow=policy, batch_size=1)
    expected = {request.example_id: next(alone.answer([request])) for request in requests}
    adapter = make_adapter(head, wordpiece, on_overflow=policy, batch_size=batch_size)
    for order in (requests, requests[::-1], random.Random(4).sample(requests, len(requests))):
        answers = list(adapter.answer(order))
        assert [answer.example_id for answer in answers] == [request.example_id for request in order]
        assert_same(answers, [expected[request.example_id] for request in order])


@pytest.mark.parametrize("head", KINDS)
def test_a_model_answers_the_kind_of_its_head_only(make_adapter, wordpiece, head):
    adapter = make_adapter(head, wordpiece)
    assert adapter.supports == {KINDS[head]}
    with pytest.raises(InvalidInputError, match=r"'a': .* cannot answer a 'generate' request"):
        adapter.answer([GenerateRequest(example_id="a")])
    assert list(adapter.answer([])) == []


@pytest.mark.parametrize("head", KINDS)
def test_memory_that_runs_out_halves_the_batches_and_loses_nothing(
    make_adapter, wordpiece, requests_for, head, monkeypatch, no_collection
):
    policy = "truncate" if head == "classes" else "window"
    requests = requests_for(head)
    expected = list(make_adapter(head, wordpiece, on_overflow=policy).answer(requests))
    adapter = make_adapter(head, wordpiece, on_overflow=policy)
    stack = adapter._answerer.stack
    read, sizes = stack.read, []

    def read_a_little(passages):
        sizes.append(len(passages))
        if len(passages) > 4:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return read(passages)

    monkeypatch.setattr(stack, "read", read_a_little)
    assert_same(adapter.answer(requests), expected)
    assert max(sizes) > 4 >= sizes[-1]


def test_memory_that_does_not_suffice_for_one_sentence_is_an_error(
    make_adapter, wordpiece, requests_for, monkeypatch, no_collection
):
    adapter = make_adapter("labels", wordpiece, on_overflow="window")

    def fail(passages):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(adapter._answerer.stack, "read", fail)
    with pytest.raises(EvalkitError, match="out of memory with a single sequence"):
        list(adapter.answer(requests_for("labels")))


def test_equal_requests_are_read_once(make_adapter, wordpiece, monkeypatch):
    adapter = make_adapter("labels", wordpiece)
    read, seen = adapter._answerer.stack.read, []
    monkeypatch.setattr(adapter._answerer.stack, "read", lambda passages: seen.extend(passages) or read(passages))
    answers = list(adapter.answer([LabelRequest(example_id=str(n), tokens=("桥", "tide")) for n in range(5)]))
    assert len(seen) == 1
    assert len({answer.labels for answer in answers}) == 1


def test_half_precision_answers_in_its_own_type(make_adapter, make_pair, wordpiece, requests_for):
    import copy

    model = copy.deepcopy(make_pair("masked_lm")[0]).bfloat16()
    requests = requests_for("masked_lm", 5)
    rough = list(make_adapter("masked_lm", wordpiece, model=model, on_overflow="window").answer(requests))
    exact = list(make_adapter("masked_lm", wordpiece, on_overflow="window").answer(requests))
    for got, wanted in zip(rough, exact, strict=True):
        assert got.logprob_nats == pytest.approx(wanted.logprob_nats, rel=0.1)


def test_settings_that_cannot_be_are_refused(make_adapter, wordpiece):
    with pytest.raises(InvalidInputError, match="batch size is 0"):
        make_adapter("labels", wordpiece, batch_size=0)
    with pytest.raises(UnknownNameError, match="did you mean 'truncate'"):
        make_adapter("labels", wordpiece, on_overflow="truncat")
    with pytest.raises(InvalidInputError, match="max_answer_tokens is 0"):
        make_adapter("spans", wordpiece, max_answer_tokens=0)
    with pytest.raises(InvalidInputError, match="5 labels apart, found 2 names"):
        make_adapter("labels", wordpiece, labels=("O", "B-PER"))


def test_models_without_a_head_or_without_room_are_refused(make_adapter, wordpiece):
    shape = BertConfig(vocab_size=470, max_length=2, width=8, layers=1, heads=1, ff_width=8)
    with pytest.raises(InvalidTypeError, match="Bert has no head"):
        make_adapter("labels", wordpiece, model=Bert(shape))
    with pytest.raises(InvalidInputError, match="takes 2 tokens and the tokenizer adds 2"):
        make_adapter("classes", wordpiece, model=BertForClasses(shape, 3))


def test_a_head_that_reads_cls_needs_a_tokenizer_that_puts_it(make_adapter, make_pair, write_text):
    t5 = train_wordpiece([write_text(30)], 300, family="t5")
    for head in ("spans", "classes"):
        with pytest.raises(InvalidInputError, match="no special token before a text"):
            make_adapter(head, t5)
    assert isinstance(make_pair("spans")[0], BertForSpans)
