"""Scaling fits beside a leaderboard: read from JSON, as `evalkit scaling fit --json` writes it; nothing is fitted here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalkit.errors import DataError
from evalkit.json_files import read_object
from evalkit.report.model import Note, Scaling, ScalingLine, ScalingPoint

MOST_NUMBERS = 20_000
"""Most points of a figure; more would only make the page heavy."""


def read_scaling(path: str) -> Scaling:
    """Read a fit with its figure.

    Args:
        path: A JSON file with the keys ``law``, ``parameters`` and ``figure``; a figure has ``x_title``, ``y_title``,
            ``points`` (``x``, ``y``, and ``name`` where there is one) and ``lines`` (``name``, lists ``x`` and ``y``, lists
            ``low`` and ``high`` where there is a band, and ``observed``, the range of x that was measured).

    Raises:
        DataError: The file is none.
    """
    document = read_object(Path(path))
    figure = document.get("figure")
    if not isinstance(figure, Mapping):
        raise DataError(path, "no fit with a figure; expected the JSON that evalkit scaling fit --json writes")
    try:
        law = _object(document.get("law", {}))
        return Scaling(
            title=_text(figure.get("title") or law.get("name") or Path(path).stem),
            file=Path(path).name,
            form=_text(law.get("name") or ""),
            x_title=_text(figure.get("x_title", "x")),
            y_title=_text(figure.get("y_title", "loss")),
            parameters=_object(document.get("parameters", {})),
            points=tuple(_points(figure)),
            lines=tuple(_lines(figure)),
            notes=tuple(_notes(document)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(path, f"cannot be read as a fit ({error}); write it again with evalkit scaling fit") from error


def _points(figure: Mapping[str, Any]) -> Iterator[ScalingPoint]:
    points = _list(figure.get("points", []))
    for point in points:
        yield ScalingPoint(x=_number(point["x"]), y=_number(point["y"]), name=_text(point.get("name") or ""))


def _lines(figure: Mapping[str, Any]) -> Iterator[ScalingLine]:
    for line in _list(figure.get("lines", [])):
        names = ("x", "y", "low", "high", "observed")
        parts = {part: tuple(map(_number, _list(line.get(part) or []))) for part in names}
        n = len(parts["x"])
        if len(parts["y"]) != n or any(len(parts[part]) not in (0, n) for part in ("low", "high")):
            raise ValueError("a line's lists have different lengths")
        if len(parts["observed"]) not in (0, 2):
            raise ValueError("a line's observed range is no pair")
        yield ScalingLine(name=_text(line.get("name") or ""), **parts)


def _notes(document: Mapping[str, Any]) -> Iterator[Note]:
    for warning in _list(document.get("warnings") or []):
        code = warning.get("code", "warning") if isinstance(warning, Mapping) else "warning"
        text = warning.get("message", warning.get("text", "")) if isinstance(warning, Mapping) else warning
        yield Note(kind=_text(code), text=_text(text))


def _list(value: object) -> list[Any]:
    if not isinstance(value, list) or len(value) > MOST_NUMBERS:
        raise ValueError(f"{value!r:.40} is no list of at most {MOST_NUMBERS:,} entries")
    return value


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r:.40} is no object")
    return value


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{value!r:.40} is no finite number")
    return float(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.40} is no text")
    return value
