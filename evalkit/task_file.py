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

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from evalkit.errors import DataError, EvalkitError, InvalidInputError, UnknownNameError
from evalkit.kinds import KINDS
from evalkit.metrics.base import AnyMetric
from evalkit.metrics.configure import configure
from evalkit.metrics.registry import METRICS
from evalkit.spec import REQUEST_KINDS, Files, Hub, TaskSpec
from evalkit.toml_files import read_toml
from evalkit.value_types import check_types, fits, shown, type_name

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
_KIND_OPTIONS: Mapping[str, Mapping[str, type]] = {"qa": {"unanswerable": bool}}
"""Kind to the settings that it takes under ``[options]``."""
_LISTS = ("labels", "stop", "requests")
_CHECKED_APART = frozenset({"metrics", "files", "hub", *_LISTS})

T = TypeVar("T")


def read_task_file(path: Path) -> TaskSpec:
    """Read a task from a TOML file, strictly.

    Raises:
        DataError: The file cannot be read, is not TOML, or has an unknown, missing or misshapen key; begins with the path.
    """
    document = read_toml(path, "a task such as docs/task-files.md shows")
    try:
        return _task(document)
    except EvalkitError as error:
        raise DataError(path, str(error)) from error


def _task(document: dict[str, Any]) -> TaskSpec:
    _check_document(document)
    values: dict[str, Any] = {**_DEFAULTS, **document}
    for source, kind in _SOURCES.items():
        if values[source] is not None:
            values[source] = _source(source, kind, values[source])
    for name in _LISTS:
        if name in values:
            values[name] = _texts(name, values[name])
    entries = _metric_entries(values.pop("metrics", ()))
    task = TaskSpec(**values)
    _check_values(task)
    _check_fields(task)
    return KINDS[task.kind].complete(replace(task, metrics=tuple(_metric(entry, task) for entry in entries)))


def _check_document(document: dict[str, Any]) -> None:
    known = [field.name for field in fields(TaskSpec) if field.name != "generated"]
    check_keys("key", document, known)
    for name in ("name", "kind", "language"):
        if name not in document:
            raise InvalidInputError(f"key {name!r} is missing; expected {name} = a text")
    check_types("", {name: value for name, value in document.items() if name not in _CHECKED_APART}, TaskSpec)
    if document["kind"] not in KINDS:
        raise UnknownNameError("kind", document["kind"], KINDS)
    for request in _texts("requests", document.get("requests", ())):
        if request not in REQUEST_KINDS:
            raise UnknownNameError("request kind", request, REQUEST_KINDS)
    _check_options(document["kind"], document.get("options", {}))


def _check_options(kind: str, options: Mapping[str, Any]) -> None:
    known = _KIND_OPTIONS.get(kind, {})
    check_keys(f"option of kind {kind!r}:", options, known)
    for name, value in options.items():
        if not fits(value, known[name]):
            raise InvalidInputError(f"[options] {name} is {shown(value)}; expected {type_name(known[name])}")


def _check_values(task: TaskSpec) -> None:
    """Refuse values of the right type that mean nothing."""
    for what, text in (("name", task.name), ("language", task.language), ("split", task.split)):
        if not text.strip() or not text.isprintable():
            raise InvalidInputError(f"{what} is {shown(text)}; expected a text of printable characters")
    for what, number in (("version", task.version), ("max_new_tokens", task.max_new_tokens)):
        if number < 1:
            raise InvalidInputError(f"{what} is {number}; expected at least 1")
    for name in _LISTS:
        items: tuple[str, ...] = getattr(task, name)
        if "" in items:
            raise InvalidInputError(f"{name} holds an empty text; expected texts with at least one character")
        if len(set(items)) < len(items):
            twice = next(item for item in items if items.count(item) > 1)
            raise InvalidInputError(f"{name} holds {twice!r} twice; expected it once")


def _metric_entries(value: object) -> Sequence[object]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list | tuple):
        raise InvalidInputError(
            f"metrics is {shown(value)}; expected a list of names, or of tables with a name and settings"
        )
    return value


def _metric(entry: object, task: TaskSpec) -> AnyMetric:
    name, settings = entry, {}
    if isinstance(entry, dict):
        name, settings = entry.get("name"), {key: value for key, value in entry.items() if key != "name"}
    if not isinstance(name, str):
        raise InvalidInputError(
            f"metrics holds {shown(entry)}; expected a metric's name or a table with its name and settings"
        )
    if name in METRICS:
        check_types(f"metric {name!r}: ", settings, METRICS[name])
    return configure(name, settings, language=task.language, labels=task.labels, kind=task.kind)


def _source(where: str, kind: type[T], table: object) -> T:
    if not isinstance(table, dict):
        raise InvalidInputError(f"{where} is {shown(table)}; expected a table [{where}]")
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    check_keys(f"key of [{where}]", table, known)
    values: dict[str, Any] = {**(_HUB_DEFAULTS if where == "hub" else {}), **table}
    for name, field in known.items():
        required = field.default is MISSING and field.default_factory is MISSING
        if required and name not in values:
            raise InvalidInputError(
                f"[{where}] {name} is missing; expected it beside {', '.join(map(repr, table)) or 'others'}"
            )
    if not isinstance(values["splits"], dict) or not values["splits"]:
        raise InvalidInputError(
            f'[{where}] splits is {shown(values["splits"])}; expected a table such as {{ test = "test.jsonl" }}'
        )
    if where == "files":
        values["splits"] = {
            split: _texts(f"[files] splits.{split}", paths) for split, paths in values["splits"].items()
        }
    check_types(f"[{where}] ", values, kind)
    _check_no_blank(where, values)
    return kind(**values)


def _check_no_blank(where: str, values: Mapping[str, Any]) -> None:
    """Refuse splits without files, and empty names of files, formats and data sets."""
    named = {name: values[name] for name in ("format", "name", "lexicon", "config") if name in values}
    named |= {f"splits.{split}": source for split, source in values["splits"].items()}
    for name, value in named.items():
        if value is not None and (not value or "" in tuple(value)):
            raise InvalidInputError(f"[{where}] {name} is {shown(value)}; expected a name")


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
        raise InvalidInputError(f"{name} is {shown(value)}; expected a text or a list of texts")
    return tuple(items)
