"""The models of one column set against one another: marks, rank ranges and pairs from one bootstrap draw.

Every resample draws the same examples for all models, so that a resample is one possible leaderboard: ranks and differences
are read off the same draws and cannot contradict one another. As in `evalkit compare`, single right-or-wrong answers are
counted exactly (McNemar, Newcombe) instead. Where few units differ, resampling cannot know how the others might have
differed; a difference that the bootstrap sees there must pass the randomization test as well, as in `evalkit gate`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalkit.comparison.answers import Answers, answers
from evalkit.comparison.bounds import FEW_UNITS
from evalkit.comparison.draws import FloatArray, bootstrap_sums
from evalkit.comparison.loaded import LoadedRun
from evalkit.comparison.pairing import Sides
from evalkit.comparison.significance import SLACK, Measure, Paired, Spread, holm, randomize, runs_error
from evalkit.metrics.base import weights
from evalkit.metrics.configure import configure
from evalkit.report.model import Pair, Settings
from evalkit.stats import sum_clusters

EXACT = "exact McNemar test, Newcombe interval"
BOOTSTRAP = "paired bootstrap"
MATRIX_MODELS = 40
"""Up to so many models all pairs are compared; beyond, each with the best one."""
BLOCK_COLUMNS = 256
"""Columns of statistics that are resampled together; more would only take memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Contestant:
    """A model in a column."""

    model: str
    """Key of the model."""
    runs: tuple[LoadedRun, ...]
    """Several where their mean counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a model stands in a column."""

    model: str
    value: float
    """On the compared examples; the mean of several runs."""
    low: float | None
    """Lower end of the interval of the value, resamples and runs together."""
    high: float | None
    is_best: bool
    is_tied: bool
    p_best: float | None
    rank: int
    rank_low: int | None
    rank_high: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What comparing a column gave."""

    n: int
    units: int
    test: str
    standings: tuple[Standing, ...]
    """Best first."""
    pairs: tuple[Pair, ...]
    is_matrix: bool
    """Whether all pairs are there, not only those with the best model."""


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    model: str
    tables: tuple[FloatArray, ...]
    value: float
    drawn: FloatArray | None
    """Resampled scores, the mean over runs."""


def compare(contestants: Sequence[Contestant], label: str, value: str, settings: Settings) -> Outcome | None:
    """Set models against one another by one value.

    Args:
        contestants: Models whose runs can be compared.
        label: Metric whose statistics the runs store.
        value: Name of the value.
        settings: Level, resamples and seed.

    Returns:
        None where the value is undefined for all models.
    """
    runs = [run for one in contestants for run in one.runs]
    sides = Sides.of(runs, ())
    columns, tables = sides.tables(label)
    clusters = sides.clusters
    stored = runs[0].record.statistics[label]
    measure = Measure(configure(stored.metric, stored.settings), columns, value)
    summed = [sum_clusters(table, clusters) for table in tables]
    entries = [entry for entry in _entries(contestants, measure, summed, settings) if math.isfinite(entry.value)]
    if not entries:
        return None
    entries.sort(key=lambda entry: (-measure.sign * entry.value, entry.model))
    is_matrix = len(entries) <= MATRIX_MODELS
    couples = itertools.combinations(entries, 2) if is_matrix else ((entries[0], entry) for entry in entries[1:])
    compared = [_pair(first, second, measure, sides.n, settings) for first, second in couples]
    pairs = _adjusted([pair for pair, _ in compared])
    return Outcome(
        n=sides.n,
        units=len(summed[0]),
        test="; ".join(sorted({test for _, test in compared})),
        standings=tuple(_standings(entries, pairs, measure, settings)),
        pairs=tuple(pairs),
        is_matrix=is_matrix,
    )


def _entries(
    contestants: Sequence[Contestant], measure: Measure, tables: Sequence[FloatArray], settings: Settings
) -> Iterator[_Entry]:
    drawn = iter(_drawn_scores(tables, measure, settings))
    table = iter(tables)
    for one in contestants:
        own = tuple(itertools.islice(table, len(one.runs)))
        scores = list(itertools.islice(drawn, len(one.runs)))
        value = sum(float(measure.score(rows.sum(axis=0))) for rows in own) / len(own)
        yield _Entry(one.model, own, value, None if scores[0] is None else sum(scores) / len(scores))  # type: ignore[arg-type]


def _drawn_scores(tables: Sequence[FloatArray], measure: Measure, settings: Settings) -> Iterator[FloatArray | None]:
    """Score every table on the same resamples, a few tables at once: the draw depends on seed and units alone."""
    if len(tables[0]) < 2:
        yield from [None] * len(tables)
        return
    lean, score = _lean(tables, measure)
    width = lean[0].shape[1]
    size = max(1, BLOCK_COLUMNS // width)
    for start in range(0, len(lean), size):
        block = np.concatenate(lean[start : start + size], axis=1)
        sums = bootstrap_sums(block, settings.resamples, settings.seed)
        for part in np.split(sums, sums.shape[1] // width, axis=1):
            yield score(part)


def _lean(
    tables: Sequence[FloatArray], measure: Measure
) -> tuple[Sequence[FloatArray], Callable[[FloatArray], FloatArray]]:
    """What has to be resampled, and its score: of a ratio of sums the two sums, however many columns they come from."""
    ratio = measure.metric.ratios(measure.columns).get(measure.value)
    if ratio is None:
        return tables, measure.score
    parts = np.stack([weights(ratio.numerator, measure.columns), weights(ratio.denominator, measure.columns)], axis=1)
    sums = ("numerator", "denominator")
    lean = replace(ratio, numerator={sums[0]: 1.0}, denominator={sums[1]: 1.0})
    return [table @ parts for table in tables], lambda drawn: lean.value(drawn, sums)


def _pair(first: _Entry, second: _Entry, measure: Measure, n: int, settings: Settings) -> tuple[Pair, str]:
    paired = Paired(measure, first.tables, second.tables)
    counted = answers(paired) if paired.units == n else None
    spread = None if counted else _spread(first, second, paired)
    p, test = _p_value(paired, counted, spread, settings)
    tail = (1 - settings.confidence) / 2
    bounds: Answers | Spread | None = counted or spread
    low, high = (bounds.lower(tail), bounds.upper(tail)) if bounds else (None, None)
    if measure.sign < 0 and low is not None and high is not None:
        low, high = -high, -low
    return Pair(
        first=first.model,
        second=second.model,
        difference=second.value - first.value,
        low=low,
        high=high,
        p=p,
        p_holm=None,
    ), test


def _spread(first: _Entry, second: _Entry, paired: Paired) -> Spread | None:
    if first.drawn is None or second.drawn is None:
        return None
    sign = paired.measure.sign
    effects = sign * (second.drawn - first.drawn)
    defined = np.sort(effects[np.isfinite(effects)])
    if len(defined) <= len(effects) / 2:
        return None
    stderr, degrees = runs_error(paired)
    return Spread(sign * (second.value - first.value), defined, paired.units, stderr, degrees)


def _p_value(
    paired: Paired, counted: Answers | None, spread: Spread | None, settings: Settings
) -> tuple[float | None, str]:
    if counted is not None:
        return counted.p(), EXACT
    if spread is None:
        return None, BOOTSTRAP
    p = spread.p()
    if p < 1 - settings.confidence and paired.differing < FEW_UNITS:
        chance = randomize(paired, settings.resamples, settings.seed)
        p = max(p, chance.p) if chance is not None else p
    return p, BOOTSTRAP


def _adjusted(pairs: Sequence[Pair]) -> list[Pair]:
    known = [place for place, pair in enumerate(pairs) if pair.p is not None]
    adjusted = dict(zip(known, holm([pairs[place].p or 0.0 for place in known]), strict=True))
    return [replace(pair, p_holm=adjusted.get(place)) for place, pair in enumerate(pairs)]


def _standings(
    entries: Sequence[_Entry], pairs: Sequence[Pair], measure: Measure, settings: Settings
) -> Iterator[Standing]:
    best = entries[0]
    against = [pair for pair in pairs if pair.first == best.model]
    adjusted = holm([1.0 if pair.p is None else pair.p for pair in against])
    p_best = {pair.second: p for pair, p in zip(against, adjusted, strict=True) if pair.p is not None}
    ranges = _rank_ranges(entries, measure, settings)
    for entry, (low, high) in zip(entries, ranges, strict=True):
        ends = interval(entry.value, entry.drawn, entry.tables, measure, settings)
        is_best = entry.value == best.value
        p = p_best.get(entry.model)
        yield Standing(
            model=entry.model,
            value=entry.value,
            low=ends[0],
            high=ends[1],
            is_best=is_best,
            is_tied=not is_best and p is not None and p >= 1 - settings.confidence,
            p_best=p,
            rank=1 + sum(measure.sign * (other.value - entry.value) > 0 for other in entries),
            rank_low=low,
            rank_high=high,
        )


def _rank_ranges(
    entries: Sequence[_Entry], measure: Measure, settings: Settings
) -> list[tuple[int | None, int | None]]:
    """Ranks at both tails of the resamples; rounding does not break ties."""
    if entries[0].drawn is None:
        return [(None, None)] * len(entries)
    # An undefined resample counts as the worst.
    scores = np.nan_to_num(
        np.array([measure.sign * entry.drawn for entry in entries if entry.drawn is not None]),
        nan=-np.inf,
    )
    tail = (1 - settings.confidence) / 2
    ranges: list[tuple[int | None, int | None]] = []
    for entry, own in zip(entries, scores, strict=True):
        slack = SLACK * max(1.0, abs(entry.value))
        ranks = np.sort(1 + (scores > own + slack).sum(axis=0))
        low = ranks[math.floor(tail * (len(ranks) - 1))]
        high = ranks[math.ceil((1 - tail) * (len(ranks) - 1))]
        ranges.append((int(low), int(high)))
    return ranges


def interval(
    value: float, drawn: FloatArray | None, tables: Sequence[FloatArray], measure: Measure, settings: Settings
) -> tuple[float | None, float | None]:
    """Bound a value from its resamples, and from the spread of the runs where it is their mean.

    Args:
        value: The value.
        drawn: Resampled values; None where there are none.
        tables: One a run, shape (units, k).
        measure: What is measured.
        settings: Level.
    """
    if drawn is None or not math.isfinite(value):
        return None, None
    defined = np.sort(drawn[np.isfinite(drawn)])
    if len(defined) <= len(drawn) / 2:
        return None, None
    stderr, degrees = runs_error(Paired(measure, tuple(tables[:1]), tuple(tables)))
    spread = Spread(value, defined, len(tables[0]), stderr, degrees)
    tail = (1 - settings.confidence) / 2
    return spread.lower(tail), spread.upper(tail)
