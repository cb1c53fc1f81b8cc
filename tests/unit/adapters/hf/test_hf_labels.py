import math

import pytest
import torch

from evalkit.adapters.hf import open_hf
from evalkit.errors import InvalidInputError
from evalkit.requests import ClassifyRequest, LabelRequest, ModelSettings, SpanRequest

TAGS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")


def opened(folder, name, **settings):
    return open_hf(str(folder(name)), ModelSettings(device="cpu", **settings))


def label(*words, labels=TAGS):
    return LabelRequest(example_id="1", tokens=words, labels=labels)


@torch.inference_mode()
@pytest.mark.parametrize(
    ("name", "sentences"),
    [
        ("tags", [("the", "cat", "sat"), ("xyz", "ran"), ("Old",), ("the", "doghouse", "ran", ".")]),
        ("roberta", [("the", "cat", "sat"), ("xyz", "ran")]),
    ],
)
def test_the_tag_of_a_word_is_that_of_its_first_token(folder, plain, name, sentences):
    options = {"add_prefix_space": True} if name == "roberta" else {}
    model, tokenizer = plain(name, "AutoModelForTokenClassification", **options)
    adapter = opened(folder, name, batch_size=3)
    responses = list(adapter.answer([label(*words) for words in sentences]))
    assert len({tag for response in responses for tag in response.labels}) > 1
    for words, response in zip(sentences, responses, strict=True):
        whole = tokenizer(list(words), is_split_into_words=True)
        best = model(torch.tensor([whole["input_ids"]])).logits[0].argmax(-1)
        places = [whole.word_ids().index(index) for index in range(len(words))]
        assert response.labels == tuple(TAGS[int(best[place])] for place in places)


def test_words_that_the_tokenizer_drops_get_a_tag_and_no_words_none(folder):
    adapter = opened(folder, "tags")
    dropped, empty = adapter.answer([label("the", "\u200b", "", "cat"), label()])
    assert (len(dropped.labels), empty.labels) == (4, ())


@torch.inference_mode()
def test_a_long_sentence_goes_through_windows_and_each_word_where_it_has_most_context(folder, plain):
    model, tokenizer = plain("bmes", "AutoModelForTokenClassification")
    text = "我爱北京天安门" * 6
    (response,) = opened(folder, "bmes", on_overflow="window").answer([label(*text, labels=tuple("BMES"))])
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    starts = [0, 11, 20]  # 22 tokens fit beside [CLS] and [SEP]; the last window ends where the text does
    expected = []
    for place in range(42):
        start = max(starts, key=lambda start: (min(place - start, start + 21 - place), -start))
        logits = model(torch.tensor([[2, *ids[start : start + 22], 3]])).logits[0]
        expected.append("BMES"[int(logits[1 + place - start].argmax())])
    assert response.labels == tuple(expected)
    assert len(set(expected)) > 1
    assert not response.truncated


def test_a_long_sentence_follows_the_policy(folder):
    request = label(*["cat"] * 40)
    with pytest.raises(InvalidInputError, match="use --on-overflow window, truncate or skip"):
        opened(folder, "tags").answer([request])
    (skipped,) = opened(folder, "tags", on_overflow="skip").answer([request])
    assert (skipped.labels, "takes 24" in skipped.error) == (None, True)
    (cut,) = opened(folder, "tags", on_overflow="truncate").answer([request])
    assert (len(cut.labels), set(cut.labels[22:]), cut.truncated) == (40, {"O"}, True)


def test_a_model_with_none_of_the_labels_is_refused(folder):
    with pytest.raises(InvalidInputError, match="none of the task's B, M, E, S"):
        opened(folder, "tags").answer([label("a", labels=tuple("BMES"))])


CONTEXT = "The old dog ran to the house, and a cat sat on the mat."


def span(context=CONTEXT, question="who sat on the mat?", **options):
    return SpanRequest(example_id="1", question=question, context=context, **options)


def brute_force(model, tokenizer, request):
    whole = tokenizer(request.question, request.context, return_offsets_mapping=True, return_tensors="pt")
    offsets = whole.pop("offset_mapping")[0].tolist()
    output = model(**whole)
    starts, ends = output.start_logits[0].tolist(), output.end_logits[0].tolist()
    places = [place for place, part in enumerate(whole.sequence_ids()) if part == 1]
    scores = [
        (starts[first] + ends[last], first, last) for first in places for last in places if first <= last < first + 30
    ]
    score, first, last = max(scores)
    none = starts[0] + ends[0]
    return request.context[offsets[first][0] : offsets[last][1]], offsets[first][0], score, none


@torch.inference_mode()
def test_the_best_span_is_found_with_its_place(folder, plain):
    model, tokenizer = plain("spans", "AutoModelForQuestionAnswering")
    requests = [span("A cat sat."), span("The old dog ran to."), span("我爱北京天安门")]
    for request, response in zip(requests, opened(folder, "spans").answer(requests), strict=True):
        text, start, _, _ = brute_force(model, tokenizer, request)
        assert (response.text, response.start, response.no_answer_probability) == (text, start, None)


@torch.inference_mode()
def test_no_answer_is_given_where_the_first_token_scores_higher(folder, plain):
    model, tokenizer = plain("spans", "AutoModelForQuestionAnswering")
    requests = [span(text, allows_no_answer=True) for text in ("a cat sat.", "the dog", "old", "我爱北京", "the mat")]
    for request, response in zip(requests, opened(folder, "spans").answer(requests), strict=True):
        text, _, score, none = brute_force(model, tokenizer, request)
        chance = 1 / (1 + math.exp(score - none))
        assert response.no_answer_probability == pytest.approx(chance, abs=1e-5)
        assert response.text == ("" if chance > 0.5 else text)


