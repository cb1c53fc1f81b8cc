"""Span corruption: an encoder-decoder writes what was taken out of a text, or the text as it was.

References:
    Lewis et al. (2020), "BART: Denoising Sequence-to-Sequence Pre-training", section 2.2, text infilling: the text as it was.
    Raffel et al. (2020), "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer", section 3.1.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import torch
from torch import nn

from evalkit.errors import InvalidInputError
from evalkit.tokenization import Tokenizer
from evalkit.training.objective import Batch, Loss
from evalkit.training.objectives.corruption import (
    corrupt,
    corrupted_lengths,
    noise_mask,
    sentinel_ids,
    span_counts,
    window_length,
)
from evalkit.training.objectives.pairs import end_of_target, pair_batch, pair_loss, start_of_target
from evalkit.training.recipe_objectives import SpanCorruptionOptions
from evalkit_models.t5 import T5Config


class SpanCorruption:
    """Texts, or windows of texts, with spans to be written.

    Args:
        texts: What to learn from.
        tokenizer: The model's; with sentinels and an end token.
        config: The model's shape.
        options: Rates, length and label smoothing.

    Raises:
        InvalidInputError: There is no text of two tokens, a target is longer than the model's, or sentinels are missing.
    """

    name: ClassVar[str] = SpanCorruptionOptions.kind

    def __init__(
        self, texts: Iterable[str], tokenizer: Tokenizer, config: T5Config, options: SpanCorruptionOptions
    ) -> None:
        self._options = options
        self._rates = (options.noise_rate, options.mean_span)
        self._end, self._start = end_of_target(tokenizer), start_of_target(tokenizer, config)
        longest = min(options.max_length or config.max_length, config.max_length)
        length = window_length(longest, config.max_length, *self._rates, options.target)
        self._sentinels = sentinel_ids(tokenizer, span_counts(length, *self._rates)[1])
        self._texts = [torch.tensor(ids, dtype=torch.int32) for ids in tokenizer.ids_of_each(list(texts)) if ids]
        self._windows = [
            (number, start, min(start + length, len(ids)))
            for number, ids in enumerate(self._texts)
            for start in range(0, len(ids), length)
            if len(ids) - start > 1
        ]
        if not self._windows:
            raise InvalidInputError("found no text to train on; expected at least two tokens")

    @property
    def lengths(self) -> Sequence[int]:
        """Tokens of source and target of each window together."""
        return [sum(self._lengths(end - start)) for _, start, end in self._windows]

    def collate(self, places: Sequence[int], generator: torch.Generator) -> Batch:
        """Draw spans of each window."""
        pairs = []
        for place in places:
            number, start, end = self._windows[place]
            tokens = self._texts[number][start:end].tolist()
            is_taken = noise_mask(len(tokens), *self._rates, generator).tolist()
            source, spans = corrupt(tokens, is_taken, self._sentinels)
            target = spans if self._options.target == "spans" else tokens
            pairs.append(([*source, self._end], [*target, self._end]))
        return pair_batch(pairs, self._start)

    def _lengths(self, length: int) -> tuple[int, int]:
        """Count the tokens of source and target that so many tokens of a text become."""
        return corrupted_lengths(length, *self._rates, self._options.target)

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Write the target."""
        return pair_loss(model, batch, self._options.label_smoothing)
