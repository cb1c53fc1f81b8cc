"""Finetuning for answers in text: the prompt that a `generate` request shows, and the answer that its task reads back.

A model that reads from left to right learns the answer's tokens and the end token, never those of the prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from evalkit.adapters.engine.prompts import PromptFitter
from evalkit.adapters.seq2seq import SourceFitter
from evalkit.errors import InvalidInputError
from evalkit.prompts import render, render_answer
from evalkit.tokenization import Tokenizer
from evalkit.training.objective import Batch, Loss
from evalkit.training.objectives.losses import summed_loss
from evalkit.training.objectives.pairs import end_of_target, pair_batch, pair_loss, start_of_target
from evalkit.training.objectives.rows import IGNORED, Piece, piece_batch, wanted_states
from evalkit.training.recipe_objectives import FinetuneOptions
from evalkit.training.sources import TrainingData
from evalkit_models.t5 import T5Config


@dataclass(frozen=True, slots=True)
class Shown:
    """One thing to learn: what a model is shown, and what it should write."""

    example_id: str
    prompt: str
    answer: str


def shown_answers(data: TrainingData, references: str) -> Iterator[Shown]:
    """Give prompts without shots, and answers as they stand in a shot.

    Args:
        data: Examples of a task.
        references: ``first``, or ``all`` for one answer for each of the acceptable ones.
    """
    task = data.task
    assert task is not None
    for example in data.examples:
        prompt = render(task, example)
        several = references == "all" and len(example.references) > 1
        for reference in example.references if several else (None,):
            told = example if reference is None else replace(example, references=(reference,))
            yield Shown(example.id, prompt, render_answer(task, told))


class TargetFinetuning:
    """Prompts for the encoder of a T5 and answers for its decoder.

    Args:
        data: Examples of a task.
        tokenizer: The model's; with an end token.
        config: The model's shape.
        options: Lengths, references, label smoothing. What is too long is cut: prompts as when they are scored, and answers.

    Raises:
        InvalidInputError: The tokenizer lacks a token that targets need.
    """

    name: ClassVar[str] = "text_to_text"

    def __init__(self, data: TrainingData, tokenizer: Tokenizer, config: T5Config, options: FinetuneOptions) -> None:
        self._options = options
        self._start = start_of_target(tokenizer, config)
        end = end_of_target(tokenizer)
        longest = min(options.max_target_length or config.max_length, config.max_length) - 1
        fitter = SourceFitter(tokenizer, min(options.max_length or config.max_length, config.max_length), "truncate")
        found = list(shown_answers(data, options.references))
        prompts = tokenizer.ids_of_each([shown.prompt for shown in found])
        answers = tokenizer.ids_of_each([shown.answer for shown in found])
        self._pairs = [
            (fitter.fit("prompt", prompt, shown.example_id).ids, (*answer[:longest], end))
            for shown, prompt, answer in zip(found, prompts, answers, strict=True)
        ]

    @property
    def lengths(self) -> Sequence[int]:
        """Tokens of each prompt and its answer together."""
        return [len(source) + len(target) for source, target in self._pairs]

    def collate(self, places: Sequence[int], generator: torch.Generator) -> Batch:
        """Put prompts and answers below one another; nothing is drawn."""
        return pair_batch([self._pairs[place] for place in places], self._start)

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Write the answers."""
        return pair_loss(model, batch, self._options.label_smoothing)


class ContinuationFinetuning:
    """Prompts that a GPT continues with answers.

    Args:
        data: Examples of a task.
        tokenizer: The model's; with an end token.
        max_length: Tokens of a sequence.
        options: References, packing, label smoothing. What is too long is cut: prompts as when they are scored, and answers.

    Raises:
        InvalidInputError: The tokenizer has no end token, or the model no room for prompt and answer.
    """

    name: ClassVar[str] = "continuation"

    def __init__(self, data: TrainingData, tokenizer: Tokenizer, max_length: int, options: FinetuneOptions) -> None:
        assert data.task is not None
        self._options, self._length = options, max_length
        end, limit = end_of_target(tokenizer), data.task.max_new_tokens
        fitter = PromptFitter(tokenizer, max_length, "truncate", "the model")
        found = list(shown_answers(data, options.references))
        prompts = tokenizer.ids_of_each([shown.prompt for shown in found])
        answers = continuations(tokenizer, found, prompts)
        self._pieces: list[Piece] = []
        for shown, prompt, answer in zip(found, prompts, answers, strict=True):
            context = fitter.fit(tuple(prompt), limit, shown.example_id).ids
            room = max_length + 1 - len(context)
            if room < 1:
                raise InvalidInputError(
                    f"example {shown.example_id!r}: its prompt leaves no room for an answer; raise max_length"
                )
            target = [*answer, end][:room]
            inputs = torch.tensor([*context, *target[:-1]])
            self._pieces.append(Piece(inputs, _only_the_answer(len(context), target)))

    @property
    def lengths(self) -> Sequence[int]:
        """Tokens of each prompt and its answer together."""
        return [len(piece) for piece in self._pieces]

    def collate(self, places: Sequence[int], generator: torch.Generator) -> Batch:
        """Put prompts with their answers into rows; nothing is drawn."""
        return piece_batch([self._pieces[place] for place in places], self._length if self._options.pack else None)

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Write the answers."""
        tensors = batch.tensors
        hidden = model.hidden(tensors["ids"], documents=tensors.get("documents"))  # type: ignore[operator]
        logits = model.head(wanted_states(hidden, tensors))  # type: ignore[operator]
        return summed_loss(logits, tensors["labels"], self._options.label_smoothing)


def continuations(tokenizer: Tokenizer, found: Sequence[Shown], prompts: Sequence[Sequence[int]]) -> list[list[int]]:
    """Split answers into the tokens with which a model would continue their prompts.

    They are those of prompt and answer together behind those of the prompt; where the tokens of the prompt would be others, for a
    token reaches across the border, the answer is split alone.
    """
    joined = tokenizer.ids_of_each([shown.prompt + shown.answer for shown in found])
    alone = tokenizer.ids_of_each([shown.answer for shown in found])
    return [
        whole[len(prompt) :] if whole[: len(prompt)] == list(prompt) else own
        for whole, prompt, own in zip(joined, prompts, alone, strict=True)
    ]


def _only_the_answer(context: int, target: Sequence[int]) -> Tensor:
    """Make the targets of a prompt and its answer: the prompt's last token predicts the answer's first."""
    return torch.tensor([IGNORED] * (context - 1) + list(target))
