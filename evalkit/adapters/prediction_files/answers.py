"""What a file can say about one example, and how that is found in a JSON value and checked against the example."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from evalkit.errors import InvalidInputError
from evalkit.requests import Example, TaskContext

_TAG = re.compile(r"[A-Z](-.+)?")
_LARGEST_COUNT = 2**53
"""Counts above it are not exact as floating-point numbers."""
_LARGEST_LOGPROB = 1e-6
"""Sums of rounded logarithms may end a little above zero."""


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """A translation, a summary, an answer or a class."""

    text: str | None
    """None where the file has no answer for the example, though its format allows that."""
    no_answer_probability: float | None = None
    """How sure the system is that a question has no answer."""


@dataclass(frozen=True, slots=True)
class TagsAnswer:
    """One tag for each token."""

    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WordsAnswer:
    """The words of a segmented text."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LogprobAnswer:
    """The log-probability of a text."""

    logprob_nats: float
    token_count: int


FileAnswer: TypeAlias = TextAnswer | TagsAnswer | WordsAnswer | LogprobAnswer

Parser: TypeAlias = Callable[[Mapping[str, Any]], FileAnswer]


@dataclass(frozen=True, slots=True)
class Form:
    """How answers to a task are written in JSON."""

    expects: str
    """What an object must hold besides its id, for messages."""
    parse: Parser
    """Takes the object; raises `InvalidInputError` if the answer is not in it."""


def form_of(context: TaskContext) -> Form:
    """The form in which JSON answers the requests of a run."""
    if context.kind == "cws":
        return Form('"prediction" (the segmented text or a list of words)', _parse_words)
    if context.request_kind == "label":
        return Form('"prediction" (a list of tags)', _parse_tags)
    if context.request_kind == "rolling":
        return Form(
            '"logprob_nats" and "token_count", or "prediction" (a list of log-probabilities of tokens)', _parse_logprob
        )
    if context.kind == "qa":
        return Form('"prediction" (the answer as text, "" for no answer)', _parse_answer)
    return Form('"prediction" (a text)', _parse_text)


def check_answer(answer: FileAnswer, example: Example) -> None:
    """Check that an answer has as many tags as its example has tokens, or the same characters as its text.

    Raises:
        InvalidInputError: It has not.
    """
    if isinstance(answer, TagsAnswer):
        tokens = example.inputs["tokens"]
        if len(answer.tags) != len(tokens):
            raise InvalidInputError(
                f"{len(answer.tags)} tags for example {example.id!r}; expected {len(tokens)}, one for each token"
            )
    elif isinstance(answer, WordsAnswer):
        _check_characters("".join(answer.words), example)


def text_of(value: object, what: str) -> str:
    """The text that a JSON value is.

    Raises:
        InvalidInputError: It is something else.
    """
    if not isinstance(value, str):
        raise InvalidInputError(f"{what} is {_describe(value)}; expected text")
    return value


def probability_of(value: object) -> float | None:
    """The number under ``no_answer_probability``, None where there is none.

    Raises:
        InvalidInputError: It is no finite number.
    """
    return None if value is None else _number(value, "'no_answer_probability'")


def check_tag(tag: str) -> None:
    """Check that a text looks like a tag: ``O``, ``B-PER`` and the like.

    Raises:
        InvalidInputError: It does not.
    """
    if not _TAG.fullmatch(tag):
        raise InvalidInputError(f"{tag!r} is no tag; expected O, or a prefix and a type such as B-PER")


def _parse_text(fields: Mapping[str, Any]) -> TextAnswer:
    return TextAnswer(text_of(fields["prediction"], "'prediction'"))


def _parse_answer(fields: Mapping[str, Any]) -> TextAnswer:
    text = text_of(fields["prediction"], "'prediction'")
    return TextAnswer(text, probability_of(fields.get("no_answer_probability")))


def _parse_tags(fields: Mapping[str, Any]) -> TagsAnswer:
    tags = _texts(fields["prediction"], "a list of tags, one for each token")
    for tag in tags:
        check_tag(tag)
    return TagsAnswer(tags)


def _parse_words(fields: Mapping[str, Any]) -> WordsAnswer:
    value = fields["prediction"]
    words = value.split() if isinstance(value, str) else _texts(value, "the segmented text or a list of words")
    for word in words:
        if not word or any(character.isspace() for character in word):
            raise InvalidInputError(f"'prediction' holds the word {word!r}; expected words without spaces")
    return WordsAnswer(tuple(words))


def _parse_logprob(fields: Mapping[str, Any]) -> LogprobAnswer:
    if "logprob_nats" not in fields:
        values = fields["prediction"]
        if not isinstance(values, list) or not values:
            raise InvalidInputError(f"'prediction' is {_describe(values)}; expected a list of log-probabilities")
        each = [_logprob(value, f"log-probability {place}") for place, value in enumerate(values, start=1)]
        return LogprobAnswer(math.fsum(each), len(each))
    count = fields["token_count"]
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= _LARGEST_COUNT:
        raise InvalidInputError(f"'token_count' is {_describe(count)}; expected the number of tokens that were scored")
    return LogprobAnswer(_logprob(fields["logprob_nats"], "'logprob_nats'"), count)


def _logprob(value: object, what: str) -> float:
    number = _number(value, what)
    if number > _LARGEST_LOGPROB:
        raise InvalidInputError(f"{what} is {number!r}, above zero; expected a natural logarithm of a probability")
    return number


def _number(value: object, what: str) -> float:
    problem = f"{what} is {_describe(value)}; expected a finite number"
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise InvalidInputError(problem)
    try:
        number = float(value)
    except OverflowError as error:
        raise InvalidInputError(problem) from error
    if not math.isfinite(number):
        raise InvalidInputError(problem)
    return number


def _texts(value: object, expected: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InvalidInputError(f"'prediction' is {_describe(value)}; expected {expected}")
    return tuple(text_of(item, f"item {place} of 'prediction'") for place, item in enumerate(value, start=1))


def _describe(value: object) -> str:
    if value is None:
        return "null"
    return f"{type(value).__name__} {value!r:.40}"


def _check_characters(found: str, example: Example) -> None:
    text = example.inputs["text"]
    if found == text:
        return
    pairs = enumerate(zip(found, text, strict=False))
    place = next((position for position, (ours, theirs) in pairs if ours != theirs), min(len(found), len(text)))
    raise InvalidInputError(
        f"characters of example {example.id!r} changed: character {place + 1} is {_at(found, place)}, in the text"
        f" it is {_at(text, place)}; expected the same characters, with spaces between words"
    )


def _at(text: str, place: int) -> str:
    return f"{text[place]!r} (in {text[max(place - 5, 0) : place + 6]!r})" if place < len(text) else "missing"
