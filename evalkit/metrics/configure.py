"""Metrics by name and settings, as task files and the command line give them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.metrics.base import AnyMetric
from evalkit.metrics.registry import METRICS


def configure(
    name: str, settings: Mapping[str, Any], *, language: str | None = None, labels: Sequence[str] = ()
) -> AnyMetric:
    """Make a metric; what a task knows of its language and labels fills settings that are not given.

    Args:
        name: A name in `METRICS`.
        settings: Settings by name; lists become tuples.
        language: Language of the predictions.
        labels: Classes or entity types of the task.

    Raises:
        UnknownNameError: There is no such metric or setting.
        InvalidInputError: A setting has a value that the metric refuses.
    """
    if name not in METRICS:
        raise UnknownNameError("metric", name, METRICS)
    kind = METRICS[name]
    known = {field.name for field in fields(kind) if field.init}  # type: ignore[arg-type]
    for setting in settings:
        if setting not in known:
            raise UnknownNameError(f"setting of metric {name!r}", setting, sorted(known))
    values = {key: _frozen(value) for key, value in settings.items()}
    for key, value in (("language", language), ("lang", language), ("labels", tuple(labels) or None)):
        if key in known and value is not None:
            values.setdefault(key, value)
    if name == "rouge" and language in ("zh", "ja", "ko"):
        values.setdefault("tokenizer", "cjk_char")
    make = functools.partial(kind, **values)
    try:
        return make()
    except TypeError as error:
        raise InvalidInputError(
            f"metric {name!r}: {error}; settings are {', '.join(sorted(known)) or 'none'}"
        ) from error


def _frozen(value: object) -> object:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
