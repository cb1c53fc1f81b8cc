"""Line-aligned text: one line an example, in the order of the data."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

from evalkit.adapters.prediction_files.answers import FileAnswer, TextAnswer, WordsAnswer, check_answer
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
    most = SPARE_LINES + 2 * len(context.example_ids)
    rows = list(itertools.islice(open_text(path), most + 1))
    if len(rows) > most:
        raise DataError(
            path, f"more than {most} lines for {len(context.example_ids)} examples of the split; expected one each"
        )
    if context.kind == "cws" and len(rows) != len(context.example_ids):
        rows = [row for row in rows if row[1].strip()]
    _check_count(path, rows, len(context.example_ids))
    if context.kind == "cws":
        return _segmented(path, rows, context), ()
    answers: dict[str, FileAnswer] = {}
    for name, (number, line) in zip(context.example_ids, rows, strict=True):
        if is_json_line(line):
            raise DataError(
                path, "this line is JSON, though the first line is not; expected the same in all lines", number
            )
        answers[name] = TextAnswer(line.strip() if context.kind == "classification" else line)
    return answers, ()


def _check_count(path: Path, rows: list[tuple[int, str]], expected: int) -> None:
    if len(rows) == expected:
        return
    hint = "; the last line is empty: remove it" if len(rows) == expected + 1 and not rows[-1][1].strip() else ""
    raise DataError(
        path,
        f"{len(rows)} lines for {expected} examples of the split; expected one line for each, also with --limit{hint}",
    )


def _segmented(path: Path, rows: list[tuple[int, str]], context: TaskContext) -> dict[str, FileAnswer]:
    answers: dict[str, FileAnswer] = {}
    for example, (number, line) in zip(context.examples(), rows, strict=True):
        answer = WordsAnswer(tuple(line.split()))
        try:
            check_answer(answer, example)
        except InvalidInputError as error:
            raise DataError(path, str(error), number) from error
        answers[example.id] = answer
    return answers
