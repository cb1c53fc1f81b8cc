"""Where numbers come from: the models of a report, and every run with what is needed to make it again."""

from __future__ import annotations

import math
import shlex
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from evalkit.record import RunRecord
from evalkit.report.model import Model, Run
from evalkit.report.reading import StoredRun
from evalkit.report.rows import Row


def model_of(key: str, row: Row, shown: Sequence[StoredRun]) -> Model:
    """Describe a model by its newest run.

    Args:
        key: Key of the model.
        row: The model.
        shown: Its runs that stand in cells.
    """
    newest = max((run.record for run in row.runs), key=lambda record: (record.created, record.id))
    speeds = [speed for run in {id(run): run for run in shown}.values() if (speed := _speed(run.record)) is not None]
    return Model(
        key=key,
        name=row.name,
        ref=str(newest.model["ref"]),
        family=str(newest.model["family"]),
        digests=tuple(sorted({str(run.record.model["digest"]) for run in row.runs})),
        parameters=newest.model.get("parameters"),
        tokens_seen=newest.model.get("tokens_seen"),
        tokens_per_s=statistics.median(speeds) if speeds else None,
        latest=newest.created,
    )


def _speed(record: RunRecord) -> float | None:
    return record.timing.get("tokens_per_s")


def trace(run: StoredRun, model: str, page: str, use: str) -> Run:
    """Describe a run.

    Args:
        run: The run.
        model: Key of its model.
        page: Key of its task page.
        use: Whether it is shown, or why not.
    """
    record, environment = run.record, run.record.environment
    packages = environment.get("packages")
    versions = {name: environment.get(name) for name in ("evalkit", "python")}
    versions |= packages if isinstance(packages, Mapping) else {}
    return Run(
        id=record.id,
        place=run.place,
        model=model,
        page=page,
        use=use,
        status=record.status,
        created=record.created,
        command=_command(environment.get("command")),
        task_digest=str(record.task["digest"]),
        data_digest=str(record.data["digest"]),
        model_digest=str(record.model["digest"]),
        settings=_plain(record.settings),
        counts=dict(record.counts),
        timing=dict(record.timing),
        versions={str(name): str(version) for name, version in versions.items() if version is not None},
        commit=_commit(environment),
        platform=str(environment.get("platform") or ""),
        warnings=record.warnings,
    )


def _command(words: object) -> str:
    """A command line for a POSIX shell; nothing where the record holds none."""
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return ""
    # What Python sees where evalkit was started as a module.
    started = ["python", "-m", "evalkit", *words[1:]] if words[:1] == ["__main__.py"] else words
    return shlex.join(started)


def _commit(environment: Mapping[str, Any]) -> str:
    commit = environment.get("git_commit")
    return f"{commit}{'-dirty' if environment.get('git_dirty') else ''}" if isinstance(commit, str) else ""


def _plain(value: Any) -> Any:  # noqa: ANN401
    """A value of a record as JSON can hold it: Python reads NaN and infinities from JSON, but nobody else does."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
