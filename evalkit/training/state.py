"""The state that a stopped training goes on from: written aside and renamed, so that it is there whole or not at all.

    <out>/training/state/step-000000400-000004/      step, and evaluations so far
      state.json               step, place in the data, evaluations so far, what they belong to
      model.safetensors        weights
      optimizer.safetensors    what the optimiser keeps of each parameter

Nothing random is in it: everything that is drawn comes from the recipe's seed and the number of its step.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from torch import Tensor

from evalkit.errors import DataError, IncompleteError
from evalkit.json_files import read_object

VERSION = 1
_JSON, _MODEL, _OPTIMIZER = "state.json", "model.safetensors", "optimizer.safetensors"


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a training has come."""

    version: int = VERSION
    """Version of the state's form."""
    step: int = 0
    """Optimiser steps taken."""
    epoch: int = 0
    """Whole passes over the data before the next batch."""
    index: int = 0
    """Batches of the present pass before it."""
    tokens_seen: int = 0
    """Tokens that went through the model."""
    elapsed_s: float = 0.0
    """Seconds spent, those of earlier starts counted."""
    is_bf16: bool = False
    """What `precision` came to."""
    first_loss_nats: float | None = None
    """Mean loss of the first steps, which later ones are held against."""
    recent_loss_nats: float | None = None
    """Smoothed loss of the last steps."""
    evaluations: tuple[Mapping[str, Any], ...] = field(default=())
    """What was measured so far, in order."""


@dataclass(frozen=True, slots=True)
class State:
    """A training as it stood after some step."""

    progress: Progress
    """How far it had come."""
    model: Mapping[str, Tensor]
    """Weights."""
    optimizer: Mapping[str, Tensor]
    """What `Stepper.optimizer_state` gave."""


@contextmanager
def nothing_lost(what: str, kept: str) -> Iterator[None]:
    """Say in one line that something could not be written, and what is still there.

    Raises:
        IncompleteError: The system, or the library that writes tensors, failed.
    """
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, SafetensorError) as error:
        raise IncompleteError(
            f"{what} could not be written: {error}; {kept}: make room and give the same command again"
        ) from error


def write_state(folder: Path, state: State) -> None:
    """Write a state, and remove the older ones once it is there.

    Args:
        folder: The folder of states.
        state: The state.

    Raises:
        OSError: There is no room; the older states are untouched.
        SafetensorError: Likewise.
    """
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    final = folder / f"step-{state.progress.step:09d}-{len(state.progress.evaluations):06d}"
    if final.exists():
        return
    aside = Path(tempfile.mkdtemp(prefix=".new-", dir=folder))
    try:
        for name, tensors in ((_MODEL, state.model), (_OPTIMIZER, state.optimizer)):
            save_file({key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}, aside / name)
        content = json.dumps(asdict(state.progress), ensure_ascii=False, allow_nan=False)
        (aside / _JSON).write_text(content, encoding="utf-8")
        for path in aside.iterdir():
            _sync(path)
        os.rename(aside, final)
        _sync(folder)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    for other in folder.iterdir():
        if other != final:
            shutil.rmtree(other, ignore_errors=True)


def read_state(folder: Path) -> State | None:
    """Read the newest state; None where there is none.

    Raises:
        DataError: A file of it is broken or of another version.
    """
    found = sorted(folder.glob("step-*")) if folder.is_dir() else []
    if not found:
        return None
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    newest = found[-1]
    progress = _read_progress(newest / _JSON)
    try:
        return State(progress, load_file(newest / _MODEL), load_file(newest / _OPTIMIZER))
    except (OSError, SafetensorError) as error:
        raise DataError(
            newest, f"this state of a training cannot be read ({error}); remove it to start anew"
        ) from error


def _read_progress(path: Path) -> Progress:
    content = read_object(path)
    known = {entry.name for entry in fields(Progress)}
    if content.get("version") != VERSION or set(content) != known:
        raise DataError(path, f"not a state of version {VERSION}; remove its folder to start anew")
    return Progress(**{**content, "evaluations": tuple(content["evaluations"])})


def _sync(path: Path) -> None:
    """Make the system write a file or folder to the disk now."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
