"""From a recipe to a model on its device: with new weights, or with those of a checkpoint and a new head where it needs one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, cast

import torch
from torch import nn

from evalkit.checkpoints import Architecture, Checkpoint
from evalkit.checkpoints.architectures import CONFIGS, ModelConfig, build_empty, make_config
from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.training.recipe import ModelSection
from evalkit.training.seeds import derive_seed
from evalkit_models import bert, decoder, gpt, t5

SIZES: Mapping[str, Mapping[str, ModelConfig]] = {
    "gpt": gpt.SIZES,
    "decoder": decoder.SIZES,
    "bert": bert.SIZES,
    "t5": t5.SIZES,
}
"""Family to its published shapes."""

_NOT_SHAPE = ("family", "size", "init_std")
_INITIAL_STD = 0.02
"""What the families draw their matrices with, where they have one number for it."""


@dataclass(frozen=True, kw_only=True)
class Head:
    """What a model ends in, beside its family and shape."""

    name: str | None = None
    """One of `evalkit.checkpoints.architectures.HEADS` for a BERT; None for the others."""
    labels: tuple[str, ...] = ()
    """Names of the labels or classes that it tells apart."""
    has_next_sentence: bool = False
    """Whether a masked language model also has the next-sentence head."""


def model_config(section: ModelSection, vocab_size: int | None) -> ModelConfig:
    """Make the shape that a recipe asks for.

    Args:
        section: The recipe's section.
        vocab_size: Tokens of the tokenizer; None where there is none yet, and the section has to say it.

    Raises:
        UnknownNameError: There is no such published shape.
        InvalidInputError: A size is missing, is one that the family does not have, or does not fit the others.
    """
    values = {name: value for name, value in _given(section).items() if name not in _NOT_SHAPE}
    if section.size is not None:
        sizes = SIZES[section.family]
        if section.size not in sizes:
            raise UnknownNameError(f"[model] size of family {section.family!r}:", section.size, sizes)
        published = sizes[section.size]
        values = {entry.name: getattr(published, entry.name) for entry in fields(published)} | values
    if vocab_size is not None and "vocab_size" not in _given(section):
        values["vocab_size"] = vocab_size
    _fill_in(section.family, values)
    try:
        return make_config(section.family, values)
    except TypeError as error:
        needed = [entry.name for entry in fields(CONFIGS[section.family]) if entry.default is MISSING]
        missing = [name for name in needed if name not in values]
        raise InvalidInputError(
            f"[model] has no {', '.join(missing)}; give them, a published size, or a checkpoint to start from (--init)"
        ) from error
    except InvalidInputError as error:
        raise InvalidInputError(f"[model] of family {section.family!r}: {error}") from error
    except ValueError as error:
        raise InvalidInputError(f"[model] {error}") from error


def _given(section: ModelSection) -> dict[str, Any]:
    pairs = ((entry.name, getattr(section, entry.name)) for entry in fields(section))
    return {name: value for name, value in pairs if value is not None}


def _fill_in(family: str, values: dict[str, Any]) -> None:
    """Give sizes that follow from others their usual values."""
    if "width" in values:
        values.setdefault("ff_width", 4 * values["width"])
    if family == "decoder" and "heads" in values:
        values.setdefault("kv_heads", values["heads"])
    if family == "t5" and "layers" in values:
        values.setdefault("decoder_layers", values["layers"])
    if family == "t5" and values.get("heads") and "width" in values:
        values.setdefault("head_width", values["width"] // values["heads"])


def new_model(section: ModelSection, vocab_size: int, head: Head, seed: int, device: torch.device) -> nn.Module:
    """Build a model with new weights; the same seed gives the same weights.

    Args:
        section: The recipe's section.
        vocab_size: Tokens of the tokenizer.
        head: What the model ends in.
        seed: The recipe's seed.
        device: Where the model goes; weights are drawn on the CPU, so that every device gets the same.

    Raises:
        InvalidInputError: The shape cannot be.
    """
    config = model_config(section, vocab_size)
    if config.vocab_size < vocab_size:
        raise InvalidInputError(
            f"[model] vocab_size is {config.vocab_size}, but the tokenizer has {vocab_size} tokens; raise it"
        )
    architecture = Architecture(
        family=section.family,
        config=config,
        head=head.name,
        labels=head.labels,
        has_next_sentence=head.has_next_sentence,
    )
    model = _drawn(architecture, section, seed)
    return model.to(device) if device.type != "cpu" else model


def _drawn(architecture: Architecture, section: ModelSection, seed: int) -> nn.Module:
    """Build a model on the CPU, each weight drawn once."""
    model: Any = build_empty(architecture)
    # `to_empty` does the same and loads torch's compiler for it.
    empty = {name: torch.empty(tensor.shape, dtype=tensor.dtype) for name, tensor in model.state_dict().items()}
    model.load_state_dict(empty, assign=True)
    _draw(model, section, seed)
    model.train()
    return cast(nn.Module, model)


def _draw(model: Any, section: ModelSection, seed: int) -> None:  # noqa: ANN401 (any family's model)
    model.initialise(torch.Generator().manual_seed(derive_seed(seed, "weights")))
    if section.init_std is None:
        return
    if section.family == "t5":
        raise InvalidInputError("[model] init_std is not for family 't5', whose weights are drawn by their inputs")
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() >= 2:
                parameter.mul_(section.init_std / _INITIAL_STD)


def started_model(checkpoint: Checkpoint, section: ModelSection, head: Head, seed: int) -> nn.Module:
    """Take a checkpoint's model, with another head and dropout where training needs them.

    Weights that both have are the checkpoint's, the others are drawn anew.

    Args:
        checkpoint: Where training starts from.
        section: The recipe's section: only its family, and its dropout if it has one.
        head: What the model shall end in.
        seed: The recipe's seed.

    Raises:
        InvalidInputError: The checkpoint is of another family.
    """
    found = checkpoint.architecture
    if found.family != section.family:
        raise InvalidInputError(
            f"the checkpoint to start from is of family {found.family!r}; [model] family of the recipe is {section.family!r}"
        )
    config = found.config if section.dropout is None else replace(found.config, dropout=section.dropout)
    wanted = Architecture(
        family=found.family,
        config=config,
        head=head.name,
        labels=head.labels,
        has_pooler=found.has_pooler and head.name == "trunk",
        has_next_sentence=head.has_next_sentence,
    )
    if wanted == found:
        return checkpoint.model
    device = next(checkpoint.model.parameters()).device
    model = _drawn(wanted, replace(section, init_std=None), seed).to(device)
    known = _shared_names(checkpoint.model.state_dict())
    keeps_head = found.labels == wanted.labels
    with torch.no_grad():
        for name, tensor in _shared_names(model.state_dict()).items():
            is_head = name.startswith("head.")
            if name in known and known[name].shape == tensor.shape and (keeps_head or not is_head):
                tensor.copy_(known[name])
    return model


def _shared_names(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Name a BERT's trunk alike whether a head stands on it or not."""
    has_head = any(name.startswith("bert.") for name in state)
    is_trunk = "segments.weight" in state
    prefix = "bert." if is_trunk and not has_head else ""
    return {f"{prefix}{name}": tensor for name, tensor in state.items()}
