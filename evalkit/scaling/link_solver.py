"""Least squares of share = ceiling + (floor - ceiling) * s(x; shape), for many weightings of the points at once.

Ceiling and floor enter linearly, so for any shape the best of them within their bounds are in closed form; what is left is a
search over the one or two numbers of the shape: a grid, then Gauss-Newton steps on the projected residuals.

Letters in shapes: S weightings, n points, P shape numbers.

References:
    Golub and Pereyra (2003), "Separable nonlinear least squares: the variable projection method and its applications".
    Kaufman (1975), "A variable projection method for solving separable nonlinear least squares problems": the Jacobian.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from evalkit.scaling.arrays import BoolArray, FloatArray, IntArray

_ITERATIONS = 100
_TOLERANCE = 1e-12
_MOST_DAMPING = 1e4
_GRID_POINTS = 100
_CHUNK = 2_000_000
"""Numbers in one array of draws times points: 16 MB."""


def _sigmoid(x: FloatArray, shape: FloatArray) -> tuple[FloatArray, FloatArray]:
    slope, middle = np.exp(shape[:, :1]), shape[:, 1:]
    z = slope * (x - middle)
    value = 0.5 * (1 + np.tanh(z / 2))
    tilt = value * (1 - value)
    return value, np.stack((tilt * z, -tilt * slope), axis=-1)


def _softplus(x: FloatArray, shape: FloatArray) -> tuple[FloatArray, FloatArray]:
    slope, middle = np.exp(shape[:, :1]), shape[:, 1:]
    z = slope * (x - middle)
    tilt = 0.5 * (1 + np.tanh(z / 2))
    return np.logaddexp(0.0, z), np.stack((tilt * z, -tilt * slope), axis=-1)


def _decay(x: FloatArray, shape: FloatArray) -> tuple[FloatArray, FloatArray]:
    rate = np.exp(shape)
    left = np.exp(-rate * x)
    return 1 - left, (rate * x * left)[:, :, None]


@dataclass(frozen=True, slots=True)
class Form:
    """A curve that falls from its ceiling to its floor as loss rises."""

    formula: str
    """With L for the loss."""
    shape: Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
    """Loss `(n,)` and shape `(S, P)` to s `(S, n)` and its derivatives `(S, n, P)`; the first shape number is a logarithm."""
    size: int
    """Shape numbers: slope and middle, or a rate."""


FORMS: Mapping[str, Form] = {
    "sigmoid": Form("ceiling + (floor - ceiling) / (1 + exp(-k (L - L0)))", _sigmoid, 2),
    "log-sigmoid": Form("ceiling - scale * ln(1 + exp(k (L - L0)))", _softplus, 2),
    "exp": Form("floor + (ceiling - floor) * exp(-rate * L)", _decay, 1),
}
"""The forms of the second step; the floor of ``log-sigmoid`` is its ceiling minus the scale."""


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Fitted curves, one a weighting."""

    ceiling: FloatArray
    """Value towards loss 0 or below, `(S,)`."""
    floor: FloatArray
    """Value towards infinite loss, `(S,)`."""
    shape: FloatArray
    """The shape numbers, `(S, P)`."""
    objective: FloatArray
    """Weighted sum of squares, `(S,)`."""

    def rows(self, begin: int, end: int) -> Curves:
        """Give some of the curves."""
        return Curves(self.ceiling[begin:end], self.floor[begin:end], self.shape[begin:end], self.objective[begin:end])

    def predict(self, form: str, x: FloatArray) -> FloatArray:
        """Evaluate every curve at losses `(m,)`, or each at its own `(S, m)`; returns `(S, m)`."""
        value, _ = FORMS[form].shape(x, self.shape)
        return np.asarray(self.ceiling[:, None] + (self.floor - self.ceiling)[:, None] * value)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where ceiling and floor may be."""

    ceiling: tuple[float, float]
    floor: tuple[float, float]


def solve(form: str, x: FloatArray, y: FloatArray, weights: FloatArray, bounds: Bounds) -> Curves:
    """Find the best curve of each weighting.

    Args:
        form: One of `FORMS`.
        x: Losses, `(n,)`.
        y: Shares, `(n,)`.
        weights: `(S, n)`, at least 0; the first row should be the plain weighting, for the others start from its solution.
        bounds: Of ceiling and floor.
    """
    first = _refine(form, x, y, weights[:1], bounds, _start(form, x, y, weights[:1], bounds))
    if len(weights) == 1:
        return first
    rows = max(1, _CHUNK // len(x))
    parts = [first]
    for begin in range(1, len(weights), rows):
        chunk = weights[begin : begin + rows]
        parts.append(_refine(form, x, y, chunk, bounds, np.repeat(first.shape, len(chunk), axis=0)))
    return Curves(*(np.concatenate([getattr(part, name) for part in parts]) for name in Curves.__slots__))


def shape_limits(form: str, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How far shapes may go, `(P,)` each: from nearly a straight line to nearly a step, somewhere near the data."""
    reach = float(np.ptp(x)) or 1.0
    flat, steep = np.log(0.05 / reach), np.log(500.0 / reach)
    if FORMS[form].size == 1:
        return np.array([flat]), np.array([steep])
    return np.array([flat, x.min() - 3 * reach]), np.array([steep, x.max() + 3 * reach])


