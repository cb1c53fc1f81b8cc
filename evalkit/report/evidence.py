"""What a report keeps of the samples of a run: numbers, and counts of what only the text can tell. The text is let go."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from evalkit.comparison.loaded import LoadedRun, load_samples
from evalkit.comparison.subsets import label_groups, length_groups, text_lengths
from evalkit.errors import DataError, EvalkitError
from evalkit.metrics.configure import configure
from evalkit.record import StoredStatistics
from evalkit.report.entities import Tally, tally_entities
from evalkit.report.page_model import MetricRow
from evalkit.report.reading import StoredRun

T = TypeVar("T", bound=Hashable)
Groups = tuple[tuple[str, npt.NDArray[np.int64]], ...]

STATISTICS_FOR: Mapping[str, tuple[str, ...]] = {
    "mt": ("bleu",),
    "qa": ("squad_v2", "squad_v1", "cmrc2018", "drcd", "mlqa"),
    "cws": ("cws",),
    "classification": ("classification",),
}
"""Metrics whose statistics tell what went wrong, by task kind; the first that a run has."""

_EMPTY = (b'"prediction":{"text":""', b'"prediction":""')
"""An empty answer; inside of a text the quotes would be escaped."""


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The samples of one run, without their text."""

    run: StoredRun
    loaded: LoadedRun | None
    """None where the samples cannot be read."""
    problem: str = ""
    """Why they cannot."""
    empty: npt.NDArray[np.bool_] | None = None
    """Which answers are empty, of question answering."""
    entities: Tally | None = None
    """Outcomes by entity type, of named-entity recognition."""


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """What the runs of a page share, kept once: ids, clusters, prompts and groups of examples."""

    tuples: dict[Hashable, Hashable] = field(default_factory=dict)
    groups: dict[tuple[str, ...], tuple[str, Groups]] = field(default_factory=dict)
    """Ids of the examples to what they are grouped by, and the groups."""

    def shared(self, value: T) -> T:
        """The first equal value that was seen."""
        return self.tuples.setdefault(value, value)  # type: ignore[return-value]


@dataclass(frozen=True, slots=True, eq=False)
class Taker:
    """Who else is to see the samples of a run, text and all, before they are let go."""

    labels: frozenset[str]
    """Metrics whose statistics it needs."""
    take: Callable[[LoadedRun], None]


class Reader(Protocol):
    """Takes the samples of one task page."""

    def taker(self, model: int) -> Taker:
        """Who takes the run of a model, given as its place in the report."""
        ...


class Samples(Protocol):
    """Takes the samples of all task pages."""

    def page(self, key: str, kind: str, metrics: Sequence[MetricRow]) -> AbstractContextManager[Reader]:
        """Take those of one page, of a task kind, with all values of its models."""
        ...


def read_evidence(run: StoredRun, labels: Sequence[str], memory: Memory, taker: Taker | None = None) -> Evidence:
    """Read the samples of a run, once for all who need them.

    Args:
        run: The run.
        labels: Metrics whose statistics are wanted; those that tell what went wrong are read too.
        memory: What the runs of this page share.
        taker: Who else is to see the samples.
    """
    kind = str(run.record.task["kind"])
    stored = run.record.statistics
    wanted = {label: stored[label] for label in stored if label in labels or label == telling(run, kind)}
    try:
        loaded = _load(run, wanted, taker)
        entities = tally_entities(loaded.lines or ()) if kind == "ner" else None
    except EvalkitError as error:
        return Evidence(run, None, str(error))
    lines = loaded.lines or ()
    slim = replace(
        loaded,
        ids=memory.shared(loaded.ids),
        clusters=memory.shared(loaded.clusters),
        prompts=memory.shared(loaded.prompts),
        truncated=memory.shared(loaded.truncated),
        lines=None,
    )
    if slim.ids not in memory.groups:
        memory.groups[slim.ids] = _groups(kind, lines)
    return Evidence(
        run,
        slim,
        empty=np.array([any(mark in line for mark in _EMPTY) for line in lines]) if kind == "qa" else None,
        entities=entities,
    )


def _load(run: StoredRun, wanted: Mapping[str, StoredStatistics], taker: Taker | None) -> LoadedRun:
    """Read samples with the wanted statistics; who else sees them gets those that it needs as well."""
    if taker is not None:
        labels = taker.labels.union(wanted)
        known = {label: one for label, one in run.record.statistics.items() if label in labels and _is_known(one)}
        try:
            loaded = load_samples(run.place, replace(run.record, statistics=known))
        except DataError:
            # Statistics that are damaged, perhaps, but that no number of the report comes from.
            pass
        else:
            taker.take(loaded)
            if wanted.keys() <= known.keys():
                own = {label: loaded.statistics[label] for label in wanted}
                return replace(loaded, record=replace(run.record, statistics=wanted), statistics=own)
    for statistics in wanted.values():
        # A metric of a newer evalkit can be shown, but not computed.
        configure(statistics.metric, statistics.settings)
    return load_samples(run.place, replace(run.record, statistics=wanted))


def _is_known(stored: StoredStatistics) -> bool:
    try:
        configure(stored.metric, stored.settings)
    except EvalkitError:
        return False
    return True


def telling(run: StoredRun, kind: str) -> str | None:
    """Label of the metric of a run whose statistics tell what went wrong; None where no metric does."""
    stored = run.record.statistics
    for name in STATISTICS_FOR.get(kind, ()):
        for label, statistics in stored.items():
            if statistics.metric == name:
                return label
    return None


def _groups(kind: str, lines: Sequence[bytes]) -> tuple[str, Groups]:
    """Group examples by label or by length of the reference; nothing where lines are of another layout."""
    try:
        if kind == "classification":
            return "label", tuple(label_groups(lines))
        return "reference length", tuple(length_groups(text_lengths(lines)[:, 1]))
    except (ValueError, KeyError, IndexError, TypeError):
        return "", ()
