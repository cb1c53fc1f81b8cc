"""Starts by variable projection: for every cell of a grid of exponents the amplitudes follow in closed form.

At fixed exponents a law u A + v B + E is linear in its amplitudes, so min sum w ((A u + B v + E) / L - 1)^2 is a system of at
most three equations. All sums that it needs, for all cells and all weightings, are one matrix product. Amplitudes cannot be
negative: where the solution of a cell has one, the best of the faces with an amplitude of 0 is taken.

References:
    Golub and Pereyra, 1973, The Differentiation of Pseudo-Inverses and Nonlinear Least Squares Problems Whose Variables Separate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalkit.scaling.arrays import FloatArray, IntArray

EXPONENTS = np.geomspace(0.02, 2.5, 24)
"""Exponents at which laws start."""
_FACES = ((0, 1, 2), (0, 1), (0, 2), (1, 2), (0,), (1,), (2,))
_SMALL_SHARE = 0.02
"""Share of the lowest loss that an amplitude of 0 gets in a start: its logarithm must be finite, and move."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The best amplitudes of every cell, for S problems."""

    amplitudes: FloatArray
    """Shape (S, cells, 3): of u, v and 1; 0 on a face."""
    objective: FloatArray
    """Shape (S, cells); infinite where an amplitude would be negative and another cell stands for the face without it."""


class ExponentGrid:
    """A grid over the exponents of x and y.

    Args:
        log_x: ln x less its mean, shape (n,).
        log_y: The same for y; None where the law has one power alone.
        cells: Pairs of exponents, shape (cells, 2).
        has_offset: Whether the law has E.
    """

    def __init__(self, log_x: FloatArray, log_y: FloatArray | None, cells: FloatArray, has_offset: bool) -> None:
        self.cells = cells
        self._terms = tuple(index for index, there in enumerate((True, log_y is not None, has_offset)) if there)
        alphas, self._first = np.unique(cells[:, 0], return_inverse=True)
        betas, self._second = np.unique(cells[:, 1], return_inverse=True)
        u = np.exp(-np.outer(log_x, alphas))
        v = np.exp(-np.outer(log_y, betas)) if log_y is not None else np.zeros((len(log_x), len(betas)))
        ones = np.ones((len(log_x), 1))
        uv = u[:, self._first] * v[:, self._second]
        self._splits = np.cumsum([u.shape[1], v.shape[1], uv.shape[1], u.shape[1], v.shape[1]])
        self._products = np.concatenate([u * u, v * v, uv, u, v, ones], axis=1)
        self._singles = np.concatenate([u, v, ones], axis=1)

    def solve(self, weights: FloatArray, losses: FloatArray) -> Cells:
        """Solve every cell.

        Args:
            weights: Shape (S, n).
            losses: Shape (n,) or (S, n).
        """
        inverse = 1.0 / losses
        first = weights * inverse
        moments = np.split((first * inverse) @ self._products, self._splits, axis=1)
        singles = np.split(first @ self._singles, np.cumsum([self._splits[0], len(np.unique(self._second))]), axis=1)
        uu, vv, uv, u1, v1, one = moments
        i, j = self._first, self._second
        gram = {(0, 0): uu[:, i], (1, 1): vv[:, j], (0, 1): uv, (0, 2): u1[:, i], (1, 2): v1[:, j], (2, 2): one}
        right = (singles[0][:, i], singles[1][:, j], singles[2])
        return self._best_faces(gram, right, weights.sum(axis=1)[:, None])

    def _best_faces(
        self, gram: dict[tuple[int, int], FloatArray], right: tuple[FloatArray, ...], total: FloatArray
    ) -> Cells:
        shape = (len(total), len(self.cells))
        best = np.full(shape, np.inf)
        amplitudes = np.zeros((*shape, 3))
        for face in _FACES:
            if not set(face) <= set(self._terms):
                continue
            cells = self._representatives(face)
            solution, gain = _solve_face(_at(gram, cells), [_column(each, cells) for each in right], face)
            feasible = np.all([each > 0 for each in solution], axis=0)
            objective = np.where(feasible, total - gain, np.inf)
            # With the interior feasible no face can be lower, since the problem is convex.
            better = objective < best[:, cells]
            best[:, cells] = np.where(better, objective, best[:, cells])
            for index in range(3):
                value = solution[face.index(index)] if index in face else 0.0
                amplitudes[:, cells, index] = np.where(better, value, amplitudes[:, cells, index])
        return Cells(amplitudes, best)

    def _representatives(self, face: tuple[int, ...]) -> IntArray:
        """Give the cells to solve a face in: without a power its exponent is of no effect, so one cell stands for many."""
        if 0 in face and (1 in face or 1 not in self._terms):
            return np.arange(len(self.cells))
        keys = self._first if 0 in face else self._second if 1 in face else np.zeros(len(self.cells))
        places: IntArray = np.unique(keys, return_index=True)[1]
        return places


