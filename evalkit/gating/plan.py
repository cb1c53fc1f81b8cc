"""What a test set can decide, before anyone relies on it: detectable drops, chances to pass, examples needed.

The formulas follow the gate's rule under a normal approximation. With effect d, standard error s, margin m and z the normal
quantile of 1 - alpha, the gate says "regressed" when d <= z s - m (the lower bound reaches the margin) and d < -z s (the upper
bound is below zero), and "pass" when d > z s - m.
"""

from __future__ import annotations

import math

from evalkit.comparison.distributions import normal_cdf, normal_quantile


def power_of(drop: float, stderr: float, margin: float, alpha: float) -> float:
    """Chance that the gate calls a true drop regressed."""
    threshold = regressed_below(stderr, margin, alpha)
    if not stderr:
        return 1.0 if -drop <= threshold and drop > 0 else 0.0
    return normal_cdf((threshold + drop) / stderr)


def detectable_drop(stderr: float, margin: float, alpha: float, power: float) -> float:
    """The true drop that the gate calls regressed with this power."""
    return normal_quantile(power) * stderr - regressed_below(stderr, margin, alpha)


def regressed_below(stderr: float, margin: float, alpha: float) -> float:
    """The observed effect from which on downwards the gate says regressed."""
    z = normal_quantile(1 - alpha)
    return min(-z * stderr, z * stderr - margin)


def chance_to_pass(stderr: float, margin: float, alpha: float) -> float:
    """Chance that a candidate which is exactly as good passes."""
    if not stderr:
        return 1.0
    return normal_cdf(margin / stderr - normal_quantile(1 - alpha))


def examples_needed(n: int, stderr: float, margin: float, alpha: float, power: float) -> int:
    """Number of examples with which a candidate that is exactly as good passes with this chance.

    Args:
        n: Examples now; more are taken to be like them, clusters included.
        stderr: Standard error of the effect with n examples.
        margin: Margin of the policy.
        alpha: One-sided level of error.
        power: Wanted chance.
    """
    needed = margin / (normal_quantile(1 - alpha) + normal_quantile(power))
    return max(1, math.ceil(n * (stderr / needed) ** 2))
