"""Predictions of a fit, with bands for the law itself and for one new run.

The band of the law holds what the resamples predict. That of a run adds what a run scatters around the law: residuals of the
fit, widened for the parameters that were fitted to them. Far beyond the points both are too narrow, since they trust the form
of the law; the backtest says by how much.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.comparison.distributions import t_quantile
from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.scaling.arrays import FloatArray
from evalkit.scaling.laws.base import Inputs, inputs_at
from evalkit.scaling.losses import residuals_of
from evalkit.scaling.points import Points
from evalkit.scaling.result import Fit
from evalkit.scaling.warnings import ScalingWarning

KINDS = {"mean": "the law itself", "run": "one new run"}
FAR = 10.0
"""Beyond this multiple of the largest compute of the points a prediction is called an extrapolation."""
_RUN_DRAWS = 64
"""Residuals drawn for each resample of a band."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Band:
    """Predicted losses with a band; arrays of shape (m,)."""

    center: FloatArray
    low: FloatArray
    high: FloatArray
    kind: str
    """mean or run."""
    level: float
    """Two-sided."""
    reach: FloatArray | None
    """Compute over the largest compute of the points; None where it is not known."""
    warnings: tuple[ScalingWarning, ...] = ()


def predict(fit: Fit, at: Mapping[str, Any] | Points) -> FloatArray:
    """Predict losses, shape (m,); see `Fit.predict`."""
    losses: FloatArray = np.exp(log_curve(fit, inputs_of(fit, at), fit.local.coordinates[None])[0])
    return losses


def inputs_of(fit: Fit, at: Mapping[str, Any] | Points) -> Inputs:
    """Read where a fit is to be evaluated."""
    return inputs_at(at, fit.groups, (*fit.law.predictors, *fit.law.optional))


def log_curve(fit: Fit, inputs: Inputs, coordinates: FloatArray) -> FloatArray:
    """Give predicted log losses, shape (S, m), for coordinates of shape (S, P)."""
    with np.errstate(all="ignore"):
        return fit.law.curve(inputs, fit.groups).evaluate(coordinates).log_values


def predict_interval(fit: Fit, at: Mapping[str, Any] | Points, *, kind: str, level: float | None) -> Band:
    """Predict losses with a band; see `Fit.predict_interval`."""
    if kind not in KINDS:
        raise UnknownNameError("kind of band", str(kind), KINDS)
    level = fit.level if level is None else level
    if not 0 < level < 1:
        raise InvalidInputError(f"level is {level!r}; expected one between 0 and 1, such as 0.95")
    if fit.local.degrees < 2:
        raise InvalidInputError(
            f"found {fit.quality.n} points for {fit.quality.n - fit.local.degrees} parameters;"
            " expected two more at least for a band"
        )
    inputs = inputs_of(fit, at)
    center = log_curve(fit, inputs, fit.local.coordinates[None])[0]
    ends = _by_draws(fit, inputs, kind, level) if fit.draws is not None else _by_curvature(fit, inputs, kind, level)
    reach = reach_of(fit, at)
    return Band(
        center=np.exp(center),
        low=ends[0],
        high=ends[1],
        kind=kind,
        level=level,
        reach=reach,
        warnings=extrapolation_warnings(reach),
    )


def _by_draws(fit: Fit, inputs: Inputs, kind: str, level: float) -> tuple[FloatArray, FloatArray]:
    assert fit.draws is not None
    tail = (1.0 - level) / 2.0
    values = np.exp(log_curve(fit, inputs, fit.draws.coordinates))
    if kind == "mean":
        low, high = np.quantile(values, [tail, 1.0 - tail], axis=0)
        return low, high
    residuals = _spread_residuals(fit)
    generator = np.random.default_rng([fit.draws.seed, 1])
    drawn = residuals[generator.integers(0, len(residuals), size=(len(values), _RUN_DRAWS))]
    low, high = np.empty(values.shape[1]), np.empty(values.shape[1])
    for place in range(values.shape[1]):
        mean = values[:, place, None]
        runs = mean + drawn if fit.loss.is_linear else mean * np.exp(drawn)
        low[place], high[place] = np.quantile(runs, [tail, 1.0 - tail])
    return low, high


def _spread_residuals(fit: Fit) -> FloatArray:
    """Residuals of the fit, centred and widened for the parameters that were fitted to them."""
    predicted = log_curve(fit, inputs_of(fit, fit.points), fit.local.coordinates[None])[0]
    residuals = residuals_of(fit.loss, fit.points.loss, predicted)
    widened: FloatArray = (residuals - residuals.mean()) * np.sqrt(len(residuals) / fit.local.degrees)
    return widened


def _by_curvature(fit: Fit, inputs: Inputs, kind: str, level: float) -> tuple[FloatArray, FloatArray]:
    curve = fit.law.curve(inputs, fit.groups)
    state = curve.evaluate(fit.local.coordinates[None])
    slopes = curve.slopes(state)[0]
    covariance = fit.local.homoscedastic if fit.method == "homoscedastic" else fit.local.robust
    variance = np.einsum("np,pq,nq->n", slopes, covariance, slopes)
    center = np.exp(state.log_values[0])
    if fit.loss.is_linear:
        variance = variance * center**2
    if kind == "run":
        variance = variance + float(np.mean(_spread_residuals(fit) ** 2))
    reach = t_quantile(0.5 + level / 2.0, fit.local.degrees) * np.sqrt(variance)
    if fit.loss.is_linear:
        return center - reach, center + reach
    return center * np.exp(-reach), center * np.exp(reach)


def reach_of(fit: Fit, at: Mapping[str, Any] | Points) -> FloatArray | None:
    """Give compute over the largest compute of the points, shape (m,); None where either is not known."""
    largest = _compute(fit.points)
    there = _compute(at)
    return None if largest is None or there is None else np.asarray(there / largest.max())


def _compute(at: Mapping[str, Any] | Points) -> FloatArray | None:
    if isinstance(at, Points):
        return at.C
    if at.get("C") is not None:
        return np.atleast_1d(np.asarray(at["C"], dtype=float))
    if at.get("N") is None or at.get("D") is None:
        return None
    N, D = (np.atleast_1d(np.asarray(at[name], dtype=np.float64)) for name in ("N", "D"))
    compute: FloatArray = 6.0 * N * D
    return compute


def extrapolation_warnings(reach: FloatArray | None) -> tuple[ScalingWarning, ...]:
    """Warn where predictions lie more than ten times beyond the largest compute."""
    if reach is None or not (reach > FAR).any():
        return ()
    text = f"predictions reach {float(reach.max()):.3g} times the largest compute of the points;"
    return (ScalingWarning("extrapolation", f"{text} bands there trust the law's form, see the backtest"),)
