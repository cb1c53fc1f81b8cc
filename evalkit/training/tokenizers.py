"""The tokenizer of a recipe: trained on what the model will read and write."""

from __future__ import annotations

from collections.abc import Iterator

from evalkit.adapters.encoder.labelling import word_separator
from evalkit.errors import InvalidInputError
from evalkit.kinds import KINDS
from evalkit.prompts import render, render_answer
from evalkit.requests import LabelRequest
from evalkit.spec import TaskSpec
from evalkit.tokenization import Tokenizer, train_bpe, train_characters, train_unigram, train_wordpiece
from evalkit.training.recipe import Recipe
from evalkit.training.recipe_objectives import FinetuneOptions
from evalkit.training.sources import TrainingData

_FAMILIES = {"gpt": "gpt", "decoder": "gpt", "bert": "bert", "t5": "t5"}
"""Family of a model to that of its special tokens."""


def train_tokenizer(recipe: Recipe, data: TrainingData) -> Tokenizer:
    """Train the tokenizer that a recipe asks for on its training data.

    Args:
        recipe: One whose tokenizer is trained.
        data: What it trains on.

    Raises:
        InvalidInputError: The vocabulary has no room for what it must hold, or there is no text.
    """
    section = recipe.tokenizer
    assert section is not None
    assert section.vocab_size is not None
    family, size = _FAMILIES[recipe.model.family], section.vocab_size
    texts = list(read_texts(recipe, data))
    if section.kind == "bpe":
        return train_bpe(texts, size, family=family, min_frequency=section.min_frequency)
    if section.kind == "wordpiece":
        return train_wordpiece(
            texts, size, family=family, lowercase=section.lowercase, min_frequency=section.min_frequency
        )
    if section.kind == "unigram":
        return train_unigram(texts, size, family=family)
    if section.kind == "characters":
        return train_characters(texts, size, family=family)
    raise InvalidInputError(f"a tokenizer of kind {section.kind!r} is not trained")


def read_texts(recipe: Recipe, data: TrainingData) -> Iterator[str]:
    """Give all text that the model will read or write in training."""
    task = data.task
    if task is None or not isinstance(recipe.objective, FinetuneOptions):
        yield from (document.text for document in data.documents)
    elif recipe.model.family == "bert":
        yield from _encoder_texts(task, data)
    else:
        for example in data.examples:
            yield render(task, example)
            yield render_answer(task, example)


def _encoder_texts(task: TaskSpec, data: TrainingData) -> Iterator[str]:
    """Give the inputs of examples as an encoder reads them; a context that several questions share is given once."""
    separator, before = word_separator(task.language, task.kind), None
    for example in data.examples:
        if task.kind in ("ner", "cws"):
            request = KINDS[task.kind].request(task, example, LabelRequest.kind, "")
            assert isinstance(request, LabelRequest)
            yield separator.join(request.tokens)
            continue
        for name in ("question", "context", "text", "text_pair"):
            text = example.inputs.get(name)
            if text and text != before:
                yield text
            before = text if name == "context" else before
