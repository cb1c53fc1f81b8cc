"""Transformers models that label: tags of words, spans of a context, classes of texts.

Letters in shapes: T tokens of a passage, L labels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import torch
from torch import Tensor

from evalkit.adapters.encoder.fitting import check_fits, overlapping_windows, share_out
from evalkit.adapters.encoder.passages import Passage, read_each
from evalkit.adapters.hf_model import HfAdapter
from evalkit.errors import InvalidInputError
from evalkit.requests import (
    ClassifyRequest,
    ClassifyResponse,
    LabelRequest,
    LabelResponse,
    Request,
    SpanRequest,
    SpanResponse,
)

MAX_ANSWER_TOKENS = 30
"""Most tokens of a span, as in BERT's released code."""

_OUTSIDE = ("O", "S")
"""Tags of words that were cut off: outside of all entities, or a word by itself."""


class HfPassageAdapter(HfAdapter):
    """Reads passages and computes what is asked of their tokens."""

    @property
    def _longest(self) -> int:
        return self._loaded.max_length or 1 << 30

    def _check_fits(self, found: int, request: Request, *ways: str) -> str | None:
        return check_fits(found, self._longest, self._settings.on_overflow, request.example_id, ways)

    def _read(self, passages: Sequence[Passage], *names: str) -> list[Tensor]:
        """Run the model over a batch.

        Args:
            passages: At least one.
            names: The model's outputs to take.

        Returns:
            For each passage its outputs, `(T or 1, L)` or, of several outputs, `(T, number of names)`.
        """
        ids, mask = self._loaded.pad([passage.ids for passage in passages])
        inputs = {"input_ids": ids, "attention_mask": mask}
        if any(passage.second_from is not None for passage in passages):
            segments = torch.zeros_like(ids)
            for row, passage in zip(segments, passages, strict=True):
                if passage.second_from is not None:
                    row[passage.second_from : passage.length] = self._tokenizer.frame.second_segment
            inputs["token_type_ids"] = segments
        with torch.inference_mode():
            output = self._loaded.model(**inputs)
        found = [output[name].double().cpu() for name in names]
        return list(found[0] if len(found) == 1 else torch.stack(found, -1))


