"""What a model learns to do: from the `[objective]` of a recipe, its data and its tokenizer to batches and losses.

causal_lm         every next token                        gpt, decoder
masked_lm         hidden tokens, and next sentences       bert
span_corruption   what sentinels stand for, or all        t5
label             one tag a word                          bert   |
span              an answer's place in a context          bert   |
classify          one of several classes                  bert   |  finetune
text_to_text      answers to prompts                      t5     |
continuation      answers to prompts                      gpt    |

What is shown in finetuning is what adapters show when they score: both go through the same code of `evalkit.adapters`. Losses
call methods of a model beside `forward`; what hooks on `forward`, as data-parallel wrappers do, goes around objective and model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from torch import nn

from evalkit.checkpoints.architectures import ModelConfig
from evalkit.errors import InvalidInputError
from evalkit.spec import TaskSpec
from evalkit.tokenization import Tokenizer
from evalkit.training.building import Head
from evalkit.training.objective import Objective
from evalkit.training.objectives.answers import ContinuationFinetuning, TargetFinetuning
from evalkit.training.objectives.causal_lm import CausalLm
from evalkit.training.objectives.classify import ClassFinetuning, class_labels
from evalkit.training.objectives.label import LabelFinetuning, tag_labels
from evalkit.training.objectives.masked_lm import MaskedLm
from evalkit.training.objectives.span import SpanFinetuning
from evalkit.training.objectives.span_corruption import SpanCorruption
from evalkit.training.recipe import Recipe
from evalkit.training.recipe_objectives import (
    CausalLmOptions,
    FinetuneOptions,
    MaskedLmOptions,
    ObjectiveOptions,
    SpanCorruptionOptions,
)
from evalkit.training.sources import TrainingData
from evalkit.training.tokenizers import train_tokenizer
from evalkit_models.t5 import T5Config

OBJECTIVES: Mapping[str, type] = {
    "causal_lm": CausalLm,
    "masked_lm": MaskedLm,
    "span_corruption": SpanCorruption,
    "label": LabelFinetuning,
    "span": SpanFinetuning,
    "classify": ClassFinetuning,
    "text_to_text": TargetFinetuning,
    "continuation": ContinuationFinetuning,
}
"""Name to class; which one a recipe of kind ``finetune`` means, `objective_name` says."""

_ENCODER_TASKS: Mapping[str, str] = {"ner": "label", "cws": "label", "qa": "span", "classification": "classify"}
"""Kind of task to what a BERT learns of it."""


def objective_name(options: ObjectiveOptions, family: str, task: TaskSpec | None) -> str:
    """Name what is learnt, one of `OBJECTIVES`.

    Args:
        options: The recipe's objective.
        family: The model's family.
        task: The task that is trained on; None for text files.

    Raises:
        InvalidInputError: The family cannot learn the task, or there is none to learn.
    """
    if options.kind != FinetuneOptions.kind:
        return options.kind
    if task is None:
        raise InvalidInputError(
            "[objective] kind 'finetune' learns a task, and the data are text files; name one (--task)"
        )
    if family == "bert":
        if task.kind not in _ENCODER_TASKS:
            raise InvalidInputError(
                f"a BERT cannot learn task {task.name!r} of kind {task.kind!r}; it learns {', '.join(_ENCODER_TASKS)} tasks,"
                " choose a recipe of family gpt or t5"
            )
        return _ENCODER_TASKS[task.kind]
    if "generate" not in task.requests:
        raise InvalidInputError(
            f"task {task.name!r} asks for no answer in text, so there is none to learn; train a language model on its texts"
            " by an objective of kind 'causal_lm'"
        )
    return "text_to_text" if family == "t5" else "continuation"


def head_for(recipe: Recipe, data: TrainingData) -> Head:
    """Say what the model of a recipe ends in.

    Raises:
        InvalidInputError: The family cannot learn the task.
    """
    options, family = recipe.objective, recipe.model.family
    name = objective_name(options, family, data.task)
    if name == "label":
        return Head(name="token_labels", labels=tag_labels(data))
    if name == "classify":
        return Head(name="classes", labels=class_labels(data))
    if name == "span":
        return Head(name="spans")
    if isinstance(options, MaskedLmOptions):
        return Head(name="masked_lm", has_next_sentence=options.next_sentence)
    return Head()


def card_details(recipe: Recipe, data: TrainingData) -> dict[str, str]:
    """What the checkpoint's card says beside all that a recipe decides: how an adapter is to read the model."""
    options = recipe.objective
    if objective_name(options, recipe.model.family, data.task) != "label":
        return {}
    assert isinstance(options, FinetuneOptions)
    return {"tag_decoding": options.tag_decoding}


