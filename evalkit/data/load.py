"""From a task and a split to examples: files, the hub or the task's generator, checked row by row."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import NamedTuple

from evalkit.data import READERS
from evalkit.data.hub import pinned, read_hub
from evalkit.data.located import Located
from evalkit.data.seen import FirstSeen
from evalkit.data.text import find_file, open_text
from evalkit.digests import RunningDigest
from evalkit.encoding import EXAMPLE
from evalkit.errors import DataError, InvalidInputError, MissingResourceError, UnknownNameError
from evalkit.kinds import KINDS
from evalkit.requests import Example
from evalkit.spec import Files, Generated, Hub, TaskSpec
from evalkit.spool import spooled

DATA_DIR_VARIABLE = "EVALKIT_DATA_DIR"
"""Environment variable that names the data folder where no ``--data-dir`` does."""


@dataclass(frozen=True, kw_only=True)
class OpenedRows:
    """The rows of one split, not read yet, and where they come from."""

    rows: Iterator[Located]
    """The rows, in order; reading them may raise `DataError`."""
    source: str
    """``files``, ``hub`` or ``generated``."""
    split: str
    """Name of the split."""
    revision: str | None = None
    """Commit on the hub, or seed and size of generated data."""
    paths: tuple[str, ...] = ()
    """Files of the split; empty unless the source is files."""


@dataclass(frozen=True, kw_only=True)
class TaskData:
    """The examples of one split, all of them checked."""

    examples: Sequence[Example]
    """All examples, in the order of the source; many of them lie on disk, and are read from there again and again."""
    source: str
    """``files``, ``hub`` or ``generated``."""
    revision: str | None
    """Commit on the hub, or seed and size of generated data; None for files, which the digest identifies."""
    digest: str
    """Digest of id, inputs, references and cluster of each example, in order; 16 hex digits."""
    split: str
    """Name of the split."""
    paths: tuple[str, ...] = ()
    """Files that were read; empty unless the source is files."""
    warnings: tuple[str, ...] = field(default=())
    """Things a user should know though the data can be used, one line each."""


def load(task: TaskSpec, split: str, data_dir: Path | str | None = None) -> TaskData:
    """Load one split of a task.

    Args:
        task: The task.
        split: Name of the split.
        data_dir: Folder of data files; None means the environment variable EVALKIT_DATA_DIR, and where that is not set
            either, the hub. Generated tasks need neither.

    Raises:
        UnknownNameError: The task has no such split.
        MissingResourceError: The data is not to be had here; says which files are expected where.
        DataError: Data cannot be read as what it should be; names path and line.
        InvalidInputError: The task describes its data wrongly.
    """
    opened = open_rows(task, split, data_dir)
    seen, blanks, running = FirstSeen[_Place](), _Blanks(), RunningDigest()

    def checked() -> Iterator[Example]:
        for example, place in _examples(task, opened):
            first = seen.add(example.id, place)
            if first is not None:
                raise _repeated(example.id, first, place)
            blanks.add(example)
            running.add([example.id, dict(example.inputs), example.references, example.cluster])
            yield example

    examples = spooled(checked(), EXAMPLE)
    if not examples:
        raise DataError(", ".join(opened.paths) or task.name, f"no rows in split {split!r}; expected at least one")
    suspects = seen.suspects()
    if suspects:
        _refuse_repeated(suspects, open_rows(task, split, data_dir))
    return TaskData(
        examples=examples,
        source=opened.source,
        revision=opened.revision,
        digest=running.digest(),
        split=split,
        paths=opened.paths,
        warnings=tuple(blanks.concerns(task, len(examples))),
    )


def open_rows(task: TaskSpec, split: str, data_dir: Path | str | None = None) -> OpenedRows:
    """Find the rows of one split without reading them; arguments and errors as for `load`.

    Raises:
        UnknownNameError: The task has no such split.
        MissingResourceError: The data is not to be had here.
        InvalidInputError: The task describes its data wrongly.
    """
    if task.generated:
        return _open_generated(task, task.generated, split)
    folder = _data_folder(task, data_dir)
    if task.files and folder is not None:
        return _open_files(task, task.files, split, folder)
    if task.hub:
        return _open_hub(task, task.hub, split)
    assert task.files is not None
    _known(task, split, task.files.splits)
    raise MissingResourceError(
        f"task {task.name!r} reads files: give --data-dir (or set {DATA_DIR_VARIABLE}) to a folder with"
        f" {', '.join(task.files.splits[split])}"
    )


def training(task: TaskSpec, data_dir: Path | str | None = None) -> Sequence[Example]:
    """The examples of the split ``train``.

    Raises:
        MissingResourceError: The task has no such split, or its data is not to be had here.
        DataError: As for `load`.
    """
    splits = _splits(task, data_dir)
    if "train" not in splits:
        raise MissingResourceError(f"task {task.name!r} has no split 'train'; its splits: {', '.join(splits)}")
    return load(task, "train", data_dir).examples


def lexicon(task: TaskSpec, data_dir: Path | str | None = None) -> frozenset[str]:
    """The known words of a segmentation task: its word list, or else the words of its training split.

    Raises:
        MissingResourceError: The task has neither, or is no segmentation task.
        DataError: As for `load`.
    """
    if task.kind != "cws":
        raise MissingResourceError(f"task {task.name!r} is of kind {task.kind!r}; only cws tasks have a word list")
    folder = _data_folder(task, data_dir)
    if task.files and task.files.lexicon and folder is not None:
        (path,) = _found(task, (task.files.lexicon,), folder)
        return frozenset(word for _, line in open_text(path) for word in line.split())
    return frozenset(word for row in training(task, data_dir) for word in row.references[0].split())


def _open_generated(task: TaskSpec, generated: Generated, split: str) -> OpenedRows:
    _known(task, split, generated.sizes)
    size = generated.sizes[split]
    rows = (Located(row, task.name, None) for row in generated.rows(split, size, generated.seed))
    return OpenedRows(rows=rows, source="generated", split=split, revision=f"seed {generated.seed}, size {size}")


def _open_files(task: TaskSpec, files: Files, split: str, folder: Path) -> OpenedRows:
    _known(task, split, files.splits)
    reader = READERS.get(files.format)
    if reader is None:
        raise UnknownNameError(f"file format of task {task.name!r}:", files.format, READERS)
    paths = _found(task, files.splits[split], folder)
    rows = reader.read(paths, files.fields, files.options, split)
    return OpenedRows(rows=rows, source="files", split=split, paths=tuple(map(str, paths)))


def _open_hub(task: TaskSpec, hub: Hub, split: str) -> OpenedRows:
    _known(task, split, hub.splits)
    otherwise = ""
    if task.files and split in task.files.splits:
        otherwise = f"; or give --data-dir with {', '.join(task.files.splits[split])}"
    at = pinned(hub, otherwise)
    return OpenedRows(rows=read_hub(at, split, otherwise), source="hub", split=split, revision=at.revision)


def _data_folder(task: TaskSpec, data_dir: Path | str | None) -> Path | None:
    """The folder of the task's files; None where it reads none, or no folder is named."""
    if task.generated or not task.files:
        return None
    named = data_dir if data_dir is not None else os.environ.get(DATA_DIR_VARIABLE) or None
    if named is None:
        return None
    folder = Path(named)
    if not folder.is_dir():
        origin = "--data-dir" if data_dir is not None else DATA_DIR_VARIABLE
        raise MissingResourceError(f"the data folder {str(folder)!r} of {origin} is not a folder; check the path")
    return folder


