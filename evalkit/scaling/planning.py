"""Which runs to train next: those that make a prediction, or the best size for a budget, most certain for their cost.

To first order the variance of a quantity q is c' M^-1 c / s, with c its gradient, M the information of the runs and s the
noise; a run at (N, D) adds g g' to M. Runs are chosen one by one, each the one that lowers the variance most among those that
its share of the budget pays for, then exchanged until none improves it.

References:
    Pronzato and Pazman, 2013, Design of Experiments in Nonlinear Models, section 5.1 (c-optimality), section 9.2 (exchange).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evalkit.comparison.distributions import t_quantile
from evalkit.errors import InvalidInputError
from evalkit.scaling.arrays import BoolArray, FloatArray, IntArray
from evalkit.scaling.bands import inputs_of
from evalkit.scaling.columns import require_number
from evalkit.scaling.estimates import parameter_rows
from evalkit.scaling.laws.base import Inputs
from evalkit.scaling.optimal import best_size
from evalkit.scaling.result import Fit

_GRID = 24
_EXCHANGES = 20
_STEP = 1e-5


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """One run to train."""

    N: float
    D: float
    C: float
    """6ND."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Runs to train next, and what they are expected to bring."""

    runs: tuple[PlannedRun, ...]
    target: str
    """What was to become certain."""
    spent: float
    """Compute of all runs."""
    half_width_before: float
    """Half width of the interval of the log of the target as it is, as a share."""
    half_width_after: float
    """The same, expected with the runs."""


def suggest_runs(
    fit: Fit,
    budget: float,
    *,
    runs: int = 4,
    at: Mapping[str, float] | None = None,
    C: float | None = None,
    within: Mapping[str, tuple[float, float]] | None = None,
) -> Plan:
    """Choose runs for a budget.

    Args:
        fit: A fit of a law of N and D.
        budget: FLOPs for all runs together.
        runs: How many runs.
        at: Where the predicted loss is to become certain, by predictor.
        C: In place of `at`: the budget whose best size is to become certain.
        within: Lowest and highest N and D; None takes the range of the points, and ten times beyond it.

    Raises:
        InvalidInputError: No run within the limits fits the budget, both or neither of `at` and C are given, or the law is not
            one of N and D.
    """
    budget = require_number("budget", budget)
    if not {"N", "D"} <= set(fit.law.predictors) or fit.groups:
        raise InvalidInputError(f"the law {fit.law.name!r} cannot be planned for; fit 'chinchilla' to plan runs")
    if (at is None) == (C is None):
        raise InvalidInputError("expected one of at (a size and tokens) and C (a budget), found both or neither")
    if runs < 1:
        raise InvalidInputError(f"runs is {runs!r}; expected 1 or more")
    places, costs = _candidates(fit, budget, within or {})
    free = np.flatnonzero(np.diag(fit.local.homoscedastic) > 0)
    gradient = _loss_gradient(fit, at) if at is not None else _size_gradient(fit, require_number("C", C))
    chosen, before, after = _choose(
        _information(fit, free), (places, _slopes(fit, places)[:, free], costs), gradient[free], (budget, runs)
    )
    reach = t_quantile(0.5 + fit.level / 2.0, max(fit.local.degrees, 1))
    noise = float(np.sqrt(_noise(fit, free)))
    target = (
        f"loss at {', '.join(f'{name} = {value:.4g}' for name, value in at.items())}"
        if at
        else f"best N for C = {C:.4g}"
    )
    return Plan(
        runs=tuple(PlannedRun(N=float(places[k, 0]), D=float(places[k, 1]), C=float(costs[k])) for k in chosen),
        target=target,
        spent=float(costs[chosen].sum()),
        half_width_before=reach * noise * float(np.sqrt(before)),
        half_width_after=reach * noise * float(np.sqrt(after)),
    )


def _candidates(fit: Fit, budget: float, within: Mapping[str, tuple[float, float]]) -> tuple[FloatArray, FloatArray]:
    axes = []
    for name in ("N", "D"):
        values = fit.points.axis(name)
        low, high = within.get(name, (float(values.min()), 10.0 * float(values.max())))
        axes.append(np.geomspace(require_number(f"lowest {name}", low), require_number(f"highest {name}", high), _GRID))
    places = np.array([(n, d) for n in axes[0] for d in axes[1]])
    costs = 6.0 * places[:, 0] * places[:, 1]
    affordable = costs <= budget
    if not affordable.any():
        raise InvalidInputError(
            f"budget is {budget:.4g}; the smallest run within the limits costs {float(costs.min()):.4g}, so raise it"
        )
    return places[affordable], costs[affordable]