class HfLabelAdapter(HfPassageAdapter):
    """Answers label requests: the tag of a word is that of its first token."""

    supports: ClassVar[frozenset[str]] = frozenset({"label"})

    def _answer(self, requests: Sequence[LabelRequest]) -> Iterator[LabelResponse]:
        for known in {request.labels for request in requests}:
            self._check_labels(known)
        fitted = [self._fit(request) for request in requests]

        def respond() -> Iterator[LabelResponse]:
            passages = [passage for some, _, _ in fitted for passage in some]
            stream = read_each(passages, self._budget, self._tags)
            for request, (some, unread, error) in zip(requests, fitted, strict=True):
                if error is not None:
                    yield LabelResponse(example_id=request.example_id, labels=None, error=error)
                    continue
                tags = [tag for found in islice(stream, len(some)) for tag in found]
                tags += [self._outside()] * unread if unread else []
                yield LabelResponse(example_id=request.example_id, labels=tuple(tags), truncated=unread > 0)

        return respond()

    def _check_labels(self, known: Sequence[str]) -> None:
        own = self._loaded.labels
        if known and not (set(known) - {"O"}) & set(own):
            raise InvalidInputError(
                f"the model's labels {', '.join(own[:4])}, ... are none of the task's {', '.join(known[:4])}, ...;"
                " write the names that it was trained with into id2label of its config.json"
            )

    def _fit(self, request: LabelRequest) -> tuple[list[Passage], int, str | None]:
        """Split a sentence into passages; gives also how many words are cut off, and why it is skipped."""
        try:
            words = self._tokenizer.words(request.tokens)
        except InvalidInputError as problem:
            raise InvalidInputError(f"example {request.example_id!r}: {problem}") from problem
        frame = self._tokenizer.frame
        special = len(frame.single(()))
        error = self._check_fits(len(words.ids) + special, request, "window", "truncate")
        if error is not None or not words.ids:
            return [], 0, error
        room, length = self._longest - special, len(words.ids)
        if self._settings.on_overflow == "truncate":
            length = min(length, room)
        read = [place for place in words.firsts if place < length]
        windows = overlapping_windows(length, room, max(1, room // 2))
        passages = [
            Passage(
                tuple(frame.single(words.ids[window.start : window.stop])),
                tuple(len(frame.before) + place - window.start for place in share),
            )
            for window, share in zip(windows, share_out(read, windows), strict=True)
            if share
        ]
        return passages, len(words.firsts) - len(read), None

    def _tags(self, passages: Sequence[Passage]) -> list[list[str]]:
        names = self._loaded.labels
        return [
            [names[index] for index in scores[list(passage.wanted)].argmax(-1).tolist()]
            for passage, scores in zip(passages, self._read(passages, "logits"), strict=True)
        ]

    def _outside(self) -> str:
        for tag in _OUTSIDE:
            if tag in self._loaded.labels:
                return tag
        raise InvalidInputError(
            "the model has neither label O nor S for words that are cut off; use --on-overflow window"
        )


@dataclass(frozen=True, slots=True)
class _Context:
    """A question and its context as passages, one a window; or why they are skipped."""

    passages: tuple[Passage, ...] = ()
    """The wanted tokens are those of the context."""
    windows: tuple[range, ...] = ()
    offsets: tuple[tuple[int, int], ...] = ()
    is_cut: bool = False
    error: str | None = None


class HfSpanAdapter(HfPassageAdapter):
    """Answers span requests: the best start and end, against the score of the first token for no answer.

    References:
        Devlin et al. (2019), "BERT", sections 4.2 and 4.3, and its released code.
    """

    supports: ClassVar[frozenset[str]] = frozenset({"span"})

    def _answer(self, requests: Sequence[SpanRequest]) -> Iterator[SpanResponse]:
        questions = self._tokenizer.ids_of_each([request.question for request in requests])
        fitted = [self._fit(request, ids) for request, ids in zip(requests, questions, strict=True)]

        def respond() -> Iterator[SpanResponse]:
            passages = [passage for fit in fitted for passage in fit.passages]
            stream = read_each(passages, self._budget, lambda batch: self._read(batch, "start_logits", "end_logits"))
            for request, fit in zip(requests, fitted, strict=True):
                if fit.error is not None:
                    yield SpanResponse(example_id=request.example_id, text=None, error=fit.error)
                else:
                    yield self._respond(request, fit, list(islice(stream, len(fit.passages))))

        return respond()

    def _fit(self, request: SpanRequest, question: Sequence[int]) -> _Context:
        ids, offsets = self._tokenizer.offsets(request.context)
        frame = self._tokenizer.frame
        special = len(frame.pair((), ())[0])
        found = special + len(question) + len(ids)
        error = self._check_fits(found, request, "window", "truncate")
        if error is not None:
            return _Context(error=error)
        room = self._longest - special
        if found > self._longest:
            # A question never takes more than half of the room, or no context would be left.
            question = question[: max(room // 2, room - len(ids))]
        size = room - len(question)
        length = len(ids) if self._settings.on_overflow == "window" else min(len(ids), size)
        step = max(1, min(size // 2, size - MAX_ANSWER_TOKENS + 1))
        windows = overlapping_windows(length, size, step) if length else []
        passages = []
        for window in windows:
            whole, segments = frame.pair(question, ids[window.start : window.stop])
            start = len(whole) - len(frame.pair_after) - len(window)
            second = segments.index(frame.second_segment) if frame.second_segment else None
            passages.append(Passage(tuple(whole), tuple(range(start, start + len(window))), second))
        is_cut = special + len(question) + length < found
        return _Context(tuple(passages), tuple(windows), tuple(offsets), is_cut)

    def _respond(self, request: SpanRequest, fit: _Context, logits: Sequence[Tensor]) -> SpanResponse:
        best = self._best(request.context, fit, logits)
        chance = None
        if request.allows_no_answer:
            none = min((float(scores[0].sum()) for scores in logits), default=math.inf)
            chance = 1.0 if best is None else 1.0 / (1.0 + math.exp(min(best[0] - none, 700.0)))
        if best is None or (chance is not None and chance > 0.5):
            return SpanResponse(
                example_id=request.example_id, text="", no_answer_probability=chance, truncated=fit.is_cut
            )
        _, start, end = best
        return SpanResponse(
            example_id=request.example_id,
            text=request.context[start:end],
            start=start,
            no_answer_probability=chance,
            truncated=fit.is_cut,
        )

    @staticmethod
    def _best(context: str, fit: _Context, logits: Sequence[Tensor]) -> tuple[float, int, int] | None:
        """Find score and characters of the best span; a span in several windows counts where it has the most context."""
        spans: dict[tuple[int, int], tuple[int, float]] = {}
        for passage, window, scores in zip(fit.passages, fit.windows, logits, strict=True):
            starts, ends = scores[list(passage.wanted)].unbind(-1)
            pairs = (starts[:, None] + ends[None, :]).tolist()
            usable = [not _is_blank(context[slice(*fit.offsets[place])]) for place in window]
            for first in range(len(window)):
                for last in range(first, min(len(window), first + MAX_ANSWER_TOKENS)):
                    if usable[first] and usable[last]:
                        around = min(first, len(window) - 1 - last)
                        span = (window.start + first, window.start + last)
                        if span not in spans or around > spans[span][0]:
                            spans[span] = (around, pairs[first][last])
        if not spans:
            return None
        first, last = min(spans, key=lambda span: (-spans[span][1], span))
        return spans[first, last][1], fit.offsets[first][0], fit.offsets[last][1]


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


class HfClassifyAdapter(HfPassageAdapter):
    """Answers classify requests: a softmax over those of the model's classes that the request allows."""

    supports: ClassVar[frozenset[str]] = frozenset({"classify"})

    def _answer(self, requests: Sequence[ClassifyRequest]) -> Iterator[ClassifyResponse]:
        allowed = {names: self._allowed(names) for names in {request.labels for request in requests}}
        fitted = [self._fit(request) for request in requests]

        def respond() -> Iterator[ClassifyResponse]:
            passages = [passage for passage, _, _ in fitted if passage is not None]
            stream = read_each(passages, self._budget, lambda batch: self._read(batch, "logits"))
            for request, (passage, is_cut, error) in zip(requests, fitted, strict=True):
                if passage is None:
                    yield ClassifyResponse(example_id=request.example_id, label=None, error=error)
                    continue
                places = allowed[request.labels]
                chances = next(stream)[places].softmax(-1)
                yield ClassifyResponse(
                    example_id=request.example_id,
                    label=self._loaded.labels[places[int(chances.argmax())]],
                    probabilities=tuple(chances.tolist()) if request.labels else None,
                    truncated=is_cut,
                )

        return respond()

    def _allowed(self, names: tuple[str, ...]) -> list[int]:
        own = self._loaded.labels
        if len(own) < 2:
            raise InvalidInputError(f"{self.info.ref!r} gives one number and tells no classes apart")
        missing = [name for name in names if name not in own]
        if missing:
            raise InvalidInputError(
                f"the task's class {missing[0]!r} is none of the model's: {', '.join(own)};"
                " write the names that it was trained with into id2label of its config.json"
            )
        return [own.index(name) for name in names or own]

    def _fit(self, request: ClassifyRequest) -> tuple[Passage | None, bool, str | None]:
        """Make a passage of a text or two; gives also whether it is cut, and why it is skipped."""
        frame = self._tokenizer.frame
        texts = [request.text] if request.text_pair is None else [request.text, request.text_pair]
        parts = self._tokenizer.ids_of_each(texts)
        special = len(frame.single(()) if len(parts) == 1 else frame.pair((), ())[0])
        error = self._check_fits(special + sum(map(len, parts)), request, "truncate")
        if error is not None:
            return None, False, error
        is_cut = False
        while special + sum(map(len, parts)) > self._longest:
            max(parts, key=len).pop()
            is_cut = True
        if len(parts) == 1:
            return Passage(tuple(frame.single(parts[0])), (0,)), is_cut, None
        whole, segments = frame.pair(parts[0], parts[1])
        second = segments.index(frame.second_segment) if frame.second_segment else None
        return Passage(tuple(whole), (0,), second), is_cut, None
