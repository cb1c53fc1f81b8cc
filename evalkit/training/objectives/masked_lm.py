"""Masked language modelling: hidden tokens from both sides, and if wanted whether a second text follows the first.

References:
    Devlin et al. (2019), "BERT", section 3.1.
    Liu et al. (2019), "RoBERTa", section 4.1: masks that change with every pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from evalkit.errors import InvalidInputError
from evalkit.tokenization import Tokenizer
from evalkit.training.objective import Batch, Loss
from evalkit.training.objectives.losses import summed_loss
from evalkit.training.objectives.masking import Masked, Masking
from evalkit.training.objectives.passages import Drawn, SentencePairs, TextWindows
from evalkit.training.objectives.rows import PADDING_DOCUMENT, padded, padding_masks, shared_rows
from evalkit.training.recipe_objectives import MaskedLmOptions
from evalkit.training.texts import Document


class MaskedLm:
    """Texts with tokens to be guessed.

    Args:
        documents: What to learn from; for pairs a document's lines are its sentences.
        tokenizer: The model's; with a mask token.
        max_length: Tokens of a sequence, special ones included.
        options: Rates, whole words, pairs, packing.

    Raises:
        InvalidInputError: There is no token to learn from, no mask token, or no second text for pairs.
    """

    name: ClassVar[str] = MaskedLmOptions.kind

    def __init__(
        self, documents: Sequence[Document], tokenizer: Tokenizer, max_length: int, options: MaskedLmOptions
    ) -> None:
        self._length, self._options = max_length, options
        self._masking = Masking(tokenizer, options)
        self._pad = tokenizer.pad_id if tokenizer.pad_id is not None else 0
        self._texts: TextWindows | SentencePairs
        if options.next_sentence:
            self._texts = SentencePairs(documents, tokenizer, max_length, has_words=options.whole_word)
        else:
            self._texts = TextWindows(
                documents, tokenizer, max_length, has_words=options.whole_word, is_joined=options.pack == "joined"
            )

    @property
    def lengths(self) -> Sequence[int]:
        """Tokens of each sequence; of a pair, the most it can have."""
        return self._texts.lengths

    def collate(self, places: Sequence[int], generator: torch.Generator) -> Batch:
        """Draw texts and hide some of their tokens."""
        drawn = [self._texts.draw(place, generator) for place in places]
        hidden = [
            self._masking.hide(one.ids, one.words, self._generator(place, generator))
            for place, one in zip(places, drawn, strict=True)
        ]
        lengths = [len(one.ids) for one in drawn]
        capacity = self._length if self._options.pack == "separate" else None
        rows = [[place] for place in range(len(drawn))] if capacity is None else shared_rows(lengths, capacity)
        tensors = _rectangle(rows, hidden, self._pad, is_shared=capacity is not None)
        if self._options.next_sentence:
            tensors["segments"] = padded([_segments(one) for one in drawn], 0)
            tensors["follows"] = torch.tensor([0 if one.follows else 1 for one in drawn])
        return Batch(tensors, sum(lengths))

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Guess the hidden tokens; a pair's class counts as much as all of the batch's hidden tokens do."""
        tensors = batch.tensors
        hidden = model.bert(  # type: ignore[operator]
            tensors["ids"],
            tensors.get("attention_mask"),
            tensors.get("segments"),
            documents=tensors.get("documents"),
        )
        logits = model.head(hidden.flatten(0, 1)[tensors["places"]])  # type: ignore[operator]
        guessed = summed_loss(logits, tensors["labels"], 0.0)
        if "follows" not in tensors:
            return guessed
        pooled = model.bert.pool(hidden)  # type: ignore[operator, union-attr]
        pairs = functional.cross_entropy(model.next_sentence(pooled).float(), tensors["follows"])  # type: ignore[operator]
        # Both losses are means in the paper; this one is multiplied so that it still is one after the division by the targets.
        return Loss(guessed.total + pairs * guessed.target_count, guessed.target_count)

    def _generator(self, place: int, generator: torch.Generator) -> torch.Generator:
        """Choose what draws a text's masks: the same every time where masks are static."""
        return generator if self._options.dynamic else torch.Generator().manual_seed(place)


def _segments(drawn: Drawn) -> list[int]:
    second_from = len(drawn.ids) if drawn.second_from is None else drawn.second_from
    return [0] * second_from + [1] * (len(drawn.ids) - second_from)


def _rectangle(
    rows: Sequence[Sequence[int]], hidden: Sequence[Masked], pad: int, *, is_shared: bool
) -> dict[str, Tensor]:
    """Lay texts out in rows, with where in the flattened rows something is hidden."""
    ids = padded([torch.cat([hidden[text].shown for text in row]) for row in rows], pad)
    places: list[Tensor] = []
    documents = torch.full_like(ids, PADDING_DOCUMENT)
    for index, row in enumerate(rows):
        start = 0
        for number, text in enumerate(row):
            length = len(hidden[text].shown)
            places.append(hidden[text].places + index * ids.shape[1] + start)
            documents[index, start : start + length] = number
            start += length
    labels = torch.cat([hidden[text].labels for row in rows for text in row])
    if not len(labels):
        raise InvalidInputError(
            "found texts of unknown tokens only, so nothing can be guessed; train another tokenizer"
        )
    tensors = {"ids": ids, "places": torch.cat(places), "labels": labels}
    if is_shared:
        return {**tensors, "documents": documents}
    return {**tensors, **padding_masks([sum(len(hidden[text].shown) for text in row) for row in rows])}
