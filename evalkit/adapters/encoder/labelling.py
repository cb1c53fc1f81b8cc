"""One tag a word: that of its first token.

Letters in shapes: M words of a batch, D model width, L labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import numpy as np
import torch

from evalkit.adapters.encoder.fitting import check_fits, overlapping_windows, share_out
from evalkit.adapters.encoder.passages import MaskedTokenizer, Passage, read_each
from evalkit.adapters.encoder.stack import BertStack
from evalkit.adapters.encoder.transitions import Floats, TagTransitions
from evalkit.adapters.engine.batching import Budget
from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.requests import LabelRequest, LabelResponse
from evalkit_models.bert_heads import BertForTokenLabels

_OUTSIDE = ("O", "S")
"""Tags of a word that nothing is known of: outside of all entities, or a word by itself."""


TAG_DECODINGS = ("auto", "independent", "constrained")
"""Ways to choose tags: as the checkpoint says, each word for itself, or the likeliest sequence that the scheme allows."""

_UNSPACED = frozenset({"zh", "ja"})
"""Languages without spaces between words."""


def word_separator(language: str, kind: str) -> str:
    """What stands between the words of a task in text of its language; words of a segmentation task are characters."""
    return "" if language in _UNSPACED or kind == "cws" else " "


@dataclass(frozen=True, slots=True)
class FittedWords:
    """One sentence as passages; or why it is skipped."""

    passages: tuple[Passage, ...] = ()
    """Their wanted tokens are the first ones of the words, in order."""
    unread: int = 0
    """Words at the end that were cut off."""
    is_cut: bool = False
    """Whether tokens were cut off, be it of the last word only."""
    error: str | None = None


class WordFitter:
    """Turns sentences of words into passages that fit a model: how they are read, in training and after it.

    Args:
        tokenizer: The model's.
        longest: Tokens that the model takes, special ones included.
        policy: What happens to sentences longer than that.
    """

    def __init__(self, tokenizer: MaskedTokenizer, longest: int, policy: str) -> None:
        self._tokenizer, self._longest, self._policy = tokenizer, longest, policy

    def fit(self, words: Sequence[str], separator: str, example_id: str) -> FittedWords:
        """Make passages of one sentence.

        Args:
            words: Its words; none give no passage.
            separator: What stands between words in text of their language.
            example_id: For messages.

        Raises:
            InvalidInputError: A word cannot be a token, or the sentence is too long under the policy ``error``.
        """
        try:
            encoded = self._tokenizer.encode_words(words, separator)
        except InvalidInputError as error:
            raise InvalidInputError(f"example {example_id!r}: {error}") from error
        frame, longest = self._tokenizer.frame, self._longest
        before = len(frame.before)
        room = longest - len(frame.single(()))
        found = len(encoded.ids) + longest - room
        problem = check_fits(found, longest, self._policy, example_id, ("window", "truncate"))
        if problem is not None or not words:
            return FittedWords(error=problem)
        firsts = _first_places(encoded.word_of_token)
        length = len(encoded.ids)
        if self._policy == "truncate":
            length = min(length, room)
        windows = overlapping_windows(length, room, max(1, room // 2))
        read = [place for place in firsts if place < length]
        passages = tuple(
            Passage(
                tuple(frame.single(encoded.ids[window.start : window.stop])),
                tuple(before + place - window.start for place in share),
            )
            for window, share in zip(windows, share_out(read, windows), strict=True)
            if share
        )
        return FittedWords(passages, unread=len(firsts) - len(read), is_cut=length < len(encoded.ids))


class Labeller:
    """Answers label requests.

    Attributes:
        separator: What stands between words in text of the task's language.

    Args:
        model: Tells labels apart.
        labels: Their names, in the order of the model's outputs.
        tokenizer: The model's.
        budget: How much is read at once.
        policy: What happens to sentences longer than the model.
        decoding: How tags are chosen, one of `TAG_DECODINGS`; ``auto`` is independent here.

    Raises:
        UnknownNameError: There is no such decoding.
    """

    kind: ClassVar[str] = LabelRequest.kind

    def __init__(
        self,
        model: BertForTokenLabels,
        labels: Sequence[str],
        tokenizer: MaskedTokenizer,
        budget: Budget,
        policy: str,
        *,
        decoding: str = "auto",
    ) -> None:
        if decoding not in TAG_DECODINGS:
            raise UnknownNameError("tag decoding", decoding, TAG_DECODINGS)
        self._model, self._labels = model, tuple(labels)
        self.stack = BertStack(model.bert)
        self._fitter, self._budget = WordFitter(tokenizer, self.stack.max_length, policy), budget
        self._transitions = TagTransitions(self._labels) if decoding == "constrained" else None
        self.separator = " "

    def answer(self, requests: Sequence[LabelRequest]) -> Iterator[LabelResponse]:
        """Tag every word of every request, in order.

        Raises:
            InvalidInputError: The model has none of the task's tags, a word cannot be a token, or a sentence is too long
                under the policy ``error``.
        """
        for known in {request.labels for request in requests}:
            self._check_labels(known)
        fitted = [self._fit(request) for request in requests]

        def respond() -> Iterator[LabelResponse]:
            passages = [passage for fit in fitted for passage in fit.passages]
            stream = read_each(passages, self._budget, self._read)
            for request, fit in zip(requests, fitted, strict=True):
                if fit.error is not None:
                    yield LabelResponse(example_id=request.example_id, labels=None, error=fit.error)
                    continue
                tags = self._tags([found for found in islice(stream, len(fit.passages)) if len(found)])
                tags += [self._outside()] * fit.unread if fit.unread else []
                yield LabelResponse(example_id=request.example_id, labels=tuple(tags), truncated=fit.is_cut)

        return respond()

    def _check_labels(self, known: Sequence[str]) -> None:
        if known and not (set(known) - {"O"}) & set(self._labels):
            raise InvalidInputError(
                f"the model's labels {', '.join(self._labels[:4])}, ... are none of the task's {', '.join(known[:4])}, ...;"
                " write the names that it was trained with into id2label of its config.json"
            )

    def _fit(self, request: LabelRequest) -> FittedWords:
        fitted = self._fitter.fit(request.tokens, self.separator, request.example_id)
        if fitted.unread:
            self._outside()
        return fitted

    def _outside(self) -> str:
        """Name the tag of words that were cut off."""
        for tag in _OUTSIDE:
            if tag in self._labels:
                return tag
        raise InvalidInputError(
            "the model has neither label O nor S for the words that truncation cuts off; use --on-overflow window"
        )

    def _tags(self, found: Sequence[Floats]) -> list[str]:
        """Choose the tags of a sentence by the logits of its passages' words, `(n, L)` each."""
        if not found:
            return []
        logits = np.concatenate(found)
        chosen = logits.argmax(-1).tolist() if self._transitions is None else self._transitions.best(logits)
        return [self._labels[index] for index in chosen]

    @torch.inference_mode()
    def _read(self, passages: list[Passage]) -> list[Floats]:
        logits = self._model.head(self.stack.read(passages)).double().cpu().numpy()  # (M, D) -> (M, L)
        ends = np.cumsum([len(passage.wanted) for passage in passages])
        return np.split(logits, ends[:-1])


def _first_places(word_of_token: Sequence[int]) -> list[int]:
    return [place for place, word in enumerate(word_of_token) if place == 0 or word_of_token[place - 1] != word]
