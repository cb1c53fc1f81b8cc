"""Requests, responses and predictions as plain values, and back: for the cache, for other processes, and for spools.

The plain values are tuples, texts, numbers and mappings, so that `json` and `marshal` can write them. What comes back from JSON
has tuples where it has lists: requests and responses hold no lists.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import lru_cache
from operator import attrgetter
from typing import Any

from evalkit.errors import InvalidInputError
from evalkit.requests import (
    Answer,
    ClassifyRequest,
    ClassifyResponse,
    Example,
    GenerateRequest,
    GenerateResponse,
    LabelRequest,
    LabelResponse,
    Request,
    Response,
    RollingRequest,
    RollingResponse,
    ScoreRequest,
    ScoreResponse,
    SpanRequest,
    SpanResponse,
)
from evalkit.spool import Form

REQUESTS: Mapping[str, type[Request]] = {
    kind.kind: kind
    for kind in (GenerateRequest, ScoreRequest, RollingRequest, LabelRequest, SpanRequest, ClassifyRequest)
}
"""Request kinds by name."""

RESPONSES: Mapping[str, type[Response]] = {
    "generate": GenerateResponse,
    "score": ScoreResponse,
    "rolling": RollingResponse,
    "label": LabelResponse,
    "span": SpanResponse,
    "classify": ClassifyResponse,
}
"""Responses by the kind of request that they answer."""

_PACKABLE: Mapping[str, type] = {kind.__name__: kind for kind in (*RESPONSES.values(), Answer)}
_CLASSES: Mapping[str, type] = {**_PACKABLE, **{kind.__name__: kind for kind in REQUESTS.values()}}


def request_to_json(request: Request) -> str:
    """A request as one line of JSON."""
    return _write([request.kind, _set_fields(request)])


def request_from_json(text: str) -> Request:
    """Read a request that `request_to_json` wrote."""
    kind, values = _read(text)
    return REQUESTS[kind](**values)


def response_to_json(response: Response) -> str:
    """A response as one line of JSON, without the id of its example: equal requests have one response."""
    values = _set_fields(response)
    del values["example_id"]
    return _write([_kind_of(response), values])


def response_from_json(text: str, kind: str, example_id: str) -> Response:
    """Read a response that `response_to_json` wrote.

    Args:
        text: The JSON.
        kind: Kind of the request that it should answer.
        example_id: Id of that request's example.

    Raises:
        InvalidInputError: It is no response to a request of that kind.
    """
    try:
        found, values = _read(text)
        if found != kind:
            raise InvalidInputError(f"a response to a {found!r} request; expected one to a {kind!r} request")
        return RESPONSES[kind](example_id=example_id, **values)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInputError(f"no response: {error}") from error


def pack(value: object) -> Any:  # noqa: ANN401
    """A response, or a prediction of any form, as values that `marshal` can write."""
    name = type(value).__name__
    return (name, _values_of(name)(value)) if name in _PACKABLE else (None, value)


def unpack(packed: Any) -> Any:  # noqa: ANN401
    """What `pack` was given."""
    name, value = packed
    return value if name is None else _PACKABLE[name](**dict(zip(_names(name), value, strict=True)))


def pack_example(example: Example) -> tuple[Any, ...]:
    """An example as values that `marshal` can write."""
    return example.id, dict(example.inputs), example.references, example.cluster


def unpack_example(packed: tuple[Any, ...]) -> Example:
    """The example that `pack_example` was given."""
    example_id, inputs, references, cluster = packed
    return Example(id=example_id, inputs=inputs, references=references, cluster=cluster)


EXAMPLE = Form(pack_example, unpack_example)
"""How examples are written to disk where memory does not hold them."""


def _kind_of(response: Response) -> str:
    return type(response).__name__.removesuffix("Response").lower()


def _set_fields(value: Request | Response) -> dict[str, Any]:
    """Fields that differ from their defaults, so that a new field changes no old JSON."""
    return {
        name: item
        for name, default in _defaults(type(value).__name__)
        if (item := getattr(value, name)) != default or type(item) is not type(default)
    }


@lru_cache(maxsize=64)
def _defaults(name: str) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (one.name, one.default if one.default_factory is MISSING else one.default_factory())
        for one in fields(_CLASSES[name])
    )


@lru_cache(maxsize=64)
def _names(name: str) -> tuple[str, ...]:
    return tuple(one.name for one in fields(_CLASSES[name]))


@lru_cache(maxsize=64)
def _values_of(name: str) -> Callable[[Any], tuple[Any, ...]]:
    return attrgetter(*_names(name))


def _write(value: object) -> str:
    # ASCII, so that half characters pass too.
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _read(text: str) -> tuple[str, dict[str, Any]]:
    value = json.loads(text)
    if not (isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict)):
        raise InvalidInputError(f"found {text!r:.60}; expected a kind and its fields")
    return value[0], {name: _with_tuples(item) for name, item in value[1].items()}


def _with_tuples(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, list):
        return tuple(_with_tuples(item) for item in value)
    if isinstance(value, dict):
        return {key: _with_tuples(item) for key, item in value.items()}
    return value