def build_objective(
    recipe: Recipe, tokenizer: Tokenizer, model: nn.Module, data: TrainingData, head: Head, *, is_training: bool
) -> Objective:
    """Make the objective of a recipe on some data.

    Args:
        recipe: The recipe.
        tokenizer: The model's.
        model: The model, for its shape.
        data: What to learn, or to measure a loss on.
        head: What the model ends in.
        is_training: Whether windows may move from one pass to the next.

    Raises:
        InvalidInputError: Data, tokenizer and model do not go together.
    """
    options = recipe.objective
    name = objective_name(options, recipe.model.family, data.task)
    parts = _Parts(
        options=options,
        tokenizer=tokenizer,
        config=cast(ModelConfig, model.config),
        data=data,
        labels=head.labels,
        is_training=is_training,
    )
    return _BUILDERS[name](parts)


@dataclass(frozen=True, kw_only=True)
class _Parts:
    """What objectives are made of."""

    options: ObjectiveOptions
    tokenizer: Tokenizer
    config: ModelConfig
    data: TrainingData
    labels: tuple[str, ...]
    is_training: bool

    @property
    def max_length(self) -> int:
        """Tokens of a sequence: what the recipe says, as far as the model goes."""
        return min(self.options.max_length or self.config.max_length, self.config.max_length)

    @property
    def texts(self) -> list[str]:
        """All texts."""
        return [document.text for document in self.data.documents]

    @property
    def finetuning(self) -> FinetuneOptions:
        """The options, of their kind."""
        assert isinstance(self.options, FinetuneOptions)
        return self.options

    @property
    def t5(self) -> T5Config:
        """The shape, of its family."""
        assert isinstance(self.config, T5Config)
        return self.config


_Builder: TypeAlias = Callable[[_Parts], Objective]


def _causal_lm(parts: _Parts) -> Objective:
    assert isinstance(parts.options, CausalLmOptions)
    return CausalLm(parts.texts, parts.tokenizer, parts.max_length, parts.options, is_training=parts.is_training)


def _masked_lm(parts: _Parts) -> Objective:
    assert isinstance(parts.options, MaskedLmOptions)
    return MaskedLm(parts.data.documents, parts.tokenizer, parts.max_length, parts.options)


def _span_corruption(parts: _Parts) -> Objective:
    assert isinstance(parts.options, SpanCorruptionOptions)
    return SpanCorruption(parts.texts, parts.tokenizer, parts.t5, parts.options)


_BUILDERS: Mapping[str, _Builder] = {
    "causal_lm": _causal_lm,
    "masked_lm": _masked_lm,
    "span_corruption": _span_corruption,
    "label": lambda parts: LabelFinetuning(
        parts.data, parts.tokenizer, parts.labels, parts.max_length, parts.finetuning
    ),
    "span": lambda parts: SpanFinetuning(parts.data, parts.tokenizer, parts.max_length, parts.finetuning),
    "classify": lambda parts: ClassFinetuning(
        parts.data, parts.tokenizer, parts.labels, parts.max_length, parts.finetuning
    ),
    "text_to_text": lambda parts: TargetFinetuning(parts.data, parts.tokenizer, parts.t5, parts.finetuning),
    "continuation": lambda parts: ContinuationFinetuning(
        parts.data, parts.tokenizer, parts.max_length, parts.finetuning
    ),
}

__all__ = ["OBJECTIVES", "build_objective", "card_details", "head_for", "objective_name", "train_tokenizer"]
