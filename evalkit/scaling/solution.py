"""The certified minimum of a model: many starts, faces on which a term is gone, and what they agreed on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evalkit.errors import InvalidInputError
from evalkit.scaling.arrays import BoolArray, FloatArray
from evalkit.scaling.laws.curves import LOG_ZERO
from evalkit.scaling.losses import Loss
from evalkit.scaling.model import Model, penalty_of
from evalkit.scaling.result import Certificate
from evalkit.scaling.solver.newton import Minima

STARTS = 40
"""Starts that a fit is certified with."""
SAME = 1e-6
"""Objectives that differ by less than this share are of one basin."""
_SHARE = 1e-3
"""A term of less than this share of every prediction is tried without."""
_TIE = 1e-9
_ENOUGH = 30
"""So many residuals within delta say how many more to expect there."""
_SINGULAR = 1e30
"""Condition number of parameters that cannot be told apart at all."""


@dataclass(frozen=True, eq=False)
class Solution:
    """Where a model's objective is lowest."""

    model: Model
    """The model, with a penalty if there are priors; this is what resamples are fitted to."""
    face: Model
    """The model with terms that are gone, and parameters on a limit, held where they are; curvature is taken on it."""
    coordinates: FloatArray
    """Shape (P,)."""
    objective: float
    """Under weights of mean 1, priors included."""
    certificate: Certificate
    bases: FloatArray
    """The solution and those of other low basins, shape (b, P): where refits start."""
    gone: tuple[str, ...]
    """Amplitudes that are 0."""
    at_limit: tuple[str, ...]
    """Parameters on a limit."""
    noise: float
    """Variance of the noise under the quasi-likelihood of the loss, see `noise_variance`."""

    @property
    def residuals(self) -> FloatArray:
        """Residuals as the loss takes them, shape (n,)."""
        return self.model.residuals(self.coordinates)


def solve(model: Model, starts: int = STARTS) -> Solution:
    """Find the lowest minimum and certify it.

    Raises:
        InvalidInputError: No start has a finite objective.
    """
    plain = _solve(model, starts)
    penalty = penalty_of(model, plain.noise)
    if penalty is None:
        return plain
    return _solve(replace(model, search=replace(model.search, penalty=penalty)), starts)


def _solve(model: Model, starts: int) -> Solution:
    spread = model.starter.spread(model.weights, starts)
    reduction = model.search.frame.reduction()
    if not len(spread):
        raise InvalidInputError(f"no start of the law {model.law.name!r} is finite on these points; check their units")
    spread = reduction.expand(reduction.restrict(spread))
    minima = model.search.run(model.weights, spread, spread[0])
    order = np.argsort(np.where(np.isfinite(minima.objective), minima.objective, np.inf), kind="stable")
    best = order[0]
    if not np.isfinite(minima.objective[best]):
        raise InvalidInputError(f"the law {model.law.name!r} has no finite value on these points; check their units")
    coordinates, objective = minima.coordinates[best], float(minima.objective[best])
    face, coordinates, objective, gone = _without_terms(model, coordinates, objective)
    at_limit = _limits(model, coordinates)
    for name in at_limit:
        index = model.names.index(name)
        if index not in face.search.frame.held:
            face = face.with_frame(face.search.frame.hold(index, float(coordinates[index])))
    certificate = _certificate(face, minima, coordinates, objective)
    return Solution(
        model=model,
        face=face,
        coordinates=coordinates,
        objective=objective,
        certificate=certificate,
        bases=_bases(minima, coordinates, objective),
        gone=gone,
        at_limit=at_limit,
        noise=noise_variance(face, coordinates),
    )


def _without_terms(
    model: Model, coordinates: FloatArray, objective: float
) -> tuple[Model, FloatArray, float, tuple[str, ...]]:
    """Take terms away that the points have no use for."""
    gone = _offsets_gone(model, coordinates)
    for index in _amplitudes(model):
        if index in model.search.frame.held or not _is_small(model, coordinates, index):
            continue
        frame = model.search.frame.hold(index, LOG_ZERO)
        exponent = model.coordinates[index].exponent
        if exponent is not None and model.names.index(exponent) not in frame.held and not frame.ties:
            # Without its term an exponent means nothing; it stays where it was, within its limits.
            place = model.names.index(exponent)
            frame = frame.hold(place, float(np.clip(coordinates[place], frame.low[place], frame.high[place])))
        without = model.with_frame(frame)
        found = without.search.run(model.weights, coordinates[None], coordinates)
        if found.objective[0] <= objective * (1.0 + _TIE):
            model, coordinates, objective = without, found.coordinates[0], float(found.objective[0])
            gone.append(model.names[index])
    return model, coordinates, objective, tuple(gone)


def _offsets_gone(model: Model, coordinates: FloatArray) -> list[str]:
    """Name the offsets that the fit puts at 0."""
    constants = model.law.constants()
    return [
        coordinate.name
        for coordinate, value in zip(model.coordinates, coordinates, strict=True)
        if coordinate.is_offset and value <= 1e-9 * model.points.loss.min() and coordinate.name not in constants
    ]


def _amplitudes(model: Model) -> list[int]:
    constants = model.law.constants()
    return [
        index
        for index, coordinate in enumerate(model.coordinates)
        if coordinate.is_amplitude and coordinate.name not in constants
    ]


def _is_small(model: Model, coordinates: FloatArray, index: int) -> bool:
    with np.errstate(all="ignore"):
        slopes = model.search.curve.slopes(model.search.curve.evaluate(coordinates[None]))[0, :, index]
    return bool(np.abs(slopes).max() < _SHARE)


