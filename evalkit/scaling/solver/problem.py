"""A fit as the solver sees it: a curve, losses, a loss function, and which coordinates may move."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evalkit.scaling.arrays import FloatArray, IntArray
from evalkit.scaling.laws.curves import Curve, State
from evalkit.scaling.losses import Loss, huber
from evalkit.scaling.solver.linear import whitening


@dataclass(frozen=True, eq=False)
class Reduction:
    """Coordinates as a linear function of free ones: coordinates = center + matrix @ free."""

    center: FloatArray
    """Shape (P,), or (S, P) where each problem of a batch has its own."""
    matrix: FloatArray
    """Shape (P, p)."""

    def expand(self, free: FloatArray) -> FloatArray:
        """Map free coordinates of shape (S, p) to coordinates of shape (S, P)."""
        result: FloatArray = self.center + free @ self.matrix.T
        return result

    def restrict(self, coordinates: FloatArray) -> FloatArray:
        """Give the free coordinates nearest to coordinates of shape (S, P); returns shape (S, p)."""
        inverse = np.linalg.pinv(self.matrix)
        result: FloatArray = (coordinates - self.center) @ inverse.T
        return result


@dataclass(frozen=True, eq=False)
class Penalty:
    """Normal priors on coordinates: sum of strength * (coordinate - center)^2 / 2."""

    strength: FloatArray
    """Shape (P,); 0 where there is no prior."""
    center: FloatArray
    """Shape (P,)."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What is minimised: sum_i w_i rho(r_i), for weights of mean 1, over the free coordinates."""

    curve: Curve
    losses: FloatArray
    """Observed losses, shape (n,), or (S, n) where each problem of a batch has its own."""
    loss: Loss
    reduction: Reduction
    penalty: Penalty | None = None

    def take(self, rows: IntArray) -> Problem:
        """Keep what problems of a batch have of their own for some of them."""
        problem = self
        if self.losses.ndim == 2:
            problem = replace(problem, losses=self.losses[rows])
        if self.reduction.center.ndim == 2:
            problem = replace(problem, reduction=Reduction(self.reduction.center[rows], self.reduction.matrix))
        return problem

    def target(self) -> FloatArray:
        """Give what residuals are taken from: losses, or their logarithms."""
        return self.losses if self.loss.is_linear else np.log(self.losses)

    def whitened(self, coordinates: FloatArray, weights: FloatArray) -> Problem:
        """Choose free coordinates in which a step of 1 changes every prediction about equally much.

        Args:
            coordinates: Where the curve is linearised, shape (P,).
            weights: Shape (n,).
        """
        if not self.reduction.matrix.shape[1]:
            return self
        slopes = self.curve.slopes(self.curve.evaluate(coordinates[None]))[0] @ self.reduction.matrix
        gram = slopes.T @ (slopes * weights[:, None]) / len(weights)
        matrix = self.reduction.matrix @ whitening(gram)
        return replace(self, reduction=Reduction(self.reduction.center, matrix))

    def residuals(self, target: FloatArray, state: State) -> FloatArray:
        """Give residuals of shape (S, n)."""
        if self.loss.is_linear:
            linear: FloatArray = target - np.exp(state.log_values)
            return linear
        logs: FloatArray = target - state.log_values
        return logs

    def objective(
        self, residuals: FloatArray, weights: FloatArray, coordinates: FloatArray, width: FloatArray
    ) -> FloatArray:
        """Give the objective of each problem, shape (S,), for Huber losses of widths (S,)."""
        values = huber(residuals, width[:, None])
        total: FloatArray = values @ weights if weights.ndim == 1 else np.einsum("sn,sn->s", values, weights)
        if self.penalty is not None:
            away = coordinates - self.penalty.center
            total += 0.5 * (away * away) @ self.penalty.strength
        return total

    def slopes(self, state: State, residuals: FloatArray, weights: FloatArray, width: FloatArray) -> FloatArray:
        """Give the derivative of the objective by the log of each prediction, shape (S, n)."""
        wide = width[:, None]
        slope: FloatArray = -weights * np.clip(residuals, -wide, wide)
        if self.loss.is_linear:
            slope *= np.exp(state.log_values)
        return slope

    def gradient(self, state: State, slopes: FloatArray, coordinates: FloatArray) -> FloatArray:
        """Give gradients in coordinates, shape (S, P)."""
        total = self.curve.gradient(state, slopes)
        if self.penalty is not None:
            total += self.penalty.strength * (coordinates - self.penalty.center)
        return total

    def hessian(
        self, state: State, slopes: FloatArray, residuals: FloatArray, weights: FloatArray, width: FloatArray
    ) -> FloatArray:
        """Give exact Hessians, shape (S, P, P)."""
        outer = weights * (np.abs(residuals) <= width[:, None])
        if self.loss.is_linear:
            values = np.exp(state.log_values)
            outer = outer * values * values + slopes
        return self._penalised(self.curve.hessian(state, outer, slopes))

    def majoriser(self, state: State, residuals: FloatArray, weights: FloatArray, width: FloatArray) -> FloatArray:
        """Give the matrices of iteratively reweighted least squares, shape (S, P, P); positive semidefinite.

        A quadratic with weights psi(r) / r lies above rho everywhere, so a step on it descends wherever f is nearly linear.
        """
        size = np.maximum(np.abs(residuals), np.finfo(float).tiny)
        outer = weights * np.minimum(1.0, width[:, None] / size)
        if self.loss.is_linear:
            values = np.exp(state.log_values)
            outer = outer * values * values
        return self._penalised(self.curve.hessian(state, outer, None))

    def _penalised(self, matrices: FloatArray) -> FloatArray:
        if self.penalty is not None:
            matrices = matrices + np.diag(self.penalty.strength)
        return matrices
