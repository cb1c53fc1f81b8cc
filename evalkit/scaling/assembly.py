"""From points to a `Fit`: check, solve, certify, put intervals on it, and say what is doubtful."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

import numpy as np

from evalkit.comparison.distributions import t_quantile
from evalkit.scaling.arrays import FloatArray
from evalkit.scaling.bootstrap import bootstrap
from evalkit.scaling.constraints import Constraints
from evalkit.scaling.design_checks import check_interval_points, check_points, design_warnings, has_room
from evalkit.scaling.fit_checks import interval_warnings, solution_warnings
from evalkit.scaling.fitting import Intervals
from evalkit.scaling.laws import law_named
from evalkit.scaling.laws.base import Coordinate, Law
from evalkit.scaling.losses import Loss
from evalkit.scaling.model import Model, build_model
from evalkit.scaling.points import Points
from evalkit.scaling.profile import profiles
from evalkit.scaling.result import Draws, Fit, Local, Parameter, Quality
from evalkit.scaling.sandwich import KINDS, Covariances, covariances
from evalkit.scaling.solution import Solution, solve
from evalkit.scaling.solver.threads import one_thread
from evalkit.scaling.warnings import ScalingWarning

_FAILED = 0.01
_STEP = 1e-5


def fit_law(
    points: Points,
    law: str | Law,
    loss: Loss,
    constraints: Constraints | None,
    intervals: Intervals | None,
    *,
    is_lenient: bool = False,
) -> Fit:
    """Fit a law to points; see `evalkit.scaling.fitting.fit`, and `fit_leniently` for `is_lenient`."""
    with one_thread(), np.errstate(all="ignore"):
        started = time.perf_counter()
        model = build_model(points, law_named(law), loss, constraints or Constraints())
        check_points(model)
        if is_lenient and not has_room(model):
            intervals = None
        elif intervals is not None:
            check_interval_points(model)
        warnings = design_warnings(model)
        solution = solve(model)
        solved = time.perf_counter()
        covariance = covariances(solution)
        warnings += solution_warnings(solution, covariance)
        warned = time.perf_counter()
        maker = _Maker(solution, covariance, intervals, warnings)
        maker.make()
        finished = time.perf_counter()
    timing = {"fit": solved - started, "checks": warned - solved, "intervals": finished - warned}
    return Fit(
        law=model.law,
        loss=loss,
        points=points,
        parameters=maker.parameters,
        derived=maker.derived,
        quality=quality_of(solution),
        certificate=solution.certificate,
        local=Local(
            coordinates=solution.coordinates,
            homoscedastic=covariance.homoscedastic,
            robust=covariance.robust,
            degrees=max(len(points) - model.free_count, 0),
        ),
        constraints=model.constraints,
        draws=maker.draws,
        method=maker.method,
        level=maker.level,
        standard_errors=maker.standard_errors(),
        warnings=tuple(dict.fromkeys(warnings)),
        timing_s=timing,
    )


def quality_of(solution: Solution) -> Quality:
    """Say how well a solution meets its points."""
    model = solution.model
    losses, weights = model.points.loss, model.weights
    log_predicted = model.log_predictions(solution.coordinates[None])[0]
    log_residuals = np.log(losses) - log_predicted
    residuals = solution.residuals
    return Quality(
        n=len(losses),
        objective=float(weights @ model.loss.rho(residuals)) * model.weight_scale,
        r2=_explained(losses, losses - np.exp(log_predicted), weights),
        r2_log=_explained(np.log(losses), log_residuals, weights),
        rmse_log=float(np.sqrt(weights @ log_residuals**2 / weights.sum())),
        max_residual=float(np.abs(log_residuals).max()),
        worst_row=int(np.abs(log_residuals).argmax()),
        quadratic_share=model.loss.quadratic_share(residuals),
    )


def _explained(values: FloatArray, residuals: FloatArray, weights: FloatArray) -> float | None:
    total = float(weights @ (values - np.average(values, weights=weights)) ** 2)
    return None if total == 0 else 1.0 - float(weights @ residuals**2) / total


class _Maker:
    """Makes parameters with their intervals."""

    def __init__(
        self,
        solution: Solution,
        covariance: Covariances,
        intervals: Intervals | None,
        warnings: list[ScalingWarning],
    ) -> None:
        self.solution = solution
        self.model: Model = solution.model
        self.covariance = covariance
        self.warnings = warnings
        self.level = 0.95 if intervals is None else intervals.level
        self.intervals = intervals
        self.draws: Draws | None = None
        self.method = "none"
        self.ends: dict[str, tuple[float | None, float | None]] = {}
        self.errors: dict[str, float] = {}

    def make(self) -> None:
        """Make the intervals that were asked for, if the points allow any."""
        values = self.model.values(self.solution.coordinates[None])[0]
        self.values = dict(zip((self.model.names[i] for i in self.model.shown), values.tolist(), strict=True))
        derived = {name: float(value[0]) for name, value in self._derived(self.solution.coordinates[None]).items()}
        # Without a term what follows from it has no value.
        self.more = {name: value for name, value in derived.items() if math.isfinite(value)}
        if self.intervals is not None:
            self._choose(self.intervals)
        self.parameters = {name: self._parameter(name, value) for name, value in self.values.items()}
        self.derived = {name: self._parameter(name, value) for name, value in self.more.items()}
        self.warnings += interval_warnings(self.solution, self.parameters, self.covariance)

    def _choose(self, intervals: Intervals) -> None:
        self.method = intervals.method
        if intervals.method == "profile":
            found = profiles(self.solution, self.level)
            self.ends = {name: (profile.low, profile.high) for name, profile in found.items()}
            self._by_curvature("robust", skip=set(self.ends))
        elif intervals.method in ("sandwich", "homoscedastic"):
            self._by_curvature("robust" if intervals.method == "sandwich" else "homoscedastic", skip=set())
        else:
            self._by_draws(intervals)

    def _by_draws(self, intervals: Intervals) -> None:
        draws = bootstrap(self.solution, intervals.method, intervals.resamples, intervals.seed, self.level)
        self.method = draws.method
        if draws.failed > _FAILED * intervals.resamples:
            text = f"{draws.failed} of {intervals.resamples} resamples gave no fit and are left out"
            self.warnings.append(ScalingWarning("failed-resamples", text))
        if len(draws.values) < intervals.resamples / 2:
            text = f"{draws.method} bootstrap without enough fits; intervals are from the sandwich"
            self.warnings.append(ScalingWarning("fallback", text))
            self.method = "sandwich"
            self._by_curvature("robust", skip=set())
            return
        self.draws = draws
        tail = (1.0 - self.level) / 2.0
        columns = {name: draws.column(name) for name in draws.names}
        columns |= self.model.law.derived(columns)
        for name, values in columns.items():
            finite = values[np.isfinite(values)]
            if len(finite) < 0.9 * len(values):
                continue
            low, high = np.quantile(finite, [tail, 1.0 - tail])
            self.ends[name] = float(low), float(high)
            spread = float(np.std(np.log(finite) if self._is_log(name) else finite, ddof=1))
            if math.isfinite(spread):  # the logarithm of a term that some resamples take away has none
                self.errors[name] = spread

    def _by_curvature(self, kind: str, skip: set[str]) -> None:
        """Put symmetric intervals around what has none, on the log scale where a parameter lives there."""
        degrees = max(len(self.model.points) - self.model.free_count, 1)
        reach = t_quantile(0.5 + self.level / 2.0, degrees)
        for name, error in self._errors(kind).items():
            self.errors[name] = error
            if name in skip or not error > 0:
                continue
            value = self.values[name] if name in self.values else self.more[name]
            if self._is_log(name):
                self.ends[name] = float(value * np.exp(-reach * error)), float(value * np.exp(reach * error))
            else:
                self.ends[name] = max(value - reach * error, self._lowest(name)), value + reach * error

    def _errors(self, kind: str) -> dict[str, float]:
        """Standard errors by name, of the logarithm on the log scale; derived quantities to first order."""
        covariance = self.covariance.of(kind)
        errors = {}
        for index in self.model.shown:
            coordinate = self.model.coordinates[index]
            error = float(np.sqrt(max(covariance[index, index], 0.0)))
            is_natural = coordinate.is_log and not self._is_log(coordinate.name)
            errors[coordinate.name] = error * self.values[coordinate.name] if is_natural else error
        size = len(self.solution.coordinates)
        steps = _STEP * np.eye(size)
        with np.errstate(all="ignore"):
            above = self._derived(self.solution.coordinates + steps)
            below = self._derived(self.solution.coordinates - steps)
            for name in self.more:
                both = [np.log(each[name]) if self._is_log(name) else each[name] for each in (above, below)]
                slope = np.where(np.diag(covariance) > 0, (both[0] - both[1]) / (2.0 * _STEP), 0.0)
                variance = float(slope @ covariance @ slope)
                errors[name] = math.sqrt(variance) if math.isfinite(variance) and variance > 0 else 0.0
        return errors

    def _derived(self, coordinates: FloatArray) -> dict[str, FloatArray]:
        values = self.model.values(coordinates)
        columns = {self.model.names[index]: values[:, place] for place, index in enumerate(self.model.shown)}
        return self.model.law.derived(columns)

    def _is_log(self, name: str) -> bool:
        coordinate = self._coordinate(name)
        return name in _LOG_DERIVED if coordinate is None else coordinate.is_log and not coordinate.is_offset

    def _lowest(self, name: str) -> float:
        """Give the value below which a parameter makes no sense."""
        coordinate = self._coordinate(name)
        return -math.inf if coordinate is None or coordinate.low is None else coordinate.low

    def _coordinate(self, name: str) -> Coordinate | None:
        names = self.model.names
        return self.model.coordinates[names.index(name)] if name in names else None

    def _parameter(self, name: str, value: float) -> Parameter:
        low, high = self.ends.get(name, (None, None))
        return Parameter(
            name=name,
            value=value,
            low=low,
            high=high,
            stderr=self.errors.get(name) if self.method != "none" else None,
            on_log_scale=self._is_log(name),
            is_fixed=name in self.model.constraints.fixed,
        )

    def standard_errors(self) -> Mapping[str, Mapping[str, float]]:
        """Standard errors by kind and name."""
        return {kind: self._errors(kind) for kind in KINDS}


_LOG_DERIVED = ("x_c", "N_c", "G")
"""Derived quantities that are positive and uncertain by factors."""
