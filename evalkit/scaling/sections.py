"""Lines through a fitted law, for figures and tables: loss over one axis with the others held, and along the best allocation.

Nothing here needs matplotlib.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.scaling.arrays import FloatArray
from evalkit.scaling.points import Points
from evalkit.scaling.result import Fit

TITLES: Mapping[str, str] = {
    "N": "N, parameters",
    "D": "D, training tokens",
    "C": "C, training compute in FLOPs",
    "6ND": "C = 6ND, training compute in FLOPs",
}
"""Axis to its title, with the unit."""
BEYOND = 10.0
"""Lines go on to so many times the largest value that was observed."""
_PLACES = 121
_SIZES = 400
_FAR = 1e3
_QUANTILES = (0.1, 0.5, 0.9)
_SAME_LEVEL = 1.02
"""Values that differ by less are one level: seeds see a few tokens more or less."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Section:
    """Loss along a line."""

    axis: str
    """N, D or C."""
    label: str
    """What is held."""
    x: FloatArray
    """Places on the axis, `(m,)`."""
    y: FloatArray
    """Loss there."""
    low: FloatArray | None
    """Lower end of the mean's band; None without intervals."""
    high: FloatArray | None
    """Upper end."""
    observed: tuple[float, float]
    """Range of the axis in which there are runs."""
    sizes: FloatArray | None = None
    """N along a line of best allocation."""
    tokens: FloatArray | None = None
    """D along it."""
    held: float | None = None
    """Value of the other axis, where one is held."""


def axis_values(fit: Fit, axis: str) -> FloatArray:
    """Where the runs lie on an axis, `(n,)`.

    A joint law splits C = 6ND; runs whose compute was counted otherwise are shown at their 6ND beside it.
    """
    points = fit.points
    if axis == "C":
        return 6.0 * points.axis("N") * points.axis("D") if len(fit.law.predictors) > 1 else points.compute()
    return points.axis(axis)


def axis_title(fit: Fit, axis: str) -> str:
    """Title of an axis, with the unit."""
    return TITLES["6ND" if axis == "C" and len(fit.law.predictors) > 1 else axis]


def places(values: FloatArray, beyond: float = BEYOND, count: int = _PLACES) -> FloatArray:
    """Spread places evenly over the logarithm of the observed range and beyond it, the range's ends among them."""
    low, high = float(values.min()), float(values.max())
    return np.unique(np.concatenate((np.geomspace(low, high * beyond, count), [low, high])))


def sections(fit: Fit, axis: str) -> list[Section]:
    """Lines over an axis: one for a law of that axis alone, else at low, middle and high values of the other."""
    values = axis_values(fit, axis)
    x = places(values)
    observed = (float(values.min()), float(values.max()))
    if axis in fit.law.predictors and len(fit.law.predictors) == 1:
        return [_section(fit, {axis: x}, {"axis": axis, "label": fit.law.formula, "x": x, "observed": observed})]
    if axis == "C":
        return [best_section(fit, x, observed)]
    other = "D" if axis == "N" else "N"
    found = []
    for held in held_values(fit.points, other):
        line = {"axis": axis, "label": f"{other} = {held:.3g}", "x": x, "observed": observed, "held": held}
        found.append(_section(fit, with_group(fit, {axis: x, other: np.full_like(x, held)}), line))
    return found


def held_values(points: Points, axis: str) -> list[float]:
    """Values of an axis at which lines are drawn: all of a few levels, else low, middle and high ones."""
    levels: list[float] = []
    for level in np.unique(points.axis(axis)).tolist():
        if not levels or level > levels[-1] * _SAME_LEVEL:
            levels.append(level)
    if len(levels) <= len(_QUANTILES):
        return levels
    return [levels[round(share * (len(levels) - 1))] for share in _QUANTILES]


def best_section(fit: Fit, budgets: FloatArray, observed: tuple[float, float]) -> Section:
    """Loss along the best split of each budget C = 6ND into size and tokens."""
    sizes, tokens = best_split(fit, budgets)
    line = {"axis": "C", "label": "best N and D of each budget", "x": budgets, "observed": observed}
    return _section(fit, with_group(fit, {"N": sizes, "D": tokens}), {**line, "sizes": sizes, "tokens": tokens})


def best_split(fit: Fit, budgets: FloatArray) -> tuple[FloatArray, FloatArray]:
    """N and D of the lowest loss for each budget C = 6ND, for any law of both, on a fine grid and a parabola through it."""
    seen = fit.points.axis("N")
    logs = np.linspace(np.log(seen.min() / _FAR), np.log(seen.max() * _FAR), _SIZES)
    step = logs[1] - logs[0]
    sizes = np.repeat(np.exp(logs)[None], len(budgets), axis=0)
    tokens = budgets[:, None] / 6.0 / sizes
    losses = fit.predict(with_group(fit, {"N": sizes.ravel(), "D": tokens.ravel()})).reshape(sizes.shape)
    place = np.clip(losses.argmin(axis=1), 1, _SIZES - 2)
    rows = np.arange(len(budgets))
    left, middle, right = (losses[rows, place + shift] for shift in (-1, 0, 1))
    bend = left - 2 * middle + right
    shift = np.where(bend > 0, 0.5 * (left - right) / np.where(bend > 0, bend, 1.0), 0.0)
    best = np.exp(logs[place] + np.clip(shift, -1, 1) * step)
    return best, budgets / 6.0 / best


def drawn_group(fit: Fit) -> str | None:
    """The group whose lines are drawn: the first one of the points; None for a law without groups."""
    groups = fit.law.groups(fit.points)
    return groups[0] if groups else None


def with_group(fit: Fit, at: Mapping[str, FloatArray]) -> dict[str, object]:
    """Add the group that is drawn to where a law is evaluated."""
    group = drawn_group(fit)
    return dict(at) if group is None else {**at, "group": group}


def _section(fit: Fit, at: Mapping[str, object], line: Mapping[str, Any]) -> Section:
    """Evaluate a law along a line."""
    band = fit.predict_interval(at, kind="mean") if fit.draws is not None else None
    return Section(
        y=fit.predict(at), low=None if band is None else band.low, high=None if band is None else band.high, **line
    )
