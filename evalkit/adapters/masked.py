"""The adapter of BERT and RoBERTa: tags, spans, classes and pseudo-log-likelihoods, by the head that the model has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from evalkit.adapters.encoder.classes import Classifier
from evalkit.adapters.encoder.gaps import GapScorer
from evalkit.adapters.encoder.labelling import Labeller, word_separator
from evalkit.adapters.encoder.passages import MaskedTokenizer
from evalkit.adapters.encoder.spans import LONGEST_ANSWER, SpanFinder
from evalkit.adapters.encoder.stack import BertStack
from evalkit.adapters.engine.batching import Budget
from evalkit.adapters.engine.overflow import check_policy
from evalkit.adapters.responses import unanswerable
from evalkit.errors import InvalidInputError, InvalidTypeError
from evalkit.requests import ModelInfo, ModelSettings, Request, Response, TaskContext
from evalkit_models.bert_heads import BertForClasses, BertForMaskedLm, BertForSpans, BertForTokenLabels, BertWithHead

if TYPE_CHECKING:
    from torch import nn


class _Answerer(Protocol):
    kind: ClassVar[str]
    stack: BertStack

    def answer(self, requests: Sequence[Any]) -> Iterator[Response]: ...


class MaskedAdapter:
    """Answers the one kind of request that its model's head is for.

    Sentences and contexts longer than the model go through overlapping windows under the policy ``window``; what a token is
    asked for is read where the token has the most context on its shorter side. Whole texts always go through windows, and
    texts to classify never.

    Args:
        model: A BERT with a head, on its device and with its type.
        tokenizer: The model's tokenizer.
        info: What the record says about the model.
        settings: Batch size and overflow policy.
        labels: Names of what a head for token labels or classes tells apart, in the order of its outputs.
        max_answer_tokens: The most tokens of an answer that is a span.

    Raises:
        InvalidInputError: A setting has a value that it cannot have, the labels are not as many as the head's outputs, the
            model has no room for text, or the tokenizer lacks the [CLS] or mask token that the head needs.
        InvalidTypeError: The model has no head that answers.
    """

    def __init__(
        self,
        model: nn.Module,
        tokenizer: MaskedTokenizer,
        info: ModelInfo,
        settings: ModelSettings,
        labels: Sequence[str] = (),
        *,
        max_answer_tokens: int = LONGEST_ANSWER,
    ) -> None:
        check_policy(settings.on_overflow)
        if settings.batch_size is not None and settings.batch_size < 1:
            raise InvalidInputError(f"batch size is {settings.batch_size}; expected at least 1, or auto")
        if max_answer_tokens < 1:
            raise InvalidInputError(f"max_answer_tokens is {max_answer_tokens}; expected at least 1")
        if not isinstance(model, BertWithHead):
            raise InvalidTypeError(f"{type(model).__name__} has no head that answers; expected a BERT with one")
        _check_frame(model, tokenizer)
        self.info = info
        model.eval()
        budget = Budget(model.bert.tokens.weight.device, settings.batch_size)
        self._answerer = _by_head(model, tokenizer, budget, settings, labels, max_answer_tokens)
        if settings.compile:
            self._answerer.stack.compile()

    @property
    def supports(self) -> frozenset[str]:
        """The request kind that the head answers."""
        return frozenset({self._answerer.kind})

    def prepare(self, context: TaskContext) -> tuple[str, ...]:
        """Learn how words are written in the task's language."""
        if isinstance(self._answerer, Labeller):
            self._answerer.separator = word_separator(context.language, context.kind)
        return ()

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Answer every request, in order, as soon as it and all before it are known.

        All texts are split into tokens and made to fit first, so that what cannot be answered is known before any work.

        Raises:
            InvalidInputError: A request is of another kind, is too long under the policy ``error``, or asks for labels that
                are not the model's.
        """
        for request in requests:
            if request.kind != self._answerer.kind:
                raise unanswerable(request, f"a model for {self._answerer.kind!r} requests")
        return self._answerer.answer(requests)


def _by_head(
    model: BertWithHead,
    tokenizer: MaskedTokenizer,
    budget: Budget,
    settings: ModelSettings,
    labels: Sequence[str],
    max_answer_tokens: int,
) -> _Answerer:
    policy = settings.on_overflow
    if isinstance(model, BertForTokenLabels):
        _check_labels(labels, model.head.out.out_features)
        return Labeller(model, labels, tokenizer, budget, policy, decoding=settings.tag_decoding)
    if isinstance(model, BertForClasses):
        _check_labels(labels, model.head.out.out_features)
        return Classifier(model, labels, tokenizer, budget, policy)
    if isinstance(model, BertForSpans):
        return SpanFinder(model, tokenizer, budget, policy, max_answer_tokens)
    if isinstance(model, BertForMaskedLm):
        return GapScorer(model, tokenizer, budget)
    raise InvalidTypeError(f"{type(model).__name__} has a head that is not known here")


def _check_frame(model: BertWithHead, tokenizer: MaskedTokenizer) -> None:
    frame, longest = tokenizer.frame, model.config.max_length
    is_pair = isinstance(model, BertForSpans)
    special = len(frame.pair((), ())[0] if is_pair else frame.single(()))
    if longest <= special:
        raise InvalidInputError(
            f"the model takes {longest} tokens and the tokenizer adds {special} special ones, so there is no room for text"
        )
    if isinstance(model, BertForSpans | BertForClasses) and not (frame.pair_before if is_pair else frame.before):
        raise InvalidInputError(
            "the tokenizer puts no special token before a text; the model's head reads its hidden state"
        )


def _check_labels(labels: Sequence[str], outputs: int) -> None:
    if len(labels) != outputs:
        raise InvalidInputError(
            f"the model tells {outputs} labels apart, found {len(labels)} names; expected one for each"
        )
