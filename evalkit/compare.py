"""Two or more runs of a task, example by example: paired differences with intervals and tests, from stored statistics alone.

A comparison first checks that the runs can be compared. Then each value gets its difference (second minus first, on the metric's
own scale), an interval and p-values; where a value is a share of single right answers, the exact test decides, else the
randomization test does, and the comparison says which. Clusters are kept together throughout.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalkit.comparison.answers import Answers, answers
from evalkit.comparison.loaded import LoadedRun
from evalkit.comparison.pairing import Mismatch, Sides, mismatches, signature_mismatches
from evalkit.comparison.significance import Measure, Paired, Randomization, Spread, bootstrap, holm, randomize
from evalkit.comparison.subsets import Change, Subset, changed_samples, subsets
from evalkit.errors import InvalidInputError
from evalkit.metrics.base import AnyMetric
from evalkit.metrics.configure import configure

EXACT = "exact McNemar, Newcombe interval"
RANDOMIZATION = "randomization, bootstrap interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """How runs are compared."""

    confidence: float = 0.95
    """Two-sided level of the intervals."""
    resamples: int = 10_000
    """Bootstrap resamples, and trials of the randomization test."""
    seed: int = 0
    allowed: frozenset[str] = frozenset()
    """Kinds of difference between the runs that are accepted."""
    with_details: bool = True
    """Whether subsets and the samples that changed most are wanted."""
    samples: int = 5
    """How many changed samples to show."""

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise InvalidInputError(f"confidence is {self.confidence}; expected a level between 0 and 1, such as 0.95")
        if self.resamples < 100:
            raise InvalidInputError(f"resamples is {self.resamples}; expected at least 100")


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueComparison:
    """One value of both systems; what is undefined is None."""

    metric: str
    """Label of the metric."""
    value: str
    """Name of the value."""
    headline: bool
    signature: str
    higher_is_better: bool
    scale: float
    first: float | None
    second: float | None
    difference: float | None
    """Second minus first, on the metric's scale and in its direction."""
    low: float | None
    high: float | None
    p_bootstrap: float | None
    p_randomization: float | None
    p: float | None
    """The p-value of the test that decides."""
    p_holm: float | None
    """`p` adjusted for the number of compared pairs."""
    test: str
    """The test that decides, and the kind of interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs of one task."""

    task: str
    first: LoadedRun
    second: LoadedRun
    n: int
    """Examples that both have and have scored."""
    units: int
    """Independent units: clusters where the task names them, else examples."""
    not_comparable: tuple[Mismatch, ...]
    """What differs and was not accepted; nothing is computed then."""
    accepted: tuple[Mismatch, ...]
    """What differs and was accepted."""
    values: tuple[ValueComparison, ...] = ()
    subsets: tuple[Subset, ...] = ()
    changed: tuple[Change, ...] = ()


def compare_runs(runs: Sequence[LoadedRun], against: Sequence[LoadedRun], options: CompareOptions) -> list[Comparison]:
    """Compare all pairs of runs of the same task, or each run with one of them.

    Args:
        runs: Runs, of one task or several.
        against: The runs, one a task, that the others of their task are compared with, as the first of each pair; empty for
            all pairs.
        options: How to compare.

    Returns:
        Comparisons by task in order of appearance; p-values are adjusted (Holm) over the pairs of a task.

    Raises:
        InvalidInputError: No task has two runs.
    """
    comparisons: list[Comparison] = []
    for pairs in _pairs(runs, against):
        wanted = replace(options, with_details=options.with_details and len(pairs) == 1)
        comparisons += adjust([compare_pair(first, second, wanted) for first, second in pairs])
    if not comparisons:
        found = ", ".join(f"{run.place} ({run.task})" for run in runs) or "none"
        raise InvalidInputError(f"no two runs of one task; found {found}: name at least two runs of the same task")
    return comparisons


def _pairs(runs: Sequence[LoadedRun], against: Sequence[LoadedRun]) -> Iterator[list[tuple[LoadedRun, LoadedRun]]]:
    by_task: dict[str, list[LoadedRun]] = {}
    for run in runs:
        by_task.setdefault(run.task, []).append(run)
    firsts = {run.task: run for run in against}
    if len(firsts) < len(against):
        raise InvalidInputError("--against names several runs of one task; expected one a task")
    for task, members in by_task.items():
        if not against:
            pairs = list(itertools.combinations(members, 2))
        else:
            first = firsts.get(task)
            pairs = [(first, run) for run in members if first is not None and run.record.id != first.record.id]
        if pairs:
            yield pairs


