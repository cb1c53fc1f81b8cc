"""Finetuning for tags: one a word, at its first token, as a `label` request asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from evalkit.adapters.encoder.labelling import WordFitter, word_separator
from evalkit.adapters.encoder.passages import Passage
from evalkit.errors import InvalidInputError
from evalkit.kinds import KINDS
from evalkit.kinds.cws import LABELS, SEPARATOR, labels_from_words
from evalkit.requests import Example, LabelRequest
from evalkit.spec import TaskSpec
from evalkit.tokenization import Tokenizer
from evalkit.training.objective import Batch, Loss
from evalkit.training.objectives.losses import summed_loss
from evalkit.training.objectives.rows import passage_batch
from evalkit.training.recipe_objectives import FinetuneOptions
from evalkit.training.sources import TrainingData


@dataclass(frozen=True, slots=True)
class _Labelled:
    passage: Passage
    labels: tuple[int, ...]
    """Of the wanted tokens."""


class LabelFinetuning:
    """Sentences and their tags; long ones in the windows through which they are read when they are scored.

    Args:
        data: Examples of a task with tags.
        tokenizer: The model's.
        labels: Names of the model's labels, in the order of its outputs.
        max_length: Tokens of a passage, special ones included.
        options: Label smoothing.

    Raises:
        InvalidInputError: A tag is none of the labels, or a word cannot be a token.
    """

    name: ClassVar[str] = "label"

    def __init__(
        self,
        data: TrainingData,
        tokenizer: Tokenizer,
        labels: Sequence[str],
        max_length: int,
        options: FinetuneOptions,
    ) -> None:
        assert data.task is not None
        self._options = options
        self._pad = tokenizer.pad_id if tokenizer.pad_id is not None else 0
        fitter = WordFitter(tokenizer, max_length, "window")
        separator = word_separator(data.task.language, data.task.kind)
        places = {label: index for index, label in enumerate(labels)}
        self._items: list[_Labelled] = []
        for example in data.examples:
            words, tags = words_and_tags(data.task, example)
            known = [places.get(tag) for tag in tags]
            if None in known:
                raise InvalidInputError(
                    f"example {example.id!r} has the tag {tags[known.index(None)]!r}; the model's labels are {', '.join(labels)}"
                )
            start = 0
            for passage in fitter.fit(words, separator, example.id).passages:
                end = start + len(passage.wanted)
                self._items.append(_Labelled(passage, tuple(index for index in known[start:end] if index is not None)))
                start = end

    @property
    def lengths(self) -> Sequence[int]:
        """Tokens of each passage."""
        return [item.passage.length for item in self._items]

    def collate(self, places: Sequence[int], generator: torch.Generator) -> Batch:
        """Put passages below one another; nothing is drawn."""
        items = [self._items[place] for place in places]
        labels = torch.tensor([label for item in items for label in item.labels], dtype=torch.long)
        return passage_batch([item.passage for item in items], self._pad, {"labels": labels})

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Choose the tags of the words."""
        tensors = batch.tensors
        hidden = model.bert(tensors["ids"], tensors.get("attention_mask"), tensors.get("segments"))  # type: ignore[operator]
        logits = model.head(hidden.flatten(0, 1)[tensors["places"]])  # type: ignore[operator]
        return summed_loss(logits, tensors["labels"], self._options.label_smoothing)


def words_and_tags(task: TaskSpec, example: Example) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a label request of an example shows, and the gold tags."""
    request = KINDS[task.kind].request(task, example, LabelRequest.kind, "")
    assert isinstance(request, LabelRequest)
    gold = example.references[0]
    tags = labels_from_words(gold.split(SEPARATOR)) if task.kind == "cws" else tuple(gold)
    return request.tokens, tags


def tag_labels(data: TrainingData) -> tuple[str, ...]:
    """The tags that a model for a task tells apart: the task's own, else those of the data, in alphabetical order."""
    assert data.task is not None
    if data.task.kind == "cws":
        return LABELS
    kinds = data.task.labels or sorted(
        {tag.partition("-")[2] for example in data.examples for tag in example.references[0]} - {""}
    )
    return ("O", *(tag for kind in kinds for tag in (f"B-{kind}", f"I-{kind}")))
