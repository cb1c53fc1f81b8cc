"""Points from a CSV or TSV file: columns are named by the user, rows can be chosen by simple conditions.

Messages name the column and the line of the file.
"""

from __future__ import annotations

import csv
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.errors import DataError, InvalidInputError, UnknownNameError
from evalkit.json_files import read_text

NUMBERS = ("loss", "N", "D", "C", "U", "stderr", "weights", "lr", "warmup", "layers", "bytes_per_token")
"""Fields of a point that are numbers."""
POSITIVE = ("loss", "N", "D", "C", "U", "bytes_per_token")
"""Those that are above 0."""
LABELS = ("run", "cluster", "seed", "group", "loss_unit", "tokenizer", "loss_source", "size_counting")
"""Fields that are names."""
FLAGS = ("final",)
"""Fields that are true or false."""
FIELDS = (*NUMBERS, *LABELS, *FLAGS)
"""All fields; a column that bears the name of one is taken for it unless the user names another."""

_LARGEST_BYTES = 1 << 30
_MISSING = frozenset({"", "na", "n/a", "null", "none"})
_TRUTHS: Mapping[str, bool] = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_CONDITION = re.compile(r"\s*(?P<column>.+?)\s*(?P<how><=|>=|!=|==|=|<|>)\s*(?P<value>.*?)\s*")
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Table:
    """A file's rows."""

    path: str
    """Where they come from, for messages."""
    header: tuple[str, ...]
    """Names of the columns."""
    rows: tuple[tuple[str, ...], ...]
    """Cells as text, each row as long as the header."""
    lines: tuple[int, ...]
    """Line of the file where each row begins."""

    def column(self, name: str) -> list[str]:
        """The cells of a column.

        Raises:
            UnknownNameError: There is no such column.
        """
        if name not in self.header:
            raise UnknownNameError("column", name, self.header)
        place = self.header.index(name)
        return [row[place] for row in self.rows]

    def numbers(self, name: str) -> list[float]:
        """The cells of a column as numbers, NaN where they are empty.

        Raises:
            UnknownNameError: There is no such column.
            DataError: A cell is no number.
        """
        return [_number(self.path, line, name, cell) for line, cell in zip(self.lines, self.column(name), strict=True)]

    def flags(self, name: str) -> list[bool]:
        """The cells of a column as true or false.

        Raises:
            UnknownNameError: There is no such column.
            DataError: A cell is neither.
        """
        found = []
        for line, cell in zip(self.lines, self.column(name), strict=True):
            if cell.strip().lower() not in _TRUTHS:
                raise DataError(self.path, f"column {name!r} has {cell!r:.60}; expected true or false", line)
            found.append(_TRUTHS[cell.strip().lower()])
        return found

    def where(self, conditions: Sequence[str]) -> Table:
        """The rows for which all conditions hold.

        Args:
            conditions: ``COLUMN=VALUE``, or with ``!=``, ``<``, ``<=``, ``>``, ``>=``; compared as numbers where both are.

        Raises:
            InvalidInputError: A condition cannot be read, names no column, or no row is left.
        """
        keep = [True] * len(self.rows)
        for condition in conditions:
            read = _CONDITION.fullmatch(condition)
            if read is None:
                raise InvalidInputError(f"condition {condition!r}; expected e.g. N>=1e6, outlier=False or corpus!=c4")
            compare = _COMPARISONS[read["how"]]
            cells = self.column(read["column"])
            keep = [kept and _holds(compare, cell, read["value"]) for kept, cell in zip(keep, cells, strict=True)]
        chosen = [index for index, kept in enumerate(keep) if kept]
        if not chosen:
            told = " and ".join(conditions)
            raise InvalidInputError(f"{self.path}: no row of {len(self.rows)} with {told}; expected some")
        return Table(
            self.path,
            self.header,
            tuple(self.rows[index] for index in chosen),
            tuple(self.lines[index] for index in chosen),
        )


def read_table(path: str | Path) -> Table:
    """Read a file with a header line, separated by commas, tabs or semicolons, whichever the header has most of.

    Raises:
        DataError: It cannot be read, has no rows, or its columns do not fit.
    """
    place = Path(path)
    if not place.is_file():
        found = "is a folder" if place.is_dir() else "is not there"
        raise DataError(path, f"{found}; expected a CSV file with a header line")
    text = read_text(place, _LARGEST_BYTES).removeprefix("\ufeff")
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(",\t;", key=first.count)
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, strict=True)
    header: tuple[str, ...] | None = None
    rows, lines, begin = [], [], 1
    try:
        for cells in reader:
            line, begin = begin, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = _header(path, cells, line)
            elif len(cells) != len(header):
                raise DataError(path, f"{len(cells)} cells; expected {len(header)} as in the header", line)
            else:
                rows.append(tuple(cells))
                lines.append(line)
    except csv.Error as error:
        raise DataError(path, f"not CSV: {error}", reader.line_num) from error
    if header is None or not rows:
        raise DataError(path, "the table is empty; expected a header line and one row a training run")
    return Table(str(path), header, tuple(rows), tuple(lines))


def point_columns(table: Table, names: Mapping[str, str]) -> dict[str, Any]:
    """Gather the columns of a table as `evalkit.scaling.make_points` takes them.

    Args:
        table: The rows.
        names: Field of a point to the column that holds it, '' for none; fields that are not named come from columns of the
            same name.

    Raises:
        UnknownNameError: A field or a column is not known.
        DataError: A cell cannot be read as what it should be, or is 0 or less where that cannot be.
    """
    for name in names:
        if name not in FIELDS:
            raise UnknownNameError("field of a point", name, FIELDS)
    columns = {name: name for name in FIELDS if name in table.header} | dict(names)
    columns = {name: column for name, column in columns.items() if column}
    if "loss" not in columns:
        header = ", ".join(f"{name!r:.30}" for name in table.header[:12])
        raise DataError(
            table.path, f"no column 'loss' in the header {header}; name the column of losses, or add a header line"
        )
    found: dict[str, Any] = {}
    for name, column in columns.items():
        if name in NUMBERS:
            found[name] = table.numbers(column)
            if name in POSITIVE:
                _refuse_below(table, column, found[name])
        elif name in FLAGS:
            found[name] = table.flags(column)
        else:
            found[name] = table.column(column)
    return found


def _refuse_below(table: Table, column: str, values: Sequence[float]) -> None:
    for line, value in zip(table.lines, values, strict=True):
        if value <= 0:
            raise DataError(
                table.path,
                f"column {column!r} has {value!r}; expected a number above 0, so mend or remove the row",
                line,
            )


def _header(path: str | Path, cells: Sequence[str], line: int) -> tuple[str, ...]:
    names = tuple(cell.strip() for cell in cells)
    for name in names:
        if names.count(name) > 1:
            raise DataError(path, f"two columns are named {name!r}; rename one", line)
    return names


def _number(path: str, line: int, column: str, cell: str) -> float:
    text = cell.strip()
    if text.lower() in _MISSING:
        return math.nan
    try:
        # float() also takes underscores between digits, which no table means.
        if "_" in text:
            raise ValueError(text)
        return float(text)
    except ValueError as error:
        hint = ", without thousands separators" if "," in text or "_" in text else ""
        raise DataError(path, f"column {column!r} has {cell!r:.60}; expected a number{hint}", line) from error


def _holds(compare: Callable[[Any, Any], bool], cell: str, value: str) -> bool:
    try:
        return compare(float(cell), float(value))
    except ValueError:
        return compare(cell.strip(), value)
