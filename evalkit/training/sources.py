"""What is trained on: the examples of a task's split, or texts of files; and what is held out from it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from evalkit.data.load import DATA_DIR_VARIABLE, load, open_rows
from evalkit.data.plain import read_plain_text
from evalkit.data.text import find_file
from evalkit.digests import digest_stream
from evalkit.errors import DataError, InvalidInputError
from evalkit.kinds import KINDS
from evalkit.requests import Example
from evalkit.resolve import resize
from evalkit.spec import TaskSpec
from evalkit.training.recipe import DataSection, EvaluateSection

_UNITS = {"line": "line", "paragraph": "paragraph", "file": "document"}
"""What a recipe calls a document, to what the reader of plain text calls it."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text without anything asked of it."""

    text: str
    """Characters as the model is to read them."""
    words: tuple[str, ...] | None = None
    """Its words, joined by nothing, where the data has them and the language does not show them."""


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """Examples of a task, or documents of text files, in the order of their source."""

    source: str
    """Where it comes from, one line for the checkpoint's card."""
    digest: str
    """Digest of all content, in order."""
    task: TaskSpec | None = None
    """The task whose examples these are; None for text files."""
    examples: tuple[Example, ...] = ()
    """The task's examples."""
    answer_starts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Example id to where its answers begin in the context, in characters; for those examples whose data says so."""
    texts: tuple[Document, ...] = ()
    """Documents of text files."""

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """The texts of files, or what the task's examples tell without their references; no text twice in a row."""
        if self.task is None:
            return self.texts
        found: list[Document] = []
        for example in self.examples:
            document = document_of(self.task, example)
            if not found or found[-1] != document:
                found.append(document)
        return tuple(found)

    def __len__(self) -> int:
        return len(self.examples) if self.task is not None else len(self.texts)


def document_of(task: TaskSpec, example: Example) -> Document:
    """The text that an example is about: what a language model would be shown of it."""
    values = KINDS[task.kind].template_values(task, example)
    for name in ("text", "context", "document", "source"):
        if isinstance(values.get(name), str):
            words = tuple(values["words"]) if "words" in values else None
            return Document(values[name], words)
    raise AssertionError(f"kind {task.kind!r} has no text")


def open_training(section: DataSection, task: TaskSpec | None, data_dir: Path | str | None) -> TrainingData:
    """Load what a recipe trains on.

    Args:
        section: The recipe's data.
        task: The task that it names, complete; None for text files.
        data_dir: Folder of data files; text files are looked for below it first.

    Raises:
        MissingResourceError: The data is not to be had here.
        DataError: It cannot be read, or nothing is left of it.
    """
    if task is not None:
        return _of_task(resize(task, section.split, section.size), section.split, data_dir, _part(section))
    return _of_files(section.texts, section.documents, data_dir, _part(section))


def open_heldout(
    evaluate: EvaluateSection, section: DataSection, task: TaskSpec | None, data_dir: Path | str | None
) -> TrainingData:
    """Load what a recipe measures its loss on; arguments and errors as for `open_training`.

    Raises:
        InvalidInputError: It would be what is trained on.
    """
    limits = _Part(evaluate.part, evaluate.limit)
    if task is not None:
        return _of_task(task, evaluate.split, data_dir, limits)
    names = evaluate.texts or section.texts
    if not evaluate.texts and max(evaluate.part[0], section.part[0]) < min(evaluate.part[1], section.part[1]):
        raise InvalidInputError(
            f"[evaluate] part {list(evaluate.part)} and [data] part {list(section.part)} of the same texts overlap;"
            " give parts that do not, or other texts"
        )
    return _of_files(names, section.documents, data_dir, limits)


def shared_texts(training: TrainingData, heldout: TrainingData) -> int:
    """Count the held-out examples or documents whose whole text is also in the training data."""
    seen = {document.text.strip() for document in training.documents}
    return sum(document.text.strip() in seen for document in heldout.documents)


