"""From a checkpoint folder to the adapter of its family, on the device and with the type that were asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import torch
from torch import nn

from evalkit.adapters.engine.compiling import check_compiler
from evalkit.checkpoints import Checkpoint, load_checkpoint
from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.requests import ModelAdapter, ModelInfo, ModelSettings
from evalkit.tokenization import Tokenizer
from evalkit_models.bert_heads import BertForMaskedLm, BertForTokenLabels
from evalkit_models.decoder import Decoder
from evalkit_models.gpt import GPT
from evalkit_models.t5 import T5

DTYPES: Mapping[str, torch.dtype] = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}

TRAINING = ("recipe_digest", "seed", "lr", "objective", "start")
"""What a record says of a checkpoint's training, besides its recipe's name and the tokens seen."""


def open_checkpoint(target: str, settings: ModelSettings) -> ModelAdapter:
    """Load a checkpoint folder and put the adapter of its family around it.

    Args:
        target: The folder, ours or one in transformers' layout.
        settings: Device, type, batch size, overflow policy and decoding.

    Raises:
        InvalidInputError: The folder, the device or the type cannot be used.
        MissingResourceError: The folder, its weights or its tokenizer are not there.
    """
    device = find_device(settings.device)
    if settings.dtype not in DTYPES:
        raise UnknownNameError("dtype", settings.dtype, DTYPES)
    if settings.compile:
        check_compiler(device)
    checkpoint = load_checkpoint(target, device, DTYPES[settings.dtype])
    if settings.tag_decoding == "auto":
        settings = replace(settings, tag_decoding=str(checkpoint.card.details.get("tag_decoding", "independent")))
    info = model_info(target, checkpoint, settings, device)
    return adapter_around(checkpoint.model, checkpoint.tokenizer, info, settings, checkpoint.labels)


def adapter_around(
    model: nn.Module, tokenizer: Tokenizer, info: ModelInfo, settings: ModelSettings, labels: tuple[str, ...] = ()
) -> ModelAdapter:
    """Put the adapter of its family around a model that is already in memory.

    Args:
        model: A model of evalkit_models, on its device.
        tokenizer: Its tokenizer.
        info: What the record says about the model.
        settings: Batch size, overflow policy and decoding.
        labels: Names of its labels, for a BERT whose head has some.

    Raises:
        InvalidInputError: A setting cannot be used, or the tokenizer lacks a token that the model's head needs.
    """
    if isinstance(model, T5):
        from evalkit.adapters.seq2seq import Seq2SeqAdapter

        return Seq2SeqAdapter(model, tokenizer, info, settings)
    if isinstance(model, GPT | Decoder):
        from evalkit.adapters.causal import CausalAdapter

        return CausalAdapter(model, tokenizer, info, settings)
    from evalkit.adapters.masked import MaskedAdapter

    return MaskedAdapter(model, tokenizer, info, settings, labels=labels)


def find_device(name: str) -> torch.device:
    """The device of a name; ``auto`` takes a GPU where there is one.

    Raises:
        InvalidInputError: There is no such device here.
    """
    if name == "auto":
        has_mps = torch.backends.mps.is_available()
        return torch.device("cuda" if torch.cuda.is_available() else "mps" if has_mps else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InvalidInputError(f"device {name!r} is none; expected auto, cpu, cuda, cuda:N or mps") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InvalidInputError(f"device {name!r} asked for, but torch sees no CUDA device; use --device auto or cpu")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise InvalidInputError(f"device {name!r} asked for, but there are {torch.cuda.device_count()} CUDA devices")
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise InvalidInputError(f"device {name!r} asked for, but this machine has no MPS; use --device auto or cpu")
    return device


def model_info(target: str, checkpoint: Checkpoint, settings: ModelSettings, device: torch.device) -> ModelInfo:
    """What a record says about the model; the digest covers weights, shape and tokenizer, and the type stands beside it."""
    folder = Path(target).resolve()
    return ModelInfo(
        ref=target,
        name=folder.name,
        digest=f"{checkpoint.digest}-{checkpoint.tokenizer.digest}",
        family=checkpoint.family,
        parameters=checkpoint.parameters["total"],
        tokens_seen=checkpoint.card.tokens_seen,
        determined_by="batch",
        likelihood=_likelihood(checkpoint.model),
        details={
            "parameters_non_embedding": checkpoint.parameters["non_embedding"],
            "recipe": checkpoint.card.recipe,
            "training": {name: checkpoint.card.details.get(name) for name in TRAINING},
            "shape": {**asdict(checkpoint.config), **_head(checkpoint)},
            "device": str(device),
            "dtype": settings.dtype,
            **({"labels": list(checkpoint.labels)} if checkpoint.labels else {}),
            **({"tag_decoding": settings.tag_decoding} if isinstance(checkpoint.model, BertForTokenLabels) else {}),
        },
    )


def _head(checkpoint: Checkpoint) -> dict[str, str]:
    return {} if checkpoint.architecture.head is None else {"head": checkpoint.architecture.head}


def _likelihood(model: nn.Module) -> str | None:
    if isinstance(model, BertForMaskedLm):
        return "pseudo"
    return "causal" if isinstance(model, GPT | Decoder) else None
