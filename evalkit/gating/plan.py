"""What a test set can decide, before anyone relies on it: detectable drops, chances to pass, examples needed.

The formulas follow the gate's rule to second order. With true effect -drop, standard error s and skewness g of the effect's
sampling distribution, margin m and z the normal quantile of 1 - alpha, write the observed effect as -drop + s e. The gate's
bounds are percentiles, so they carry the skew, and where the effect is skewed its estimated standard error moves with it:

    lower = effect - s' (z - g (z^2 - 1) / 6),  upper = effect + s' (z + g (z^2 - 1) / 6),  s' = s (1 + g e / 2)

It says "regressed" when lower <= -m and upper < 0, and "pass" when lower > -m; both are limits on e, whose distribution is
P(e < x) = Phi(x) - g (x^2 - 1) phi(x) / 6. With g = 0 all of this is the normal approximation.

References:
    Hall, 1992, The Bootstrap and Edgeworth Expansion, sections 2.4 and 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from evalkit.comparison.distributions import normal_cdf, normal_quantile

MAX_SKEWNESS = 0.8
"""Beyond, the expansion is no distribution any more; more skewed effects are planned as if they had this skewness."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The sampling distribution of an effect, as far as a plan needs it."""

    stderr: float
    """Standard error, at least 0, on the scale of the margin."""
    skewness: float = 0.0
    """Third standardised moment; 0 for the normal approximation."""

    def scaled(self, times: float) -> Shape:
        """The same with so many times the examples."""
        return Shape(self.stderr / math.sqrt(times), self.skewness / math.sqrt(times))


def power_of(drop: float, shape: Shape, margin: float, alpha: float) -> float:
    """Chance that the gate calls a true drop regressed."""
    if not shape.stderr:
        return 1.0 if drop > 0 and drop >= margin else 0.0
    g, upper, lower = _factors(shape, alpha)
    by_upper = (drop / shape.stderr - upper) / (1 + g * upper / 2)
    by_lower = ((drop - margin) / shape.stderr + lower) / (1 - g * lower / 2)
    return _below(min(by_upper, by_lower), g)


def chance_to_pass(shape: Shape, margin: float, alpha: float) -> float:
    """Chance that a candidate which is exactly as good passes."""
    if not shape.stderr:
        return 1.0
    g, _, lower = _factors(shape, alpha)
    return 1 - _below((lower - margin / shape.stderr) / (1 - g * lower / 2), g)


def detectable_drop(shape: Shape, margin: float, alpha: float, power: float) -> float:
    """The true drop that the gate calls regressed with this power."""
    if not shape.stderr:
        return margin
    return _smallest(lambda drop: power_of(drop, shape, margin, alpha) >= power, margin + shape.stderr)


def examples_needed(n: int, shape: Shape, margin: float, alpha: float, power: float) -> int:
    """Number of examples with which a candidate that is exactly as good passes with this chance.

    Args:
        n: Examples now; more are taken to be like them, clusters included.
        shape: The effect's distribution with n examples.
        margin: Margin of the policy, above 0.
        alpha: One-sided level of error.
        power: Wanted chance.
    """
    if not shape.stderr:
        return 1
    times = _smallest(lambda times: chance_to_pass(shape.scaled(times), margin, alpha) >= power, 1.0)
    return max(1, math.ceil(n * times))


def _factors(shape: Shape, alpha: float) -> tuple[float, float, float]:
    """Skewness within what the expansion bears, and how many standard errors the two bounds are from the effect."""
    g = max(-MAX_SKEWNESS, min(MAX_SKEWNESS, shape.skewness))
    z = normal_quantile(1 - alpha)
    bend = g * (z * z - 1) / 6
    return g, z + bend, z - bend


def _below(x: float, g: float) -> float:
    density = math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return min(1.0, max(0.0, normal_cdf(x) - g * (x * x - 1) * density / 6))


def _smallest(holds: Callable[[float], bool], start: float) -> float:
    """The smallest positive number for which something holds that holds for all larger ones."""
    low, high = 0.0, start
    while not holds(high):
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
