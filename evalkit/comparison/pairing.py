"""May two runs be compared, and on which rows? Everything that differs is named before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalkit.comparison.draws import FloatArray
from evalkit.comparison.loaded import LoadedRun
from evalkit.comparison.significance import Measure, Paired
from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.metrics.base import Statistics
from evalkit.stats import sum_clusters

INCOMPLETE = "incomplete"
TASK_VERSION = "task-version"
DATA = "data"
EXAMPLES = "examples"
PROMPTS = "prompts"
UNSCORED = "unscored"
TRUNCATED = "truncated"
SIGNATURE = "signature"

ALLOWABLE = (INCOMPLETE, TASK_VERSION, DATA, EXAMPLES, PROMPTS, UNSCORED, TRUNCATED)
"""Differences that a user may accept. Signatures are not among them: values of different settings are never compared."""

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One thing in which two runs differ although a comparison needs it equal."""

    kind: str
    """What ``--allow`` calls it."""
    detail: str
    """What was found on either side."""


def check_allowed(kinds: Sequence[str]) -> frozenset[str]:
    """Check the kinds of difference that a user accepts.

    Raises:
        InvalidInputError: A kind is not known, or cannot be accepted.
    """
    for kind in kinds:
        if kind == SIGNATURE:
            raise InvalidInputError(
                "a difference of signatures cannot be allowed: values of different settings are never compared;"
                " score both systems with the same settings"
            )
        if kind not in ALLOWABLE:
            raise UnknownNameError("kind of difference", kind, ALLOWABLE)
    return frozenset(kinds)


def mismatches(first: LoadedRun, second: LoadedRun, label: str | None = None) -> list[Mismatch]:
    """List all in which two runs of one task differ although a comparison needs it equal.

    Args:
        first: One run.
        second: Another run of the same task.
        label: Metric that is to be compared; None for what concerns all metrics.
    """
    found = [*_incomplete(first), *_incomplete(second), *_settings(first, second), *_examples(first, second)]
    return found if label is None else found + signature_mismatches(first, second, label)


def signature_mismatches(first: LoadedRun, second: LoadedRun, label: str) -> list[Mismatch]:
    """Compare the signatures of one metric."""
    ours, theirs = (_signature(run, label) for run in (first, second))
    return [Mismatch(SIGNATURE, f"{label}: {ours!r} and {theirs!r}")] if ours != theirs else []


def _signature(run: LoadedRun, label: str) -> str | None:
    return next((value.signature for value in run.record.metrics if value.metric == label), None)


def _incomplete(run: LoadedRun) -> list[Mismatch]:
    record = run.record
    expected = record.counts.get("examples", len(run.ids))
    if record.status != "complete":
        return [Mismatch(INCOMPLETE, f"{run.place} is not complete: {record.status}")]
    if run.is_cut or len(run.ids) != expected:
        return [
            Mismatch(INCOMPLETE, f"{run.place} holds {len(run.ids)} of {expected} samples; its folder was cut short")
        ]
    return []


def _settings(first: LoadedRun, second: LoadedRun) -> list[Mismatch]:
    tasks, found = (first.record.task, second.record.task), []
    versions = [task["version"] for task in tasks]
    if versions[0] != versions[1]:
        found.append(Mismatch(TASK_VERSION, f"task {first.task} of version {versions[0]} and {versions[1]}"))
    elif tasks[0]["digest"] != tasks[1]["digest"] and set(first.statistics) == set(second.statistics):
        found.append(
            Mismatch(
                TASK_VERSION,
                f"task {first.task} is version {versions[0]} in both, but its definition differs"
                f" (digests {tasks[0]['digest']} and {tasks[1]['digest']})",
            )
        )
    digests = [run.record.data["digest"] for run in (first, second)]
    if digests[0] != digests[1]:
        found.append(Mismatch(DATA, f"data digests {digests[0]} and {digests[1]}"))
    truncated = [sum(run.truncated) for run in (first, second)]
    if truncated[0] != truncated[1]:
        found.append(Mismatch(TRUNCATED, f"{truncated[0]} and {truncated[1]} truncated examples"))
    return found


