"""Profile likelihood: how much worse the best fit gets as one parameter is held away from its estimate.

The objective is a quasi-likelihood: 2 (Q - Q_min) / s^2 with s^2 = E psi^2 / E psi' is compared with the square of Student's t,
which is exact for a linear law under squares, and near to chi-squared for many points.

References:
    Bates and Watts, 1988, Nonlinear Regression Analysis and Its Applications, section 6.1.
    Huber, 1981, Robust Statistics, section 7.10.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evalkit.comparison.distributions import t_quantile
from evalkit.scaling.arrays import FloatArray
from evalkit.scaling.sandwich import Covariances, covariances
from evalkit.scaling.solution import Solution

_STEPS = np.array([0.25, 0.5, 0.75, 1.0, 1.4, 1.9, 2.5, 3.3, 4.5, 6.5, 10.0, 16.0])
"""Where a curve is computed, in multiples of the larger standard error times t."""
_LONGEST = 3.0
"""Largest reach of a logarithm."""
_RISE = 0.02
"""Reach of an offset that is 0, as a share of the lowest loss."""
_ROUNDS = 3
"""How often the ends are refined."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Profile:
    """The profile of one parameter."""

    name: str
    values: FloatArray
    """Held values in ascending order, shape (m,)."""
    statistic: FloatArray
    """2 (Q - Q_min) / s^2 at each, shape (m,)."""
    threshold: float
    """Below it a value is within the interval."""
    low: float | None
    """Lower end; None where the profile stays below the threshold as far as it was followed."""
    high: float | None
    """Upper end; likewise."""


def profiles(solution: Solution, level: float = 0.95) -> dict[str, Profile]:
    """Profile every parameter that was fitted.

    Args:
        solution: The fit.
        level: Two-sided level of the intervals.
    """
    model = solution.face
    degrees = max(len(model.points) - model.free_count, 1)
    threshold = t_quantile(0.5 + level / 2.0, degrees) ** 2
    covariance = covariances(solution)
    followers = {second for _, second in model.search.frame.ties}
    result = {}
    for index in model.shown:
        is_held = index in model.search.frame.held and not model.coordinates[index].is_offset
        if is_held or index in followers or index in solution.model.search.frame.held:
            continue
        result[model.names[index]] = _profile(solution, index, threshold, covariance)
    return result


def _profile(solution: Solution, index: int, threshold: float, covariance: Covariances) -> Profile:
    center = solution.coordinates[index]
    variance = max(covariance.homoscedastic[index, index], covariance.robust[index, index])
    reach = float(np.sqrt(max(variance, 1e-12) * threshold))
    coordinate = solution.model.coordinates[index]
    if coordinate.is_log:
        reach = min(reach, _LONGEST)
    if not variance > 0:
        # An offset on its limit of 0: the curvature says nothing of how far it may rise.
        reach = _RISE * float(solution.model.points.loss.min())
    held = np.concatenate([center - reach * _STEPS[::-1], [center], center + reach * _STEPS])
    frame = solution.model.search.frame
    held = np.unique(np.clip(held, max(frame.low[index], center - 40.0), frame.high[index]))
    statistic = _statistic(solution, index, held, covariance)
    for _ in range(_ROUNDS):
        more = _between(held, statistic, threshold)
        if not len(more):
            break
        added = _statistic(solution, index, more, covariance)
        held, order = np.unique(np.concatenate([held, more]), return_index=True)
        statistic = np.concatenate([statistic, added])[order]
    limits = float(frame.low[index]), float(frame.high[index])
    low, high = _crossings(held, statistic, threshold, (int(np.searchsorted(held, center)), limits))
    ends = [None if end is None else float(coordinate.to_values(np.array(end))) for end in (low, high)]
    return Profile(
        name=coordinate.name,
        values=coordinate.to_values(held),
        statistic=statistic,
        threshold=threshold,
        low=ends[0],
        high=ends[1],
    )


def _statistic(solution: Solution, index: int, held: FloatArray, covariance: Covariances) -> FloatArray:
    """Fit everything else with one coordinate held at each of m values; returns shape (m,)."""
    model = solution.model
    frame = model.search.frame.hold(index, float(solution.coordinates[index]))
    moved = [index, *(second for first, second in frame.ties if first == index)]
    search = replace(model.search, frame=frame, own=dict.fromkeys(moved, held))
    # Along the profile the others move, to first order, as their covariance with the held one says.
    row = covariance.homoscedastic[index]
    slope = row / row[index] if row[index] > 0 else np.zeros_like(row)
    along = (held - solution.coordinates[index])[:, None] * slope
    objective = np.full(len(held), np.inf)
    for base in solution.bases:
        starts = base + along
        starts[:, moved] = held[:, None]
        objective = np.minimum(objective, search.run(model.weights, starts, solution.coordinates).objective)
    return np.maximum(2.0 * (objective - solution.objective) / solution.noise, 0.0)


def _between(held: FloatArray, statistic: FloatArray, threshold: float) -> FloatArray:
    """Give the places where the square root of the statistic crosses that of the threshold, by interpolation."""
    root = np.sqrt(statistic)
    inside = statistic <= threshold
    rows = np.flatnonzero(inside[1:] != inside[:-1])
    share = (np.sqrt(threshold) - root[rows]) / (root[rows + 1] - root[rows])
    places = held[rows] + share * (held[rows + 1] - held[rows])
    near = np.min(np.abs(places[:, None] - held[None]), axis=1) if len(places) else places
    far: FloatArray = places[near > 1e-6 * (held[-1] - held[0])]
    return far


def _crossings(
    held: FloatArray, statistic: FloatArray, threshold: float, place: tuple[int, tuple[float, float]]
) -> tuple[float | None, float | None]:
    """Give the outermost values on both sides at which the profile is still below the threshold, by interpolation.

    A side that stays below ends at the parameter's limit if it was followed that far, and has no end otherwise.
    """
    middle, limits = place
    ends: list[float | None] = []
    for side, limit in zip((-1, 1), limits, strict=True):
        rows = np.arange(middle, len(held)) if side > 0 else np.arange(min(middle, len(held) - 1), -1, -1)
        inside = np.flatnonzero(statistic[rows] <= threshold)
        last = int(inside[-1]) if len(inside) else 0
        if last == len(rows) - 1:
            ends.append(limit if held[rows[last]] == limit else None)
            continue
        first, second = rows[last], rows[last + 1]
        roots = np.sqrt(statistic[[first, second]])
        share = (np.sqrt(threshold) - roots[0]) / (roots[1] - roots[0])
        ends.append(float(held[first] + share * (held[second] - held[first])))
    return ends[0], ends[1]
