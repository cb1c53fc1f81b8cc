"""One of several classes, for a text or a pair of texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import torch

from evalkit.adapters.encoder.fitting import check_fits
from evalkit.adapters.encoder.passages import MaskedTokenizer, Passage, read_each
from evalkit.adapters.encoder.stack import BertStack
from evalkit.adapters.engine.batching import Budget
from evalkit.errors import InvalidInputError
from evalkit.requests import ClassifyRequest, ClassifyResponse
from evalkit_models.bert_heads import BertForClasses


@dataclass(frozen=True, slots=True)
class FittedText:
    """One text or pair as a passage; or why it is skipped."""

    passage: Passage | None
    """The wanted token is the first."""
    is_cut: bool = False
    error: str | None = None


class TextFitter:
    """Turns texts and pairs of texts into passages that fit a model: how they are read, in training and after it.

    Args:
        tokenizer: The model's.
        longest: Tokens that the model takes, special ones included.
        policy: What happens to texts longer than that; a class has no windows.
    """

    def __init__(self, tokenizer: MaskedTokenizer, longest: int, policy: str) -> None:
        self._tokenizer, self._longest, self._policy = tokenizer, longest, policy

    def fit(self, text: Sequence[int], second: Sequence[int] | None, example_id: str) -> FittedText:
        """Make a passage of the tokens of one text, or of two.

        Raises:
            InvalidInputError: They are too long under the policies ``error`` and ``window``.
        """
        frame, longest = self._tokenizer.frame, self._longest
        special = len(frame.single(())) if second is None else len(frame.pair((), ())[0])
        found = special + len(text) + len(second or ())
        error = check_fits(found, longest, self._policy, example_id, ("truncate",))
        if error is not None:
            return FittedText(None, error=error)
        if second is None:
            passage = Passage(tuple(frame.single(text[: longest - special])), (0,))
        else:
            kept, kept_second = _pair_lengths(len(text), len(second), longest - special)
            ids, segments = frame.pair(text[:kept], second[:kept_second])
            passage = Passage(tuple(ids), (0,), segments.index(1) if 1 in segments else None)
        return FittedText(passage, is_cut=found > longest)


class Classifier:
    """Answers classify requests: a softmax over those of the model's classes that the request allows.

    Args:
        model: Tells classes apart.
        labels: Their names, in the order of the model's outputs.
        tokenizer: The model's.
        budget: How much is read at once.
        policy: What happens to texts longer than the model; a class has no windows.
    """

    kind: ClassVar[str] = ClassifyRequest.kind

    def __init__(
        self, model: BertForClasses, labels: Sequence[str], tokenizer: MaskedTokenizer, budget: Budget, policy: str
    ) -> None:
        self._model, self._labels = model, tuple(labels)
        self.stack = BertStack(model.bert)
        self._fitter = TextFitter(tokenizer, self.stack.max_length, policy)
        self._tokenizer, self._budget = tokenizer, budget
        self._allowed = cache(self._find_allowed)

    def answer(self, requests: Sequence[ClassifyRequest]) -> Iterator[ClassifyResponse]:
        """Choose a class for every request, in order.

        Raises:
            InvalidInputError: The model lacks a class that a request names, or a text is too long under the policies ``error``
                and ``window``.
        """
        for request in requests:
            self._allowed(request.labels)
        texts = self._tokenizer.ids_of_each([request.text for request in requests])
        seconds = self._tokenizer.ids_of_each([request.text_pair or "" for request in requests])
        fitted = [
            self._fitter.fit(text, None if request.text_pair is None else second, request.example_id)
            for request, text, second in zip(requests, texts, seconds, strict=True)
        ]

        def respond() -> Iterator[ClassifyResponse]:
            stream = read_each([fit.passage for fit in fitted if fit.passage is not None], self._budget, self._read)
            for request, fit in zip(requests, fitted, strict=True):
                if fit.passage is None:
                    yield ClassifyResponse(example_id=request.example_id, label=None, error=fit.error)
                else:
                    yield self._response(request, next(stream), fit.is_cut)

        return respond()

    def _response(self, request: ClassifyRequest, logits: Sequence[float], is_cut: bool) -> ClassifyResponse:
        allowed = self._allowed(request.labels)
        chances = torch.tensor([logits[index] for index in allowed], dtype=torch.float64).softmax(-1).tolist()
        best = max(range(len(allowed)), key=chances.__getitem__)
        return ClassifyResponse(
            example_id=request.example_id,
            label=self._labels[allowed[best]],
            probabilities=tuple(chances) if request.labels else None,
            truncated=is_cut,
        )

    def _find_allowed(self, names: tuple[str, ...]) -> list[int]:
        """Find the model's outputs for the names of a request; for all of its own where the request names none."""
        places = {name: index for index, name in enumerate(self._labels)}
        missing = [name for name in names if name not in places]
        if missing:
            raise InvalidInputError(
                f"the task's class {missing[0]!r} is none of the model's: {', '.join(self._labels)};"
                " write the names that it was trained with into id2label of its config.json"
            )
        return [places[name] for name in names or self._labels]

    @torch.inference_mode()
    def _read(self, passages: list[Passage]) -> list[list[float]]:
        first = self.stack.read(passages)  # (G, D)
        logits: list[list[float]] = self._model.head(self._model.bert.pool(first[:, None])).float().tolist()
        return logits


def _pair_lengths(first: int, second: int, room: int) -> tuple[int, int]:
    """Cut the longer one of two texts until both are equally long, then both.

    >>> _pair_lengths(9, 2, 8), _pair_lengths(9, 9, 7)
    ((6, 2), (3, 4))
    """
    if first + second <= room:
        return first, second
    if first > second:
        shorter = min(second, room // 2)
        return room - shorter, shorter
    shorter = min(first, room // 2)
    return shorter, room - shorter
