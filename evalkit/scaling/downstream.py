"""The second step of a downstream prediction: from a loss to an accuracy, with what the first step leaves uncertain.

A law predicts the loss (of the task itself in bits per byte, or of a held-out text); a curve between a ceiling and a floor
turns it into an accuracy. That the curve meets the runs it was fitted to says little: what counts is a run that it has not
seen, so a prediction beyond the lowest loss is marked as such.

References:
    Bhagia et al. (2024), "Establishing Task Scaling Laws via Compute-Efficient Model Ladders", section 3: the sigmoid, and a
    point at loss 0.
    Gadre et al. (2024), "Language models scale reliably with over-training and on downstream tasks", section 3.2: the
    exponential in the loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.scaling.arrays import FloatArray, IntArray
from evalkit.scaling.columns import MOST_RESAMPLES, read_labels, read_numbers, refuse, require_share
from evalkit.scaling.link_solver import FORMS, Bounds, Curves, shape_limits, solve
from evalkit.scaling.result import Parameter
from evalkit.scaling.warnings import ScalingWarning

_FEWEST_DRAWS = 20
_NEAR_LIMIT = 1e-6
_FEW_POINTS = 10
_MANY_CLUSTERS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSettings:
    """How accuracy follows from loss."""

    form: str = "sigmoid"
    """``sigmoid``, ``log-sigmoid`` or ``exp``."""
    floor: float = 0.0
    """Least value the floor may take, e.g. the task's score by chance; ``exp`` is free of it."""
    ceiling: float = 1.0
    """Largest value the ceiling may take, the task's best score; ``log-sigmoid`` ends there, ``exp`` is free of it."""
    anchors: tuple[tuple[float, float], ...] | None = None
    """Points (loss, accuracy) that are added to the data; None adds (0, ceiling) to a sigmoid, and none to the others."""
    resamples: int = 1000
    """Bootstrap draws of clusters or points; 0 for no intervals."""
    level: float = 0.95
    """Level of the intervals."""
    seed: int = 0
    """Seed of the draws."""

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise UnknownNameError("form of the second step", str(self.form), FORMS)
        if not 0.0 <= self.floor < self.ceiling <= 1.0:
            raise InvalidInputError(
                f"floor is {self.floor!r} and ceiling {self.ceiling!r}; expected shares with floor below ceiling"
            )
        if self.resamples != 0 and not _FEWEST_DRAWS <= self.resamples <= MOST_RESAMPLES:
            raise InvalidInputError(
                f"resamples is {self.resamples}; expected at least {_FEWEST_DRAWS}, or 0, and {MOST_RESAMPLES:,} at most"
            )
        if not 0.0 < self.level < 1.0:
            raise InvalidInputError(f"level is {self.level!r}; expected a share between 0 and 1")

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        """What is added to the data."""
        if self.anchors is not None:
            return self.anchors
        return ((0.0, self.ceiling),) if self.form == "sigmoid" else ()

    @property
    def bounds(self) -> Bounds:
        """Where ceiling and floor may be."""
        if self.form == "sigmoid":
            return Bounds((0.0, self.ceiling), (self.floor, 1.0))
        if self.form == "log-sigmoid":
            return Bounds((self.ceiling, self.ceiling), (-np.inf, self.ceiling))
        return Bounds((-np.inf, np.inf), (-np.inf, np.inf))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Link:
    """A fitted second step."""

    settings: LinkSettings
    """How it was fitted."""
    parameters: Mapping[str, Parameter]
    """Ceiling, floor, and k with L0, or the rate, as in the form's formula."""
    curves: Curves
    """The fit in row 0, and a draw in each other row."""
    n: int
    """Points, anchors not counted."""
    losses: FloatArray
    """Losses it was fitted to, `(n,)`."""
    accuracies: FloatArray
    """Their accuracies."""
    rmse: float
    """Root mean square of what is left, in points of accuracy from 0 to 1."""
    warnings: tuple[ScalingWarning, ...] = ()
    """What makes it less certain than it looks."""

    def predict(self, losses: FloatArray) -> FloatArray:
        """Accuracies at losses, both `(m,)`."""
        at = np.asarray(losses, dtype=np.float64)
        return np.asarray(self.curves.rows(0, 1).predict(self.settings.form, at)[0])

    def draws(self, loss_draws: FloatArray) -> FloatArray:
        """Accuracies over the draws of both steps: draw s of the curve at draw s of the losses.

        Args:
            loss_draws: `(S, m)`; one row stands for a loss that is known.

        Returns:
            `(S', m)`, as many as the step with fewer draws has, or the curve's own at a known loss; no rows without draws.
        """
        count = len(self.curves.ceiling) - 1
        if len(loss_draws) > 1:
            count = min(count, len(loss_draws))
            loss_draws = loss_draws[:count]
        return self.curves.rows(1, count + 1).predict(self.settings.form, loss_draws)

    def interval(self, loss_draws: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Interval of the mean accuracy at losses given as draws; arguments as of `draws`; None without draws."""
        values = self.draws(loss_draws)
        if len(values) < _FEWEST_DRAWS:
            return None
        low, high = np.quantile(values, ((1 - self.settings.level) / 2, (1 + self.settings.level) / 2), axis=0)
        return low, high

    def warn_at(self, losses: FloatArray) -> list[ScalingWarning]:
        """Warn of losses outside of those that the curve was fitted to."""
        low, high = float(self.losses.min()), float(self.losses.max())
        outside = losses[(losses < low) | (losses > high)]
        if not len(outside):
            return []
        text = (
            f"an accuracy at loss {outside[0]:.4g} lies outside of the losses {low:.4g} to {high:.4g} that the second step"
            " has seen; how well the curve fits inside says nothing of it"
        )
        return [ScalingWarning("extrapolation", text)]


def fit_link(
    losses: Sequence[Any] | FloatArray,
    accuracies: Sequence[Any] | FloatArray,
    settings: LinkSettings | None = None,
    *,
    items: Sequence[Any] | FloatArray | None = None,
    clusters: Sequence[Any] | None = None,
) -> Link:
    """Fit accuracy to loss by least squares.

    Args:
        losses: Loss of each checkpoint, `(n,)`.
        accuracies: Its accuracy from 0 to 1.
        settings: The form and its limits.
        items: Number of test items behind each accuracy; given, each point weighs 1 over its binomial variance.
        clusters: Names of the runs that checkpoints belong to; given, intervals come from resampling runs.

    Raises:
        InvalidInputError: A value cannot be used, columns differ in length, or there are too few points.
    """
    chosen = settings or LinkSettings()
    x, y, weights = _columns(losses, accuracies, items)
    groups = _groups(clusters, len(x))
    least = 2 + FORMS[chosen.form].size + (chosen.form != "log-sigmoid") - len(chosen.points)
    if len(np.unique(x)) < least:
        raise InvalidInputError(
            f"{len(np.unique(x))} different losses for a {chosen.form}; expected at least {least}: add checkpoints"
        )
    added = np.array(chosen.points, dtype=np.float64).reshape(-1, 2)
    counts = _resampled(groups, chosen)
    table = np.concatenate((counts * weights, np.ones((len(counts), len(added)))), axis=1)
    curves = solve(chosen.form, np.r_[x, added[:, 0]], np.r_[y, added[:, 1]], table, chosen.bounds)
    left = y - curves.rows(0, 1).predict(chosen.form, x)[0]
    link = Link(
        settings=chosen,
        parameters=_parameters(chosen, curves),
        curves=curves,
        n=len(x),
        losses=x,
        accuracies=y,
        rmse=float(np.sqrt((weights * left**2).sum() / weights.sum())),
    )
    number = None if clusters is None else int(groups.max()) + 1
    return replace(link, warnings=tuple(_warn(link, np.r_[x, added[:, 0]], number)))


def _columns(
    losses: Sequence[Any] | FloatArray, accuracies: Sequence[Any] | FloatArray, items: Sequence[Any] | FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    x, y = read_numbers("loss", losses), read_numbers("accuracy", accuracies)
    count = np.ones(len(x)) if items is None else read_numbers("items", items)
    for name, column in (("accuracy", y), ("items", count)):
        if len(column) != len(x):
            raise InvalidInputError(f"column {name!r} has {len(column)} rows and 'loss' {len(x)}; expected one a point")
    for name, column in (("loss", x), ("accuracy", y), ("items", count)):
        refuse(name, column, ~np.isfinite(column), "finite numbers; leave such rows out")
    refuse("loss", x, x <= 0, "numbers above 0")
    require_share("accuracy", y)
    if items is None:
        return x, y, count
    refuse("items", count, count < 1, "at least 1")
    # One more success and failure each: an accuracy of 0 or 1 has some variance too.
    smoothed = (y * count + 1) / (count + 2)
    weights = count / (smoothed * (1 - smoothed))
    return x, y, weights / weights.mean()


def _groups(clusters: Sequence[Any] | None, count: int) -> IntArray:
    if clusters is None:
        return np.arange(count)
    labels = read_labels("cluster", clusters)
    if len(labels) != count:
        raise InvalidInputError(f"column 'cluster' has {len(labels)} rows and 'loss' {count}; expected one a point")
    return np.unique(np.array(labels), return_inverse=True)[1]


def _resampled(groups: IntArray, settings: LinkSettings) -> FloatArray:
    """How often each point counts, `(1 + S, n)`: once in row 0, as often as its cluster is drawn in the others."""
    number = int(groups.max()) + 1
    generator = np.random.default_rng(settings.seed)
    drawn = generator.multinomial(number, np.full(number, 1 / number), size=settings.resamples)
    return np.concatenate((np.ones((1, len(groups))), drawn[:, groups].astype(np.float64)))


def _parameters(settings: LinkSettings, curves: Curves) -> dict[str, Parameter]:
    columns = {"ceiling": curves.ceiling}
    if settings.form == "log-sigmoid":
        columns["scale"] = curves.ceiling - curves.floor
    else:
        columns["floor"] = curves.floor
    names = ("rate",) if FORMS[settings.form].size == 1 else ("k", "L0")
    columns |= {
        name: np.exp(curves.shape[:, place]) if place == 0 else curves.shape[:, place]
        for place, name in enumerate(names)
    }
    return {name: _parameter(name, values, settings.level) for name, values in columns.items()}


def _parameter(name: str, values: FloatArray, level: float) -> Parameter:
    if len(values) <= _FEWEST_DRAWS:
        return Parameter(name=name, value=float(values[0]))
    low, high = np.quantile(values[1:], ((1 - level) / 2, (1 + level) / 2))
    spread = float(values[1:].std(ddof=1))
    return Parameter(name=name, value=float(values[0]), low=float(low), high=float(high), stderr=spread)


def _warn(link: Link, x: FloatArray, clusters: int | None) -> list[ScalingWarning]:
    found = []
    if link.n < _FEW_POINTS:
        text = f"{link.n} points for the {len(link.parameters)} numbers of a {link.settings.form}"
        found.append(ScalingWarning("few-points", text))
    elif clusters is not None and clusters < _MANY_CLUSTERS:
        text = f"{link.n} checkpoints are of {clusters} runs only; intervals from so few runs are too narrow"
        found.append(ScalingWarning("few-points", text))
    low, high = shape_limits(link.settings.form, x)
    shape = link.curves.shape[0]
    if ((shape - low < _NEAR_LIMIT) | (high - shape < _NEAR_LIMIT)).any():
        text = (
            f"the {link.settings.form} became a straight line or a step; over losses {link.losses.min():.4g} to"
            f" {link.losses.max():.4g} the data do not tell its shape"
        )
        found.append(ScalingWarning("at-bound", text))
    if np.corrcoef(link.losses, link.accuracies)[0, 1] > 0:
        found.append(ScalingWarning("non-monotone", "accuracy rises with loss; is the column an error rate?"))
    return found
