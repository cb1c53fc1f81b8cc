"""Backtest: fit the smaller runs, predict the larger ones, and say how far off that was.

An interval trusts the form of the law; only runs that were held back can say whether it carries that far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.scaling.arrays import BoolArray, FloatArray
from evalkit.scaling.columns import require_number
from evalkit.scaling.constraints import Constraints
from evalkit.scaling.fitting import Intervals, fit_leniently
from evalkit.scaling.laws import law_named
from evalkit.scaling.laws.base import Law
from evalkit.scaling.losses import Loss
from evalkit.scaling.points import PREDICTORS, Points
from evalkit.scaling.result import Fit
from evalkit.scaling.warnings import ScalingWarning

_CUTS = 5
_EQUAL = 1e-9
"""Cuts and values within this share of each other are the same."""
_UNDER = 0.9
"""A band that holds less than this share of what it promises is too narrow."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BacktestRow:
    """What the runs up to a cut say of those beyond."""

    cut: float
    n_train: int
    n_test: int
    mean_abs: float
    """Mean of |predicted / actual - 1| over the runs beyond the cut."""
    bias: float
    """Mean of predicted / actual - 1."""
    max_abs: float
    """Largest |predicted / actual - 1|."""
    in_sample: float
    """Mean of |predicted / actual - 1| over the runs that were fitted."""
    reach: float
    """Largest value beyond the cut over the largest that was fitted."""
    covered: float | None
    """Share of the runs beyond the cut within their new-run bands; None without intervals, as where runs are too few for any."""
    values: Mapping[str, float]
    """Parameters of the fit."""
    errors: FloatArray
    """predicted / actual - 1 of each run beyond the cut, shape (n_test,)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Backtest:
    """Backtests at several cuts."""

    law: Law
    by: str
    """What was cut: N, D or C."""
    level: float
    """Level of the bands."""
    rows: tuple[BacktestRow, ...]
    warnings: tuple[ScalingWarning, ...] = ()


def backtest(
    points: Points,
    law: str | Law = "chinchilla",
    loss: Loss | None = None,
    *,
    by: str = "C",
    cuts: Sequence[float] | None = None,
    constraints: Constraints | None = None,
    intervals: Intervals | None = None,
) -> Backtest:
    """Fit the runs up to each cut and predict those beyond.

    Args:
        points: The runs.
        law: A law or its name.
        loss: The loss function; None takes the usual one.
        by: What is cut: N, D or C.
        cuts: Largest values that are fitted; None takes up to five that leave enough on both sides, the last of which holds
            back the largest value alone.
        constraints: What is known of parameters.
        intervals: How bands are made; None makes none.

    Raises:
        InvalidInputError: A cut leaves too few runs to fit, or none to predict.
        UnknownNameError: There is no such law or predictor.
    """
    if by not in PREDICTORS:
        raise UnknownNameError("predictor", str(by), PREDICTORS)
    chosen = law_named(law)
    values = points.compute() if by == "C" else points.axis(by)
    rows = []
    given = _default_cuts(points, chosen, values) if cuts is None else [require_number("cut", cut) for cut in cuts]
    for cut in given:
        inside = values <= cut * (1.0 + _EQUAL)
        _check(cut, inside, by)
        fitted = fit_leniently(points.take(inside), chosen, loss, constraints=constraints, intervals=intervals)
        rows.append(_row(fitted, points, inside, (cut, float(values.max() / values[inside].max()))))
    level = 0.95 if intervals is None else intervals.level
    return Backtest(law=chosen, by=by, level=level, rows=tuple(rows), warnings=_warnings(rows, level))


def _default_cuts(points: Points, law: Law, values: FloatArray) -> list[float]:
    """Give levels below the largest that leave twice as many runs as parameters, spread evenly."""
    levels = np.unique(values)[:-1]
    least = 2 * law.number_free(law.groups(points))
    enough = [
        float(level)
        for level in levels
        if int((values <= level).sum()) >= least and _carries(points, law, values, level)
    ]
    if not enough:
        raise InvalidInputError(
            f"no cut leaves {least} runs with several levels of {', '.join(law.predictors)} to fit and one to predict;"
            " add runs or name cuts"
        )
    places = np.unique(np.linspace(0, len(enough) - 1, min(_CUTS, len(enough))).round().astype(int))
    return [enough[place] for place in places]


def _carries(points: Points, law: Law, values: FloatArray, level: float) -> bool:
    part = points.take(values <= level)
    return all(len(np.unique(part.axis(name))) > 1 for name in law.predictors)


def _check(cut: float, inside: BoolArray, by: str) -> None:
    if inside.all() or not inside.any():
        side = "beyond" if inside.all() else "up to"
        raise InvalidInputError(
            f"cut {cut:.6g} leaves no runs {side} it in {by}; expected one within the range of the runs"
        )


def _row(fitted: Fit, points: Points, inside: BoolArray, place: tuple[float, float]) -> BacktestRow:
    beyond = points.take(~inside)
    errors = fitted.predict(beyond) / beyond.loss - 1.0
    own = fitted.predict(fitted.points) / fitted.points.loss - 1.0
    covered = None
    if fitted.method != "none":
        band = fitted.predict_interval(beyond, kind="run")
        covered = float(np.mean((beyond.loss >= band.low) & (beyond.loss <= band.high)))
    return BacktestRow(
        cut=place[0],
        n_train=int(inside.sum()),
        n_test=int((~inside).sum()),
        mean_abs=float(np.abs(errors).mean()),
        bias=float(errors.mean()),
        max_abs=float(np.abs(errors).max()),
        in_sample=float(np.abs(own).mean()),
        reach=place[1],
        covered=covered,
        values=fitted.values,
        errors=errors,
    )


def _warnings(rows: Sequence[BacktestRow], level: float) -> tuple[ScalingWarning, ...]:
    held = [(row.covered, row.cut) for row in rows if row.covered is not None]
    if not held:
        return ()
    worst, cut = min(held)
    if worst >= _UNDER * level:
        return ()
    text = f"{level:.0%} bands of fits up to {cut:.3g} hold {worst:.0%} of the runs beyond"
    return (ScalingWarning("band-under-covers", f"{text}: bands far beyond the points are too narrow"),)
