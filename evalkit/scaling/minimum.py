"""The lowest points of many curves of one variable, by sections and by halving, all at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from evalkit.scaling.arrays import FloatArray

Curves: TypeAlias = Callable[[FloatArray], FloatArray]
"""Values of S curves at one place each: shape (S,) -> (S,)."""

_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
_SCAN = 100
_ROUNDS = 30
_CROSSING_ROUNDS = 60
_STENCIL = 2e-3
"""Distance at which slopes are taken; their error is its fourth power."""


def lowest(curves: Curves, low: FloatArray, high: FloatArray) -> FloatArray:
    """Give where each of S curves is lowest between two ends, shape (S,): a scan, then golden sections.

    The scan finds the right valley of a curve with several; the sections go on until the ends meet in rounding.
    """
    share = np.linspace(0.0, 1.0, _SCAN)
    values = np.stack([curves(low + each * (high - low)) for each in share])
    best = np.argmin(np.where(np.isfinite(values), values, np.inf), axis=0)
    a = low + share[np.maximum(best - 1, 0)] * (high - low)
    b = low + share[np.minimum(best + 1, _SCAN - 1)] * (high - low)
    for _ in range(_ROUNDS):
        c, d = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
        is_left = curves(c) < curves(d)
        a, b = np.where(is_left, a, c), np.where(is_left, d, b)
    middle: FloatArray = 0.5 * (a + b)
    return _polished(curves, middle, low, high)


def _polished(curves: Curves, places: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Move minima to where the slope is 0: values are flat there to the root of their rounding, slopes are not."""

    def falling(at: FloatArray) -> FloatArray:
        near = curves(at + _STENCIL) - curves(at - _STENCIL)
        far = curves(at + 2.0 * _STENCIL) - curves(at - 2.0 * _STENCIL)
        return far - 8.0 * near

    inside = (places - 3.0 * _STENCIL > low) & (places + 3.0 * _STENCIL < high)
    found = crossing(falling, places - _STENCIL / 2.0, places + _STENCIL / 2.0)
    return np.where(inside & np.isfinite(found), found, places)


def crossing(curves: Curves, low: FloatArray, high: FloatArray) -> FloatArray:
    """Give where each of S falling curves crosses 0, shape (S,); NaN where the ends have one sign.

    False position with Illinois's halving of a stale end, and plain halving every third round, so that no curve can stall it.

    References:
        Dowell and Jarratt, 1971, A Modified Regula Falsi Method for Computing the Root of an Equation.
    """
    a, b = low.copy(), high.copy()
    with np.errstate(all="ignore"):
        above, below = curves(a), curves(b)
        is_bracketed = (above >= 0) & (below <= 0)
        for step in range(_CROSSING_ROUNDS):
            share = above / (above - below)
            share = np.where(np.isfinite(share) & (step % 3 != 2), share, 0.5)
            middle = a + share * (b - a)
            value = curves(middle)
            is_above = value >= 0
            below = np.where(is_above, 0.5 * below, value)
            above = np.where(is_above, value, 0.5 * above)
            a, b = np.where(is_above, middle, a), np.where(is_above, b, middle)
            if (b - a <= 1e-14 * np.abs(b))[is_bracketed].all() or (value == 0)[is_bracketed].all():
                break
        return np.where(is_bracketed, middle, np.nan)
