"""Which format a file of predictions has, by its content and by the kind of task that it is for."""

from __future__ import annotations

import gzip
import itertools
import json
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from evalkit.adapters.prediction_files.answers import FileAnswer, TextAnswer, form_of
from evalkit.adapters.prediction_files.conll import read_conll
from evalkit.adapters.prediction_files.json_lines import is_json_line, read_json_lines
from evalkit.adapters.prediction_files.lines import read_lines
from evalkit.adapters.prediction_files.matching import first_of
from evalkit.adapters.prediction_files.squad_json import read_squad_json
from evalkit.adapters.prediction_files.table import is_table_header, read_table
from evalkit.data.text import open_text
from evalkit.errors import DataError
from evalkit.requests import TaskContext

Reader: TypeAlias = Callable[[Path, TaskContext], tuple[Mapping[str, FileAnswer], tuple[str, ...]]]

_JSON_OBJECT = re.compile(r'\s*\{\s*("|$)')
_JSON_ARRAY = re.compile(r"\s*\[\s*(\{|$)")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_BINARY_MARKS = {b"PK\x03\x04": "a zip archive", b"PAR1": "a Parquet file", b"\x93NUMPY": "a NumPy file"}
_PICKLE_PROTOCOLS = tuple(b"\x80" + bytes([protocol]) for protocol in range(2, 6))
_HEAD_BYTES = 8192
_HEAD_LINES = 10_000
"""Lines among which the first that is not blank tells the format."""


@dataclass(frozen=True, slots=True)
class PredictionFile:
    """A file of predictions that fits its task."""

    answers: Mapping[str, FileAnswer]
    """An answer for each id of the split."""
    warnings: tuple[str, ...]
    """What a user should know, one line each."""


def read_predictions(path: Path, context: TaskContext) -> PredictionFile:
    """Find the format of a file, read all of it and check it against the examples of the split.

    Raises:
        DataError: The file is no text, has another form than the task needs, or does not fit the examples.
    """
    _refuse_binary(path)
    answers, warnings = _find_reader(path, context)(path, context)
    return PredictionFile(answers, (*warnings, *_empty_ones(path, answers, context)))


def _find_reader(path: Path, context: TaskContext) -> Reader:
    head = itertools.islice(open_text(path), _HEAD_LINES)
    first = next((line for _, line in head if line.strip()), "")
    if context.kind == "qa":
        return _reader_of_answers(path, first, context)
    if _JSON_OBJECT.match(first):
        return read_json_lines
    if _JSON_ARRAY.match(first):
        raise DataError(path, f"a JSON array; expected {_expected(context)}")
    if context.request_kind == "label" and context.kind == "ner":
        return read_conll
    if context.request_kind == "rolling":
        raise DataError(path, f"not JSON: the first line is {first!r:.60}; expected {_expected(context)}")
    if is_table_header(first) and context.kind in ("mt", "summarization"):
        return read_table
    return read_lines


def _reader_of_answers(path: Path, first: str, context: TaskContext) -> Reader:
    if is_json_line(first) or _has_prediction(first):
        return read_json_lines
    if first.lstrip()[:1] in ("{", "["):
        return read_squad_json
    raise DataError(
        path, f"not JSON: the first line is {first!r:.60}; expected {{id: answer text}} or {_expected(context)}"
    )


def _has_prediction(line: str) -> bool:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "id" in value and "prediction" in value


def _expected(context: TaskContext) -> str:
    return f'JSON lines, each an object with "id" and {form_of(context).expects}'


def _empty_ones(path: Path, answers: Mapping[str, FileAnswer], context: TaskContext) -> tuple[str, ...]:
    """Warn of empty outputs; in question answering an empty answer has a meaning of its own."""
    if context.kind == "qa":
        return ()
    empty = [
        name
        for name, answer in answers.items()
        if isinstance(answer, TextAnswer) and answer.text is not None and not answer.text.strip()
    ]
    if not empty:
        return ()
    return (f"{path}: {len(empty)} of {len(answers)} predictions are empty, {first_of(empty)}",)


def _refuse_binary(path: Path) -> None:
    head = _head(path)
    if head.startswith(_UTF16_MARKS):
        return
    what = next((what for mark, what in _BINARY_MARKS.items() if head.startswith(mark)), None)
    if head.startswith(_PICKLE_PROTOCOLS):
        what = "a pickle, which could run code when it is read"
    elif what is None and b"\x00" in head:
        what = "a binary file"
    if what is not None:
        raise DataError(path, f'this is {what}; expected text, e.g. JSON lines with "id" and "prediction"')


def _head(path: Path) -> bytes:
    """The first bytes, unpacked; none where that fails, which opening the text will then report."""
    try:
        with path.open("rb") as stream:
            if stream.read(2) != b"\x1f\x8b":
                stream.seek(0)
                return stream.read(_HEAD_BYTES)
        with gzip.open(path) as unpacked:
            return unpacked.read(_HEAD_BYTES)
    except (OSError, EOFError, zlib.error):
        return b""
