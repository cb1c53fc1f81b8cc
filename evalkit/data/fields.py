"""From the columns or keys of a file to the fields of a task kind."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalkit.data.located import Located
from evalkit.errors import DataError
from evalkit.spec import Row

LIST_FIELDS: frozenset[str] = frozenset({"references", "answers", "answer_starts"})
"""Fields that hold several acceptable answers: these may come from several columns, and grouped rows are joined in them."""

_MISSING = object()


def mapped(located: Located, fields: Mapping[str, str]) -> Located:
    """Rename columns to fields; columns that are not named keep their own name.

    Args:
        located: The record under the names of the file.
        fields: Field to column. ``a.b`` reaches into nested objects, and into each object of a list; a field of `LIST_FIELDS`
            may name several columns, ``ref1,ref2``, whose empty cells count as no answer.

    Raises:
        DataError: A column is not there; names those that are, and the nearest.
    """
    record = located.row
    row = dict(record)
    for field, column in fields.items():
        value = _pick(record, column)
        if value is _MISSING and field in LIST_FIELDS and "," in column:
            value = _collect(located, field, [name.strip() for name in column.split(",")])
        if value is _MISSING:
            raise _no_column(located, field, column)
        row[field] = value
    return located._replace(row=row)


def _collect(located: Located, field: str, columns: Sequence[str]) -> list[Any]:
    values: list[Any] = []
    for column in columns:
        value = _pick(located.row, column)
        if value is _MISSING:
            raise _no_column(located, field, column)
        if isinstance(value, list):
            values.extend(value)
        elif value is not None and value != "":
            values.append(value)
    return values


def _pick(record: Row, column: str) -> object:
    """The value under a column's own name, else under its dotted parts; `_MISSING` where there is none."""
    if column in record:
        return record[column]
    value: object = record
    for part in column.split("."):
        value = _step(value, part)
        if value is _MISSING:
            return _MISSING
    return value


def _step(value: object, part: str) -> object:
    if isinstance(value, Mapping):
        return value.get(part, _MISSING)
    if isinstance(value, list):
        found = [_step(item, part) for item in value]
        return _MISSING if any(item is _MISSING for item in found) else found
    return _MISSING


def _no_column(located: Located, field: str, column: str) -> DataError:
    known = list(_columns(located.row))
    close = difflib.get_close_matches(column, known, n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    found = ", ".join(map(repr, known)) or "none"
    return DataError(located.path, f"no column {column!r} for field {field!r}; found {found}{hint}", located.line)


def _columns(record: Row) -> Iterable[str]:
    """All names that may be asked for, one level of nesting included."""
    for name, value in record.items():
        yield name
        if isinstance(value, Mapping):
            yield from (f"{name}.{inner}" for inner in value)
