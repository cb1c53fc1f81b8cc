"""From a folder to a model with its weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from evalkit.checkpoints.architectures import Architecture, ModelConfig, build_empty, make_config
from evalkit.checkpoints.card import Card, read_card
from evalkit.checkpoints.configs import read_architecture
from evalkit.checkpoints.huggingface import to_huggingface, to_ours
from evalkit.checkpoints.matching import check_shapes, match
from evalkit.checkpoints.tensor_files import INDEX, SINGLE, TensorPlace, TensorReader, folder_places
from evalkit.digests import digest_json
from evalkit.errors import DataError, InvalidInputError, MissingResourceError
from evalkit.json_files import read_object
from evalkit.tokenization import Tokenizer, load_tokenizer
from evalkit_models.layers import parameter_counts

CONFIG = "config.json"
VERSION_KEY = "evalkit_checkpoint"
VERSION = 1
CONVERT_COMMAND = "python -m evalkit.checkpoints.convert --allow-pickle"

_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A model with everything that came with it."""

    model: nn.Module
    """A model of evalkit_models, in evaluation mode, on its device."""
    tokenizer: Tokenizer
    """Its tokenizer."""
    config: ModelConfig
    """Its shape."""
    architecture: Architecture
    """Which model it is, with head and labels."""
    digest: str
    """Digest of weights, shape, head and labels; the tokenizer has its own."""
    card: Card
    """How it was made, as far as the folder says."""
    parameters: Mapping[str, int]
    """Its numbers of parameters: `total`, `embedding`, `non_embedding`."""

    @property
    def family(self) -> str:
        """``gpt``, ``decoder``, ``bert`` or ``t5``."""
        return self.architecture.family

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the labels or classes, in the order of the model's outputs; () if it has none."""
        return self.architecture.labels


class _Renamed(Mapping[str, Tensor]):
    """Tensors under other names."""

    def __init__(self, tensors: TensorReader, sources: Mapping[str, str]) -> None:
        self._tensors = tensors
        self._sources = sources

    def __len__(self) -> int:
        return len(self._sources)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __contains__(self, name: object) -> bool:
        return name in self._sources

    def __getitem__(self, name: str) -> Tensor:
        return self._tensors[self._sources[name]]


def _read_ours(settings: Mapping[str, Any], path: Path) -> Architecture:
    """Read the architecture out of our own `config.json`."""
    if settings[VERSION_KEY] != VERSION:
        raise DataError(path, f"has version {settings[VERSION_KEY]!r}, expected {VERSION}; update evalkit")
    try:
        return Architecture(
            family=settings["family"],
            config=make_config(settings["family"], settings["model"]),
            head=settings["head"],
            labels=tuple(settings["labels"]),
            has_pooler=settings["has_pooler"],
            has_next_sentence=settings["has_next_sentence"],
        )
    except KeyError as error:
        raise DataError(path, f"has no {error.args[0]!r}, or does not know it") from error
    except (TypeError, ValueError) as error:
        raise DataError(path, str(error)) from error


def _places(folder: Path) -> dict[str, TensorPlace]:
    places = folder_places(folder)
    if places is not None:
        return places
    if pickles := sorted(path.name for pattern in _PICKLES for path in folder.glob(pattern)):
        raise DataError(
            folder / pickles[0],
            f"a pickle can run any code when it is opened, so it is not read; if you trust it: {CONVERT_COMMAND} {folder}",
        )
    raise MissingResourceError(f"{folder} has no weights, expected {SINGLE} or {INDEX}")


def _widest(places: Mapping[str, TensorPlace]) -> torch.dtype | None:
    """Choose one floating-point type that holds all tensors, where they have several."""
    found = {place.dtype for place in places.values() if place.dtype.is_floating_point}
    widest: torch.dtype | None = None
    for dtype in found:
        widest = dtype if widest is None else torch.promote_types(widest, dtype)
    return widest


def _is_tied(config: ModelConfig) -> bool:
    return getattr(config, "tie_head", True)


