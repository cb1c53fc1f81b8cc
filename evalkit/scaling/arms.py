"""Two arms, such as two recipes or corpora, under one law: how their parameters, predictions and best budgets differ.

Arms that trained the same sizes on the same tokens are paired: both are resampled by the same draw, so that what moves both
alike cancels. Other arms are resampled apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from evalkit.errors import InvalidInputError
from evalkit.scaling.arrays import FloatArray, IntArray
from evalkit.scaling.bands import inputs_of, log_curve
from evalkit.scaling.columns import require_number
from evalkit.scaling.estimates import interval, parameter_rows
from evalkit.scaling.fitting import Intervals, fit
from evalkit.scaling.laws import law_named
from evalkit.scaling.laws.base import Law
from evalkit.scaling.losses import Loss
from evalkit.scaling.optimal import best_loss, least_budget
from evalkit.scaling.points import Points
from evalkit.scaling.result import Fit
from evalkit.scaling.warnings import ScalingWarning

_TIE = 1e-10


@dataclass(frozen=True, kw_only=True)
class ArmDifference:
    """One quantity in both arms."""

    name: str
    first: float
    second: float
    difference: float
    """Second less first; for ``compute gain`` the ratio, which is 1 for equal arms."""
    low: float | None
    """Lower end of the interval of the difference."""
    high: float | None
    """Upper end."""
    p: float | None
    """Two-sided bootstrap p of no difference."""


@dataclass(frozen=True, kw_only=True)
class ArmComparison:
    """Two arms side by side."""

    first: Fit
    second: Fit
    is_paired: bool
    """Whether both trained the same sizes on the same tokens and were resampled together."""
    rows: tuple[ArmDifference, ...]
    warnings: tuple[ScalingWarning, ...] = ()


def compare_arms(
    first: Points,
    second: Points,
    law: str | Law = "chinchilla",
    loss: Loss | None = None,
    *,
    at: Mapping[str, float] | None = None,
    C: float | None = None,
    intervals: Intervals | None = None,
) -> ArmComparison:
    """Fit both arms and compare parameters, predictions and the best use of a budget.

    Args:
        first: Runs of the first arm.
        second: Runs of the second arm.
        law: A law or its name.
        loss: The loss function; None takes the usual one.
        at: Where predicted losses are compared, by predictor.
        C: Budget in FLOPs at which the best losses are compared, and by how much the second arm saves compute: how many times
            the budget the first arm needs to reach what the second reaches with it.
        intervals: How both are resampled; None takes the usual bootstrap.

    Raises:
        InvalidInputError: An arm cannot carry the law, or intervals are asked from a method that does not resample.
    """
    chosen = law_named(law)
    resampling = intervals or Intervals()
    places = _pairing(first, second, chosen)
    if places is not None:
        second = second.take(places)
    # Equal counts of rows and one seed make equal draws; another seed makes independent ones.
    other = resampling if places is not None else replace(resampling, seed=resampling.seed + 1)
    fits = [
        fit(points, chosen, loss or Loss(), intervals=each) for points, each in ((first, resampling), (second, other))
    ]
    if any(each.draws is None for each in fits):
        raise InvalidInputError(
            f"method is {resampling.method!r}; expected a bootstrap, from which both arms can be compared"
        )
    rows = [*_parameter_rows(fits, resampling.level)]
    if at is not None:
        rows.append(_difference("loss", [_predicted(each, at) for each in fits], resampling.level))
    if C is not None:
        rows += _budget_rows(fits, require_number("C", C), resampling.level)
    found = [] if places is not None else [_unpaired()]
    found += [
        _uncertain(row) for row in rows if row.name in ("loss", "best loss") and row.p is not None and row.p > 0.05
    ]
    return ArmComparison(
        first=fits[0], second=fits[1], is_paired=places is not None, rows=tuple(rows), warnings=tuple(found)
    )


def _pairing(first: Points, second: Points, law: Law) -> IntArray | None:
    """Give the row of the second arm for each row of the first; None where they do not match one to one."""
    if len(first) != len(second):
        return None
    keys = [_keys(points, law) for points in (first, second)]
    orders = [sorted(range(len(rows)), key=rows.__getitem__) for rows in keys]
    if any(keys[0][a] != keys[1][b] for a, b in zip(*orders, strict=True)):
        return None
    places = np.empty(len(first), dtype=np.int64)
    places[orders[0]] = orders[1]
    return places


def _keys(points: Points, law: Law) -> list[tuple[object, ...]]:
    columns = [points.axis(name).tolist() for name in law.predictors]
    if points.seed is not None:
        columns.append(list(points.seed))
    return list(zip(*columns, strict=True))


def _parameter_rows(fits: list[Fit], level: float) -> list[ArmDifference]:
    names = [*fits[0].parameters, *fits[0].derived]
    columns = []
    for each in fits:
        assert each.draws is not None
        drawn = {name: each.draws.column(name) for name in each.draws.names}
        columns.append(drawn | each.law.derived(drawn))
    return [
        _difference(name, [(each.quantity(name).value, columns[arm][name]) for arm, each in enumerate(fits)], level)
        for name in names
    ]


def _predicted(each: Fit, at: Mapping[str, float]) -> tuple[float, FloatArray]:
    assert each.draws is not None
    inputs = inputs_of(each, at)
    center = float(each.predict(at)[0])
    return center, np.exp(log_curve(each, inputs, each.draws.coordinates)[:, 0])


def _budget_rows(fits: list[Fit], budget: float, level: float) -> list[ArmDifference]:
    losses = []
    for each in fits:
        assert each.draws is not None
        center = best_loss(each, parameter_rows(each, each.local.coordinates[None]), budget)
        drawn = best_loss(each, parameter_rows(each, each.draws.coordinates), budget)
        losses.append((float(center[0]), drawn))
    return [_difference("best loss", losses, level), _gain(fits, losses, budget, level)]


def _gain(fits: list[Fit], losses: list[tuple[float, FloatArray]], budget: float, level: float) -> ArmDifference:
    """Say how many times the budget the first arm needs for the second's best loss."""
    first = fits[0]
    assert first.draws is not None
    count = min(len(first.draws.coordinates), len(losses[1][1]))
    center = least_budget(first, parameter_rows(first, first.local.coordinates[None]), np.array([losses[1][0]]))
    drawn = least_budget(first, parameter_rows(first, first.draws.coordinates[:count]), losses[1][1][:count]) / budget
    low, high = interval(drawn, (1.0 - level) / 2.0)
    value = float(center[0]) / budget
    return ArmDifference(
        name="compute gain",
        first=1.0,
        second=value,
        difference=value,
        low=low,
        high=high,
        p=_p(np.log(np.where(np.isfinite(drawn), drawn, np.inf))),
    )


