"""Columns that users give, read strictly: errors name the column, the row and the value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from evalkit.errors import InvalidInputError
from evalkit.scaling.arrays import BoolArray, FloatArray, IntArray

_SHOWN_ROWS = 5

MOST = 1e60
"""No size, number of tokens, budget or loss is larger; squares and products of such numbers are finite."""
MOST_RESAMPLES = 100_000
"""All counts of a bootstrap are held at once."""


def rows_text(rows: IntArray) -> str:
    """Name rows by their numbers, a few of them if there are many.

    >>> rows_text(np.array([1, 3]))
    'rows 1, 3'
    """
    shown = ", ".join(str(row) for row in rows[:_SHOWN_ROWS])
    more = f" and {len(rows) - _SHOWN_ROWS} more" if len(rows) > _SHOWN_ROWS else ""
    return f"row{'s' if len(rows) > 1 else ''} {shown}{more}"


def refuse(name: str, values: FloatArray, bad: BoolArray, expected: str, numbers: IntArray | None = None) -> None:
    """Raise if a mask holds in any row.

    Args:
        name: The column.
        values: Its values, shape (n,).
        bad: Rows that cannot be used, shape (n,).
        expected: What was expected and what to do.
        numbers: What to call each row, shape (n,); 1 to n if not given.

    Raises:
        InvalidInputError: Some row is bad; names the rows and the first value.
    """
    if bad.any():
        rows = np.arange(1, len(values) + 1) if numbers is None else numbers
        raise InvalidInputError(
            f"column {name!r}, {rows_text(rows[bad])}: found {float(values[bad][0])!r}; expected {expected}"
        )


def read_numbers(name: str, values: Sequence[Any] | np.ndarray[Any, Any], first_row: int = 1) -> FloatArray:
    """Read a column of real numbers as float64, shape (n,); None becomes NaN.

    Args:
        name: The column, for messages.
        values: A sequence or array; whole numbers of any size are accepted.
        first_row: What to call the first row.

    Raises:
        InvalidInputError: A value is no real number: a text, true or false, complex, or any other object.
    """
    array = values if isinstance(values, np.ndarray) else np.asarray(list(values), dtype=object)
    if array.ndim != 1:
        raise InvalidInputError(f"column {name!r} has shape {array.shape}; expected one number a row")
    if array.dtype.kind in "iuf":
        return array.astype(np.float64)
    items = array.tolist()
    return np.array([_number(name, item, row) for row, item in enumerate(items, start=first_row)], dtype=np.float64)


def _number(name: str, value: object, row: int) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool | np.bool_):
        raise _not_numeric(name, row, value, "true or false")
    if isinstance(value, int | float | np.integer | np.floating):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    kinds = {str: "text", bytes: "bytes", complex: "a complex number"}
    raise _not_numeric(name, row, value, kinds.get(type(value), type(value).__name__))


def _not_numeric(name: str, row: int, value: object, kind: str) -> InvalidInputError:
    return InvalidInputError(
        f"column {name!r}, row {row}: found {value!r:.60} ({kind}); expected a real number, so convert the column first"
    )


def is_whole(values: Sequence[Any] | np.ndarray[Any, Any]) -> bool:
    """Whether a column holds whole numbers by type, as a table of integers does."""
    if isinstance(values, np.ndarray) and values.dtype.kind != "O":
        return values.dtype.kind in "iu"
    return len(values) > 0 and all(
        isinstance(value, int | np.integer) and not isinstance(value, bool) for value in values
    )


def require_share(name: str, values: FloatArray, numbers: IntArray | None = None) -> None:
    """Refuse values outside 0 to 1, as of an accuracy; arguments as of `refuse`.

    Raises:
        InvalidInputError: Some value is below 0 or above 1.
    """
    refuse(name, values, (values < 0) | (values > 1), "shares from 0 to 1, so divide percentages by 100", numbers)


def read_labels(name: str, values: Sequence[Any] | np.ndarray[Any, Any], first_row: int = 1) -> tuple[str, ...]:
    """Read a column of labels: texts or whole numbers.

    Raises:
        InvalidInputError: A label is missing or of another type.
    """
    items = values.tolist() if isinstance(values, np.ndarray) else list(values)
    for row, item in enumerate(items, start=first_row):
        if isinstance(item, bool) or not isinstance(item, str | int | np.integer) or item == "":
            raise InvalidInputError(
                f"column {name!r}, row {row}: found {item!r:.60}; expected a name or a whole number"
            )
    return tuple(str(item) for item in items)


def require_number(name: str, value: object) -> float:
    """Read one number that must be finite and above 0, such as a budget.

    Raises:
        InvalidInputError: It is no number, not finite, 0 or less, or larger than any that can be meant.
    """
    ok = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not ok or not 0 < value <= MOST:  # type: ignore[operator]
        raise InvalidInputError(f"{name} is {value!r:.60}; expected one finite number above 0, of at most {MOST:g}")
    return float(value)  # type: ignore[arg-type]
