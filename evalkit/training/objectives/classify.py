"""Finetuning for classes: one a text or pair, as a `classify` request asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import nn

from evalkit.adapters.encoder.classes import TextFitter
from evalkit.adapters.encoder.passages import Passage
from evalkit.errors import InvalidInputError
from evalkit.tokenization import Tokenizer
from evalkit.training.objective import Batch, Loss
from evalkit.training.objectives.losses import summed_loss
from evalkit.training.objectives.rows import passage_batch
from evalkit.training.recipe_objectives import FinetuneOptions
from evalkit.training.sources import TrainingData


class ClassFinetuning:
    """Texts and their classes; a text that is too long is cut as it is when it is scored.

    Args:
        data: Examples of a classification task.
        tokenizer: The model's.
        labels: Names of the model's classes, in the order of its outputs.
        max_length: Tokens of a passage, special ones included.
        options: Label smoothing.

    Raises:
        InvalidInputError: A class is none of the labels.
    """

    name: ClassVar[str] = "classify"

    def __init__(
        self,
        data: TrainingData,
        tokenizer: Tokenizer,
        labels: Sequence[str],
        max_length: int,
        options: FinetuneOptions,
    ) -> None:
        self._options = options
        self._pad = tokenizer.pad_id if tokenizer.pad_id is not None else 0
        fitter = TextFitter(tokenizer, max_length, "truncate")
        places = {label: index for index, label in enumerate(labels)}
        texts = tokenizer.ids_of_each([example.inputs["text"] for example in data.examples])
        seconds = tokenizer.ids_of_each([example.inputs.get("text_pair", "") for example in data.examples])
        self._items: list[tuple[Passage, int]] = []
        for example, text, second in zip(data.examples, texts, seconds, strict=True):
            label = example.references[0]
            if label not in places:
                raise InvalidInputError(
                    f"example {example.id!r} is of class {label!r}; the model's classes are {', '.join(labels)}"
                )
            passage = fitter.fit(text, second if "text_pair" in example.inputs else None, example.id).passage
            assert passage is not None
            self._items.append((passage, places[label]))

    @property
    def lengths(self) -> Sequence[int]:
        """Tokens of each passage."""
        return [passage.length for passage, _ in self._items]

    def collate(self, places: Sequence[int], generator: torch.Generator) -> Batch:
        """Put passages below one another; nothing is drawn."""
        items = [self._items[place] for place in places]
        labels = torch.tensor([label for _, label in items])
        return passage_batch([passage for passage, _ in items], self._pad, {"labels": labels})

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Choose the class by the first token."""
        tensors = batch.tensors
        hidden = model.bert(tensors["ids"], tensors.get("attention_mask"), tensors.get("segments"))  # type: ignore[operator]
        logits = model.head(model.bert.pool(hidden))  # type: ignore[operator, union-attr]
        return summed_loss(logits, tensors["labels"], self._options.label_smoothing)


def class_labels(data: TrainingData) -> tuple[str, ...]:
    """The classes that a model for a task tells apart: the task's own, else those of the data, in alphabetical order."""
    assert data.task is not None
    return data.task.labels or tuple(sorted({example.references[0] for example in data.examples}))
