"""From a model to a folder, which appears whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

from torch import Tensor, nn

from evalkit.checkpoints.architectures import Architecture, describe
from evalkit.checkpoints.card import Card
from evalkit.checkpoints.configs_out import write_settings
from evalkit.checkpoints.huggingface import to_huggingface
from evalkit.checkpoints.loading import CONFIG, VERSION, VERSION_KEY
from evalkit.checkpoints.tensor_files import INDEX, SINGLE
from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.tokenization import Tokenizer, save_tokenizer
from evalkit_models.layers import parameter_counts

SHARD_BYTES = 5_000_000_000
"""Largest file of weights, unless one tensor alone is larger."""

Layout = Literal["evalkit", "huggingface"]


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _shards(tensors: Mapping[str, Tensor], shard_bytes: int) -> list[dict[str, Tensor]]:
    """Share tensors out over files, in their order."""
    shards: list[dict[str, Tensor]] = [{}]
    room = shard_bytes
    for name, tensor in tensors.items():
        if tensor.nbytes > room and shards[-1]:
            shards.append({})
            room = shard_bytes
        shards[-1][name] = tensor
        room -= tensor.nbytes
    return shards


def write_tensors(folder: Path, tensors: Mapping[str, Tensor], shard_bytes: int = SHARD_BYTES) -> list[str]:
    """Write weights as safetensors, in one file or in several with an index.

    Args:
        folder: An existing folder.
        tensors: Name to tensor.
        shard_bytes: Largest file, unless one tensor alone is larger.

    Returns:
        The names of the files.
    """
    from safetensors.torch import save_file

    shards = _shards(tensors, shard_bytes)
    count = len(shards)
    names = [SINGLE] if count == 1 else [f"model-{n:05d}-of-{count:05d}.safetensors" for n in range(1, count + 1)]
    for name, shard in zip(names, shards, strict=True):
        content = {key: tensor.detach().contiguous().cpu() for key, tensor in shard.items()}
        save_file(content, folder / name, metadata={"format": "pt"})
    if count > 1:
        weight_map = {key: name for name, shard in zip(names, shards, strict=True) for key in shard}
        total = sum(tensor.nbytes for tensor in tensors.values())
        _write_json(folder / INDEX, {"metadata": {"total_size": total}, "weight_map": weight_map})
        names.append(INDEX)
    return names


def _our_settings(architecture: Architecture) -> dict[str, Any]:
    content = asdict(architecture)
    return {
        VERSION_KEY: VERSION,
        "family": content["family"],
        "head": content["head"],
        "labels": list(content["labels"]),
        "has_pooler": content["has_pooler"],
        "has_next_sentence": content["has_next_sentence"],
        "model": content["config"],
    }


@contextmanager
def _aside(folder: Path, *, replaces: bool) -> Iterator[Path]:
    """Give a folder to write into, and put it into place when all of it is there."""
    if folder.exists() and not replaces and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInputError(f"{folder} is there already; choose another folder, or pass replace_existing=True")
    if replaces and folder.exists() and not (folder / CONFIG).is_file():
        raise InvalidInputError(f"{folder} is no checkpoint, so it is not replaced; choose another folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", suffix=".tmp", dir=folder.parent))
    try:
        yield aside
        aside.chmod(0o777 & ~_umask())
        old = aside.with_suffix(".old")
        if folder.exists():
            os.rename(folder, old)
        os.rename(aside, folder)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def save_checkpoint(
    folder: Path | str,
    model: nn.Module,
    tokenizer: Tokenizer,
    card: Card | None = None,
    *,
    labels: tuple[str, ...] = (),
    layout: Layout = "evalkit",
    replace_existing: bool = False,
) -> None:
    """Write a checkpoint folder: `config.json`, weights, `tokenizer.json` and `card.json`.

    It is written aside and renamed, so that nobody ever sees half of it.

    Args:
        folder: The folder; its parents are made.
        model: A model of evalkit_models.
        tokenizer: Its tokenizer.
        card: How it was made; the numbers of parameters are filled in.
        labels: Names of the labels, for a model that has some.
        layout: ``huggingface`` for one that opens in transformers too.
        replace_existing: Whether a checkpoint that is there is replaced.

    Raises:
        InvalidInputError: The folder is there already, or the model cannot be written in this layout.
    """
    architecture = describe(model, labels)
    tensors: Mapping[str, Tensor] = {name: tensor.detach() for name, tensor in model.state_dict().items()}
    if tokenizer.largest_id >= architecture.config.vocab_size:
        raise InvalidInputError(
            f"the tokenizer has ids up to {tokenizer.largest_id}, the model {architecture.config.vocab_size} tokens"
        )
    settings, tensors = _layout(layout)(architecture, tokenizer, tensors)
    with _aside(Path(folder), replaces=replace_existing) as aside:
        write_tensors(aside, tensors)
        save_tokenizer(aside, tokenizer)
        replace(card or Card(), parameters=parameter_counts(model)).write(aside)
        _write_json(aside / CONFIG, settings)


_Written = tuple[dict[str, Any], Mapping[str, Tensor]]


def _as_ours(architecture: Architecture, tokenizer: Tokenizer, tensors: Mapping[str, Tensor]) -> _Written:
    return _our_settings(architecture), tensors


def _as_theirs(architecture: Architecture, tokenizer: Tokenizer, tensors: Mapping[str, Tensor]) -> _Written:
    settings, table = write_settings(architecture, tokenizer)
    return settings, to_huggingface(tensors, table)


_LAYOUTS: Mapping[str, Callable[[Architecture, Tokenizer, Mapping[str, Tensor]], _Written]] = {
    "evalkit": _as_ours,
    "huggingface": _as_theirs,
}


def _layout(name: str) -> Callable[[Architecture, Tokenizer, Mapping[str, Tensor]], _Written]:
    if name not in _LAYOUTS:
        raise UnknownNameError("layout", name, _LAYOUTS)
    return _LAYOUTS[name]
