"""Whether small runs choose the right arm: the share of pairs of arms whose order at small scale is that of the large one.

Two ways of deciding are compared. *Ranking* takes the losses at the largest scale up to a cut; *extrapolation* fits a law to
each arm's runs up to the cut and takes the predictions at the large scale.

References:
    Magnusson et al., 2025, DataDecide: How to Predict Best Pretraining Data with Small Experiments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evalkit.errors import EvalkitError, InvalidInputError, UnknownNameError
from evalkit.scaling.arrays import FloatArray
from evalkit.scaling.fitting import fit
from evalkit.scaling.laws.base import Law
from evalkit.scaling.losses import Loss
from evalkit.scaling.points import PREDICTORS, Points
from evalkit.scaling.warnings import ScalingWarning

_RESAMPLES = 2000
_CUTS = 6
_FEW = 5
"""Fewer arms than this have too few pairs for an accuracy to mean much."""


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """The share of pairs that were ordered right."""

    value: float
    """A tie on either side counts half."""
    low: float | None
    """Lower end of the interval over arms; None for fewer than three arms."""
    high: float | None
    pairs: int


@dataclass(frozen=True, kw_only=True)
class DecisionRow:
    """What runs up to a cut decide."""

    cut: float
    scale: float
    """Largest value up to the cut that all arms have."""
    ranking: Accuracy
    extrapolation: Accuracy | None
    """None without a law, or where an arm has too few runs to fit."""


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """Decision accuracy at several cuts."""

    arms: tuple[str, ...]
    by: str
    target: float
    """The large scale."""
    rows: tuple[DecisionRow, ...]
    warnings: tuple[ScalingWarning, ...] = ()


def decision_accuracy(
    points: Points,
    *,
    by: str = "C",
    cuts: Sequence[float] | None = None,
    law: str | Law | None = None,
    loss: Loss | None = None,
    level: float = 0.95,
) -> Decisions:
    """Say how often smaller runs order the arms as the largest do.

    Args:
        points: Runs with a column ``group`` for the arm; replicates are averaged.
        by: What scale is: N, D or C.
        cuts: Scales to decide from; None takes up to six below the largest that the arms share.
        law: A law to extrapolate with; None only ranks.
        loss: The loss function of the law.
        level: Level of the intervals.

    Raises:
        InvalidInputError: There is no column of arms, fewer than two arms, or no scale that they share.
        UnknownNameError: There is no such predictor.
    """
    if by not in PREDICTORS:
        raise UnknownNameError("predictor", str(by), PREDICTORS)
    if points.group is None or len(set(points.group)) < 2:
        count = 0 if points.group is None else len(set(points.group))
        raise InvalidInputError(f"found {count} arms; expected a column 'group' with two at least to decide between")
    arms = tuple(dict.fromkeys(points.group))
    values = points.compute() if by == "C" else points.axis(by)
    shared = _shared(points, values, arms)
    if len(shared) < 2:
        raise InvalidInputError(
            f"the arms share {len(shared)} values of {by}; expected a small and a large one that every arm has"
        )
    target = shared[-1]
    observed = _means(points, values, arms, target)
    rows = []
    for cut in _default_cuts(shared) if cuts is None else cuts:
        below = shared[shared <= cut * (1.0 + 1e-9)]
        if not len(below) or cut >= target:
            raise InvalidInputError(f"cut {cut:.6g}: expected one from {shared[0]:.6g} up to below {target:.6g}")
        ranking = accuracy(_means(points, values, arms, below[-1]), observed, level)
        further = None if law is None else _extrapolated(points, values, arms, (cut, target), (law, loss))
        rows.append(
            DecisionRow(
                cut=float(cut),
                scale=float(below[-1]),
                ranking=ranking,
                extrapolation=None if further is None else accuracy(further, observed, level),
            )
        )
    return Decisions(arms=arms, by=by, target=float(target), rows=tuple(rows), warnings=_warnings(arms))


def _default_cuts(shared: FloatArray) -> list[float]:
    places = np.unique(np.linspace(0, len(shared) - 2, min(_CUTS, len(shared) - 1)).round().astype(int))
    return [float(shared[place]) for place in places]


def accuracy(predicted: FloatArray, observed: FloatArray, level: float = 0.95) -> Accuracy:
    """Compare the order of arms, both of shape (arms,), over all pairs; the interval resamples arms.

    >>> accuracy(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])).value
    0.6666666666666666
    """
    first, second = np.triu_indices(len(predicted), 1)
    right = _agreement(predicted, observed)
    value = float(right[first, second].mean())
    if len(predicted) < 3:
        return Accuracy(value=value, low=None, high=None, pairs=len(first))
    generator = np.random.default_rng(0)
    drawn = []
    for rows in generator.integers(0, len(predicted), size=(_RESAMPLES, len(predicted))):
        a, b = rows[first], rows[second]
        # An arm drawn twice is no pair of arms.
        different = a != b
        if different.any():
            drawn.append(float(right[a[different], b[different]].mean()))
    low, high = np.quantile(drawn, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return Accuracy(value=value, low=float(low), high=float(high), pairs=len(first))


def _agreement(predicted: FloatArray, observed: FloatArray) -> FloatArray:
    signs = [np.sign(values[:, None] - values[None]) for values in (predicted, observed)]
    right: FloatArray = np.where(signs[0] * signs[1] > 0, 1.0, np.where(signs[0] * signs[1] == 0, 0.5, 0.0))
    return right


def _shared(points: Points, values: FloatArray, arms: Sequence[str]) -> FloatArray:
    """Give the values that every arm has, ascending."""
    labels = np.array(points.group)
    common = set(values[labels == arms[0]].tolist())
    for arm in arms[1:]:
        common &= set(values[labels == arm].tolist())
    return np.array(sorted(common))


def _means(points: Points, values: FloatArray, arms: Sequence[str], scale: float) -> FloatArray:
    """Give the mean loss of each arm at a scale, shape (arms,); the lowest place of several at one scale."""
    labels = np.array(points.group)
    return np.array([points.loss[(labels == arm) & (values == scale)].mean() for arm in arms])


def _extrapolated(
    points: Points,
    values: FloatArray,
    arms: Sequence[str],
    scales: tuple[float, float],
    fitted_by: tuple[str | Law, Loss | None],
) -> FloatArray | None:
    """Predict each arm's mean loss at the target from its runs up to the cut; None where an arm cannot be fitted."""
    cut, target = scales
    labels = np.array(points.group)
    predicted = []
    for arm in arms:
        inside = (labels == arm) & (values <= cut * (1.0 + 1e-9))
        there: Mapping[str, object] | Points = points.take((labels == arm) & (values == target))
        try:
            fitted = fit(points.take(inside), fitted_by[0], fitted_by[1] or Loss())
        except EvalkitError:
            return None
        predicted.append(float(fitted.predict(there).mean()))
    return np.array(predicted)


def _warnings(arms: Sequence[str]) -> tuple[ScalingWarning, ...]:
    if len(arms) >= _FEW:
        return ()
    text = f"{len(arms)} arms make {len(arms) * (len(arms) - 1) // 2} pairs; an accuracy over so few says little"
    return (ScalingWarning("uncertain-choice", text),)
