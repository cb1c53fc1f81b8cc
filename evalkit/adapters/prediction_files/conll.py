"""CoNLL columns: one token a line with its tag in the last column, sentences separated by blank lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalkit.adapters.prediction_files.answers import FileAnswer, TagsAnswer, check_tag
from evalkit.adapters.prediction_files.collected import Answers
from evalkit.data.text import open_text
from evalkit.errors import DataError, InvalidInputError
from evalkit.requests import Example, TaskContext

_BLANKS = " \t"
_DOCUMENT_MARK = "-DOCSTART-"


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    columns: tuple[str, ...]

    @property
    def is_comment(self) -> bool:
        """Whether it could be one: tokens may begin with # too."""
        return self.columns[0].startswith("#")


def read_conll(path: Path, context: TaskContext) -> tuple[Mapping[str, FileAnswer], tuple[str, ...]]:
    """Read the last column of a file of columns, separated by tabs or spaces.

    The tokens of the examples decide what is a comment: a line that begins with ``#`` is skipped only where its sentence has
    more lines than tokens. A column of tokens, if the file has one, must hold the tokens of the examples.

    Returns:
        The answers by id, and no warnings.

    Raises:
        DataError: Sentences, tokens or tags are not those of the split.
    """
    answers, tokens = Answers(), _TokenColumns()
    for example, lines in _align(path, context):
        tokens.compare(lines, example.inputs["tokens"])
        answers.add(example.id, _tags(path, lines))
    tokens.check(path)
    return answers, ()


def _sentences(path: Path) -> Iterator[list[_Line]]:
    lines: list[_Line] = []
    for number, text in open_text(path):
        stripped = text.rstrip(_BLANKS)
        if not stripped:
            if lines:
                yield lines
            lines = []
            continue
        columns = stripped.split("\t") if "\t" in stripped else re.split(" +", stripped.lstrip(" "))
        lines.append(_Line(number, tuple(columns)))
    if lines:
        yield lines


def _align(path: Path, context: TaskContext) -> Iterator[tuple[Example, list[_Line]]]:
    """Each example with the lines of its tokens."""
    examples = iter(context.examples())
    example, place = next(examples, None), 0
    for sentence in _sentences(path):
        tokens = example.inputs["tokens"] if example is not None else ()
        lines = _without_comments(sentence, tokens)
        if example is not None and tokens and len(lines) == len(tokens):
            yield example, lines
            example, place = next(examples, None), place + 1
        elif not _is_apart(sentence):
            raise _misfit(path, sentence, len(lines), (example, place), len(context.example_ids))
    if example is not None:
        count = len(context.example_ids)
        raise DataError(path, f"{place} sentences for {count} examples of the split; expected one for each, in order")


def _without_comments(sentence: list[_Line], tokens: Sequence[str]) -> list[_Line]:
    surplus = len(sentence) - len(tokens)
    width = len(sentence[-1].columns)
    kept: list[_Line] = []
    for line in sentence:
        expected = tokens[len(kept)] if len(kept) < len(tokens) else None
        is_token = line.columns[0] == expected and len(line.columns) == width
        if surplus > 0 and line.is_comment and not is_token:
            surplus -= 1
        else:
            kept.append(line)
    return kept


def _is_apart(sentence: list[_Line]) -> bool:
    """Whether these lines stand between sentences: only comments, or the mark of a new document."""
    return all(line.is_comment for line in sentence) or sentence[0].columns[0] == _DOCUMENT_MARK


def _misfit(
    path: Path, sentence: list[_Line], length: int, expected: tuple[Example | None, int], examples: int
) -> DataError:
    """The error for a sentence that is not the expected example, the one at the given place of the split."""
    example, place = expected
    count = sum(1 for _ in _sentences(path))
    if example is None:
        problem = f"sentence {place + 1} of {count}; expected {examples} sentences, one for each example of the split"
    else:
        problem = (
            f"sentence {place + 1} has {length} lines; expected {len(example.inputs['tokens'])}, one for each token of"
            f" example {example.id!r} (the file has {count} sentences, the split {examples} examples)"
        )
    return DataError(path, problem, sentence[0].number)


class _TokenColumns:
    """Which column of a file holds the tokens, if it has such a column, and where that column holds something else."""

    def __init__(self) -> None:
        self._width: int | None = None
        self._hits: list[int] = []
        self._odd: dict[int, tuple[int, str, str]] = {}
        """Of each column, the first line that is not the token, with what it has and the token."""

    def compare(self, lines: Sequence[_Line], tokens: Sequence[str]) -> None:
        """Look at the lines of one example."""
        for line, token in zip(lines, tokens, strict=True):
            cells = line.columns[:-1]
            self._width = len(cells) if self._width is None else min(self._width, len(cells))
            self._hits += [0] * (len(cells) - len(self._hits))
            for column, cell in enumerate(cells):
                if cell == token:
                    self._hits[column] += 1
                else:
                    self._odd.setdefault(column, (line.number, cell, token))

    def check(self, path: Path) -> None:
        """Refuse a file in which the column with the most tokens has other tokens too.

        Raises:
            DataError: Names the first of them.
        """
        if not self._width:
            return
        hits = self._hits[: self._width]
        odd = self._odd.get(hits.index(max(hits)))
        if odd is not None:
            number, found, expected = odd
            raise DataError(path, f"token {found!r}; expected {expected!r}, as in the data", number)


def _tags(path: Path, lines: Sequence[_Line]) -> TagsAnswer:
    tags = []
    for line in lines:
        tag = line.columns[-1].strip(_BLANKS)
        try:
            check_tag(tag)
        except InvalidInputError as error:
            raise DataError(path, f"last column: {error}", line.number) from error
        tags.append(tag)
    return TagsAnswer(tuple(tags))
