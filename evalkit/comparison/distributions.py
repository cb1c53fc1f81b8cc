"""The normal, Student's t and binomial distributions, as far as tests and intervals need them, without scipy.

Importing scipy.stats takes longer than a whole comparison of two stored runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

EXACT_DEGREES = 100
"""Up to here Student's t is summed exactly; above, the expansion's error is below 1e-10."""


def normal_cdf(z: float) -> float:
    """Give the probability that a standard normal variable is at most z."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


def normal_quantile(probability: float) -> float:
    """Give the z below which a standard normal variable lies with this probability."""
    return _invert(normal_cdf, probability, 40.0)


def t_cdf(t: float, degrees: int) -> float:
    """Give the probability that Student's t of so many degrees of freedom is at most t.

    References:
        Abramowitz and Stegun, 1964, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
        Hill, 1970, Algorithm 395: Student's t-distribution.
    """
    if degrees > EXACT_DEGREES:
        return normal_cdf(math.copysign(_normal_equivalent(abs(t), degrees), t))
    angle = math.atan(t / math.sqrt(degrees))
    cosine = math.cos(angle)
    is_odd = degrees % 2
    term = cosine if is_odd else 1.0
    total = term if degrees > 1 else 0.0
    for step in range(2 + is_odd, degrees - 1, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    within = math.sin(angle) * total
    return 0.5 + 0.5 * ((2 / math.pi) * (angle + within) if is_odd else within)


def _normal_equivalent(t: float, degrees: int) -> float:
    a = degrees - 0.5
    b = 48 * a * a
    w = math.sqrt(a * math.log1p(t * t / degrees))
    return w * (1 + (w**2 + 3) / b - (4 * w**6 + 33 * w**4 + 240 * w**2 + 855) / (10 * b * (b + 0.8 * w**4 + 100)))


def t_quantile(probability: float, degrees: int) -> float:
    """Give the t below which Student's t of so many degrees of freedom lies with this probability."""
    return _invert(lambda t: t_cdf(t, degrees), probability, 1e9)


def binomial_tail(successes: int, trials: int) -> float:
    """Give the probability of at most so many heads in tosses of a fair coin."""
    if successes >= trials:
        return 1.0
    head = math.lgamma(trials + 1) - trials * math.log(2)
    return min(
        1.0, math.fsum(math.exp(head - math.lgamma(k + 1) - math.lgamma(trials - k + 1)) for k in range(successes + 1))
    )


def _invert(cdf: Callable[[float], float], probability: float, widest: float) -> float:
    if probability > 0.5:
        return -_invert(cdf, 1 - probability, widest)
    # Both tails are symmetric; a bracket grown from 1 keeps the number of halvings small.
    low = -1.0
    while cdf(low) > probability and low > -widest:
        low *= 2
    high = 0.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if cdf(middle) > probability else (middle, high)
    return (low + high) / 2
