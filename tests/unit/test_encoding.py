"""Requests and responses survive every way that they are written: as JSON, and as plain values on disk."""

import json
import marshal
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.encoding import (
    REQUESTS,
    RESPONSES,
    pack,
    pack_example,
    request_from_json,
    request_to_json,
    response_from_json,
    response_to_json,
    unpack,
    unpack_example,
)
from evalkit.errors import InvalidInputError
from evalkit.requests import Answer, Example, GenerateRequest, GenerateResponse, LabelRequest, RollingResponse

TEXTS = st.text(st.characters(codec=None), max_size=12)
NUMBERS = st.floats(allow_nan=False)
BY_TYPE = {
    "str": TEXTS,
    "str | None": st.none() | TEXTS,
    "int": st.integers(0, 2**60),
    "int | None": st.none() | st.integers(0, 2**60),
    "float": NUMBERS,
    "float | None": st.none() | NUMBERS,
    "bool": st.booleans(),
    "tuple[str, ...]": st.lists(TEXTS, max_size=3).map(tuple),
    "tuple[str, ...] | None": st.none() | st.lists(TEXTS, max_size=3).map(tuple),
    "tuple[float, ...]": st.lists(NUMBERS, max_size=3).map(tuple),
    "tuple[float, ...] | None": st.none() | st.lists(NUMBERS, max_size=3).map(tuple),
    "tuple[int, ...]": st.lists(st.integers(0, 99), max_size=3).map(tuple),
    "tuple[bool, ...]": st.lists(st.booleans(), max_size=3).map(tuple),
}
INPUTS = st.dictionaries(TEXTS, TEXTS | st.lists(TEXTS, max_size=3).map(tuple) | NUMBERS, max_size=3)


def name_of(kind: object) -> str:
    return kind.__name__ if isinstance(kind, type) and not hasattr(kind, "__args__") else str(kind)


def instances(kind: type) -> st.SearchStrategy:
    values = {one.name: INPUTS if one.name == "inputs" else BY_TYPE[name_of(one.type)] for one in fields(kind)}
    return st.builds(kind, **values)


@given(st.one_of([instances(kind) for kind in REQUESTS.values()]))
def test_every_request_comes_back_from_json(request):
    again = request_from_json(request_to_json(request))
    assert again == request
    assert type(again) is type(request)


@given(st.one_of([instances(kind) for kind in RESPONSES.values()]))
def test_every_response_comes_back_from_json_bit_for_bit(response):
    kind = next(name for name, one in RESPONSES.items() if one is type(response))
    again = response_from_json(response_to_json(response), kind, response.example_id)
    assert again == response
    assert repr(again) == repr(response)


@given(st.one_of([instances(kind) for kind in RESPONSES.values()]) | instances(Answer) | TEXTS | st.none())
def test_every_response_and_prediction_comes_back_from_plain_values(value):
    assert repr(unpack(marshal.loads(marshal.dumps(pack(value))))) == repr(value)


def test_a_response_is_written_without_the_example_so_that_equal_requests_share_it():
    first, second = (GenerateResponse(example_id=name, text="tea", token_count=1) for name in "ab")
    assert response_to_json(first) == response_to_json(second)
    assert response_from_json(response_to_json(first), "generate", "b") == second


def test_what_has_its_default_is_not_written_but_what_only_equals_it_is():
    assert json.loads(response_to_json(RollingResponse(example_id="a", logprob_nats=0.0, token_count=0)))[1] == {
        "logprob_nats": 0.0,
        "token_count": 0,
    }
    assert "stop" not in request_to_json(GenerateRequest(example_id="a"))


def test_an_example_comes_back_with_its_tuples():
    example = Example(id="1", inputs={"tokens": ("a", "b"), "n": 1}, references=(("O", "O"),), cluster="d")
    assert unpack_example(marshal.loads(marshal.dumps(pack_example(example)))) == example


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no response"),
        ("[" * 100_000, "no response"),
        ("{}", "expected a kind and its fields"),
        ('["generate", []]', "expected a kind and its fields"),
        ('["label", {"labels": ["O"]}]', "a response to a 'label' request; expected one to a 'generate' request"),
        ('["generate", {"text": "a", "colour": "red"}]', "unexpected keyword argument 'colour'"),
        ('["generate", {}]', "missing"),
    ],
)
def test_what_is_no_response_to_such_a_request_is_refused(text, problem):
    with pytest.raises(InvalidInputError, match=problem):
        response_from_json(text, "generate", "1")


def test_lists_of_a_request_are_tuples_again():
    request = LabelRequest(example_id="1", inputs={"tokens": ("a", "b")}, tokens=("a", "b"), labels=("O",))
    assert request_from_json(request_to_json(request)).inputs["tokens"] == ("a", "b")
