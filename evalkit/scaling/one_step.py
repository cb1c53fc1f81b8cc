"""Accuracy from size and tokens in one step: a law inside of a sigmoid, fitted to accuracies alone.

    accuracy = ceiling + (floor - ceiling) / (1 + exp(-(A / N^alpha + B / D^beta + E)))

The loss scale is free: slope and middle of the second step are part of A, B and E. With both a loss and an accuracy at hand
the two-step fit uses more of the data; this one is for runs whose loss was not kept.

References:
    Bhagia et al. (2024), "Establishing Task Scaling Laws via Compute-Efficient Model Ladders", section 5: single step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from evalkit.errors import InvalidInputError
from evalkit.scaling.arrays import FloatArray
from evalkit.scaling.columns import read_numbers, refuse, require_share
from evalkit.scaling.downstream import LinkSettings
from evalkit.scaling.warnings import ScalingWarning

NAMES = ("ln A", "ln B", "E", "alpha", "beta", "ceiling", "floor")
"""The parameters; A and B are at the geometric means of N and D inside of the solver, and in natural units outside."""
_EXPONENTS = (0.05, 0.15, 0.3, 0.5, 0.9)
_REFINED_STARTS = 6
_NEAR_BEST = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OneStep:
    """A fitted one-step law."""

    values: dict[str, float]
    """Parameters by name, in natural units."""
    draws: FloatArray
    """Parameters of each bootstrap draw, `(S, 7)`, in the order of `NAMES`."""
    objective: float
    """Sum of squares."""
    rmse: float
    """Root mean square of what is left, in points of accuracy from 0 to 1."""
    agreed: int
    """Starts that reached the same minimum."""
    level: float
    """Level of the intervals."""
    warnings: tuple[ScalingWarning, ...] = ()
    """What makes it less certain than it looks."""

    def predict(self, sizes: FloatArray, tokens: FloatArray) -> FloatArray:
        """Accuracies of runs with N and D, `(m,)` each."""
        return np.asarray(_accuracy(np.array([self.values[name] for name in NAMES]), np.log(sizes), np.log(tokens)))

    def interval(self, sizes: FloatArray, tokens: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Interval of the mean accuracy of such runs; None without draws."""
        if not len(self.draws):
            return None
        values = np.array([_accuracy(draw, np.log(sizes), np.log(tokens)) for draw in self.draws])
        low, high = np.quantile(values, ((1 - self.level) / 2, (1 + self.level) / 2), axis=0)
        return low, high


def fit_one_step(
    sizes: Sequence[Any] | FloatArray,
    tokens: Sequence[Any] | FloatArray,
    accuracies: Sequence[Any] | FloatArray,
    settings: LinkSettings | None = None,
) -> OneStep:
    """Fit accuracy to N and D by least squares from many starts.

    Args:
        sizes: N of each run, `(n,)`.
        tokens: D.
        accuracies: Accuracy from 0 to 1.
        settings: Limits of floor and ceiling, draws and level; the form is a sigmoid.

    Raises:
        InvalidInputError: A value cannot be used, columns differ in length, or there are fewer runs than parameters.
    """
    chosen = settings or LinkSettings(resamples=0)
    columns = [read_numbers(*pair) for pair in (("N", sizes), ("D", tokens), ("accuracy", accuracies))]
    _check(columns)
    x, z, y = np.log(columns[0]), np.log(columns[1]), columns[2]
    centre = (float(x.mean()), float(z.mean()))
    problem = _Problem(x - centre[0], z - centre[1], y, np.ones(len(y)), chosen)
    ends = [problem.refine(start) for start in problem.starts()]
    best = min(ends, key=lambda end: end[1])
    agreed = sum(end[1] <= best[1] * (1 + _NEAR_BEST) + 1e-15 for end in ends)
    generator = np.random.default_rng(chosen.seed)
    drawn = [problem.weighted(generator).refine(best[0])[0] for _ in range(chosen.resamples)]
    warnings = [] if agreed > 1 else [ScalingWarning("starts-disagree", f"1 of {len(ends)} starts reached the minimum")]
    return OneStep(
        values=dict(zip(NAMES, map(float, _natural(best[0], centre)), strict=True)),
        draws=np.array([_natural(draw, centre) for draw in drawn]).reshape(-1, len(NAMES)),
        objective=best[1],
        rmse=float(np.sqrt(best[1] / len(y))),
        agreed=agreed,
        level=chosen.level,
        warnings=tuple(warnings),
    )


