"""Task names to tasks: the one module that imports the task package."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
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
    """Whether a task was given as the path of its file: a name never has a separator or the ending ``.toml``."""
    return name.endswith(".toml") or (os.sep in name and os.path.isfile(name))


def task_notes(name: str) -> str:
    """What the header of a named task's file says; '' for a task file of the user's own."""
    module = sys.modules.get(f"evalkit_tasks.{name}")
    return (module.__doc__ or "").strip() if module else ""


def source_logprob(name: str) -> Callable[[str], float] | None:
    """The exact natural-log probability of a text by the source that writes a named task; None where nobody knows it."""
    tasks()
    found: Callable[[str], float] | None = getattr(sys.modules.get(f"evalkit_tasks.{name}"), "true_logprob", None)
    return found


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