def _column(values: FloatArray, cells: IntArray) -> FloatArray:
    return values if values.shape[1] == 1 else values[:, cells]


def _at(gram: dict[tuple[int, int], FloatArray], cells: IntArray) -> dict[tuple[int, int], FloatArray]:
    return {place: _column(values, cells) for place, values in gram.items()}


def _solve_face(
    gram: dict[tuple[int, int], FloatArray], right: Sequence[FloatArray], face: tuple[int, ...]
) -> tuple[list[FloatArray], FloatArray]:
    """Solve the normal equations of some amplitudes by elimination; returns them and by how much the objective falls."""
    matrix = {(a, b): gram[face[a], face[b]] for a in range(len(face)) for b in range(a, len(face))}
    x = [right[k] for k in face]
    with np.errstate(all="ignore"):
        for j in range(len(face)):
            for a in range(j + 1, len(face)):
                factor = matrix[j, a] / matrix[j, j]
                for b in range(a, len(face)):
                    matrix[a, b] = matrix[a, b] - factor * matrix[j, b]
                x[a] = x[a] - factor * x[j]
        gain: FloatArray = np.asarray(sum(x[j] * x[j] / matrix[j, j] for j in range(len(face))))
        solution: list[FloatArray] = [gain] * len(face)
        for j in range(len(face) - 1, -1, -1):
            rest = x[j]
            for b in range(j + 1, len(face)):
                rest = rest - matrix[j, b] * solution[b]
            solution[j] = rest / matrix[j, j]
    return [np.where(np.isfinite(each), each, -1.0) for each in solution], gain


def local_cells(objective: FloatArray, cells: FloatArray, most: int) -> IntArray:
    """Give the numbers of the cells that are lower than their neighbours, then of the other low ones; `most` in all.

    Args:
        objective: Shape (cells,).
        cells: Pairs of exponents, shape (cells, 2), a full product of two axes in order, or any list.
        most: How many at most.
    """
    order = np.argsort(objective, kind="stable")
    rows, columns = len(np.unique(cells[:, 0])), len(np.unique(cells[:, 1]))
    if rows * columns != len(cells):
        return order[:most]
    padded = np.pad(objective.reshape(rows, columns), 1, constant_values=np.inf)
    around = [
        padded[1 + down : 1 + down + rows, 1 + right : 1 + right + columns]
        for down in (-1, 0, 1)
        for right in (-1, 0, 1)
        if (down, right) != (0, 0)
    ]
    # A cell without a solution is no lower than its neighbours, though among its like it would pass for it.
    is_local = (objective.reshape(rows, columns) <= np.min(around, axis=0)).ravel() & np.isfinite(objective)
    ranked = np.concatenate([order[is_local[order]], order[~is_local[order]]])
    kept: IntArray = ranked[:most][np.isfinite(objective[ranked[:most]])]
    return kept


def log_amplitudes(amplitudes: FloatArray, lowest: FloatArray) -> FloatArray:
    """Give finite logarithms of amplitudes at the centre of the data; those of 0 get a small share of the lowest loss.

    Args:
        amplitudes: Shape (..., 3).
        lowest: Lowest loss, of a shape that broadcasts to (..., 1).
    """
    logs: FloatArray = np.log(np.maximum(amplitudes, _SMALL_SHARE * lowest))
    return logs
