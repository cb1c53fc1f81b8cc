"""One-sided bounds of an effect, for decisions: by the bootstrap, or exactly where answers are right or wrong.

A bound never claims a loss that an exact test of the same level does not see: where few units differ, resampling them cannot
know how the others might have differed, and the randomization test decides whether the upper bound may lie below 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalkit.comparison.answers import Answers, answers
from evalkit.comparison.distributions import normal_quantile
from evalkit.comparison.significance import Paired, Spread, bootstrap, randomize

FEW_UNITS = 100
"""Where fewer units differ, the randomization test is asked too; beyond, both agree."""

EXACT = "Newcombe bounds, mid-p McNemar test"
BOOTSTRAP = "expanded percentile bootstrap"
BOOTSTRAP_AND_SWAPS = "expanded percentile bootstrap, randomization test"


@dataclass(frozen=True, slots=True)
class Bounds:
    """An effect, oriented so that positive is better, with one-sided bounds at the same level."""

    effect: float
    lower: float
    upper: float
    p_worse: float
    """One-sided p against "the candidate is at least as good"."""
    stderr: float
    """Standard error that the bounds imply."""
    method: str


def effect_bounds(pairs: Sequence[Paired], n: int, alpha: float, resamples: int, seed: int) -> list[Bounds | None]:
    """Bound the effects of several measures of the same two systems.

    Args:
        pairs: All over the same units.
        n: Number of examples; where it equals the number of units, single answers can be counted exactly.
        alpha: One-sided level of error.
        resamples: Bootstrap resamples and randomization trials.
        seed: Seed of both.

    Returns:
        One result a pair; None where nothing can be said: one unit alone, or a value that is undefined.
    """
    counted = [answers(pair) if pair.units == n else None for pair in pairs]
    resampled = [pair for pair, exact in zip(pairs, counted, strict=True) if exact is None]
    spreads = iter(bootstrap(resampled, resamples, seed))
    return [
        bounds_of(pair, exact, None if exact else next(spreads), alpha, resamples, seed)
        for pair, exact in zip(pairs, counted, strict=True)
    ]


def bounds_of(
    pair: Paired, exact: Answers | None, spread: Spread | None, alpha: float, resamples: int, seed: int
) -> Bounds | None:
    """Bound one effect from counted answers, else from resampled effects; None where there is neither."""
    if exact is not None:
        return _exact(pair, exact, alpha)
    return None if spread is None else _resampled(pair, spread, alpha, resamples, seed)


def _exact(pair: Paired, exact: Answers, alpha: float) -> Bounds:
    lower, upper, p_worse = exact.lower(alpha), exact.upper(alpha), exact.p_worse()
    if not exact.first_only and not exact.second_only:
        return Bounds(0.0, 0.0, 0.0, 1.0, 0.0, EXACT)
    return _bounds(pair.observed(), (lower, upper), p_worse, alpha, EXACT)


def _resampled(pair: Paired, spread: Spread, alpha: float, resamples: int, seed: int) -> Bounds:
    p_worse, method = spread.p_worse(), BOOTSTRAP
    if pair.differing < FEW_UNITS:
        chance = randomize(pair, resamples, seed)
        if chance is not None:
            p_worse, method = max(p_worse, chance.p_worse), BOOTSTRAP_AND_SWAPS
    return _bounds(spread.observed, (spread.lower(alpha), spread.upper(alpha)), p_worse, alpha, method)


def _bounds(effect: float, ends: tuple[float, float], p_worse: float, alpha: float, method: str) -> Bounds:
    lower, upper = ends
    stderr = (upper - lower) / (2 * normal_quantile(1 - alpha))
    if p_worse > alpha:
        upper = max(upper, 0.0)
    return Bounds(effect, lower, upper, p_worse, stderr, method)
