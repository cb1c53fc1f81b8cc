"""The door to fitting: points, a law and a loss in; a `Fit` out.

fit = fit(points)                                   Chinchilla's law, Huber on the log loss, no intervals
fit = fit(points, "coupled", intervals=Intervals()) with a bootstrap
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.scaling.columns import MOST_RESAMPLES
from evalkit.scaling.constraints import Constraints
from evalkit.scaling.laws.base import Law
from evalkit.scaling.losses import Loss
from evalkit.scaling.points import Points
from evalkit.scaling.result import Fit

METHODS: Mapping[str, str] = {
    "auto": "cluster where rows share clusters, else pairs",
    "pairs": "bootstrap of rows",
    "cluster": "bootstrap of clusters",
    "wild": "bootstrap of signs of residuals, by cluster where there are any",
    "residual": "bootstrap of residuals",
    "profile": "profile likelihood",
    "sandwich": "standard errors that hold under uneven noise, with Student's t",
    "homoscedastic": "standard errors that need even noise, with Student's t",
}
"""Methods of intervals."""


@dataclass(frozen=True, kw_only=True)
class Intervals:
    """How intervals are made."""

    method: str = "auto"
    """One of `METHODS`."""
    level: float = 0.95
    """Two-sided."""
    resamples: int = 1000
    """Number of resamples of a bootstrap."""
    seed: int = 0
    """Same seed, same digits."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UnknownNameError("method of intervals", str(self.method), METHODS)
        if not 0 < self.level < 1:
            raise InvalidInputError(f"level is {self.level!r}; expected one between 0 and 1, such as 0.95")
        if not 100 <= self.resamples <= MOST_RESAMPLES:
            raise InvalidInputError(
                f"resamples is {self.resamples!r}; expected 100 or more, such as 1000, and {MOST_RESAMPLES:,} at most"
            )


def fit(
    points: Points,
    law: str | Law = "chinchilla",
    loss: str | Loss = "huber",
    *,
    delta: float = 1e-3,
    constraints: Constraints | None = None,
    intervals: Intervals | None = None,
) -> Fit:
    """Fit a law to points and certify the minimum.

    Args:
        points: From `make_points`.
        law: A law or its name in `evalkit.scaling.laws.LAWS`.
        loss: A loss function or its name in `evalkit.scaling.losses.LOSSES`.
        delta: Width of a Huber loss, where `loss` is a name.
        constraints: What is known of parameters.
        intervals: How intervals are made; None makes none.

    Raises:
        InvalidInputError: The points cannot carry the law, or not with intervals: too few, or one level of a predictor.
        UnknownNameError: There is no such law, loss or parameter.
    """
    from evalkit.scaling.assembly import fit_law

    return fit_law(points, law, Loss(name=loss, delta=delta) if isinstance(loss, str) else loss, constraints, intervals)


def fit_leniently(
    points: Points,
    law: str | Law,
    loss: Loss | None = None,
    *,
    constraints: Constraints | None = None,
    intervals: Intervals | None = None,
) -> Fit:
    """Fit as `fit` does, but without intervals where the points are too few for any, as parts of a table can be.

    Raises:
        InvalidInputError: The points cannot carry the law.
        UnknownNameError: There is no such law or parameter.
    """
    from evalkit.scaling.assembly import fit_law

    return fit_law(points, law, loss or Loss(), constraints, intervals, is_lenient=True)