def _check(columns: Sequence[FloatArray]) -> None:
    for name, column in zip(("N", "D", "accuracy"), columns, strict=True):
        if len(column) != len(columns[0]):
            raise InvalidInputError(
                f"column {name!r} has {len(column)} rows and 'N' {len(columns[0])}; expected one a run"
            )
        refuse(name, column, ~np.isfinite(column), "finite numbers; leave such rows out")
    for name, column in zip(("N", "D"), columns[:2], strict=True):
        refuse(name, column, column <= 0, "numbers above 0")
        if len(np.unique(column)) < 2:
            raise InvalidInputError(f"column {name!r} has one value in all rows; expected several, or the two-step fit")
    require_share("accuracy", columns[2])
    if len(columns[0]) < len(NAMES):
        raise InvalidInputError(
            f"{len(columns[0])} runs for {len(NAMES)} parameters; expected at least as many: add runs"
        )


def _accuracy(parameters: FloatArray, x: FloatArray, z: FloatArray) -> FloatArray:
    log_a, log_b, offset, alpha, beta, ceiling, floor = parameters
    inner = np.exp(log_a - alpha * x) + np.exp(log_b - beta * z) + offset
    return np.asarray(ceiling + (floor - ceiling) * 0.5 * (1 + np.tanh(inner / 2)))


def _slopes(parameters: FloatArray, x: FloatArray, z: FloatArray) -> FloatArray:
    """Derivatives of the accuracies by the parameters, `(n, 7)`."""
    log_a, log_b, offset, alpha, beta, ceiling, floor = parameters
    by_size, by_tokens = np.exp(log_a - alpha * x), np.exp(log_b - beta * z)
    share = 0.5 * (1 + np.tanh((by_size + by_tokens + offset) / 2))
    tilt = (floor - ceiling) * share * (1 - share)
    inner = (by_size, by_tokens, np.ones_like(x), -x * by_size, -z * by_tokens)
    return np.column_stack((*(tilt * part for part in inner), 1 - share, share))


def _natural(parameters: FloatArray, centre: tuple[float, float]) -> FloatArray:
    """Parameters for ln N and ln D themselves, from those for centred ones."""
    moved = parameters.copy()
    moved[0] += parameters[3] * centre[0]
    moved[1] += parameters[4] * centre[1]
    return moved


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """Centred data and weights."""

    x: FloatArray
    z: FloatArray
    y: FloatArray
    weights: FloatArray
    settings: LinkSettings

    def weighted(self, generator: np.random.Generator) -> _Problem:
        """The same runs, each as often as it is drawn."""
        counts = generator.multinomial(len(self.y), np.full(len(self.y), 1 / len(self.y))).astype(np.float64)
        return _Problem(self.x, self.z, self.y, counts, self.settings)

    def starts(self) -> list[FloatArray]:
        """For a grid of exponents, the law that fits the logits best by linear least squares; the best few."""
        floor, ceiling = max(self.settings.floor, 0.0), self.settings.ceiling
        low = min(floor, float(self.y.min()) - 0.02)
        share = np.clip((self.y - low) / (ceiling + 0.01 - low), 0.01, 0.99)
        target = -np.log(share / (1 - share))
        found: list[tuple[float, int, FloatArray]] = []
        for alpha, beta in product(_EXPONENTS, repeat=2):
            basis = np.column_stack((np.exp(-alpha * self.x), np.exp(-beta * self.z), np.ones(len(self.y))))
            a, b, offset = np.linalg.lstsq(basis, target, rcond=None)[0]
            logs = np.log(np.maximum((a, b), 1e-3))
            start = np.array([*logs, offset, alpha, beta, ceiling - 1e-3, max(low, 0.0) + 1e-3])
            found.append((float(((_accuracy(start, self.x, self.z) - self.y) ** 2).sum()), len(found), start))
        return [start for _, _, start in sorted(found, key=lambda item: item[:2])[:_REFINED_STARTS]]

    def refine(self, start: FloatArray) -> tuple[FloatArray, float]:
        """Go downhill within the bounds; gives parameters and sum of squares."""
        from scipy.optimize import least_squares

        root = np.sqrt(self.weights)
        lower = [-20.0, -20.0, -50.0, 0.0, 0.0, 0.0, self.settings.floor]
        upper = [20.0, 20.0, 50.0, 3.0, 3.0, self.settings.ceiling, 1.0]
        inside = np.clip(start, np.array(lower) + 1e-9, np.array(upper) - 1e-9)
        done = least_squares(
            lambda p: root * (_accuracy(p, self.x, self.z) - self.y),
            inside,
            jac=lambda p: root[:, None] * _slopes(p, self.x, self.z),
            bounds=(lower, upper),
            x_scale="jac",
            ftol=1e-10,
            xtol=1e-10,
            gtol=1e-12,
            max_nfev=300,
        )
        return np.asarray(done.x), float(2 * done.cost)