def _empty(architecture: Architecture, tensor_count: int) -> nn.Module:
    """Build the model without its values."""
    layers = architecture.config.layers + getattr(architecture.config, "decoder_layers", 0)
    if layers > tensor_count:
        raise InvalidInputError(f"config.json describes {layers} layers, the files have {tensor_count} tensors")
    try:
        return build_empty(architecture)
    except (RuntimeError, OverflowError) as error:
        raise InvalidInputError(
            f"config.json describes a model that cannot be: {str(error).splitlines()[0]}"
        ) from error


def _fill(model: nn.Module, state: Mapping[str, Tensor]) -> None:
    """Give an empty model its values."""
    model.load_state_dict(state, strict=True, assign=True)
    left = [name for name, tensor in chain(model.named_parameters(), model.named_buffers()) if tensor.is_meta]
    assert not left, f"{left} have no values: a model of evalkit_models may have no tensors outside of its state"
    model.eval()


def _read_model(
    folder: Path, settings: Mapping[str, Any], device: torch.device | str, dtype: torch.dtype | None
) -> tuple[nn.Module, Architecture, str]:
    """Read a model with its weights: itself, which it is, and the digest of the weights."""
    places = _places(folder)
    shapes = {name: place.shape for name, place in places.items()}
    is_ours = VERSION_KEY in settings
    if is_ours:
        architecture, table = _read_ours(settings, folder / CONFIG), ""
    else:
        architecture, table = read_architecture(settings, shapes, folder / CONFIG)
    is_tied = _is_tied(architecture.config)
    try:
        model = _empty(architecture, len(places))
        skeleton = model.state_dict()
        if is_ours:
            check_shapes(shapes, {name: tuple(tensor.shape) for name, tensor in skeleton.items()})
            sources = {name: name for name in skeleton}
        else:
            theirs = {name: tuple(tensor.shape) for name, tensor in to_huggingface(skeleton, table).items()}
            sources = match(shapes, theirs, table, tie_head=is_tied)
        with TensorReader(
            {name: places[name] for name in sources.values()}, device, dtype or _widest(places)
        ) as reader:
            tensors = _Renamed(reader, sources)
            _fill(model, tensors if is_ours else to_ours(tensors, table, tie_head=is_tied))
            return model, architecture, reader.digest()
    except InvalidInputError as error:
        raise error if isinstance(error, DataError) else DataError(folder, str(error)) from error


def _why_none(folder: Path) -> str:
    if not folder.exists():
        return f"there is no such folder; name one with {CONFIG}, weights and a tokenizer"
    if (folder / "training").is_dir():
        return "its training has not ended; run the same evalkit train command again, which goes on"
    return f"it has no {CONFIG}"


def load_checkpoint(
    path: Path | str, device: torch.device | str = "cpu", dtype: torch.dtype | None = None
) -> Checkpoint:
    """Read a checkpoint folder, ours or one in transformers' layout of GPT-2, Llama, Qwen2, BERT, RoBERTa, T5 or mT5.

    Everything is checked against the headers of the weight files before the weights are read. Each tensor goes to the device
    as soon as it is read, so that no second copy of the model is held.

    Args:
        path: The folder.
        device: Where the model goes.
        dtype: Floating-point type of the model; None for the files' own, or the widest of them.

    Raises:
        MissingResourceError: The folder, its weights or its tokenizer are not there.
        DataError: A file is broken, a pickle, or describes a model that evalkit does not have; or the tensors are not those of
            the model that `config.json` describes.
    """
    folder = Path(path)
    if not (folder / CONFIG).is_file():
        raise MissingResourceError(f"{folder} is no checkpoint: {_why_none(folder)}")
    settings = read_object(folder / CONFIG)
    card = read_card(folder)
    tokenizer = load_tokenizer(folder)
    model, architecture, weights = _read_model(folder, settings, device, dtype)
    rows = architecture.config.vocab_size
    if tokenizer.largest_id >= rows:
        raise DataError(
            folder, f"the tokenizer has ids up to {tokenizer.largest_id}, the model's vocabulary {rows} tokens"
        )
    return Checkpoint(
        model=model,
        tokenizer=tokenizer,
        config=architecture.config,
        architecture=architecture,
        digest=digest_json({"weights": weights, "architecture": asdict(architecture)}),
        card=card,
        parameters=parameter_counts(model),
    )
