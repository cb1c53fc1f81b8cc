"""A task written as a TOML file: kind, files, field names, prompt and metrics, without any Python.

    name = "support_mt"
    kind = "mt"
    language = "zh"
    source_language = "en"
    metrics = ["bleu", { name = "chrf", word_order = 2 }]

    [files]
    format = "jsonl"
    splits = { test = "test.jsonl" }
    fields = { source = "en", references = "zh" }

Paths are relative to the file's folder, or to ``--data-dir`` where that is given.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from evalkit.errors import DataError, EvalkitError, UnknownNameError
from evalkit.kinds import KINDS
from evalkit.metrics.base import AnyMetric
from evalkit.metrics.configure import configure
from evalkit.requests import REQUEST_KINDS
from evalkit.spec import Files, Hub, TaskSpec

_SOURCES: Mapping[str, type[Files] | type[Hub]] = {"files": Files, "hub": Hub}
_DEFAULTS: Mapping[str, Any] = {
    "version": 1,
    "summary": "",
    "paper": "not stated",
    "licence": "not stated",
    "files": None,
    "hub": None,
}
_HUB_DEFAULTS: Mapping[str, Any] = {"checked": "by the author of the task file", "revision": ""}

T = TypeVar("T")


def read_task_file(path: Path) -> TaskSpec:
    """Read a task from a TOML file, strictly.

    Raises:
        DataError: The file cannot be read, is not TOML, or has an unknown, missing or misshapen key.
    """
    try:
        with path.open("rb") as file:
            document = tomllib.load(file)
    except OSError as error:
        raise DataError(path, f"cannot read the task file: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(path, f"not a TOML file: {error}") from error
    try:
        return _task(document)
    except DataError:
        raise
    except EvalkitError as error:
        raise DataError(path, str(error)) from error


def _task(document: dict[str, Any]) -> TaskSpec:
    _check_document(document)
    values: dict[str, Any] = {**_DEFAULTS, **document}
    for source, kind in _SOURCES.items():
        if values[source] is not None:
            values[source] = _source(source, kind, values[source])
    for name in ("labels", "stop", "requests"):
        if name in values:
            values[name] = _texts(name, values[name])
    metrics = values.pop("metrics", ())
    task = TaskSpec(**values)
    _check_fields(task)
    chosen = tuple(_metric(entry, task) for entry in ((metrics,) if isinstance(metrics, str) else metrics))
    return KINDS[task.kind].complete(replace(task, metrics=chosen))


def _check_document(document: dict[str, Any]) -> None:
    known = [field.name for field in fields(TaskSpec) if field.name != "generated"]
    check_keys("key", document, known)
    for name in ("name", "kind", "language"):
        if not isinstance(document.get(name), str):
            raise DataError("task file", f"{name} is {document.get(name)!r}; expected a text")
    if document["kind"] not in KINDS:
        raise UnknownNameError("kind", document["kind"], KINDS)
    for request in document.get("requests", ()):
        if request not in REQUEST_KINDS:
            raise UnknownNameError("request kind", str(request), REQUEST_KINDS)


def _metric(entry: object, task: TaskSpec) -> AnyMetric:
    if isinstance(entry, str):
        return configure(entry, {}, language=task.language, labels=task.labels)
    if isinstance(entry, dict) and isinstance(entry.get("name"), str):
        settings = {key: value for key, value in entry.items() if key != "name"}
        return configure(entry["name"], settings, language=task.language, labels=task.labels)
    raise DataError("metrics", f"found {entry!r}; expected a metric's name or a table with its name and settings")


def _source(where: str, kind: type[T], table: object) -> T:
    if not isinstance(table, dict):
        raise DataError(f"[{where}]", f"found {table!r}; expected a table")
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    check_keys(f"key of [{where}]", table, known)
    values: dict[str, Any] = {**(_HUB_DEFAULTS if where == "hub" else {}), **table}
    for name, field in known.items():
        required = field.default is MISSING and field.default_factory is MISSING
        if required and name not in values:
            raise DataError(
                f"[{where}]", f"{name} is missing; expected it beside {', '.join(map(repr, table)) or 'others'}"
            )
    if not isinstance(values["splits"], dict) or not values["splits"]:
        raise DataError(
            f"[{where}]", f'splits is {values["splits"]!r}; expected a table such as {{ test = "test.jsonl" }}'
        )
    if where == "files":
        values["splits"] = {split: _texts(f"splits.{split}", paths) for split, paths in values["splits"].items()}
    return kind(**values)


def _check_fields(task: TaskSpec) -> None:
    kind = KINDS[task.kind]
    known = (*kind.required, *kind.optional, "id", "cluster")
    for source in (task.files, task.hub):
        for name in source.fields if source else ():
            if name not in known:
                raise UnknownNameError(f"field of kind {task.kind!r}", name, known)
    from evalkit.data import READERS

    if task.files and task.files.format not in READERS:
        raise UnknownNameError("format", task.files.format, READERS)


def check_keys(what: str, found: Mapping[str, Any], known: Mapping[str, Any] | Sequence[str]) -> None:
    """Refuse keys that are not known.

    Raises:
        UnknownNameError: Names the first unknown key and the nearest known one.
    """
    for name in found:
        if name not in known:
            raise UnknownNameError(what, name, known)


def _texts(name: str, value: object) -> tuple[str, ...]:
    items = (value,) if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        raise DataError(name, f"found {value!r}; expected a text or a list of texts")
    return tuple(items)
