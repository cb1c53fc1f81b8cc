"""SQuAD prediction JSON: ``{id: text}``, or the list of objects that the `datasets` metrics take."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalkit.adapters.prediction_files.answers import FileAnswer, TextAnswer, probability_of, text_of
from evalkit.adapters.prediction_files.matching import known_only
from evalkit.data.json_rows import check_characters
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
    try:
        for name, value in _pairs(path):
            if name in found:
                raise InvalidInputError(f"id {name!r} is there twice; expected it once")
            found[name] = _answer(name, value)
    except DataError:
        raise
    except InvalidInputError as error:
        raise DataError(path, str(error)) from error
    warnings = known_only(path, list(found), context.example_ids)
    return {name: found.get(name, TextAnswer(None)) for name in context.example_ids}, warnings


def _pairs(path: Path) -> Iterator[tuple[str, Any]]:
    """Each id with its value; an object keeps its repeated keys here, which a dict would hide."""
    text = read_text(path)
    try:
        value = json.loads(text, object_pairs_hook=_Pairs)
    except json.JSONDecodeError as error:
        raise DataError(path, f"broken JSON: {error.msg} at column {error.colno}; {_EXPECTED}", error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise DataError(path, f"JSON that cannot be read: {error}; {_EXPECTED}") from error
    check_characters(text, value, path, None)
    if isinstance(value, _Pairs):
        yield from value
        return
    if not isinstance(value, list):
        raise DataError(path, f"a JSON {type(value).__name__}; {_EXPECTED}")
    for place, item in enumerate(value, start=1):
        fields = _fields(item) if isinstance(item, _Pairs) else {}
        if not isinstance(fields.get("id"), str) or "prediction_text" not in fields:
            raise DataError(path, f'item {place} of the list is {item!r:.60}; expected {{"id", "prediction_text"}}')
        yield fields["id"], item


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as its keys and values, in order."""


def _fields(pairs: _Pairs) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise InvalidInputError(
            f"an object has a key twice: {', '.join(repr(key) for key, _ in pairs)}; expected it once"
        )
    return fields


def _answer(name: str, value: object) -> TextAnswer:
    if not isinstance(value, _Pairs):
        return TextAnswer(text_of(value, f"the prediction for {name!r}"))
    fields = _fields(value)
    if "prediction_text" not in fields:
        raise InvalidInputError(f"the prediction for {name!r} has no 'prediction_text'; {_EXPECTED}")
    text = text_of(fields["prediction_text"], f"the prediction for {name!r}")
    return TextAnswer(text, probability_of(fields.get("no_answer_probability")))