def _slopes(fit: Fit, places: FloatArray) -> FloatArray:
    """Gradient of ln f at each place, shape (m, P)."""
    curve = fit.law.curve(Inputs(N=places[:, 0], D=places[:, 1]), fit.groups)
    slopes: FloatArray = curve.slopes(curve.evaluate(fit.local.coordinates[None]))[0]
    return slopes


def _information(fit: Fit, free: IntArray) -> FloatArray:
    curve = fit.law.curve(inputs_of(fit, fit.points), fit.groups)
    slopes = curve.slopes(curve.evaluate(fit.local.coordinates[None]))[0][:, free]
    information: FloatArray = slopes.T @ slopes
    return information


def _noise(fit: Fit, free: IntArray) -> float:
    """Variance by which the inverse of the information becomes the covariance that the fit reports."""
    covariance = fit.local.homoscedastic[np.ix_(free, free)]
    return float(np.trace(covariance @ _information(fit, free)) / len(free))


def _loss_gradient(fit: Fit, at: Mapping[str, float]) -> FloatArray:
    curve = fit.law.curve(inputs_of(fit, at), fit.groups)
    gradient: FloatArray = curve.slopes(curve.evaluate(fit.local.coordinates[None]))[0, 0]
    return gradient


def _size_gradient(fit: Fit, budget: float) -> FloatArray:
    """Gradient of ln N* in the coordinates, by differences."""
    steps = _STEP * np.eye(len(fit.local.coordinates))
    logs = []
    for side in (1.0, -1.0):
        values = parameter_rows(fit, fit.local.coordinates + side * steps)
        sizes = best_size(fit, values, np.full(len(steps), budget))
        logs.append(np.log(sizes))
    return np.asarray((logs[0] - logs[1]) / (2.0 * _STEP))


def _choose(
    information: FloatArray,
    candidates: tuple[FloatArray, FloatArray, FloatArray],
    gradient: FloatArray,
    limits: tuple[float, int],
) -> tuple[list[int], float, float]:
    """Choose candidates greedily, then exchange; returns their numbers, and the variance before and after."""
    _, slopes, costs = candidates
    budget, count = limits
    inverse: FloatArray = np.asarray(np.linalg.pinv(information), dtype=np.float64)
    before = float(gradient @ inverse @ gradient)
    chosen: list[int] = []
    for step in range(count):
        left = budget - float(costs[chosen].sum())
        allowed = costs <= left / (count - step)
        if not allowed.any():
            break
        chosen.append(_best(inverse, slopes, gradient, allowed))
        inverse = _added(inverse, slopes[chosen[-1]])
    for _ in range(_EXCHANGES):
        kept = list(chosen)
        for place in range(len(chosen)):
            others = [each for index, each in enumerate(chosen) if index != place]
            inverse = np.asarray(np.linalg.pinv(information + slopes[others].T @ slopes[others]), dtype=np.float64)
            left = budget - float(costs[others].sum())
            chosen[place] = _best(inverse, slopes, gradient, costs <= left)
        if chosen == kept:
            break
    final = np.linalg.pinv(information + slopes[chosen].T @ slopes[chosen])
    return sorted(chosen, key=lambda place: float(costs[place])), before, float(gradient @ final @ gradient)


def _best(inverse: FloatArray, slopes: FloatArray, gradient: FloatArray, allowed: BoolArray) -> int:
    """Give the candidate that lowers the variance of the target most."""
    gain = (slopes @ inverse @ gradient) ** 2 / (1.0 + np.einsum("np,pq,nq->n", slopes, inverse, slopes))
    return int(np.argmax(np.where(allowed, gain, -1.0)))


def _added(inverse: FloatArray, slope: FloatArray) -> FloatArray:
    """Give the inverse after one run more, by Sherman and Morrison."""
    along = inverse @ slope
    return np.asarray(inverse - np.outer(along, along) / (1.0 + float(slope @ along)))
