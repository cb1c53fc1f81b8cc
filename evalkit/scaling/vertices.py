"""Where a curve through (x, y) has its minimum, for many sets of y at once: parabola, cubic, and Akima's spline.

Letters in shapes: S draws, n points of one profile.

References:
    Hoffmann et al. (2022), "Training Compute-Optimal Large Language Models", section 3.2: parabolas.
    Akima (1970), "A New Method of Interpolation and Smooth Curve Fitting Based on Local Procedures", section 2.
    Porian et al. (2024), "Resolving Discrepancies in Compute-Optimal Scaling of Language Models", appendix: Akima's spline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evalkit.scaling.arrays import BoolArray, FloatArray

DEGREES: Mapping[str, int] = {"parabola": 2, "cubic": 3, "akima": 3}
"""Method to the degree of the polynomial that tells its noise; Akima's spline has none of its own, for it meets every point."""

FEWEST: Mapping[str, int] = {"parabola": 3, "cubic": 4, "akima": 5}
"""Method to the fewest different x that it takes."""


@dataclass(frozen=True, slots=True, eq=False)
class Smooth:
    """A polynomial through the points of one profile, by least squares."""

    fitted: FloatArray
    """Values at the points, `(n,)`."""
    residuals: FloatArray
    """What is left, `(n,)`."""
    leverages: FloatArray
    """How much each point pulls its own value, `(n,)`."""
    freedom: int
    """Points minus coefficients."""


def smooth(x: FloatArray, y: FloatArray, degree: int) -> Smooth:
    """Fit a polynomial by least squares; x is expected centred and scaled to about 1."""
    basis = np.vander(x, degree + 1, increasing=True)
    orthogonal, _ = np.linalg.qr(basis)
    fitted = orthogonal @ (orthogonal.T @ y)
    return Smooth(fitted, y - fitted, np.minimum((orthogonal**2).sum(1), 1.0), len(x) - degree - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Minima:
    """The lowest place of each curve, `(S,)` each."""

    x: FloatArray
    """Where; NaN where a curve has no minimum."""
    y: FloatArray
    """The value there."""
    is_inside: BoolArray
    """Whether there is a minimum, strictly between the outermost points."""


def minima(x: FloatArray, y: FloatArray, method: str) -> Minima:
    """Find the minimum of each curve.

    Args:
        x: Different places in rising order, `(n,)`, at least `FEWEST[method]`.
        y: Values, `(S, n)`.
        method: One of `DEGREES`.
    """
    if method == "akima":
        return _akima(x, y)
    coefficients = y @ np.linalg.pinv(np.vander(x, DEGREES[method] + 1, increasing=True)).T  # (S, degree + 1)
    with np.errstate(all="ignore"):
        place = _parabola(coefficients) if method == "parabola" else _cubic(coefficients)
        value = np.polynomial.polynomial.polyval(place, coefficients.T, tensor=False)
        is_inside = np.isfinite(place) & (place > x[0]) & (place < x[-1])
    return Minima(place, np.asarray(value, dtype=np.float64), is_inside)


def curve(x: FloatArray, y: FloatArray, at: FloatArray, method: str) -> FloatArray:
    """Evaluate the curve through one profile's points `(n,)` at other places, for drawing it."""
    if method == "akima":
        pieces = _akima_pieces(x, y[None])[0]  # (n - 1, 4)
        piece = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
        step = at - x[piece]
        return np.asarray((pieces[piece] * step[:, None] ** np.arange(4)).sum(1))
    coefficients = np.linalg.lstsq(np.vander(x, DEGREES[method] + 1, increasing=True), y, rcond=None)[0]
    return np.asarray(np.polynomial.polynomial.polyval(at, coefficients))


def _parabola(coefficients: FloatArray) -> FloatArray:
    _, slope, bend = coefficients.T
    return np.where(bend > 0, -slope / (2 * bend), np.nan)


def _cubic(coefficients: FloatArray) -> FloatArray:
    _, slope, bend, twist = coefficients.T
    root = np.sqrt(bend**2 - 3 * slope * twist)  # NaN where the cubic only falls or only rises
    # The root at which the second derivative, 2 * root, is positive; written so that a twist near 0 costs no digits.
    place = np.where(bend > 0, -slope / (bend + root), (root - bend) / (3 * twist))
    return np.where(root > 0, place, np.nan)


def _akima_pieces(x: FloatArray, y: FloatArray) -> FloatArray:
    """Coefficients of the cubic of each piece in x - its left end, `(S, n - 1, 4)`."""
    width = np.diff(x)
    inner = np.diff(y, axis=1) / width  # (S, n - 1)
    first = 2 * inner[:, :1] - inner[:, 1:2]
    last = 2 * inner[:, -1:] - inner[:, -2:-1]
    slopes = np.concatenate(
        (2 * first - inner[:, :1], first, inner, last, 2 * last - inner[:, -1:]), axis=1
    )  # (S, n + 3), two more at either end
    change = np.abs(np.diff(slopes, axis=1))  # (S, n + 2)
    left, right = change[:, 2:], change[:, :-2]
    total = left + right
    is_straight = total <= 1e-9 * total.max(axis=1, keepdims=True)
    weighted = (left * slopes[:, 1:-2] + right * slopes[:, 2:-1]) / np.where(is_straight, 1.0, total)
    tangent = np.where(is_straight, (slopes[:, 1:-2] + slopes[:, 2:-1]) / 2, weighted)  # (S, n)
    start, end = tangent[:, :-1], tangent[:, 1:]
    second = (3 * inner - 2 * start - end) / width
    third = (start + end - 2 * inner) / width**2
    return np.stack((y[:, :-1], start, second, third), axis=-1)


def _akima(x: FloatArray, y: FloatArray) -> Minima:
    pieces = _akima_pieces(x, y)
    value, slope, bend, twist = np.moveaxis(pieces, -1, 0)  # (S, n - 1) each
    with np.errstate(all="ignore"):
        root = np.sqrt(bend**2 - 3 * slope * twist)
        step = np.where(bend > 0, -slope / (bend + root), (root - bend) / (3 * twist))
        is_within = (root > 0) & (step > 0) & (step < np.diff(x))
        lowest = np.where(is_within, value + step * (slope + step * (bend + step * twist)), np.inf)
    # Knots count too: the least point may be a corner of the data, or an end.
    places = np.concatenate((x[:-1] + np.where(is_within, step, 0.0), np.broadcast_to(x, y.shape)), axis=1)
    values = np.concatenate((lowest, y), axis=1)
    best = values.argmin(axis=1)[:, None]
    place = np.take_along_axis(places, best, axis=1)[:, 0]
    return Minima(place, np.take_along_axis(values, best, axis=1)[:, 0], (place > x[0]) & (place < x[-1]))
