"""The main value on parts of the data: by length, label, entity type, answerability, vocabulary or document."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalkit.comparison.draws import FloatArray, bootstrap_sums
from evalkit.comparison.loaded import LoadedRun
from evalkit.comparison.pairing import shared_places
from evalkit.comparison.significance import Measure
from evalkit.comparison.subsets import RESAMPLES
from evalkit.metrics.base import Statistics
from evalkit.metrics.configure import configure
from evalkit.record import MetricValue
from evalkit.report.columns import Place, display_for
from evalkit.report.compared import Contestant, interval
from evalkit.report.evidence import Memory
from evalkit.report.model import Note, Scored, Settings, SliceGroup, Slices
from evalkit.stats import sum_clusters

DOCUMENTS = 40
"""Most documents that are listed."""
TYPES = 60
"""Most types that are listed."""

_UNITS = {"ner": "tokens", "classification": ""}
_TYPED = re.compile(r"(?P<value>.+)\[(?P<type>.+)\]", re.DOTALL)


@dataclass(frozen=True, slots=True, eq=False)
class Sliced:
    """What slices of one column are made from."""

    place: Place
    contestants: tuple[Contestant | None, ...]
    """The compared models, in the page's order; None where a model is not compared."""
    shown: tuple[tuple[MetricValue, ...], ...]
    """All values of each model's newest shown run."""
    settings: Settings


@dataclass(frozen=True, slots=True, eq=False)
class _Scorer:
    """One model on the examples that all compared models share."""

    measure: Measure
    tables: tuple[FloatArray, ...]
    """One a run, shape (shared examples, k)."""

    def values(self, positions: Sequence[Sequence[int]]) -> FloatArray:
        """Score several parts of the examples; the mean over runs."""
        parts = [self.measure.score(np.array([table[p].sum(axis=0) for p in positions])) for table in self.tables]
        return np.asarray(np.mean(parts, axis=0))


def slices(source: Sliced, memory: Memory) -> Iterator[Slices]:
    """Give every way to slice a column that its task kind offers."""
    kind = str(source.place.page.record.task["kind"])
    yield from _by_named_value(source, kind)
    compared = [one for one in source.contestants if one is not None]
    if not compared:
        return
    runs = [run for one in compared for run in one.runs]
    places = iter(shared_places(runs))
    scorers = {one.model: _scorer(one, list(itertools.islice(places, len(one.runs))), source.place) for one in compared}
    first, shared = runs[0], shared_places(runs)[0]
    lookup = np.full(len(first.ids), -1, dtype=np.int64)
    lookup[shared] = np.arange(len(shared))
    by, groups = memory.groups.get(first.ids, ("", ()))
    if groups:
        found = [(name, lookup[members][lookup[members] >= 0]) for name, members in groups]
        clusters = [first.clusters[place] for place in shared.tolist()]
        yield _by_groups(source, by, [(name, members) for name, members in found if len(members)], scorers, clusters)
    if kind == "lm":
        yield from _by_document(source, first, shared.tolist(), scorers)


def _scorer(one: Contestant, places: Sequence[npt.NDArray[np.int64]], place: Place) -> _Scorer:
    parts = [
        Statistics(run.statistics[place.metric].columns, run.statistics[place.metric].rows[where])
        for run, where in zip(one.runs, places, strict=True)
    ]
    merged = Statistics.merge(parts)
    stored = one.runs[0].record.statistics[place.metric]
    measure = Measure(configure(stored.metric, stored.settings), merged.columns, place.value)
    return _Scorer(measure, tuple(np.split(merged.rows, len(parts))))


def _by_named_value(source: Sliced, kind: str) -> Iterator[Slices]:
    """Slices that the metric gives itself, as values with a name of their own."""
    typed = [
        value for value in dict.fromkeys(v.name for own in source.shown for v in own if v.metric == source.place.metric)
    ]
    main = source.place.value
    if kind in ("ner", "classification"):
        wanted = {m["type"]: name for name in typed if (m := _TYPED.fullmatch(name)) and m["value"] in (main, "f1")}
        by = "entity type" if kind == "ner" else "label"
        yield from _named(source, by, {name: wanted[name] for name in sorted(wanted)[:TYPES]}, counts="")
    if kind == "qa":
        names = {"answerable": f"has_answer_{main}", "unanswerable": f"no_answer_{main}"}
        yield from _named(source, "answerability", {k: v for k, v in names.items() if v in typed}, counts="questions")
    if kind == "cws":
        names = {"in the training words": "iv_recall", "not in the training words": "oov_recall"}
        yield from _named(source, "vocabulary", {k: v for k, v in names.items() if v in typed}, counts="words")


