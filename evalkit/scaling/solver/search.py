"""From starts to minima: the path over losses that suits the problem, limits of parameters, and terms that vanish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from evalkit.scaling.arrays import BoolArray, FloatArray, IntArray
from evalkit.scaling.laws.curves import Curve
from evalkit.scaling.losses import Loss
from evalkit.scaling.solver.newton import NARROWEST, WIDEST, Minima, descend
from evalkit.scaling.solver.problem import Penalty, Problem, Reduction
from evalkit.scaling.solver.vertex import absolute_deviations

_INSIDE = 1e-9
"""How far beyond a limit rounding may take a coordinate."""
_MOST_LIMITS = 3
"""Most limits that are taken as reached at once."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Which coordinates may move, and how far."""

    low: FloatArray
    """Lowest coordinates, shape (P,)."""
    high: FloatArray
    """Highest coordinates, shape (P,)."""
    ties: tuple[tuple[int, int], ...] = ()
    """Pairs of which the second follows the first."""
    held: Mapping[int, float] = field(default_factory=dict)
    """Coordinates that do not move, with their values."""

    def hold(self, index: int, value: float) -> Frame:
        """Hold one coordinate more."""
        return replace(self, held={**self.held, index: value})

    def reduction(self) -> Reduction:
        """Give the free coordinates."""
        size = len(self.low)
        follower = {second: first for first, second in self.ties}
        held = dict(self.held)
        for second, first in follower.items():
            if second in held and first not in held:
                held[first] = held[second]
        center = np.zeros(size)
        free = [index for index in range(size) if index not in held and index not in follower]
        matrix = np.zeros((size, len(free)))
        for index, value in held.items():
            center[index] = value
        for column, index in enumerate(free):
            matrix[index, column] = 1.0
        for second, first in follower.items():
            if first in free:
                matrix[second, free.index(first)] = 1.0
            else:
                center[second] = held[first]
        return Reduction(center, matrix)

    def outside(self, coordinates: FloatArray) -> BoolArray:
        """Say which coordinates are beyond their limits, shape (S, P); never those that are held."""
        beyond: BoolArray = (coordinates < self.low - _INSIDE) | (coordinates > self.high + _INSIDE)
        beyond[:, [*self.held, *(second for _, second in self.ties)]] = False
        return beyond

    def inside(self, coordinates: FloatArray) -> FloatArray:
        """Move coordinates that rounding put beyond their limits onto them, shape (S, P); never those that are held."""
        moved: FloatArray = np.clip(coordinates, self.low, self.high)
        moved[:, list(self.held)] = coordinates[:, list(self.held)]
        return moved


