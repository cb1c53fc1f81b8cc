"""Newton's method on many problems at once; problems leave the batch as they converge.

Directions come from the exact Hessian, with negative eigenvalues turned positive, and lengths from a line search. A Huber loss
much narrower than the residuals has kinks that hide the way down from afar; so its width starts at the scale of the residuals
and narrows with every good step. Everything that decides when to stop is relative to the objective: a sum, a mean and any
other multiple of it give the same answer.

References:
    Nocedal and Wright, 2006, Numerical Optimization, sections 3.4 and 3.5.
    Madsen and Nielsen, 1990, Finite Algorithms for Robust Linear Regression (paths over the width of Huber's loss).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from evalkit.scaling.arrays import BoolArray, FloatArray, IntArray
from evalkit.scaling.laws.curves import State
from evalkit.scaling.solver.linear import make_positive, solve_positive
from evalkit.scaling.solver.problem import Problem

MAX_STEPS = 200
NARROWEST = 0.03
"""Width, in multiples of the median residual, that Newton's method handles from afar; below, `vertex` takes over."""
WIDEST = 3.0
"""Width, in multiples of the median residual, that a search starts with."""
_DECREMENT = 1e-14
"""A Newton decrement below this share of the objective ends the search."""
_HIDDEN = 1e-8
"""Where no length helps, a decrement below this share of the objective counts as converged: rounding hides the rest."""
_SHORTEST = 1e-10
_LONGEST = 20.0
"""Longest step; one of 1 changes predictions by a factor of e in the mean."""
_NARROWING = 3.0
_CHUNK = 48_000
"""Numbers in one array of a batch: small enough that a few of them stay in a processor's cache."""
_TINY = float(np.finfo(float).tiny)

Look: TypeAlias = tuple[State, FloatArray, FloatArray]
"""A state with residuals and coordinates."""


@dataclass(frozen=True, eq=False)
class Minima:
    """Where S searches ended."""

    coordinates: FloatArray
    """Shape (S, P)."""
    objective: FloatArray
    """Shape (S,)."""
    converged: BoolArray
    """Shape (S,)."""
    steps: IntArray
    """Newton steps, shape (S,)."""

    def take(self, rows: IntArray) -> Minima:
        """Give some of the searches."""
        return Minima(self.coordinates[rows], self.objective[rows], self.converged[rows], self.steps[rows])

    def put(self, rows: IntArray, other: Minima) -> None:
        """Replace some of the searches by others, in place."""
        self.coordinates[rows], self.objective[rows] = other.coordinates, other.objective
        self.converged[rows], self.steps[rows] = other.converged, other.steps


