"""Is one system better than another on the same examples? Intervals, bounds and tests from paired rows of statistics.

    bootstrap        resample units of both systems together; the spread of the effect gives bounds and an interval
    randomization    swap the two systems' rows of random units; how often is the effect as large?
    McNemar          exact test of single right-or-wrong answers; Newcombe's interval goes with it

A unit is an example, or a cluster of examples that are not independent. An effect is a difference of scores, or a relative
change, oriented so that positive is better. Bootstrap intervals are percentile intervals, expanded: their tail levels come from
Student's t and are widened for the narrowness of the empirical distribution, without which they miss too often on few units.

References:
    Efron and Tibshirani, 1993, An Introduction to the Bootstrap, chapters 13 and 16.
    Hesterberg, 2015, What Teachers Should Know About the Bootstrap, section 5.3 (expanded percentile intervals).
    Noreen, 1989, Computer-Intensive Methods for Testing Hypotheses, chapter 2 (approximate randomization).
    Zou and Donner, 2008, Construction of confidence limits about effect measures (combining independent limits).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from evalkit.comparison.distributions import normal_cdf, normal_quantile, t_cdf, t_quantile
from evalkit.comparison.draws import FloatArray, bootstrap_sums, spread, swap_sums
from evalkit.metrics.base import AnyMetric, Statistics

SLACK = 1e-12
"""Relative tolerance below which two effects are a tie: sums in another order differ by rounding."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One value of one metric, and how its change is expressed."""

    metric: AnyMetric
    columns: tuple[str, ...]
    value: str
    """Name of the value, e.g. ``rougeL``."""
    is_relative: bool = False
    """Whether effects are relative changes, such as -0.01 for a perplexity that rose by one percent."""

    @property
    def sign(self) -> int:
        """1 where higher is better, else -1."""
        return 1 if self.metric.higher_is_better else -1

    def score(self, sums: FloatArray) -> FloatArray:
        """Score sums of shape (..., k); returns shape (...)."""
        ratio = self.metric.ratios(self.columns).get(self.value)
        return (
            ratio.value(sums, self.columns) if ratio is not None else self.metric.score(sums, self.columns)[self.value]
        )

    def effect(self, first: Sequence[FloatArray], second: Sequence[FloatArray]) -> FloatArray:
        """How much better the second system is; several runs of a system count by their mean score.

        Args:
            first: Sums of each run of the first system, shape (..., k).
            second: The same for the second system.

        Returns:
            Shape (...), positive where the second is better.
        """
        before = sum(self.score(sums) for sums in first) / len(first)
        after = sum(self.score(sums) for sums in second) / len(second)
        if not self.is_relative:
            return np.asarray(self.sign * (after - before))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.sign * (after / before - 1))


@dataclass(frozen=True, slots=True)
class Paired:
    """Two systems on the same units: one table of shape (units, k) a run of each."""

    measure: Measure
    first: tuple[FloatArray, ...]
    second: tuple[FloatArray, ...]

    @property
    def units(self) -> int:
        """Number of independent units."""
        return len(self.first[0])

    @property
    def differing(self) -> int:
        """Number of units in which any two tables differ."""
        tables = (*self.first, *self.second)
        return int(np.any([(table != tables[0]).any(axis=1) for table in tables[1:]], axis=0).sum())

    def observed(self) -> float:
        """The effect on all units."""
        first, second = ([table.sum(axis=0) for table in side] for side in (self.first, self.second))
        return float(self.measure.effect(first, second))

    def values(self) -> tuple[float, float]:
        """Score of each system, runs averaged."""
        first, second = (
            [float(self.measure.score(table.sum(axis=0))) for table in side] for side in (self.first, self.second)
        )
        return sum(first) / len(first), sum(second) / len(second)


@dataclass(frozen=True, slots=True)
class Spread:
    """The resampled effects of a pair, from which every bound and the bootstrap p follow."""

    observed: float
    drawn: FloatArray = field(repr=False)
    """Defined resampled effects, sorted."""
    units: int
    runs_stderr: float = 0.0
    """Standard error from the runs of a recipe, where there are several."""
    runs_degrees: int = 1

    def lower(self, alpha: float) -> float:
        """One-sided lower bound at level 1 - alpha."""
        return self.observed - self._combined(self.observed - self._quantile(alpha), alpha)

    def upper(self, alpha: float) -> float:
        """One-sided upper bound at level 1 - alpha."""
        return self.observed + self._combined(self._quantile(1 - alpha) - self.observed, alpha)

    def p_worse(self) -> float:
        """One-sided p against "the second is at least as good": the smallest alpha whose upper bound is below 0."""
        if not self.runs_stderr:
            return self._tail(int((self.drawn >= -self._slack()).sum()))
        return self._smallest(lambda alpha: self.upper(alpha) < 0)

    def p_better(self) -> float:
        """One-sided p against "the second is at most as good"."""
        if not self.runs_stderr:
            return self._tail(int((self.drawn <= self._slack()).sum()))
        return self._smallest(lambda alpha: self.lower(alpha) > 0)

    def p(self) -> float:
        """Two-sided p of no difference; 1 for equal outputs."""
        return min(1.0, 2 * min(self.p_worse(), self.p_better()))

    def _quantile(self, level: float) -> float:
        # As np.quantile, whose first call imports more of numpy than the rest of a comparison takes.
        place = self._expanded(level) * (len(self.drawn) - 1)
        below = math.floor(place)
        above = min(below + 1, len(self.drawn) - 1)
        low, high = float(self.drawn[below]), float(self.drawn[above])
        return low + (high - low) * (place - below)

    def _expanded(self, level: float) -> float:
        if self.units < 2:
            return level
        return normal_cdf(t_quantile(level, self.units - 1) * spread(self.units))

    def _tail(self, extreme: int) -> float:
        raw = (1 + extreme) / (1 + len(self.drawn))
        if self.units < 2 or raw >= 1:
            return 1.0
        return t_cdf(normal_quantile(raw) / spread(self.units), self.units - 1)

    def _combined(self, half: float, alpha: float) -> float:
        if not self.runs_stderr:
            return half
        return math.hypot(half, t_quantile(1 - alpha, self.runs_degrees) * self.runs_stderr)

    def _smallest(self, holds: object) -> float:
        assert callable(holds)
        low, high = 0.0, 0.5
        if not holds(high):
            return 1.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if holds(middle) else (middle, high)
        return high

    def _slack(self) -> float:
        return SLACK * max(1.0, abs(self.observed))


