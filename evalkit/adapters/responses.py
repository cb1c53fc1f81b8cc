"""Responses that systems without a neural network give: a text or a segmentation, in the form that a request asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from evalkit.errors import InvalidInputError
from evalkit.requests import (
    ClassifyRequest,
    ClassifyResponse,
    GenerateRequest,
    GenerateResponse,
    LabelRequest,
    LabelResponse,
    Request,
    Response,
    SpanRequest,
    SpanResponse,
)

WORD_SEPARATOR = "  "
"""Between the words of a segmented line, as in the files of the SIGHAN bakeoffs."""


def text_response(request: Request, text: str | None, no_answer_probability: float | None = None) -> Response:
    """Answer a request for text, for a span or for a class with a text.

    Raises:
        InvalidInputError: The request asks for something else.
    """
    if isinstance(request, GenerateRequest):
        return GenerateResponse(example_id=request.example_id, text=text)
    if isinstance(request, SpanRequest):
        return SpanResponse(example_id=request.example_id, text=text, no_answer_probability=no_answer_probability)
    if isinstance(request, ClassifyRequest):
        return ClassifyResponse(example_id=request.example_id, label=text)
    raise unanswerable(request, "a text")


def class_response(request: ClassifyRequest, label: str, probabilities: Mapping[str, float]) -> ClassifyResponse:
    """Answer a request for a class, with the probabilities of all classes if the request names them.

    Args:
        request: The request.
        label: The chosen class.
        probabilities: Of each class that the system knows.

    Raises:
        InvalidInputError: The system knows a class that the request does not allow.
    """
    unknown = [name for name in probabilities if request.labels and name not in request.labels]
    if unknown:
        raise InvalidInputError(
            f"class {unknown[0]!r} of the training split is none of the task's; expected {', '.join(request.labels)}"
        )
    return ClassifyResponse(
        example_id=request.example_id,
        label=label,
        probabilities=tuple(probabilities.get(name, 0.0) for name in request.labels) or None,
    )


def words_response(request: Request, words: Sequence[str]) -> Response:
    """Answer a request for labels or for text with the words of a segmented text.

    Raises:
        InvalidInputError: The request asks for something else.
    """
    if isinstance(request, LabelRequest):
        return LabelResponse(example_id=request.example_id, labels=tuple(bmes_labels(words)))
    if isinstance(request, GenerateRequest):
        return GenerateResponse(example_id=request.example_id, text=WORD_SEPARATOR.join(words))
    raise unanswerable(request, "a segmented text")


def unanswerable(request: Request, answer: str) -> InvalidInputError:
    """The error for a request that an answer of the given form does not fit."""
    return InvalidInputError(f"example {request.example_id!r}: {answer} cannot answer a {request.kind!r} request")


def bmes_labels(words: Iterable[str]) -> Iterator[str]:
    """One label a character: begin, middle and end of a word, or a word of one character.

    >>> "".join(bmes_labels(["我", "爱", "北京", "天安门"]))
    'SSBEBME'
    """
    for word in words:
        if len(word) == 1:
            yield "S"
        else:
            yield from ("B", *"M" * (len(word) - 2), "E")


def words_from_bmes(text: str, labels: Sequence[str]) -> list[str]:
    """Cut a text into words at its labels, also where they do not follow each other as they should.

    A word begins at ``B`` and ``S``, and after ``E`` and ``S``.

    >>> words_from_bmes("我爱北京", "SSBE")
    ['我', '爱', '北京']
    """
    words: list[str] = []
    for position, (character, label) in enumerate(zip(text, labels, strict=True)):
        if position == 0 or label in "BS" or labels[position - 1] in "ES":
            words.append(character)
        else:
            words[-1] += character
    return words