def _certificate(model: Model, minima: Minima, coordinates: FloatArray, objective: float) -> Certificate:
    room = objective * SAME + _floor(model)
    is_same = minima.objective <= objective + room
    others = minima.objective[minima.converged & ~is_same & np.isfinite(minima.objective)]
    return Certificate(
        starts=len(minima.objective),
        agreed=int(is_same.sum()),
        second_objective=float(others.min()) * model.weight_scale if len(others) else None,
        gradient_norm=_gradient_norm(model, coordinates) / max(objective, _floor(model)),
        condition=condition_number(model, coordinates),
        iterations=int(minima.steps[is_same].min()) if is_same.any() else int(minima.steps.max()),
        converged=bool((is_same & minima.converged).any()),
    )


def _floor(model: Model) -> float:
    """What of an objective is rounding."""
    scale = 1e-14 * (model.points.loss.max() if model.loss.is_linear else 1.0)
    return float(model.loss.rho(np.array([scale]))[0]) * len(model.points)


def _gradient_norm(model: Model, coordinates: FloatArray) -> float:
    """Give the norm of the gradient in whitened coordinates."""
    problem = model.search.problem(coordinates, model.weights)
    state = problem.curve.evaluate(coordinates[None])
    residuals = problem.residuals(problem.target(), state)
    # Absolute deviations have no gradient at a vertex; a width far below the residuals gives the least of the subgradients.
    width = np.array([max(model.loss.width(), 1e-6 * float(np.median(np.abs(residuals))), np.finfo(float).tiny)])
    slopes = problem.slopes(state, residuals, model.weights, width)
    gradient = problem.gradient(state, slopes, coordinates[None]) @ problem.reduction.matrix
    scale = float(width[0]) if model.loss.is_absolute else 1.0
    return float(np.linalg.norm(gradient)) / scale


def condition_number(model: Model, coordinates: FloatArray) -> float:
    """Give the condition number of the parameters at the centre of the data.

    Amplitudes are taken where the points lie, not at N = D = 1, and every column is scaled to 1, so that a large number means
    that the points cannot tell parameters apart.
    """
    slopes = model.search.curve.slopes(model.search.curve.evaluate(coordinates[None]))[0]
    frame = model.search.frame
    for index, coordinate in enumerate(model.coordinates):
        if coordinate.exponent is not None:
            place = model.names.index(coordinate.exponent)
            factor, along = slopes[:, index], slopes[:, place]
            length = float(factor @ factor)
            slopes[:, place] = along - factor * (float(factor @ along) / length if length > 0 else 0.0)
    columns = slopes @ frame.reduction().matrix
    if not columns.shape[1]:
        return 1.0
    scale = np.sqrt(np.einsum("np,np->p", columns, columns))
    if not scale.all() or not np.isfinite(columns).all():
        return _SINGULAR
    values = np.linalg.svd(columns / scale, compute_uv=False)
    return float(min((values[0] / max(values[-1], np.finfo(float).tiny)) ** 2, _SINGULAR))


def _bases(minima: Minima, coordinates: FloatArray, objective: float) -> FloatArray:
    """Give the solution and up to two other low basins."""
    rows = [coordinates]
    last = objective
    for index in np.argsort(minima.objective, kind="stable"):
        value = minima.objective[index]
        if not minima.converged[index] or value <= last * (1.0 + SAME) or value > 1.5 * objective or len(rows) == 3:
            continue
        rows.append(minima.coordinates[index])
        last = float(value)
    return np.array(rows)


def _limits(model: Model, coordinates: FloatArray) -> tuple[str, ...]:
    frame = model.search.frame
    near = 1e-6
    is_there: BoolArray = (np.abs(coordinates - frame.low) < near) | (np.abs(coordinates - frame.high) < near)
    return tuple(model.names[index] for index in np.flatnonzero(is_there) if index in model.shown)


def noise_variance(model: Model, coordinates: FloatArray) -> float:
    """Estimate E psi^2 / E psi', by which a difference of objectives becomes one of half log-likelihoods.

    For squares it is the residual variance. For absolute deviations psi' is the density at 0, estimated within a band of
    residuals of the width of Hall and Sheather.

    References:
        Huber, 1981, Robust Statistics, section 7.6.
        Koenker, 2005, Quantile Regression, section 3.4.1 (sparsity).
    """
    residuals = model.residuals(coordinates)
    second, slope = psi_moments(model, residuals)
    return second / max(slope, np.finfo(float).tiny)


def psi_moments(model: Model, residuals: FloatArray) -> tuple[float, float]:
    """Give E psi^2, with the degrees of freedom of the fit, and E psi'."""
    n = len(residuals)
    rest = max(n - model.free_count, 1)
    psi = model.loss.psi(residuals)
    second = float(model.weights @ psi**2) / rest
    width = curvature_width(model.loss, residuals)
    inside = float(model.weights @ (np.abs(residuals) <= width)) / n
    return second, inside * curvature_scale(model.loss, width)


def curvature_width(loss: Loss, residuals: FloatArray) -> float:
    """Give the half width of the quadratic zone, or a wider one where too few residuals lie within to be counted.

    The wider one is Hall and Sheather's for a density at the median; `curvature_scale` takes the widening out again.

    References:
        Hall and Sheather, 1988, On the Distribution of a Studentized Quantile.
    """
    own = loss.width()
    if float((np.abs(residuals) <= own).sum()) >= _ENOUGH:
        return own
    share = min(0.5, 1.94 * len(residuals) ** (-1.0 / 3.0))
    return float(max(own, np.quantile(np.abs(residuals), share), np.finfo(float).tiny))


def curvature_scale(loss: Loss, width: float) -> float:
    """Give what a curvature counted within a width is multiplied by to be that of the loss."""
    own = 1.0 if loss.is_absolute else loss.width()
    return own / width if width > loss.width() else 1.0
