"""Where a number comes from: what a record says about task, data, model, settings, time and machine."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from evalkit import __version__
from evalkit.data.load import TaskData
from evalkit.digests import digest_json, digest_list
from evalkit.metrics.base import AnyMetric, Statistics
from evalkit.record import StoredStatistics
from evalkit.requests import Example, ModelInfo
from evalkit.spec import RunSpec, TaskSpec

if TYPE_CHECKING:
    from evalkit.metrics.base import FloatArray

_RECORDED_PACKAGES = ("numpy", "sacrebleu", "rouge-score", "nltk", "scikit-learn", "torch")


def run_id(started: datetime, spec: RunSpec, model: ModelInfo, answers: str) -> str:
    """Folder name of a run: UTC time, task, model, and six digits of what was set up and answered.

    Args:
        started: When it began.
        spec: How it was set up.
        model: The model.
        answers: Digest of all predictions.
    """
    digest = digest_json([describe_settings(spec, ""), spec.task, model.digest, answers])
    time = started.strftime("%Y%m%dT%H%M%S.%fZ")
    return f"{time}-{file_name(spec.task)}-{file_name(model.name)}-{digest[:6]}"


def file_name(text: str) -> str:
    """A text as part of a file name: no separators, no leading dot, at most 60 characters."""
    stem = text.rsplit("/", 1)[-1]
    return re.sub(r"[^\w.+-]+", "_", stem).strip("._")[:60] or "unnamed"


def task_digest(task: TaskSpec) -> str:
    """Digest of everything in a task that changes its numbers: prompts, limits, metrics, version."""
    return digest_json(
        {
            "name": task.name,
            "kind": task.kind,
            "version": task.version,
            "language": task.language,
            "templates": [task.instruction, task.prompt, task.answer],
            "stop": task.stop,
            "max_new_tokens": task.max_new_tokens,
            "labels": task.labels,
            "options": {key: repr(value) for key, value in task.options.items()},
            "metrics": [repr(metric) for metric in task.metrics],
        }
    )


def describe_task(task: TaskSpec) -> dict[str, Any]:
    """Name, version and digest of a task."""
    return {
        "name": task.name,
        "kind": task.kind,
        "language": task.language,
        "version": task.version,
        "digest": task_digest(task),
    }


def describe_data(data: TaskData, examples: Sequence[Example]) -> dict[str, Any]:
    """Source and digests of the data; `digest` is of the whole split, `ids` of the examples that were scored."""
    return {
        "source": data.source,
        "revision": data.revision,
        "split": data.split,
        "digest": data.digest,
        "n": len(data.examples),
        "scored_n": len(examples),
        "ids_digest": digest_list(example.id for example in examples),
        "paths": list(data.paths),
    }


def describe_model(model: ModelInfo) -> dict[str, Any]:
    """What the adapter says about itself."""
    known = {
        field.name: getattr(model, field.name)
        for field in fields(model)
        if field.name not in ("details", "determined_by")
    }
    return {**known, **model.details}


def describe_settings(spec: RunSpec, request_kind: str) -> dict[str, Any]:
    """The settings of a run, without what names task, model and folders."""
    return {
        "request_kind": request_kind,
        "split": spec.split,
        "limit": spec.limit,
        "sample_ids": list(spec.sample_ids) if spec.sample_ids is not None else None,
        "shots": spec.shots,
        "max_new_tokens": spec.max_new_tokens,
        "seed": spec.seed,
        "confidence": spec.confidence,
        "resamples": spec.resamples,
        **({} if spec.neural is None else asdict(spec.neural)),
    }


def describe_statistics(metric: AnyMetric, statistics: Statistics) -> StoredStatistics:
    """What is needed to score the stored statistics again; word lists, which only their extraction needs, are left out."""
    settings = {
        field.name: plain(getattr(metric, field.name))
        for field in fields(metric)  # type: ignore[arg-type]
        if field.init
        and getattr(metric, field.name) != field.default
        and not isinstance(getattr(metric, field.name), frozenset)
    }
    return StoredStatistics(metric=metric.name, settings=settings, columns=statistics.columns)


def describe_timing(tokens: int | None, **seconds: float) -> dict[str, float]:
    """Seconds of each step, and tokens a second where tokens are counted."""
    timing = {name: round(value, 6) for name, value in seconds.items()}
    if tokens is not None and seconds["answer_s"] > 0:
        timing["tokens_per_s"] = round(tokens / seconds["answer_s"], 3)
    return timing


def describe_repeatability(model: ModelInfo) -> str:
    """What the same command gives when it is run again, as far as anyone can promise."""
    if model.determined_by == "service":
        return "as far as the service answers the same again"
    if model.determined_by == "batch" and model.device_type != "cpu":
        return f"up to rounding: {model.device_type} promises no order of additions, so the last digits may differ"
    return "the same numbers and samples on the same machine and versions"


def describe_environment(model: ModelInfo) -> dict[str, Any]:
    """Versions, git commit of the folder that the command ran in, machine, and what can be repeated."""
    return {**_describe_machine(), "repeatability": describe_repeatability(model)}


@lru_cache(maxsize=1)
def _describe_machine() -> dict[str, Any]:
    from importlib import metadata

    versions = {}
    for name in _RECORDED_PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    commit, dirty = _git_state()
    return {
        "evalkit": __version__,
        "python": platform.python_version(),
        "packages": versions,
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "git_commit": commit,
        "git_dirty": dirty,
        "command": [os.path.basename(sys.argv[0]), *sys.argv[1:]],
    }


def _git_state() -> tuple[str | None, bool | None]:
    try:
        commit = _git("rev-parse", "HEAD")
        return commit, bool(_git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return None, None


def _git(*arguments: str) -> str:
    # No hook, monitor or lock of a checkout that may not be ours.
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", *arguments]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=2, check=True, env=environment)
    return done.stdout.strip()


def plain(value: object) -> Any:  # noqa: ANN401
    """A response, prediction or reference as JSON can hold it; fields that say nothing are left out."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        shown = ((field.name, getattr(value, field.name)) for field in fields(value) if field.name != "example_id")
        return {name: plain(item) for name, item in shown if item is not None and item is not False}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} cannot be written into a record")


def plain_numbers(row: FloatArray) -> list[float | int]:
    """Statistics as JSON numbers, counts as whole ones."""
    return [int(value) if value.is_integer() else value for value in row.tolist()]
