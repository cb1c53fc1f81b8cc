"""Stored runs as numbers: a run folder or a baseline read into statistics by example id, without model, data or text.

Rows are put into the order of their ids, so that nothing computed from them depends on the order in which a run wrote its
samples. Of a line of samples.jsonl only the parts that are needed are parsed; a line of another layout is parsed whole.
"""

from __future__ import annotations

import gc
import itertools
import json
import operator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evalkit.errors import DataError, InvalidInputError
from evalkit.metrics.base import Statistics
from evalkit.record import RunRecord
from evalkit.store import RECORD, SAMPLES

Row: TypeAlias = tuple[Any, ...]
"""Id, cluster, prompt digest, truncated and statistics of a sample."""

_NEEDED = operator.itemgetter("id", "cluster", "prompt_digest", "truncated", "statistics")
_HEAD_END, _TAIL_START = b',"response":', b',"truncated":'


@dataclass(frozen=True, slots=True, eq=False)
class LoadedRun:
    """One run as numbers; every sequence has one entry an example, in the order of the sorted ids."""

    place: str
    """Where it was read from, as the user named it."""
    record: RunRecord
    ids: tuple[str, ...]
    clusters: tuple[str | None, ...]
    prompts: tuple[str, ...]
    """Digests of what the model was shown."""
    truncated: tuple[bool, ...]
    scored: npt.NDArray[np.bool_]
    """Which examples have statistics."""
    statistics: Mapping[str, Statistics]
    """Metric label to rows; the rows of unscored examples are 0."""
    lines: tuple[bytes, ...] | None
    """The samples as they were written; None where a baseline holds no text."""
    is_cut: bool = False
    """Whether the last line ends in the middle."""
    positions: tuple[int, ...] = ()
    """Place of each example among the lines of the file."""

    @property
    def task(self) -> str:
        """Name of the task."""
        return str(self.record.task["name"])

    @property
    def name(self) -> str:
        """Name of the model."""
        return str(self.record.model["name"])

    def samples(self, places: Sequence[int]) -> list[dict[str, Any]]:
        """Parse some samples whole; empty ones where there is no text."""
        return [json.loads(self.lines[place]) if self.lines is not None else {} for place in places]


def load_run(folder: Path | str) -> LoadedRun:
    """Read a run folder.

    Args:
        folder: A local folder, or an address that fsspec opens.

    Raises:
        InvalidInputError: It is no run folder, or one of a newer schema.
        DataError: A sample cannot be read as what it should be.
    """
    place = str(folder).rstrip("/")
    return load_samples(place, load_record(place))


def load_record(place: str) -> RunRecord:
    """Read the record of a run folder, a local one or an address.

    Raises:
        InvalidInputError: It is no run folder, or one of a newer schema.
    """
    return RunRecord.from_json(_decode(read_part(place, RECORD), place))


def load_samples(place: str, record: RunRecord) -> LoadedRun:
    """Read the samples of a run folder whose record is known; statistics of metrics that the record leaves out are skipped.

    Raises:
        InvalidInputError: There are no samples.
        DataError: A sample cannot be read as what it should be.
    """
    return from_lines(place, record, read_part(place, SAMPLES))