def _splits(task: TaskSpec, data_dir: Path | str | None) -> list[str]:
    """Splits of the source that `open_rows` would take."""
    if task.generated:
        return list(task.generated.sizes)
    if task.files and (task.hub is None or _data_folder(task, data_dir) is not None):
        return list(task.files.splits)
    return list(task.hub.splits) if task.hub else []


def _known(task: TaskSpec, split: str, splits: Iterable[str]) -> None:
    names = list(splits)
    if split not in names:
        raise UnknownNameError(f"split of task {task.name!r}:", split, names)


def _found(task: TaskSpec, names: Iterable[str], folder: Path) -> list[Path]:
    """Paths below the data folder, each of which is there, with ``.gz`` behind it or not."""
    paths = []
    for name in names:
        relative = PurePath(name)
        if relative.is_absolute() or ".." in relative.parts:
            raise InvalidInputError(
                f"task {task.name!r}: path {name!r} leaves the data folder; expected a path below it"
            )
        try:
            paths.append(find_file(folder / relative))
        except DataError as error:
            raise MissingResourceError(f"task {task.name!r} needs {name} below the data folder: {error}") from error
    return paths


class _Place(NamedTuple):
    number: int
    path: Path | str
    line: int | None


def _examples(task: TaskSpec, opened: OpenedRows) -> Iterator[tuple[Example, _Place]]:
    kind = KINDS[task.kind]
    for number, located in enumerate(opened.rows, start=1):
        place = _Place(number, located.path, located.line)
        try:
            example = kind.example(located.row, _example_id(located, number))
            kind.check(task, example)
        except InvalidInputError as error:
            problem = str(error) if place.line is not None else f"row {number}: {error}"
            raise DataError(place.path, problem, place.line) from error
        yield example, place


def _example_id(located: Located, number: int) -> str:
    value = located.row.get("id")
    if value is None:
        return str(number)
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise InvalidInputError(f"field 'id' is {value!r:.40}; expected a text or a whole number")
    return str(value)


def _refuse_repeated(suspects: set[int], opened: OpenedRows) -> None:
    """Read rows again and find the id that is there twice, unless different ids only have the same hash."""
    places: dict[str, _Place] = {}
    for number, located in enumerate(opened.rows, start=1):
        example_id = _example_id(located, number)
        if hash(example_id) in suspects:
            place = _Place(number, located.path, located.line)
            first = places.setdefault(example_id, place)
            if first is not place:
                raise _repeated(example_id, first, place)


def _repeated(example_id: str, first: _Place, second: _Place) -> DataError:
    earlier = f"row {first.number}" if first.line is None else f"{first.path}:{first.line}"
    later = f"row {second.number}: " if second.line is None else ""
    problem = f"{later}id {example_id!r} is that of {earlier} already; expected a different id for each row"
    return DataError(second.path, problem, second.line)


class _Blanks:
    """Which input fields are blank somewhere."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[str, int]] = {}

    def add(self, example: Example) -> None:
        """Look at one example."""
        for name, value in example.inputs.items():
            if isinstance(value, str) and (not value or value.isspace()):
                first, count = self._found.get(name, (example.id, 0))
                self._found[name] = first, count + 1

    def concerns(self, task: TaskSpec, count: int) -> Iterator[str]:
        """One warning for each field that is."""
        for name, (first, blank) in self._found.items():
            yield f"task {task.name!r}: field {name!r} is blank in {blank} of {count} examples, first in {first!r}"