def _named(source: Sliced, by: str, names: Mapping[str, str], counts: str) -> Iterator[Slices]:
    groups = []
    for group, name in names.items():
        found = [_named_value(own, source.place.metric, name) for own in source.shown]
        size = _size(source, name)
        if any(value is not None for value in found):
            groups.append(
                SliceGroup(
                    name=group,
                    n=size,
                    values=tuple(
                        None if value is None else Scored(value=value.value, low=value.low, high=value.high, n=size)
                        for value in found
                    ),
                )
            )
    if groups:
        example = next(v for own in source.shown for v in own if v.name == next(iter(names.values())))
        shared = {"answerability": source.place.value, "vocabulary": "recall"}
        yield Slices(
            by=by,
            unit="",
            counts=counts or ("entities" if by == "entity type" else "examples"),
            value=shared.get(by, example.name.partition("[")[0]),
            column=source.place.key,
            display=display_for(source.place.page.runs, example),
            groups=tuple(groups),
        )


def _named_value(own: Sequence[MetricValue], metric: str, name: str) -> MetricValue | None:
    return next((value for value in own if value.metric == metric and value.name == name), None)


def _size(source: Sliced, name: str) -> int:
    """What a named value is over: the sum of the statistic that it is divided by, where one says so."""
    run = next((one.runs[0] for one in source.contestants if one is not None), None)
    statistics = run.statistics.get(source.place.metric) if run is not None else None
    if statistics is None:
        return 0
    match = _TYPED.fullmatch(name)
    column = (
        f"gold[{match['type']}]"
        if match
        else {"iv_recall": "iv", "oov_recall": "oov"}.get(name, re.sub(r"_answer_.*", "_answer_questions", name))
    )
    total = statistics.total()[statistics.columns.index(column)] if column in statistics.columns else 0.0
    return int(total) if math.isfinite(total) else 0


def _by_groups(
    source: Sliced,
    by: str,
    groups: Sequence[tuple[str, npt.NDArray[np.int64]]],
    scorers: Mapping[str, _Scorer],
    clusters: Sequence[str | None],
) -> Slices:
    found = []
    for name, members in groups:
        own_clusters = [clusters[place] for place in members.tolist()]
        scored = {model: _scored(scorer, members, own_clusters, source.settings) for model, scorer in scorers.items()}
        found.append(SliceGroup(name=name, n=len(members), values=_in_order(source, scored)))
    kind = str(source.place.page.record.task["kind"])
    return Slices(
        by=by,
        unit=_UNITS.get(kind, "characters"),
        counts="examples",
        value=source.place.value,
        column=source.place.key,
        display=source.place.display,
        groups=tuple(found),
    )


def _in_order(source: Sliced, scored: Mapping[str, Scored]) -> tuple[Scored | None, ...]:
    return tuple(None if one is None else scored[one.model] for one in source.contestants)


def _scored(
    scorer: _Scorer, members: npt.NDArray[np.int64], clusters: Sequence[str | None], settings: Settings
) -> Scored:
    """The value on some examples, with an interval from few resamples."""
    measure = scorer.measure
    tables = tuple(sum_clusters(table[members], clusters) for table in scorer.tables)
    value = float(np.mean([measure.score(table.sum(axis=0)) for table in tables]))
    drawn = None
    if len(tables[0]) > 1:
        drawn = np.mean([measure.score(bootstrap_sums(table, RESAMPLES, settings.seed)) for table in tables], axis=0)
    low, high = interval(value, drawn, tables, measure, settings)
    return Scored(value=_defined(value), low=low, high=high, n=len(members))


def _by_document(
    source: Sliced, first: LoadedRun, shared: Sequence[int], scorers: Mapping[str, _Scorer]
) -> Iterator[Slices]:
    """The documents on which the models do worst together; a document is a cluster, or an example where there are none."""
    members: dict[str, list[int]] = {}
    for position, place in enumerate(shared):
        members.setdefault(first.clusters[place] or first.ids[place], []).append(position)
    if len(members) < 2:
        return
    scores = {model: scorer.values(list(members.values())) for model, scorer in scorers.items()}
    mean = np.mean([np.nan_to_num(values) for values in scores.values()], axis=0)
    sign = 1 if source.place.example.higher_is_better else -1
    order = np.argsort(np.round(sign * mean, 12), kind="stable")[:DOCUMENTS].tolist()
    documents = list(members.items())
    groups = tuple(
        SliceGroup(
            name=documents[index][0],
            n=len(documents[index][1]),
            values=_in_order(
                source, {model: Scored(value=_defined(float(own[index]))) for model, own in scores.items()}
            ),
        )
        for index in order
    )
    cut = f"The {DOCUMENTS} worst of {len(documents)} documents, by the mean over models."
    yield Slices(
        by="document",
        unit="",
        counts="examples",
        value=source.place.value,
        column=source.place.key,
        display=source.place.display,
        groups=groups,
        notes=(Note(kind="cut", text=cut),) if len(documents) > DOCUMENTS else (),
    )


def _defined(value: float) -> float | None:
    return value if math.isfinite(value) else None