def from_lines(place: str, record: RunRecord, content: bytes, has_text: bool = True) -> LoadedRun:
    """Read the samples of a run from the bytes of samples.jsonl.

    Args:
        place: What errors name.
        record: The run's record.
        content: Lines of JSON.
        has_text: Whether the lines hold predictions and references.

    Raises:
        DataError: A line cannot be read, an id occurs twice, or statistics have the wrong width.
    """
    path = f"{place}/{SAMPLES}"
    lines = content.split(b"\n")
    is_cut = lines.pop() != b""
    with no_collection():
        parsed = _parse(lines, path)
    ids = [row[0] for row in parsed]
    order = sorted(range(len(ids)), key=ids.__getitem__)
    in_order = [ids[index] for index in order]
    for before, after in itertools.pairwise(in_order):
        if before == after:
            raise DataError(path, f"id {before!r} occurs twice; expected each example once")
    rows = [parsed[index][4] for index in order]
    return LoadedRun(
        place=place,
        record=record,
        ids=tuple(in_order),
        clusters=tuple([parsed[index][1] for index in order]),
        prompts=tuple([parsed[index][2] for index in order]),
        truncated=tuple([bool(parsed[index][3]) for index in order]),
        scored=np.array([row is not None for row in rows], dtype=np.bool_),
        statistics={label: _table(record, label, rows, in_order, path) for label in record.statistics},
        lines=tuple([lines[index] for index in order]) if has_text else None,
        is_cut=is_cut,
        positions=tuple(order),
    )


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep the garbage collector from walking through objects that are all still needed; it takes a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _parse(lines: Sequence[bytes], path: str) -> list[Row]:
    """Read what is needed of every line: without response, prediction and references where it has the usual layout."""
    try:
        parts = b",".join(line[: line.index(_HEAD_END)] + line[line.rindex(_TAIL_START) :] for line in lines)
        rows = list(map(_NEEDED, json.loads(b"[" + parts + b"]")))
        if len(rows) == len(lines) and all(isinstance(row[0], str) for row in rows):
            return rows
    except (ValueError, KeyError, TypeError):
        pass
    return _parse_whole(lines, path)


def _parse_whole(lines: Sequence[bytes], path: str) -> list[Row]:
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            row = _NEEDED({"cluster": None, "truncated": False, **json.loads(line)})
            if not isinstance(row[0], str):
                raise TypeError(f"id {row[0]!r} is not a string")
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                path,
                f"no sample ({type(error).__name__}: {error}); expected one JSON object a line, as evalkit run wrote"
                " it: restore the folder or run again",
                number,
            ) from error
        rows.append(row)
    return rows


def _table(record: RunRecord, label: str, rows: Sequence[Any], ids: Sequence[str], path: str) -> Statistics:
    columns = record.statistics[label].columns
    width = len(columns)
    blank = [0.0] * width
    try:
        numbers = [blank if row is None else row[label] for row in rows]
        if all(len(row) == width for row in numbers):
            flat = np.fromiter(itertools.chain.from_iterable(numbers), dtype=np.float64, count=len(rows) * width)
            if np.isfinite(flat).all():
                return Statistics(columns, flat.reshape(len(rows), width))
    except (KeyError, TypeError, ValueError):
        pass
    raise DataError(path, _bad_row(label, width, rows, ids))


def _bad_row(label: str, width: int, rows: Sequence[Any], ids: Sequence[str]) -> str:
    for example, row in zip(ids, rows, strict=True):
        values = row.get(label) if isinstance(row, dict) else row
        if row is None or (isinstance(values, list) and len(values) == width and all(map(_is_number, values))):
            continue
        found = f"{len(values)} numbers" if isinstance(values, list) else "no list of numbers"
        return (
            f"example {example!r} has {found} of metric {label!r}; expected {width} finite ones, as run.json names"
            " them: restore the folder or run again"
        )
    return f"statistics of metric {label!r} cannot be read; restore the folder or run again"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def run_folders(place: Path | str) -> Iterator[str]:
    """Find the run folders that a path means: itself, or the runs directly below it, by name.

    Raises:
        InvalidInputError: There is no run.
    """
    text = str(place)
    if "://" in text:
        yield text
        return
    path = Path(text)
    if (path / RECORD).is_file():
        yield text
        return
    below = sorted(str(record.parent) for record in path.glob(f"*/{RECORD}")) if path.is_dir() else []
    if not below:
        found = f"no {RECORD} in it" if path.is_dir() else "no such folder"
        raise InvalidInputError(
            f"{text}: {found}; expected a run folder such as runs/<id>, or a folder of such folders"
        )
    yield from below


def read_part(place: str, name: str) -> bytes:
    """Read one file of a run folder, a local one or an address.

    Raises:
        InvalidInputError: It cannot be read.
    """
    try:
        if "://" in place:
            import fsspec

            with fsspec.open(f"{place}/{name}", "rb") as file:
                content: bytes = file.read()
                return content
        return Path(place, name).read_bytes()
    except OSError as error:
        raise InvalidInputError(
            f"{place}: no readable {name} in it ({error.strerror or error}); expected a run folder such as runs/<id>"
        ) from error


def _decode(content: bytes, place: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{place}: {RECORD} is not UTF-8; expected a run folder such as runs/<id>") from error
