"""Starts of laws that are sums of powers, from a grid of exponents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evalkit.scaling.arrays import FloatArray
from evalkit.scaling.laws.base import Starter
from evalkit.scaling.solver.grid import EXPONENTS, ExponentGrid, local_cells, log_amplitudes

_CHUNK = 40_000
"""Cells of all problems that are solved together: what stays in a processor's cache is solved twice as fast."""


def cell_grid(alphas: Sequence[float] | None, betas: Sequence[float] | None, is_tied: bool = False) -> FloatArray:
    """Give pairs of exponents, shape (cells, 2).

    Args:
        alphas: Exponents of x; None takes the usual ones.
        betas: Exponents of y; None takes the usual ones.
        is_tied: Whether only equal pairs are wanted; `betas` is then of no effect.
    """
    first = EXPONENTS if alphas is None else np.asarray(alphas, dtype=float)
    if is_tied:
        return np.column_stack([first, first])
    second = EXPONENTS if betas is None else np.asarray(betas, dtype=float)
    return np.array([(alpha, beta) for alpha in first for beta in second])


@dataclass(eq=False)
class PowerStarter(Starter):
    """Starts of A x^-alpha + B y^-beta + E.

    Args:
        log_x: ln x, shape (n,).
        log_y: ln y; None where the law has one power alone.
        losses: Shape (n,).
        cells: Pairs of exponents.
        has_offset: Whether the law has E.
        place: Maps ln A, ln B, E, alpha and beta, each of shape (S,), to coordinates of shape (S, P).
    """

    log_x: FloatArray
    log_y: FloatArray | None
    losses: FloatArray
    cells: FloatArray
    has_offset: bool
    place: Callable[[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray], FloatArray]

    def __post_init__(self) -> None:
        self.center_x = float(self.log_x.mean())
        self.center_y = 0.0 if self.log_y is None else float(self.log_y.mean())
        log_y = None if self.log_y is None else self.log_y - self.center_y
        self.grid = ExponentGrid(self.log_x - self.center_x, log_y, self.cells, self.has_offset)

    def spread(self, weights: FloatArray, most: int) -> FloatArray:
        """Give the best amplitudes of the lowest cells."""
        solved = self.grid.solve(weights[None], self.losses)
        chosen = local_cells(solved.objective[0], self.cells, most)
        return self._coordinates(solved.amplitudes[0][chosen], self.cells[chosen], self.losses.min())

    def resampled(self, weights: FloatArray, losses: FloatArray) -> FloatArray:
        """Give the best amplitudes of each problem's lowest cell."""
        parts = []
        size = max(1, _CHUNK // len(self.cells))
        for first in range(0, len(weights), size):
            rows = slice(first, first + size)
            own = losses if losses.ndim == 1 else losses[rows]
            solved = self.grid.solve(weights[rows], own)
            best = solved.objective.argmin(axis=1)
            lowest = np.broadcast_to(own.min(axis=-1), (len(best),))[:, None]
            amplitudes = solved.amplitudes[np.arange(len(best)), best]
            parts.append(self._coordinates(amplitudes, self.cells[best], lowest))
        return np.concatenate(parts)

    def _coordinates(self, amplitudes: FloatArray, exponents: FloatArray, lowest: FloatArray | float) -> FloatArray:
        logs = log_amplitudes(amplitudes, np.asarray(lowest))
        alpha, beta = exponents[:, 0], exponents[:, 1]
        return self.place(
            logs[:, 0] + alpha * self.center_x, logs[:, 1] + beta * self.center_y, amplitudes[:, 2], alpha, beta
        )
