"""What a solution says of itself: limits, basins, leverage, and intervals that do not agree."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evalkit.scaling.arrays import FloatArray
from evalkit.scaling.laws.base import Coordinate
from evalkit.scaling.result import Certificate, Parameter
from evalkit.scaling.sandwich import Covariances
from evalkit.scaling.solution import Solution
from evalkit.scaling.solver.linear import make_positive
from evalkit.scaling.warnings import ScalingWarning

_NEAR = 1.01
"""A second basin within 1% is reported."""
_CONDITION = 1e5
_DISAGREE = 1.5
_FLAT_EXPONENT = 0.02
_WIDE = 2.0
_NORMAL = 1.96
_FAR = 50.0
"""Logarithm beyond which an end is as good as none."""
_NO_OFFSET = 0.02
"""An E whose interval comes below this share of the lowest loss is not needed."""


def solution_warnings(solution: Solution, covariance: Covariances) -> list[ScalingWarning]:
    """Warn of how the minimum lies and how it was reached."""
    found = [*_boundary_warnings(solution), *_certificate_warnings(solution.certificate, solution)]
    found += _leverage_warnings(solution, covariance)
    found += _disagreement(solution, covariance)
    return found


def _boundary_warnings(solution: Solution) -> list[ScalingWarning]:
    model = solution.model
    found = []
    for name in solution.gone:
        if model.coordinates[model.names.index(name)].is_offset:
            text = f"{name} is 0: the points show no floor of the loss; a law without E says the same"
        else:
            text = f"{name} is 0: loss does not fall along this term, and its exponent means nothing"
            found.append(ScalingWarning("rising-loss", text))
        found.append(ScalingWarning("at-bound", text))
    for name in solution.at_limit:
        if name not in solution.gone and name not in model.constraints.fixed:
            value = _value(solution, name)
            found.append(ScalingWarning("at-bound", f"{name} lies on its limit, {value:.6g}"))
    for coordinate in model.coordinates:
        if coordinate.name not in solution.gone and coordinate.name not in model.constraints.fixed:
            found += _value_warnings(solution, coordinate)
    return found


def _value_warnings(solution: Solution, coordinate: Coordinate) -> list[ScalingWarning]:
    """Warn of values that no sound set of runs gives."""
    value, lowest = _value(solution, coordinate.name), float(solution.model.points.loss.min())
    if coordinate.is_exponent and value < _FLAT_EXPONENT:
        text = f"{coordinate.name} is {value:.3g}: loss does not fall along its predictor"
        return [ScalingWarning("rising-loss", text)]
    if coordinate.is_offset and value > lowest:
        text = (
            f"{coordinate.name} is {value:.6g}, above the lowest loss {lowest:.6g}: the law cannot reach the best run"
        )
        return [ScalingWarning("offset-above-data", text)]
    return []


def _value(solution: Solution, name: str) -> float:
    index = solution.model.names.index(name)
    return float(solution.model.coordinates[index].to_values(solution.coordinates[index]))


def _certificate_warnings(certificate: Certificate, solution: Solution) -> list[ScalingWarning]:
    found = []
    objective = solution.objective * solution.model.weight_scale
    second = certificate.second_objective
    if second is not None and second <= _NEAR * objective:
        text = f"another solution has an objective {second / objective - 1:.2%} above the lowest"
        found.append(ScalingWarning("second-basin", f"{text}; its parameters fit almost as well"))
    if certificate.agreed < min(certificate.starts, max(2, certificate.starts // 4)):
        text = f"{certificate.agreed} of {certificate.starts} starts reached the reported minimum"
        found.append(ScalingWarning("starts-disagree", text))
    if not certificate.converged:
        text = f"the search stopped after {certificate.iterations} steps with a relative gradient of"
        found.append(ScalingWarning("not-converged", f"{text} {certificate.gradient_norm:.2g}"))
    if certificate.condition > _CONDITION:
        text = f"the condition number of the parameters is {certificate.condition:.2g}"
        found.append(ScalingWarning("ill-conditioned", f"{text}: these points hardly tell them apart"))
    return found


def influences(solution: Solution) -> FloatArray:
    """Give how far each point pulls each coordinate, to first order, shape (n, P)."""
    model = solution.face
    problem = model.search.problem(solution.coordinates, model.weights)
    matrix = problem.reduction.matrix
    if not matrix.shape[1]:
        return np.zeros((len(model.points), len(solution.coordinates)))
    state = problem.curve.evaluate(solution.coordinates[None])
    slopes = problem.curve.slopes(state)[0] @ matrix
    residuals = problem.residuals(problem.target(), state)[0]
    if model.loss.is_linear:
        slopes = slopes * np.exp(state.log_values[0])[:, None]
    scores = (model.weights * model.loss.psi(residuals))[:, None] * slopes
    width = model.loss.width()
    curvature = np.minimum(1.0, (width or 1.0) / np.maximum(np.abs(residuals), 1e-300)) if width < np.inf else 1.0
    gram = slopes.T @ (slopes * (model.weights * curvature)[:, None])
    pull: FloatArray = scores @ np.linalg.inv(make_positive(gram[None])[0]) @ matrix.T
    return pull


def _leverage_warnings(solution: Solution, covariance: Covariances) -> list[ScalingWarning]:
    model = solution.model
    error = np.sqrt(np.diag(covariance.homoscedastic))
    pull = np.abs(influences(solution)) / _without_each(solution)[:, None]
    found = []
    for index, coordinate in enumerate(model.coordinates):
        if not coordinate.is_exponent or not error[index] > 0:
            continue
        ratio = pull[:, index] / error[index]
        worst = int(ratio.argmax())
        if ratio[worst] > 1.0:
            text = f"row {worst + 1} moves {coordinate.name} by {ratio[worst]:.1f} standard errors"
            count = int((ratio > 1.0).sum())
            more = f", and {count - 1} more rows by over 1" if count > 1 else ""
            found.append(ScalingWarning("leverage", f"{text}{more}; see the sensitivity table"))
    return found


def _without_each(solution: Solution) -> FloatArray:
    """Give how much smaller the standard errors would be without each point, shape (n,): an outlier must not hide itself."""
    model = solution.face
    psi = model.weights * model.loss.psi(solution.residuals) ** 2
    degrees = max(len(psi) - model.free_count, 2)
    share = (psi.sum() - psi) / (degrees - 1) / max(psi.sum() / degrees, np.finfo(float).tiny)
    factors: FloatArray = np.sqrt(np.clip(share, 1e-3, 1.0))
    return factors


def _disagreement(solution: Solution, covariance: Covariances) -> list[ScalingWarning]:
    even, robust = (np.sqrt(np.diag(covariance.of(kind))) for kind in ("homoscedastic", "robust"))
    there = (even > 0) & (robust > 0)
    if not there.any():
        return []
    ratio = np.where(there, robust / np.where(there, even, 1.0), 1.0)
    worst = int(np.argmax(np.abs(np.log(ratio))))
    if max(ratio[worst], 1.0 / ratio[worst]) <= _DISAGREE:
        return []
    return [
        ScalingWarning(
            "intervals-disagree",
            f"the robust standard error of {solution.model.names[worst]} is {ratio[worst]:.2f} times the homoscedastic one:"
            " the noise is not even over the points; prefer a bootstrap",
        )
    ]


def interval_warnings(
    solution: Solution, parameters: Mapping[str, Parameter], covariance: Covariances
) -> list[ScalingWarning]:
    """Warn of what intervals say: shapes that could be anything, and terms that could be away.

    Where no intervals were asked for, the robust standard errors stand in for them.
    """
    found = []
    for coordinate in solution.model.coordinates:
        parameter = parameters.get(coordinate.name)
        if parameter is None or parameter.is_fixed or coordinate.name in (*solution.gone, *solution.at_limit):
            continue
        low, high = _ends(solution, coordinate, parameter, covariance)
        if (coordinate.is_exponent or coordinate.is_rate) and (high is None or high > _WIDE * max(low, 1e-12)):
            shown = "no end" if high is None else f"{high:.3g}"
            text = f"the interval of {coordinate.name} runs from {low:.3g} to {shown}"
            found.append(ScalingWarning("weakly-identified", f"{text}: the points do not determine it"))
        if coordinate.is_offset and low < _NO_OFFSET * solution.model.points.loss.min():
            text = f"the interval of {coordinate.name} comes down to {low:.3g}"
            found.append(ScalingWarning("offset-not-needed", f"{text}: a law without it fits about as well"))
        if coordinate.name == "k" and low <= 1.0 and (high is None or high >= 1.0):
            text = "the interval of k holds 1: Chinchilla's law, which has k = 1, fits about as well"
            found.append(ScalingWarning("term-not-needed", text))
    return found


def _ends(
    solution: Solution, coordinate: Coordinate, parameter: Parameter, covariance: Covariances
) -> tuple[float, float | None]:
    if parameter.low is not None or parameter.high is not None:
        return parameter.low or 0.0, parameter.high
    place = solution.model.names.index(coordinate.name)
    reach = _NORMAL * float(np.sqrt(covariance.robust[place, place]))
    if coordinate.is_log:
        return parameter.value * float(np.exp(-min(reach, _FAR))), parameter.value * float(np.exp(min(reach, _FAR)))
    return max(parameter.value - reach, 0.0), parameter.value + reach