def _difference(name: str, arms: list[tuple[float, FloatArray]], level: float) -> ArmDifference:
    (first, first_draws), (second, second_draws) = arms
    count = min(len(first_draws), len(second_draws))
    drawn = second_draws[:count] - first_draws[:count]
    drawn = drawn[np.isfinite(drawn)]
    low, high = np.quantile(drawn, [(1.0 - level) / 2.0, (1.0 + level) / 2.0]) if len(drawn) else (None, None)
    return ArmDifference(
        name=name,
        first=first,
        second=second,
        difference=second - first,
        low=None if low is None else float(low),
        high=None if high is None else float(high),
        p=_p(drawn) if len(drawn) else None,
    )


def _p(drawn: FloatArray) -> float:
    """Twice the smaller share of draws on either side of 0, ties on both, never below what the draws can show."""
    # Equal arms differ by rounding alone where a root was searched.
    below, above = float(np.mean(drawn <= _TIE)), float(np.mean(drawn >= -_TIE))
    return min(1.0, max(2.0 * min(below, above), 1.0 / (len(drawn) + 1)))


def _unpaired() -> ScalingWarning:
    return ScalingWarning(
        "fallback",
        "the arms did not train the same sizes on the same tokens: they are resampled apart, which needs more runs to see the"
        " same difference",
    )


def _uncertain(row: ArmDifference) -> ScalingWarning:
    text = f"{row.name} differs by {row.difference:.4g} with p = {row.p:.2g}"
    return ScalingWarning("uncertain-choice", f"{text}: these runs do not tell the arms apart")
