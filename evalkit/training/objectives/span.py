"""Finetuning for answers in a context: first and last token, or [CLS] for no answer, as a `span` request asks for it.

References:
    Devlin et al. (2019), "BERT", sections 4.2 and 4.3, and its released code: a window without the answer points at [CLS].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from evalkit.adapters.encoder.passages import Passage
from evalkit.adapters.encoder.spans import LONGEST_ANSWER, ContextFitter
from evalkit.errors import InvalidInputError
from evalkit.requests import Example
from evalkit.tokenization import Encoding, Tokenizer
from evalkit.training.objective import Batch, Loss
from evalkit.training.objectives.losses import summed_loss
from evalkit.training.objectives.rows import passage_batch
from evalkit.training.recipe_objectives import FinetuneOptions
from evalkit.training.sources import TrainingData

NO_ANSWER = (0, 0)
"""Places among the wanted tokens that mean no answer: [CLS], which is the first of them."""


@dataclass(frozen=True, slots=True)
class _Located:
    passage: Passage
    first: int
    """Which of the wanted tokens begins the answer."""
    last: int


class SpanFinetuning:
    """Questions, contexts and the places of answers; a long context in the windows through which it is read when it is scored.

    Args:
        data: Examples of a task with questions.
        tokenizer: The model's.
        max_length: Tokens of a passage, special ones included.
        options: Label smoothing.

    Raises:
        InvalidInputError: No answer is in its context.
    """

    name: ClassVar[str] = "span"

    def __init__(self, data: TrainingData, tokenizer: Tokenizer, max_length: int, options: FinetuneOptions) -> None:
        self._options = options
        self._pad = tokenizer.pad_id if tokenizer.pad_id is not None else 0
        fitter = ContextFitter(tokenizer, max_length, "window", LONGEST_ANSWER)
        questions = tokenizer.ids_of_each([example.inputs["question"] for example in data.examples])
        contexts: dict[str, Encoding] = {}
        self._items: list[_Located] = []
        for example, question in zip(data.examples, questions, strict=True):
            context = example.inputs["context"]
            if context not in contexts:
                contexts[context] = tokenizer.encode(context)
            answer = answer_characters(example, data.answer_starts.get(example.id))
            if example.references and answer is None:
                continue
            tokens = None if answer is None else covering_tokens(contexts[context], *answer)
            fitted = fitter.fit(question, contexts[context], example.id)
            for window, passage in zip(fitted.windows, fitted.passages, strict=True):
                self._items.append(_Located(passage, *_places(tokens, window)))
        if not self._items:
            raise InvalidInputError(
                "no answer of the training data is in its context; expected answers that are cut out of it"
            )

    @property
    def lengths(self) -> Sequence[int]:
        """Tokens of each passage."""
        return [item.passage.length for item in self._items]

    def collate(self, places: Sequence[int], generator: torch.Generator) -> Batch:
        """Put passages below one another; nothing is drawn."""
        items = [self._items[place] for place in places]
        counts = [len(item.passage.wanted) for item in items]
        more = {
            "starts": torch.tensor([item.first for item in items]),
            "ends": torch.tensor([item.last for item in items]),
            "outside": torch.arange(max(counts))[None, :] >= torch.tensor(counts)[:, None],  # (B, n)
        }
        return passage_batch([item.passage for item in items], self._pad, more)

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Point at both ends among the tokens that the answer can have, and [CLS]."""
        tensors = batch.tensors
        hidden = model.bert(tensors["ids"], tensors.get("attention_mask"), tensors.get("segments"))  # type: ignore[operator]
        start, end = model.head(hidden.flatten(0, 1)[tensors["places"]])  # type: ignore[operator]
        losses = []
        for logits, labels in ((start, tensors["starts"]), (end, tensors["ends"])):
            outside = tensors["outside"]
            apart = torch.full(outside.shape, float("-inf"), dtype=torch.float32, device=logits.device)
            losses.append(_pointing_loss(apart.masked_scatter(~outside, logits.float()), labels, self._options))
        return Loss(losses[0].total + losses[1].total, losses[0].target_count + losses[1].target_count)


def _pointing_loss(logits: torch.Tensor, labels: torch.Tensor, options: FinetuneOptions) -> Loss:
    """Cross-entropy over tokens, `(B, n)`; smoothing spreads over those that there are."""
    loss = summed_loss(logits, labels, 0.0)
    if not options.label_smoothing:
        return loss
    logprobs = logits.log_softmax(-1)
    is_there = logprobs > float("-inf")
    spread = -(logprobs.masked_fill(~is_there, 0.0).sum(-1) / is_there.sum(-1)).sum()
    share = options.label_smoothing
    return Loss((1.0 - share) * loss.total + share * spread, loss.target_count)


def answer_characters(example: Example, starts: Sequence[int] | None) -> tuple[int, int] | None:
    """Find where the answer of an example stands: the one that most annotators gave, the first of equals.

    Args:
        example: An example with question, context and answers.
        starts: Where each answer begins, where the data says so; a place where it does not stand is passed over.

    Returns:
        The first character and the one after the last; None where there is no answer, or none that is in the context. Where the
        data has no places, the first occurrence.
    """
    context = example.inputs["context"]
    found: Counter[tuple[int, int]] = Counter()
    given = list(starts) if starts is not None and len(starts) == len(example.references) else None
    for number, answer in enumerate(example.references):
        start = given[number] if given is not None else -1
        if start < 0 or context[start : start + len(answer)] != answer:
            start = context.find(answer)
        if answer and start >= 0:
            found[(start, start + len(answer))] += 1
    return found.most_common(1)[0][0] if found else None


def covering_tokens(encoded: Encoding, start: int, end: int) -> tuple[int, int] | None:
    """Find the first and the last token that share a character with a stretch of text; None where none does."""
    inside = [place for place, (low, high) in enumerate(encoded.offsets) if low < end and high > start]
    return (inside[0], inside[-1]) if inside else None


def _places(tokens: tuple[int, int] | None, window: range) -> tuple[int, int]:
    """Count an answer's tokens among those wanted of a window, or point at [CLS] where it does not hold all of them."""
    if tokens is None or tokens[0] < window.start or tokens[1] >= window.stop:
        return NO_ANSWER
    return 1 + tokens[0] - window.start, 1 + tokens[1] - window.start
