"""What is trained on: the examples of a task's split, or texts; and what is held out from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from evalkit.data.load import load, open_rows
from evalkit.data.parts import part_of
from evalkit.digests import digest_stream
from evalkit.errors import DataError, InvalidInputError
from evalkit.requests import Example
from evalkit.spec import TaskSpec
from evalkit.training.recipe import DataSection, EvaluateSection
from evalkit.training.texts import (
    Document,
    document_of,
    is_of_task,
    part_of_characters,
    read_documents,
    sized,
    without_texts,
)


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """Examples of a task, or texts, in the order of their source."""

    source: str
    """Where it comes from, one line for the checkpoint's card."""
    digest: str
    """Digest of all content, in order."""
    task: TaskSpec | None = None
    """The task whose examples these are; None for texts."""
    examples: tuple[Example, ...] = ()
    """The task's examples."""
    answer_starts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Example id to where its answers begin in the context, in characters; for those examples whose data says so."""
    texts: tuple[Document, ...] = ()
    """The texts."""

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """The texts, or what the task's examples tell without their references; no text twice in a row."""
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


def open_training(section: DataSection, task: TaskSpec | None, data_dir: Path | str | None) -> TrainingData:
    """Load what a recipe trains on.

    Args:
        section: The recipe's data.
        task: The task that it names, complete; None for texts.
        data_dir: Folder of data files; text files are looked for below it first.

    Raises:
        MissingResourceError: The data is not to be had here.
        DataError: It cannot be read, or nothing is left of it.
        InvalidInputError: Nothing is named, or wrongly.
    """
    part = _Part(section.part, section.limit)
    if task is not None:
        return _of_task(sized(task, section.split, section.size), section.split, data_dir, part)
    if section.size is not None and section.texts and not any(map(is_of_task, section.texts)):
        raise InvalidInputError("[data] size is for embedded tasks, and these texts are files; give limit")
    return _of_texts(section.texts, section, data_dir, part, section.size)


def open_heldout(
    evaluate: EvaluateSection, section: DataSection, task: TaskSpec | None, data_dir: Path | str | None
) -> TrainingData:
    """Load what a recipe measures its loss on; arguments and errors as for `open_training`.

    Raises:
        InvalidInputError: It would be what is trained on.
    """
    part = _Part(evaluate.part, evaluate.limit)
    if task is not None:
        return _of_task(task, evaluate.split, data_dir, part)
    if not evaluate.texts and max(evaluate.part[0], section.part[0]) < min(evaluate.part[1], section.part[1]):
        raise InvalidInputError(
            f"[evaluate] part {list(evaluate.part)} and [data] part {list(section.part)} of the same texts overlap;"
            " give parts that do not, or other texts"
        )
    if evaluate.texts:
        return _of_texts(evaluate.texts, section, data_dir, part)
    return _of_texts(section.texts, section, data_dir, part, section.size)


def shared_texts(training: TrainingData, heldout: TrainingData) -> int:
    """Count the held-out texts that are also in the training data, each as a whole."""
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
        return part_of(clusters, self.ends)[: self.limit]


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


def _of_texts(
    names: Sequence[str], section: DataSection, data_dir: Path | str | None, part: _Part, size: int | None = None
) -> TrainingData:
    if not names:
        raise InvalidInputError("nothing to train on: name a task (--task) or texts ([data] texts)")
    found = (
        document
        for name in names
        for document in read_documents(name, section.documents, data_dir, is_unspaced=section.unspaced, size=size)
    )
    texts = list(without_texts(found, section.exclude, data_dir))
    if section.documents == "file":
        texts = list(part_of_characters(texts, part.ends))[: part.limit]
    else:
        texts = [texts[place] for place in part.of([None] * len(texts))]
    source = f"{', '.join(names)}{part.note}"
    _check_some(source, texts)
    return TrainingData(source=source, digest=digest_stream(text.text for text in texts), texts=tuple(texts))


def _check_some(source: str, found: Sequence[object]) -> None:
    if not found:
        raise DataError(source, "nothing is left of it to train on; widen the part, or exclude less")
