"""How much the answer depends on the loss function and on a few points: often more than its interval says.

Every loss function is fitted to all points and to the points without the k that stand out most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.scaling.arrays import FloatArray, IntArray
from evalkit.scaling.fit_checks import influences
from evalkit.scaling.losses import Loss
from evalkit.scaling.model import Model, build_model
from evalkit.scaling.result import Fit
from evalkit.scaling.sandwich import covariances
from evalkit.scaling.solution import Solution, solve
from evalkit.scaling.solver.threads import one_thread

CRITERIA: Mapping[str, str] = {
    "residual": "the largest residuals",
    "influence": "the points that move an exponent most",
    "loss": "the largest losses",
}
"""By what points are dropped."""
_WIDTHS = (0.1, 1.0, 3.0, 10.0)
"""Widths of Huber losses in the table, in multiples of the fit's own."""
_SHARES = (0.02, 0.05, 0.1)
"""Shares of the points that are dropped unless numbers are given."""


@dataclass(frozen=True, kw_only=True)
class SensitivityRow:
    """One line of the table."""

    loss: Loss
    dropped: int
    """Number of points left out."""
    criterion: str
    """By what they were chosen."""
    values: Mapping[str, float]
    """Parameters and derived quantities by name; without a term what follows from it is left out."""
    objective: float
    """Under the line's own loss and points."""
    converged: bool


def sensitivity(fit: Fit, drops: Sequence[int] | None = None, criterion: str = "residual") -> list[SensitivityRow]:
    """Fit again under every loss and without the points that stand out.

    Args:
        fit: The fit.
        drops: Numbers of points to leave out; None takes 0 and 2, 5 and 10% of them.
        criterion: One of `CRITERIA`; the order is that of the fit itself, for all lines alike.

    Raises:
        InvalidInputError: Too few points would be left.
        UnknownNameError: There is no such criterion.
    """
    if criterion not in CRITERIA:
        raise UnknownNameError("criterion", str(criterion), CRITERIA)
    with one_thread(), np.errstate(all="ignore"):
        model = build_model(fit.points, fit.law, fit.loss, fit.constraints)
        solution = solve(model)
        counts = _counts(model, drops)
        order = _order(solution, criterion)
        weights = np.repeat(model.weights[None], len(counts), axis=0)
        for row, count in enumerate(counts):
            weights[row, order[:count]] = 0.0
        rows: list[SensitivityRow] = []
        for loss in _losses(fit.loss):
            rows += _rows(model.with_loss(loss), solution, weights, (counts, criterion))
    return rows


def _counts(model: Model, drops: Sequence[int] | None) -> list[int]:
    n = len(model.points)
    most = n - model.free_count - 1
    if drops is None:
        shares = {max(1, round(share * n)) for share in _SHARES}
        return [0, *sorted(count for count in shares if count <= most)]
    for count in drops:
        if not 0 <= count <= most:
            raise InvalidInputError(
                f"{count!r} points to drop of {n}; expected 0 to {max(most, 0)}, so that a fit is left"
            )
    return list(drops)


def _order(solution: Solution, criterion: str) -> IntArray:
    """Give the numbers of the points, those that stand out most first."""
    model = solution.model
    if criterion == "loss":
        score = model.points.loss
    elif criterion == "residual":
        score = np.abs(solution.residuals)
    else:
        error = np.sqrt(np.diag(covariances(solution).homoscedastic))
        pull = np.abs(influences(solution)) / np.where(error > 0, error, np.inf)
        score = pull[:, [each.is_exponent for each in model.coordinates]].max(axis=1)
    return np.argsort(-score, kind="stable")


def _losses(own: Loss) -> list[Loss]:
    hubers = [Loss(delta=own.delta * width) for width in _WIDTHS]
    linear = Loss(name="linear_huber", delta=own.delta)
    found = [own, Loss(name="lad"), *hubers, Loss(name="squared_log"), linear, Loss(name="linear_squared")]
    kept: list[Loss] = []
    for loss in found:
        same = any(loss.name == other.name and (loss.width() == other.width()) for other in kept)
        if not same:
            kept.append(loss)
    return kept


def _rows(
    model: Model, solution: Solution, weights: FloatArray, labels: tuple[Sequence[int], str]
) -> list[SensitivityRow]:
    counts, criterion = labels
    minima = model.refit(weights, solution.bases)
    values = model.values(minima.coordinates)
    names = [model.names[index] for index in model.shown]
    columns = {name: values[:, place] for place, name in enumerate(names)}
    columns |= model.law.derived(columns)
    return [
        SensitivityRow(
            loss=model.loss,
            dropped=count,
            criterion=criterion,
            values={name: float(column[row]) for name, column in columns.items() if np.isfinite(column[row])},
            objective=float(minima.objective[row]) * model.weight_scale,
            converged=bool(minima.converged[row]),
        )
        for row, count in enumerate(counts)
    ]
