"""Task names to tasks: the one module that imports the task package."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache

from evalkit.errors import UnknownNameError
from evalkit.kinds import KINDS
from evalkit.spec import TaskSpec


@lru_cache(maxsize=1)
def tasks() -> Mapping[str, TaskSpec]:
    """All named tasks, complete with the defaults of their kinds."""
    from evalkit_tasks import TASKS

    return {name: KINDS[task.kind].complete(task) for name, task in TASKS.items()}


def is_task_file(name: str) -> bool:
    """Whether a task was given as the path of its file."""
    return name.endswith(".toml") or os.path.isfile(name)


def find_task(name: str) -> TaskSpec:
    """The task of a name, or of a TOML file's path.

    Raises:
        UnknownNameError: There is no such task.
        InvalidInputError: The file is no valid task.
    """
    if is_task_file(name):
        from pathlib import Path

        from evalkit.task_file import read_task_file

        return read_task_file(Path(name))
    known = tasks()
    if name not in known:
        raise UnknownNameError("task", name, known)
    return known[name]
