"""What the points alone say of a fit: errors where a law cannot be fitted, warnings where its answer will be weak."""

from __future__ import annotations

import numpy as np

from evalkit.errors import InvalidInputError
from evalkit.scaling.arrays import FloatArray, IntArray
from evalkit.scaling.model import Model
from evalkit.scaling.points import Points
from evalkit.scaling.warnings import ScalingWarning

_LEVELS = 3
_RANGE = 10.0
_COLLINEAR = 0.98
_POINTS_PER_PARAMETER = 2
_ROOM = 2
_SINGLE = {"N": "offset_d", "D": "offset_n", "C": "a table with other budgets"}
"""What can be fitted where a predictor has one level."""


def check_points(model: Model) -> None:
    """Refuse points that cannot carry the law.

    Raises:
        InvalidInputError: A predictor has one level, or there are fewer points than parameters.
    """
    n, free = int((model.weights > 0).sum()), model.free_count
    for name in model.law.predictors:
        values = model.inputs.get(name)
        if len(np.unique(values)) == 1:
            instead = "none" if len(model.law.predictors) == 1 else _SINGLE[name]
            raise InvalidInputError(
                f"column {name!r} has one level, {float(values[0])!r}, in all {len(values)} rows; the law"
                f" {model.law.name!r} needs several, so add runs"
                + (f" or fit the law {instead!r}" if instead != "none" else "")
            )
    if n < free:
        raise InvalidInputError(
            f"found {n} points for {free} free parameters of {model.law.name!r};"
            " expected as many at least, so add runs, hold parameters or choose a smaller law"
        )
    if "U" in model.law.optional and not _has_repeats(model.points):
        raise InvalidInputError(
            f"no run sees a token twice (U = D in every row); the law {model.law.name!r} cannot tell what repeats are worth,"
            " so give a column 'U' or fit the law 'chinchilla'"
        )


def _has_repeats(points: Points) -> bool:
    return points.U is not None and bool((points.axis("D") * (1.0 - 1e-9) > points.U).any())


def has_room(model: Model) -> bool:
    """Whether there are points enough for any interval: two more than parameters."""
    return int((model.weights > 0).sum()) >= model.free_count + _ROOM


def check_interval_points(model: Model) -> None:
    """Refuse intervals where there are too few points for any.

    Raises:
        InvalidInputError: There are fewer than two points more than parameters.
    """
    n, free = int((model.weights > 0).sum()), model.free_count
    if not has_room(model):
        raise InvalidInputError(
            f"found {n} points for {free} free parameters; intervals need {free + _ROOM} at least, so fit without"
            " intervals or add runs"
        )


def design_warnings(model: Model) -> list[ScalingWarning]:
    """Warn of what the places of the points will do to the fit."""
    found = [*_metadata_warnings(model.points)]
    n, free = len(model.points), model.free_count
    if n < _POINTS_PER_PARAMETER * free:
        found.append(ScalingWarning("few-points", f"{n} points for {free} parameters; {2 * free} or more are better"))
    for name in model.law.predictors:
        values = model.inputs.get(name)
        levels, ratio = len(np.unique(values)), float(values.max() / values.min())
        if levels < _LEVELS:
            text = f"{name} takes {levels} values; its exponent and E cannot both be told from them"
            found.append(ScalingWarning("few-levels", text))
        if ratio < _RANGE:
            text = f"{name} spans a factor of {ratio:.3g}; under 10 its exponent is hardly determined"
            found.append(ScalingWarning("short-range", text))
    found += _collinear(model)
    found += _non_monotone(model)
    return found


def _collinear(model: Model) -> list[ScalingWarning]:
    if len(model.law.predictors) < 2:
        return []
    first, second = (np.log(model.inputs.get(name)) for name in model.law.predictors[:2])
    with np.errstate(all="ignore"):
        correlation = float(np.corrcoef(first, second)[0, 1])
    if not abs(correlation) > _COLLINEAR:
        return []
    return [
        ScalingWarning(
            "collinear",
            f"ln N and ln D have the correlation {correlation:.4f} (D/N is almost constant): the two terms cannot be told"
            " apart; add runs at other D/N",
        )
    ]


def _non_monotone(model: Model) -> list[ScalingWarning]:
    """Warn where loss rises along a predictor while the others stay, by more than rounding."""
    found = []
    predictors = model.law.predictors
    for name in predictors:
        others = [_codes(model.inputs.get(other)) for other in predictors if other != name]
        if model.points.U is not None:
            # Repeated tokens are worth less: only runs on the same unique tokens can be compared.
            others.append(_codes(model.points.U))
        rises, pairs = _count_rises(model.inputs.get(name), others, model.points)
        if rises:
            found.append(
                ScalingWarning(
                    "non-monotone",
                    f"loss rises with {name} in {rises} of {pairs} neighbouring pairs of runs that differ in it alone",
                )
            )
    return found


def _codes(values: FloatArray | tuple[str, ...]) -> IntArray:
    codes: IntArray = np.unique(np.asarray(values), return_inverse=True)[1]
    return codes


def _count_rises(values: FloatArray, others: list[IntArray], points: Points) -> tuple[int, int]:
    keys = [*others, *([] if points.group is None else [_codes(points.group)])]
    order = np.lexsort((points.loss, values, *keys))
    same = np.ones(len(values) - 1, dtype=bool)
    for key in keys:
        same &= key[order][1:] == key[order][:-1]
    same &= values[order][1:] > values[order][:-1]
    rises = same & (np.diff(points.loss[order]) > 0)
    return int(rises.sum()), int(same.sum())


def _metadata_warnings(points: Points) -> list[ScalingWarning]:
    found = list(points.warnings)
    sizes = None if points.N is None else len(np.unique(points.N))
    if points.lr is not None and sizes is not None and sizes > 1 and len(np.unique(points.lr)) == 1:
        text = f"one learning rate, {points.lr[0]:.3g}, for {sizes} sizes: untuned sizes bend the law"
        found.append(ScalingWarning("constant-lr", text))
    lengths = 0 if points.D is None else len(np.unique(points.D))
    if points.warmup is not None and lengths > 1 and len(np.unique(points.warmup)) == 1:
        text = f"one warm-up, {points.warmup[0]:.3g}, for {lengths} training lengths: too long for the short ones"
        found.append(ScalingWarning("constant-warmup", text))
    if points.final is not None and not points.final.all():
        text = f"{int((~points.final).sum())} of {len(points)} points are from before the end of their schedule"
        found.append(
            ScalingWarning("mid-schedule", f"{text}; their loss is higher than a run of that length would reach")
        )
    found += _ladder_warnings(points)
    return found


def _ladder_warnings(points: Points) -> list[ScalingWarning]:
    found = []
    if points.layers is not None and len(np.unique(points.layers)) > 1:
        depths = ", ".join(f"{depth:g}" for depth in np.unique(points.layers)[:6])
        text = f"the number of layers changes along the ladder ({depths}): a step in depth flattens the loss in N"
        found.append(ScalingWarning("depth-change", text))
    if points.seed is not None and len(set(points.seed)) == 1:
        text = f"all runs have the seed {points.seed[0]!r}: nothing tells how much one run scatters"
        found.append(ScalingWarning("single-seed", text))
    return found
