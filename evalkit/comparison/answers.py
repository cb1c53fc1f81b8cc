"""Right-or-wrong answers of two systems: McNemar's exact test and Newcombe's interval, where a bootstrap says too little.

On few examples, or where nearly all answers are right or wrong, few examples decide, and resampling them misses. Both methods
here need only how many examples each system alone got right.

References:
    McNemar, 1947, Note on the sampling error of the difference between correlated proportions.
    Fagerland, Lydersen and Laake, 2013, The McNemar test for binary matched-pairs data (mid-p).
    Newcombe, 1998, Improved confidence intervals for the difference between binomial proportions based on paired data
    (method 10).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evalkit.comparison.distributions import binomial_tail, normal_quantile
from evalkit.comparison.draws import FloatArray
from evalkit.comparison.significance import Paired
from evalkit.metrics.base import weights


@dataclass(frozen=True, slots=True)
class Answers:
    """A two-by-two table of single answers; the effect is the second's share of right answers minus the first's."""

    both: int
    first_only: int
    second_only: int
    neither: int
    scale: float
    """What a share of 1 is on the metric's scale."""
    sign: int
    """-1 for metrics where lower is better."""

    @property
    def n(self) -> int:
        """Number of examples."""
        return self.both + self.first_only + self.second_only + self.neither

    def p(self) -> float:
        """Two-sided exact p of no difference."""
        fewer = min(self.first_only, self.second_only)
        return min(1.0, 2 * binomial_tail(fewer, self.first_only + self.second_only))

    def p_worse(self) -> float:
        """One-sided mid-p against "the second is at least as good": half of the ties count, so that power is not given away."""
        better = self.second_only if self.sign > 0 else self.first_only
        differing = self.first_only + self.second_only
        if not differing:
            return 1.0
        below = binomial_tail(better - 1, differing) if better else 0.0
        return (below + binomial_tail(better, differing)) / 2

    def lower(self, alpha: float) -> float:
        """One-sided lower bound of the effect at level 1 - alpha."""
        return self._bounds(alpha)[0]

    def upper(self, alpha: float) -> float:
        """One-sided upper bound of the effect at level 1 - alpha."""
        return self._bounds(alpha)[1]

    def _bounds(self, alpha: float) -> tuple[float, float]:
        low, high = newcombe((self.both, self.first_only, self.second_only, self.neither), normal_quantile(1 - alpha))
        low, high = low * self.scale, high * self.scale
        return (low, high) if self.sign > 0 else (-high, -low)


def answers(pair: Paired) -> Answers | None:
    """Count single answers; None where the measure is no share of right answers, or where units are clusters."""
    measure = pair.measure
    ratio = measure.metric.ratios(measure.columns).get(measure.value)
    if ratio is None or measure.is_relative or len(pair.first) > 1 or len(pair.second) > 1:
        return None
    sides: list[FloatArray] = []
    asked = [side[0] @ weights(ratio.denominator, measure.columns) for side in (pair.first, pair.second)]
    if not np.array_equal(asked[0], asked[1]) or not np.isin(asked[0], (0.0, 1.0)).all():
        return None
    for side in (pair.first, pair.second):
        right = (side[0] @ weights(ratio.numerator, measure.columns))[asked[0] == 1]
        if not np.isin(right, (0.0, 1.0)).all():
            return None
        sides.append(right)
    if not len(sides[0]):
        return None
    first, second = (side.astype(np.bool_) for side in sides)
    return Answers(
        both=int((first & second).sum()),
        first_only=int((first & ~second).sum()),
        second_only=int((second & ~first).sum()),
        neither=int((~first & ~second).sum()),
        scale=ratio.scale,
        sign=measure.sign,
    )


def newcombe(table: tuple[int, int, int, int], z: float) -> tuple[float, float]:
    """Bound the second's share of right answers minus the first's.

    Args:
        table: Examples that both, only the first, only the second and neither got right.
        z: Normal quantile of the level, 1.96 for a two-sided 95% interval.

    Returns:
        Lower and upper bound.
    """
    both, first_only, second_only, neither = table
    n = sum(table)
    first, second = (both + first_only) / n, (both + second_only) / n
    low_first, high_first = wilson(first, n, z)
    low_second, high_second = wilson(second, n, z)
    phi = _phi(both, first_only, second_only, neither)
    down, up = second - low_second, high_second - second
    other_up, other_down = high_first - first, first - low_first
    below = math.sqrt(max(0.0, down * down - 2 * phi * down * other_up + other_up * other_up))
    above = math.sqrt(max(0.0, up * up - 2 * phi * up * other_down + other_down * other_down))
    return second - first - below, second - first + above


def wilson(share: float, n: int, z: float) -> tuple[float, float]:
    """Bound a binomial share by Wilson's score interval."""
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)


def _phi(both: int, first_only: int, second_only: int, neither: int) -> float:
    """Correlation of the two systems' answers, with Newcombe's continuity correction."""
    product = (both + first_only) * (second_only + neither) * (both + second_only) * (first_only + neither)
    if not product:
        return 0.0
    surplus: float = both * neither - first_only * second_only
    if surplus > 0:
        surplus = max(surplus - (both + first_only + second_only + neither) / 2, 0.0)
    return surplus / math.sqrt(product)
