"""The place of an answer in a context, or no answer.

Letters in shapes: n tokens of a window, d most tokens of an answer, M tokens of a batch, D model width.

References:
    Devlin et al. (2019), "BERT", sections 4.2 and 4.3, and its released code: windows, the length of answers, and the lowest
    score of [CLS] over all windows as that of no answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from evalkit.adapters.encoder.fitting import check_fits, overlapping_windows
from evalkit.adapters.encoder.passages import MaskedTokenizer, Passage, read_each
from evalkit.adapters.encoder.stack import BertStack
from evalkit.adapters.engine.batching import Budget
from evalkit.requests import SpanRequest, SpanResponse
from evalkit.tokenization import Encoding
from evalkit_models.bert_heads import BertForSpans

LONGEST_ANSWER = 30
"""Most tokens of an answer, unless said otherwise (the released code)."""


@dataclass(frozen=True, slots=True)
class FoundSpan:
    """An answer in a context."""

    score: float
    """Logit of its first token as start plus that of its last token as end."""
    first: int
    """Its first token, counted in the context."""
    last: int
    """Its last token."""


@dataclass(frozen=True, slots=True)
class FittedContext:
    """One question and its context as passages, one a window; or why it is skipped."""

    encoded: Encoding
    """The context."""
    windows: tuple[range, ...] = ()
    """Tokens of the context that each passage holds."""
    passages: tuple[Passage, ...] = ()
    """The wanted tokens are [CLS] and those of the context."""
    is_cut: bool = False
    error: str | None = None


class ContextFitter:
    """Turns questions and contexts into passages that fit a model: how they are read, in training and after it.

    Args:
        tokenizer: The model's.
        longest: Tokens that the model takes, special ones included.
        policy: What happens to contexts longer than that.
        longest_answer: Most tokens of an answer, which has to fit into the overlap of two windows.
    """

    def __init__(self, tokenizer: MaskedTokenizer, longest: int, policy: str, longest_answer: int) -> None:
        self._tokenizer, self._longest = tokenizer, longest
        self._policy, self._longest_answer = policy, longest_answer

    def fit(self, question: Sequence[int], encoded: Encoding, example_id: str) -> FittedContext:
        """Make passages of one question and its context.

        Args:
            question: Its tokens.
            encoded: The context.
            example_id: For messages.

        Raises:
            InvalidInputError: They are too long under the policy ``error``.
        """
        frame, longest = self._tokenizer.frame, self._longest
        special = len(frame.pair((), ())[0])
        found = special + len(question) + len(encoded.ids)
        error = check_fits(found, longest, self._policy, example_id, ("window", "truncate"))
        if error is not None:
            return FittedContext(encoded, error=error)
        room = longest - special
        if found > longest:
            # A question never takes more than half of the room, or no context would be left.
            question = question[: max(room // 2, room - len(encoded.ids))]
        size = room - len(question)
        length = len(encoded.ids) if self._policy == "window" else min(len(encoded.ids), size)
        # An answer of the most tokens has to fit into the overlap, or some answers would be in no window.
        step = max(1, min(size // 2, size - self._longest_answer + 1))
        windows = overlapping_windows(length, size, step) if length else []
        return FittedContext(
            encoded,
            tuple(windows),
            tuple(self._passage(question, encoded.ids[window.start : window.stop]) for window in windows),
            is_cut=special + len(question) + length < found,
        )

    def _passage(self, question: Sequence[int], context: Sequence[int]) -> Passage:
        frame = self._tokenizer.frame
        ids, segments = frame.pair(question, context)
        start = len(ids) - len(frame.pair_after) - len(context)
        wanted = (0, *range(start, start + len(context)))
        return Passage(tuple(ids), wanted, segments.index(1) if 1 in segments else None)


class SpanFinder:
    """Answers span requests.

    Args:
        model: Scores each token as start and as end.
        tokenizer: The model's.
        budget: How much is read at once.
        policy: What happens to contexts longer than the model.
        longest: Most tokens of an answer.
    """

    kind: ClassVar[str] = SpanRequest.kind

    def __init__(
        self, model: BertForSpans, tokenizer: MaskedTokenizer, budget: Budget, policy: str, longest: int
    ) -> None:
        self._model, self._longest = model, longest
        self.stack = BertStack(model.bert)
        self._fitter = ContextFitter(tokenizer, self.stack.max_length, policy, longest)
        self._tokenizer, self._budget = tokenizer, budget

    def answer(self, requests: Sequence[SpanRequest]) -> Iterator[SpanResponse]:
        """Find the best span of every request, in order.

        Raises:
            InvalidInputError: A question and its context are too long under the policy ``error``.
        """
        questions = self._tokenizer.ids_of_each([request.question for request in requests])
        contexts: dict[str, Encoding] = {}
        for request in requests:
            if request.context not in contexts:
                contexts[request.context] = self._tokenizer.encode(request.context)
        fitted = [
            self._fitter.fit(question, contexts[request.context], request.example_id)
            for request, question in zip(requests, questions, strict=True)
        ]

        def respond() -> Iterator[SpanResponse]:
            passages = [passage for fit in fitted for passage in fit.passages]
            stream = read_each(passages, self._budget, self._read)
            for request, fit in zip(requests, fitted, strict=True):
                yield self._respond(request, fit, list(islice(stream, len(fit.passages))))

        return respond()

    @torch.inference_mode()
    def _read(self, passages: list[Passage]) -> list[Tensor]:
        ends = self._model.head(self.stack.read(passages))  # two of (M,)
        both = torch.stack(ends).cpu().double()
        return list(torch.split(both, [len(passage.wanted) for passage in passages], dim=1))

    def _respond(self, request: SpanRequest, fit: FittedContext, logits: Sequence[Tensor]) -> SpanResponse:
        if fit.error is not None:
            return SpanResponse(example_id=request.example_id, text=None, error=fit.error)
        best = self._search(request.context, fit, logits)
        chance = self._no_answer(best, logits) if request.allows_no_answer else None
        if best is None or (chance is not None and chance > 0.5):
            return SpanResponse(
                example_id=request.example_id, text="", no_answer_probability=chance, truncated=fit.is_cut
            )
        start, end = fit.encoded.offsets[best.first][0], fit.encoded.offsets[best.last][1]
        return SpanResponse(
            example_id=request.example_id,
            text=request.context[start:end],
            start=start,
            no_answer_probability=chance,
            truncated=fit.is_cut,
        )

    def _search(self, context: str, fit: FittedContext, logits: Sequence[Tensor]) -> FoundSpan | None:
        can_border = torch.tensor([not _is_blank(context[start:end]) for start, end in fit.encoded.offsets])
        found = [
            best_span(scores[0, 1:], scores[1, 1:], can_border, (fit.windows, index), self._longest)
            for index, scores in enumerate(logits)
        ]
        return max((span for span in found if span is not None), key=lambda span: span.score, default=None)

    @staticmethod
    def _no_answer(best: FoundSpan | None, logits: Sequence[Tensor]) -> float:
        """Compare the scores of [CLS] and the best span: above 0.5 where [CLS] has the higher one."""
        if best is None:
            return 1.0
        lead = min(float(scores[0, 0] + scores[1, 0]) for scores in logits) - best.score
        return 1.0 / (1.0 + math.exp(-lead)) if lead > 0 else math.exp(lead) / (1.0 + math.exp(lead))


def best_span(
    starts: Tensor, ends: Tensor, can_border: Tensor, place: tuple[Sequence[range], int], longest: int
) -> FoundSpan | None:
    """Find the span with the highest score in one window, among those for which no other window has more context.

    Args:
        starts: `(n,)`, logit of each token of the window as start.
        ends: `(n,)`, as end.
        can_border: Of each token of the context, whether an answer may begin and end with it.
        place: All windows, and which one this is.
        longest: Most tokens of an answer.

    Returns:
        The earliest and shortest one of equals; None where there is none.
    """
    windows, index = place
    window = windows[index]
    border = can_border[window.start : window.stop]
    width = min(longest, len(window))
    starts, ends = (logits.masked_fill(~border, -math.inf) for logits in (starts, ends))
    reachable = functional.pad(ends, (0, width - 1), value=-math.inf).unfold(0, width, 1)  # (n, d)
    scores = starts[:, None] + reachable
    if len(windows) > 1:
        scores = scores.masked_fill(~_belongs(windows, index, width), -math.inf)
    score, flat = scores.flatten().max(0)
    if score == -math.inf:
        return None
    first, more = divmod(int(flat), width)
    return FoundSpan(float(score), window.start + first, window.start + first + more)


def _belongs(windows: Sequence[range], index: int, width: int) -> Tensor:
    """Say which spans of a window, `(n, d)` by first token and further tokens, have the most context in it."""
    window = windows[index]
    first = torch.arange(window.start, window.stop)[:, None]
    last = first + torch.arange(width)

    def context(other: range) -> Tensor:
        return torch.minimum(first - other.start, other.stop - 1 - last)

    own = context(window)
    belongs = own >= 0
    for number, other in enumerate(windows):
        if number != index and other.start < window.stop and window.start < other.stop:
            belongs &= own > context(other) if number < index else own >= context(other)
    return belongs


def _is_blank(text: str) -> bool:
    return not text or text.isspace()
