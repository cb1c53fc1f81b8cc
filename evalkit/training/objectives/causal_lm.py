"""Causal language modelling: every next token of a text.

A text stands between the token that evaluation puts before it and its end token. One that is longer than a sequence goes through
windows that each begin where the last one ended, as rolling perplexity reads it.

References:
    Radford et al. (2019), "Language Models are Unsupervised Multitask Learners", section 2; for joined texts its released code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from evalkit.adapters.engine.prompts import PromptFitter
from evalkit.errors import InvalidInputError
from evalkit.tokenization import Tokenizer
from evalkit.training.objective import Batch, Loss
from evalkit.training.objectives.losses import summed_loss
from evalkit.training.objectives.rows import Piece, piece_batch, wanted_states
from evalkit.training.recipe_objectives import CausalLmOptions


class CausalLm:
    """Texts, or windows of texts, to be continued.

    Args:
        texts: What to learn from.
        tokenizer: The model's; with a token that can stand before a text.
        max_length: Tokens of a sequence.
        options: Packing and label smoothing.
        is_training: Whether windows of a long text begin at other places each time, so that all its tokens are seen with contexts
            of all lengths; without it they stay where they are.

    Raises:
        InvalidInputError: The texts have no tokens, or nothing can stand before a text.
    """

    name: ClassVar[str] = CausalLmOptions.kind

    def __init__(
        self,
        texts: Iterable[str],
        tokenizer: Tokenizer,
        max_length: int,
        options: CausalLmOptions,
        *,
        is_training: bool,
    ) -> None:
        self._length, self._options, self._moves = max_length, options, is_training
        prefix = PromptFitter(tokenizer, max_length, "error", "the model").prefix()
        streams = list(_streams(texts, tokenizer, prefix))
        if options.pack == "joined":
            # One token ends a text and opens the next, where they are the same.
            shared = 1 if tokenizer.eos_id == prefix else 0
            streams = [torch.cat([*(stream[: len(stream) - shared] for stream in streams[:-1]), streams[-1]])]
        self._streams = streams
        self._windows = [
            (number, start) for number, stream in enumerate(streams) for start in range(0, len(stream) - 1, max_length)
        ]
        self._lengths = [min(max_length, len(streams[number]) - 1 - start) for number, start in self._windows]

    @property
    def lengths(self) -> Sequence[int]:
        """Tokens of each window."""
        return self._lengths

    def collate(self, places: Sequence[int], generator: torch.Generator) -> Batch:
        """Put windows into rows."""
        pieces = [self._piece(place, generator) for place in places]
        return piece_batch(pieces, self._length if self._options.pack == "separate" else None)

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Predict every next token."""
        tensors = batch.tensors
        hidden = model.hidden(tensors["ids"], documents=tensors.get("documents"))  # type: ignore[operator]
        logits = model.head(wanted_states(hidden, tensors))  # type: ignore[operator]
        return summed_loss(logits, tensors["labels"], self._options.label_smoothing)

    def _piece(self, place: int, generator: torch.Generator) -> Piece:
        number, start = self._windows[place]
        stream, length = self._streams[number], self._lengths[place]
        last = len(stream) - 1 - length
        if self._moves and start > 0:
            # The first window stays, or the beginning of a text would hardly ever be seen.
            shift = int(torch.randint(self._length, (), generator=generator)) - self._length // 2
            start = min(max(start + shift, 0), last)
        tokens = stream[start : start + length + 1].long()
        return Piece(tokens[:-1], tokens[1:])


def _streams(texts: Iterable[str], tokenizer: Tokenizer, prefix: int) -> Iterator[Tensor]:
    """Split texts into tokens, each between the token before it and its end token, if the tokenizer has one."""
    end = [] if tokenizer.eos_id is None else [tokenizer.eos_id]
    found = False
    for ids in tokenizer.ids_of_each(list(texts)):
        if ids:
            found = True
            yield torch.tensor([prefix, *ids, *end], dtype=torch.int32)
    if not found:
        raise InvalidInputError("found no text to train on; expected at least one token")
