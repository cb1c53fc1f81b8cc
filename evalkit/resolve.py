"""Names and flags to what a run needs: tasks, models, data. Everything wrong with them is found here, before any model work."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from evalkit.adapters import ADAPTERS, open_adapter
from evalkit.adapters.baselines import BASELINES
from evalkit.adapters.baselines.base import baselines_for
from evalkit.catalog import find_task, is_task_file, tasks
from evalkit.data.load import DATA_DIR_VARIABLE
from evalkit.data.text import find_file
from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.metrics.configure import configure
from evalkit.requests import ModelAdapter, ModelSettings
from evalkit.spec import ModelRef, TaskSpec

ALL_BASELINES = "baseline:all"
CHECKPOINT = "checkpoint"


def expand_tasks(names: Sequence[str]) -> list[str]:
    """Replace patterns such as ``mini_*`` by the task names that they match; each name once, in order.

    Raises:
        UnknownNameError: A pattern matches no task.
    """
    found: list[str] = []
    for name in names:
        matches = [name]
        if any(mark in name for mark in "*?[") and not is_task_file(name):
            matches = [task for task in tasks() if fnmatchcase(task, name)]
            if not matches:
                raise UnknownNameError("task pattern", name, tasks())
        found += matches
    if not found:
        raise InvalidInputError("--task names no task; expected names, patterns or TOML files, see: evalkit list tasks")
    return list(dict.fromkeys(found))


def expand_models(names: Sequence[str], task: TaskSpec) -> list[str]:
    """Replace ``baseline:all`` by the baselines that answer the task."""
    found = []
    for name in names:
        found += [f"baseline:{able}" for able in baselines_for(task.kind)] if name == ALL_BASELINES else [name]
    return list(dict.fromkeys(found))


def resize(task: TaskSpec, split: str, size: int | None) -> TaskSpec:
    """Give the scored split of an embedded task another size.

    Raises:
        InvalidInputError: The task's data is not generated.
    """
    if size is None:
        return task
    if task.generated is None:
        raise InvalidInputError(f"--size goes with embedded tasks; {task.name!r} has a fixed data set: use --limit")
    sizes = {**task.generated.sizes, split: size}
    return replace(task, generated=replace(task.generated, sizes=sizes))


def resolve_task(name: str, metrics: Sequence[str] = ()) -> TaskSpec:
    """The task of a name or file, with other metrics if some are named.

    Raises:
        InvalidInputError: Task or metric is not known, or the task file is not valid.
    """
    task = find_task(name)
    if not metrics:
        return task
    own = {metric.label: metric for metric in task.metrics}
    chosen = tuple(
        own.get(metric) or configure(metric, {}, language=task.language, labels=task.labels, kind=task.kind)
        for metric in metrics
    )
    return replace(task, metrics=chosen)


def limit_answers(task: TaskSpec, adapter: ModelAdapter, max_new_tokens: int | None) -> TaskSpec:
    """Give the answers of a task another limit; None leaves the task's own.

    Raises:
        InvalidInputError: The model answers the task without generating text.
    """
    if max_new_tokens is None:
        return task
    asked = next((kind for kind in task.requests if kind in adapter.supports), "generate")
    if asked != "generate":
        raise InvalidInputError(
            f"--max-new-tokens {max_new_tokens} limits generated text, but model {adapter.info.ref!r} answers task"
            f" {task.name!r} by {asked!r} requests; leave it out"
        )
    return replace(task, max_new_tokens=max_new_tokens)


def resolve_data_dir(name: str, task: TaskSpec, given: str | None) -> str | None:
    """The folder of data files: as given, else the task file's own folder, else the environment's; None if none is needed.

    Raises:
        InvalidInputError: The folder is not there.
    """
    if given is None and is_task_file(name):
        return str(Path(name).resolve().parent)
    folder = given if given is not None else os.environ.get(DATA_DIR_VARIABLE)
    if not folder or (given is None and task.generated):
        return None
    if not Path(folder).is_dir():
        source = "--data-dir" if given is not None else DATA_DIR_VARIABLE
        raise InvalidInputError(
            f"{source} {folder!r} is not a folder; expected the folder that holds <kind>/<dataset>/..."
        )
    return folder


def parse_model(text: str) -> ModelRef:
    """Read a model reference: a checkpoint folder, or a scheme such as ``predictions:out.jsonl`` or ``baseline:copy``.

    Raises:
        InvalidInputError: It is neither.
    """
    scheme, colon, target = text.partition(":")
    if os.path.isdir(text):
        return ModelRef(scheme=CHECKPOINT, target=text)
    if not colon:
        raise _without_scheme(text)
    if scheme not in ADAPTERS:
        raise UnknownNameError("model scheme", scheme, ADAPTERS)
    if not target:
        raise InvalidInputError(f"model {text!r} names nothing after the colon; expected e.g. predictions:FILE")
    if scheme == "baseline" and text != ALL_BASELINES and target not in BASELINES:
        raise UnknownNameError("baseline", target, [*BASELINES, "all"])
    if scheme == "predictions":
        find_file(target)
    return ModelRef(scheme=scheme, target=target)


def _without_scheme(text: str) -> InvalidInputError:
    if text in BASELINES:
        return InvalidInputError(f"model {text!r} names no scheme; did you mean 'baseline:{text}'?")
    if os.path.isfile(text):
        return InvalidInputError(
            f"model {text!r} is a file, not a checkpoint folder; did you mean 'predictions:{text}'?"
        )
    return InvalidInputError(
        f"model {text!r} is no folder and names no scheme; expected a checkpoint folder, predictions:FILE or baseline:NAME"
    )


def resolve_model(text: str, settings: ModelSettings) -> tuple[ModelRef, ModelAdapter]:
    """Open the model of a reference.

    Raises:
        InvalidInputError: The model is not known or cannot be opened.
    """
    reference = parse_model(text)
    return reference, open_adapter(reference.scheme, reference.target, settings)
