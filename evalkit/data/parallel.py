"""Parallel text: line n of each file says the same; the first file is the source, further files are references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from evalkit.data.located import Located
from evalkit.data.text import find_file, open_text
from evalkit.errors import DataError, InvalidInputError


def read_parallel_text(paths: Sequence[Path], options: Mapping[str, Any]) -> Iterator[Located]:
    """Read line-aligned files; ids are line numbers.

    Raises:
        InvalidInputError: There is no reference file.
        DataError: The files differ in length; says both counts.
    """
    if len(paths) < 2:
        found = ", ".join(map(str, paths)) or "no file"
        raise InvalidInputError(
            f"format 'parallel_text' was given {found}; expected a source and at least one file of references"
        )
    return _rows(paths)


def _rows(paths: Sequence[Path]) -> Iterator[Located]:
    source_path = find_file(paths[0])
    for number, lines in enumerate(zip_longest(*map(open_text, paths)), start=1):
        if None in lines:
            raise _unequal(paths)
        (_, source), *references = lines
        row = {"id": str(number), "source": source, "references": [text for _, text in references]}
        yield Located(row, source_path, number)


def _unequal(paths: Sequence[Path]) -> DataError:
    counts = [sum(1 for _ in open_text(path)) for path in paths]
    worst = next(index for index, count in enumerate(counts) if count != counts[0])
    problem = f"line count is {counts[worst]}; expected {counts[0]}, one for each line of {paths[0].name}"
    return DataError(find_file(paths[worst]), problem)