def _start(form: str, x: FloatArray, y: FloatArray, weights: FloatArray, bounds: Bounds) -> FloatArray:
    """Try a grid of shapes on a part of the points."""
    low, high = shape_limits(form, x)
    slopes = np.linspace(low[0], high[0], 24)
    reach = float(np.ptp(x))
    axes = (slopes, np.linspace(x.min() - reach, x.max() + reach, 31))[: len(low)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(low))
    order = np.argsort(x, kind="stable")
    some = order[np.unique(np.linspace(0, len(x) - 1, _GRID_POINTS).astype(int))]
    value, _ = FORMS[form].shape(x[some], grid)
    objective = _levels(value, y[some], np.broadcast_to(weights[:, some], value.shape), bounds)[2]
    return grid[[int(objective.argmin())]]


def _levels(
    s: FloatArray, y: FloatArray, weights: FloatArray, bounds: Bounds
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Find the best ceiling and floor within their bounds, `(S,)` each, and the objective.

    Inside, it is a line through (s, y); if that leaves the bounds, the best lies on one of their sides.
    """
    total, sum_s, sum_y = weights.sum(1), (weights * s).sum(1), weights @ y
    sum_ss, sum_sy, sum_yy = (weights * s * s).sum(1), (weights * s) @ y, weights @ (y * y)
    at_ceiling = (total - 2 * sum_s + sum_ss, sum_s - sum_ss, sum_ss)  # of ceiling^2, ceiling * floor, floor^2
    towards = (sum_y - sum_sy, sum_sy)

    def objective(ceiling: FloatArray, floor: FloatArray) -> FloatArray:
        square = ceiling**2 * at_ceiling[0] + 2 * ceiling * floor * at_ceiling[1] + floor**2 * at_ceiling[2]
        return np.asarray(square - 2 * (ceiling * towards[0] + floor * towards[1]) + sum_yy)

    with np.errstate(all="ignore"):
        gap = at_ceiling[0] * at_ceiling[2] - at_ceiling[1] ** 2
        ceiling = (towards[0] * at_ceiling[2] - towards[1] * at_ceiling[1]) / gap
        floor = (towards[1] * at_ceiling[0] - towards[0] * at_ceiling[1]) / gap
        inside = _within(ceiling, bounds.ceiling) & _within(floor, bounds.floor) & (gap > 1e-14 * at_ceiling[0] ** 2)
        best = (ceiling, floor, np.where(inside, objective(ceiling, floor), np.inf))
        for edge in bounds.ceiling:
            held = np.full_like(total, edge)
            other = np.clip((towards[1] - held * at_ceiling[1]) / at_ceiling[2], *bounds.floor)
            best = _better(best, held, other, objective(held, other))
        for edge in bounds.floor:
            held = np.full_like(total, edge)
            other = np.clip((towards[0] - held * at_ceiling[1]) / at_ceiling[0], *bounds.ceiling)
            best = _better(best, other, held, objective(other, held))
    return best


def _within(values: FloatArray, bounds: tuple[float, float]) -> BoolArray:
    return np.asarray((values >= bounds[0]) & (values <= bounds[1]))


def _better(
    best: tuple[FloatArray, FloatArray, FloatArray], ceiling: FloatArray, floor: FloatArray, objective: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    take = np.isfinite(objective) & (objective < best[2])
    return (
        np.where(take, ceiling, best[0]),
        np.where(take, floor, best[1]),
        np.where(take, objective, best[2]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """One shape a weighting, with what follows from it."""

    shape: FloatArray
    ceiling: FloatArray
    floor: FloatArray
    objective: FloatArray
    residuals: FloatArray
    value: FloatArray
    slopes: FloatArray


def _at(form: str, x: FloatArray, y: FloatArray, weights: FloatArray, bounds: Bounds, shape: FloatArray) -> _Place:
    value, slopes = FORMS[form].shape(x, shape)
    ceiling, floor, _ = _levels(value, y, weights, bounds)
    residuals = y - ceiling[:, None] - (floor - ceiling)[:, None] * value
    return _Place(shape, ceiling, floor, (weights * residuals**2).sum(1), residuals, value, slopes)


def _refine(form: str, x: FloatArray, y: FloatArray, weights: FloatArray, bounds: Bounds, shape: FloatArray) -> Curves:
    """Go downhill from a shape for each weighting, `(S, P)`."""
    limits = shape_limits(form, x)
    done = _at(form, x, y, weights, bounds, shape)
    active, place, damping = np.arange(len(shape)), done, np.full(len(shape), 1e-3)
    for _ in range(_ITERATIONS):
        moved = np.clip(place.shape + _step(place, weights[active], bounds, damping), *limits)
        trial = _at(form, x, y, weights[active], bounds, moved)
        gain = place.objective - trial.objective
        place = _choose(gain > 0, trial, place)
        damping = np.where(gain > 0, damping / 5, damping * 5)
        is_open = (gain > _TOLERANCE * place.objective) | ((gain <= 0) & (damping < _MOST_DAMPING))
        if not is_open.all():
            done = _put(done, active, place)
            active, place, damping = active[is_open], _take(place, is_open), damping[is_open]
        if not len(active):
            break
    done = _put(done, active, place)
    return Curves(done.ceiling, done.floor, done.shape, done.objective)


def _put(done: _Place, rows: IntArray, place: _Place) -> _Place:
    """Write the levels, shapes and objectives of some rows."""
    for name in ("shape", "ceiling", "floor", "objective"):
        getattr(done, name)[rows] = getattr(place, name)
    return done


def _take(place: _Place, rows: BoolArray) -> _Place:
    return _Place(*(getattr(place, name)[rows] for name in _Place.__slots__))


def _choose(is_first: BoolArray, first: _Place, second: _Place) -> _Place:
    def pick(name: str) -> FloatArray:
        one, other = getattr(first, name), getattr(second, name)
        return np.asarray(np.where(is_first.reshape((-1,) + (1,) * (one.ndim - 1)), one, other))

    return _Place(*(pick(name) for name in _Place.__slots__))


def _step(place: _Place, weights: FloatArray, bounds: Bounds, damping: FloatArray) -> FloatArray:
    """Compute Levenberg-Marquardt steps of the shape, `(S, P)`, on residuals from which free levels take their part."""
    slopes = (place.floor - place.ceiling)[:, None, None] * place.slopes  # (S, n, P)
    free = np.stack((_is_free(place.ceiling, bounds.ceiling), _is_free(place.floor, bounds.floor)), axis=-1)
    levels = np.stack((1 - place.value, place.value), axis=-1) * free[:, None, :]  # (S, n, 2)
    weighted = levels * weights[:, :, None]
    gram = weighted.transpose(0, 2, 1) @ levels
    size = np.maximum(gram.trace(axis1=1, axis2=2), 1e-300)[:, None]
    gram[:, [0, 1], [0, 1]] += np.where(free, 1e-13 * size, size)
    slopes = slopes - levels @ np.linalg.solve(gram, weighted.transpose(0, 2, 1) @ slopes)
    scaled = slopes * weights[:, :, None]
    hessian = scaled.transpose(0, 2, 1) @ slopes
    gradient = (scaled * place.residuals[:, :, None]).sum(1)
    count = range(hessian.shape[1])
    diagonal = hessian[:, count, count]
    hessian[:, count, count] += damping[:, None] * diagonal + 1e-300 + 1e-12 * diagonal.max(axis=1, keepdims=True)
    step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
    return np.asarray(np.clip(step, -2.0, 2.0))


def _is_free(level: FloatArray, bounds: tuple[float, float]) -> BoolArray:
    return np.asarray((level > bounds[0]) & (level < bounds[1]))