def test_no_context_holds_no_answer(folder):
    without, allowed = opened(folder, "spans").answer([span(""), span(" ", allows_no_answer=True)])
    assert (without.text, allowed.text, allowed.no_answer_probability) == ("", "", 1.0)


def test_a_long_context_goes_through_windows_and_its_answer_is_a_part_of_it(folder):
    request = span(CONTEXT * 3)
    with pytest.raises(InvalidInputError, match="on-overflow window, truncate or skip"):
        opened(folder, "spans").answer([request])
    (response,) = opened(folder, "spans", on_overflow="window").answer([request])
    assert request.context[response.start :].startswith(response.text)
    assert (response.text != "", response.truncated) == (True, False)
    (cut,) = opened(folder, "spans", on_overflow="truncate").answer([request])
    assert cut.truncated


@torch.inference_mode()
def test_a_span_in_several_windows_counts_where_it_has_the_most_context(folder, plain):
    model, tokenizer = plain("spans", "AutoModelForQuestionAnswering")
    contexts = [f"{first} {CONTEXT * 2}" for first in ("a", "old", "mat", "the house", "who ?")]
    adapter = opened(folder, "spans", on_overflow="window")
    for context, response in zip(contexts, adapter.answer([span(text) for text in contexts]), strict=True):
        question = tokenizer(span().question)["input_ids"]
        encoded = tokenizer(context, add_special_tokens=False, return_offsets_mapping=True)
        ids, offsets = encoded["input_ids"], encoded["offset_mapping"]
        size = 24 - len(question) - 1
        logits = {}
        for start in sorted({*range(0, len(ids) - size, 1), len(ids) - size}):
            shown = torch.tensor([[*question, *ids[start : start + size], 3]])
            segments = torch.tensor([[0] * len(question) + [1] * (size + 1)])
            output = model(input_ids=shown, token_type_ids=segments)
            logits[start] = (output.start_logits[0, len(question) :], output.end_logits[0, len(question) :])
        best = (-math.inf, 0, 0)
        for first in range(len(ids)):
            for last in range(first, min(first + size, len(ids))):
                around = {start: min(first - start, start + size - 1 - last) for start in logits}
                start = max(around, key=lambda start: (around[start], -start))
                score = float(logits[start][0][first - start] + logits[start][1][last - start])
                best = max(best, (score, -first, -last))
        _, first, last = best
        assert response.text == context[offsets[-first][0] : offsets[-last][1]]


def test_an_answer_neither_begins_nor_ends_with_a_blank(folder):
    contexts = [f"{word}  \n \t {other}   " for word in ("a", "the", "old", "北京") for other in ("cat", "on", "爱")]
    responses = list(opened(folder, "gpt-spans").answer([span(text, question="?") for text in contexts]))
    assert all(response.text and response.text == response.text.strip() for response in responses)


CLASSES = ("good", "bad")


@torch.inference_mode()
@pytest.mark.parametrize("name", ["classes", "gpt-classes"])
def test_classes_get_the_probabilities_of_those_that_are_allowed(folder, plain, name):
    model, tokenizer = plain(name, "AutoModelForSequenceClassification")
    texts = [("the cat sat on", None), ("a dog", None), ("the old house .", None)]
    if name == "classes":
        texts += [("a dog", "the mat"), ("who ?", "a dog ran to the house")]
    requests = [
        ClassifyRequest(example_id=str(i), text=text, text_pair=pair, labels=CLASSES)
        for i, (text, pair) in enumerate(texts)
    ]
    for request, response in zip(requests, opened(folder, name).answer(requests), strict=True):
        inputs = [request.text] if request.text_pair is None else [request.text, request.text_pair]
        logits = model(**tokenizer(*inputs, return_tensors="pt")).logits[0]
        expected = logits[[1, 0]].softmax(-1).tolist()
        assert response.probabilities == pytest.approx(expected, abs=1e-5)
        assert response.label == CLASSES[expected.index(max(expected))]


def test_without_named_classes_the_model_chooses_among_its_own(folder):
    (response,) = opened(folder, "classes").answer([ClassifyRequest(example_id="1", text="a cat")])
    assert response.label in ("bad", "good", "mixed")
    assert response.probabilities is None


def test_a_long_text_is_cut_only_if_asked_for(folder):
    request = ClassifyRequest(example_id="1", text="cat " * 40, text_pair="a dog", labels=CLASSES)
    with pytest.raises(InvalidInputError, match="use --on-overflow truncate or skip"):
        opened(folder, "classes", on_overflow="window").answer([request])
    (response,) = opened(folder, "classes", on_overflow="truncate").answer([request])
    assert (response.truncated, response.label in CLASSES) == (True, True)
    (response,) = opened(folder, "classes", on_overflow="skip").answer([request])
    assert response.label is None


def test_classes_that_the_model_lacks_are_refused(folder):
    request = ClassifyRequest(example_id="1", text="a", labels=("good", "ugly"))
    with pytest.raises(InvalidInputError, match="class 'ugly' is none of the model's: bad, good, mixed"):
        opened(folder, "classes").answer([request])
    with pytest.raises(InvalidInputError, match="gives one number"):
        opened(folder, "one-number").answer([request])
