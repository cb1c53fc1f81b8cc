"""JSON lines: one object a line with ``id`` and ``prediction``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalkit.adapters.prediction_files.answers import FileAnswer, check_answer, form_of
from evalkit.adapters.prediction_files.matching import check_ids
from evalkit.data.json_rows import parse_json
from evalkit.data.text import open_text
from evalkit.errors import DataError, InvalidInputError
from evalkit.requests import TaskContext

_BEGINNING = re.compile(r'\s*\{\s*"(id|prediction)"\s*:')


def is_json_line(line: str) -> bool:
    """Whether a line begins as such an object does, be it broken further on.

    >>> is_json_line('{"id": "q1", "prediction"'), is_json_line('{"q1": "an answer"}')
    (True, False)
    """
    return _BEGINNING.match(line) is not None


def read_json_lines(path: Path, context: TaskContext) -> tuple[Mapping[str, FileAnswer], tuple[str, ...]]:
    """Read a file of JSON lines; further keys are allowed, blank lines are skipped.

    Returns:
        The answers by id, and no warnings.

    Raises:
        DataError: A line is no such object, repeats a key, or an id is unknown, missing or there twice.
    """
    form = form_of(context)
    answers: dict[str, FileAnswer] = {}
    lines: dict[str, int] = {}
    for number, line in open_text(path):
        if not line.strip():
            continue
        fields = _object(path, number, line, form.expects)
        name = _id(path, number, fields)
        if name in lines:
            raise DataError(path, f"id {name!r} is there twice, first on line {lines[name]}; expected it once", number)
        try:
            answers[name] = form.parse(fields)
        except KeyError as error:
            problem = f"no key {error.args[0]!r}; found {_keys(fields)}; expected {form.expects}"
            raise DataError(path, problem, number) from error
        except InvalidInputError as error:
            raise DataError(path, str(error), number) from error
        lines[name] = number
    check_ids(path, lines, context.example_ids)
    for example in context.examples():
        try:
            check_answer(answers[example.id], example)
        except InvalidInputError as error:
            raise DataError(path, str(error), lines[example.id]) from error
    return answers, ()


def _object(path: Path, number: int, line: str, expects: str) -> Mapping[str, Any]:
    expected = f'expected one object a line, with "id" and {expects}'
    value = parse_json(line, path, number, expected)
    if not isinstance(value, dict):
        raise DataError(path, f"a JSON {type(value).__name__}; {expected}", number)
    return value


def _id(path: Path, number: int, fields: Mapping[str, Any]) -> str:
    if "id" not in fields:
        raise DataError(path, f"no key 'id'; found {_keys(fields)}", number)
    name = fields["id"]
    if isinstance(name, int) and not isinstance(name, bool):
        return str(name)
    if not isinstance(name, str):
        raise DataError(path, f"'id' is {type(name).__name__} {name!r:.40}; expected text", number)
    return name


def _keys(fields: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, fields)) or "none"
