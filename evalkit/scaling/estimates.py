"""Quantities that follow from a fit, with intervals: whatever is computed at the solution is computed on every resample."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from evalkit.comparison.distributions import t_quantile
from evalkit.errors import InvalidInputError
from evalkit.scaling.arrays import FloatArray
from evalkit.scaling.result import Fit

Values: TypeAlias = Mapping[str, FloatArray]
"""Parameters by name, each of shape (S,)."""
Quantities: TypeAlias = dict[str, FloatArray]
"""Positive quantities by name, each of shape (S,); NaN or infinite where a resample has no answer."""

_STEP = 1e-5


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A quantity with its interval."""

    value: float
    low: float | None = None
    """Lower end; None without intervals."""
    high: float | None = None
    """Upper end; None without intervals, or where it is without bound."""


def parameter_rows(fit: Fit, coordinates: FloatArray, group: str | None = None) -> dict[str, FloatArray]:
    """Map coordinates, shape (S, P), to parameters by name, each of shape (S,).

    Args:
        fit: The fit.
        coordinates: In the solver's coordinates.
        group: Whose E is meant where each group has its own; needed only then.

    Raises:
        InvalidInputError: A group is needed, or is not among the fit's.
    """
    law, groups = fit.law, fit.groups
    names = law.coordinates(groups)
    rows = {each.name: each.to_values(coordinates[:, place]) for place, each in enumerate(names)}
    if groups:
        if group not in groups:
            raise InvalidInputError(f"group is {group!r}; expected one of {', '.join(map(repr, groups))}")
        rows["E"] = rows[f"E[{group}]"]
    return rows


def estimate(fit: Fit, compute: Callable[[Values], Quantities], group: str | None = None) -> dict[str, Estimate]:
    """Compute quantities with intervals.

    Resamples give percentiles; without resamples the interval is symmetric on the log scale, to first order.

    Args:
        fit: The fit.
        compute: Maps parameters of S fits to quantities, elementwise.
        group: As in `parameter_rows`.
    """
    center = compute(parameter_rows(fit, fit.local.coordinates[None], group))
    ends: Mapping[str, tuple[float | None, float | None]] = {}
    if fit.draws is not None:
        ends = _percentiles(compute(parameter_rows(fit, fit.draws.coordinates, group)), fit.level)
    elif fit.method != "none" and fit.local.degrees > 0:
        ends = _first_order(fit, compute, center, group)
    return {
        name: Estimate(value=float(value[0]), low=ends.get(name, (None, None))[0], high=ends.get(name, (None, None))[1])
        for name, value in center.items()
    }


def _percentiles(quantities: Quantities, level: float) -> dict[str, tuple[float | None, float | None]]:
    tail = (1.0 - level) / 2.0
    return {name: interval(values, tail) for name, values in quantities.items()}


def interval(values: FloatArray, tail: float) -> tuple[float | None, float | None]:
    """Give both percentiles of draws; draws without an answer count as without bound above."""
    filled = np.where(np.isfinite(values), values, np.inf)
    low, high = np.quantile(filled, [tail, 1.0 - tail], method="inverted_cdf")
    return (float(low) if np.isfinite(low) else None), (float(high) if np.isfinite(high) else None)


def _first_order(
    fit: Fit, compute: Callable[[Values], Quantities], center: Quantities, group: str | None
) -> dict[str, tuple[float | None, float | None]]:
    steps = _STEP * np.eye(len(fit.local.coordinates))
    with np.errstate(all="ignore"):
        above = compute(parameter_rows(fit, fit.local.coordinates + steps, group))
        below = compute(parameter_rows(fit, fit.local.coordinates - steps, group))
        covariance = fit.local.homoscedastic if fit.method == "homoscedastic" else fit.local.robust
        reach = t_quantile(0.5 + fit.level / 2.0, fit.local.degrees)
        ends: dict[str, tuple[float | None, float | None]] = {}
        for name, value in center.items():
            slope = (np.log(above[name]) - np.log(below[name])) / (2.0 * _STEP)
            slope = np.where(np.diag(covariance) > 0, slope, 0.0)
            error = math.sqrt(max(float(slope @ covariance @ slope), 0.0))
            if math.isfinite(error):
                ends[name] = float(value[0] * np.exp(-reach * error)), float(value[0] * np.exp(reach * error))
    return ends
