"""Line-aligned text: one line an example, in the order of the data."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path

from evalkit.adapters.prediction_files.answers import FileAnswer, TextAnswer, WordsAnswer, check_answer
from evalkit.adapters.prediction_files.collected import Answers
from evalkit.adapters.prediction_files.json_lines import is_json_line
from evalkit.data.text import open_text
from evalkit.errors import DataError, InvalidInputError
from evalkit.requests import TaskContext

SPARE_LINES = 1000
"""Lines beyond twice the examples, blank ones between them included, after which a file is not read on."""


def read_lines(path: Path, context: TaskContext) -> tuple[Mapping[str, FileAnswer], tuple[str, ...]]:
    """Read one prediction a line.

    A class stands on its line with or without spaces around it. Segmented text may have blank lines between its sentences.

    Returns:
        The answers by id, and no warnings.

    Raises:
        DataError: There are not as many lines as examples, or a segmented line has other characters than its example.
    """
    expected, is_segmented = len(context.example_ids), context.kind == "cws"
    count = _count(path, expected)
    skips_blank = is_segmented and count != expected
    if skips_blank:
        count = sum(1 for _ in _rows(path, skips_blank=True))
    if count != expected:
        raise _misfit(path, count, expected, skips_blank)
    rows = _rows(path, skips_blank=skips_blank)
    if is_segmented:
        return _segmented(path, rows, context), ()
    answers = Answers()
    for name, (number, line) in zip(context.example_ids, rows, strict=True):
        if is_json_line(line):
            raise DataError(
                path, "this line is JSON, though the first line is not; expected the same in all lines", number
            )
        answers.add(name, TextAnswer(line.strip() if context.kind == "classification" else line))
    return answers, ()


def _count(path: Path, expected: int) -> int:
    most = SPARE_LINES + 2 * expected
    count = sum(1 for _ in itertools.islice(open_text(path), most + 1))
    if count > most:
        raise DataError(path, f"more than {most} lines for {expected} examples of the split; expected one each")
    return count


def _rows(path: Path, *, skips_blank: bool) -> Iterator[tuple[int, str]]:
    return (row for row in open_text(path) if not skips_blank or row[1].strip())


def _misfit(path: Path, count: int, expected: int, skips_blank: bool) -> DataError:
    hint = ""
    if count == expected + 1:
        ((_, last),) = deque(_rows(path, skips_blank=skips_blank), maxlen=1)
        hint = "" if last.strip() else "; the last line is empty: remove it"
    return DataError(
        path,
        f"{count} lines for {expected} examples of the split; expected one line for each, also with --limit{hint}",
    )


def _segmented(path: Path, rows: Iterator[tuple[int, str]], context: TaskContext) -> Answers:
    answers = Answers()
    for example, (number, line) in zip(context.examples(), rows, strict=True):
        answer = WordsAnswer(tuple(line.split()))
        try:
            check_answer(answer, example)
        except InvalidInputError as error:
            raise DataError(path, str(error), number) from error
        answers.add(example.id, answer)
    return answers