@dataclass(frozen=True, slots=True)
class _Part:
    """Which part of a source is taken."""

    ends: tuple[float, ...]
    limit: int | None

    @property
    def note(self) -> str:
        """What to write behind the name of the source; '' for all of it."""
        part = "" if self.ends == (0.0, 1.0) else f", part {self.ends[0]:g} to {self.ends[1]:g}"
        return part if self.limit is None else f"{part}, at most {self.limit}"

    def of(self, clusters: Sequence[str | None]) -> range:
        """The places that are taken; a run of one cluster is taken or left whole, the limit aside."""
        start, end = (_border(clusters, share) for share in self.ends)
        return range(start, end if self.limit is None else min(end, start + self.limit))


def _part(section: DataSection) -> _Part:
    return _Part(section.part, section.limit)


def _border(clusters: Sequence[str | None], share: float) -> int:
    """The place of a fraction, moved on to where the next cluster begins."""
    place = round(share * len(clusters))
    while 0 < place < len(clusters) and clusters[place] is not None and clusters[place] == clusters[place - 1]:
        place += 1
    return place


def _of_task(task: TaskSpec, split: str, data_dir: Path | str | None, part: _Part) -> TrainingData:
    data = load(task, split, data_dir)
    examples = tuple(data.examples[place] for place in part.of([example.cluster for example in data.examples]))
    source = f"{task.name} {split}{f' ({data.revision})' if data.revision else ''}{part.note}"
    _check_some(source, examples)
    return TrainingData(
        source=source,
        digest=digest_stream([row.id, dict(row.inputs), row.references] for row in examples),
        task=task,
        examples=examples,
        answer_starts=_answer_starts(task, split, data_dir) if task.kind == "qa" else {},
    )


def _answer_starts(task: TaskSpec, split: str, data_dir: Path | str | None) -> dict[str, tuple[int, ...]]:
    """Read from the rows what examples do not keep: where each answer begins."""
    found: dict[str, tuple[int, ...]] = {}
    for number, located in enumerate(open_rows(task, split, data_dir).rows, start=1):
        starts = located.row.get("answer_starts")
        if starts is not None:
            found[str(located.row.get("id", number))] = tuple(int(start) for start in starts)
    return found


def _of_files(names: Iterable[str], documents: str, data_dir: Path | str | None, part: _Part) -> TrainingData:
    paths = [_path(name, data_dir) for name in names]
    if not paths:
        raise InvalidInputError("nothing to train on: name a task (--task) or text files ([data] texts)")
    texts = list(_read(paths, documents))
    if documents == "file":
        texts = list(_cut(texts, part.ends))[: part.limit]
    else:
        texts = [texts[place] for place in part.of([None] * len(texts))]
    source = f"{', '.join(names)}{part.note}"
    _check_some(source, texts)
    return TrainingData(source=source, digest=digest_stream(texts), texts=tuple(Document(text) for text in texts))


def _read(paths: Sequence[Path], documents: str) -> Iterator[str]:
    """Read texts; a line or paragraph without the line ends behind it, a file as it is."""
    for located in read_plain_text(paths, {"unit": _UNITS[documents]}):
        text = str(located.row["text"])
        yield text if documents == "file" else text.rstrip("\r\n")


def _cut(texts: Sequence[str], ends: tuple[float, ...]) -> Iterator[str]:
    """Take a part of all characters of all files, whole lines only."""
    total = sum(map(len, texts))
    low, high = (round(share * total) for share in ends)
    for text, end in zip(texts, accumulate(map(len, texts)), strict=True):
        start = end - len(text)
        kept = text[_line_start(text, low - start) : _line_start(text, high - start)]
        if kept:
            yield kept


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


def _check_some(source: str, found: Sequence[object]) -> None:
    if not found:
        raise DataError(source, "nothing is left of it to train on; widen the part")