def _examples(first: LoadedRun, second: LoadedRun) -> list[Mismatch]:
    found = []
    if first.ids != second.ids:
        only = [sorted(set(one.ids) - set(other.ids)) for one, other in ((first, second), (second, first))]
        parts = [
            f"{len(ids)} only in {run.place}" + (f" ({_some(ids)})" if ids else "")
            for ids, run in zip(only, (first, second), strict=True)
        ]
        found.append(Mismatch(EXAMPLES, f"example ids: {', '.join(parts)}"))
    ours, theirs = common(first, second)
    pairs = list(zip(ours.tolist(), theirs.tolist(), strict=True))
    if first.prompts != second.prompts:
        other = [first.ids[i] for i, j in pairs if first.prompts[i] != second.prompts[j]]
        if other:
            found.append(Mismatch(PROMPTS, f"{len(other)} of {len(pairs)} prompts differ (examples {_some(other)})"))
    unequal = first.scored[ours] != second.scored[theirs]
    if unequal.any():
        names = [first.ids[i] for i in ours[unequal].tolist()]
        found.append(Mismatch(UNSCORED, f"{len(names)} examples are scored in one run only (examples {_some(names)})"))
    return found


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")


def common(first: LoadedRun, second: LoadedRun) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Places of the examples that two runs share, in the order of their ids."""
    if first.ids == second.ids:
        everything = np.arange(len(first.ids))
        return everything, everything
    where = {name: place for place, name in enumerate(second.ids)}
    pairs = [(place, where[name]) for place, name in enumerate(first.ids) if name in where]
    table = np.array(pairs, dtype=np.int64).reshape(len(pairs), 2)
    return table[:, 0], table[:, 1]


def shared_places(runs: Sequence[LoadedRun]) -> list[npt.NDArray[np.int64]]:
    """Places, run by run, of the examples that all runs have and have scored."""
    if all(run.ids == runs[0].ids for run in runs):
        scored = np.logical_and.reduce([run.scored for run in runs])
        return [np.flatnonzero(scored)] * len(runs)
    wheres = [{name: place for place, name in enumerate(run.ids)} for run in runs]
    names = [name for name in runs[0].ids if all(name in where for where in wheres)]
    places = [np.array([where[name] for name in names], dtype=np.int64) for where in wheres]
    scored = np.logical_and.reduce([run.scored[place] for run, place in zip(runs, places, strict=True)])
    return [place[scored] for place in places]


@dataclass(frozen=True, slots=True)
class Sides:
    """The runs of the two systems, ready to be paired."""

    first: tuple[LoadedRun, ...]
    second: tuple[LoadedRun, ...]
    places: tuple[npt.NDArray[np.int64], ...]
    """Places of the shared examples in each run, the first system's runs before the second's."""

    @staticmethod
    def of(first: Sequence[LoadedRun], second: Sequence[LoadedRun]) -> Sides:
        """Find the examples that all runs share."""
        return Sides(tuple(first), tuple(second), tuple(shared_places([*first, *second])))

    @property
    def n(self) -> int:
        """Number of shared, scored examples."""
        return len(self.places[0])

    @property
    def clusters(self) -> list[str | None]:
        """Cluster of each shared example."""
        names = self.first[0].clusters
        return [names[place] for place in self.places[0].tolist()]

    def tables(self, label: str) -> tuple[tuple[str, ...], list[FloatArray]]:
        """Rows of one metric on the shared examples, one table a run, all with the same columns."""
        parts = [
            Statistics(run.statistics[label].columns, run.statistics[label].rows[place])
            for run, place in zip((*self.first, *self.second), self.places, strict=True)
        ]
        merged = Statistics.merge(parts)
        return merged.columns, np.split(merged.rows, len(parts))

    def pairs(self, measures: Sequence[Measure], tables: Sequence[FloatArray]) -> list[Paired]:
        """Pair the systems for several measures of one metric, rows summed by cluster where examples have one."""
        clusters = self.clusters
        rows = [sum_clusters(table, clusters) for table in tables]
        first, second = tuple(rows[: len(self.first)]), tuple(rows[len(self.first) :])
        return [Paired(measure, first, second) for measure in measures]
