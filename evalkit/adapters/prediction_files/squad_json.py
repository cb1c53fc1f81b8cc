"""SQuAD prediction JSON: ``{id: text}``, or the list of objects that the `datasets` metrics take."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalkit.adapters.prediction_files.answers import FileAnswer, TextAnswer, probability_of, text_of
from evalkit.adapters.prediction_files.matching import known_only
from evalkit.data.text import read_text
from evalkit.errors import DataError, InvalidInputError
from evalkit.requests import TaskContext

_EXPECTED = 'expected {id: answer text}, a list of {"id", "prediction_text"}, or JSON lines with "id" and "prediction"'


def read_squad_json(path: Path, context: TaskContext) -> tuple[Mapping[str, FileAnswer], tuple[str, ...]]:
    """Read a prediction file of the official SQuAD scorers.

    As there, ids that the data does not have are left out, and questions without a prediction count as not answered; both
    are warned of.

    Returns:
        An answer for every id of the split, and the warnings.

    Raises:
        DataError: The file has another form, an id twice, or no id of the split.
    """
    found: dict[str, FileAnswer] = {}
    for name, value in _pairs(path):
        if name in found:
            raise DataError(path, f"id {name!r} is there twice; expected it once")
        try:
            found[name] = _answer(name, value)
        except InvalidInputError as error:
            raise DataError(path, str(error)) from error
    warnings = known_only(path, list(found), context.example_ids)
    return {name: found.get(name, TextAnswer(None)) for name in context.example_ids}, warnings


def _pairs(path: Path) -> Iterator[tuple[str, Any]]:
    """Each id with its value; an object keeps its repeated keys here, which a dict would hide."""
    try:
        value = json.loads(read_text(path), object_pairs_hook=_Pairs)
    except json.JSONDecodeError as error:
        raise DataError(path, f"broken JSON: {error.msg} at column {error.colno}; {_EXPECTED}", error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise DataError(path, f"JSON that cannot be read: {error}; {_EXPECTED}") from error
    if isinstance(value, _Pairs):
        yield from value
        return
    if not isinstance(value, list):
        raise DataError(path, f"a JSON {type(value).__name__}; {_EXPECTED}")
    for place, item in enumerate(value, start=1):
        fields = dict(item) if isinstance(item, _Pairs) else {}
        if not isinstance(fields.get("id"), str) or "prediction_text" not in fields:
            raise DataError(path, f'item {place} of the list is {item!r:.60}; expected {{"id", "prediction_text"}}')
        yield fields["id"], item


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as its keys and values, in order."""


def _answer(name: str, value: object) -> TextAnswer:
    if not isinstance(value, _Pairs):
        return TextAnswer(text_of(value, f"the prediction for {name!r}"))
    fields = dict(value)
    if "prediction_text" not in fields:
        raise InvalidInputError(f"the prediction for {name!r} has no 'prediction_text'; {_EXPECTED}")
    text = text_of(fields["prediction_text"], f"the prediction for {name!r}")
    return TextAnswer(text, probability_of(fields.get("no_answer_probability")))
