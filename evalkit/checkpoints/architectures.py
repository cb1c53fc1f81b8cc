"""Which model a checkpoint holds: a family, its shape, a head and labels; and the model built from that."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias, get_type_hints

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit_models.bert import Bert, BertConfig
from evalkit_models.bert_heads import BertForClasses, BertForMaskedLm, BertForSpans, BertForTokenLabels
from evalkit_models.decoder import Decoder, DecoderConfig
from evalkit_models.gpt import GPT, GPTConfig
from evalkit_models.t5 import T5, T5Config

ModelConfig: TypeAlias = GPTConfig | DecoderConfig | BertConfig | T5Config

CONFIGS: Mapping[str, type[ModelConfig]] = {
    "gpt": GPTConfig,
    "decoder": DecoderConfig,
    "bert": BertConfig,
    "t5": T5Config,
}
"""Family to the class of its shape."""

HEADS = ("trunk", "masked_lm", "token_labels", "spans", "classes")
"""What a BERT ends in; `trunk` is none."""

_MODELS: Mapping[type[nn.Module], tuple[str, str | None]] = {
    GPT: ("gpt", None),
    Decoder: ("decoder", None),
    T5: ("t5", None),
    Bert: ("bert", "trunk"),
    BertForMaskedLm: ("bert", "masked_lm"),
    BertForTokenLabels: ("bert", "token_labels"),
    BertForSpans: ("bert", "spans"),
    BertForClasses: ("bert", "classes"),
}
"""Class to family and head."""

_LABELLED = ("token_labels", "classes")


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """Everything needed to build a model without its weights."""

    family: str
    """One of `CONFIGS`."""
    config: ModelConfig
    """The shape."""
    head: str | None = None
    """One of `HEADS` for a BERT, None for the others, whose head is the vocabulary."""
    labels: tuple[str, ...] = ()
    """Names of what a head for token labels or classes tells apart, in the order of its outputs."""
    has_pooler: bool = False
    """Whether a trunk pools; heads that read what is pooled always do."""
    has_next_sentence: bool = False
    """Whether a masked language model also has the next-sentence head."""

    def __post_init__(self) -> None:
        if self.family not in CONFIGS:
            raise UnknownNameError("model family", self.family, CONFIGS)
        if self.family == "bert" and self.head not in HEADS:
            raise UnknownNameError("head", str(self.head), HEADS)
        if bool(self.labels) != (self.head in _LABELLED):
            raise InvalidInputError(f"a head {self.head!r} with labels {self.labels!r}; labels go with {_LABELLED}")
        if len(set(self.labels)) != len(self.labels):
            raise InvalidInputError(f"labels {self.labels!r} hold one name twice")


def make_config(family: str, values: Mapping[str, Any]) -> ModelConfig:
    """Make a family's shape of values that others wrote.

    Args:
        family: One of `CONFIGS`.
        values: Field to value.

    Raises:
        UnknownNameError: There is no such family.
        InvalidInputError: A field is not known, or its value has another type.
        TypeError: A field is missing.
        ValueError: The values do not fit together.
    """
    if family not in CONFIGS:
        raise UnknownNameError("model family", str(family), CONFIGS)
    known = get_type_hints(CONFIGS[family])
    if unknown := sorted(set(values) - set(known)):
        raise InvalidInputError(f"the model has unknown settings {', '.join(unknown)}; known: {', '.join(known)}")
    for name, value in values.items():
        wanted = (int, float) if known[name] is float else (known[name],)
        # A bool is an int to Python, and no number here.
        if not isinstance(value, wanted) or (isinstance(value, bool) and known[name] is not bool):
            expected = getattr(known[name], "__name__", str(known[name]))
            raise InvalidInputError(f"{name} is {value!r}, expected a value of type {expected}")
    return CONFIGS[family](**values)


def _build_bert(architecture: Architecture, config: BertConfig) -> nn.Module:
    count = len(architecture.labels)
    if architecture.head == "masked_lm":
        return BertForMaskedLm(config, has_next_sentence=architecture.has_next_sentence)
    if architecture.head == "token_labels":
        return BertForTokenLabels(config, count)
    if architecture.head == "spans":
        return BertForSpans(config)
    if architecture.head == "classes":
        return BertForClasses(config, count)
    return Bert(config, has_pooler=architecture.has_pooler)


_DRAWING = (
    torch.Tensor.normal_,
    torch.Tensor.uniform_,
    nn.init.normal_,
    nn.init.uniform_,
    nn.init.trunc_normal_,
    nn.init.kaiming_uniform_,
    nn.init.xavier_uniform_,
)


class _WithoutDrawing(TorchFunctionMode):
    """Leaves out the drawing of new weights, for which torch would load its compiler (2 s) where tensors have no values."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Collection[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 (what torch asks for)
        given = kwargs or {}
        if func in _DRAWING:
            return given["tensor"] if "tensor" in given else args[0]
        return func(*args, **given)


def build_empty(architecture: Architecture) -> nn.Module:
    """Build a model whose tensors have shapes and no values, on the device ``meta``; it costs nothing.

    Args:
        architecture: Which model.
    """
    with _WithoutDrawing(), torch.device("meta"):
        return build(architecture)


def build(architecture: Architecture, device: torch.device | str | None = None) -> nn.Module:
    """Build a model with new weights.

    Args:
        architecture: Which model.
        device: Where its tensors are made; None for torch's default.
    """
    config = architecture.config
    with torch.device(device) if device is not None else nullcontext():
        if isinstance(config, GPTConfig):
            return GPT(config)
        if isinstance(config, DecoderConfig):
            return Decoder(config)
        if isinstance(config, T5Config):
            return T5(config)
        return _build_bert(architecture, config)


def describe(model: nn.Module, labels: tuple[str, ...] = ()) -> Architecture:
    """Say which model this is, so that `build` can build it again.

    Args:
        model: A model of evalkit_models.
        labels: Names of its labels, for a head that has some.

    Raises:
        InvalidInputError: It is no such model, or has another number of labels.
    """
    if type(model) not in _MODELS:
        raise InvalidInputError(f"{type(model).__name__} is not a model of evalkit_models, so it cannot be saved")
    family, head = _MODELS[type(model)]
    outputs = model.head.out.out_features if isinstance(model, BertForTokenLabels | BertForClasses) else 0
    if len(labels) != outputs:
        raise InvalidInputError(f"the model tells {outputs} labels apart, found {len(labels)} names; pass labels=")
    config = model.config
    assert isinstance(config, CONFIGS[family])
    return Architecture(
        family=family,
        config=config,
        head=head,
        labels=labels,
        has_pooler=isinstance(model, Bert) and model.pooler is not None,
        has_next_sentence=isinstance(model, BertForMaskedLm) and model.next_sentence is not None,
    )
