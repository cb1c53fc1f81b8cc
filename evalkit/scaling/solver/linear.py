"""Linear algebra on batches of small symmetric matrices, without calls to LAPACK that could raise."""

from __future__ import annotations

import numpy as np

from evalkit.scaling.arrays import BoolArray, FloatArray

_SMALLEST_PIVOT = 1e-11
"""A pivot below this share of its diagonal element counts as 0: the matrix is not positive definite."""

_SMALLEST_EIGENVALUE = 1e-8
"""Smallest eigenvalue of a matrix that was made positive, as a share of its largest."""


def solve_positive(matrices: FloatArray, right: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Solve S systems by Cholesky's elimination, all at once.

    Args:
        matrices: Symmetric, shape (S, p, p).
        right: Shape (S, p).

    Returns:
        Solutions of shape (S, p), and where the matrix was positive definite; elsewhere the solution has no meaning.
    """
    size = matrices.shape[1]
    # Batch last: every step below is then one pass over contiguous memory.
    lower = matrices.transpose(1, 2, 0).copy(order="C")
    x = right.T.copy(order="C")
    diagonal = np.einsum("iis->is", lower).copy()
    good: BoolArray = np.logical_and(np.isfinite(x).all(axis=0), (diagonal > 0).all(axis=0))
    for j in range(size):
        pivot = lower[j, j]
        good &= pivot > _SMALLEST_PIVOT * diagonal[j]
        pivot = np.where(good, pivot, 1.0)
        factor = lower[j + 1 :, j] / pivot
        for row in range(j + 1, size):
            lower[row, j + 1 : row + 1] -= factor[row - j - 1] * lower[j + 1 : row + 1, j]
        x[j + 1 :] -= factor * x[j]
        x[j] /= pivot
        lower[j + 1 :, j] = factor
    for j in range(size - 1, 0, -1):
        x[:j] -= lower[j, :j] * x[j]
    return x.T, good


def make_positive(matrices: FloatArray) -> FloatArray:
    """Turn negative eigenvalues positive, shape (S, p, p), so that a Newton step leads down along their directions too.

    Matrices that are not finite become the identity.
    """
    is_finite: BoolArray = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
    values, vectors = np.linalg.eigh(np.where(is_finite[:, None, None], matrices, np.eye(matrices.shape[1])))
    size = np.abs(values)
    size = np.maximum(size, np.maximum(_SMALLEST_EIGENVALUE * size.max(axis=1, keepdims=True), np.finfo(float).tiny))
    result: FloatArray = (vectors * size[:, None, :]) @ vectors.transpose(0, 2, 1)
    return result


def whitening(gram: FloatArray) -> FloatArray:
    """Give a matrix P, shape (p, p), so that P' G P is the identity where G allows.

    Args:
        gram: Positive semidefinite, shape (p, p); directions with next to no weight are kept, scaled less.
    """
    scale = np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
    correlation = gram / np.outer(scale, scale)
    if not np.isfinite(correlation).all() or not correlation.any():
        return np.eye(len(gram))
    values, vectors = np.linalg.eigh(correlation)
    values = np.maximum(values, 1e-10 * values[-1])
    result: FloatArray = (vectors / np.sqrt(values)) / scale[:, None]
    return result
