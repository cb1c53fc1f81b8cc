"""What a fit is: a law with its parameters, how sure they are, and how the solution was reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evalkit.errors import UnknownNameError

if TYPE_CHECKING:
    from evalkit.scaling.arrays import FloatArray
    from evalkit.scaling.bands import Band
    from evalkit.scaling.constraints import Constraints
    from evalkit.scaling.laws.base import Law
    from evalkit.scaling.losses import Loss
    from evalkit.scaling.optimal import Optimum
    from evalkit.scaling.points import Points
    from evalkit.scaling.sensitivity import SensitivityRow
    from evalkit.scaling.warnings import ScalingWarning


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter, or a quantity derived from several."""

    name: str
    """As in the law's formula."""
    value: float
    low: float | None = None
    """Lower end of the interval of the fit's method; None without intervals."""
    high: float | None = None
    """Upper end."""
    stderr: float | None = None
    """Spread of the resamples, or the standard error that holds under uneven noise; of the logarithm on the log scale."""
    on_log_scale: bool = False
    """Whether interval and standard error were made on the logarithm, as for A and B."""
    is_fixed: bool = False
    """Whether it was given and not fitted."""


@dataclass(frozen=True, kw_only=True)
class Quality:
    """How well the law meets the points."""

    n: int
    objective: float
    """Weighted sum of the loss function over the points."""
    r2: float | None
    """Share of the variance of the loss explained; None where all losses are equal."""
    r2_log: float | None
    """The same for the logarithm."""
    rmse_log: float
    """Root mean square of the log residuals."""
    max_residual: float
    """Largest |log residual|."""
    worst_row: int
    """Number of its point from 0."""
    quadratic_share: float
    """Share of the points within delta, where a Huber loss is quadratic: near 0 it acts as least absolute deviations."""


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """What says that the minimum is the lowest one."""

    starts: int
    """Starts that were run to the end."""
    agreed: int
    """Starts whose objective is within 1e-6 of the lowest, relatively."""
    second_objective: float | None
    """Objective of the next basin; None if every start reached the same one."""
    gradient_norm: float
    """Norm of the gradient in whitened coordinates over the objective."""
    condition: float
    """Condition number of the Hessian in whitened coordinates."""
    iterations: int
    """Newton steps of the best start."""
    converged: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Local:
    """The minimum in the solver's coordinates, with the curvature around it."""

    coordinates: FloatArray
    """Shape (P,)."""
    homoscedastic: FloatArray
    """Covariance that needs even noise, shape (P, P)."""
    robust: FloatArray
    """Covariance that does not, shape (P, P)."""
    degrees: int
    """Points less fitted parameters."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Draws:
    """Resampled fits, on which intervals stand."""

    method: str
    """pairs, cluster, wild or residual."""
    level: float
    """Two-sided level of the intervals."""
    seed: int
    names: tuple[str, ...]
    """Parameters, the columns of `values`."""
    values: FloatArray
    """Shape (resamples that gave a fit, parameters)."""
    coordinates: FloatArray
    """The same in the solver's coordinates, shape (resamples, P)."""
    failed: int
    """Resamples without a fit."""

    def column(self, name: str) -> FloatArray:
        """Give the draws of one parameter, shape (resamples,)."""
        values: FloatArray = self.values[:, self.names.index(name)]
        return values


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """A fitted law. Written to JSON it reloads to identical predictions and intervals."""

    law: Law
    loss: Loss
    points: Points
    parameters: Mapping[str, Parameter]
    """By name, in the order of the formula."""
    derived: Mapping[str, Parameter]
    """Quantities computed from the parameters, such as the exponent a of N* in C."""
    quality: Quality
    certificate: Certificate
    local: Local
    constraints: Constraints
    """What was known of parameters before the fit."""
    draws: Draws | None = None
    """Resamples; None where intervals come from another method or were not asked for."""
    method: str = "none"
    """What the intervals of `parameters` are: pairs, cluster, wild, residual, profile, sandwich, t or none."""
    level: float = 0.95
    """Two-sided level of the intervals."""
    standard_errors: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Sandwich errors by kind, ``homoscedastic`` and ``robust``, then by parameter; of ln A and ln B on the log scale."""
    warnings: tuple[ScalingWarning, ...] = ()
    timing_s: Mapping[str, float] = field(default_factory=dict)
    """Seconds by step."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Groups that have parameters of their own."""
        return self.law.groups(self.points)

    def quantity(self, name: str) -> Parameter:
        """Give a parameter or a derived quantity by name.

        Raises:
            UnknownNameError: There is none of that name.
        """
        known = {**self.parameters, **self.derived}
        if name not in known:
            raise UnknownNameError(f"quantity of {self.law.name}", name, known)
        return known[name]

    @property
    def values(self) -> dict[str, float]:
        """Values of the parameters by name."""
        return {name: parameter.value for name, parameter in self.parameters.items()}

    def predict(self, at: Mapping[str, Any] | Points) -> FloatArray:
        """Predict losses, shape (m,).

        Args:
            at: Predictors by name (N, D, C, U, group), each one value or shape (m,); or points.
        """
        from evalkit.scaling.bands import predict

        return predict(self, at)

    def residuals(self) -> FloatArray:
        """Give ln loss - ln prediction of each point, shape (n,)."""
        import numpy as np

        residuals: FloatArray = np.log(self.points.loss) - np.log(self.predict(self.points))
        return residuals

    def predict_interval(self, at: Mapping[str, Any] | Points, kind: str = "mean", level: float | None = None) -> Band:
        """Predict losses with a band.

        Args:
            at: As for `predict`.
            kind: ``mean`` for the law itself, ``run`` for one new run with its own noise.
            level: Two-sided level; None takes the fit's own.
        """
        from evalkit.scaling.bands import predict_interval

        return predict_interval(self, at, kind=kind, level=level)

    def optimal(
        self,
        *,
        C: float | None = None,
        loss: float | None = None,
        unique_tokens: float | None = None,
        inference_tokens: float = 0.0,
    ) -> Optimum:
        """Find the best size and tokens for a budget, or the least budget for a loss, with intervals.

        Args:
            C: Budget in FLOPs; with `inference_tokens` it covers serving too.
            loss: Target loss, in place of C.
            unique_tokens: Cap of unique data; more tokens repeat it. Needs the repeated-data law.
            inference_tokens: Tokens that the model will serve, at 2N FLOPs each.
        """
        from evalkit.scaling.optimal import optimal

        return optimal(self, C=C, loss=loss, unique_tokens=unique_tokens, inference_tokens=inference_tokens)

    def sensitivity(self, drops: Sequence[int] | None = None, criterion: str = "residual") -> list[SensitivityRow]:
        """Fit again under every loss and without the points that stand out; see `evalkit.scaling.sensitivity`."""
        from evalkit.scaling.sensitivity import sensitivity

        return sensitivity(self, drops, criterion)

    def to_json(self) -> str:
        """Write the fit as one JSON document."""
        from evalkit.scaling.artefact import to_json

        return to_json(self)

    @staticmethod
    def from_json(text: str) -> Fit:
        """Read a fit that `to_json` wrote.

        Raises:
            InvalidInputError: It is no such document.
        """
        from evalkit.scaling.artefact import from_json

        return from_json(text)
