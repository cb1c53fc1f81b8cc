"""Tables in text: comma-separated values with quotes (RFC 4180), and tab-separated values without."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from evalkit.data.located import Located
from evalkit.data.options import option, texts
from evalkit.data.text import find_file, open_text
from evalkit.errors import DataError, InvalidInputError

_LONGEST_FIELD = 2**31 - 1

COLUMN_OPTIONS: Mapping[str, str] = {
    "columns": "names of the columns, for files without a header line",
    "skip_prefix": "rows whose first cell begins with this text are skipped, e.g. '#'",
}
"""Options of both formats."""

CSV_OPTIONS: Mapping[str, str] = {**COLUMN_OPTIONS, "delimiter": "character between columns; ',' unless said otherwise"}
TSV_OPTIONS: Mapping[str, str] = {
    **COLUMN_OPTIONS,
    "quoting": "true where cells may be quoted as in CSV; without it a quote is a character like any other",
}

Record: TypeAlias = tuple[int, list[str]]
"""The line where a record begins, and its cells."""


def read_csv(paths: Sequence[Path], options: Mapping[str, Any]) -> Iterator[Located]:
    """Read quoted, comma-separated rows; blank lines are skipped.

    Raises:
        InvalidInputError: An option has a wrong value.
        DataError: Quotes are broken, a row has too many or too few columns, or two columns share a name.
    """
    delimiter = option(options, "delimiter", ",")
    if len(delimiter) != 1:
        raise InvalidInputError(f"option 'delimiter' is {delimiter!r}; expected one character")
    return _rows(paths, options, delimiter, quoting=True)


def read_tsv(paths: Sequence[Path], options: Mapping[str, Any]) -> Iterator[Located]:
    """Read tab-separated rows, without quoting unless asked for; blank lines are skipped.

    Raises:
        InvalidInputError: An option has a wrong value.
        DataError: A row has too many or too few columns, or two columns share a name.
    """
    return _rows(paths, options, "\t", quoting=option(options, "quoting", False))


def _rows(paths: Sequence[Path], options: Mapping[str, Any], delimiter: str, *, quoting: bool) -> Iterator[Located]:
    columns, prefix = texts(options, "columns"), option(options, "skip_prefix", "")
    return (
        located
        for path in paths
        for located in _table(find_file(path), _records(find_file(path), prefix, delimiter, quoting=quoting), columns)
    )


def _records(file: Path, prefix: str, delimiter: str, *, quoting: bool) -> Iterator[Record]:
    if quoting:
        yield from _quoted(file, prefix, delimiter)
        return
    for number, line in open_text(file):
        if line and not (prefix and line.startswith(prefix)):
            yield number, line.split(delimiter)


def _quoted(file: Path, prefix: str, delimiter: str) -> Iterator[Record]:
    csv.field_size_limit(
        max(csv.field_size_limit(), _LONGEST_FIELD)
    )  # documents are longer than csv's 131,072 characters
    start = 1
    lines = (line for _, line in open_text(file, keep_ends=True))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if cells and not (prefix and cells[0].startswith(prefix)):
                yield start, cells
            start = reader.line_num + 1
    except csv.Error as error:
        raise DataError(file, f"cannot be read as quoted cells: {error}; expected RFC 4180", start) from error


def _table(file: Path, records: Iterator[Record], columns: list[str] | None) -> Iterator[Located]:
    source = "option 'columns'"
    if columns is None:
        number, columns = next(records, (1, []))
        source = "the header"
        _check_header(file, columns, number)
    width = len(columns)
    for number, cells in records:
        if len(cells) != width:
            raise DataError(file, f"column count is {len(cells)}; expected {width} as in {source}", number)
        yield Located(dict(zip(columns, cells, strict=True)), file, number)


def _check_header(file: Path, columns: Sequence[str], line: int) -> None:
    for name in columns:
        if columns.count(name) > 1:
            raise DataError(file, f"two columns are named {name!r}; expected different names in the header", line)
