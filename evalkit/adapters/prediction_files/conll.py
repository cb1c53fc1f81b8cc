"""CoNLL columns: one token a line with its tag in the last column, sentences separated by blank lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalkit.adapters.prediction_files.answers import FileAnswer, TagsAnswer, check_tag
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
    sentences = list(_sentences(path))
    examples = list(context.examples())
    aligned = _align(path, sentences, examples)
    _check_tokens(path, aligned, examples)
    return {example.id: _tags(path, lines) for example, lines in zip(examples, aligned, strict=True)}, ()


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


def _align(path: Path, sentences: Sequence[list[_Line]], examples: Sequence[Example]) -> list[list[_Line]]:
    """The lines of each example's tokens."""
    aligned: list[list[_Line]] = []
    for sentence in sentences:
        place = len(aligned)
        tokens = examples[place].inputs["tokens"] if place < len(examples) else ()
        lines = _without_comments(sentence, tokens)
        if tokens and len(lines) == len(tokens):
            aligned.append(lines)
        elif not _is_apart(sentence):
            raise _misfit(path, sentence, len(lines), examples, place, len(sentences))
    if len(aligned) < len(examples):
        raise DataError(
            path, f"{len(aligned)} sentences for {len(examples)} examples of the split; expected one for each, in order"
        )
    return aligned


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
    path: Path, sentence: list[_Line], length: int, examples: Sequence[Example], place: int, count: int
) -> DataError:
    if place >= len(examples):
        problem = (
            f"sentence {place + 1} of {count}; expected {len(examples)} sentences, one for each example of the split"
        )
    else:
        example = examples[place]
        problem = (
            f"sentence {place + 1} has {length} lines; expected {len(example.inputs['tokens'])}, one for each token of"
            f" example {example.id!r} (the file has {count} sentences, the split {len(examples)} examples)"
        )
    return DataError(path, problem, sentence[0].number)


def _check_tokens(path: Path, aligned: Sequence[list[_Line]], examples: Sequence[Example]) -> None:
    pairs = [
        (line, token)
        for lines, example in zip(aligned, examples, strict=True)
        for line, token in zip(lines, example.inputs["tokens"], strict=True)
    ]
    width = min((len(line.columns) for line, _ in pairs), default=1)
    if width == 1:
        return
    hits = [sum(line.columns[column] == token for line, token in pairs) for column in range(width - 1)]
    column = hits.index(max(hits))
    for line, token in pairs:
        if line.columns[column] != token:
            raise DataError(path, f"token {line.columns[column]!r}; expected {token!r}, as in the data", line.number)


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
