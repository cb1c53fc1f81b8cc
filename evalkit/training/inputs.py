"""What a training reads before it begins: task, data, held-out data, and the checkpoint that it starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from evalkit.checkpoints import Checkpoint, load_checkpoint
from evalkit.errors import InvalidInputError
from evalkit.resolve import resolve_data_dir, resolve_task
from evalkit.spec import TaskSpec
from evalkit.training.recipe import KeepSection, Recipe
from evalkit.training.sources import TrainingData, open_heldout, open_training


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Everything that a recipe names, opened."""

    data: TrainingData
    """What is trained on."""
    heldout: TrainingData | None
    """What is measured on; None where nothing is."""
    data_dir: str | None
    """Folder of data files of the task that is measured."""
    start: Checkpoint | None
    """Where training starts from; None for new weights."""


def open_inputs(recipe: Recipe, data_dir: str | None, init: str | None, device: torch.device) -> Inputs:
    """Open what a recipe names.

    Args:
        recipe: The recipe.
        data_dir: Folder of data files, as the user gave it.
        init: Checkpoint folder to start from.
        device: Where its model goes.

    Raises:
        InvalidInputError: Something is named wrongly, or named nowhere.
        MissingResourceError: Data or checkpoint are not to be had here.
    """
    name = recipe.data.task
    if name is None and not recipe.data.texts:
        raise InvalidInputError(
            f"recipe {recipe.name!r} names nothing to train on; give --task, or --set data.texts=\"['FILE']\""
        )
    _check_start(recipe, init)
    task, folder = _task(name, data_dir)
    data = open_training(recipe.data, task, folder)
    heldout, measured_folder = None, folder
    if recipe.evaluate is not None:
        measured_task = task
        if recipe.evaluate.task is not None:
            measured_task, measured_folder = _task(recipe.evaluate.task, data_dir)
        heldout = open_heldout(recipe.evaluate, recipe.data, measured_task, measured_folder)
        if heldout.task is None and recipe.evaluate.metric != "loss":
            raise InvalidInputError(f"[evaluate] metric is {recipe.evaluate.metric!r}; text files have only 'loss'")
    start = load_checkpoint(init, device, torch.float32) if init is not None else None
    return Inputs(data=data, heldout=heldout, data_dir=measured_folder, start=start)


def _task(name: str | None, data_dir: str | None) -> tuple[TaskSpec | None, str | None]:
    if name is None:
        if data_dir is not None and not Path(data_dir).is_dir():
            raise InvalidInputError(
                f"--data-dir {data_dir!r} is not a folder; expected the one that holds the text files"
            )
        return None, data_dir
    task = resolve_task(name)
    return task, resolve_data_dir(name, task, data_dir)


def _check_start(recipe: Recipe, init: str | None) -> None:
    if init is not None:
        return
    if recipe.tokenizer is None:
        raise InvalidInputError(
            f"recipe {recipe.name!r} has no [tokenizer], so it starts from a checkpoint: name its folder with --init"
        )


def identity(recipe: Recipe, inputs: Inputs) -> dict[str, Any]:
    """Say what decides the weights that a training makes: its folder goes on with nothing else.

    Args:
        recipe: The recipe.
        inputs: What it named.
    """
    settings: Mapping[str, Any] = asdict(replace(recipe, keep=KeepSection()))
    told_only = ("name", "summary", "hardware", "references", "keep")
    return {
        "recipe": recipe.name,
        **{key: value for key, value in settings.items() if key not in told_only},
        "objective": {"kind": recipe.objective.kind, **settings["objective"]},
        "data digest": inputs.data.digest,
        "held-out digest": inputs.heldout.digest if inputs.heldout is not None else None,
        "start digest": inputs.start.digest if inputs.start is not None else None,
    }
