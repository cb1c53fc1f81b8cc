"""Standard errors from the curvature of the objective: one that needs even noise, and one that does not.

    homoscedastic   s^2 (G'G)^-1             s^2 = E psi^2 / (E psi')^2
    robust          H^-1 (sum g g') H^-1     g the gradient of each point, summed by cluster

References:
    Huber, 1967, The Behavior of Maximum Likelihood Estimates under Nonstandard Conditions.
    White, 1982, Maximum Likelihood Estimation of Misspecified Models.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evalkit.scaling.arrays import FloatArray
from evalkit.scaling.laws.curves import State
from evalkit.scaling.model import Model
from evalkit.scaling.solution import Solution, curvature_scale, curvature_width, psi_moments
from evalkit.scaling.solver.linear import make_positive
from evalkit.scaling.solver.problem import Problem

KINDS = ("homoscedastic", "robust")


@dataclass(frozen=True, eq=False)
class Covariances:
    """Covariances of the coordinates under both views of the noise, each of shape (P, P)."""

    homoscedastic: FloatArray
    robust: FloatArray

    def of(self, kind: str) -> FloatArray:
        """Give one of them by name."""
        matrix: FloatArray = getattr(self, kind)
        return matrix


def covariances(solution: Solution) -> Covariances:
    """Compute both covariances; 0 for coordinates that are held, and where the law meets every point exactly."""
    with np.errstate(all="ignore"):
        found = _covariances(solution)
    return Covariances(_sound(found.homoscedastic), _sound(found.robust))


def _sound(matrix: FloatArray) -> FloatArray:
    """Replace what is not finite, and variances that rounding made negative, by 0."""
    finite = np.where(np.isfinite(matrix), matrix, 0.0)
    np.fill_diagonal(finite, np.maximum(np.diag(finite), 0.0))
    return finite


def _covariances(solution: Solution) -> Covariances:
    model = solution.face
    matrix = model.search.frame.reduction().matrix
    size = len(solution.coordinates)
    if not matrix.shape[1]:
        return Covariances(np.zeros((size, size)), np.zeros((size, size)))
    problem = model.search.problem(solution.coordinates, model.weights)
    state = problem.curve.evaluate(solution.coordinates[None])
    residuals = problem.residuals(problem.target(), state)
    slopes = problem.curve.slopes(state)[0] @ problem.reduction.matrix
    if model.loss.is_linear:
        slopes = slopes * np.exp(state.log_values[0])[:, None]
    second, slope = psi_moments(model, residuals[0])
    gram = slopes.T @ (slopes * model.weights[:, None])
    prior = np.zeros_like(gram)
    if problem.penalty is not None:
        prior = problem.reduction.matrix.T @ np.diag(problem.penalty.strength) @ problem.reduction.matrix
    even = np.linalg.inv(make_positive((gram * slope + prior)[None])[0])
    homoscedastic = even @ (second * gram) @ even
    bread = np.linalg.inv(make_positive(_hessian(model, problem, state, residuals)[None])[0])
    scores = _by_cluster(model, -model.weights[:, None] * model.loss.psi(residuals[0])[:, None] * slopes)
    n = len(model.points)
    correction = n / max(n - matrix.shape[1], 1)
    robust = bread @ (correction * scores.T @ scores) @ bread
    back = problem.reduction.matrix
    return Covariances(back @ homoscedastic @ back.T, back @ robust @ back.T)


def _hessian(model: Model, problem: Problem, state: State, residuals: FloatArray) -> FloatArray:
    """The Hessian in free coordinates; where hardly any point lies within delta, that of a wider loss, scaled down.

    References:
        Powell, 1991, Estimation of Monotonic Regression Models under Quantile Restrictions (the kernel estimate).
    """
    width = np.array([curvature_width(model.loss, residuals[0])])
    slopes = problem.slopes(state, residuals, model.weights, width)
    full = problem.hessian(state, slopes, residuals, model.weights, width)[0]
    scale = curvature_scale(model.loss, float(width[0]))
    result: FloatArray = scale * problem.reduction.matrix.T @ full @ problem.reduction.matrix
    return result


def _by_cluster(model: Model, scores: FloatArray) -> FloatArray:
    labels = model.points.cluster
    if labels is None:
        return scores
    _, codes = np.unique(np.array(labels), return_inverse=True)
    sums = np.zeros((codes.max() + 1, scores.shape[1]))
    np.add.at(sums, codes, scores)
    return sums
