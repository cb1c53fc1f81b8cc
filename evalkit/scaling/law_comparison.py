"""Which law the points ask for: information criteria and cross-validation side by side.

A loss function rho stands for the density exp(-rho(r) / t) / Z(t); its scale t is fitted like a parameter, so that the criteria
hold under Huber losses and absolute deviations too. Cross-validation asks the same without any density.

References:
    Akaike, 1974, A New Look at the Statistical Model Identification.
    Hurvich and Tsai, 1989, Regression and Time Series Model Selection in Small Samples (AICc).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalkit.errors import InvalidInputError
from evalkit.scaling.arrays import FloatArray, IntArray
from evalkit.scaling.constraints import Constraints
from evalkit.scaling.design_checks import check_points
from evalkit.scaling.laws import law_named
from evalkit.scaling.laws.base import Law
from evalkit.scaling.losses import Loss
from evalkit.scaling.model import Model, build_model
from evalkit.scaling.points import Points
from evalkit.scaling.solution import Solution, solve
from evalkit.scaling.solver.threads import one_thread
from evalkit.scaling.warnings import ScalingWarning

_SCALES = np.geomspace(1e-3, 1e3, 400)


@dataclass(frozen=True, kw_only=True)
class LawRow:
    """One law among others."""

    law: Law
    label: str
    parameters: int
    """Number of fitted parameters."""
    objective: float
    """Under the common loss function."""
    aicc: float | None
    """Akaike's criterion, corrected for few points; None where there are too few."""
    weight: float | None
    """Share of the evidence by that criterion among the laws compared."""
    held_out: float
    """Mean |ln predicted - ln actual| over held-out points."""
    difference: float
    """Held-out error less that of the law with the lowest."""
    difference_stderr: float
    """Standard error of the difference over folds."""


@dataclass(frozen=True, kw_only=True)
class LawComparison:
    """Laws in the order of their held-out error."""

    rows: tuple[LawRow, ...]
    folds: int
    warnings: tuple[ScalingWarning, ...] = ()


def compare_laws(
    points: Points,
    laws: Sequence[str | Law],
    loss: Loss | None = None,
    *,
    folds: int = 10,
    seed: int = 0,
) -> LawComparison:
    """Compare laws on the same points under the same loss function.

    Args:
        points: The runs.
        laws: Laws or names, two at least.
        loss: The loss function; None takes the usual one.
        folds: Parts that are held out in turn; clusters stay whole.
        seed: Same seed, same parts.

    Raises:
        InvalidInputError: Fewer than two laws, or more folds than units.
    """
    if len(laws) < 2:
        raise InvalidInputError(f"found {len(laws)} laws; expected two at least to compare")
    parts = _parts(points, folds, seed)
    with one_thread():
        rows = [_row(points, law, loss or Loss(), parts) for law in laws]
    best = min(range(len(rows)), key=lambda place: float(np.mean(np.concatenate(rows[place].errors))))
    weights = _weights([row.aicc for row in rows])
    listed = [
        LawRow(
            law=row.model.law,
            label=row.label,
            parameters=row.model.free_count,
            objective=row.objective,
            aicc=row.aicc,
            weight=weight,
            held_out=float(np.mean(np.concatenate(row.errors))),
            difference=_difference(row.errors, rows[best].errors)[0],
            difference_stderr=_difference(row.errors, rows[best].errors)[1],
        )
        for row, weight in zip(rows, weights, strict=True)
    ]
    listed.sort(key=lambda row: row.held_out)
    return LawComparison(rows=tuple(listed), folds=folds, warnings=_warnings(listed))


@dataclass(frozen=True, eq=False)
class _Fitted:
    label: str
    model: Model
    objective: float
    aicc: float | None
    errors: list[FloatArray]
    """Held-out |log residuals| of each part."""


def _parts(points: Points, folds: int, seed: int) -> list[IntArray]:
    labels = points.cluster
    codes = np.arange(len(points)) if labels is None else np.unique(np.array(labels), return_inverse=True)[1]
    count = int(codes.max()) + 1
    if not 2 <= folds <= count:
        raise InvalidInputError(f"folds is {folds!r}; expected 2 to {count}, the number of independent units")
    order = np.random.default_rng(seed).permutation(count)
    return [np.flatnonzero(np.isin(codes, part)) for part in np.array_split(order, folds)]


