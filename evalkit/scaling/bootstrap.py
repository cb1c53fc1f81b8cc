"""Bootstrap of a fit: rows, clusters, residuals, or signs of residuals; every resample is fitted as carefully as the points.

    pairs      rows are drawn with replacement: needs no model of the noise
    cluster    all rows of a cluster are drawn together: for checkpoints of one run
    wild       residuals keep their place and size and change sign at random: for designs with few rows a cell
    residual   residuals are dealt out anew: needs even noise, and is too narrow for few points

References:
    Efron and Tibshirani, 1993, An Introduction to the Bootstrap, chapters 9 and 13.
    Cameron, Gelbach and Miller, 2008, Bootstrap-Based Improvements for Inference with Clustered Errors (wild, by cluster).
    Webb, 2014, Reworking Wild Bootstrap Based Inference for Clustered Errors (six points for few clusters).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from evalkit.errors import InvalidInputError
from evalkit.scaling.arrays import BoolArray, FloatArray, IntArray
from evalkit.scaling.model import Model
from evalkit.scaling.result import Draws
from evalkit.scaling.solution import Solution

Sample: TypeAlias = tuple[FloatArray, FloatArray | None]
"""Weights of shape (B, n), and losses of shape (B, n) where they are drawn too."""

_FEW_CLUSTERS = 12
_WEBB = np.sqrt(np.array([0.5, 1.0, 1.5]))
_CHUNK = 1000
"""Resamples that are fitted together, which bounds the memory."""


def bootstrap(solution: Solution, method: str, resamples: int, seed: int, level: float) -> Draws:
    """Resample and refit.

    Args:
        solution: The fit.
        method: ``auto`` or one of `METHODS`.
        resamples: Number of resamples.
        seed: Same seed, same draws.
        level: Level of the intervals that are to be read off.

    Raises:
        InvalidInputError: The method needs clusters and there are none, or one cluster is all.
    """
    model = solution.model
    method = resolve(model, method)
    weights, losses = METHODS[method](solution, resamples, np.random.default_rng(seed))
    kept = []
    for first in range(0, resamples, _CHUNK):
        part = slice(first, min(first + _CHUNK, resamples))
        own = None if losses is None else losses[part]
        minima = model.refit(weights[part], solution.bases, own)
        good = minima.converged & np.isfinite(minima.objective) & _is_determined(model, weights[part])
        kept.append(minima.coordinates[good])
    coordinates = np.concatenate(kept)
    return Draws(
        method=method,
        level=level,
        seed=seed,
        names=tuple(model.names[index] for index in model.shown),
        values=model.values(coordinates),
        coordinates=coordinates,
        failed=resamples - len(coordinates),
    )


def resolve(model: Model, method: str) -> str:
    """Choose a method where the choice is left open.

    Raises:
        InvalidInputError: The method needs clusters and there are none, or one cluster is all.
    """
    labels = model.points.cluster
    count = 0 if labels is None else len(set(labels))
    if method == "auto":
        return "cluster" if 0 < count < len(model.points) else "pairs"
    if method == "cluster" and count < 2:
        raise InvalidInputError(
            f"found {count} clusters; a bootstrap of clusters needs two at least, so give a column 'cluster' or use 'pairs'"
        )
    return method


def _codes(model: Model) -> IntArray:
    """Number the clusters, shape (n,); every row is its own where there are none."""
    labels = model.points.cluster
    if labels is None:
        return np.arange(len(model.points))
    codes: IntArray = np.unique(np.array(labels), return_inverse=True)[1].astype(np.int64)
    return codes


def pairs(solution: Solution, resamples: int, generator: np.random.Generator) -> Sample:
    """Draw rows."""
    n = len(solution.model.points)
    counts = generator.multinomial(n, np.full(n, 1.0 / n), size=resamples)
    return counts * solution.model.weights, None


def cluster(solution: Solution, resamples: int, generator: np.random.Generator) -> Sample:
    """Draw clusters with all of their rows."""
    codes = _codes(solution.model)
    count = int(codes.max()) + 1
    counts = generator.multinomial(count, np.full(count, 1.0 / count), size=resamples)
    return counts[:, codes] * solution.model.weights, None


def wild(solution: Solution, resamples: int, generator: np.random.Generator) -> Sample:
    """Turn residuals around at random, whole clusters together."""
    model = solution.model
    codes = _codes(model)
    count = int(codes.max()) + 1
    factors = generator.integers(0, 2, size=(resamples, count)) * 2.0 - 1.0
    if count < _FEW_CLUSTERS:
        factors = factors * _WEBB[generator.integers(0, len(_WEBB), size=(resamples, count))]
    residuals = solution.residuals / np.sqrt(np.maximum(1.0 - leverage(solution), 0.05))
    return _weights(model, resamples), _with_residuals(solution, residuals * factors[:, codes])


def residual(solution: Solution, resamples: int, generator: np.random.Generator) -> Sample:
    """Deal residuals out anew."""
    model = solution.model
    n = len(model.points)
    residuals = solution.residuals
    residuals = (residuals - residuals.mean()) * np.sqrt(n / max(n - model.free_count, 1))
    drawn = residuals[generator.integers(0, n, size=(resamples, n))]
    return _weights(model, resamples), _with_residuals(solution, drawn)


METHODS: Mapping[str, Callable[[Solution, int, np.random.Generator], Sample]] = {
    "pairs": pairs,
    "cluster": cluster,
    "wild": wild,
    "residual": residual,
}
"""Methods by name."""


def _weights(model: Model, resamples: int) -> FloatArray:
    return np.repeat(model.weights[None], resamples, axis=0)


def _with_residuals(solution: Solution, residuals: FloatArray) -> FloatArray:
    """Give losses that have the fit's predictions and given residuals, shape (B, n)."""
    model = solution.model
    predicted = model.log_predictions(solution.coordinates[None])[0]
    if model.loss.is_linear:
        # A loss at or below 0 has no logarithm where starts are made; no real residual goes there.
        linear: FloatArray = np.maximum(np.exp(predicted) + residuals, 1e-3 * np.exp(predicted))
        return linear
    logs: FloatArray = np.exp(predicted + residuals)
    return logs


def leverage(solution: Solution) -> FloatArray:
    """Give the leverage of each point in the linearised fit, shape (n,); they sum to the number of parameters."""
    model = solution.face
    problem = model.search.problem(solution.coordinates, model.weights)
    state = problem.curve.evaluate(solution.coordinates[None])
    slopes = problem.curve.slopes(state)[0] @ problem.reduction.matrix
    if model.loss.is_linear:
        slopes = slopes * np.exp(state.log_values[0])[:, None]
    base, _ = np.linalg.qr(slopes * np.sqrt(model.weights)[:, None])
    values: FloatArray = np.einsum("np,np->n", base, base)
    return values


def _is_determined(model: Model, weights: FloatArray) -> BoolArray:
    """Say which resamples have at least as many distinct places as parameters, and two levels of each predictor."""
    predictors = [model.inputs.get(name) for name in model.law.predictors]
    good = np.ones(len(weights), dtype=bool)
    there = weights > 0
    for values, least in (
        (np.column_stack(predictors), model.free_count),
        *((each[:, None], 2) for each in predictors),
    ):
        _, codes = np.unique(values, axis=0, return_inverse=True)
        codes = codes.ravel()
        members = np.zeros((len(codes), int(codes.max()) + 1))
        members[np.arange(len(codes)), codes] = 1.0
        good &= ((there @ members) > 0).sum(axis=1) >= least
    return good