def descend(
    problem: Problem, weights: FloatArray, starts: FloatArray, widths: tuple[float, float] = (0.0, WIDEST)
) -> Minima:
    """Minimise from many starts, or many weightings, or both.

    Args:
        problem: What is minimised; its losses have shape (n,) or (S, n).
        weights: Shape (n,) for all alike, or (S, n).
        starts: Coordinates, shape (S, P).
        widths: Least and first width of a Huber loss, in multiples of the median residual of a start.

    Returns:
        S minima in the order of the starts. A search that meets no finite objective ends where it started, not converged.
    """
    size = max(1, _CHUNK // max(1, problem.losses.shape[-1]))
    count = len(starts)
    result = Minima(starts.copy(), np.full(count, np.inf), np.zeros(count, bool), np.zeros(count, np.int64))
    for first in range(0, count, size):
        rows = np.arange(first, min(first + size, count))
        batch = _Batch(problem.take(rows), weights if weights.ndim == 1 else weights[rows], starts[rows], widths)
        result.put(rows, batch.run())
    return result


class _Batch:
    """One batch on its way down; arrays hold the problems that are still moving."""

    def __init__(self, problem: Problem, weights: FloatArray, starts: FloatArray, widths: tuple[float, float]) -> None:
        count = len(starts)
        self.problem = problem
        self.target = problem.target()
        self.weights = weights
        self.matrix = problem.reduction.matrix
        self.free = problem.reduction.restrict(starts)
        self.rows = np.arange(count)
        self.result = Minima(starts.copy(), np.full(count, np.inf), np.zeros(count, bool), np.zeros(count, np.int64))
        with np.errstate(all="ignore"):
            self._enter(*widths)

    def run(self) -> Minima:
        """Step until every problem has stopped."""
        with np.errstate(all="ignore"):
            for step in range(1, MAX_STEPS + 1):
                if not len(self.rows):
                    break
                self._step(step)
        self._leave(np.ones(len(self.rows), bool), np.zeros(len(self.rows), bool))
        return self.result

    def _enter(self, least: float, first: float) -> None:
        look = self._look(self.free)
        scale = np.median(np.abs(look[1]), axis=1)
        self.last = np.maximum(max(self.problem.loss.width(), 1e-300), least * scale)
        self.width = np.maximum(self.last, first * scale)
        self.objective = self.problem.objective(look[1], self.weights, look[2], self.width)
        rounding = 4e-16 * (self.problem.losses if self.problem.loss.is_linear else 1.0 + np.abs(self.target))
        self.floor = (
            self.problem.objective(np.broadcast_to(rounding, look[1].shape), self.weights, look[2] * np.nan, self.width)
            if self.problem.penalty is None
            else np.zeros(len(self.rows))
        )
        self.length = np.ones(len(self.rows))
        self.gradient, self.move = self._derive(look)
        is_finite = np.isfinite(self.objective)
        has_freedom = self.matrix.shape[1] > 0
        self._leave(~is_finite | (not has_freedom), is_finite & (not has_freedom))

    def _look(self, free: FloatArray) -> Look:
        coordinates = self.problem.reduction.expand(free)
        state = self.problem.curve.evaluate(coordinates)
        return state, self.problem.residuals(self.target, state), coordinates

    def _derive(self, look: Look) -> tuple[FloatArray, FloatArray]:
        """Give gradients and Newton directions in free coordinates, both of shape (S, p)."""
        state, residuals, coordinates = look
        slopes = self.problem.slopes(state, residuals, self.weights, self.width)
        gradient = self.problem.gradient(state, slopes, coordinates) @ self.matrix
        full = self.problem.hessian(state, slopes, residuals, self.weights, self.width)
        hessian = self.matrix.T @ full @ self.matrix
        move, is_positive = solve_positive(hessian, -gradient)
        bad = np.flatnonzero(~is_positive)
        if len(bad):
            move[bad] = solve_positive(make_positive(hessian[bad]), -gradient[bad])[0]
        length = np.sqrt(np.einsum("sp,sp->s", move, move))
        move *= np.minimum(1.0, _LONGEST / np.maximum(length, _TINY))[:, None]
        return gradient, move

    def _step(self, step: int) -> None:
        slope = np.einsum("sp,sp->s", self.move, self.gradient)
        is_last = self.width <= self.last
        is_flat = -0.5 * slope <= _DECREMENT * self.objective + self.floor
        free = self.free + self.length[:, None] * self.move
        look = self._look(free)
        objective = self.problem.objective(look[1], self.weights, look[2], self.width)
        change = objective - self.objective
        accepted = change < 1e-4 * self.length * slope
        is_done = is_flat & is_last & (self.length == 1.0)
        is_good = ~is_last & accepted & (change < 0.25 * slope)
        self._shorten(change, slope, accepted)
        if is_good.any():
            self.width = np.where(is_good, np.maximum(self.last, self.width / _NARROWING), self.width)
            objective = self.problem.objective(look[1], self.weights, look[2], self.width)
        self._accept(accepted, free, objective, look)
        is_stuck = self.length < _SHORTEST
        self._narrow(~is_last & ~accepted & (is_flat | is_stuck))
        self.result.steps[self.rows] = step
        is_hidden = is_stuck & (-0.5 * slope <= _HIDDEN * self.objective + self.floor)
        self._leave(is_done | (is_stuck & is_last), is_done | (is_hidden & is_last))

    def _shorten(self, change: FloatArray, slope: FloatArray, accepted: BoolArray) -> None:
        """Choose the next length: that of the parabola through what is known, within limits."""
        best = -0.5 * self.length**2 * slope / (change - self.length * slope)
        best = np.where(np.isfinite(best), best, 0.0)
        self.length = np.where(accepted, 1.0, np.clip(best, 0.1 * self.length, 0.5 * self.length))

    def _accept(self, accepted: BoolArray, free: FloatArray, objective: FloatArray, look: Look) -> None:
        if not accepted.any():
            return
        gradient, move = self._derive(look)
        self.free[accepted], self.objective[accepted] = free[accepted], objective[accepted]
        self.gradient[accepted], self.move[accepted] = gradient[accepted], move[accepted]

    def _narrow(self, chosen: BoolArray) -> None:
        """Go on with a narrower loss where the wider one leads no further."""
        if not chosen.any():
            return
        self.width = np.where(chosen, np.maximum(self.last, self.width / _NARROWING), self.width)
        look = self._look(self.free)
        objective = self.problem.objective(look[1], self.weights, look[2], self.width)
        gradient, move = self._derive(look)
        self.objective[chosen], self.length[chosen] = objective[chosen], 1.0
        self.gradient[chosen], self.move[chosen] = gradient[chosen], move[chosen]

    def _leave(self, leaving: BoolArray, converged: BoolArray) -> None:
        """Keep the results of problems that stop, and pack the batch."""
        if not leaving.any():
            return
        rows = self.rows[leaving]
        self.result.coordinates[rows] = self.problem.take(np.flatnonzero(leaving)).reduction.expand(self.free[leaving])
        self.result.objective[rows] = self.objective[leaving]
        self.result.converged[rows] = converged[leaving]
        keep = np.flatnonzero(~leaving)
        for name in ("rows", "free", "floor", "last", "width", "objective", "length", "gradient", "move"):
            setattr(self, name, getattr(self, name)[keep])
        if self.weights.ndim == 2:
            self.weights = self.weights[keep]
        self.problem = self.problem.take(keep)
        if self.target.ndim == 2:
            self.target = self.target[keep]
