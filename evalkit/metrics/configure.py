"""Metrics by name and settings, as task files and the command line give them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.languages import UNSEGMENTED, language_code
from evalkit.metrics.base import AnyMetric
from evalkit.metrics.registry import METRICS

_OF_LANGUAGE: Mapping[tuple[str, str], Mapping[str, Any]] = {
    **{("rouge", code): {"tokenizer": "cjk_char"} for code in ("zh", "ja", "ko")},
    **{("ter", code): {"normalized": True, "asian_support": True} for code in UNSEGMENTED},
}
"""Settings without which a metric would not see the words of a language."""


def configure(
    name: str,
    settings: Mapping[str, Any],
    *,
    language: str | None = None,
    labels: Sequence[str] = (),
    kind: str | None = None,
) -> AnyMetric:
    """Make a metric; what a task knows of its language and labels fills settings that are not given.

    Args:
        name: A name in `METRICS`.
        settings: Settings by name; lists become tuples.
        language: Language of the predictions.
        labels: Classes or entity types of the task.
        kind: Kind of the task that it is to measure, if there is one.

    Raises:
        UnknownNameError: There is no such metric or setting.
        InvalidInputError: A setting has a value that the metric refuses, or the metric does not take tasks of the kind.
    """
    if name not in METRICS:
        raise UnknownNameError("metric", name, METRICS)
    if kind is not None and kind not in METRICS[name].kinds:
        fitting = ", ".join(other for other, metric in METRICS.items() if kind in metric.kinds)
        raise InvalidInputError(f"metric {name!r} does not take tasks of kind {kind!r}; metrics for them: {fitting}")
    code = None if language is None else language_code(language)
    make = functools.partial(METRICS[name], **_values(name, settings, code, labels))
    try:
        return make()
    except TypeError as error:
        raise InvalidInputError(
            f"metric {name!r}: {error}; settings are {', '.join(_known(name)) or 'none'}"
        ) from error


def _values(name: str, settings: Mapping[str, Any], language: str | None, labels: Sequence[str]) -> dict[str, Any]:
    """The settings as given, and the task's where they are not."""
    known = _known(name)
    for setting in settings:
        if setting not in known:
            raise UnknownNameError(f"setting of metric {name!r}", setting, known)
    values = {key: _frozen(value) for key, value in settings.items()}
    for key, value in (("language", language), ("lang", language), ("labels", tuple(labels) or None)):
        if key in known and value is not None:
            values.setdefault(key, value)
    return {**_OF_LANGUAGE.get((name, language or ""), {}), **values}


def _known(name: str) -> list[str]:
    return sorted(field.name for field in fields(METRICS[name]) if field.init)  # type: ignore[arg-type]


def _frozen(value: object) -> object:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
