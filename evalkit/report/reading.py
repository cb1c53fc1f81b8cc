"""Run folders as a user names them, read into records: local folders, stores, patterns and addresses."""

from __future__ import annotations

import glob
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.comparison.loaded import load_record, run_folders
from evalkit.errors import DataError, EvalkitError, InvalidInputError, MissingResourceError, reason_of
from evalkit.record import MetricValue, RunRecord
from evalkit.store import RECORD

_LOCAL = ("file://", "local://")
_EXPECTED = "expected a run folder, a folder of run folders, a pattern such as 'runs/*wnut17*', or an address"


@dataclass(frozen=True, slots=True, eq=False)
class StoredRun:
    """A run whose samples are not read yet."""

    place: str
    """Folder or address."""
    record: RunRecord


def read_runs(names: Sequence[str]) -> list[StoredRun]:
    """Read the records of all runs that names mean; a run that is named twice counts once.

    Args:
        names: Run folders, folders of run folders, patterns, or addresses that fsspec opens.

    Returns:
        Runs by id, then place, whatever the order of the names.

    Raises:
        InvalidInputError: A name means no run, or a record cannot be read; names the folder.
        MissingResourceError: The package that opens an address is not installed.
    """
    places = dict.fromkeys(place for name in names for place in find_places(name))
    runs = [StoredRun(place, _record(place)) for place in places]
    runs.sort(key=lambda run: (run.record.id, run.place))
    kept: list[StoredRun] = []
    for run in runs:
        # A copy of a folder is the same run; another run of the same id, made by hand, is not.
        alike = itertools.takewhile(lambda other: other.record.id == run.record.id, reversed(kept))  # noqa: B023
        if all(other.record != run.record for other in alike):
            kept.append(run)
    return kept


def find_places(name: str) -> Iterator[str]:
    """Find the run folders that a name means.

    Raises:
        InvalidInputError: There is none.
        MissingResourceError: The package that opens an address is not installed.
    """
    for prefix in _LOCAL:
        name = name.removeprefix(prefix)
    if "\0" in name or not name.strip():
        raise InvalidInputError(f"{name!r} names no run; {_EXPECTED}")
    if "://" in name:
        yield from _remote_places(name)
        return
    is_pattern = glob.has_magic(name) and not Path(name).exists()
    matches = sorted(glob.glob(name)) if is_pattern else [name]
    if not matches:
        raise InvalidInputError(f"{name!r} matches nothing; {_EXPECTED}")
    for match in matches:
        yield from (str(Path(place)) for place in run_folders(match))


def _remote_places(address: str) -> Iterator[str]:
    try:
        import fsspec

        system, root = fsspec.core.url_to_fs(address.rstrip("/"))
        found = [
            str(system.unstrip_protocol(folder))
            for path in (sorted(system.glob(root)) if glob.has_magic(root) else [root])
            for folder in _remote_folders(system, path)
        ]
    except ImportError as error:
        raise MissingResourceError(f"cannot open {address!r}: {error}; install it with pip") from error
    except Exception as error:  # whatever a file system of fsspec may raise
        raise InvalidInputError(f"cannot list {address!r}: {reason_of(error)}; {_EXPECTED}") from error
    if not found:
        raise InvalidInputError(f"{address!r}: no {RECORD} in it; {_EXPECTED}")
    yield from found


def _remote_folders(system: Any, path: str) -> list[str]:  # noqa: ANN401
    if system.isfile(f"{path}/{RECORD}"):
        return [path]
    if not system.isdir(path):
        return []
    below = sorted(str(child).rstrip("/") for child in system.ls(path, detail=False))
    return [child for child in below if system.isfile(f"{child}/{RECORD}")]


def _record(place: str) -> RunRecord:
    try:
        record = load_record(place)
    except EvalkitError as error:
        text = str(error)
        raise (error if text.startswith(place) else InvalidInputError(f"{place}: {text}")) from error
    except RecursionError as error:
        raise DataError(place, f"{RECORD} is nested too deeply; the folder was edited") from error
    except Exception as error:
        if "://" not in place:
            raise
        raise InvalidInputError(f"cannot read {place!r}: {reason_of(error)}; {_EXPECTED}") from error
    problem = next(problems(record), None)
    if problem is not None:
        raise DataError(f"{place}/{RECORD}", f"{problem}; the record was edited: restore it, or leave this run out")
    return record


_TEXTS = {
    "task": ("name", "kind", "language", "digest"),
    "data": ("digest",),
    "model": ("ref", "name", "digest", "family"),
}
"""What a report reads of a record's parts and must be text."""
_COUNTS = {"task": ("version",), "data": ("n", "scored_n"), "model": ("parameters", "tokens_seen")}
"""What must be a whole number, or null where it may be unknown."""
_REQUIRED = frozenset({("task", "version"), ("data", "n")})
_PARTS = ("task", "data", "model", "settings", "counts", "timing", "environment", "details")


def problems(record: RunRecord) -> Iterator[str]:
    """Say what in a record is not of the form that a report can read; nothing for the records that evalkit writes."""
    for part in _PARTS:
        if not isinstance(getattr(record, part), Mapping):
            yield f"{part} is {getattr(record, part)!r:.40}; expected an object"
            return
    head = {name: getattr(record, name) for name in ("id", "created", "status")}
    yield from _not_texts(head, "run", head)
    for part, names in _TEXTS.items():
        yield from _not_texts(getattr(record, part), part, names)
    for part, names in _COUNTS.items():
        yield from _not_counts(getattr(record, part), part, names)
    yield from _not_numbers(record)
    if not record.metrics:
        yield "it has no metrics; expected at least one"
    for value in record.metrics:
        yield from _not_a_value(value)


def _not_numbers(record: RunRecord) -> Iterator[str]:
    yield from (f"count {name!r} is {n!r:.40}" for name, n in record.counts.items() if not _is_count(n))
    yield from (f"timing {name!r} is {s!r:.40}" for name, s in record.timing.items() if not _is_number(s))
    yield from (f"warning {line!r:.40} is no text" for line in record.warnings if not isinstance(line, str))


def _not_texts(part: Mapping[str, Any], label: str, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if not isinstance(part.get(name), str):
            yield f"{label}.{name} is {part.get(name)!r:.40}; expected text"


def _not_counts(part: Mapping[str, Any], label: str, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        value = part.get(name)
        if not _is_count(value) and not (value is None and (label, name) not in _REQUIRED):
            yield f"{label}.{name} is {value!r:.40}; expected a whole number"


def _not_a_value(value: MetricValue) -> Iterator[str]:
    for name in ("metric", "name", "signature"):
        if not isinstance(getattr(value, name), str):
            yield f"a metric's {name} is {getattr(value, name)!r:.40}; expected text"
    for name in ("value", "low", "high"):
        number = getattr(value, name)
        if number is not None and not _is_number(number):
            yield f"{name} of {value.metric!r:.40} is {number!r:.40}; expected a number or null"
    if not (_is_count(value.n) and _is_count(value.unscored) and _is_number(value.scale)):
        yield f"n, unscored or scale of {value.metric!r:.40} is no number"


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**18


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
