"""Tables with a header: input and output of a system, separated by a tab."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from evalkit.adapters.prediction_files.answers import FileAnswer, TextAnswer
from evalkit.adapters.prediction_files.matching import check_ids
from evalkit.data.text import open_text
from evalkit.errors import DataError
from evalkit.requests import TaskContext

_OUTPUT_NAMES = frozenset({"output", "prediction", "hypothesis"})


def is_table_header(line: str) -> bool:
    """Whether a first line names the columns of a table whose last one holds the outputs."""
    names = line.split("\t")
    return len(names) > 1 and unquoted(names[-1]).strip().lower() in _OUTPUT_NAMES


def read_table(path: Path, context: TaskContext) -> tuple[Mapping[str, FileAnswer], tuple[str, ...]]:
    """Read the last column of a table; the first column says which example a row belongs to.

    A column with the header ``id`` holds ids. Without one, the first column may hold ids or inputs, in any order if they are
    all different; where it holds neither, rows are taken in the order of the data, with a warning.

    Returns:
        The answers by id, and the warnings.

    Raises:
        DataError: The rows are not as many as the examples, only some first columns fit them, or an id is unknown, missing
            or there twice.
    """
    lines = iter(open_text(path))
    _, header = next(lines)
    names = [unquoted(name).strip().lower() for name in header.split("\t")]
    rows = [(number, _row(path, number, line, len(names))) for number, line in lines if line.strip()]
    if "id" in names[:-1]:
        return _by_id(path, rows, names.index("id"), context), ()
    if len(rows) != len(context.example_ids):
        raise DataError(
            path,
            f"{len(rows)} rows for {len(context.example_ids)} examples of the split;"
            " expected one row for each, also with --limit",
        )
    keys, outputs = [row[0] for _, row in rows], [TextAnswer(row[-1]) for _, row in rows]
    ids, warning = _order(path, keys, [number for number, _ in rows], context)
    return dict(zip(ids, outputs, strict=True)), warning


def unquoted(field: str) -> str:
    """A field without the quotes that enclose it; quotes inside are doubled there.

    >>> unquoted('"name[The ""Eagle""], food[French]"'), unquoted('"Yes" and "no"')
    ('name[The "Eagle"], food[French]', '"Yes" and "no"')
    """
    inner = field[1:-1]
    quoted = len(field) > 1 and field[0] == field[-1] == '"' and '"' not in inner.replace('""', "")
    return inner.replace('""', '"') if quoted else field


def _row(path: Path, number: int, line: str, width: int) -> list[str]:
    fields = [unquoted(field) for field in line.split("\t")]
    if len(fields) != width:
        raise DataError(path, f"{len(fields)} columns; expected {width} as in the header", number)
    return fields


def _by_id(
    path: Path, rows: Sequence[tuple[int, Sequence[str]]], column: int, context: TaskContext
) -> Mapping[str, FileAnswer]:
    """Answers by the ids of a column, which must be those of the split."""
    answers: dict[str, FileAnswer] = {}
    lines: dict[str, int] = {}
    for number, row in rows:
        name = row[column]
        if name in lines:
            raise DataError(path, f"id {name!r} is there twice, first on line {lines[name]}; expected it once", number)
        lines[name] = number
        answers[name] = TextAnswer(row[-1])
    check_ids(path, lines, context.example_ids, lines.__getitem__)
    return answers


def _order(
    path: Path, keys: Sequence[str], lines: Sequence[int], context: TaskContext
) -> tuple[Sequence[str], tuple[str, ...]]:
    """The id of each row."""
    ids = context.example_ids
    if set(keys) == set(ids):
        return keys, ()
    inputs = [example.inputs.get("source", example.inputs.get("document")) for example in context.examples()]
    if keys == inputs:
        return ids, ()
    if len(set(keys)) == len(keys) and set(keys) == set(inputs):
        by_input = dict(zip(inputs, ids, strict=True))
        return [by_input[key] for key in keys], (
            f"{path}: rows are in another order than the data; matched by their input",
        )
    wrong = [place for place, (key, expected) in enumerate(zip(keys, inputs, strict=True)) if key != expected]
    if len(wrong) == len(keys):
        return ids, (f"{path}: the first column holds neither ids nor inputs of the data; rows are taken in order",)
    first = wrong[0]
    raise DataError(
        path,
        f"the input is {keys[first]!r:.80}; expected that of example {ids[first]!r}, {inputs[first]!r:.80}"
        f" ({len(wrong)} of {len(keys)} rows differ)",
        lines[first],
    )