@dataclass(frozen=True, eq=False)
class Search:
    """A curve over points with losses, and the frame that its parameters move in."""

    curve: Curve
    losses: FloatArray
    """Shape (n,), or (S, n) where each problem of a batch has its own."""
    loss: Loss
    frame: Frame
    penalty: Penalty | None = None
    own: Mapping[int, FloatArray] = field(default_factory=dict)
    """Held coordinates whose value is each problem's own, shape (S,); the frame holds them at any value."""

    def take(self, rows: IntArray) -> Search:
        """Keep what some problems of a batch have of their own."""
        search = self if not self.own else replace(self, own={index: each[rows] for index, each in self.own.items()})
        return search if self.losses.ndim == 1 else replace(search, losses=self.losses[rows])

    def problem(self, reference: FloatArray, weights: FloatArray) -> Problem:
        """Make the problem, whitened at a reference of shape (P,)."""
        reduction = self.frame.reduction()
        if self.own:
            center = np.repeat(reduction.center[None], len(next(iter(self.own.values()))), axis=0)
            for index, values in self.own.items():
                center[:, index] = values
            reduction = replace(reduction, center=center)
        plain = Problem(self.curve, self.losses, self.loss, reduction, self.penalty)
        mean = weights if weights.ndim == 1 else weights.mean(axis=0)
        return plain.whitened(reference, mean)

    def run(self, weights: FloatArray, starts: FloatArray, reference: FloatArray) -> Minima:
        """Minimise within the limits.

        Args:
            weights: Shape (n,) or (S, n).
            starts: Shape (S, P).
            reference: A likely solution, shape (P,).
        """
        return self._within(weights, starts, reference, 0)

    def _within(self, weights: FloatArray, starts: FloatArray, reference: FloatArray, depth: int) -> Minima:
        minima = minimise(self.problem(reference, weights), weights, starts)
        beyond = self.frame.outside(minima.coordinates)
        rows = np.flatnonzero(beyond.any(axis=1))
        if len(rows):
            best = minima.take(rows)
            best.objective[:] = np.inf
            best.converged[:] = False
            if depth < _MOST_LIMITS:
                self._at_limits(weights, reference, depth, (rows, beyond[rows], minima.coordinates[rows]), best)
            minima.put(rows, best)
        minima.coordinates[:] = self.frame.inside(minima.coordinates)
        return minima

    def _at_limits(
        self,
        weights: FloatArray,
        reference: FloatArray,
        depth: int,
        outside: tuple[IntArray, BoolArray, FloatArray],
        best: Minima,
    ) -> None:
        """Solve again with each coordinate that went too far held at its limit; keeps the lowest in `best`."""
        rows, beyond, coordinates = outside
        for index in np.flatnonzero(beyond.any(axis=0)):
            for limit, is_there in (
                (self.frame.low[index], coordinates[:, index] < self.frame.low[index]),
                (self.frame.high[index], coordinates[:, index] > self.frame.high[index]),
            ):
                here = np.flatnonzero(beyond[:, index] & is_there)
                if not len(here):
                    continue
                part = replace(self.take(rows[here]), frame=self.frame.hold(int(index), float(limit)))
                own = weights if weights.ndim == 1 else weights[rows[here]]
                found = part._within(own, coordinates[here], reference, depth + 1)
                better = np.flatnonzero(found.objective < best.objective[here])
                best.put(here[better], found.take(better))


def minimise(problem: Problem, weights: FloatArray, starts: FloatArray) -> Minima:
    """Minimise without regard to limits; arguments and result as of `evalkit.scaling.solver.newton.descend`.

    Where the quadratic zone is much narrower than the residuals, the solution of least absolute deviations is found first:
    from there a few Newton steps end in the zone, if the loss has one.
    """
    loss = problem.loss
    if loss.is_squared or problem.penalty is not None:
        return descend(problem, weights, starts, (1e-6, WIDEST))
    if not loss.is_absolute:
        with np.errstate(all="ignore"):
            state = problem.curve.evaluate(starts)
            residuals = np.abs(problem.residuals(problem.target(), state))
        finite = residuals[np.isfinite(residuals)]
        scale = float(np.median(finite)) if len(finite) else 0.0
        if not loss.delta < NARROWEST * scale:
            return descend(problem, weights, starts)
    near = descend(problem, weights, starts, (0.3, WIDEST))
    exact = absolute_deviations(problem, weights, near.coordinates)
    exact.steps[:] += near.steps
    _finish_smooth(problem, weights, exact)
    if loss.is_absolute:
        return exact
    # The median residual is the unit of widths: 0 takes the loss as it is from the first step.
    final = descend(problem, weights, exact.coordinates, (0.0, 0.0))
    final.steps[:] += exact.steps
    return final


def _finish_smooth(problem: Problem, weights: FloatArray, minima: Minima) -> None:
    """Improve solutions that pass through fewer points than there are parameters, in place: curvature decides those."""
    rows = np.flatnonzero(~minima.converged & np.isfinite(minima.objective))
    if not len(rows):
        return
    own = weights if weights.ndim == 1 else weights[rows]
    part = problem.take(rows)
    smooth = descend(part, own, minima.coordinates[rows], (1e-5, 0.0))
    with np.errstate(all="ignore"):
        residuals = part.residuals(part.target(), part.curve.evaluate(smooth.coordinates))
    smooth.objective[:] = np.einsum("sn,sn->s", np.broadcast_to(own, residuals.shape), np.abs(residuals))
    better = np.flatnonzero(smooth.objective < minima.objective[rows])
    minima.converged[rows] |= smooth.converged
    minima.put(rows[better], smooth.take(better))


def lowest(parts: Sequence[Minima]) -> Minima:
    """Of several searches for each problem, keep the lowest."""
    result = parts[0]
    for other in parts[1:]:
        better = np.flatnonzero(other.objective < result.objective)
        result.put(better, other.take(better))
    return result
