"""JSON lines: one object a line with ``id`` and ``prediction``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalkit.adapters.prediction_files.answers import FileAnswer, Form, check_answer, form_of
from evalkit.adapters.prediction_files.collected import Answers
from evalkit.adapters.prediction_files.matching import check_ids
from evalkit.data.json_rows import parse_json
from evalkit.data.seen import FirstSeen
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
    answers, seen = Answers(), FirstSeen[int]()
    for number, fields in _objects(path, form):
        name = _id(path, number, fields)
        first = seen.add(name, number)
        if first is not None:
            raise _twice(path, name, first, number)
        try:
            answers.add(name, form.parse(fields))
        except KeyError as error:
            problem = f"no key {error.args[0]!r}; found {_keys(fields)}; expected {form.expects}"
            raise DataError(path, problem, number) from error
        except InvalidInputError as error:
            raise DataError(path, str(error), number) from error
    _check_different(path, form, seen.suspects())
    check_ids(path, answers, context.example_ids, lambda name: _line_of(path, form, name))
    if context.request_kind == "label" or context.kind == "cws":
        _check_answers(path, form, answers, context)
    return answers, ()


def _check_answers(path: Path, form: Form, answers: Mapping[str, FileAnswer], context: TaskContext) -> None:
    for example in context.examples():
        try:
            check_answer(answers[example.id], example)
        except InvalidInputError as error:
            raise DataError(path, str(error), _line_of(path, form, example.id)) from error


def _check_different(path: Path, form: Form, suspects: set[int]) -> None:
    """Read the file again where ids may be there twice, of which only hashes are known."""
    lines: dict[str, int] = {}
    for number, fields in _objects(path, form) if suspects else ():
        name = _id(path, number, fields)
        if hash(name) in suspects and lines.setdefault(name, number) != number:
            raise _twice(path, name, lines[name], number)


def _twice(path: Path, name: str, first: int, second: int) -> DataError:
    return DataError(path, f"id {name!r} is there twice, first on line {first}; expected it once", second)


def _line_of(path: Path, form: Form, name: str) -> int:
    return next(number for number, fields in _objects(path, form) if _id(path, number, fields) == name)


def _objects(path: Path, form: Form) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in open_text(path):
        if line.strip():
            yield number, _object(path, number, line, form.expects)


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
