"""What is wrong in a store of runs: folders that were cut off, that are no runs, or that somebody edited.

A run is checked against itself: its folder carries its id, its samples are all there, each of them once, and the values of its
record come out again from the sums of its samples' statistics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.compare import stored_metric
from evalkit.comparison.loaded import LoadedRun, load_record, load_samples
from evalkit.errors import EvalkitError, InvalidInputError, reason_of
from evalkit.metrics.base import Statistics
from evalkit.store import RECORD, SAMPLES

CUT, FOREIGN, EDITED, UNREADABLE, PARTIAL = "cut", "foreign", "edited", "unreadable", "incomplete"
TOLERANCE = 1e-9
"""Relative difference of a value from what its statistics give."""
_FILES = frozenset({RECORD, SAMPLES})


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong."""

    name: str
    """Entry of the store."""
    kind: str
    """``cut``, ``foreign``, ``edited``, ``unreadable`` or ``incomplete``."""
    problem: str
    """What was found, and what to do."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder directly below the store."""

    name: str
    is_folder: bool
    is_link: bool = False


def check_store(
    root: str, progress: Callable[[Iterable[Any], int, str], Iterable[Any]] = lambda items, total, title: items
) -> tuple[int, list[Finding]]:
    """Check every entry of a store.

    Args:
        root: A folder, or an address that fsspec opens.
        progress: Shows how far the check is.

    Returns:
        The number of sound runs, and everything that is wrong, by name.

    Raises:
        InvalidInputError: There is no such store.
    """
    entries = list_entries(root)
    findings: list[Finding] = []
    sound = 0
    for entry in progress(entries, len(entries), "store"):
        found = list(check_entry(root.rstrip("/"), entry))
        findings += found
        sound += not found and entry.is_folder
    return sound, findings


def list_entries(root: str) -> list[Entry]:
    """List what lies directly below a store, by name.

    Raises:
        InvalidInputError: There is no such folder or address.
    """
    if "://" in root:
        return _remote_entries(root)
    path = Path(root)
    if not path.is_dir():
        raise InvalidInputError(f"store {root!r} is no folder; expected the folder that --out of evalkit run named")
    return sorted((Entry(one.name, one.is_dir(), one.is_symlink()) for one in path.iterdir()), key=lambda one: one.name)


def _remote_entries(root: str) -> list[Entry]:
    try:
        import fsspec

        system, place = fsspec.core.url_to_fs(root)
        listed = system.ls(place, detail=True)
    except Exception as error:  # whatever a file system of fsspec may raise
        raise InvalidInputError(f"store {root!r} cannot be listed: {reason_of(error)}; check the address") from error
    names = [(str(one["name"]).rstrip("/").rpartition("/")[2], one["type"] == "directory") for one in listed]
    return sorted((Entry(name, is_folder) for name, is_folder in names), key=lambda one: one.name)


def check_entry(root: str, entry: Entry) -> Iterator[Finding]:
    """Say what is wrong with one entry; nothing where it is a sound run."""
    name = entry.name
    if entry.is_link:
        yield Finding(name, FOREIGN, "is a link; a run folder is a folder of its own: copy the run here instead")
    elif not entry.is_folder:
        yield Finding(name, FOREIGN, "is a file; a store holds run folders only: move it elsewhere")
    elif name.startswith("."):
        yield Finding(name, CUT, "was being written when the run stopped; no run needs it any more: delete it")
    else:
        yield from check_run(f"{root}/{name}", name)


def check_run(place: str, name: str) -> Iterator[Finding]:
    """Say what is wrong with one run folder."""
    try:
        files = {entry.name: entry for entry in list_entries(place)}
    except (OSError, EvalkitError) as error:
        yield Finding(name, UNREADABLE, f"cannot be listed: {getattr(error, 'strerror', None) or error}")
        return
    if RECORD not in files:
        kind, what = (CUT, "samples but no") if SAMPLES in files else (FOREIGN, "no")
        yield Finding(name, kind, f"holds {what} {RECORD}; it is no run: delete it or move it elsewhere")
        return
    for extra in sorted(set(files) - _FILES):
        yield Finding(name, FOREIGN, f"holds {extra!r}, which is no part of a run: move it elsewhere")
    for link in sorted(one.name for one in files.values() if one.is_link):
        yield Finding(name, FOREIGN, f"{link!r} is a link; put the file itself there")
    try:
        record = load_record(place)
        run = load_samples(place, record)
    except EvalkitError as error:
        yield Finding(name, UNREADABLE, str(error))
        return
    if record.id != name:
        yield Finding(name, EDITED, f"holds the run {record.id!r}; rename the folder back")
    if record.status != "complete":
        yield Finding(name, PARTIAL, f"is not complete: {record.status}")
    yield from (Finding(name, kind, problem) for kind, problem in _samples_problems(run))


def _samples_problems(run: LoadedRun) -> Iterator[tuple[str, str]]:
    wanted = run.record.counts.get("examples", len(run.ids))
    if run.is_cut:
        yield CUT, f"{SAMPLES} ends in the middle of a line; restore it or run again"
    elif len(run.ids) != wanted:
        kind = CUT if len(run.ids) < wanted else EDITED
        yield kind, f"{SAMPLES} holds {len(run.ids)} examples, the record {wanted}; restore it or run again"
    else:
        yield from _value_problems(run)


def _value_problems(run: LoadedRun) -> Iterator[tuple[str, str]]:
    """Values that do not come out of the statistics."""
    for label, statistics in run.statistics.items():
        try:
            metric = stored_metric(run, label)
        except EvalkitError as error:
            yield UNREADABLE, f"metric {label!r}: {error}"
            continue
        scored = Statistics(statistics.columns, statistics.rows[run.scored])
        names = metric.score(scored.rows.sum(axis=0), scored.columns)
        for value in run.record.metrics:
            if value.metric != label or value.name not in names:
                continue
            again = float(names[value.name])
            if not _agrees(value.value, again):
                yield (
                    EDITED,
                    f"{label} {value.name} is {value.value!r} in the record, but its samples give {again!r};"
                    " restore the folder or run again",
                )


def _agrees(stored: float | None, again: float) -> bool:
    if stored is None:
        return not math.isfinite(again)
    return math.isclose(stored, again, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