def compare_pair(first: LoadedRun, second: LoadedRun, options: CompareOptions) -> Comparison:
    """Compare two runs of one task."""
    differing = mismatches(first, second)
    accepted = tuple(found for found in differing if found.kind in options.allowed)
    refused = [found for found in differing if found.kind not in options.allowed]
    sides = Sides.of((first,), (second,))
    labels = [label for label in first.statistics if label in second.statistics]
    comparable = [label for label in labels if not signature_mismatches(first, second, label)]
    if labels and not comparable:
        refused += [found for label in labels for found in signature_mismatches(first, second, label)]
    if not refused and not sides.n:
        refused.append(Mismatch("examples", "the runs share no scored example"))
    if not refused and not labels:
        refused.append(Mismatch("signature", "the runs share no metric"))
    base = Comparison(
        task=first.task,
        first=first,
        second=second,
        n=sides.n,
        units=_units(sides),
        not_comparable=tuple(refused),
        accepted=accepted,
    )
    if refused:
        return base
    values = [value for label in comparable for value in compare_metric(sides, label, options)]
    if not options.with_details:
        return replace(base, values=tuple(values))
    metric, measure = main_measure(sides, comparable[0])
    return replace(
        base,
        values=tuple(values),
        subsets=tuple(subsets(sides, metric, measure, options.confidence, options.seed)),
        changed=tuple(changed_samples(sides, metric, measure, options.samples)),
    )


def _units(sides: Sides) -> int:
    clusters = sides.clusters
    names = {cluster for cluster in clusters if cluster is not None}
    return len(names) + sum(cluster is None for cluster in clusters)


def main_measure(sides: Sides, label: str) -> tuple[str, Measure]:
    """The main value of a metric."""
    metric = stored_metric(sides.first[0], label)
    columns, _ = sides.tables(label)
    return label, Measure(metric, columns, metric.headline[0])


def stored_metric(run: LoadedRun, label: str) -> AnyMetric:
    """The metric object whose statistics a run stores.

    Raises:
        InvalidInputError: This evalkit does not know the metric or its settings.
    """
    stored = run.record.statistics[label]
    return configure(stored.metric, stored.settings)


def compare_metric(sides: Sides, label: str, options: CompareOptions) -> list[ValueComparison]:
    """Compare the values of one metric that the records hold: headline values and those by type."""
    metric = stored_metric(sides.first[0], label)
    columns, tables = sides.tables(label)
    names = wanted_values(metric, columns)
    pairs = sides.pairs([Measure(metric, columns, name) for name in names], tables)
    spreads = bootstrap(pairs, options.resamples, options.seed)
    signature = next(value.signature for value in sides.first[0].record.metrics if value.metric == label)
    result = []
    for pair, spread in zip(pairs, spreads, strict=True):
        counted = answers(pair) if pair.units == sides.n else None
        chance = randomize(pair, options.resamples, options.seed)
        result.append(_value(pair, label, signature, spread, chance, counted, options))
    return result


def wanted_values(metric: AnyMetric, columns: tuple[str, ...]) -> list[str]:
    """Headline values, then the main value by type or kind of answer."""
    main = metric.headline[0]
    names = metric.score(np.zeros(len(columns)), columns)
    by_type = [name for name in names if name.startswith((f"{main}[", "f1[")) or name.endswith(f"_{main}")]
    return [*metric.headline, *(name for name in by_type if name not in metric.headline)]


def _value(
    pair: Paired,
    label: str,
    signature: str,
    spread: Spread | None,
    chance: Randomization | None,
    counted: Answers | None,
    options: CompareOptions,
) -> ValueComparison:
    measure, tail = pair.measure, (1 - options.confidence) / 2
    first, second = pair.values()
    bounds: Answers | Spread | None = counted or spread
    low = bounds.lower(tail) if bounds else None
    high = bounds.upper(tail) if bounds else None
    if measure.sign < 0 and low is not None and high is not None:
        low, high = -high, -low
    p_randomization = chance.p if chance else None
    return ValueComparison(
        metric=label,
        value=measure.value,
        headline=measure.value in measure.metric.headline,
        signature=signature,
        higher_is_better=measure.metric.higher_is_better,
        scale=measure.metric.scale,
        first=_defined(first),
        second=_defined(second),
        difference=_defined(second - first),
        low=low,
        high=high,
        p_bootstrap=spread.p() if spread else None,
        p_randomization=p_randomization,
        p=counted.p() if counted else p_randomization,
        p_holm=None,
        test=EXACT if counted else RANDOMIZATION,
    )


def _defined(value: float) -> float | None:
    return value if math.isfinite(value) else None


def adjust(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Fill in the p-values adjusted over the pairs, for each value alone."""
    columns: dict[tuple[str, str], list[tuple[int, int, float]]] = {}
    for place, comparison in enumerate(comparisons):
        for index, value in enumerate(comparison.values):
            if value.p is not None:
                columns.setdefault((value.metric, value.value), []).append((place, index, value.p))
    values = [list(comparison.values) for comparison in comparisons]
    for cells in columns.values():
        for (place, index, _), p in zip(cells, holm([p for _, _, p in cells]), strict=True):
            values[place][index] = replace(values[place][index], p_holm=p)
    return [replace(one, values=tuple(column)) for one, column in zip(comparisons, values, strict=True)]
