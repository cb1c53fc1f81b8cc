"""What tells whether answers depend on the batch: on adapters whose answers do, and on some whose do not."""

import math
from dataclasses import replace

import pytest

from evalkit.errors import InvalidInputError
from evalkit.invariance import BATCH_SIZES, measure_invariance
from evalkit.invariance_requests import sample_requests
from evalkit.requests import (
    ClassifyResponse,
    GenerateResponse,
    LabelResponse,
    ModelInfo,
    RollingResponse,
    ScoreResponse,
    SpanResponse,
)
from evalkit.spec import REQUEST_KINDS


def right_answer(request):
    name = request.example_id
    if request.kind == "generate":
        return GenerateResponse(example_id=name, text=request.prompt[::-1], token_count=3)
    if request.kind == "score":
        sizes = tuple(map(len, request.continuations))
        return ScoreResponse(example_id=name, logprobs_nats=tuple(-1.5 * size for size in sizes), token_counts=sizes)
    if request.kind == "rolling":
        return RollingResponse(example_id=name, logprob_nats=-2.0 * len(request.text), token_count=len(request.text))
    if request.kind == "label":
        return LabelResponse(example_id=name, labels=tuple("O" for _ in request.tokens))
    if request.kind == "span":
        return SpanResponse(example_id=name, text=request.context[:3], start=0, no_answer_probability=0.25)
    return ClassifyResponse(example_id=name, label="a", probabilities=(0.75, 0.25))


class Toy:
    """Answers rightly, and lets a fault change what it says to the request at a place of a batch of a size."""

    def __init__(self, size, policy, fault, kinds):
        self.size, self.policy, self.supports = size, policy, frozenset(kinds)
        self.info = ModelInfo(ref="toy", name="toy", digest="", family="toy", details={"labels": ["a", "b"]})
        self._fault = fault

    def answer(self, requests):
        for place, request in enumerate(requests):
            yield self._fault(right_answer(request), self.size, place)


def measure(fault=lambda answer, size, place: answer, kinds=REQUEST_KINDS, opened=None, **settings):
    def open_model(size, policy):
        if opened is not None:
            opened.append((size, policy))
        return Toy(size, policy, fault, kinds)

    return {one.kind: one for one in measure_invariance(open_model, **settings)}


def test_a_model_that_answers_each_request_by_itself_is_invariant():
    found = measure()
    assert list(found) == list(REQUEST_KINDS)
    assert all(one.is_invariant and one.asked == 20 and one.different == one.failed == 0 for one in found.values())
    assert {one.kind for one in found.values() if one.largest_difference is None} == {"generate", "label"}


def changed(**values):
    return lambda answer, size, place: replace(answer, **values) if (size, place) == (16, 19) else answer


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("generate", {"text": "other"}),
        ("generate", {"token_count": 4}),
        ("label", {"labels": ("B",)}),
        ("span", {"text": "other"}),
        ("span", {"start": 1}),
        ("classify", {"label": "b"}),
        ("score", {"is_greedy": (True,)}),
        ("rolling", {"error": "no"}),
    ],
)
def test_one_other_answer_in_one_batch_is_found_and_named(kind, values):
    one = measure(changed(**values), [kind])[kind]
    # The last place of a batch holds one request in each of the three orders.
    assert not one.is_invariant
    assert one.different in (2, 3)
    assert one.where == f"{kind}-19 with batch size 16, as listed"


@pytest.mark.parametrize(
    ("kind", "values", "largest"),
    [
        ("span", {"no_answer_probability": 0.2501}, 1e-4),
        ("classify", {"probabilities": (0.7502, 0.2498)}, 2e-4),
        ("classify", {"probabilities": (0.75, math.nan)}, None),
        ("classify", {"probabilities": None}, None),
    ],
)
def test_a_number_outside_of_the_tolerance_is_found(kind, values, largest):
    one = measure(changed(**values), [kind])[kind]
    assert not one.is_invariant
    assert one.different == 0
    assert one.largest_difference == (None if largest is None else pytest.approx(largest))


@pytest.mark.parametrize("kind", ["score", "rolling"])
def test_log_probabilities_are_compared_a_token(kind):
    def drifting(answer, size, place):
        if size == 1:
            return answer
        if kind == "rolling":
            return replace(answer, logprob_nats=answer.logprob_nats + 8e-6 * answer.token_count)
        shifted = [value + 8e-6 * count for value, count in zip(answer.logprobs_nats, answer.token_counts, strict=True)]
        return replace(answer, logprobs_nats=tuple(shifted))

    one = measure(drifting, [kind])[kind]
    assert one.largest_difference == pytest.approx(8e-6, rel=1e-3)
    assert one.is_invariant
    assert not measure(drifting, [kind], tolerance=7e-6)[kind].is_invariant


def test_each_batch_size_is_opened_and_windows_are_for_tags_and_spans():
    opened = []
    measure(kinds=["generate"], opened=opened)
    assert opened == [(size, "truncate") for size in BATCH_SIZES]
    opened.clear()
    measure(kinds=["label"], opened=opened)
    assert opened == [(1, "truncate"), *((size, "window") for size in BATCH_SIZES)]


def test_a_model_that_answers_nothing_shows_nothing():
    with pytest.raises(InvalidInputError, match="answers none of 20 'rolling' requests: too long"):
        measure(lambda answer, size, place: replace(answer, error="too long"), ["rolling"])


def test_failures_of_some_requests_are_counted():
    found = measure(lambda answer, size, place: replace(answer, error="x") if "-7" in answer.example_id else answer)
    assert all(one.is_invariant and one.failed == 1 for one in found.values())


@pytest.mark.parametrize("kind", REQUEST_KINDS)
def test_requests_differ_in_length_and_are_the_same_each_time(kind):
    requests = sample_requests(kind, 20, ("a", "b"))
    assert requests == sample_requests(kind, 20, ("a", "b"))
    assert len({request.example_id for request in requests}) == 20
    fields = {"generate": "prompt", "score": "context", "rolling": "text", "label": "tokens", "span": "context"}
    lengths = [len(getattr(request, fields.get(kind, "text"))) for request in requests]
    assert len(set(lengths)) > 8
    assert min(lengths) >= 1


def test_an_unknown_kind_of_request_is_refused():
    with pytest.raises(InvalidInputError, match="unknown request kind 'rank'"):
        sample_requests("rank", 3)