def _row(points: Points, law: str | Law, loss: Loss, parts: Sequence[IntArray]) -> _Fitted:
    chosen = law_named(law)
    model = build_model(points, chosen, loss, Constraints())
    check_points(model)
    solution = solve(model)
    weights = np.repeat(model.weights[None], len(parts), axis=0)
    for row, part in enumerate(parts):
        weights[row, part] = 0.0
    minima = model.refit(weights, solution.bases)
    errors = np.abs(np.log(points.loss) - model.log_predictions(minima.coordinates))
    return _Fitted(
        label=law if isinstance(law, str) else chosen.name,
        model=model,
        objective=solution.objective * model.weight_scale,
        aicc=corrected_aic(solution),
        errors=[errors[row, part] for row, part in enumerate(parts)],
    )


def corrected_aic(solution: Solution) -> float | None:
    """Give AICc; None where parameters, the scale with them, leave fewer than two points over."""
    model = solution.model
    n, k = len(model.points), model.free_count + 1
    if n - k - 1 <= 0:
        return None
    return float(2.0 * negative_log_likelihood(model.loss, solution.residuals) + 2.0 * k * n / (n - k - 1))


def negative_log_likelihood(loss: Loss, residuals: FloatArray) -> float:
    """Give min over t of sum rho(r) / t + n ln Z(t), Z the integral of exp(-rho(r) / t)."""
    total, n = float(loss.rho(residuals).sum()), len(residuals)
    middle = max(total / n, 1e-300)
    best = middle * _SCALES[int(np.argmin([_cost(loss, total, n, middle * each) for each in _SCALES]))]
    step = float(_SCALES[1] / _SCALES[0])
    for _ in range(60):
        step = math.sqrt(step)
        best = min((best / step, best, best * step), key=lambda scale: _cost(loss, total, n, scale))
    return _cost(loss, total, n, best)


def _cost(loss: Loss, total: float, n: int, scale: float) -> float:
    return total / scale + n * _log_integral(loss, scale)


def _log_integral(loss: Loss, scale: float) -> float:
    """Give ln Z(t): a normal within delta, exponential tails beyond."""
    if loss.is_absolute:
        return math.log(2.0 * scale)
    normal = 0.5 * math.log(2.0 * math.pi * scale)
    if loss.is_squared:
        return normal
    reach = loss.delta**2 / (2.0 * scale)
    inner = math.exp(normal) * math.erf(math.sqrt(reach))
    return math.log(inner + 2.0 * scale / loss.delta * math.exp(-reach))


def _weights(criteria: Sequence[float | None]) -> list[float | None]:
    known = [value for value in criteria if value is not None]
    if not known:
        return [None] * len(criteria)
    lowest = min(known)
    raw = [None if value is None else math.exp(-0.5 * (value - lowest)) for value in criteria]
    total = sum(value for value in raw if value is not None)
    return [None if value is None else value / total for value in raw]


def _difference(errors: Sequence[FloatArray], base: Sequence[FloatArray]) -> tuple[float, float]:
    """Give the mean difference over points and its standard error over parts."""
    means = np.array([float(np.mean(a - b)) for a, b in zip(errors, base, strict=True)])
    overall = float(np.mean(np.concatenate(errors)) - np.mean(np.concatenate(base)))
    return overall, float(np.std(means, ddof=1) / math.sqrt(len(means)))


def _warnings(rows: Sequence[LawRow]) -> tuple[ScalingWarning, ...]:
    found = []
    first = rows[0]
    for other in rows[1:]:
        is_close = other.difference <= 2.0 * other.difference_stderr
        if is_close:
            text = f"{first.label} and {other.label} predict held-out points equally well"
            found.append(ScalingWarning("uncertain-choice", f"{text} within two standard errors"))
        larger, smaller = (first, other) if first.parameters > other.parameters else (other, first)
        if larger.parameters > smaller.parameters and (is_close or smaller is first):
            text = f"cross-validation finds no use for what {larger.label} has beyond {smaller.label}"
            found.append(ScalingWarning("term-not-needed", text))
    return tuple(found)
