"""What a fit minimises: the sum of w * rho(r) over the points, r a residual of the log loss or of the loss itself.

    huber            rho of ln L - ln f, quadratic within delta and linear beyond (the default, delta 1e-3)
    lad              |ln L - ln f|, the limit of huber(delta) / delta for small delta
    squared_log      (ln L - ln f)^2 / 2, the limit for large delta
    linear_huber     rho of L - f
    linear_squared   (L - f)^2 / 2

References:
    Huber, 1964, Robust Estimation of a Location Parameter.
    Hoffmann et al., 2022, Training Compute-Optimal Large Language Models, section 3.3 (Huber on log loss, delta 1e-3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.scaling.arrays import FloatArray

LOSSES: Mapping[str, str] = {
    "huber": "Huber on the log residual",
    "lad": "least absolute deviations of the log",
    "squared_log": "least squares of the log",
    "linear_huber": "Huber on the residual",
    "linear_squared": "least squares",
}
"""Name to what it is."""


@dataclass(frozen=True, kw_only=True)
class Loss:
    """A loss function of residuals."""

    name: str = "huber"
    """One of `LOSSES`."""
    delta: float = 1e-3
    """Where a Huber loss turns from quadratic to linear; of no effect on the others."""

    def __post_init__(self) -> None:
        if self.name not in LOSSES:
            raise UnknownNameError("loss", str(self.name), LOSSES)
        if not (isinstance(self.delta, int | float) and math.isfinite(self.delta) and self.delta > 0):
            raise InvalidInputError(f"delta is {self.delta!r}; expected a number above 0, such as 1e-3")

    @property
    def is_linear(self) -> bool:
        """Whether residuals are of the loss, not of its logarithm."""
        return self.name.startswith("linear")

    @property
    def is_squared(self) -> bool:
        """Whether rho is r^2 / 2 everywhere."""
        return self.name in ("squared_log", "linear_squared")

    @property
    def is_absolute(self) -> bool:
        """Whether rho is |r|."""
        return self.name == "lad"

    def width(self) -> float:
        """Give the half width of the quadratic zone: delta, 0 for absolute deviations, infinity for squares."""
        return math.inf if self.is_squared else 0.0 if self.is_absolute else self.delta

    def rho(self, residuals: FloatArray) -> FloatArray:
        """Give the loss of each residual, any shape."""
        return np.abs(residuals) if self.is_absolute else huber(residuals, self.width())

    def psi(self, residuals: FloatArray) -> FloatArray:
        """Give the derivative of rho, any shape."""
        width = 1.0 if self.is_absolute else self.width()
        clipped: FloatArray = np.clip(np.sign(residuals) if self.is_absolute else residuals, -width, width)
        return clipped

    def quadratic_share(self, residuals: FloatArray) -> float:
        """Give the share of residuals in the quadratic zone."""
        return float(np.mean(np.abs(residuals) <= self.width()))


def huber(residuals: FloatArray, width: float | FloatArray) -> FloatArray:
    """Give Huber's loss: r^2/2 within the width and width (|r| - width/2) beyond; an infinite width gives squares."""
    size = np.abs(residuals)
    # One expression for both branches.
    inner = np.minimum(size, width)
    losses: FloatArray = inner * (size - 0.5 * inner)
    return losses


def residuals_of(loss: Loss, observed: FloatArray, log_predicted: FloatArray) -> FloatArray:
    """Give residuals as the loss takes them, from losses and predicted log losses of one shape."""
    if loss.is_linear:
        residuals: FloatArray = observed - np.exp(log_predicted)
        return residuals
    return np.log(observed) - log_predicted
