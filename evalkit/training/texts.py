"""Texts to learn from, out of files and tasks, without those that something is measured on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from evalkit.data.load import DATA_DIR_VARIABLE, load
from evalkit.data.plain import read_plain_text
from evalkit.data.text import find_file
from evalkit.errors import DataError, InvalidInputError
from evalkit.kinds import KINDS
from evalkit.prompts import render, render_answer
from evalkit.requests import Example
from evalkit.resolve import resize, resolve_data_dir, resolve_task
from evalkit.spec import TaskSpec

TASK_PREFIX = "task:"
"""What a source of texts begins with that is no file but a split of a task: what its examples are about."""
PROMPT_PREFIX = "prompt:"
"""The same for the prompts of its examples, each with its answer."""

_UNITS = {"line": "line", "paragraph": "paragraph", "file": "document"}
"""What a recipe calls a document, to what the reader of plain text calls it."""

_LEAST_EXCLUDED = 8
"""Characters, blanks aside, of the shortest text that is excluded: a shorter one is found in too many others."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text without anything asked of it."""

    text: str
    """Characters as the model is to read them."""
    words: tuple[str, ...] | None = None
    """Its words, joined by nothing, where the data has them and the language does not show them."""


def document_of(task: TaskSpec, example: Example) -> Document:
    """The text that an example is about: what a language model would be shown of it."""
    values = KINDS[task.kind].template_values(task, example)
    for name in ("text", "context", "document", "source"):
        if isinstance(values.get(name), str):
            words = tuple(values["words"]) if "words" in values else None
            return Document(values[name], words)
    raise AssertionError(f"kind {task.kind!r} has no text")


def sized(task: TaskSpec, split: str, size: int | None) -> TaskSpec:
    """Give an embedded task as many examples as a recipe says.

    Raises:
        InvalidInputError: The task's data is not generated.
    """
    if size is not None and task.generated is None:
        raise InvalidInputError(
            f"[data] size is for embedded tasks, and {task.name!r} has a fixed data set; give limit"
        )
    return resize(task, split, size)


def is_of_task(name: str) -> bool:
    """Whether a source of texts is a split of a task, and no file."""
    return name.startswith((TASK_PREFIX, PROMPT_PREFIX))


def read_documents(
    name: str, documents: str, data_dir: Path | str | None, *, is_unspaced: bool, size: int | None = None
) -> Iterator[Document]:
    """Read the texts of one source.

    Args:
        name: A file, ``task:NAME/SPLIT`` or ``prompt:NAME/SPLIT``.
        documents: What one text of a file is: ``line``, ``paragraph`` or ``file``.
        data_dir: Folder of data files, where files are looked for first.
        is_unspaced: Whether blanks in a file only separate words of a language that is written without them.
        size: Number of examples that an embedded task generates; None for its own number.

    Yields:
        Documents; a line or paragraph has no line ends behind it, and no text of a task comes twice in a row.

    Raises:
        MissingResourceError: The data is not to be had here.
        DataError: It cannot be read.
        InvalidInputError: The source is named wrongly.
    """
    if name.startswith(TASK_PREFIX):
        yield from _distinct(document_of(task, example) for task, example in _examples(name, data_dir, size))
        return
    if name.startswith(PROMPT_PREFIX):
        for task, example in _examples(name, data_dir, size):
            yield Document(render(task, example) + render_answer(task, example))
        return
    for located in read_plain_text([_path(name, data_dir)], {"unit": _UNITS[documents]}):
        text = str(located.row["text"])
        text = text if documents == "file" else text.rstrip("\r\n")
        if not is_unspaced:
            yield Document(text)
        elif words := tuple(text.split()):
            yield Document("".join(words), words)


def part_of_characters(documents: Sequence[Document], ends: tuple[float, ...]) -> Iterator[Document]:
    """Take a part of all characters of some documents, whole lines only."""
    lengths = [len(document.text) for document in documents]
    low, high = (round(share * sum(lengths)) for share in ends)
    for document, end in zip(documents, accumulate(lengths), strict=True):
        text, start = document.text, end - len(document.text)
        kept = text[_line_start(text, low - start) : _line_start(text, high - start)]
        if kept:
            yield document if kept == text else Document(kept)


def without_texts(
    documents: Iterable[Document], names: Sequence[str], data_dir: Path | str | None
) -> Iterator[Document]:
    """Leave out the documents that hold a text of a task, blanks aside: what is measured on must not be learnt.

    Args:
        documents: The documents.
        names: ``NAME/SPLIT`` of tasks.
        data_dir: Folder of data files.

    Raises:
        MissingResourceError: The data is not to be had here.
        InvalidInputError: A task is named wrongly.
    """
    beginnings: dict[str, list[str]] = {}
    for name in names:
        for task, example in _examples(name, data_dir):
            text = "".join(document_of(task, example).text.split())
            if len(text) >= _LEAST_EXCLUDED:
                beginnings.setdefault(text[:_LEAST_EXCLUDED], []).append(text)
    for document in documents:
        if not _holds(document.text, beginnings):
            yield document


def _holds(text: str, beginnings: dict[str, list[str]]) -> bool:
    if not beginnings:
        return False
    plain = "".join(text.split())
    return any(
        plain.startswith(wanted, place)
        for place in range(len(plain) - _LEAST_EXCLUDED + 1)
        for wanted in beginnings.get(plain[place : place + _LEAST_EXCLUDED], ())
    )


def _examples(name: str, data_dir: Path | str | None, size: int | None = None) -> Iterator[tuple[TaskSpec, Example]]:
    """Load what is named by ``NAME/SPLIT``, with or without one of the prefixes."""
    prefix = next((prefix for prefix in (TASK_PREFIX, PROMPT_PREFIX) if name.startswith(prefix)), "")
    task_name, slash, split = name.removeprefix(prefix).rpartition("/")
    if not slash:
        raise InvalidInputError(
            f"{'texts' if prefix else 'exclude'} {name!r} name no split; expected {prefix}NAME/SPLIT, e.g. {name}/train"
        )
    task = sized(resolve_task(task_name), split, size)
    folder = resolve_data_dir(task_name, task, str(data_dir) if data_dir is not None else None)
    for example in load(task, split, folder).examples:
        yield task, example


def _distinct(documents: Iterable[Document]) -> Iterator[Document]:
    before: Document | None = None
    for document in documents:
        if document != before:
            yield document
        before = document


def _line_start(text: str, place: int) -> int:
    """The place of the first line that begins there or behind it."""
    if place <= 0 or place >= len(text):
        return max(0, min(place, len(text)))
    return (text.find("\n", place - 1) + 1) or len(text)


def _path(name: str, data_dir: Path | str | None) -> Path:
    """The file of a name: below the data folder, or else as it is."""
    folder = data_dir if data_dir is not None else os.environ.get(DATA_DIR_VARIABLE) or None
    if folder is not None and not Path(name).is_absolute():
        try:
            return find_file(Path(folder) / name)
        except DataError:
            if not Path(name).exists():
                raise
    return find_file(name)