def bootstrap(pairs: Sequence[Paired], resamples: int, seed: int) -> list[Spread | None]:
    """Resample several measures of the same two systems over one draw.

    Args:
        pairs: All over the same units.
        resamples: Number of resamples.
        seed: Seed of the draw.

    Returns:
        One spread a pair; None where there are fewer than two units, or where half of the resamples or more are undefined.
    """
    if not pairs or pairs[0].units < 2 or resamples < 2:
        return [None] * len(pairs)
    blocks: dict[int, FloatArray] = {}
    for pair in pairs:
        for table in (*pair.first, *pair.second):
            blocks.setdefault(id(table), table)
    sums = bootstrap_sums(np.concatenate(list(blocks.values()), axis=1), resamples, seed)
    split = np.split(sums, np.cumsum([table.shape[1] for table in blocks.values()])[:-1], axis=1)
    drawn = dict(zip(blocks, split, strict=True))
    return [_spread(pair, [drawn[id(t)] for t in pair.first], [drawn[id(t)] for t in pair.second]) for pair in pairs]


def _spread(pair: Paired, first: Sequence[FloatArray], second: Sequence[FloatArray]) -> Spread | None:
    observed = pair.observed()
    effects = pair.measure.effect(first, second)
    defined = np.sort(effects[np.isfinite(effects)])
    if not math.isfinite(observed) or len(defined) <= len(effects) / 2:
        return None
    stderr, degrees = runs_error(pair)
    return Spread(observed, defined, pair.units, stderr, degrees)


def runs_error(pair: Paired) -> tuple[float, int]:
    """Standard error of the effect from the spread between runs, with its degrees of freedom."""
    measure = pair.measure
    variances, degrees = 0.0, []
    base = abs(sum(float(measure.score(t.sum(axis=0))) for t in pair.first) / len(pair.first))
    for side in (pair.first, pair.second):
        if len(side) > 1:
            scores = [float(measure.score(table.sum(axis=0))) for table in side]
            variances += float(np.var(scores, ddof=1)) / len(side)
            degrees.append(len(side) - 1)
    stderr = math.sqrt(variances) / (base if measure.is_relative and base else 1.0)
    return stderr, min(degrees, default=1)


@dataclass(frozen=True, slots=True)
class Randomization:
    """P-values of the randomization test."""

    p: float
    """Two-sided."""
    p_worse: float
    """One-sided, against "the second is at least as good"."""


def randomize(pair: Paired, trials: int, seed: int) -> Randomization | None:
    """Test by swapping the two systems' rows of random units; ties count as extreme, so that equal outputs give p = 1.

    Only units that differ can change anything, so only they are swapped. None for several runs of a system, where a swap has
    no meaning, and where the effect is undefined.
    """
    observed = pair.observed()
    if len(pair.first) > 1 or len(pair.second) > 1 or not math.isfinite(observed):
        return None
    gain = pair.second[0] - pair.first[0]
    differs = gain.any(axis=1)
    if not differs.any():
        return Randomization(1.0, 1.0)
    swapped = swap_sums(gain[differs], trials, seed)
    effects = pair.measure.effect([pair.first[0].sum(axis=0) + swapped], [pair.second[0].sum(axis=0) - swapped])
    effects = effects[np.isfinite(effects)]
    slack = SLACK * max(1.0, abs(observed))
    both = int((np.abs(effects) >= abs(observed) - slack).sum())
    worse = int((effects <= observed + slack).sum())
    return Randomization((1 + both) / (1 + len(effects)), (1 + worse) / (1 + len(effects)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for their number, so that the chance of any false alarm stays at the level of one.

    References:
        Holm, 1979, A simple sequentially rejective multiple test procedure.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def align(first: Statistics, second: Statistics) -> tuple[tuple[str, ...], FloatArray, FloatArray]:
    """Give two tables the same columns; a column that one lacks is 0 there, as a label that never occurred."""
    if first.columns == second.columns:
        return first.columns, first.rows, second.rows
    merged = Statistics.merge([first, second])
    return merged.columns, merged.rows[: len(first.rows)], merged.rows[len(first.rows) :]
