"""Whether answers depend on what else is asked: the same requests in batches of several sizes, in several orders.

A kernel may add up in another order for another shape, so that a number changes in its last digits; a wrong mask or position
changes it altogether. Both are found by asking a model the same questions again and again and comparing its answers.
"""

from __future__ import annotations

import gc
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from evalkit.errors import InvalidInputError
from evalkit.invariance_requests import sample_requests
from evalkit.requests import ModelAdapter, Request, Response, RollingResponse, ScoreResponse
from evalkit.spec import REQUEST_KINDS

BATCH_SIZES: tuple[int | None, ...] = (1, 3, 16, None)
"""None lets the adapter find its own size; the first one, in the order of the requests, gives the answers to compare with."""

ORDERS: tuple[str, ...] = ("as listed", "reversed", "shuffled")

TOLERANCE = 1e-5
"""Largest difference of a log-probability, in nats a token, or of a probability that float32 may show."""

COUNT = 20
"""Requests of a kind: more than the largest batch, so that something is left over."""

Opener: TypeAlias = Callable[[int | None, str], ModelAdapter]
"""Opens the model with a batch size and a policy for texts that are too long."""

Progress: TypeAlias = Callable[[Iterable[Any], int, str], Iterable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariance:
    """What was found for one kind of request."""

    kind: str
    """The request kind."""
    asked: int
    """Requests, each of which was asked once for each batch size and order."""
    failed: int
    """Requests that the model could not answer, as when a text is too long for it."""
    different: int
    """Requests whose text, tags, span or class differed at least once."""
    largest_difference: float | None
    """Largest difference of a number; None where the answers hold none, or one that is no number."""
    unit: str
    """What the number is."""
    where: str | None
    """The first answer that is not the same, with batch size and order; None if all are."""

    @property
    def is_invariant(self) -> bool:
        """Whether no answer differs, and no number by more than it may."""
        return self.where is None


def measure_invariance(
    open_model: Opener,
    *,
    count: int = COUNT,
    tolerance: float = TOLERANCE,
    progress: Progress = lambda items, total, title: items,
) -> list[Invariance]:
    """Ask a model the same requests in batches of every size and in every order.

    Args:
        open_model: Opens the model anew for each batch size.
        count: Requests of a kind.
        tolerance: Largest difference of numbers that counts as none.
        progress: Shows how far the work is.

    Returns:
        One finding for each kind of request that the model answers.

    Raises:
        EvalkitError: The model cannot be opened, or answers no request of a kind.
    """
    found: dict[str, _Finding] = {}
    # Windows are for tags and spans; what reads a text as a whole can only cut it.
    policy = "truncate"
    for size in progress(BATCH_SIZES, len(BATCH_SIZES), "batch sizes"):
        adapter = open_model(size, policy)
        if policy == "truncate" and adapter.supports & {"label", "span"}:
            policy = "window"
            del adapter
            gc.collect()
            adapter = open_model(size, policy)
        for kind in (kind for kind in REQUEST_KINDS if kind in adapter.supports):
            requests = sample_requests(kind, count, adapter.info.details.get("labels") or ())
            finding = found.setdefault(kind, _Finding(kind, requests, tolerance))
            for order in ORDERS:
                finding.compare(_answers(adapter, _ordered(requests, order)), size, order)
        # The next one must find the memory free.
        del adapter
        gc.collect()
    return [finding.summary() for finding in found.values()]


def _ordered(requests: Sequence[Request], order: str) -> Sequence[Request]:
    if order == "reversed":
        return requests[::-1]
    return random.Random(1).sample(requests, len(requests)) if order == "shuffled" else requests


def _answers(adapter: ModelAdapter, requests: Sequence[Request]) -> dict[str, Response]:
    return {response.example_id: response for response in adapter.answer(requests)}


class _Finding:
    """Compares the answers to the requests of one kind with the first ones.

    Args:
        kind: The request kind.
        requests: All that are asked.
        tolerance: Largest difference that counts as none.
    """

    def __init__(self, kind: str, requests: Sequence[Request], tolerance: float) -> None:
        self._kind, self._requests, self._tolerance = kind, requests, tolerance
        self._first: Mapping[str, Response] | None = None
        self._different: set[str] = set()
        self._largest: float | None = None
        self._where: str | None = None

    def compare(self, answers: Mapping[str, Response], size: int | None, order: str) -> None:
        """Take the answers of one batch size and order."""
        if self._first is None:
            self._first = answers
        for example_id, first in self._first.items():
            answer = answers[example_id]
            difference = _difference(_numbers(first), _numbers(answer))
            if difference is not None:
                self._largest = max(difference, self._largest or 0.0)
            is_other = _words(first) != _words(answer)
            if is_other:
                self._different.add(example_id)
            if self._where is None and (is_other or (difference or 0.0) > self._tolerance):
                self._where = f"{example_id} with batch size {size or 'auto'}, {order}"

    def summary(self) -> Invariance:
        """Sum up.

        Raises:
            InvalidInputError: No request was answered, so nothing is known.
        """
        answers = list((self._first or {}).values())
        errors = [answer.error for answer in answers if answer.error is not None]
        if len(errors) == len(self._requests):
            raise InvalidInputError(f"the model answers none of {len(errors)} {self._kind!r} requests: {errors[0]}")
        return Invariance(
            kind=self._kind,
            asked=len(self._requests),
            failed=len(errors),
            different=len(self._different),
            largest_difference=self._largest if self._largest != math.inf else None,
            unit="nats a token" if self._kind in ("score", "rolling") else "probability",
            where=self._where,
        )


def _words(answer: Response) -> tuple[object, ...]:
    """What has to be exactly the same in an answer."""
    names = ("text", "start", "labels", "label", "is_greedy", "token_count", "token_counts", "truncated", "error")
    return tuple(getattr(answer, name, None) for name in names)


def _numbers(answer: Response) -> list[float]:
    """What may differ by rounding: log-probabilities a token, and probabilities."""
    if isinstance(answer, ScoreResponse):
        pairs = zip(answer.logprobs_nats, answer.token_counts, strict=True) if answer.error is None else ()
        return [logprob / max(1, tokens) for logprob, tokens in pairs]
    if isinstance(answer, RollingResponse):
        return [answer.logprob_nats / max(1, answer.token_count)]
    found = (getattr(answer, "no_answer_probability", None), *(getattr(answer, "probabilities", None) or ()))
    return [number for number in found if number is not None]


def _difference(first: Sequence[float], other: Sequence[float]) -> float | None:
    """Largest difference; infinity where numbers are missing or are none, None where there are no numbers."""
    if len(first) != len(other):
        return math.inf
    gaps = [0.0 if one == two else abs(one - two) for one, two in zip(first, other, strict=True)]
    return max((math.inf if math.isnan(gap) else gap for gap in gaps), default=None)
