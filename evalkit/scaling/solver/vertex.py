"""Least absolute deviations to the last digit: a solution passes through as many points as there are parameters.

The curve is linearised and the linear problem solved exactly by walking from vertex to vertex: one of the points that the
solution passes through is let go, and a weighted median along the edge says through which point to pass instead. Then the
curve is linearised again; near the solution this converges quadratically.

References:
    Bloomfield and Steiger, 1983, Least Absolute Deviations: Theory, Applications, and Algorithms, chapter 6.
    Osborne and Watson, 1971, On an Algorithm for Discrete Nonlinear L1 Approximation.
"""

from __future__ import annotations

import numpy as np

from evalkit.scaling.arrays import BoolArray, FloatArray, IntArray
from evalkit.scaling.solver.newton import Minima
from evalkit.scaling.solver.problem import Problem

_ROUNDS = 40
"""Most linearisations."""
_PIVOTS = 120
"""Most vertices visited in one linear problem."""
_CHUNK = 24_000
_SMALL = 1e-10


def absolute_deviations(problem: Problem, weights: FloatArray, starts: FloatArray) -> Minima:
    """Minimise the weighted sum of |r| from good starts; arguments and result as of `evalkit.scaling.solver.newton.descend`.

    The problem's own loss is only asked whether residuals are of the loss or of its logarithm; priors are not supported.
    """
    size = max(1, _CHUNK // max(1, problem.losses.shape[-1]))
    count = len(starts)
    result = Minima(starts.copy(), np.full(count, np.inf), np.zeros(count, bool), np.zeros(count, np.int64))
    with np.errstate(all="ignore"):
        for first in range(0, count, size):
            rows = np.arange(first, min(first + size, count))
            shape = (len(rows), problem.losses.shape[-1])
            chosen = np.broadcast_to(weights if weights.ndim == 1 else weights[rows], shape)
            result.put(rows, _walk(problem.take(rows), chosen, starts[rows]))
    return result


def _walk(problem: Problem, weights: FloatArray, starts: FloatArray) -> Minima:
    """Linearise, solve and step until no problem of a batch gets lower."""
    free = problem.reduction.restrict(starts)
    count = len(starts)
    objective, residuals, jacobian = _linearise(problem, weights, free)
    if not free.shape[1]:
        return Minima(problem.reduction.expand(free), objective, np.ones(count, bool), np.zeros(count, np.int64))
    rows = np.arange(count)
    converged = np.zeros(count, dtype=bool)
    steps = np.zeros(count, dtype=np.int64)
    for _ in range(_ROUNDS):
        if not len(rows):
            break
        move, gain = _solve_linear(residuals[rows], jacobian[rows], weights[rows])
        is_done = gain <= 1e-13 * objective[rows]
        converged[rows[is_done]] = True
        lower = _search(problem, weights, free, objective, rows, move)
        steps[rows] += 1
        # A linear model that promises more than any length keeps has met the curvature; what is left is small.
        converged[rows[~lower]] |= gain[~lower] <= 1e-6 * objective[rows[~lower]]
        rows = rows[lower & ~is_done]
        if len(rows):
            part = problem.take(rows)
            objective[rows], residuals[rows], jacobian[rows] = _linearise(part, weights[rows], free[rows])
    return Minima(problem.reduction.expand(free), objective, converged, steps)


def _linearise(problem: Problem, weights: FloatArray, free: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Give objectives (S,), residuals (S, n) and the derivatives of predictions (S, n, p)."""
    state = problem.curve.evaluate(problem.reduction.expand(free))
    residuals = problem.residuals(problem.target(), state)
    jacobian = problem.curve.slopes(state) @ problem.reduction.matrix
    if problem.loss.is_linear:
        jacobian *= np.exp(state.log_values)[:, :, None]
    objective: FloatArray = np.einsum("sn,sn->s", weights, np.abs(residuals))
    return objective, residuals, jacobian


def _search(
    problem: Problem,
    weights: FloatArray,
    free: FloatArray,
    objective: FloatArray,
    rows: IntArray,
    move: FloatArray,
) -> BoolArray:
    """Step along moves where some length makes the objective lower, in place; returns where, shape (rows,)."""
    lower = np.zeros(len(rows), dtype=bool)
    for length in (1.0, 0.5, 0.2, 0.05, 0.01, 1e-3):
        todo = np.flatnonzero(~lower)
        if not len(todo):
            break
        index = rows[todo]
        trial = free[index] + length * move[todo]
        part = problem.take(index)
        state = part.curve.evaluate(part.reduction.expand(trial))
        residuals = part.residuals(part.target(), state)
        value = np.einsum("sn,sn->s", weights[index], np.abs(residuals))
        better = value < objective[index]
        free[index[better]], objective[index[better]] = trial[better], value[better]
        lower[todo[better]] = True
    return lower


def _solve_linear(residuals: FloatArray, jacobian: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Minimise sum w |r - J d| exactly for each problem; returns d (S, p) and by how much the sum falls (S,)."""
    batch = _Vertices(residuals, jacobian, weights)
    for _ in range(_PIVOTS):
        if not batch.pivot():
            break
    before = np.einsum("sn,sn->s", weights, np.abs(residuals))
    after = np.einsum("sn,sn->s", weights, np.abs(batch.rest))
    return batch.move, np.where(np.isfinite(after), before - after, 0.0)


class _Vertices:
    """Vertices of S linear problems, each given by the p points that it passes through."""

    def __init__(self, residuals: FloatArray, jacobian: FloatArray, weights: FloatArray) -> None:
        self.jacobian = jacobian
        self.weights = weights
        self.every = np.arange(len(residuals))
        self.basis = _independent(residuals, jacobian, weights)
        base = jacobian[self.every[:, None], self.basis]
        self.inverse = np.linalg.pinv(np.where(np.isfinite(base), base, 0.0))
        at_basis = np.take_along_axis(residuals, self.basis, axis=1)
        self.move = np.einsum("spq,sq->sp", self.inverse, at_basis)
        self.rest = residuals - np.einsum("snp,sp->sn", jacobian, self.move)
        np.put_along_axis(self.rest, self.basis, 0.0, axis=1)
        self.is_open = np.isfinite(self.rest).all(axis=1)

    def pivot(self) -> bool:
        """Walk along one edge in every problem that is not solved; returns whether there was any."""
        rows = np.flatnonzero(self.is_open)
        if not len(rows):
            return False
        jacobian, weights, rest = self.jacobian[rows], self.weights[rows], self.rest[rows]
        pull = np.einsum("sn,snp->sp", weights * np.sign(rest), jacobian)
        slope = np.einsum("sp,spq->sq", pull, self.inverse[rows])
        excess = np.abs(slope) - np.take_along_axis(weights, self.basis[rows], axis=1)
        leaving = excess.argmax(axis=1)
        here = np.arange(len(rows))
        gain = excess[here, leaving]
        edge = self.inverse[rows][here, :, leaving] * np.sign(slope[here, leaving])[:, None]
        speed = np.einsum("snp,sp->sn", jacobian, edge)
        np.put_along_axis(speed, self.basis[rows], 0.0, axis=1)
        force = weights * np.abs(speed)
        is_solved = gain <= _SMALL * force.sum(axis=1)
        entering, length = _weighted_median(rest, speed, force, gain)
        is_solved |= ~np.isfinite(length)
        self.is_open[rows[is_solved]] = False
        todo = np.flatnonzero(~is_solved)
        self._exchange(rows[todo], leaving[todo], entering[todo], length[todo], (edge[todo], speed[todo]))
        return len(todo) > 0

    def _exchange(
        self,
        rows: IntArray,
        leaving: IntArray,
        entering: IntArray,
        length: FloatArray,
        along: tuple[FloatArray, FloatArray],
    ) -> None:
        edge, speed = along
        self.move[rows] += length[:, None] * edge
        self.rest[rows] -= length[:, None] * speed
        left = self.basis[rows, leaving]
        self.rest[rows, left] = -length * np.sign(np.einsum("sp,sp->s", self.jacobian[rows, left], edge))
        self.rest[rows, entering] = 0.0
        self.basis[rows, leaving] = entering
        row = np.einsum("sp,spq->sq", self.jacobian[rows, entering], self.inverse[rows])
        here = np.arange(len(rows))
        pivot = row[here, leaving].copy()
        row[here, leaving] -= 1.0
        column = self.inverse[rows][here, :, leaving] / pivot[:, None]
        self.inverse[rows] -= column[:, :, None] * row[:, None, :]


def _weighted_median(
    rest: FloatArray, speed: FloatArray, force: FloatArray, gain: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Give the point at which the sum along an edge stops falling, and how far it is; infinite where there is none."""
    is_ahead = (np.abs(speed) > _SMALL * np.abs(speed).max(axis=1, keepdims=True)) & (rest * speed >= 0) & (force > 0)
    distance = np.where(is_ahead, rest / np.where(is_ahead, speed, 1.0), np.inf)
    order = np.argsort(distance, axis=1, kind="stable")
    cost = 2.0 * np.cumsum(np.take_along_axis(np.where(is_ahead, force, 0.0), order, axis=1), axis=1)
    first = np.minimum((cost < gain[:, None]).sum(axis=1), rest.shape[1] - 1)
    here = np.arange(len(rest))
    entering = order[here, first]
    return entering, distance[here, entering]


def _independent(residuals: FloatArray, jacobian: FloatArray, weights: FloatArray) -> IntArray:
    """Choose p points for each problem, those of the smallest residuals whose derivatives are independent, shape (S, p)."""
    size = np.where(weights > 0, np.abs(residuals), np.inf)
    order = np.argsort(size, axis=1, kind="stable")[:, : 8 * jacobian.shape[2]]
    here = np.arange(len(residuals))
    rows = jacobian[here[:, None], order]
    scale = np.sqrt(np.einsum("snp,snp->sn", rows, rows))
    rows = rows / np.maximum(scale, np.finfo(float).tiny)[:, :, None]
    chosen = np.empty((len(residuals), jacobian.shape[2]), dtype=np.int64)
    for k in range(jacobian.shape[2]):
        left = np.einsum("smp,smp->sm", rows, rows)
        # The first point that adds much; if none does, the one that adds most.
        adds = left > 1e-3
        pick = np.where(adds.any(axis=1), adds.argmax(axis=1), left.argmax(axis=1))
        chosen[:, k] = order[here, pick]
        unit = rows[here, pick] / np.sqrt(np.maximum(left[here, pick], np.finfo(float).tiny))[:, None]
        rows = rows - np.einsum("smp,sp->sm", rows, unit)[:, :, None] * unit[:, None, :]
    return chosen
