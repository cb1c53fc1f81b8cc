"""Requests of each kind with texts of many lengths, in English and Chinese, the same ones each time."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from evalkit.errors import UnknownNameError
from evalkit.requests import (
    ClassifyRequest,
    GenerateRequest,
    LabelRequest,
    Request,
    RollingRequest,
    ScoreRequest,
    SpanRequest,
)

_STORY = (
    "the ferry crosses at dawn and nobody waits on the other side because fog hides both banks until nine while an old man"
    " counts empty baskets , writes 27 in his book , and asks whether rain is coming from the north again"
)
_WORDS = _STORY.split()
_CHINESE = (
    "渡船",
    "清晨",
    "过河",
    "，",
    "对岸",
    "没有",
    "人",
    "等",
    "因为",
    "雾",
    "很",
    "大",
    "。",
    "老人",
    "数",
    "篮子",
)
_LONGEST_WORDS = 48
_LONGEST_ROLLING_WORDS = 24
"""Masked models read a text once for each of its tokens."""
_NEW_TOKENS = 12


def sample_requests(kind: str, count: int, labels: Sequence[str] = ()) -> list[Request]:
    """Make requests of one kind.

    Args:
        kind: One of the request kinds.
        count: How many.
        labels: Classes that the model tells apart, for probabilities of all of them; () where they are not known.

    Raises:
        UnknownNameError: There is no such kind.
    """
    if kind not in _MAKERS:
        raise UnknownNameError("request kind", kind, _MAKERS)
    draw = random.Random(kind)
    return [_MAKERS[kind](draw, place, count, labels) for place in range(count)]


def _text(draw: random.Random, place: int, count: int, longest: int = _LONGEST_WORDS) -> str:
    """Write a text; lengths are spread evenly over a logarithmic scale, short and long ones side by side."""
    spread = (place * 7 % count) / max(1, count - 1)
    length = max(1, round(longest**spread))
    if place % 4 == 3:
        return "".join(draw.choice(_CHINESE) for _ in range(length))
    return " ".join(draw.choice(_WORDS) for _ in range(length))


def _generate(draw: random.Random, place: int, count: int, labels: Sequence[str]) -> GenerateRequest:
    # Answers of different lengths leave a batch at different times.
    limit = _NEW_TOKENS if place % 3 else max(1, place % _NEW_TOKENS)
    return GenerateRequest(example_id=f"generate-{place}", prompt=_text(draw, place, count), max_new_tokens=limit)


def _score(draw: random.Random, place: int, count: int, labels: Sequence[str]) -> ScoreRequest:
    context = _text(draw, place, count)
    continuations = tuple(f" {_text(draw, number, 4, 2)}" for number in range(1 + place % 4))
    return ScoreRequest(example_id=f"score-{place}", context=context, continuations=continuations)


def _rolling(draw: random.Random, place: int, count: int, labels: Sequence[str]) -> RollingRequest:
    return RollingRequest(example_id=f"rolling-{place}", text=_text(draw, place, count, _LONGEST_ROLLING_WORDS))


def _label(draw: random.Random, place: int, count: int, labels: Sequence[str]) -> LabelRequest:
    text = _text(draw, place, count)
    # Chinese is labelled a character at a time.
    tokens = text.split() if text.isascii() else list(text)
    return LabelRequest(example_id=f"label-{place}", tokens=tuple(tokens))


def _span(draw: random.Random, place: int, count: int, labels: Sequence[str]) -> SpanRequest:
    return SpanRequest(
        example_id=f"span-{place}",
        question=_text(draw, place, count, 8),
        context=_text(draw, place, count),
        allows_no_answer=place % 2 == 0,
    )


def _classify(draw: random.Random, place: int, count: int, labels: Sequence[str]) -> ClassifyRequest:
    return ClassifyRequest(example_id=f"classify-{place}", text=_text(draw, place, count), labels=tuple(labels))


_MAKERS: Mapping[str, Callable[[random.Random, int, int, Sequence[str]], Request]] = {
    GenerateRequest.kind: _generate,
    ScoreRequest.kind: _score,
    RollingRequest.kind: _rolling,
    LabelRequest.kind: _label,
    SpanRequest.kind: _span,
    ClassifyRequest.kind: _classify,
}
